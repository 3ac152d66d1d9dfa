"""Curriculum labeling (Cascante-Bonilla et al., AAAI 2021) as a plugin of a third party."""

from dataclasses import dataclass
from typing import ClassVar

from pseudobench import Column, Method, Selection, hookimpl, last_round, param

PSEUDOBENCH_API = 1


@dataclass(frozen=True)
class Percentile:
    """The samples above a percentile of confidence that falls from round to round."""

    name: ClassVar[str] = "percentile"
    needs_sets: ClassVar[bool] = False
    step: float = param(20, "percentiles of the pool that each round adds", low=0, high=100, exclusive=True)

    def select(self, estimate, labels, sets, context):
        """Choose positives; there are no negatives."""
        confidence = estimate.probs.amax(1)
        positive = labels.target.new_zeros(labels.target.shape)
        if len(confidence):
            share = min(self.step * context.round / 100, 1.0)
            keep = confidence >= confidence.quantile(1 - share)
            positive = labels.target & keep[:, None]
        return Selection(positive, positive.new_zeros(positive.shape))


@hookimpl
def bench_selectors():
    """Offer the rule."""
    return [Percentile]


@hookimpl
def bench_methods():
    """Offer the rule with the network's own confidence."""
    method = Method(
        "percentile-labeling",
        "the top percentiles of confidence, more of them each round",
        estimator="softmax",
        labeler="hard",
        selector="percentile",
        reference="Cascante-Bonilla et al., Curriculum Labeling, AAAI 2021",
    )
    return [method]


@hookimpl
def bench_columns():
    """Offer the number of positives."""
    return [Column("positives", "positive labels in the last round", lambda r: _positives(last_round(r)), digits=0)]


def _positives(round_):
    return (round_.get("selection") or {}).get("positives")
