"""Every bundled component keeps the contract, and a component that breaks it is told how."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from pseudobench import Column, Estimate, PluginError, PseudoLabels, Selection, param
from pseudobench.contracts.kinds import STAGE_KINDS
from pseudobench.registry.components import installed
from pseudobench.storage.record_schema import decode
from pseudobench.testing import FakePool, contract, fake_dataset, fake_estimate, fake_sets
from pseudobench.testing.offers import fake_records

COMPONENTS = [entry for kind in STAGE_KINDS.values() for entry in installed()[1].of(kind.name)]


@pytest.mark.parametrize("entry", COMPONENTS, ids=lambda entry: entry.name)
def test_bundled_components_keep_the_contract(entry):
    checks = contract(entry.component, entry.kind)
    assert len(checks) > 10
    for check in checks:
        check()


@dataclass(frozen=True)
class Honest:
    """All labels."""

    name: ClassVar[str] = "honest"
    needs_sets: ClassVar[bool] = False
    share: float = param(0.5, "nothing", low=0, high=1)

    def select(self, estimate, labels, sets, context):
        return Selection(labels.target, labels.target.new_zeros(labels.target.shape))


class Draws(Honest):
    def select(self, estimate, labels, sets, context):
        keep = torch.rand(len(labels.target)) > 0.5
        return Selection(labels.target & keep[:, None], labels.target.new_zeros(labels.target.shape))


class Changes(Honest):
    def select(self, estimate, labels, sets, context):
        estimate.probs.mul_(2)
        return super().select(estimate, labels, sets, context)


class Shrinks(Honest):
    def select(self, estimate, labels, sets, context):
        return Selection(labels.target[:5], labels.target.new_zeros(labels.target[:5].shape))


class Mistakes(Honest):
    def select(self, estimate, labels, sets, context):
        return labels.target


class Fragile(Honest):
    def select(self, estimate, labels, sets, context):
        estimate.probs.amax()
        return super().select(estimate, labels, sets, context)


@dataclass(frozen=True)
class Peeks:
    """Wants to know."""

    name: ClassVar[str] = "peeks"
    needs_sets: ClassVar[bool] = False

    def estimate(self, pool, sets, context):
        return Estimate(torch.nn.functional.one_hot(pool.labels, 5).float(), torch.zeros(len(pool), 5))


@dataclass(frozen=True)
class Unsound(Honest):
    name: ClassVar[str] = "unsound"
    share: float = param(2.0, "more than all", low=0, high=1)


@dataclass(frozen=True)
class Halved(Honest):
    """Soft labels that are no distributions."""

    name: ClassVar[str] = "halved"

    def select(self, estimate, labels, sets, context):
        return Selection(labels.target, torch.zeros_like(labels.target), target=estimate.probs / 2)


class Extended(Selection):
    __slots__ = ()


class Extends(Honest):
    def select(self, estimate, labels, sets, context):
        return Extended(labels.target, torch.zeros_like(labels.target))


@dataclass(frozen=True)
class Learns:
    """Labels alone."""

    name: ClassVar[str] = "learns"

    def loss(self, step, forward, state):
        from pseudobench.maths.losses import loss_of

        return loss_of(forward(step.inputs), step)


class Remembers(Learns):
    seen: ClassVar[list] = []

    def loss(self, step, forward, state):
        self.seen.append(step)
        return len(self.seen) * super().loss(step, forward, state)


class Doubles(Learns):
    def loss(self, step, forward, state):
        step.inputs.mul_(2)
        return super().loss(step, forward, state)


class Explodes(Learns):
    def loss(self, step, forward, state):
        return super().loss(step, forward, state) / 0


class Constant(Learns):
    def loss(self, step, forward, state):
        return torch.ones(()).requires_grad_()


class Mixes(Learns):
    def loss(self, step, forward, state):
        return super().loss(step, forward, state) * torch.rand(())


class Assumes(Learns):
    def loss(self, step, forward, state):
        rows, classes = step.positive.nonzero().unbind(1)
        return torch.nn.functional.cross_entropy(forward(step.inputs)[rows], classes)


def broken(component):
    found = {}
    for check in contract(component):
        try:
            check()
        except PluginError as error:
            found[str(check)] = str(error)
    return found


@pytest.mark.parametrize(
    ("component", "check", "message"),
    [
        (Draws, "leaves the global random stream alone", "it draws from torch's global stream"),
        (Changes, "does not change what it is given", "it changes a tensor that it was given"),
        (Halved, "works on a pool", "Selection.target must sum to 1"),
        (Extends, "works on a pool", "it returns Extended, and should return Selection itself"),
        (Remembers, "goes on from its state", "what it remembers belongs in `state`"),
        (Remembers, "repeats by the seed", "the same seed gives another loss"),
        (Doubles, "does not change what it is given", "it changes a tensor that it was given"),
        (Explodes, "works on a batch", "its loss or gradient is NaN or infinite"),
        (Constant, "works on a batch", "its loss does not depend on the network"),
        (Mixes, "leaves the global random stream alone", "draw from step.generator"),
        (Assumes, "works on negatives alone", "its loss or gradient is NaN or infinite"),
        (Shrinks, "works on a pool", r"it returns a shape of [5, 5] for [60, 5]"),
        (Mistakes, "works on a pool", "it returns Tensor, and should return Selection"),
        (Fragile, "works on an empty pool", "amax()"),
        (Peeks, "works on a pool", "a pool has no 'labels': it gives len(), logits(), samples(passes, seed), views"),
        (Unsound, "is a component", "its default, 2.0, is not a number in [0, 1]"),
    ],
)
def test_what_is_broken_is_said(component, check, message):
    assert broken(Honest) == {}
    assert message in broken(component)[check]


def test_what_is_no_component_is_refused():
    with pytest.raises(PluginError, match="str is no component: it has none of the methods load, fit, calibrate"):
        contract(str)


def test_a_column_is_tried_on_records_as_they_are_kept():
    """What is in every record of this version can be read: hashes, reliability, the environment."""
    for record in fake_records().values():
        assert decode(json.dumps(record).encode()) == record

    def surest(record):
        split, environment = record["split"], record["environment"]
        assert (len(split["sha256"]), environment["device"]) == (64, "cpu")
        return record["rounds"][-1]["test"]["reliability"]["accuracy"][-1]

    for check in contract(Column("surest", "accuracy in the last bin", surest)):
        check()


def test_fakes_have_the_shapes_of_the_real_ones():
    pool = FakePool(7, 3)
    assert [batch.shape for batch in pool.samples(4, 0)] == [(4, 7, 3)]
    assert torch.equal(*(torch.cat([*pool.samples(4, 1)]) for _ in range(2)))
    estimate = fake_estimate(pool)
    assert fake_sets(estimate).mask.shape == (7, 3)
    assert fake_dataset(30, 10).train_images.shape == (30, 1, 8, 8)
    assert isinstance(PseudoLabels(fake_sets(estimate).mask), PseudoLabels)


def test_fakes_are_fixtures_for_whoever_wants_them(tmp_path):
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["pseudobench.testing.fixtures"]\n')
    (tmp_path / "test_it.py").write_text(
        "def test_it(fake_pool, fake_context, fake_estimate, fake_labels, fake_sets, fake_folds, fake_dataset):\n"
        "    shape = (len(fake_pool), fake_context.classes)\n"
        "    assert shape == fake_estimate.probs.shape == fake_labels.target.shape == fake_sets.mask.shape\n"
        "    assert fake_folds[0].rest is fake_pool\n"
        "    assert fake_dataset.classes == 5\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
