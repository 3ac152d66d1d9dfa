"""Rows worked on by several threads."""

from collections.abc import Iterator
from threading import current_thread, main_thread

import pytest
import torch

from pseudobench import conformal
from pseudobench.base.threads import by_rows

ROWS, CLASSES = 40_000, 50  # several chunks


@pytest.fixture
def _two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_two_threads")
def test_rows_stay_in_order_and_other_threads_do_the_work() -> None:
    seen = set()

    def first_column(rows: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
        seen.add(current_thread())
        return rows[:, 0] * factor

    matrix = torch.arange(ROWS * CLASSES, dtype=torch.float64).reshape(ROWS, CLASSES)
    answer = by_rows(first_column, matrix, torch.full((ROWS,), 2.0))
    assert torch.equal(answer, 2 * matrix[:, 0])
    assert main_thread() not in seen
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("_two_threads")
def test_a_mistake_in_a_thread_is_seen() -> None:
    def wrong(_: torch.Tensor) -> torch.Tensor:
        raise ValueError("not these rows")

    with pytest.raises(ValueError, match="not these rows"):
        by_rows(wrong, torch.zeros(ROWS, CLASSES))


@pytest.mark.usefixtures("_two_threads")
def test_scores_and_sets_are_the_same_on_one_core_and_on_two() -> None:
    generator = torch.Generator().manual_seed(0)
    probs = torch.randn(ROWS, CLASSES, generator=generator).softmax(1)
    labels = torch.randint(CLASSES, (ROWS,), generator=generator)
    u = torch.rand(ROWS, generator=generator)

    def sets() -> tuple[torch.Tensor, torch.Tensor]:
        scores = conformal.label_scores(probs, labels, u, lam=0.02, k_reg=3)
        return scores, conformal.set_mask(probs, u, conformal.conformal_threshold(scores, 0.1), lam=0.02, k_reg=3)

    scores, mask = sets()
    torch.set_num_threads(1)
    alone, mask_alone = sets()
    assert torch.equal(scores, alone)
    assert torch.equal(mask, mask_alone)
    # The point whose score is the threshold is in its own set, and with it exactly the rank of Eq. 1.
    assert int(mask.gather(1, labels[:, None]).sum()) == conformal.conformal_rank(ROWS, 0.1)
