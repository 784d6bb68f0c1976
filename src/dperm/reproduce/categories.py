# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Logistic regression on one category per record, with fast minimizers for thousands of repetitions.

A row is a unit vector, or 0 for a record without a category, so the loss separates into one function per coefficient
and depends on counts alone. This is a linear model with rows of norm 1: L = 1, c = 1/4, as in the lectures.

Rare categories give the risk little curvature, frequent ones much. With geometrically decreasing frequencies the risk
has curvature at every scale, and at each Lambda some directions are just being shrunk. This is the worst case for the
bounds; data with a single curvature would not show the rates.
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
"""In `ladder`, three of four records of a category have label 1."""
_HALVINGS = 60


@dataclass(frozen=True)
class Categories:
    """Counts of records by category and label, or shares of a population.

    Attributes
    ----------
    ones, zeros
        Numbers of records with labels 1 and -1 in each category; several data sets in rows.
    n
        Number of all records, including records without a category.
    """

    ones: Floats
    zeros: Floats
    n: float

    @property
    def dim(self) -> int:
        """Number of categories, one coefficient each."""
        return int(self.ones.shape[-1])

    @cached_property
    def optimum(self) -> Floats:
        """Minimizer of the mean loss: the log odds."""
        return np.log(self.ones / self.zeros)

    @cached_property
    def problem(self) -> LearningProblem:
        """Constants of the bounds, with the optimum as the reference."""
        return LearningProblem(self.dim, 1.0, SMOOTHNESS, float(np.linalg.norm(self.optimum)))

    def spec(self, regularization: float | None = None) -> ProblemSpec:
        """Return the problem specification for a method."""
        return ProblemSpec(Logistic(), radius=1.0, dim=self.dim, n=int(self.n), regularization=regularization)

    def risk(self, theta: Floats) -> Floats:
        """Return the mean loss, without the constant loss of the records without a category."""
        losses = self.ones * np.logaddexp(0, -theta) + self.zeros * np.logaddexp(0, theta)
        return np.asarray(losses.sum(axis=-1) / self.n)

    def excess(self, theta: Floats) -> Floats:
        """Return the mean loss minus the mean loss of the optimum."""
        return self.risk(theta) - self.risk(self.optimum)

    def gradient(self, theta: Floats) -> Floats:
        """Return the gradient of the summed loss."""
        return np.asarray((self.ones + self.zeros) * expit(theta) - self.ones)

    def minimizer(self, regularization: float, linear: Floats | float = 0.0) -> Floats:
        """Return the minimizer of the summed loss + (Lambda/2) ||theta||^2 + linear'theta, by bisection."""
        reach = (self.ones + self.zeros + np.abs(linear)) / regularization
        low, high = -reach, reach
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            beyond = self.gradient(middle) + regularization * middle + linear > 0
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return np.asarray((low + high) / 2)


def ladder(sizes: Floats, n: int | None = None) -> Categories:
    """Return categories of about these sizes, multiples of four records; all coefficients of the optimum are log 3.

    ``n`` includes records without a category; None adds no such records.
    """
    fours = np.maximum(1.0, np.rint(sizes / (ODDS + 1)))
    total = (ODDS + 1) * fours.sum()
    return Categories(ODDS * fours, fours, int(total if n is None else max(n, total)))
