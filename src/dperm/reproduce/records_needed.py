# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How many records a method needs for an excess population risk, by simulation.

Half of the population is in one category, where nine of ten labels are 1; the other half is spread over d - 1 more,
which say nothing (`dperm.reproduce.categories`). R0 = log 9 and what can be learnt are the same for every d. Data sets
are drawn anew for each run, and Lambda is the one for which the bound of T57 is smallest.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dperm.data.arrays import Floats
from dperm.noise.simulation import generator
from dperm.privacy import PureDP
from dperm.reproduce.categories import Categories
from dperm.reproduce.private_runs import Runs
from dperm.theory import objective_excess_risk, output_excess_risk

GOAL, EXCESS = PureDP(0.1, "replace_one"), 0.05
SHARE, ONES = 0.5, 0.9
NEAR = 1.03
"""The number is found up to this factor."""
Method = Literal["output", "objective"]


def population(dim: int) -> Categories:
    """Shares of the population."""
    shares = np.append(SHARE, np.full(dim - 1, (1 - SHARE) / (dim - 1)))
    ones = np.append(ONES, np.full(dim - 1, 0.5))
    return Categories(shares * ones, shares * (1 - ones), 1)


@dataclass(frozen=True)
class Search:
    """For the number of records at which the mean excess population risk of a method is as small as asked for."""

    dim: int
    method: Method
    repeats: int
    seed: int

    def records(self) -> int:
        """By doubling and halving; up to a factor NEAR."""
        low, high = 16, 32
        while not self._reached(high):
            low, high = high, 2 * high
        while high > NEAR * low:
            middle = math.isqrt(low * high)
            low, high = (low, middle) if self._reached(middle) else (middle, high)
        return high

    def _reached(self, n: int) -> bool:
        return float(population(self.dim).excess(self._coefficients(n)).mean()) <= EXCESS

    def _coefficients(self, n: int) -> Floats:
        runs = Runs(self._data(n), GOAL, self.repeats, self.seed)
        problem = population(self.dim).problem
        if self.method == "output":
            risk = output_excess_risk(problem, n, epsilon=GOAL.epsilon, adjacency=GOAL.adjacency)
            return runs.output(risk.regularization)
        risk = objective_excess_risk(problem, n, epsilon=GOAL.epsilon, adjacency=GOAL.adjacency)
        return runs.objective(risk.regularization)

    def _data(self, n: int) -> Categories:
        """A data set of n records for each repetition."""
        whole, coins = population(self.dim), generator(self.seed, purpose=f"sample size, {n} records, {self.dim}")
        counts = coins.multinomial(n, np.append(whole.ones, whole.zeros), self.repeats).astype(np.float64)
        return Categories(counts[:, : self.dim], counts[:, self.dim :], n)
