# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments and results of the calculators: constants of a problem, bounds with their terms, and orders."""

import math
from dataclasses import dataclass
from typing import Literal

from dperm import checks
from dperm.errors import ParameterError
from dperm.privacy import Adjacency
from dperm.privacy.rounding import raised

SMALLEST, LARGEST = 1e-30, 1e30
"""Range of the constants of a problem. Within this range, no formula of this package overflows or underflows."""
EPSILONS = (1e-10, 1e10)
Risk = Literal["population", "empirical"]
"""Kind of risk: expected loss on new records from the same distribution, or mean loss on the given records."""


@dataclass(frozen=True)
class LearningProblem:
    """Constants of T57: a convex loss per record, and reference coefficients for comparison.

    Attributes
    ----------
    dim
        Number d of coefficients, including the intercept (T54).
    lipschitz
        Lipschitz constant L, the largest gradient norm of one record's loss (C0.3).
    smoothness
        Smoothness c, the largest eigenvalue of one record's Hessian: R^2/4 for logistic loss.
    reference_norm
        Norm R0 of the reference theta_0. Bounds limit the excess over the risk of theta_0.
    logistic
        Whether the loss is known to be logistic, on rows of norm at most L. If True, the excess risk of theta = 0 has a
        smaller bound.
    """

    dim: int
    lipschitz: float = 1.0
    smoothness: float = 0.25
    reference_norm: float = 1.0
    logistic: bool = False

    def __post_init__(self) -> None:
        """Check the ranges of all constants."""
        object.__setattr__(self, "dim", checks.count("dim", self.dim))
        for name in ("lipschitz", "smoothness", "reference_norm"):
            object.__setattr__(self, name, constant(name, getattr(self, name)))

    @property
    def zero_excess(self) -> float:
        """Largest excess risk of the model theta = 0, which needs no data; rounded up.

        A bound at or above this value is uninformative. In general the value is L R0. The logistic loss is ln 2 at
        margin 0 and at least ln(1 + e^(-L R0)) at the reference, so the value is ln 2 - ln(1 + e^(-L R0)) = ln(1 +
        tanh(L R0/2)).
        """
        reach = self.lipschitz * self.reference_norm
        return raised(math.log1p(math.tanh(reach / 2)) if self.logistic else reach, 16)


@dataclass(frozen=True)
class ExcessRisk:
    """Bound on an expected excess risk per record, with its terms.

    The risk is the population risk (T57) or the empirical risk (T56a).

    Attributes
    ----------
    bound
        Sum of the terms, rounded up.
    regularization
        Regularization strength Lambda = 1/C for the sum (not the mean) of the losses (C0.2): n times the lambda of T57.
    bias
        Cost of the regularizer: (lambda/2) R0^2 (T57), (lambda/4) R0^2 (T56a).
    stability
        Cost of a finite sample, 2 L^2/(lambda n) (T57); 0 for the empirical risk.
    noise
        Cost of privacy: the term that contains the noise variance.
    """

    bound: float
    regularization: float
    bias: float
    stability: float
    noise: float


@dataclass(frozen=True)
class DescentRisk:
    """Bound on the expected excess risk of DP gradient descent: empirical (T48), or over the population (T48a).

    Attributes
    ----------
    bound
        The bound, capped at L D, rounded up.
    steps
        Number T of steps.
    sigma
        Standard deviation of the noise on the mean gradient of each step, rounded up.
    sampling
        Cost of a finite sample, 2 L R0/sqrt(n) (T48a); 0 for the empirical risk.
    """

    bound: float
    steps: int
    sigma: float
    sampling: float = 0.0


@dataclass(frozen=True)
class OrderOnly:
    """Value of an O(.) expression with its constant set to 1 and its logarithms dropped. This value is not a bound.

    Attributes
    ----------
    value
        Value of the expression inside the O(.), rounded to the nearest double.
    statement
        The expression as text.
    """

    value: float
    statement: str

    def __str__(self) -> str:
        return f"order only (C = 1): {self.value:.4g} = {self.statement}"


def checked_problem(problem: object) -> LearningProblem:
    """Return the problem, or raise a ParameterError with an example."""
    if not isinstance(problem, LearningProblem):
        raise ParameterError(
            argument="problem",
            rule="must be a LearningProblem, such as LearningProblem(dim=10)",
            got=checks.shown(problem),
        )
    return problem


def checked_risk(risk: object) -> Risk:
    """Return the kind of risk, "population" or "empirical"."""
    if risk == "population":
        return "population"
    if risk == "empirical":
        return "empirical"
    raise ParameterError(argument="risk", rule='must be "population" or "empirical"', got=checks.shown(risk))


def constant(name: str, value: object) -> float:
    """Return a constant of the problem as a float in [1e-30, 1e30], where no formula overflows."""
    return checks.between(name, value, SMALLEST, LARGEST)


def positive_epsilon(name: str, value: object) -> float:
    """Return an epsilon as a float in [1e-10, 1e10], where no formula overflows."""
    return checks.between(name, value, *EPSILONS)


def gradients_exchanged(adjacency: Adjacency | str) -> int:
    """Return the number of gradients of norm L in which neighbours differ: 2 under replace_one, 1 under add_remove."""
    return 2 if Adjacency.of(adjacency) is Adjacency.REPLACE_ONE else 1
