# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Regression data of the benchmarks, with public bounds of columns and labels; also used for diffprivlib.

California housing is read from a file, because scikit-learn would download it. The file is an npz with X (20,640 x 8)
and y, or a csv with one line of names and nine columns, MedInc, HouseAge, AveRooms, AveBedrms, Population, AveOccup,
Latitude, Longitude, MedHouseVal, in the order of ``sklearn.datasets.fetch_california_housing``.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes

Bounds = tuple[tuple[float, float], ...]
NOISE = 0.5

# Round numbers from what the columns mean, in the order of the docstring, not from the rows: the census cut off incomes
# near 15 ($10,000), ages at 52 years and values near 5 ($100,000), as is well known; the state lies within these
# degrees; rooms, bedrooms, people of a block and of a household have no limit, and few blocks should exceed these.
CALIFORNIA: Bounds = (
    (0.0, 15.0),
    (0.0, 52.0),
    (0.0, 20.0),
    (0.0, 5.0),
    (0.0, 10_000.0),
    (0.0, 10.0),
    (32.0, 42.0),
    (-125.0, -114.0),
)


@dataclass(frozen=True)
class Regression:
    """Records for training and testing, and their public declarations."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    bounds: Bounds
    label_range: tuple[float, float]
    how: str

    @property
    def n(self) -> int:
        """Number of training records."""
        return len(self.y)

    @property
    def delta(self) -> float:
        """n^-1.1, as for the classifiers."""
        return float(self.n**-1.1)


def shuffled(
    X: np.ndarray, y: np.ndarray, *, name: str, bounds: Bounds, label_range: tuple[float, float]
) -> Regression:
    """Split off a fixed fifth of the rows for testing."""
    order = np.random.default_rng(2026).permutation(len(y))
    test, train = order[: len(y) // 5], order[len(y) // 5 :]
    return Regression(name, X[train], y[train], X[test], y[test], bounds, label_range, "a fixed fifth is the test part")


def diabetes() -> Regression:
    """scikit-learn's diabetes data: columns with mean 0 and norm 1 over 442 rows; disease score after a year."""
    X, y = load_diabetes(return_X_y=True)
    return shuffled(X, y, name="diabetes", bounds=((-0.2, 0.2),) * X.shape[1], label_range=(0.0, 400.0))


def california(path: Path) -> Regression:
    """Median house value of a block, from a file."""
    if not path.exists():
        sys.exit(f"{path} does not exist: give California housing as csv or npz by --california.")
    if path.suffix == ".npz":
        with np.load(path) as stored:
            X, y = stored["X"], stored["y"]
    else:
        table = np.loadtxt(path, delimiter=",", skiprows=1)
        X, y = table[:, :-1], table[:, -1]
    if X.shape[1] != len(CALIFORNIA):
        sys.exit(f"{path} must have {len(CALIFORNIA)} columns and the value, see benchmarks/convex_regression_data.py.")
    return shuffled(X.astype(float), y.astype(float), name="california", bounds=CALIFORNIA, label_range=(0.0, 5.0))


def synthetic(n: int = 100_000, dim: int = 20) -> Regression:
    """Normal columns with standard deviation 1/2, truncated at 1; a linear model with standard deviation 1, noise 1/2.

    No linear model has R^2 above 1 / (1 + 1/4) = .8. Labels lie within about 5.5; the declared bound is 10.
    """
    generator, rows = np.random.default_rng(2026), n + 20_000
    X = np.clip(generator.standard_normal((rows, dim)) / 2, -1, 1)
    direction = generator.standard_normal(dim)
    signal = X @ (direction / np.linalg.norm(direction)) / X[:, 0].std()
    y = signal + NOISE * generator.standard_normal(rows)
    name = f"synthetic, {n:,} x {dim}"
    return Regression(name, X[:n], y[:n], X[n:], y[n:], ((-1.0, 1.0),) * dim, (-10.0, 10.0), "drawn")


SETS = {"diabetes": diabetes, "synthetic": synthetic}


def regression(name: str, path: Path | None = None) -> Regression:
    """One of SETS, or California housing from ``path``."""
    if name == "california":
        return california(path or Path("california.csv"))
    return SETS[name]()
