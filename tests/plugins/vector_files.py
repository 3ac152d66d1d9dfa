"""Made-up vectors and tables, and files of them."""

from __future__ import annotations

import numpy as np
import pandas as pd


def people(n=200, seed=0):
    """A table with gaps, numbers of all sizes and categories; the label depends on age and city."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": random.normal(40, 10, n).round(1),
            "income": random.lognormal(10, 1, n).round(),
            "city": random.choice(["Rome", "Oslo", "Köln"], n),
        }
    )
    frame["label"] = np.where((frame.age > 40) ^ (frame.city == "Oslo"), "yes", "no")
    frame.loc[::7, "income"] = np.nan
    return frame
