# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a trial costs, and the smaller table on which it is made where it would take long.

A trial on n' < n rows has an epsilon with n' mu' = n mu (n' epsilon' = n epsilon for a pure goal): then noise has the
same size beside the sum over all rows. What a finite table itself costs is not the same. Measured differences
(benchmarks/planner.py): at most .006 with at least forty rows for each column, and expectations that are too low by .02
with ten, by .04 with four. Tables of more than 4 million entries are not tried, so that more than 300 columns may have
fewer than forty rows each; `is_rough` says so.
"""

import math
from dataclasses import dataclass, replace

from dperm.errors import ParameterError
from dperm.planner.shape import Shape
from dperm.planner.trials import Trials
from dperm.presentation.spelling import arg
from dperm.privacy import ApproxDP, PureDP
from dperm.privacy.gaussian_profile import mu_for

Goal = ApproxDP | PureDP
LEAST_REPEATS = 4
_SECONDS = 2.0
"""For the trials of one method, about: more repeats than the least are made only within it."""
LEAST_PER_COLUMN = 4
PER_COLUMN = 40
"""Rows for each column from which on smaller tables stand for larger ones."""
_MOST_ENTRIES = 4_000_000
LARGEST_EPSILON = 500.0
"""Of a trial: noise of next to no size."""


@dataclass(frozen=True)
class _Cost:
    """Seconds of one fit: at least, for each row, for each entry."""

    least: float
    row: float
    entry: float

    def seconds(self, rows: int, dim: int) -> float:
        return self.least + self.row * rows + self.entry * rows * dim


_COSTS = {
    "plain": _Cost(0.01, 2e-6, 2.5e-7),
    "objective": _Cost(0.03, 1.5e-6, 2.5e-7),
    "output": _Cost(0.03, 1.5e-6, 2e-7),
    "gradient": _Cost(0.1, 4e-5, 6e-7),
    "sgd": _Cost(0.9, 9e-6, 5e-8),
    "bolt_on": _Cost(0.1, 2.3e-5, 1e-7),
    "posterior": _Cost(0.5, 2e-5, 1e-6),
}


def simulated_rows(shape: Shape, method: str) -> Shape:
    """The shape of the tables that ``method`` is tried on: as many rows as a few seconds allow."""
    cost = _COSTS[method]
    most = (2 * _SECONDS / LEAST_REPEATS - cost.least) / (cost.row + cost.entry * shape.dim)
    needed = min(PER_COLUMN * shape.dim, _MOST_ENTRIES // shape.dim)
    return replace(shape, n=min(shape.n, max(int(most), needed)), feature_norm=1.0)


def require_trials(shape: Shape) -> None:
    """Refuse a shape that no table of a size which is tried stands for.

    Raises
    ------
    ParameterError
        With fewer than four rows for each column even the sign of what privacy costs may be wrong.
    """
    most = _MOST_ENTRIES // shape.dim
    if most < min(shape.n, LEAST_PER_COLUMN * shape.dim):
        raise ParameterError(
            f"n and dim must be such that trials can stand for them, got {shape.n:,} rows with {shape.dim:,} columns: "
            f"tables of more than {_MOST_ENTRIES:,} numbers are not tried, and {most:,} rows say nothing about more "
            f"of them. Leave the trials out ({arg('simulate', False)}) for noise and proved bounds alone."
        )


def is_rough(shape: Shape, rows: int) -> bool:
    """Whether tables with so many rows stand badly for those of ``shape``."""
    return rows < min(shape.n, PER_COLUMN * shape.dim)


def repeats_for(shape: Shape, method: str, trials: Trials) -> int:
    """How many trials there are time for."""
    affordable = int(_SECONDS / _COSTS[method].seconds(shape.n, shape.dim))
    return min(trials.repeats, max(affordable, LEAST_REPEATS))


def scaled_goal(goal: Goal, factor: float) -> Goal:
    """The goal whose noise is smaller by ``factor``, as in the text above."""
    if factor == 1:
        return goal
    if isinstance(goal, PureDP) or goal.delta == 0:
        return replaced(goal, goal.epsilon * factor)
    return replaced(goal, _epsilon_for(mu_for(goal.epsilon, goal.delta) * factor, goal.delta))


def replaced(goal: Goal, epsilon: float) -> Goal:
    """The same kind of goal with another epsilon."""
    epsilon = min(epsilon, LARGEST_EPSILON)
    if isinstance(goal, PureDP):
        return PureDP(epsilon, goal.adjacency)
    return ApproxDP(epsilon, goal.delta, goal.adjacency)


def _epsilon_for(mu: float, delta: float) -> float:
    low, high = 1e-9, LARGEST_EPSILON
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if mu_for(middle, delta) > mu else (middle, high)
    return math.sqrt(low * high)
