"""Selection with a bound on the share of wrong labels: conformal p-values and Benjamini-Hochberg's procedure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from pseudobench import Method, Selection, hookimpl, param

if TYPE_CHECKING:
    from pseudobench import Context, Estimate, PredictionSets, PseudoLabels


@dataclass(frozen=True)
class Fdr:
    """Labels whose conformal p-values of "this label is wrong" pass Benjamini-Hochberg's procedure at q.

    The expected share of wrong labels among the selected ones, the false discovery rate, is at most q if calibration
    points and pool are exchangeable and labels and confidence come from the same network for both: a network that was
    trained on neither, the estimator ``softmax`` and the labeler ``hard``.
    """

    name: ClassVar[str] = "fdr"
    needs_sets: ClassVar[bool] = False
    needs_calibration: ClassVar[bool] = True
    q: float = param(0.1, "bound on the share of wrong labels among the selected ones", low=0, high=1, exclusive=True)
    count: str = param(
        "all",
        "calibration points that a p-value divides by; all: conformal selection; wrong: only wrong ones, which selects "
        "less",
        choices=("all", "wrong"),
    )

    def select(
        self, estimate: Estimate, labels: PseudoLabels, sets: PredictionSets | None, context: Context
    ) -> Selection:
        """Choose positives."""
        import torch

        from pseudobench_fdr.p_values import benjamini_hochberg, p_values

        assert context.calibration is not None
        probs = torch.cat([context.activate(fold.pool.logits()) for fold in context.calibration])
        truth = torch.cat([fold.labels for fold in context.calibration])
        confidence, label = probs.max(1)
        wrong = confidence[label != truth]
        labeled = labels.target.any(1)
        scores = (estimate.probs * labels.target).amax(1)[labeled]
        found = p_values(wrong, scores, len(truth) if self.count == "all" else len(wrong))
        keep = torch.zeros_like(labeled)
        keep[labeled] = benjamini_hochberg(found, self.q)
        positive = labels.target & keep[:, None]
        return Selection(positive, torch.zeros_like(positive))


@hookimpl
def bench_selectors() -> list[type[Fdr]]:
    """Offer the selector."""
    return [Fdr]


@hookimpl
def bench_methods() -> list[Method]:
    """Offer it with held-out calibration, with cross-fitted calibration, and after SoftMatch."""
    exact = Method(
        "fdr",
        "one round with labels of which at most a share q is wrong, by conformal p-values from held-out labels",
        estimator="softmax",
        labeler="hard",
        selector="fdr",
        settings={"loop.rounds": 1},  # in further rounds the bound no longer holds, see METHOD.md
        calibration="held-out",
        rank=50,
        reference="Jin and Candes, Selection by Prediction with Conformal p-values, JMLR 2023; "
        "Huang et al., Selective Labeling with False Discovery Rate Control, 2025",
    )
    cross = replace(
        exact,
        name="fdr-cross",
        description="fdr with p-values from networks that were not trained on the fold; spends no labels",
        calibration="cross",
        rank=51,
    )
    softmatch = replace(
        cross,
        name="softmatch-fdr",
        description="SoftMatch, then fdr-cross with its networks, and SoftMatch again with the labels found",
        objective="softmatch",
        rank=52,
        reference=f"Chen et al., SoftMatch, ICLR 2023; {exact.reference}",
    )
    return [exact, cross, softmatch]
