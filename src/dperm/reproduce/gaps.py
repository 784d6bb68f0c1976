# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Choosing one of finitely many hypotheses, all but one of which are worse by a gap: by simulation.

A record says independently of each hypothesis whether it errs. One errs with probability r, all others with r + g.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dperm.data.arrays import Floats
from dperm.mechanisms.exponential import ExponentialMechanism
from dperm.noise.simulation import generator
from dperm.privacy import PureDP

GOAL, HYPOTHESES, BETA = PureDP(0.2, "replace_one"), 100, 0.05
HALVINGS = 12


@dataclass(frozen=True)
class Simulation:
    """Data sets of n records, as the numbers of errors of all hypotheses."""

    risk: float
    n: int
    repeats: int
    seed: int

    def largest_gap(self, wrong: Callable[[Floats], Floats]) -> float:
        """The gap up to which the choice is ``wrong`` with probability BETA or more, by halving on a log scale.

        Every gap has errors of its own, from the same seed.
        """
        low, high = 0.1 / self.n, 1 - self.risk
        for _ in range(HALVINGS):
            middle = math.sqrt(low * high)
            reached = float(wrong(self._more_errors(middle)).mean()) >= BETA
            low, high = (middle, high) if reached else (low, middle)
        return low

    def _more_errors(self, gap: float) -> Floats:
        """How many more errors than the best each other hypothesis makes: a row for each data set."""
        coins = generator(self.seed, purpose=f"finite class, {self.n} records, risk {self.risk}, gap {gap!r}")
        best = coins.binomial(self.n, self.risk, (self.repeats, 1))
        others = coins.binomial(self.n, self.risk + gap, (self.repeats, HYPOTHESES - 1))
        return np.asarray(others - best, dtype=np.float64)


def minimizer_wrong(more: Floats) -> Floats:
    """The probability that one of the hypotheses with fewest errors, drawn from them, is not the best."""
    least = more.min(axis=1, keepdims=True)
    ties = (more == least).sum(axis=1)
    shared = np.where(least[:, 0] == 0, ties / (ties + 1), 0.0)
    return np.where(least[:, 0] < 0, 1.0, shared)


def mechanism_wrong(more: Floats) -> Floats:
    """The probability that the exponential mechanism does not choose the best (T8)."""
    rate = ExponentialMechanism.calibrate(1.0, GOAL, candidates=HYPOTHESES).rate
    with np.errstate(over="ignore"):
        weights = np.exp(-rate * more).sum(axis=1)
    return np.asarray(1 - 1 / (1 + weights))
