# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""`account`: compute the privacy profile of a composition of events."""

import math
from dataclasses import dataclass, field, replace

from dperm import checks
from dperm.accounting import closed
from dperm.accounting.best_of import BestOf
from dperm.accounting.composition import Composition
from dperm.accounting.curve import ProfileCurve
from dperm.accounting.engines import Answer, estimate_epsilon, solve_delta, solve_epsilon
from dperm.accounting.event import Event, elementary
from dperm.accounting.parallel import ParallelParts
from dperm.checks import shown
from dperm.errors import AdjacencyError, ParameterError
from dperm.privacy.adjacency import Adjacency, Direction
from dperm.privacy.group import replace_one_profile
from dperm.privacy.profile import PrivacyProfile, tradeoff_from_delta

WIDE = 0.01  # relative width from which a curve's epsilon is solved for on its own
RATE = 1e-9  # a smaller delta makes no difference to a rate
FARTHEST = 1e9  # end of the search for a selection's epsilon
PUSHES = (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)  # relative, until a bound holds
LARGE_DELTA = 0.05  # from which the convex bound of T82 is evaluated
SELECTION = "the upper end is the least of T80, T81, T83 and T151; the lower end is an explicit scorer"
EPSILON = "It is the epsilon of an (epsilon, delta) statement."
DELTA = "It is the delta of an (epsilon, delta) statement, usually well below 1/n."


def account(event: Event, adjacency: Adjacency | str | None = None) -> "AccountedProfile":
    """Return the privacy profile of ``event`` under ``adjacency``, with lower and upper bounds.

    Each event is represented by a dominating pair: two distributions whose privacy profile is an upper bound on the
    profile of the event. The pairs are composed separately for each direction of the adjacency (T15, T22, T23). A
    closed form is used where one exists. Otherwise the moment generating function of the privacy loss is inverted
    numerically along a contour, or the privacy loss is discretized on a lattice (T28). If an event has no known
    dominating pair under replace-one, all events are accounted for under add/remove, and theorem T4 (group privacy)
    converts the result. Tags such as T4 refer to the theorems in the documentation.

    The parameters of all events must be fixed in advance (T14). To stop early, or to choose the parameters of an event
    from earlier outputs, charge the events to a budget (`dperm.accounting.budget`).

    Parameters
    ----------
    event
        Event to account for. Compose elementary events with ``+`` and repeat them with ``*``.
    adjacency
        Neighbouring relation, "add_remove" or "replace_one". It is required: None raises AdjacencyError.

    Returns
    -------
    ComposedProfile, ReplaceOneReading, ParallelProfile or SelectionProfile
        A `PrivacyProfile`. Its methods ``epsilon`` and ``delta`` return upper bounds, and ``epsilon_bracket`` and
        ``delta_bracket`` return lower and upper bounds. Its method ``tradeoff`` returns a lower bound on the
        false-negative rate of an attacker.

    Raises
    ------
    AdjacencyError
        If no theorem covers one of the events, or their composition, under ``adjacency``.
    ParameterError
        If ``event`` is not an event, has more than 10^9 steps, or is nested too deeply.

    Examples
    --------
    >>> from dperm.accounting import Gaussian, Poisson, account
    >>> profile = account(Poisson(Gaussian(1.0), rate=0.01) * 1000, adjacency="add_remove")
    >>> round(profile.epsilon(delta=1e-5), 6)
    1.828237
    """
    if not isinstance(event, Event):
        raise ParameterError(f"event must be an event such as Gaussian(1.0) * 10, got {shown(event)}.")
    relation = Adjacency.of(adjacency)
    singles = elementary(event)
    alone = singles[0][0] if len(singles) == 1 and singles[0][1] == 1 else None
    if isinstance(alone, ParallelParts):
        return ParallelProfile(event, relation, tuple(account(part, relation) for part in alone.events))
    readings = {single.reading(relation) for single, _ in singles}
    if isinstance(alone, BestOf):
        if readings == {relation}:
            return SelectionProfile(alone, relation)
        _require_add_remove(event)
        return ReplaceOneReading(SelectionProfile(alone, Adjacency.ADD_REMOVE))
    if readings == {relation}:
        return ComposedProfile(event, relation, _directions(event, relation))
    _require_add_remove(event)
    wider = ComposedProfile(event, Adjacency.ADD_REMOVE, _directions(event, Adjacency.ADD_REMOVE))
    return ReplaceOneReading(wider)


def _require_add_remove(event: Event) -> None:
    """Check that every part of the composition has an add/remove guarantee, as T4 requires."""
    for single, _ in event.singles():
        try:
            single.reading(Adjacency.ADD_REMOVE)
        except AdjacencyError:
            raise AdjacencyError(
                f"{single} is proved under replace_one only, and another part of the composition has no pair of its "
                f"own there and is read through add_remove (T4), so the two cannot be composed exactly. Account them "
                f"apart and add their (epsilon, delta) (T11)."
            ) from None


def _directions(event: Event, adjacency: Adjacency) -> tuple[Composition, ...]:
    return tuple(
        Composition.of((single.law(direction), count) for single, count in event.singles())
        for direction in adjacency.directions
    )


@dataclass(frozen=True)
class ComposedProfile(PrivacyProfile):
    """Privacy profile of a composition; its answers also name the numerical engine and the reason for its choice."""

    event: Event
    adjacency: Adjacency
    directions: tuple[Composition, ...] = field(repr=False)

    def epsilon_answer(self, delta: float) -> Answer:
        """Return lower and upper bounds on epsilon at ``delta``, with the name of the engine used."""
        target = checks.small_delta("delta", delta, DELTA)
        answer = solve_epsilon(self.directions, target)
        most = solve_epsilon(self.directions, 0.0).upper if target else math.inf  # epsilon falls with delta
        return replace(answer, lower=min(answer.lower, most), upper=most) if answer.upper > most else answer

    def delta_answer(self, epsilon: float) -> Answer:
        """Return lower and upper bounds on delta at ``epsilon``, with the name of the engine used."""
        return solve_delta(self.directions, checks.nonnegative("epsilon", epsilon, EPSILON))

    def epsilon_estimate(self, delta: float) -> float:
        """Return an estimate of epsilon in the first direction alone, for searches such as `calibrate`.

        The estimate is faster to compute than `epsilon`, but it is not a bound.
        """
        return estimate_epsilon(self.directions[0], checks.positive_delta("delta", delta, DELTA))

    def epsilon_bracket(self, delta: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on the smallest epsilon at ``delta``."""
        answer = self.epsilon_answer(delta)
        return answer.lower, answer.upper

    def delta_bracket(self, epsilon: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on delta at ``epsilon``."""
        answer = self.delta_answer(epsilon)
        return answer.lower, answer.upper

    def tradeoff(self, false_positive_rate: float) -> float:
        """Return a lower bound on the false-negative rate of every attacker with this false-positive rate (T2, T19).

        The bound follows from upper bounds on delta at about forty epsilons, taken from `curve`.
        """
        return self.curve().tradeoff(false_positive_rate)

    def curve(self) -> "CurveProfile":
        """Return the same profile prepared for many queries: it bounds delta quickly, with a relative width of 1e-3.

        Each call returns a new curve. All bounds of a curve are valid, but their exact values depend on its earlier
        queries. Use a new curve for each statement or explanation to make the numbers reproducible.
        """
        return CurveProfile(self, ProfileCurve.of(self.directions))

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags of all theorems used by the profile."""
        own = {tag for single, _ in self.event.singles() for tag in single.tags(self.adjacency)}
        return tuple(sorted(own | {"T2", "T15", "T23"}, key=lambda tag: (len(tag), tag)))


@dataclass(frozen=True)
class CurveProfile(PrivacyProfile):
    """A `PrivacyProfile` that reads its answers from a few contours or lattices (`dperm.accounting.curve`)."""

    profile: ComposedProfile
    readings: ProfileCurve = field(repr=False)

    @property
    def adjacency(self) -> Adjacency:  # type: ignore[override]  # read-only, as the fields of frozen profiles are
        """Adjacency of the underlying profile."""
        return self.profile.adjacency

    def epsilon_bracket(self, delta: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on the smallest epsilon at ``delta``."""
        target = checks.small_delta("delta", delta)
        pure = self.profile.epsilon_bracket(0.0)
        if not target:
            return pure
        low, high = self.readings.epsilon_bracket(target, pure[1])
        if high - low <= WIDE * high:
            return low, high
        below, above = self.profile.epsilon_bracket(target)
        return max(low, below), min(high, above)

    def delta_bracket(self, epsilon: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on delta at ``epsilon``."""
        return self.readings.delta_bracket(checks.nonnegative("epsilon", epsilon, EPSILON))

    def tradeoff(self, false_positive_rate: float) -> float:
        """Return a lower bound on the false-negative rate of every attacker with this false-positive rate (T2, T19)."""
        return tradeoff_from_delta(self.delta_for_rates, false_positive_rate)

    def delta_for_rates(self, epsilon: float) -> float:
        """Return an upper bound on delta at ``epsilon``, accurate enough to bound an attacker's error rates.

        A bound of at most 1e-9 is not refined further, because it hardly changes the error rates.
        """
        return self.readings.delta_bracket(checks.nonnegative("epsilon", epsilon, EPSILON), enough=RATE)[1]


@dataclass(frozen=True)
class ReplaceOneReading(PrivacyProfile):
    """An add/remove profile converted to replace-one by T4: delta(2 eps) <= (1 + e^eps) delta_add_remove(eps).

    The bound is valid but not tight. The brackets enclose this bound, not the exact replace-one profile.
    """

    wider: "ComposedProfile | SelectionProfile"

    adjacency = Adjacency.REPLACE_ONE

    @property
    def event(self) -> Event:
        """Event of the underlying add/remove profile."""
        return self.wider.event

    @property
    def _bound(self) -> PrivacyProfile:
        return replace_one_profile(self.wider)

    def epsilon_answer(self, delta: float) -> Answer:
        """Return lower and upper bounds on T4's epsilon at ``delta``, with the name of the method."""
        return Answer(*self._bound.epsilon_bracket(delta), "group", "accounted under add_remove, then read by T4")

    def delta_answer(self, epsilon: float) -> Answer:
        """Return lower and upper bounds on T4's delta at ``epsilon``, with the name of the method."""
        return Answer(*self._bound.delta_bracket(epsilon), "group", "accounted under add_remove, then read by T4")

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on the smallest epsilon at ``delta``."""
        return self._bound.epsilon(delta)

    def epsilon_bracket(self, delta: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on T4's epsilon at ``delta``."""
        return self._bound.epsilon_bracket(delta)

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at ``epsilon``."""
        return self._bound.delta(epsilon)

    def delta_bracket(self, epsilon: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on T4's delta at ``epsilon``."""
        return self._bound.delta_bracket(epsilon)

    def tradeoff(self, false_positive_rate: float) -> float:
        """Return a lower bound on the false-negative rate of every attacker with this false-positive rate."""
        return self.curve().tradeoff(false_positive_rate)

    def curve(self) -> PrivacyProfile:
        """Return the same profile prepared for many queries: T4 applied to the curve of the add/remove profile."""
        return replace_one_profile(self.wider.curve())

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags of all theorems used by the profile, including T4."""
        return tuple(sorted({*self.wider.tags, "T4"}, key=lambda tag: (len(tag), tag)))


@dataclass(frozen=True)
class ParallelProfile(PrivacyProfile):
    """Pointwise maximum of the privacy profiles of the parts of one `ParallelParts` event (T71)."""

    event: Event
    adjacency: Adjacency
    parts: "tuple[AccountedProfile, ...]" = field(repr=False)

    def epsilon_answer(self, delta: float) -> Answer:
        """Return lower and upper bounds on the largest epsilon of any part at ``delta``."""
        return _largest([part.epsilon_answer(delta) for part in self.parts])

    def delta_answer(self, epsilon: float) -> Answer:
        """Return lower and upper bounds on the largest delta of any part at ``epsilon``."""
        return _largest([part.delta_answer(epsilon) for part in self.parts])

    def epsilon_bracket(self, delta: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on the smallest epsilon at ``delta``."""
        answer = self.epsilon_answer(delta)
        return answer.lower, answer.upper

    def delta_bracket(self, epsilon: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on delta at ``epsilon``."""
        answer = self.delta_answer(epsilon)
        return answer.lower, answer.upper

    def tradeoff(self, false_positive_rate: float) -> float:
        """Return a lower bound on the false-negative rate of every attacker with this false-positive rate."""
        return self.curve().tradeoff(false_positive_rate)

    def curve(self) -> "LargestCurve":
        """Return the same profile prepared for many queries."""
        return LargestCurve(tuple(part.curve() for part in self.parts))

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags of all theorems used by the profile, including T71."""
        found = {"T71", *(tag for part in self.parts for tag in part.tags)}
        return tuple(sorted(found, key=lambda tag: (len(tag), tag)))


def _largest(answers: list[Answer]) -> Answer:
    first, *others = answers
    for other in others:
        first = first.larger(other)
    return first


@dataclass(frozen=True)
class LargestCurve(PrivacyProfile):
    """Pointwise maximum of curves under one adjacency."""

    curves: tuple[PrivacyProfile, ...]

    @property
    def adjacency(self) -> Adjacency:  # type: ignore[override]  # read-only, as the fields of frozen profiles are
        """Adjacency of all curves."""
        return self.curves[0].adjacency

    def epsilon_bracket(self, delta: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on the largest epsilon at ``delta``."""
        brackets = [curve.epsilon_bracket(delta) for curve in self.curves]
        return max(low for low, _ in brackets), max(high for _, high in brackets)

    def delta_bracket(self, epsilon: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on the largest delta at ``epsilon``."""
        brackets = [curve.delta_bracket(epsilon) for curve in self.curves]
        return max(low for low, _ in brackets), max(high for _, high in brackets)


@dataclass(frozen=True)
class SelectionProfile(PrivacyProfile):
    """Privacy profile of one `BestOf` event: upper bounds from theorems, lower bounds from explicit scores (T80)."""

    event: BestOf
    adjacency: Adjacency

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on the smallest epsilon at ``delta``, without the search for a lower bound."""
        target = checks.small_delta("delta", delta, DELTA)
        most = max(self.event.bound(direction).ceiling for direction in self._directions)
        if not target:
            return most
        bound = self.delta if target > LARGE_DELTA else self._largest
        if bound(0.0) <= target:
            return 0.0
        high = min(most, 1.0)
        while high < most and bound(high) > target:
            high = min(2 * high, most)
            if high > FARTHEST:
                return most
        root = closed.falling_root(lambda epsilon: _log_excess(bound(epsilon), target), high)
        certified = (root * (1 + push) for push in PUSHES)
        return min(next((epsilon for epsilon in certified if bound(epsilon) <= target), high), high)

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at ``epsilon``, without the search for a lower bound."""
        found = self._largest(checks.nonnegative("epsilon", epsilon, EPSILON))
        return min(found, self._largest_convex(epsilon)) if found > LARGE_DELTA else found

    def epsilon_answer(self, delta: float) -> Answer:
        """Return lower and upper bounds on epsilon at ``delta``, with the name of the engine used."""
        upper = self.epsilon(delta)
        attacks = [self.event.attack(direction) for direction in self._directions]
        return Answer(max(attack.epsilon(delta) for attack in attacks), upper, "selection", SELECTION)

    def delta_answer(self, epsilon: float) -> Answer:
        """Return lower and upper bounds on delta at ``epsilon``, with the name of the engine used."""
        upper = self.delta(epsilon)
        attacks = [self.event.attack(direction) for direction in self._directions]
        return Answer(max(attack.delta(epsilon) for attack in attacks), upper, "selection", SELECTION)

    def epsilon_bracket(self, delta: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on the smallest epsilon at ``delta``."""
        answer = self.epsilon_answer(delta)
        return answer.lower, answer.upper

    def delta_bracket(self, epsilon: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on delta at ``epsilon``."""
        answer = self.delta_answer(epsilon)
        return answer.lower, answer.upper

    def curve(self) -> "SelectionProfile":
        """Return this profile itself, because its upper bounds are already prepared for many queries."""
        return self

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags of all theorems used by the profile."""
        return tuple(sorted({*self.event.tags(self.adjacency), "T2"}, key=lambda tag: (len(tag), tag)))

    @property
    def _directions(self) -> "list[Direction]":
        """Directions with different pairs; the second direction of a symmetric pair adds nothing."""
        return list({self.event.bound(direction): direction for direction in self.adjacency.directions}.values())

    def _largest(self, epsilon: float) -> float:
        return max(self.event.delta_bound(epsilon, direction) for direction in self._directions)

    def _largest_convex(self, epsilon: float) -> float:
        """Return the largest delta of the convex bounds of T82, which are tighter where delta is large."""
        laws = [self.event.law(direction) for direction in self.adjacency.directions]
        return max(law.delta(epsilon) * (1 + 1e-11) for law in laws)


def _log_excess(delta: float, target: float) -> float:
    return math.log(delta / target) if delta > 0 else -math.inf


AccountedProfile = ComposedProfile | ReplaceOneReading | ParallelProfile | SelectionProfile
"""Return type of `account`: a `PrivacyProfile` with engine-labelled answers and theorem tags."""
