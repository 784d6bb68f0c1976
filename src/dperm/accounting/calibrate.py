# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""`calibrate`: find the parameter of a family of events that meets a privacy target, rounded in the safe direction."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from dperm import checks
from dperm.accounting.account import ComposedProfile, account
from dperm.accounting.event import Event
from dperm.checks import shown
from dperm.errors import AssumptionError, DpermError, ParameterError
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.profile import PrivacyProfile

Family = Callable[[float], Event]
PUSHES = (0.0, 0.1, 0.4, 0.8)  # tried moves in the safe direction, in units of the relative accuracy
LAST_PUSHES = (2.0, 10.0, 100.0, 1e3, 1e4)  # where the brackets are wider than that
FAR = 30.0  # stands for log(epsilon / target) where epsilon is 0 or infinite


def calibrate(
    family: Family,
    epsilon: float,
    delta: float,
    adjacency: Adjacency | str | None = None,
    *,
    bounds: tuple[float, float] = (1e-2, 1e8),
    relative: float = 1e-6,
) -> float:
    """Return the parameter at which the event of ``family`` is (epsilon, delta)-DP, rounded in the safe direction.

    Parameters
    ----------
    family
        Function that maps one positive number, the parameter, to an event. The epsilon of the event must be monotone in
        the parameter. Examples of parameters are a noise multiplier, a sampling rate, and a number of steps
        (``lambda k: step * int(k)``).
    epsilon
        Target epsilon, positive.
    delta
        Target delta, in [0, 1).
    adjacency
        Neighbouring relation of the target, "add_remove" or "replace_one". It is required: None raises AdjacencyError.
    bounds
        Search interval (low, high) for the parameter, such as (1e-6, 1.0) for a sampling rate.
    relative
        Relative accuracy of the parameter, positive.

    Returns
    -------
    float
        Parameter whose event has an epsilon of at most ``epsilon`` at ``delta``. The accountant verifies this for the
        returned value itself, in all directions of the adjacency.

    Raises
    ------
    AssumptionError
        If no parameter within ``bounds`` meets the target, if every parameter within ``bounds`` meets it, or if the
        accountant cannot verify the parameter found.
    AdjacencyError
        If ``adjacency`` is None, or no theorem covers the event under ``adjacency``.
    ParameterError
        If an argument is out of range, or ``family`` does not return an event.

    Examples
    --------
    >>> from dperm.accounting import Gaussian, calibrate
    >>> round(calibrate(Gaussian, epsilon=1.0, delta=1e-5, adjacency="add_remove"), 4)
    3.7306
    """
    if not callable(family):
        raise ParameterError(f"family must be a function from a parameter to an event, got {shown(family)}.")
    target = _Target(
        family,
        checks.positive("epsilon", epsilon, "Give the epsilon to be reached."),
        checks.small_delta("delta", delta),
        Adjacency.of(adjacency),
    )
    low, high = _checked_bounds(bounds)
    relative = checks.positive("relative", relative)
    for quick in (True, False):  # the first direction alone nearly always decides; if not, both are searched
        search = _Search(replace(target, quick=quick), math.log(low), math.log(high), relative)
        place, falling = search.root()
        found = target.safe(math.exp(place), relative, falling, PUSHES if quick else (*PUSHES, *LAST_PUSHES))
        if found is not None:
            return found
    raise AssumptionError(
        f"no parameter near {math.exp(place):g} could be certified at epsilon={target.epsilon:g}, "
        f"delta={target.delta:g}. Give narrower bounds, or a larger delta."
    )


def _checked_bounds(bounds: tuple[float, float]) -> tuple[float, float]:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError(f"bounds must be a pair (low, high), got {shown(bounds)}.")
    low, high = checks.positive("bounds[0]", bounds[0]), checks.positive("bounds[1]", bounds[1])
    if not low < high:
        raise ParameterError(f"bounds must be (low, high) with low < high, got {shown(bounds)}.")
    return low, high


@dataclass(frozen=True)
class _Target:
    family: Family
    epsilon: float
    delta: float
    adjacency: Adjacency
    quick: bool = True

    def excess(self, parameter: float) -> float:
        """Return log(epsilon of the event / target epsilon), clipped to +-FAR."""
        profile = self._profile(parameter)
        if self.quick and self.delta > 0 and isinstance(profile, ComposedProfile):
            found = profile.epsilon_estimate(self.delta)
        else:
            found = profile.epsilon(self.delta)
        if found <= 0:
            return -FAR
        return min(max(math.log(found / self.epsilon), -FAR), FAR) if math.isfinite(found) else FAR

    def _profile(self, parameter: float) -> PrivacyProfile:
        event = self.family(parameter)
        if not isinstance(event, Event):
            raise ParameterError(f"family must return an event, got {shown(event)} at {parameter:g}.")
        return account(event, self.adjacency)

    def safe(self, parameter: float, relative: float, falling: bool, pushes: tuple[float, ...]) -> float | None:
        """Return the first trial value with certified epsilon within the target, or None.

        Trials move in the safe direction.
        """
        sign = 1 if falling else -1
        for push in pushes:
            value = parameter * (1 + sign * push * relative)
            if self._profile(value).epsilon(self.delta) <= self.epsilon:
                return value
        return None


@dataclass
class _Search:
    """Root search for the excess in the logarithm of the parameter: a secant method kept inside a bracket."""

    target: _Target
    low: float
    high: float
    relative: float

    def root(self) -> tuple[float, bool]:
        """Return (log of the parameter, True if epsilon falls with the parameter)."""
        start = min(max(0.0, self.low), self.high)
        first = self._value(start)
        other = start + 0.5 if start + 0.5 <= self.high else start - 0.5
        second = self._value(other)
        falling = self._falls(start, first, other, second)
        near, far = (start, first), (other, second)
        while near[1] * far[1] > 0:
            near, far = far, self._outward(near, far, falling)
        return self._secant(near, far), falling

    def _value(self, place: float) -> float:
        try:
            return self.target.excess(math.exp(place))
        except ParameterError as error:
            raise ParameterError(
                f"family failed at {math.exp(place):g} within bounds: {error} Give bounds=(low, high) inside which "
                f"family makes events."
            ) from error

    def _falls(self, a: float, at_a: float, b: float, at_b: float) -> bool:
        """Return whether epsilon falls, from two values, or from the ends of the bounds if both values are equal."""
        if at_a == at_b:
            a, b = self.low, self.high
            at_a, at_b = self._end(a), self._end(b)
        if at_a == at_b:
            word = "every" if at_a < 0 else "no"
            raise AssumptionError(
                f"{word} parameter in bounds=({math.exp(self.low):g}, {math.exp(self.high):g}) meets "
                f"epsilon={self.target.epsilon:g}, delta={self.target.delta:g}, or the parameter "
                f"has no effect. Give other bounds or another target; if the "
                f"other events alone cost more, or delta = 0 with Gaussian noise, no parameter can meet it."
            )
        return (at_b < at_a) == (b > a)

    def _end(self, place: float) -> float:
        try:
            return self.target.excess(math.exp(place))
        except DpermError:
            return math.nan

    def _outward(self, near: tuple[float, float], far: tuple[float, float], falling: bool) -> tuple[float, float]:
        """Return the next point towards a sign change: a secant step in the logarithm, between 0.05 and 5."""
        up = (far[1] > 0) == falling
        slope = (far[1] - near[1]) / (far[0] - near[0])
        guess = -1.1 * far[1] / slope if slope and abs(far[1]) < FAR else math.inf
        step = min(max(abs(guess), 0.05), 5.0)
        place = min(far[0] + step, self.high) if up else max(far[0] - step, self.low)
        if place == far[0]:
            word = "no" if far[1] > 0 else "every"
            raise AssumptionError(
                f"{word} parameter up to the bound {math.exp(place):g} meets epsilon={self.target.epsilon:g}, "
                f"delta={self.target.delta:g}. Widen bounds or change the target; if the other events "
                f"alone cost more, or "
                f"delta = 0 with Gaussian noise, no parameter can meet it."
            )
        return place, self._value(place)

    def _secant(self, a: tuple[float, float], b: tuple[float, float]) -> float:
        """Return the root in the bracket, to a thirtieth of ``relative``: secant, or bisection for clipped values."""
        last = a if abs(a[1]) < abs(b[1]) else b
        tiny = self.relative / 30
        for _ in range(100):
            clipped = max(abs(a[1]), abs(b[1])) >= FAR
            place = (a[0] + b[0]) / 2 if clipped else a[0] - a[1] * (b[0] - a[0]) / (b[1] - a[1])
            if abs(place - last[0]) < tiny or abs(b[0] - a[0]) < tiny:
                return place
            value = self._value(place)
            if value == 0:
                return place
            keep = a if a[1] * value < 0 else b
            other = b if keep is a else a
            # Illinois: an end that stays twice loses half its weight
            a, b = (keep[0], keep[1] / 2 if other[0] == last[0] else keep[1]), (place, value)
            last = (place, value)
        return place
