"""Pictures of noise, and tables that name them."""

from __future__ import annotations

import numpy as np
from PIL import Image


def picture(path, seed=0, size=(8, 8), mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    channels = (3,) if mode == "RGB" else ()
    pixels = np.random.default_rng(seed).integers(0, 256, (*size, *channels), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return pixels


def table(folder, rows, header="file,labels"):
    (folder / "labels.csv").write_text("\n".join([header, *rows]) + "\n")
    return str(folder / "labels.csv")
