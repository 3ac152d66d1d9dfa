"""The contract of components, as checks that can be run one by one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from pseudobench.contracts.datasets import MULTI, SINGLE
from pseudobench.contracts.kinds import Kind, kind_named
from pseudobench.contracts.parameters import parameters
from pseudobench.contracts.values import Selection
from pseudobench.errors import PluginError, one_line
from pseudobench.registry.checks import check_component, kind_of
from pseudobench.testing.fakes import FakePool, fake_context
from pseudobench.testing.objectives import trials
from pseudobench.testing.offers import offers
from pseudobench.testing.stages import Inputs, outcome, tensors

if TYPE_CHECKING:
    from pseudobench.registry.components import Registry

#: Samples and classes of the pool on which a stage is timed.
_LARGE = (10_000, 100)


@dataclass(frozen=True)
class Check:
    """One promise of a component. Calling the check raises `PluginError` if the promise is broken.

    It returns a note for the author, or None.
    """

    name: str
    run: Callable[[], str | None]

    def __call__(self) -> str | None:
        """Run the check; any exception of the component counts as a broken promise."""
        try:
            return self.run()
        except PluginError:
            raise
        except Exception as error:
            raise PluginError(one_line(error)) from error

    def __str__(self) -> str:
        return self.name


def contract(
    component: Any, kind: str | None = None, *, registry: Registry | None = None, **settings: Any
) -> list[Check]:
    """Every check for a component: a class, made with ``settings`` and else its defaults, or a value such as `Method`.

    Methods are resolved if there is a ``registry`` with their components.
    """
    of = kind_of(component) if kind is None else kind_named(kind)
    checks = [Check("is a component", lambda: check_component(of, component))]
    if of.value is not None:
        return checks + [Check(name, run) for name, run in offers(component, registry).items()]
    checks.append(Check("says what its parameters mean", lambda: _meanings(component)))
    if of.stage is None:
        return checks
    make, tasks = partial(component, **settings), getattr(component, "tasks", ())
    if of.stage == "objective":
        return checks + [Check(name, run) for name, run in trials(make, tasks).items()]
    stage = _Stage(of, make)
    checks += [Check(f"works on {name}", partial(stage.works, pool)) for name, pool in pools().items()]
    if of.stage == "sets" or hasattr(component, "needs_calibration"):
        checks.append(Check("works with several folds", lambda: stage.works(FakePool(), folds=3)))
    if MULTI in tasks:
        checks += [
            Check(f"works on {name}, multi-label", partial(stage.works, pool, task=MULTI))
            for name, pool in pools().items()
        ]
    return [
        *checks,
        Check("repeats by the seed", stage.repeats),
        Check("leaves the global random stream alone", stage.leaves_global_stream),
        Check("does not change what it is given", stage.keeps_inputs),
        Check("is fast enough to be used", stage.speed),
    ]


def pools() -> dict[str, FakePool]:
    """Pools that every stage must handle, odd ones included."""
    return {
        "a pool": FakePool(),
        "an empty pool": FakePool(0),
        "one sample": FakePool(1),
        "two classes": FakePool(30, 2),
        "ties everywhere": FakePool(logits=torch.zeros(20, 5)),
        "a network that is sure": FakePool(logits=100 * torch.eye(5).repeat(4, 1)),
        "a network that knows one class": FakePool(logits=torch.tensor([[50.0, 0, 0, 0, 0]]).repeat(20, 1)),
    }


def _meanings(component: type) -> None:
    for each in parameters(component):
        if not each.meaning:
            raise PluginError(f"the parameter {each.name!r} does not say what it means")


@dataclass(frozen=True)
class _Stage:
    """A component with its kind; each method is one check."""

    kind: Kind
    make: Callable[[], Any]

    def _try(self, inputs: Inputs, seed: int = 0) -> list[torch.Tensor]:
        return tensors(outcome(self.kind.stage, self.make(), inputs, fake_context(inputs.classes, seed=seed)))

    def works(self, pool: FakePool, folds: int = 1, task: str = SINGLE) -> None:
        inputs = Inputs.of(pool, folds, task)
        found: Any = outcome(self.kind.stage, self.make(), inputs, fake_context(inputs.classes, task=task))
        wanted: type = self.kind.result or torch.Tensor
        returned: type = type(found)
        if returned is not wanted:
            raise PluginError(f"it returns {returned.__name__}, and should return {wanted.__name__} itself")
        if tuple(found.shape) != (len(pool), inputs.classes):
            raise PluginError(f"it returns a shape of {list(found.shape)} for {[len(pool), inputs.classes]}")
        if isinstance(found, Selection):
            found.check_target(task)
        for tensor in tensors(found):
            if tensor.device != pool.logits().device:
                raise PluginError(f"it returns a tensor on {tensor.device}, and was given {pool.logits().device}")
            if tensor.dtype.is_floating_point and not bool(tensor.isfinite().all()):
                raise PluginError("it returns NaN or infinite values")

    def repeats(self) -> None:
        first, second = (self._try(Inputs.of(FakePool()), seed=3) for _ in range(2))
        if not _equal(first, second):
            raise PluginError("the same seed gives another result; draw from context.generator(...) alone")

    def leaves_global_stream(self) -> None:
        found = []
        for seed in (1, 2):
            torch.manual_seed(seed)
            before = torch.get_rng_state()
            found.append(self._try(Inputs.of(FakePool())))
            if not torch.equal(before, torch.get_rng_state()):
                raise PluginError("it draws from torch's global stream; draw from context.generator(...)")
        if not _equal(*found):
            raise PluginError("its result depends on torch's global stream; draw from context.generator(...)")

    def keeps_inputs(self) -> None:
        inputs = Inputs.of(FakePool())
        before = [tensor.clone() for tensor in inputs.tensors()]
        self._try(inputs)
        if not _equal(before, inputs.tensors()):
            raise PluginError("it changes a tensor that it was given; work on a copy")

    def speed(self) -> str:
        inputs = Inputs.of(FakePool(*_LARGE))
        start = time.perf_counter()
        self._try(inputs)
        return f"{time.perf_counter() - start:.2f} s for {_LARGE[0]:,} samples of {_LARGE[1]} classes"


def _equal(some: list[torch.Tensor], others: list[torch.Tensor]) -> bool:
    return len(some) == len(others) and all(map(torch.equal, some, others))
