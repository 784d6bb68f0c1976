# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Table with numbers, amounts, categories and gaps, and additive models declared for it."""

from typing import Any

import numpy as np

from dperm.data import Categorical, Numeric
from dperm.sklearn import PrivateAdditiveClassifier, PrivateAdditiveRegressor

TERMS = {
    "age": Numeric(17, 90),
    "gain": Numeric(0, 1e5, unit=1000, special=(0, 99999), detail=0.6, bins=32, weight=3),
    "hour": Numeric(0, 24, period=24),
    "work": Categorical(["public", "private", "own"]),
    "sex": Categorical(["f", "m"]),
}
PAIRS = [("hour", "work")]
RECORDS = 3000


def records(n: int = RECORDS, seed: int = 0) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Return a table, labels 0 and 1, and numbers from -3 to 3."""
    rng = np.random.default_rng(seed)
    table: dict[str, Any] = {
        "age": np.where(rng.random(n) < 0.02, np.nan, rng.uniform(10, 95, n)),
        "gain": np.where(rng.random(n) < 0.7, 0.0, np.where(rng.random(n) < 0.1, 99999.0, rng.lognormal(8, 1, n))),
        "hour": rng.integers(0, 24, n).astype(float),
        "work": rng.choice(["public", "private", "own", "none"], n),
        "sex": rng.choice(["f", "m"], n),
    }
    age = np.nan_to_num(table["age"], nan=40.0)
    score = 1.5 * np.cos((age - 50) / 15) + (table["work"] == "own") - (table["gain"] > 5000)
    noisy = score + rng.normal(0, 0.5, n)
    return table, (noisy > 0.3).astype(int), np.clip(noisy, -3, 3)


def classifier(**changes: Any) -> PrivateAdditiveClassifier:
    """Return a classifier with everything declared."""
    given = {"terms": TERMS, "interactions": PAIRS, "epsilon": 1.0, "classes": (0, 1)}
    return PrivateAdditiveClassifier(**{**given, **changes})


def regressor(**changes: Any) -> PrivateAdditiveRegressor:
    """Return a regressor with everything declared."""
    given = {"terms": TERMS, "interactions": PAIRS, "epsilon": 1.0, "label_range": (-3, 3)}
    return PrivateAdditiveRegressor(**{**given, **changes})
