"""When rounds end: how much of a selection has changed since the round before."""

from __future__ import annotations

import torch
from digits_runs import run, spec_for

from pseudobench import Selection
from pseudobench.experiments.resolving import resolve
from pseudobench.maths.selection import share_changed


def test_a_constant_share_of_changing_labels_does_not_settle():
    """As many labels as before, and none of them the same: the number alone said that it had converged."""
    none = torch.zeros(4, 3, dtype=torch.bool)
    first, second = none.clone(), none.clone()
    first[0, 0] = first[1, 1] = second[2, 0] = second[3, 1] = True
    assert share_changed(Selection(first, none), Selection(second, none)) == 1.0
    assert share_changed(Selection(first, none), Selection(first, none)) == 0.0
    second[0, 0] = True
    assert share_changed(Selection(first, none), Selection(second, none)) == 3 / 4


def test_negatives_do_not_swamp_positives():
    positive = torch.zeros(10, 10, dtype=torch.bool)
    positive[0, 0] = True
    more = positive.clone()
    more[1, 1] = True
    negative = torch.ones(10, 10, dtype=torch.bool) & ~positive & ~more
    assert share_changed(Selection(positive, negative), Selection(more, negative)) == 0.5
    none = torch.zeros(10, 10, dtype=torch.bool)
    assert share_changed(Selection(none, negative), Selection(none, negative & more.logical_not())) == 0.0
    assert share_changed(Selection(none, negative), Selection(none, none)) == 1.0
    assert share_changed(Selection(none, none), Selection(none, none)) == 0.0


def test_settling_can_be_switched_off(registry):
    never = run(registry, spec_for(registry, "supervised"))
    assert len(never) == 1
    assert len(run(registry, spec_for(registry, "pl", loop__rounds=3, loop__settle="none"))) == 4
    paper = resolve(registry, method="ups", dataset="digits", seed=0, preset="paper")
    assert paper.settings["loop"]["settle"] is None


def test_rounds_end_when_the_selection_settles(registry):
    settled = run(registry, spec_for(registry, "pl", loop__rounds=3, loop__settle=1.0))
    assert len(settled) == 3  # rounds 0 and 1, then the first round that can be compared with one before
    unsettled = run(registry, spec_for(registry, "pl", loop__rounds=3, loop__settle=0.0))
    assert len(unsettled) == 4
