# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Multi-class data of the benchmarks: scikit-learn's digits, and MNIST from a directory."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

CLASSES = tuple(range(10))
DELTA = 1e-5


@dataclass(frozen=True)
class Images:
    """Pixels in [0, 1] and digits, for training and testing, and a public norm to which longer rows are clipped."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    norm: float
    how: str

    @property
    def n(self) -> int:
        """Number of training records."""
        return len(self.y)


def digits() -> Images:
    """scikit-learn's: 1,797 images of 8 x 8."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(2026).permutation(len(y))
    test, train = order[: len(y) // 5], order[len(y) // 5 :]
    return Images("digits", X[train] / 16, y[train], X[test] / 16, y[test], 4.0, "a fixed fifth is the test part")


def mnist(directory: Path) -> Images:
    """70,000 images of 28 x 28, raw pixels / 255."""
    path = directory / "mnist.npz"
    if not path.exists():
        sys.exit(f"{path} does not exist: give the directory of the data sets by --data or DPERM_DATA.")
    with np.load(path) as stored:
        X, X_test = (stored[name].reshape(-1, 784) / 255.0 for name in ("x_train", "x_test"))
        y, y_test = (stored[name].astype(np.int64) for name in ("y_train", "y_test"))
    return Images("MNIST", X, y, X_test, y_test, 8.0, "its own test part")
