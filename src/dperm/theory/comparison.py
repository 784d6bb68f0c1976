# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Comparison of output, objective and gradient perturbation by proved bounds, and numbers of records that they need.

The bounds are T57 and T48a for the population risk, and T56a and T48 for the empirical risk. The excess risk is
relative to reference coefficients of norm R0. The bounds hold for linear models with a convex and smooth loss, such as
the logistic loss. For objective perturbation with delta > 0, the loss must be monotone as well. A smaller bound does
not prove that a method is better, because the bounds are one-sided.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

from dperm.privacy import Adjacency
from dperm.privacy.rounding import raised
from dperm.theory.gradient_descent import gradient_empirical_risk, gradient_excess_risk
from dperm.theory.noise_norm import Goal, epsilon_left, objective_noise_square, output_noise_square
from dperm.theory.perturbation import (
    objective_empirical_risk,
    objective_excess_risk,
    output_empirical_risk,
    output_excess_risk,
)
from dperm.theory.results import ExcessRisk, LearningProblem, Risk, checked_problem, checked_risk
from dperm.theory.sample_size import gradient_sample_size, objective_sample_size, output_sample_size
from dperm.theory.search import OutOfReach

Method = Literal["output", "objective", "gradient"]
_ADDED_TO: dict[Method, str] = {
    "output": "on the coefficients",
    "objective": "on the gradient of the summed objective",
    "gradient": "on the mean gradient of every step",
}
_SIZES: dict[Method, Callable[..., int]] = {
    "output": output_sample_size,
    "objective": objective_sample_size,
    "gradient": gradient_sample_size,
}


@dataclass(frozen=True)
class MethodBound:
    """Proved bound on the excess risk of one method for n records, minimized over Lambda or the number of steps.

    Attributes
    ----------
    method
        ``"output"``, ``"objective"`` or ``"gradient"``.
    bound
        Bound on the expected excess risk (of the mean loss, not of the sum), rounded up.
    noise
        Standard deviation of each coordinate of the (Gaussian or gamma-norm) noise, rounded up.
    noise_kind
        Noise distribution, and the quantity to which the noise is added.
    regularization
        Regularization strength Lambda for the sum (not the mean) of the losses (C0.2); None for gradient perturbation.
    steps
        Number T of gradient steps, often more than is practical; None for the other methods.
    says_nothing
        Whether the bound is vacuous, which means at least `LearningProblem.zero_excess`. This is the largest excess
        risk of the coefficients theta = 0, which need no data.
    tags
        Tags of the theorems that give the bound and the noise, such as "T57".
    """

    method: Method
    bound: float
    noise: float
    noise_kind: str
    regularization: float | None
    steps: int | None
    says_nothing: bool
    tags: tuple[str, ...]


class GoalArguments(TypedDict):
    """Guarantee as keyword arguments of the functions that compute bounds."""

    epsilon: float
    delta: float
    adjacency: Adjacency


@dataclass(frozen=True)
class MethodComparison:
    """Comparison of the methods that can meet a given guarantee, by their bounds for one kind of risk."""

    problem: LearningProblem
    goal: Goal
    risk: Risk

    @property
    def methods(self) -> tuple[Method, ...]:
        """Methods that can meet the goal; gradient perturbation needs delta > 0, since T48 has no pure version."""
        return ("output", "objective", "gradient") if self.goal.delta > 0 else ("output", "objective")

    def bounds(self, n: int) -> list[MethodBound]:
        """Return the bounds of all methods on n records, unordered."""
        return [self.bound(method, n) for method in self.methods]

    def bound(self, method: Method, n: int) -> MethodBound:
        """Return the smaller bound of Gaussian and gamma-norm noise for one method and n records.

        The bounds are T57, T48a, T56a and T48. Gradient perturbation has Gaussian noise only.
        """
        if method == "gradient":
            return self._gradient(n)
        one = self._output if method == "output" else self._objective
        return min((one(n, goal) for goal in self._goals(method)), key=lambda each: each.bound)

    def sizes(self, excess: float) -> list[tuple[Method, int]]:
        """Return the number of records needed by each method. Methods that never reach ``excess`` are left out."""
        found: list[tuple[Method, int]] = []
        for method in self.methods:
            sizes = []
            for goal in self._goals(method):
                with suppress(OutOfReach):
                    sizes.append(_SIZES[method](self.problem, excess, risk=self.risk, **_arguments(goal)))
            found += [(method, min(sizes))] if sizes else []
        return found

    def _goals(self, method: Method) -> tuple[Goal, ...]:
        """Return the goal and the pure goal that implies it (T1): its gamma-norm noise may be smaller."""
        return (
            (self.goal, replace(self.goal, delta=0.0)) if self.goal.delta > 0 and method != "gradient" else (self.goal,)
        )

    def _output(self, n: int, goal: Goal) -> MethodBound:
        calculator = output_excess_risk if self.risk == "population" else output_empirical_risk
        risk = calculator(self.problem, n, **_arguments(goal))
        square = output_noise_square(self.problem, risk.regularization, goal)
        return self._regularized("output", risk, square, goal, ("T30", "T6" if goal.delta > 0 else "T7"))

    def _objective(self, n: int, goal: Goal) -> MethodBound:
        calculator = objective_excess_risk if self.risk == "population" else objective_empirical_risk
        risk = calculator(self.problem, n, **_arguments(goal))
        left = epsilon_left(self.problem, risk.regularization, goal, unclipped_logistic=False)
        square = objective_noise_square(self.problem, goal, left)
        gaussian = "T41" if goal.adjacency is Adjacency.REPLACE_ONE else "T40"
        return self._regularized("objective", risk, square, goal, (gaussian if goal.delta > 0 else "T36a",))

    def _regularized(
        self, method: Method, risk: ExcessRisk, square: float, goal: Goal, tags: tuple[str, ...]
    ) -> MethodBound:
        law = "Gaussian" if goal.delta > 0 else "gamma-norm"
        return MethodBound(
            method=method,
            bound=risk.bound,
            noise=raised(math.sqrt(square / self.problem.dim)),
            noise_kind=f"{law}, {_ADDED_TO[method]}",
            regularization=risk.regularization,
            steps=None,
            says_nothing=self._empty(risk.bound),
            tags=("T57" if self.risk == "population" else "T56a", *tags),
        )

    def _gradient(self, n: int) -> MethodBound:
        calculator = gradient_excess_risk if self.risk == "population" else gradient_empirical_risk
        risk = calculator(self.problem, n, **_arguments(self.goal))
        return MethodBound(
            method="gradient",
            bound=risk.bound,
            noise=risk.sigma,
            noise_kind=f"Gaussian, {_ADDED_TO['gradient']}",
            regularization=None,
            steps=risk.steps,
            says_nothing=self._empty(risk.bound),
            tags=("T48a" if self.risk == "population" else "T48", "T45"),
        )

    def _empty(self, bound: float) -> bool:
        return bound >= self.problem.zero_excess


def _arguments(goal: Goal) -> GoalArguments:
    return {"epsilon": goal.epsilon, "delta": goal.delta, "adjacency": goal.adjacency}


@dataclass(frozen=True)
class SmallestSample:
    """Number of records sufficient for a target excess risk according to the proved bounds.

    Attributes
    ----------
    n
        Smallest number of records at which the bound of a method reaches the target.
    best
        The method that needs the fewest records, with its bound for n records.
    each
        Pairs of a method name and the number of records that the method needs, in increasing order of this number.
        Methods that need more than 2^53 records are left out.
    """

    n: int
    best: MethodBound
    each: tuple[tuple[Method, int], ...]


def compare_methods(
    problem: LearningProblem,
    n: int,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    delta: float = 0.0,
    risk: Risk = "population",
) -> tuple[MethodBound, ...]:
    """Return bounds on the expected excess risk of output, objective and gradient perturbation, smallest bound first.

    The bounds are T57 and T48a for the population risk, and T56a and T48 for the empirical risk. With delta = 0,
    gradient perturbation is left out, because its noise is Gaussian and T48 has no pure version. With positive delta,
    the other two methods use Gaussian or gamma-norm noise, whichever gives the smaller bound. Gamma-norm noise is
    allowed because a pure guarantee implies an approximate one.

    Parameters
    ----------
    problem
        Constants of the problem.
    n
        Number of records.
    epsilon
        Epsilon of the guarantee.
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".
    delta
        Delta of the guarantee; 0 for pure DP.
    risk
        Kind of risk: "population" (expected loss on new records) or "empirical" (mean loss on the given records).

    Returns
    -------
    tuple of MethodBound
        Bounds of the methods, smallest first.

    Examples
    --------
    >>> problem = LearningProblem(dim=10)
    >>> for each in compare_methods(problem, 10_000, epsilon=1.0, delta=1e-5, adjacency="replace_one"):
    ...     print(each.method, round(each.bound, 4))
    objective 0.0201
    output 0.0212
    gradient 0.1819
    """
    comparison = MethodComparison(checked_problem(problem), Goal.of(epsilon, delta, adjacency), checked_risk(risk))
    return tuple(sorted(comparison.bounds(n), key=lambda each: each.bound))


def best_method(
    problem: LearningProblem,
    n: int,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    delta: float = 0.0,
    risk: Risk = "population",
) -> MethodBound:
    """Return the method with the smallest bound on the expected excess risk for n records, and this bound.

    The bounds are T57 and T48a for the population risk, and T56a and T48 for the empirical risk.

    Parameters
    ----------
    problem
        Constants of the problem.
    n
        Number of records.
    epsilon
        Epsilon of the guarantee.
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".
    delta
        Delta of the guarantee; 0 for pure DP.
    risk
        Kind of risk: "population" (expected loss on new records) or "empirical" (mean loss on the given records).

    Returns
    -------
    MethodBound
        The bound and its method.
    """
    return compare_methods(problem, n, epsilon=epsilon, adjacency=adjacency, delta=delta, risk=risk)[0]


def smallest_sample(
    problem: LearningProblem,
    excess: float,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    delta: float = 0.0,
    risk: Risk = "population",
) -> SmallestSample:
    """Return the smallest number of records for a bound of at most ``excess`` on the expected excess risk of a method.

    The bounds are T57 and T48a for the population risk, and T56a and T48 for the empirical risk.

    Parameters
    ----------
    problem
        Constants of the problem.
    excess
        Target for the expected excess risk (of the mean loss, not of the sum), positive.
    epsilon, delta, adjacency, risk
        See `compare_methods`.

    Returns
    -------
    SmallestSample
        The number of records, the method that needs the fewest records with its bound, and the number of records that
        each method needs.

    Raises
    ------
    ParameterError
        If an argument is out of range, or no method reaches the target with 2^53 records.

    Examples
    --------
    >>> sample = smallest_sample(LearningProblem(dim=10), 0.1, epsilon=1.0, adjacency="replace_one")
    >>> sample.n, sample.best.method, sample.each
    (491, 'objective', (('objective', 491), ('output', 579)))
    """
    comparison = MethodComparison(checked_problem(problem), Goal.of(epsilon, delta, adjacency), checked_risk(risk))
    each = tuple(sorted(comparison.sizes(excess), key=lambda pair: pair[1]))
    if not each:
        raise OutOfReach
    method, n = each[0]
    return SmallestSample(n, comparison.bound(method, n), each)
