# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Contenders and data of benchmarks/convex_timing.py: scikit-learn's estimators with their defaults, and dperm's.

The private estimators have epsilon 1 and delta n^-1.1 under add_remove. They declare no n, except for methods that need
one, which get n rounded to one digit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from convex_data import FILES, Shape
from convex_multiclass_data import CLASSES, Images
from convex_regression_data import Regression
from sklearn.linear_model import HuberRegressor, LinearRegression, LogisticRegression

from dperm.sklearn import PrivateHuberRegressor, PrivateLinearRegression, PrivateLogisticRegression

PLAIN = "scikit-learn"
NEED_N = ("gradient", "sgd")


@dataclass(frozen=True)
class Rows:
    """Data of a contest."""

    name: str
    X: np.ndarray
    y: np.ndarray

    @property
    def promised(self) -> dict[str, Any]:
        """Guarantee of all private estimators."""
        return {"epsilon": 1.0, "delta": len(self.y) ** -1.1, "adjacency": "add_remove"}


@dataclass(frozen=True)
class Contest:
    """scikit-learn's estimator and dperm's on the same rows, with targets and exceptions."""

    rows: Rows
    makers: dict[str, Callable[[], Any]]
    ratio: float
    memory: float | None = None
    without_bar: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Name of scikit-learn's estimator and the data."""
        return f"{type(self.makers[PLAIN]()).__name__}, {self.rows.name}"


def rough(n: int) -> int:
    """A number rounded to one digit, as a user might declare it."""
    return int(float(f"{n:.0e}"))


def binary(rows: Rows, methods: tuple[str, ...] = ("objective", "output")) -> Contest:
    """Logistic regression with two classes: as fast as scikit-learn, and within a tenth of the memory of X."""
    public = rows.promised | {"feature_norm": 1.0, "classes": (-1, 1)}
    makers: dict[str, Callable[[], Any]] = {PLAIN: LogisticRegression}
    for method in methods:
        chosen = {"method": method} | ({"n": rough(len(rows.y))} if method in NEED_N else {})
        makers.setdefault(method, lambda chosen=chosen: PrivateLogisticRegression(**public, **chosen))
    return Contest(rows, makers, 1.0, memory=0.10)


def adult(directory: Path | None) -> Rows:
    """All rows of Adult, or synthetic rows of the same shape."""
    if directory is None:
        split = Shape(104, 45_223, 1, -2).draw()
        return Rows("45,223 x 104, synthetic", split.X, split.y)
    with np.load(directory / FILES["adult_jmlr2011"]) as stored:
        return Rows("Adult, 45,223 x 104", stored["X"].astype(np.float64), stored["y"].astype(np.int64))


def million() -> Rows:
    """A million records."""
    split = Shape(50, 1_000_000, 0, 0).draw()
    return Rows("1,000,000 x 50, synthetic", split.X, split.y)


def least_squares(data: Regression) -> Contest:
    """Linear regression by three methods; "auto" chooses "objective"."""
    rows = Rows(data.name, data.X, data.y)
    public = rows.promised | {"bounds": data.bounds, "label_range": data.label_range}
    makers: dict[str, Callable[[], Any]] = {PLAIN: LinearRegression}
    for method in ("objective", "sufficient", "output"):
        makers[method] = lambda method=method: PrivateLinearRegression(method=method, **public)
    return Contest(rows, makers, 1.5)


def huber(data: Regression) -> Contest:
    """Regression with the Huber loss."""
    rows = Rows(data.name, data.X, data.y)
    public = rows.promised | {"bounds": data.bounds, "label_range": data.label_range, "method": "objective"}
    return Contest(rows, {PLAIN: HuberRegressor, "objective": lambda: PrivateHuberRegressor(**public)}, 1.5)


def softmax(data: Images) -> Contest:
    """Logistic regression with ten classes; DP-SGD is shown with its cost."""
    rows = Rows(f"{data.name}, {data.n:,} x {data.X.shape[1]}", data.X, data.y)
    public = rows.promised | {"feature_norm": data.norm, "classes": CLASSES}
    makers = {
        PLAIN: LogisticRegression,
        "objective": lambda: PrivateLogisticRegression(method="objective", **public),
        "sgd": lambda: PrivateLogisticRegression(method="sgd", n=rough(data.n), **public),
    }
    return Contest(rows, makers, 1.5, without_bar=("sgd",))
