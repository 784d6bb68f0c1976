# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables for benchmarks/auto_choice.py and benchmarks/noise_warning.py: synthetic ones, and real data sets from --data.

The rules were developed on the distributions of the development part; the held-out part was not used.
"""

import csv
import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn import datasets

Rows = np.ndarray | sp.csr_matrix
TEST_ROWS = 4000


@dataclass(frozen=True)
class Split:
    """Rows within the public norm 1, and labels: 0, 1, ... for classes, numbers within ``label_range`` otherwise."""

    X: Rows
    y: np.ndarray
    X_test: Rows
    y_test: np.ndarray
    label_range: tuple[float, float] | None = None

    @property
    def is_regression(self) -> bool:
        """Whether the labels are numbers."""
        return self.label_range is not None

    @property
    def constant_score(self) -> float:
        """Score of the constant model: the fraction of the larger class, or an R^2 of 0."""
        return 0.0 if self.is_regression else float(np.bincount(self.y_test).max() / len(self.y_test))


Law = Callable[[int, int, np.random.Generator], tuple[Rows, np.ndarray]]
"""Scores a table of so many rows and columns: rows within norm 1, and a real number for each of them."""


def unit_norm(X: Rows) -> Rows:
    """Dense rows divided by their root mean square norm and clipped to norm 1; sparse rows scaled to norm 1."""
    if sp.issparse(X):
        lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1))).ravel()
        return sp.csr_matrix(sp.diags(1 / np.maximum(lengths, 1e-12)) @ X)
    X = X / np.sqrt(np.einsum("ij,ij->i", X, X).mean())
    return X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]


def spectrum(decay: float, head: int | None = None) -> Law:
    """Gaussian rows whose j-th column has variance j^-decay; the first ``head`` columns, or all, are relevant."""

    def law(rows: int, dim: int, generator: np.random.Generator) -> tuple[Rows, np.ndarray]:
        X = generator.standard_normal((rows, dim)) * np.arange(1, dim + 1) ** (-decay / 2)
        return unit_norm(X), X[:, :head] @ generator.standard_normal(dim)[:head]

    return law


def words(each: int, head: int | None = None) -> Law:
    """Sparse rows of ``each`` words with Zipf frequencies; the ``head`` most frequent words, or all, are relevant."""

    def law(rows: int, dim: int, generator: np.random.Generator) -> tuple[Rows, np.ndarray]:
        frequency = 1 / np.arange(1, dim + 1)
        columns = generator.choice(dim, size=rows * each, p=frequency / frequency.sum())
        X = sp.csr_matrix((np.ones(rows * each), (np.repeat(np.arange(rows), each), columns)), shape=(rows, dim))
        X = unit_norm(X)
        weights = generator.standard_normal(dim)
        weights[head or dim :] = 0
        return X, X @ weights

    return law


def levels(columns: int) -> Law:
    """Sparse one-hot rows: ``columns`` categorical columns with skewed frequencies, some of them correlated."""

    def law(rows: int, dim: int, generator: np.random.Generator) -> tuple[Rows, np.ndarray]:
        width = dim // columns
        shared = generator.random((rows, 1))
        uniform = np.where(generator.random((rows, columns)) < 0.3, shared, generator.random((rows, columns)))
        place = np.minimum((width * uniform**2).astype(np.int64), width - 1) + width * np.arange(columns)
        X = sp.csr_matrix((np.ones(rows * columns), (np.repeat(np.arange(rows), columns), place.ravel())), (rows, dim))
        X = unit_norm(X)
        return X, X @ generator.laplace(size=dim)

    return law


def factors(count: int) -> Law:
    """Dense rows of ``count`` common factors plus heavy-tailed noise of the same size; the factors are relevant."""

    def law(rows: int, dim: int, generator: np.random.Generator) -> tuple[Rows, np.ndarray]:
        hidden = generator.standard_normal((rows, count))
        X = hidden @ generator.standard_normal((count, dim)) / np.sqrt(count) + generator.standard_t(
            4, size=(rows, dim)
        )
        return unit_norm(X), hidden @ generator.standard_normal(count)

    return law


def neighbours(correlation: float) -> Law:
    """Dense uniform-like rows with correlated adjacent columns; every tenth column is relevant."""

    def law(rows: int, dim: int, generator: np.random.Generator) -> tuple[Rows, np.ndarray]:
        X = generator.standard_normal((rows, dim))
        for column in range(1, dim):
            X[:, column] = correlation * X[:, column - 1] + np.sqrt(1 - correlation**2) * X[:, column]
        X = np.tanh(X)
        return unit_norm(X), X[:, ::10] @ generator.standard_normal(len(X[0, ::10]))

    return law


def clusters(informative: int) -> Law:
    """scikit-learn's make_classification: clusters on the corners of a cube; most columns are irrelevant."""

    def law(rows: int, dim: int, generator: np.random.Generator) -> tuple[Rows, np.ndarray]:
        X, y = datasets.make_classification(
            rows,
            dim,
            n_informative=min(informative, dim),
            n_redundant=min(informative, dim - min(informative, dim)),
            class_sep=1.5,
            random_state=int(generator.integers(2**31)),
        )
        return unit_norm(X), np.where(y == 1, 4.0, -4.0)

    return law


@dataclass(frozen=True)
class Table:
    """A synthetic table: a law, a size, the kind of labels and their signal.

    Attributes
    ----------
    law
        Draws rows and their true scores.
    n, dim
        Rows to learn from, and columns.
    classes
        Number of classes; 0 for a regression with labels in [0, 1].
    signal
        Standard deviation of the log odds of two classes; for regressions the R^2 of the true model.
    skewed
        Whether the labels of a regression are log-normal around the score, within a range of 20 times their mean.
    """

    name: str
    law: Law
    n: int
    dim: int
    classes: int = 2
    signal: float = 4.0
    skewed: bool = False

    def draw(self, seed: int) -> Split:
        """Draw the table; the same seed gives the same table."""
        generator = np.random.default_rng([seed, self.n, self.dim])
        X, score = self.law(self.n + TEST_ROWS, self.dim, generator)
        score = (score - score.mean()) / score.std()
        if self.classes:
            return self._split(X, self._labels(score, generator), None)
        noise = generator.standard_normal(len(score))
        mixed = np.sqrt(self.signal) * score + np.sqrt(1 - self.signal) * noise
        if self.skewed:
            y = np.exp(1.2 * mixed)
            return self._split(X, np.minimum(y / (20 * y.mean()), 1.0), (0.0, 1.0))
        return self._split(X, np.clip(0.5 + mixed / 8, 0.0, 1.0), (0.0, 1.0))

    def _labels(self, score: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        if self.classes == 2:
            return (generator.random(len(score)) < expit(self.signal * score)).astype(np.int64)
        noisy = score + generator.standard_normal(len(score)) / self.signal
        return np.searchsorted(np.quantile(noisy, np.arange(1, self.classes) / self.classes), noisy)

    def _split(self, X: Rows, y: np.ndarray, label_range: tuple[float, float] | None) -> Split:
        return Split(X[: self.n], y[: self.n], X[self.n :], y[self.n :], label_range)


DEVELOPMENT = (
    Table("words, head", words(30, 100), 4_000, 20_000, signal=8),
    Table("words, all", words(30), 4_000, 2_000, signal=8),
    Table("words, head", words(30, 30), 20_000, 5_000),
    Table("isotropic", spectrum(0), 1_000, 1_000, signal=8),
    Table("decay 1", spectrum(1), 1_000, 1_000, signal=8),
    Table("decay 2", spectrum(2), 4_000, 2_000),
    Table("decay 1", spectrum(1), 4_000, 400),
    Table("isotropic", spectrum(0), 5_000, 50),
    Table("decay 1", spectrum(1), 20_000, 100),
    Table("decay 2", spectrum(2), 1_000, 10),
    Table("numbers, decay 1", spectrum(1), 2_000, 1_000, classes=0, signal=0.8),
    Table("numbers, words", words(30, 50), 4_000, 5_000, classes=0, signal=0.8),
    Table("numbers, decay 1", spectrum(1), 10_000, 30, classes=0, signal=0.5),
    Table("numbers, isotropic", spectrum(0), 1_000, 10, classes=0, signal=0.8),
    Table("numbers, skewed", spectrum(1), 5_000, 20, classes=0, signal=0.5, skewed=True),
)
HELD_OUT = (
    Table("levels", levels(20), 3_000, 10_000, signal=8),
    Table("levels", levels(12), 10_000, 1_200),
    Table("factors", factors(5), 1_000, 3_000, signal=8),
    Table("factors", factors(20), 3_000, 300),
    Table("neighbours", neighbours(0.9), 2_000, 2_000, signal=8),
    Table("neighbours", neighbours(0.5), 30_000, 60),
    Table("clusters", clusters(8), 1_500, 500),
    Table("clusters", clusters(5), 8_000, 25),
    Table("levels, 4 classes", levels(12), 6_000, 600, classes=4),
    Table("factors, 3 classes", factors(5), 3_000, 1_000, classes=3),
    Table("numbers, levels", levels(20), 3_000, 3_000, classes=0, signal=0.7),
    Table("numbers, factors", factors(5), 1_500, 600, classes=0, signal=0.7),
    Table("numbers, neighbours", neighbours(0.7), 20_000, 50, classes=0, signal=0.4),
    Table("numbers, factors", factors(3), 2_000, 12, classes=0, signal=0.9),
    Table("numbers, skewed", factors(5), 4_000, 40, classes=0, signal=0.6, skewed=True),
)


def bundled() -> dict[str, Split]:
    """Real data sets included in scikit-learn, scaled by public constants or to unit norm."""
    breast, diabetes, digits = datasets.load_breast_cancer(), datasets.load_diabetes(), datasets.load_digits()
    return {
        "breast cancer": _real(unit_norm(breast.data / breast.data.max(axis=0)), breast.target),
        "digits": _real(unit_norm(digits.data / 16), digits.target),
        "diabetes": _real(unit_norm(diabetes.data / 0.2), diabetes.target, (0.0, 400.0)),
    }


def stored(directory: Path) -> dict[str, Split]:
    """Real data sets found in a directory."""
    found = {}
    for name, target, label_range in (
        ("credit", "default", None),
        ("bike", "cnt", (0.0, 1000.0)),
        ("california", "MedHouseVal", (0.0, 5.0)),
        ("diamond", "Price", (0.0, 50_000.0)),
    ):
        path = directory / f"{name}.csv.gz"
        if path.exists():
            found[name] = _table(path, target, label_range)
    return found


def _table(path: Path, target: str, label_range: tuple[float, float] | None) -> Split:
    """Numbers scaled to [-1, 1] by their range, which is acceptable only in a benchmark; text one-hot encoded."""
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    columns = []
    for name in rows[0]:
        if name in (target, "instant", "dteday"):
            continue
        values = np.array([row[name] for row in rows])
        try:
            numbers = values.astype(float)
        except ValueError:
            columns += [(values == level).astype(float) for level in np.unique(values)]
        else:
            low, high = np.quantile(numbers, (0.01, 0.99))
            columns.append(np.clip(2 * (numbers - low) / max(high - low, 1e-9) - 1, -1, 1))
    labels = np.array([float(row[target]) for row in rows])
    y = labels.astype(np.int64) if label_range is None else np.clip(labels, *label_range)
    return _real(unit_norm(np.column_stack(columns)), y, label_range)


def _real(X: np.ndarray, y: np.ndarray, label_range: tuple[float, float] | None = None) -> Split:
    """Split off a quarter for testing."""
    order = np.random.default_rng(0).permutation(len(y))
    test, train = order[: len(y) // 4], order[len(y) // 4 :]
    return Split(X[train], y[train], X[test], y[test], label_range)
