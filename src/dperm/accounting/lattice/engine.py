# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Brackets of epsilon and delta for one direction of a composition."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dperm.accounting.composition import Composition
from dperm.accounting.lattice.borders import steep_window
from dperm.accounting.lattice.coarse import Coarse, CoarseLaw
from dperm.accounting.lattice.collapse import Collapsed, CollapseWindow
from dperm.accounting.lattice.plan import LatticePlan, LatticeTarget, plan_of, target_of
from dperm.accounting.lattice.readout import Readout
from dperm.accounting.lattice.rounding import UNDERFLOW, bounded_exp
from dperm.accounting.lattice.sides import LatticeFactor, lower_factors, readout_of, upper_factors
from dperm.accounting.lattice.steps import lattice_steps
from dperm.accounting.special import log_kappa

TRIES = 60


def smallest_epsilon(readout: Readout, delta: float, ceiling: float) -> float:
    """An eps in [0, ceiling] with upper(eps) <= delta, close to the smallest (``ceiling`` if none is found)."""
    if readout.upper(0.0) <= delta:
        return 0.0
    found = _Search(readout, delta, ceiling, upwards=True).verified()
    return ceiling if found is None else found


def largest_epsilon(readout: Readout, delta: float, ceiling: float) -> float:
    """An eps in [0, ceiling] with lower(eps) >= delta, close to the largest (0 if none is found)."""
    return _Search(readout, delta, ceiling, upwards=False).verified() or 0.0


@dataclass(frozen=True)
class _Search:
    """Where the upper bound is small enough (upwards) or the lower bound large enough."""

    readout: Readout
    delta: float
    ceiling: float
    upwards: bool

    def verified(self) -> float | None:
        """Step away from the root until the bound holds; halve the last step unless the first was as planned."""
        epsilon = self._root()
        value, tail = self.readout.value_and_tail(epsilon)
        excess = abs(self._bound(epsilon) - self.delta)
        planned = abs(value - self.delta) <= 1e-6 * self.delta and tail > value and excess < 0.1 * self.delta
        step = 1.05 * excess / (tail - value) + 1e-15 * epsilon if planned else 1e-14 * self.ceiling
        failed = epsilon
        for attempt in range(TRIES):
            trial = epsilon + step if self.upwards else epsilon - step
            if not 0 <= trial < self.ceiling:
                break
            if self._holds(trial):
                return trial if planned and attempt == 0 else self._halved(failed, trial)
            failed, step = trial, 2 * step
        return None

    def _bound(self, epsilon: float) -> float:
        return self.readout.upper(epsilon) if self.upwards else self.readout.lower(epsilon)

    def _holds(self, epsilon: float) -> bool:
        return self._bound(epsilon) <= self.delta if self.upwards else self._bound(epsilon) >= self.delta

    def _halved(self, failed: float, held: float) -> float:
        for _ in range(TRIES):
            middle = (failed + held) / 2
            if abs(failed - held) <= 1e-13 * held:
                break
            failed, held = (failed, middle) if self._holds(middle) else (middle, held)
        return held

    def _root(self) -> float:
        """Where the value itself meets delta: halving, and Newton on its logarithm once that is near."""
        low, high, epsilon = 0.0, self.ceiling, self.ceiling
        for _ in range(2 * TRIES):
            value, tail = self.readout.value_and_tail(epsilon)
            low, high = (epsilon, high) if value > self.delta else (low, epsilon)
            away = math.log(value / self.delta) if 0 < value < math.inf else math.inf
            if abs(away) <= 1e-14 or high - low <= 1e-15 * high:
                break
            trial = epsilon + away * value / (tail - value) if abs(away) < 2 and tail > value else math.nan
            epsilon = trial if low < trial < high else (low + high) / 2
        return epsilon


FIXED_POINT_ROUNDS = 8
LONG = 2**17  # points of both sides


@dataclass(frozen=True)
class Round:
    """An upper and a lower profile.

    ``exhausted``: finer lattices were wanted than are allowed; ``steep``: the laws that were collapsed for the lower
    side, or None if the plain laws did better.
    """

    upper: Readout
    lower: Readout
    exhausted: bool
    steep: tuple[bool, ...] | None

    @classmethod
    def of(cls, coarse: Coarse, target: LatticeTarget, width: float, steep: tuple[bool, ...] | None = None) -> "Round":
        """Both sides, each off by about half of ``width`` (in eps); laws that an earlier round found ``steep``."""
        above = plan_of(coarse, target, width / 2, upper=True)
        below, factors, collapsed = _lower_side(coarse, target, width, steep)
        upper, lower = readout_of(upper_factors(above), above), readout_of(factors, below)
        return cls(upper, lower, above.exhausted or below.exhausted, collapsed)

    @property
    def long(self) -> bool:
        """Whether another round on finer lattices would be slow."""
        return len(self.upper.circle.weights) + len(self.lower.circle.weights) > LONG


def _lower_side(
    coarse: Coarse, target: LatticeTarget, width: float, steep: tuple[bool, ...] | None
) -> tuple[LatticePlan, list[LatticeFactor], tuple[bool, ...] | None]:
    """The cheaper of the plain laws and the collapsed ones; straight to the latter if an earlier round chose them."""
    plan = plan_of(coarse, target, width / 2, upper=False)
    if steep is not None:
        plan = _collapsed_plan(coarse, plan, steep, width / 2)
        return plan, lower_factors(plan)[0], steep
    factors, costs = lower_factors(plan)
    found = tuple(cost > width / (4 * len(costs)) for cost in costs)
    if any(found):
        second = _collapsed_plan(coarse, plan, found, width / 2)
        others, other_costs = lower_factors(second)
        if sum(other_costs) < sum(costs):
            return second, others, found
    return plan, factors, None


def _collapsed_plan(coarse: Coarse, plan: LatticePlan, steep: tuple[bool, ...], width: float) -> LatticePlan:
    """A plan whose steep laws are collapsed where they are steepest.

    The window depends on the spacing, and the spacing (which has to fit the atoms) on the window: a fixed point.
    """
    for _ in range(FIXED_POINT_ROUNDS):
        steps = [law.spacing * law.shape.pair for law in plan.laws]
        laws = zip(coarse.laws, steps, steep, strict=True)
        collapsed = Coarse(tuple(_collapsed(law, step) if chosen else law for law, step, chosen in laws))
        plan = plan_of(collapsed, plan.target, width, upper=False)
        if all(abs(law.spacing - step) <= 1e-5 * step for law, step in zip(plan.laws, steps, strict=True)):
            break
    return plan


def _collapsed(law: CoarseLaw, step: float) -> CoarseLaw:
    low, high = steep_window(law.law, law.centre(), step)
    window = CollapseWindow.of(law.law, low, high)
    if not (low < high and window.p > UNDERFLOW and window.q > UNDERFLOW):
        return law
    return CoarseLaw.of(Collapsed(window), law.count, law.tail, law.high, window)


Reader = Callable[[float], tuple[float, float]]
ROUNDS = 9
CUT = 1e-11  # P-mass cut off at the top, relative to delta
LEAST_LOG = -690.0  # no delta below e^-690 is told from 0
SKEWED = 0.7  # a tilted law with more skewness is far from its saddle-point estimate: a rough round comes first
ROUGH = 1e-2
NEARER = 0.9  # an upper end that fell below this share of the guess is expected to fall further
STUCK = 0.7  # a finer lattice that leaves this much of the bracket meets rounding, not discretization
CLOSE = 3.0  # a bracket of this many times the goal is not refined further on lattices that are long already
FLAT = 1e-3  # an epsilon below FLAT/c is told to goal * FLAT/c only: delta is as good as delta(0) there


def epsilon_bracket(composition: Composition, delta: float, goal: float = 1e-6) -> tuple[float, float]:
    """(lower, upper) bounds on the smallest epsilon >= 0 with delta(epsilon) <= ``delta``.

    The bounds are conditional on finite losses; the caller accounts for the mass at infinity. The lattices are refined
    until the relative width of the bracket is ``goal`` or their size limit is reached. A Chernoff bound and 0 are
    always available as upper and lower bounds, so no valid input fails. Below delta = 1e-300, only these are used.
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
