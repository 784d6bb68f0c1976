# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Logistic regression on one category per record: data on which minimisers are quick, for thousands of repetitions.

A row is a unit vector, or 0 for a record without a category, so the loss falls apart into one function of each
coefficient, and only counts matter. It is a linear model with rows of norm 1: L = 1, c = 1/4, as in the lectures.

Rare categories bend the risk little, frequent ones much. Where they get rarer geometrically the risk has a curvature at
every scale: at each Lambda some directions are just about to be held back by it. That is what the bounds fear, and on
data with one curvature their rates would not be seen.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from dperm.data.arrays import Floats
from dperm.erm.losses import Logistic
from dperm.erm.spec import ProblemSpec
from dperm.theory import LearningProblem

SMOOTHNESS = 0.25
ODDS = 3
"""In `ladder`, three of four records of a category have the label 1."""
_HALVINGS = 60


@dataclass(frozen=True)
class Categories:
    """Counts of records, or shares of a population.

    Attributes
    ----------
    ones, zeros
        Of each category, the records with the labels 1 and -1; several data sets in rows.
    n
        All records, those without a category too.
    """

    ones: Floats
    zeros: Floats
    n: float

    @property
    def dim(self) -> int:
        """The number of categories."""
        return int(self.ones.shape[-1])

    @cached_property
    def optimum(self) -> Floats:
        """The minimiser of the mean loss: logarithms of odds."""
        return np.log(self.ones / self.zeros)

    @cached_property
    def problem(self) -> LearningProblem:
        """The constants, with the optimum as the reference."""
        return LearningProblem(self.dim, 1.0, SMOOTHNESS, float(np.linalg.norm(self.optimum)))

    def spec(self, regularization: float | None = None) -> ProblemSpec:
        """The problem as a method plans for it."""
        return ProblemSpec(Logistic(), radius=1.0, dim=self.dim, n=int(self.n), regularization=regularization)

    def risk(self, theta: Floats) -> Floats:
        """The mean loss, less that of the records without a category, which no theta changes."""
        losses = self.ones * np.logaddexp(0, -theta) + self.zeros * np.logaddexp(0, theta)
        return np.asarray(losses.sum(axis=-1) / self.n)

    def excess(self, theta: Floats) -> Floats:
        """The mean loss above that of the optimum."""
        return self.risk(theta) - self.risk(self.optimum)

    def gradient(self, theta: Floats) -> Floats:
        """Of the summed loss."""
        return np.asarray((self.ones + self.zeros) * expit(theta) - self.ones)

    def minimizer(self, regularization: float, linear: Floats | float = 0.0) -> Floats:
        """The minimiser of the summed loss + (Lambda/2) ||theta||^2 + linear'theta, by halving an interval."""
        reach = (self.ones + self.zeros + np.abs(linear)) / regularization
        low, high = -reach, reach
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            beyond = self.gradient(middle) + regularization * middle + linear > 0
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return np.asarray((low + high) / 2)


def ladder(sizes: Floats, n: int | None = None) -> Categories:
    """Categories of about these sizes, each a multiple of four records: all coefficients of the optimum are log 3.

    ``n`` counts records without a category as well; None for none of them.
    """
    fours = np.maximum(1.0, np.rint(sizes / (ODDS + 1)))
    total = (ODDS + 1) * fours.sum()
    return Categories(ODDS * fours, fours, int(total if n is None else max(n, total)))
