"""For plugin authors: fakes that make a test take milliseconds, and the contract that every component keeps.

In a test of a plugin::

    @pytest.mark.parametrize("check", contract(MyRule), ids=str)
    def test_contract(check):
        check()

The same checks are `bench plugin check MODULE`.
"""

from pseudobench.testing.contract import Check, contract
from pseudobench.testing.fakes import (
    FakePool,
    fake_context,
    fake_dataset,
    fake_estimate,
    fake_folds,
    fake_labels,
    fake_sets,
)

__all__ = [
    "Check",
    "FakePool",
    "contract",
    "fake_context",
    "fake_dataset",
    "fake_estimate",
    "fake_folds",
    "fake_labels",
    "fake_sets",
]
