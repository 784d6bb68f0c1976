# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Second part of benchmarks/convex.py: default regularisation compared with the best value of a grid in hindsight.

The grid is the default Lambda times powers of two, for objective perturbation with the same epsilon and delta. Values
of Lambda that are too small for the guarantee are omitted. The best is the largest mean over the runs, which is biased
upwards. The excess error is relative to scikit-learn without privacy.
"""

import statistics
from dataclasses import dataclass

from convex_data import Shape, Split
from convex_runs import ADD_REMOVE, PURE_REPLACE_ONE, Guarantee, ours, repeated, score
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.linear_model import LogisticRegression

EPSILONS = (0.1, 1.0)
FACTORS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 2.0, 4.0, 8.0, 16.0)


@dataclass(frozen=True)
class Compared:
    """One shape with one guarantee."""

    shape: str
    guarantee: str
    epsilon: float
    majority: float
    without: float
    default: float
    best: float
    factor: float

    @property
    def ratio(self) -> float:
        """Excess error of the default divided by that of the best, with a floor of 0.0005 against noise."""
        return max(self.without - self.default, 5e-4) / max(self.without - self.best, 5e-4)


def mean_accuracy(split: Split, model: object, runs: int) -> float:
    """Mean accuracy over the runs; 0 if the guarantee is impossible."""
    accuracies = [run.accuracy for run in repeated(split, model, runs)]
    return statistics.fmean(accuracies) if accuracies else 0.0


def compare(split: Split, guarantee: Guarantee, epsilon: float, *, runs: int, without: float) -> Compared:
    """Compare the default with the grid around it."""
    model = ours(split, guarantee, epsilon)
    chosen = model.plan(n=None if guarantee is ADD_REMOVE else split.n, dim=split.X.shape[1]).spec.strength
    means = {1.0: mean_accuracy(split, model, runs)}
    for factor in FACTORS:
        regularized = ours(split, guarantee, epsilon, method="objective", C=1 / (factor * chosen))
        means[factor] = mean_accuracy(split, regularized, runs)
    best = max(means, key=means.__getitem__)
    found = (split.majority, without, means[1.0], means[best], best)
    return Compared(split.name, guarantee.name, epsilon, *found)


def hindsight(shapes: tuple[Shape, ...], runs: int) -> list[Compared]:
    """Compare every shape with two guarantees and two values of epsilon."""
    rows = []
    for shape in track(shapes, description="synthetic data", console=Console(stderr=True), transient=True):
        split = shape.draw()
        without = score(split, LogisticRegression(max_iter=1000)).accuracy
        for guarantee in (ADD_REMOVE, PURE_REPLACE_ONE):
            rows += [compare(split, guarantee, epsilon, runs=runs, without=without) for epsilon in EPSILONS]
    return rows


def print_hindsight(console: Console, rows: list[Compared]) -> None:
    """Print one line for each comparison, and the mean loss."""
    headings = (
        "shape",
        "guarantee",
        "epsilon",
        "majority",
        "no privacy",
        "default",
        "best",
        "best Lambda",
        "ratio of excess",
    )
    table = Table(*headings, title="Accuracy with the default regularisation and the best in hindsight")
    for row in rows:
        numbers = (f"{value:.4f}" for value in (row.majority, row.without, row.default, row.best))
        table.add_row(
            row.shape, row.guarantee, f"{row.epsilon:g}", *numbers, f"default x {row.factor:g}", f"{row.ratio:.2f}"
        )
    console.print(table)
    lost = sorted(row.best - row.default for row in rows)
    console.print(
        f"accuracy lost against hindsight: median {statistics.median(lost):.4f}, mean {statistics.fmean(lost):.4f}, "
        f"largest {lost[-1]:.4f}; median ratio of excess errors {statistics.median(row.ratio for row in rows):.2f}"
    )
