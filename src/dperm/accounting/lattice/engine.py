# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Brackets of epsilon and delta for one direction of a composition."""

import math

import numpy as np

from dperm.accounting.composition import Composition
from dperm.accounting.lattice.coarse import Coarse, CoarseLaw
from dperm.accounting.lattice.plan import plan_of, target_of
from dperm.accounting.lattice.rounding import log_kappa
from dperm.accounting.lattice.sides import both_sides
from dperm.accounting.lattice.solve import largest_epsilon, smallest_epsilon

CUT = 1e-11  # P-mass cut off at the top, relative to delta
LEAST_LOG = -690.0
ROUNDS = 5
import os
TRACE=os.environ.get('TRACE')


def epsilon_bracket(composition: Composition, delta: float, goal: float = 1e-6) -> tuple[float, float]:
    """(lower, upper) bounds on the smallest epsilon >= 0 with delta(epsilon) <= ``delta``.

    The mass at infinity is the caller's: this is about the losses given that they are finite. Refines until the
    bracket is ``goal`` wide, relative, or the lattice has 2^20 points; a Chernoff bound and 0 are always there.
    """
    if delta >= 1 or not composition.steps:
        return 0.0, 0.0
    coarse = _coarse(composition, math.log(max(delta, 1e-300)))
    ceiling, c = _ceiling(coarse, delta)
    if ceiling <= 0 or delta <= coarse.tails():
        return 0.0, max(ceiling, 0.0)
    low, high = 0.0, ceiling
    guess = max(ceiling - _saddle_gain(coarse, c) / c, 1e-3 * ceiling)
    width = 0.5 * goal * guess
    for _ in range(ROUNDS):
        plan = plan_of(coarse, target_of(coarse, c, math.log(delta), guess), width)
        below, above = both_sides(plan)
        low = max(low, largest_epsilon(below, delta, ceiling))
        high = min(high, smallest_epsilon(above, delta, ceiling))
        if TRACE: print('   round', plan.length, plan.spacing, [(l.shape.grid(l.spacing).points,l.own) for l in plan.laws], low, high, plan.exhausted, 'c',plan.target.tilt,'guess',guess)
        poor = c * abs(guess - high) > 2 and guess > 0
        if high - low <= goal * high or (plan.exhausted and not poor):
            break
        guess = high
        width *= 1.0 if poor else max(min(0.5 * goal * high / (high - low), 0.5), 1 / 256)
    return low, high


def delta_bracket(composition: Composition, epsilon: float, goal: float = 1e-6) -> tuple[float, float]:
    """(lower, upper) bounds on delta(``epsilon``), epsilon >= 0, of the losses given that they are finite."""
    if not composition.steps:
        return 0.0, 0.0
    first, _ = _coarse(composition, -60.0).chernoff_log_delta(epsilon)
    coarse = _coarse(composition, max(min(first, 0.0), LEAST_LOG))
    log_delta, c = coarse.chernoff_log_delta(epsilon)
    low, high = 0.0, min(1.0, math.exp(min(log_delta, 0.0)) * (1 + 1e-9) + coarse.tails())
    if epsilon >= coarse.most() * (1 + 1e-12):
        return 0.0, min(high, coarse.tails())
    log_delta = max(min(log_delta, 0.0) - _saddle_gain(coarse, c), LEAST_LOG)
    width = 0.5 * goal / c
    for _ in range(ROUNDS):
        plan = plan_of(coarse, target_of(coarse, c, log_delta, epsilon), width)
        below, above = both_sides(plan)
        low = max(low, below.lower(epsilon))
        high = min(high, above.upper(epsilon))
        if TRACE: print('   round', plan.length, plan.spacing, [(l.shape.grid(l.spacing).points,l.own) for l in plan.laws], low, high, plan.exhausted, 'c',plan.target.tilt)
        poor = high > 0 and math.log(high) < log_delta - 4
        if high - low <= goal * high or (plan.exhausted and not poor):
            break
        log_delta = max(math.log(high), LEAST_LOG) if high > 0 else LEAST_LOG
        width *= 1.0 if poor else max(min(0.5 * goal * high / (high - low), 0.5), 1 / 256)
    return low, high


def _coarse(composition: Composition, log_delta: float) -> Coarse:
    tail = math.exp(max(log_delta + math.log(CUT / composition.count), LEAST_LOG))
    return Coarse(tuple(CoarseLaw.of(law, count, tail) for law, count in composition.steps))


def _ceiling(coarse: Coarse, delta: float) -> tuple[float, float]:
    """An upper bound on epsilon (Chernoff, or the largest loss), and its tilt."""
    rest = delta - coarse.tails()
    bound, c = coarse.chernoff_epsilon(math.log(max(rest, 1e-300)))
    return (min(bound, coarse.most()) if rest > 0 else coarse.most()) * (1 + 1e-9), c


def _saddle_gain(coarse: Coarse, c: float) -> float:
    """Log of the Chernoff bound over the saddle-point estimate e^{K - c eps}/(c(c+1) sqrt(2 pi V)), at least 0."""
    spread = 0.5 * math.log(2 * math.pi * max(coarse.variance(c), 1e-300))
    return max(log_kappa(c) + math.log(c * (c + 1)) + spread, 0.0)
