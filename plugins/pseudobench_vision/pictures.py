"""Opening one image file of a user's: as its maker meant it, or refused in one line."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from pseudobench import BenchError

#: Pixels of an image at most. A file of a few kilobytes can claim billions.
LIMIT = 2**26
BACKGROUND = (255, 255, 255)
#: Modes of Pillow with 16 bits a pixel; ``I`` has 32, of which PNG and PGM use 16.
_SIXTEEN = ("I;16", "I;16L", "I;16B", "I;16N")
_PLAIN = ("1", "L", "P", "RGB", "CMYK", "YCbCr")
_WITH_ALPHA = ("LA", "La", "PA", "RGBA", "RGBa")


def read_picture(path: Path) -> np.ndarray[Any, Any]:
    """An image as RGB ``uint8 [H, W, 3]``: turned as its EXIF says, 16 bits scaled to 8, transparency on white."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # LIMIT is below Pillow's
            image = Image.open(path)
        with image:
            _check(path, image)
            return np.array(_rgb(path, ImageOps.exif_transpose(image)))
    except BenchError:
        raise
    except Image.DecompressionBombError:
        raise BenchError(f"{path} is too large: at most {LIMIT} pixels") from None
    except Exception as error:  # decoders raise errors of many types
        reason = " ".join(str(error).split()) or type(error).__name__
        raise BenchError(f"{path} can't be read as an image: {reason}") from None


def _check(path: Path, image: Any) -> None:
    """Raise for defects that the header alone shows, before anything is decoded."""
    width, height = image.size
    if width * height > LIMIT:
        raise BenchError(f"{path} is too large: {width} x {height} pixels, and at most {LIMIT} are read")
    frames = getattr(image, "n_frames", 1)
    if frames > 1 and image.format != "MPO":  # MPO: a photograph with its preview
        raise BenchError(f"{path} has {frames} frames; a file must hold one image")


def _rgb(path: Path, image: Any) -> Any:
    if image.mode in _SIXTEEN or (image.mode == "I" and image.format in ("PNG", "PPM", None)):
        return Image.fromarray(_eight_bits(path, np.asarray(image))).convert("RGB")
    if image.mode in _WITH_ALPHA or (image.mode in _PLAIN and "transparency" in image.info):
        seen = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", seen.size, (*BACKGROUND, 255)), seen).convert("RGB")
    if image.mode in _PLAIN:
        return image.convert("RGB")
    raise BenchError(f"{path} has pixels of mode {image.mode}, whose range is not known; save it with 8 or 16 bits")


def _eight_bits(path: Path, pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """``[H, W]`` of 16 bits scaled to 8: 65535 becomes 255."""
    wide = pixels.astype(np.int64)
    if wide.min() < 0 or wide.max() > 65535:
        raise BenchError(f"{path} has pixels from {wide.min()} to {wide.max()}; save it with 8 or 16 bits")
    return ((wide + 128) // 257).astype(np.uint8)
