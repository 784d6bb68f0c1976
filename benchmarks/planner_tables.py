# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Difficulty of tables about people, spread of their rows, and the planner's expectation for them.

The planner's default was chosen from these tables (benchmarks/planner_people.py): a third of the errors avoided, six
tenths of a row's squared norm common to all rows, variances in proportion to 1/j.
"""

import statistics
from dataclasses import dataclass

import numpy as np
from planner_people import encoded, frames
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from dperm.planner import Shape, Trials, expected_accuracy
from dperm.privacy import ApproxDP
from dperm.sklearn import PrivateLogisticRegression

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
LEAST_REMOVED = 0.1
"""Below, there is nothing to learn, and no private model is planned."""


@dataclass(frozen=True)
class Compared:
    """One table.

    Attributes
    ----------
    removed
        Of the errors of guessing the larger class, the share that scikit-learn's logistic regression avoids.
    mean_share
        Squared norm of the mean row; rows have norm 1.
    directions
        1 / sum of squares of the shares of variance: how many directions the rows spread in.
    off
        Expected minus measured accuracy at each of EPSILONS, with the accuracy without privacy as the baseline; empty
        where there is nothing to learn.
    """

    name: str
    n: int
    dim: int
    majority: float
    without_privacy: float
    removed: float
    mean_share: float
    directions: float
    off: tuple[float, ...]


def plain(X: np.ndarray, y: np.ndarray) -> float:
    """Accuracy of scikit-learn on held-out fifths, at the best of three regularisation strengths."""
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    return max(
        statistics.fmean(LogisticRegression(C=C, max_iter=2000).fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds)
        for C in (1.0, 10.0, 100.0)
    )


def private(X: np.ndarray, y: np.ndarray, epsilon: float, runs: int) -> float:
    """Accuracy of dperm's defaults on held-out fifths, drawn again for each run."""
    scores = []
    for run in range(runs):
        order = np.random.default_rng(run).permutation(len(y))
        a, b = np.split(order, [4 * len(y) // 5])
        model = PrivateLogisticRegression(epsilon=epsilon, delta=len(a) ** -1.1, feature_norm=1.0, classes=(0, 1))
        scores.append(model.fit(X[a], y[a]).score(X[b], y[b]))
    return statistics.fmean(scores)


def off(X: np.ndarray, y: np.ndarray, baseline: float, runs: int) -> tuple[float, ...]:
    """Expected minus measured accuracy."""
    shape = Shape(4 * len(y) // 5, X.shape[1], balance=float(y.mean()), baseline=baseline)
    goals = [ApproxDP(epsilon, shape.n**-1.1, "replace_one") for epsilon in EPSILONS]
    return tuple(
        expected_accuracy(shape, goal, trials=Trials(runs)).mean - private(X, y, goal.epsilon, runs) for goal in goals
    )


def compared(name: str, X: np.ndarray, y: np.ndarray, runs: int) -> Compared:
    """One table."""
    majority, reached = max(y.mean(), 1 - y.mean()), plain(X, y)
    removed = (reached - majority) / (1 - majority)
    shares = np.linalg.eigvalsh(np.cov(X.T))
    shares /= shares.sum()
    common = float(X.mean(axis=0) @ X.mean(axis=0))
    found = off(X, y, reached, runs) if removed >= LEAST_REMOVED else ()
    return Compared(name, *X.shape, majority, reached, removed, common, float(1 / (shares @ shares)), found)


def compared_tables(runs: int) -> list[Compared]:
    """Compare all tables."""
    return [compared(name, *encoded(frame, *what), runs) for name, frame, what in frames()]


def print_tables(console: Console, found: list[Compared]) -> None:
    """Print the tables and the quantities behind the planner's default."""
    columns = ("table", "n", "d", "majority", "no privacy", "removed", "mean", "directions", "as 1/j has")
    table = Table(*columns, *(f"off, {epsilon:g}" for epsilon in EPSILONS), title="Tables of people")
    for each in found:
        numbers = (each.majority, each.without_privacy, each.removed, each.mean_share)
        directions = (f"{each.directions:.1f}", f"{expected_directions(each.dim):.1f}")
        signed = (f"{value:+.3f}" for value in each.off)
        shown = (f"{value:.2f}" for value in numbers)
        table.add_row(each.name, f"{each.n:,}", str(each.dim), *shown, *directions, *signed)
    console.print(table)
    learnt = [each for each in found if each.off]
    quartiles = np.quantile([each.removed for each in learnt], [0.25, 0.5, 0.75])
    console.print(f"{len(learnt)} of {len(found)} tables have something to learn; removed, quartiles: {quartiles}")
    console.print(f"removed, median of all: {statistics.median(each.removed for each in found):.2f}")
    console.print(f"mean share, median: {statistics.median(each.mean_share for each in found):.2f}")
    wrong = np.array([each.off for each in learnt])
    console.print(f"off, mean: {wrong.mean(axis=0).round(4)}; mean of sizes: {np.abs(wrong).mean(axis=0).round(4)}")


def expected_directions(dim: int) -> float:
    """Number of directions of the planner's rows."""
    shares = 1 / np.arange(1, dim + 1)
    return float(shares.sum() ** 2 / (shares @ shares))
