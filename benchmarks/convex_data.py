# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Data of benchmarks/convex.py: three real data sets read from a directory, and synthetic ones of several shapes."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FILES = {
    "adult_jmlr2011": "adult_jmlr2011.npz",
    "adult_v2": "adult_v2.npz",
    "kdd99": "kdd99_70k_unitnorm.npz",
}
TEST_ROWS = 20_000


@dataclass(frozen=True)
class Split:
    """Rows of norm at most 1 and labels in {-1, 1}, for training and testing."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    how: str

    @property
    def n(self) -> int:
        """Number of training records."""
        return len(self.y)

    @property
    def delta(self) -> float:
        """n^-1.1, as in the literature these sets come from."""
        return float(self.n**-1.1)

    @property
    def majority(self) -> float:
        """Accuracy of the class that is more frequent in the test set."""
        positive = float(np.mean(self.y_test > 0))
        return max(positive, 1 - positive)


def held_out(stored: "np.lib.npyio.NpzFile") -> tuple[np.ndarray, str]:
    """Which rows are for testing: the data set's own split, or every fifth row."""
    if "is_test" in stored:
        return stored["is_test"].astype(bool), "its own test part"
    return np.arange(len(stored["y"])) % 5 == 4, "rows 4, 9, 14, ... are the test part"


def real(directory: Path, name: str) -> Split:
    """Load one of FILES; diffprivlib's environment uses this function too."""
    path = directory / FILES[name]
    if not path.exists():
        sys.exit(f"{path} does not exist: give the directory of the data sets by --data or DPERM_DATA.")
    with np.load(path) as stored:
        X, y = stored["X"].astype(np.float64), stored["y"].astype(np.int64)
        test, how = held_out(stored)
    return Split(name, X[~test], y[~test], X[test], y[test], how)


@dataclass(frozen=True)
class Shape:
    """Gaussian rows whose j-th coordinate has variance j^-decay, scaled down to norm 1; a logistic model of labels.

    The margin of a record has standard deviation 4 around ``offset``; the public norm is the root of the mean squared
    norm of the rows, so that about half of them are scaled down.
    """

    dim: int
    n: int
    decay: float
    offset: float

    @property
    def name(self) -> str:
        """Distinguishing properties."""
        spectrum = "isotropic" if self.decay == 0 else f"variances j^-{self.decay:g}"
        return f"d = {self.dim}, n = {self.n:,}, {spectrum}, offset {self.offset:g}"

    def draw(self) -> Split:
        """Draw the same rows at each call; only the noise of the methods changes between runs."""
        generator, rows = np.random.default_rng(2026), self.n + TEST_ROWS
        deviation = np.arange(1, self.dim + 1) ** (-self.decay / 2)
        X = generator.standard_normal((rows, self.dim)) * deviation
        direction = generator.standard_normal(self.dim)
        margins = 4 * X @ direction / np.linalg.norm(direction * deviation) + self.offset
        y = np.where(generator.random(rows) < 1 / (1 + np.exp(-margins)), 1, -1)
        X /= np.linalg.norm(deviation)
        X /= np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
        return Split(self.name, X[: self.n], y[: self.n], X[self.n :], y[self.n :], "drawn")


SHAPES = (
    Shape(10, 500, 0, 0),
    Shape(10, 5_000, 0, 2),
    Shape(10, 100_000, 0, 0),
    Shape(50, 1_000, 2, 1),
    Shape(50, 5_000, 0, -2),
    Shape(50, 100_000, 1, 0),
    Shape(100, 2_000, 1, -2),
    Shape(100, 20_000, 1, 0),
    Shape(100, 20_000, 2, 2),
    Shape(300, 20_000, 0, 0),
    Shape(300, 20_000, 1, 1),
)
