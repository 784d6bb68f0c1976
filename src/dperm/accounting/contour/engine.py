# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The contour engine: certified brackets of epsilon and delta for one direction of a composition."""

import math
from collections.abc import Callable

import numpy as np

from dperm.accounting.composition import Composition
from dperm.accounting.contour.closing import NotClosedError, Tolerance
from dperm.accounting.contour.plans import Certified, Plan, newton, plans
from dperm.accounting.contour.problem import InversionProblem, plain
from dperm.accounting.contour.saddle import GRID, saddle_for_delta, saddle_for_epsilon
from dperm.accounting.special import log_kappa

Measure = Callable[[Plan], tuple[float, float]]
NEARLY = 3e-6  # relative width from which dearer plans are tried
LEAST_DELTA = 1e-290
LEAST_LOG_DELTA = -600.0  # the scale of tolerances stays above underflow


def delta_bracket(composition: Composition, epsilon: float, goal: float = 1e-6) -> tuple[float, float]:
    """Bounds on delta(epsilon); (0, 1) if no line closes."""
    log_delta = _rough_log_delta(composition, epsilon)
    return _narrowed(composition, lambda plan: plan(composition, epsilon, log_delta).bracket(epsilon), 1.0, goal)


def epsilon_guess(composition: Composition, delta: float) -> float:
    """Saddle-point estimate of epsilon at ``delta``, to start a search; 1 if there is none."""
    try:
        product, _ = plain(InversionProblem.of(composition, math.log(delta), Tolerance()), 0.12)
        guess = saddle_for_delta(product, math.log(delta))[1]
    except NotClosedError:
        return 1.0
    return guess if 0 < guess < math.inf else 1.0


def reader(composition: Composition, epsilon: float, goal: float) -> Callable[[float], tuple[float, float]] | None:
    """Bounds on delta at every epsilon, from the line that does best at this one: tight near it. None if none closes.

    The theorem of the line holds at every epsilon >= 0; only the errors grow with the distance.
    """
    log_delta, best, width = _rough_log_delta(composition, epsilon), None, math.inf
    for plan in plans(composition):
        try:
            line = plan(composition, epsilon, log_delta)
        except NotClosedError:
            continue
        low, high = line.bracket(epsilon)
        if high > 0 and (high - max(low, 0.0)) / high < width:
            best, width = line, (high - max(low, 0.0)) / high
        if width <= goal:
            break
    return None if best is None else best.bracket


def epsilon_bracket(composition: Composition, delta: float, goal: float = 1e-6) -> tuple[float, float]:
    """Bounds on the smallest epsilon >= 0 with delta(epsilon) <= delta; (0, infinity) if no line closes.

    None does below LEAST_DELTA, where the masses that are cut off would underflow.
    """
    if delta < LEAST_DELTA:
        return 0.0, math.inf
    return _narrowed(composition, lambda plan: _solve(composition, plan, delta, goal), math.inf, goal)


def _narrowed(composition: Composition, measure: Measure, most: float, goal: float) -> tuple[float, float]:
    """The brackets of the plans that close, intersected, until they are narrow."""
    low, high = 0.0, most
    for plan in plans(composition):
        try:
            below, above = measure(plan)
        except NotClosedError:
            continue
        low, high = max(low, below), min(high, above)
        if high - low <= max(goal, NEARLY) * high:
            break
    return low, high


def chernoff(composition: Composition, epsilon: float) -> float:
    """Upper bound on delta(epsilon): min over c of kappa(c) E e^{cL} e^{-c eps}, plus the mass cut off."""
    problem = InversionProblem.of(composition, -70.0, Tolerance())
    product, far = plain(problem, 0.12)
    search = 1e-4 + 1e-8 * composition.count  # accuracy of `log_real`
    height = product.log_real(GRID) + search + log_kappa(GRID) - GRID * epsilon
    best = float(np.min(np.where(np.isfinite(height), height, np.inf)))
    return math.exp(min(best, 0.0)) + far.some() + problem.lost


def _rough_log_delta(composition: Composition, epsilon: float) -> float:
    """Saddle-point estimate of log delta(epsilon), the scale of all tolerances."""
    log_delta = -60.0
    for _ in range(2):
        try:
            product, _ = plain(InversionProblem.of(composition, log_delta, Tolerance()), 0.12)
            log_delta = min(max(saddle_for_epsilon(product, epsilon)[1], LEAST_LOG_DELTA), -0.1)
        except NotClosedError:
            break
    return log_delta


def _solve(composition: Composition, plan: Plan, delta: float, goal: float) -> tuple[float, float]:
    """Bracket the root on one line; if the line was made for another epsilon, once more on its own."""
    log_delta = math.log(delta)
    line = plan(composition, None, log_delta)
    epsilon = newton(line, delta)
    low, high = _ends(line, epsilon, delta)
    if epsilon > 0 and high - low > goal * high and abs(epsilon - line.contour.start) > 1e-3 * epsilon:
        line = plan(composition, epsilon, log_delta)
        again = _ends(line, newton(line, delta), delta)
        low, high = max(low, again[0]), min(high, again[1])
    return low, high


def _ends(line: Certified, epsilon: float, delta: float) -> tuple[float, float]:
    epsilon = max(epsilon, 0.0)
    slope = line.value(epsilon)[1]
    return _side(line, epsilon, slope, delta, -1), _side(line, epsilon, slope, delta, +1)


def _side(line: Certified, epsilon: float, slope: float, delta: float, sign: int) -> float:
    """An epsilon on one side of the root at which the bound is verified; 0 and infinity are always true."""
    for factor in (1.01, 1.5, 4.0, 40.0, 1e3):
        below, above = line.bracket(epsilon)
        short = max(above - delta, 0.0) if sign > 0 else max(delta - below, 0.0)
        candidate = epsilon + sign * factor * short / max(-slope, 1e-300)
        if sign < 0 and candidate <= 0:
            return 0.0
        below, above = line.bracket(candidate)
        if above <= delta if sign > 0 else below >= delta:
            return candidate
    if sign < 0:
        return 0.0
    raise NotClosedError("bracket")
