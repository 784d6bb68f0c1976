# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How many rows, by what is proved."""

from dataclasses import dataclass

from dperm import checks
from dperm.errors import ParameterError
from dperm.planner.models import checked_goal
from dperm.planner.shape import Shape
from dperm.planner.sizes import Goal
from dperm.privacy import ApproxDP
from dperm.theory import MethodBound, smallest_sample


@dataclass(frozen=True)
class Records:
    """How many rows suffice for an excess risk by what is proved (T57, T48a).

    Attributes
    ----------
    target_excess
        The expected excess risk that was asked for.
    n
        The least number of rows at which a bound is that small.
    best
        That bound, and its method.
    each
        The number for every method.
    """

    target_excess: float
    n: int
    best: MethodBound
    each: tuple[tuple[str, int], ...]

    @property
    def sentence(self) -> str:
        """In words."""
        return (
            f"{self.n:,} rows suffice for an expected excess risk of at most {self.target_excess:g} with "
            f"{self.best.method} perturbation. That is proved for independent records of one distribution, of whatever "
            f"kind, with norms within the bounds, and one-sided: fewer rows usually do."
        )

    def as_dict(self) -> dict[str, object]:
        """Plain data, for JSON."""
        needed = [{"method": method, "n": n} for method, n in self.each]
        facts = {"target_excess": self.target_excess, "n": self.n, "method": self.best.method}
        return {**facts, "bound": self.best.bound, "each": needed, "sentence": self.sentence}


def records_for(
    target_excess: float, dim: int, goal: Goal, *, reference_norm: float = 1.0, feature_norm: float = 1.0
) -> Records:
    """The least number of rows at which some method's bound is at most ``target_excess`` (T57, T48a).

    Raises
    ------
    ParameterError
        If 2^53 rows do not suffice, or none are needed: coefficients of 0 have as little excess.
    """
    goal, target = checked_goal(goal), checks.positive("target_excess", target_excess)
    problem = Shape(2, dim, feature_norm=feature_norm).problem(checks.positive("reference_norm", reference_norm))
    if target >= problem.zero_excess:
        raise ParameterError(
            argument="target_excess",
            rule=f"must be below {problem.zero_excess:.3g}",
            got=f"{target:g}",
            remedy=f"Coefficients of 0 have an excess of at most {problem.zero_excess:.3g} over the best ones of norm "
            f"{reference_norm:g}, without any data.",
        )
    delta = goal.delta if isinstance(goal, ApproxDP) else 0.0
    found = smallest_sample(problem, target, epsilon=goal.epsilon, delta=delta, adjacency=goal.adjacency)
    return Records(target, found.n, found.best, tuple(found.each))
