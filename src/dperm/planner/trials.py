# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Trials: their number and seed, their running time, and smaller tables in place of large ones.

A trial on n' < n rows has an epsilon with n' mu' = n mu (n' epsilon' = n epsilon for a pure goal), so that the noise
has the same size relative to the sum over all rows. The sampling error of a smaller table is larger. Measured
differences (benchmarks/planner.py) are at most .006 with at least forty rows per column; expectations are too low by
.02 with ten rows per column and by .04 with four. Trials use at most 4 million numbers per table, so tables with more
than 300 columns may have fewer than forty rows per column; `is_rough` reports this.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from dperm import checks
from dperm.errors import ParameterError
from dperm.noise.simulation import generator
from dperm.planner.shape import Shape
from dperm.presentation.spelling import arg
from dperm.privacy import ApproxDP, PureDP
from dperm.privacy.gaussian_profile import mu_for

Goal = ApproxDP | PureDP
LEAST_REPEATS = 4
_SECONDS = 2.0
"""Approximate time for the trials of one method; repetitions beyond the least number must fit into it."""
LEAST_PER_COLUMN = 4
PER_COLUMN = 40
"""Rows per column from which smaller tables represent larger ones well."""
_MOST_ENTRIES = 4_000_000
LARGEST_EPSILON = 500.0
"""Largest epsilon of a trial, with almost no noise."""


def _silent(share: float) -> None:
    """Ignore the reported progress; this is the default callback.

    Parameters
    ----------
    share
        Completed fraction of the work.
    """


@dataclass(frozen=True)
class Trials:
    """Number and seed of the trials of an estimator on simulated tables.

    The noise of the trials is drawn from the seed and is NOT PRIVATE. The simulated tables contain no real records.

    Parameters
    ----------
    repeats
        Number of tables, each with one fit, from 2 to 10,000. If a fit takes a long time, this number is reduced, but
        not below four.
    seed
        Seed of the tables and of the noise, at least 0.
    progress
        Callback that receives the completed fraction of the work, from 0 to 1; by default, progress is not reported.
    """

    repeats: int = 10
    seed: int = 0
    progress: Callable[[float], None] = _silent

    def __post_init__(self) -> None:
        """Check the number of repetitions and the seed."""
        object.__setattr__(self, "repeats", checks.count("repeats", self.repeats, least=2, most=10_000))
        object.__setattr__(self, "seed", checks.count("seed", self.seed, least=0))

    @classmethod
    def quick(cls, seed: int = 0) -> "Trials":
        """Return options with four trials, for quick and rough estimates.

        Parameters
        ----------
        seed
            Seed of the trials.

        Returns
        -------
        Trials
            Options with four trials.
        """
        return cls(repeats=4, seed=seed)

    def part(self, place: int, parts: int) -> "Trials":
        """Return a copy of these options for one part of the work, with progress as a share of the whole work.

        Parameters
        ----------
        place
            Index of the part, counted from 0.
        parts
            Number of parts.

        Returns
        -------
        Trials
            Options for this part.
        """
        return Trials(self.repeats, self.seed, lambda share: self.progress((place + share) / parts))

    def number(self, purpose: str, place: int) -> int:
        """Return the seed of one table or of one fit.

        Parameters
        ----------
        purpose
            Purpose of the seed, such as "table" or "noise".
        place
            Index of the table or fit, counted from 0.

        Returns
        -------
        int
            The seed.
        """
        return int(generator(self.seed, purpose=f"planner {purpose} {place}").integers(2**53))


@dataclass(frozen=True)
class _Cost:
    """Running time of one fit in seconds: at least, per row and per entry."""

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
    """Return the shape of the tables for trials of ``method``, with as many rows as a few seconds allow."""
    cost = _COSTS[method]
    most = (2 * _SECONDS / LEAST_REPEATS - cost.least) / (cost.row + cost.entry * shape.dim)
    needed = min(PER_COLUMN * shape.dim, _MOST_ENTRIES // shape.dim)
    return replace(shape, n=min(shape.n, max(int(most), needed)), feature_norm=1.0)


def require_trials(shape: Shape) -> None:
    """Check that a table of a feasible size can represent the shape.

    Raises
    ------
    ParameterError
        If trials would have fewer than four rows per column, where even the sign of the cost of privacy may be wrong.
    """
    most = _MOST_ENTRIES // shape.dim
    if most < min(shape.n, LEAST_PER_COLUMN * shape.dim):
        raise ParameterError(
            f"{arg('n')} and {arg('dim')} must be small enough for trials, got {shape.n:,} records with {shape.dim:,} "
            f"columns. Trials use tables of at most {_MOST_ENTRIES:,} numbers, and {most:,} records do not represent "
            f"more of them.",
            remedy=f"Leave the trials out ({arg('simulate', False)}) for noise and proved bounds alone.",
        )


def is_rough(shape: Shape, rows: int) -> bool:
    """Return whether tables with this many rows represent the shape badly."""
    return rows < min(shape.n, PER_COLUMN * shape.dim)


def repeats_for(shape: Shape, method: str, trials: Trials) -> int:
    """Return the number of trials that the time allows."""
    affordable = int(_SECONDS / _COSTS[method].seconds(shape.n, shape.dim))
    return min(trials.repeats, max(affordable, LEAST_REPEATS))


def scaled_goal(goal: Goal, factor: float) -> Goal:
    """Return the goal whose noise is smaller by ``factor``, for a table with fewer rows."""
    if factor == 1:
        return goal
    if isinstance(goal, PureDP) or goal.delta == 0:
        return with_epsilon(goal, goal.epsilon * factor)
    return with_epsilon(goal, _epsilon_for(mu_for(goal.epsilon, goal.delta) * factor, goal.delta))


def with_epsilon(goal: Goal, epsilon: float) -> Goal:
    """Return the same kind of goal with another epsilon, at most 500."""
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
