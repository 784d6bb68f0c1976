# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Choice of the engine: closed forms, then the contour, then the lattice; their brackets are intersected.

The adjacency's directions are composed separately and the larger result counts (T22, T23). The second direction is
solved in full only if it could matter. If its delta at the first direction's lower epsilon is at most the target, its
epsilon is no larger.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from dperm.accounting import basic, closed
from dperm.accounting.composition import Composition
from dperm.privacy.rounding import LEAST_DOUBLE

NARROW = 1e-6  # relative width that is aimed at
ROUGH = 3e-6  # the same, in a search
NEARLY = 3e-6  # width of a contour's bracket from which a lattice is asked as well
RECENT = 256  # answers that are kept: plans, statements and ledgers ask for the same ones again
WIDE = 0.1  # relative width from which the bounds of single steps may be better
SINGLE_STEPS = "the steps' own bounds, added, are lower than the engines' (T11)"
CONTOUR = "computed by numerical integration of the moment generating function along a line in the complex plane"
LATTICE = (
    "the privacy loss distribution has atoms or narrow peaks, so contour integration gives no tight interval; it is "
    "computed on a lattice instead"
)
CROSSED = "the engines' bounds contradict each other or a single step, so the steps' own bounds are added (T11)"


class Engine(Protocol):
    """Interface of both engine modules: brackets for one direction, over finite losses."""

    def epsilon_bracket(self, composition: Composition, delta: float, goal: float) -> tuple[float, float]:
        """Return bounds on the smallest epsilon at delta."""

    def delta_bracket(self, composition: Composition, epsilon: float, goal: float) -> tuple[float, float]:
        """Return bounds on delta at epsilon."""


@dataclass(frozen=True)
class Answer:
    """A bracket, the name of the engine used, and the reason for using it."""

    lower: float
    upper: float
    engine: str
    why: str

    @property
    def width(self) -> float:
        """Relative width (upper - lower) / upper; 0 for equal ends."""
        if self.upper == self.lower:
            return 0.0
        return (self.upper - self.lower) / self.upper if math.isfinite(self.upper) else math.inf

    def larger(self, other: "Answer") -> "Answer":
        """Return the bracket of the maximum of two numbers, with the engine of the larger upper bound."""
        first, second = (self, other) if self.upper >= other.upper else (other, self)
        return Answer(max(first.lower, second.lower), first.upper, first.engine, first.why)

    def intersected(self, bracket: tuple[float, float]) -> "Answer":
        """Return the intersection with bounds from the single steps (T3, T11), if these are tighter."""
        low, high = bracket
        if low <= self.lower and high >= self.upper:
            return self
        lower, upper = max(self.lower, low), min(self.upper, high)
        return Answer(lower, upper, "closed", SINGLE_STEPS) if upper < self.upper else replace(self, lower=lower)


@lru_cache(maxsize=RECENT)
def solve_epsilon(directions: tuple[Composition, ...], delta: float) -> Answer:
    """Return the bracket of the smallest epsilon at delta over all directions."""
    if delta == 0:
        return _pure_epsilon(directions)
    best = _finite(_one_epsilon, directions[0], delta)
    for other in directions[1:]:
        if other != directions[0] and not _no_larger(other, best.lower, delta):
            best = best.larger(_finite(_one_epsilon, other, delta))
    return best


@lru_cache(maxsize=RECENT)
def solve_delta(directions: tuple[Composition, ...], epsilon: float, goal: float = NARROW) -> Answer:
    """Return the bracket of delta at epsilon over all directions."""
    best = _whole_delta(directions[0], epsilon, goal)
    for other in directions[1:]:
        if other != directions[0] and not _chernoff_below(other, epsilon, best.lower):
            best = best.larger(_whole_delta(other, epsilon, goal))
    return best


def estimate_epsilon(direction: Composition, delta: float) -> float:
    """Return an upper bound on one direction's epsilon, for searches; its bracket has no stated width."""
    return _finite(lambda one, target: _one_epsilon(one, target, ROUGH), direction, delta).upper


def _pure_epsilon(directions: tuple[Composition, ...]) -> Answer:
    """Return the largest loss, the epsilon at delta = 0; infinite if a loss is unbounded or may be infinite."""
    top = max(math.inf if one.infinity_bracket[1] > 0 else one.ceiling for one in directions)
    return Answer(top * (1 - 1e-13), top, "closed", "at delta = 0 epsilon is the largest possible loss")


def _finite(solve: Callable[[Composition, float], Answer], composition: Composition, delta: float) -> Answer:
    """Solve for the finite losses: with mass m at infinity, (delta - m)/(1 - m) is left as their target."""
    low, high = composition.infinity_bracket
    if high == 0:
        return solve(composition, delta)
    if low > delta or low >= 1:
        return Answer(math.inf, math.inf, "closed", "the events' own deltas add up to more than delta (T14)")
    if high > delta:
        return Answer(0.0, math.inf, "closed", "the events' own deltas add up to delta, up to rounding (T14)")
    if high == delta:
        return Answer(0.0, composition.ceiling, "closed", "the events' own deltas use up delta: the rest is pure (T14)")
    rounding = 4e-16 * (1 + delta / (delta - high))
    upper = solve(composition, (delta - high) / (1 - high) * (1 - rounding))
    lower = solve(composition, min((delta - low) / (1 - low) * (1 + rounding), 1 - 2**-53))
    return Answer(lower.lower, upper.upper, upper.engine, upper.why)


def _whole_delta(composition: Composition, epsilon: float, goal: float = NARROW) -> Answer:
    answer = _one_delta(composition, epsilon, goal)
    if epsilon < composition.ceiling:  # a loss above epsilon has positive probability, however small
        answer = replace(answer, upper=max(answer.upper, LEAST_DOUBLE))
    low, high = composition.infinity_bracket
    upper = min(high + (1 - high) * answer.upper, 1.0)
    return Answer(low + (1 - low) * answer.lower, min(upper * (1 + 4e-16), 1.0), answer.engine, answer.why)


def _one_epsilon(composition: Composition, delta: float, goal: float = NARROW) -> Answer:
    """Return the bracket of epsilon for one direction, finite losses, delta > 0."""
    exact = closed.epsilon_bracket(composition, delta)
    if exact is not None:
        return Answer(*exact, "closed", "this composition has a closed form")
    if math.fsum(count * law.delta(0.0) for law, count in composition.steps) * (1 + 1e-11) <= delta:
        return Answer(0.0, 0.0, "closed", "the total variations of all steps add up to at most delta")
    answer = _two_engines(lambda engine: engine.epsilon_bracket(composition, delta, goal), goal)
    if not basic.consistent_epsilon(composition, delta, (answer.lower, answer.upper)):
        return Answer(*basic.epsilon_bracket(composition, delta), "closed", CROSSED)
    return answer if answer.width <= WIDE else answer.intersected(basic.epsilon_bracket(composition, delta))


def _one_delta(composition: Composition, epsilon: float, goal: float) -> Answer:
    exact = closed.delta_bracket(composition, epsilon)
    if exact is not None:
        return Answer(*exact, "closed", "this composition has a closed form")
    if epsilon >= composition.ceiling:
        return Answer(0.0, 0.0, "closed", "no loss is larger than epsilon")
    answer = _two_engines(lambda engine: engine.delta_bracket(composition, epsilon, goal), goal)
    if not basic.consistent_delta(composition, epsilon, (answer.lower, answer.upper)):
        return Answer(*basic.delta_bracket(composition, epsilon), "closed", CROSSED)
    return answer if answer.width <= WIDE else answer.intersected(basic.delta_bracket(composition, epsilon))


def _two_engines(ask: Callable[[Engine], tuple[float, float]], goal: float) -> Answer:
    """Return the contour's answer, combined with the lattice's where the contour fails or is not tight."""
    from dperm.accounting.contour import engine as contour
    from dperm.accounting.lattice import engine as lattice

    low, high = (float(end) for end in ask(contour))
    answer = Answer(low, high, "contour", CONTOUR)
    if answer.width <= max(goal, NEARLY):
        return answer
    below, above = (float(end) for end in ask(lattice))
    if high - low <= above - below:
        return Answer(max(low, below), min(high, above), "contour", "the lattice engine gives a wider interval")
    return Answer(max(low, below), min(high, above), "lattice", LATTICE)


def _no_larger(composition: Composition, epsilon: float, delta: float) -> bool:
    """Return True if this direction's delta(epsilon) is at most delta, by Chernoff or by its own bracket."""
    if composition.infinity_bracket[1] >= delta:
        return False
    if composition.ceiling <= epsilon:
        return True
    return _chernoff_below(composition, epsilon, delta) or _whole_delta(composition, epsilon).upper <= delta


def _chernoff_below(composition: Composition, epsilon: float, delta: float) -> bool:
    from dperm.accounting.contour import engine as contour

    lost = composition.infinity_bracket[1]
    return delta > lost and lost + contour.chernoff(composition, epsilon) <= delta
