# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Ways to put a certified line through a composition, in order of cost."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from dperm.accounting.composition import Composition
from dperm.accounting.contour.closing import NotClosedError, Tolerance
from dperm.accounting.contour.far import Far
from dperm.accounting.contour.jumps import near_and_far
from dperm.accounting.contour.line import Contour, make_contour
from dperm.accounting.contour.near import NearAtom
from dperm.accounting.contour.problem import InversionProblem, plain
from dperm.accounting.contour.saddle import saddle_for_delta, saddle_for_epsilon
from dperm.privacy.adjacency import Direction

LOOSE = Tolerance(alias=1e-9, truncation=1e-9, cut=1e-9)  # the split's cost grows with its accuracy
NOTHING = NearAtom(-math.inf, 1.0, 0.0)


@dataclass(frozen=True)
class Certified:
    """A line together with the two parts that were taken out of it: sums to the profile, from both sides."""

    contour: Contour
    far: Far
    near: NearAtom
    lost: float

    def value(self, epsilon: float) -> tuple[float, float]:
        """Best estimate of delta(epsilon) and of its slope (for Newton)."""
        d, slope = self.contour.delta_and_slope(epsilon)
        return d + self.far.bracket(epsilon)[0], slope + self.far.slope(epsilon)

    def bracket(self, epsilon: float) -> tuple[float, float]:
        """(lower, upper) bounds on delta(epsilon)."""
        d, _ = self.contour.delta_and_slope(epsilon)
        alias, rest = self.contour.errors(epsilon)
        low, high = self.far.bracket(epsilon)
        return d - alias - rest + low, d + rest + high + self.near.bound(epsilon) + self.lost


Plan = Callable[[Composition, float | None, float], Certified]


def plans(composition: Composition) -> Iterator[Plan]:
    """Plain with a wide cut; both ends split off; plain with a sharp cut."""
    sampled = InversionProblem.of(composition, -20.0, Tolerance()).sampled
    if not sampled:
        yield partial(plain_line, width=0.12, tolerance=scaled(Tolerance(), 10))
        return
    yield partial(plain_line, width=0.12, tolerance=Tolerance())
    if any(law.direction is not Direction.ADD for law, _ in sampled):
        yield partial(split_line, tolerance=scaled(LOOSE, 3))
        yield partial(plain_line, width=0.05, tolerance=Tolerance())


def scaled(tolerance: Tolerance, factor: float) -> Tolerance:
    """The same accuracy with ``factor`` times the work."""
    return replace(tolerance, max_terms=int(tolerance.max_terms * factor), max_work=tolerance.max_work * factor)


def plain_line(
    composition: Composition, epsilon: float | None, log_delta: float, width: float, tolerance: Tolerance
) -> Certified:
    """A far cut of negligible mass on every step; epsilon is found from the target delta if it is None."""
    problem = InversionProblem.of(composition, log_delta, tolerance)
    product, far = plain(problem, width)
    if epsilon is None:
        c, epsilon = saddle_for_delta(product, log_delta)
    else:
        c, _ = saddle_for_epsilon(product, epsilon)
    return Certified(make_contour(product, c, epsilon, log_delta, tolerance), far, NOTHING, problem.lost)


def split_line(composition: Composition, epsilon: float | None, log_delta: float, tolerance: Tolerance) -> Certified:
    """Far jumps and the near-atom taken out; epsilon is found from the target delta if it is None."""
    problem = InversionProblem.of(composition, log_delta, tolerance)
    if epsilon is None:
        epsilon = _scout(problem, log_delta, tolerance)
    return _split_at(problem, epsilon, log_delta, tolerance)


def _split_at(problem: InversionProblem, epsilon: float, log_delta: float, tolerance: Tolerance) -> Certified:
    if not epsilon > 0:
        raise NotClosedError("epsilon = 0")
    product, far, near = near_and_far(problem, epsilon, log_delta, tolerance)
    c, _ = saddle_for_epsilon(product, epsilon)
    return Certified(make_contour(product, c, epsilon, log_delta, tolerance), far, near, problem.lost)


def _scout(problem: InversionProblem, log_delta: float, tolerance: Tolerance) -> float:
    """The epsilon to aim at: from one step alone, then on cheap lines until it stays within a tenth."""
    epsilon = _one_step_epsilon(problem, log_delta)
    cheap = replace(tolerance, alias=1e-4, truncation=1e-4, cut=1e-5)
    for _ in range(4):
        found = newton(_split_at(problem, epsilon, log_delta, cheap), math.exp(log_delta))
        if abs(found - epsilon) < 0.02 * epsilon:
            return found
        epsilon = min(max(found, 0.5 * epsilon), 3 * epsilon)
    return epsilon


def _one_step_epsilon(problem: InversionProblem, log_delta: float) -> float:
    """Largest epsilon at which one step alone reaches delta / T (a start value only)."""
    best = 0.0
    for law, count in problem.sampled:
        goal = math.exp(log_delta) / count
        low, high = 0.0, max(law.support(1e-30)[1], 1e-9)
        for _ in range(45):
            middle = (low + high) / 2
            low, high = (middle, high) if law.delta(middle) > goal else (low, middle)
        best = max(best, low)
    return best


def newton(line: Certified, delta: float) -> float:
    """Newton on log delta: it needs no proof, the bracket's ends are verified."""
    c, epsilon, last = line.contour.c, line.contour.start, math.inf
    for _ in range(60):
        d, slope = line.value(epsilon)
        if not (d > 0 and slope < 0):
            epsilon -= 0.5 / c
            continue
        move = min(max((math.log(d) - math.log(delta)) * d / -slope, -3 / c), 3 / c)
        epsilon += move
        settled = abs(move) < 1e-9 / c and abs(move) >= last / 2  # only rounding moves it any more
        if abs(move) < 1e-13 * (abs(epsilon) + 1 / c) or settled or epsilon < -5 / c:
            return epsilon
        last = abs(move)
    raise NotClosedError("Newton")
