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
    """Constants of a learning problem with a convex loss for each record, and the norm of reference coefficients (T57).

    Attributes
    ----------
    dim
        Number d of coefficients, including the intercept (T54).
    lipschitz
        Lipschitz constant L, the largest gradient norm of one record's loss (C0.3).
    smoothness
        Smoothness constant c, the largest eigenvalue of the Hessian of one record's loss. It is R^2/4 for the logistic
        loss on rows of norm at most R.
    reference_norm
        Norm R0 of the reference coefficients theta_0. The excess risk is relative to the risk of theta_0.
    logistic
        Whether the loss is the logistic loss on rows of norm at most L. If True, `zero_excess` is smaller.
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

        A bound at or above this value is uninformative. In general, the value is L R0. The logistic loss is ln 2 at
        theta = 0 and at least ln(1 + e^(-L R0)) at the reference, so if ``logistic`` is True, the value is
        ln 2 - ln(1 + e^(-L R0)) = ln(1 + tanh(L R0/2)).
        """
        reach = self.lipschitz * self.reference_norm
        return raised(math.log1p(math.tanh(reach / 2)) if self.logistic else reach, 16)


@dataclass(frozen=True)
class ExcessRisk:
    """Bound on an expected excess risk (of the mean loss, not of the sum), with its terms.

    The risk is the population risk (T57) or the empirical risk (T56a). In the formulas, n is the number of records,
    lambda is ``regularization`` divided by n, and L and R0 are constants of the `LearningProblem`.

    Attributes
    ----------
    bound
        Sum of the three terms, rounded up.
    regularization
        Regularization strength Lambda = 1/C for the sum (not the mean) of the losses (C0.2): n times the lambda of T57.
    bias
        Cost of the regularizer: (lambda/2) R0^2 (T57) or (lambda/4) R0^2 (T56a).
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
    """Bound on the expected excess risk of DP gradient descent: empirical risk (T48) or population risk (T48a).

    Attributes
    ----------
    bound
        The bound, rounded up. It is capped at L D, for losses with Lipschitz constant L on a set of diameter D.
    steps
        Number T of steps.
    sigma
        Standard deviation of the noise on each coordinate of the mean gradient in each step, rounded up.
    sampling
        Cost of a finite sample of n records, 2 L R0/sqrt(n) with R0 = D/2 (T48a); 0 for the empirical risk.
    """

    bound: float
    steps: int
    sigma: float
    sampling: float = 0.0


@dataclass(frozen=True)
class OrderOnly:
    """Value of an O(.) expression with its constant set to 1; this value is not a bound.

    Logarithmic factors that ``statement`` does not contain are dropped.

    Attributes
    ----------
    value
        Value of the expression inside the O(.), computed in floating point.
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
