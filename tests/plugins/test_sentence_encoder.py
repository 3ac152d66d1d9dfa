"""The sentence encoder, and runs on its vectors, where its package is installed."""

from __future__ import annotations

import json

import pytest
import torch
from text_files import TOPICS, write

from pseudobench import BenchError
from pseudobench_text import encoder


def has_encoder():
    try:
        encoder.check_installed()
    except BenchError:
        return False
    return True


needs_encoder = pytest.mark.skipif(not has_encoder(), reason="the sentence encoder is not installed")


@needs_encoder
def test_the_encoder_gives_what_transformers_gives():
    """Written down from BertModel of transformers 5 on the same weights: mean over tokens, length 1."""
    found = encoder.load_encoder()(
        ["Water and food are needed in the village.", "Überall gibt es Straßen! " + "word " * 400]
    )
    expected = torch.tensor(
        [
            [0.02255, 0.052284, -0.042276, 0.03808, 0.036033, -0.021272, -0.016983, -0.09268],
            [-0.004781, -0.112577, -0.013776, 0.054598, -0.046027, 0.01603, 0.006561, -0.038111],
        ]
    )
    torch.testing.assert_close(found[:, :8], expected, atol=2e-6, rtol=0)
    torch.testing.assert_close(found.norm(dim=1), torch.ones(2))


@needs_encoder
def test_texts_are_encoded_once_and_whatever_their_neighbours_are(tmp_path, monkeypatch):
    words = [sentence for sentences in TOPICS.values() for sentence in sentences]
    together = encoder.encode(words, tmp_path)
    alone = torch.cat([encoder.load_encoder()([word]) for word in words])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)
    monkeypatch.setattr(encoder, "load_encoder", lambda: pytest.fail("encoded again"))
    assert torch.equal(encoder.encode(words, tmp_path), together)
    monkeypatch.undo()
    (kept,) = (tmp_path / encoder.CACHE).iterdir()
    kept.write_bytes(b"broken")
    assert torch.equal(encoder.encode(words, tmp_path), together)


@needs_encoder
@pytest.mark.parametrize("single", [True, False])
def test_runs_on_texts(bench, tmp_path, single):
    write(tmp_path / "t.csv", single)
    outcome = bench(
        *("run", "--dataset", "text:t.csv", "--methods", "pl,ups,ups-raps", "--labels", "24", "--preset", "smoke"),
        *("--seeds", "1", "--json", "--quiet"),
    )
    assert outcome.code == 0, outcome.err
    assert {row["status"] for row in json.loads(outcome.out)} == {"done"}
    if single:
        assert all(row["accuracy"] >= 0.75 for row in json.loads(outcome.out))
