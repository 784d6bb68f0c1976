# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Brackets of epsilon and delta for one direction of a composition."""

import math
from collections.abc import Callable

import numpy as np

from dperm.accounting.composition import Composition
from dperm.accounting.lattice.coarse import Coarse, CoarseLaw
from dperm.accounting.lattice.plan import plan_of, target_of
from dperm.accounting.lattice.round import LONG, Round
from dperm.accounting.lattice.rounding import bounded_exp
from dperm.accounting.lattice.solve import largest_epsilon, smallest_epsilon
from dperm.accounting.lattice.steps import lattice_steps
from dperm.accounting.special import log_kappa

Reader = Callable[[float], tuple[float, float]]
ROUNDS = 9
CUT = 1e-11  # P-mass cut off at the top, relative to delta
LEAST_LOG = -690.0  # no delta below e^-690 is told from 0
SKEWED = 0.7  # a tilted law with more skewness is far from its saddle-point estimate: a rough round comes first
ROUGH = 1e-2
NEARER = 0.9  # an upper end that fell below this share of the guess is expected to fall further
STUCK = 0.7  # a finer lattice that leaves this much of the bracket meets rounding, not discretisation
CLOSE = 3.0  # a bracket of this many times the goal is not refined further on lattices that are long already
FLAT = 1e-3  # an epsilon below FLAT/c is told to goal * FLAT/c only: delta is as good as delta(0) there


def epsilon_bracket(composition: Composition, delta: float, goal: float = 1e-6) -> tuple[float, float]:
    """(lower, upper) bounds on the smallest epsilon >= 0 with delta(epsilon) <= ``delta``.

    The mass at infinity is the caller's: this is about the losses given that they are finite. Refines until the
    bracket is ``goal`` wide, relative, or the lattices have as many points as are allowed. A Chernoff bound and 0 are
    always there, so no valid input fails (below delta = 1e-300 they are all there is).
    """
    if delta >= 1 or not composition.steps:
        return 0.0, 0.0
    log_delta = max(math.log(delta), LEAST_LOG) if delta > 0 else LEAST_LOG
    coarse = _coarse(composition, log_delta)
    ceiling, c = _ceiling(coarse, delta)
    if ceiling <= 0 or delta <= coarse.lost():
        return 0.0, max(ceiling, 0.0) if delta > coarse.lost() else composition.ceiling
    low, high = 0.0, ceiling
    guess = max(ceiling - _saddle_gain(coarse, c) / c, 1e-3 * ceiling)
    share = 0.5 if coarse.skewness(c) < SKEWED and not _long(coarse, log_delta, guess, goal) else ROUGH / goal
    steep, rounds = None, 0
    while rounds < ROUNDS:
        target = target_of(coarse, log_delta, guess)
        one = Round.of(coarse, target, share * goal * max(guess, FLAT / target.tilt), steep)
        before, high = high - low, min(high, smallest_epsilon(one.upper, delta, ceiling))
        low = max(low, largest_epsilon(one.lower, delta, ceiling))
        far = target.tilt * abs(guess - high) > 2
        poor = share > 0.5 or far
        if high - low <= (CLOSE if one.long else 1) * goal * max(high, FLAT / target.tilt):
            break
        if not poor and (one.exhausted or high - low > STUCK * before):
            break
        approaching = far and high < NEARER * guess and rounds + 2 < ROUNDS
        guess, rounds = high, rounds + 1
        if poor:  # lattices stay rough until the epsilon that they are made for is found
            coarse, share = coarse.capped(guess, log_delta), ROUGH / goal if approaching else 0.5
        else:
            steep = one.steep
            share *= max(min(0.5 * goal * high / (high - low), 0.5), 1 / 256)
    return low, high


def delta_bracket(composition: Composition, epsilon: float, goal: float = 1e-6) -> tuple[float, float]:
    """(lower, upper) bounds on delta(``epsilon``), epsilon >= 0, of the losses given that they are finite."""
    low, high, _ = _read(composition, epsilon, goal)
    return low, high


def reader(composition: Composition, epsilon: float, goal: float) -> Reader:
    """Bounds on delta at every epsilon, from the last lattices that were made for this one: tight near it."""
    low, high, last = _read(composition, epsilon, goal)

    def bracket(other: float) -> tuple[float, float]:
        if other == epsilon:
            return low, high
        if last is None or other >= composition.ceiling * (1 + 1e-12):
            return (0.0, high) if other > epsilon else (low, 1.0)
        above = min(last.upper.upper(other), 1.0)
        return max(last.lower.lower(other), low if other < epsilon else 0.0), min(
            above, high if other > epsilon else 1.0
        )

    return bracket


def _read(composition: Composition, epsilon: float, goal: float) -> tuple[float, float, Round | None]:
    """The bracket of delta(epsilon), and the last lattices that were read, if any."""
    if epsilon >= composition.ceiling * (1 + 1e-12):
        return 0.0, 0.0, None
    log_delta = _log_chernoff(_coarse(composition, -60.0).capped(epsilon, -60.0), epsilon)
    coarse = _coarse(composition, log_delta)
    if epsilon >= coarse.most() * (1 + 1e-12):
        return 0.0, min(coarse.lost(), 1.0), None
    low, high = 0.0, 1.0
    share = ROUGH / goal
    steep = None
    for _ in range(ROUNDS):
        coarse = coarse.capped(epsilon, log_delta)
        log_delta = min(log_delta, _log_chernoff(coarse, epsilon))
        high = min(high, math.exp(log_delta) * (1 + 1e-9))
        target = target_of(coarse, log_delta, epsilon)
        one = Round.of(coarse, target, share * goal / target.tilt, steep)
        before, low = high - low, max(low, one.lower.lower(epsilon))
        high = min(high, one.upper.upper(epsilon))
        poor = share > 0.5 or math.log(max(high, 1e-300)) < log_delta - 3
        if high - low <= (CLOSE if one.long else 1) * goal * high:
            break
        if not poor and (one.exhausted or high - low > STUCK * before):
            break
        if poor:
            log_delta, share = max(math.log(max(high, 1e-300)), LEAST_LOG), 0.5
            coarse = _coarse(composition, log_delta)
        else:
            steep = one.steep
            share *= max(min(0.5 * goal * high / (high - low), 0.5), 1 / 256)
    return low, high, one


def _long(coarse: Coarse, log_delta: float, guess: float, goal: float) -> bool:
    """Whether a lattice that is fine enough for the goal is so long that a rough one should come first."""
    target = target_of(coarse, log_delta, guess)
    return plan_of(coarse, target, goal / 4 * max(guess, FLAT / target.tilt), upper=True).length > LONG


def _coarse(composition: Composition, log_delta: float) -> Coarse:
    """The composition, cut so that no more than CUT times delta is lost."""
    steps = lattice_steps(composition)
    tail = math.exp(max(log_delta + math.log(CUT / sum(count for _, count in steps)), LEAST_LOG))
    return Coarse(tuple(CoarseLaw.of(law, count, tail, math.inf) for law, count in steps))


def _ceiling(coarse: Coarse, delta: float) -> tuple[float, float]:
    """An upper bound on epsilon (Chernoff, or the largest loss), and its tilt."""
    rest = delta - coarse.lost()
    bound, c = coarse.chernoff_epsilon(math.log(max(rest, 1e-300)))
    return min(bound + 1e-9 / c, coarse.most()) * (1 + 1e-12), c


def _log_chernoff(coarse: Coarse, epsilon: float) -> float:
    """Log of an upper bound on delta(epsilon), at most 0."""
    return max(math.log(min(bounded_exp(coarse.chernoff_log_delta(epsilon)) + coarse.lost(), 1.0)), LEAST_LOG)


def _saddle_gain(coarse: Coarse, c: float) -> float:
    """Log of the Chernoff bound over the saddle-point estimate e^{K - c eps}/(c(c+1) sqrt(2 pi V)), at least 0."""
    spread = 0.5 * math.log(2 * math.pi * coarse.variance(c))
    return max(float(log_kappa(np.array(c))) + math.log(c * (c + 1)) + spread, 0.0)
