"""Run records of this project's own results, as tests take them: whichever file or pack they lie in."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

from pseudobench.storage.records import Store, records_of

RESULTS = Path(__file__).parents[1] / "results"
#: The folders that hold runs on digits with 40 labels: the first command's, and what other files add to it.
DIGITS = ("first", "digits", "digits-consistency")


def committed(*folders, runs="*"):
    """The records in folders of the results whose run ids fit a pattern, without the names of their predictions."""
    found = records_of(Store(RESULTS / folder) for folder in folders)
    kept = [{key: value for key, value in each.items() if key != "predictions"} for each in found]
    return [each for each in kept if fnmatch(each["run_id"], runs)]


def digits_records(*methods, seeds=2):
    """The runs of methods on digits with 40 labels, seeds from 0 on."""
    found = {(each["spec"]["method"], each["spec"]["seed"]): each for each in committed(*DIGITS, runs="digits-40-*")}
    return [found[method, seed] for method in methods for seed in range(seeds)]
