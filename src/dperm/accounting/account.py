# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""`account`: from events to the privacy profile of their composition."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

from dperm import checks
from dperm.accounting.composition import Composition
from dperm.accounting.curve import ProfileCurve
from dperm.accounting.engines import Answer, estimate_epsilon, solve_delta, solve_epsilon
from dperm.accounting.event import Event, elementary
from dperm.checks import shown
from dperm.errors import AdjacencyError, ParameterError
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.group import replace_one_profile
from dperm.privacy.profile import PrivacyProfile, tradeoff_from_delta

WIDE = 0.01  # relative width from which a curve's epsilon is solved for on its own
RATE = 1e-9  # a smaller delta makes no difference to a rate
EPSILON = "It is the epsilon of an (epsilon, delta) statement."
DELTA = "It is the delta of an (epsilon, delta) statement, usually well below 1/n."


def account(event: Event, adjacency: Adjacency | str | None = None) -> "AccountedProfile":
    """The privacy profile of ``event`` under ``adjacency``, bracketed from both sides.

    Every direction of the adjacency is composed on its own from dominating pairs (T15, T22, T23), by a closed form
    where there is one, else by inversion of the moment generating function (contour), else on a lattice (T28). Events
    without a pair of their own under replace-one are accounted under add/remove and read by T4.

    The events must have been fixed in advance, or at least their parameters (T14): stopping, or choosing the next
    event's parameters, by what was seen needs a filter (`dperm.accounting.budget`).

    Parameters
    ----------
    event
        What was done; compose with ``+`` and repeat with ``*``.
    adjacency
        "add_remove" or "replace_one"; it has to be given.

    Raises
    ------
    AdjacencyError
        If some event is not proved under ``adjacency``; the message says what is.

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
    readings = {single.reading(relation) for single, _ in elementary(event)}
    if readings == {relation}:
        return ComposedProfile(event, relation, _directions(event, relation))
    _require_add_remove(event)
    wider = ComposedProfile(event, Adjacency.ADD_REMOVE, _directions(event, Adjacency.ADD_REMOVE))
    return ReplaceOneReading(wider)


def _require_add_remove(event: Event) -> None:
    """For T4 every part of the composition must have an add/remove reading."""
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
class ComposedProfile:
    """The profile of a composition: a `PrivacyProfile` that also says which engine answered, and why."""

    event: Event
    adjacency: Adjacency
    directions: tuple[Composition, ...] = field(repr=False)

    def epsilon_answer(self, delta: float) -> Answer:
        """Bracket of epsilon with the engine that gave it."""
        target = checks.small_delta("delta", delta, DELTA)
        answer = solve_epsilon(self.directions, target)
        most = solve_epsilon(self.directions, 0.0).upper if target else math.inf  # epsilon falls with delta
        return replace(answer, lower=min(answer.lower, most), upper=most) if answer.upper > most else answer

    def delta_answer(self, epsilon: float) -> Answer:
        """Bracket of delta with the engine that gave it."""
        return solve_delta(self.directions, checks.nonnegative("epsilon", epsilon, EPSILON))

    def epsilon_estimate(self, delta: float) -> float:
        """Epsilon of the first direction alone, for searches (`calibrate`): quicker than `epsilon`, and no bound."""
        return estimate_epsilon(self.directions[0], checks.positive_delta("delta", delta, DELTA))

    def epsilon(self, delta: float) -> float:
        """Upper bound on the smallest epsilon at ``delta``."""
        return self.epsilon_answer(delta).upper

    def epsilon_bracket(self, delta: float) -> tuple[float, float]:
        """(lower, upper) bounds on the smallest epsilon at ``delta``."""
        answer = self.epsilon_answer(delta)
        return answer.lower, answer.upper

    def delta(self, epsilon: float) -> float:
        """Upper bound on delta at ``epsilon``."""
        return self.delta_answer(epsilon).upper

    def delta_bracket(self, epsilon: float) -> tuple[float, float]:
        """(lower, upper) bounds on delta at ``epsilon``."""
        answer = self.delta_answer(epsilon)
        return answer.lower, answer.upper

    def tradeoff(self, false_positive_rate: float) -> float:
        """Lower bound on the false-negative rate of every attacker with this false-positive rate (T2, T19).

        From upper ends of delta at some forty epsilons, each in a bracket of 1e-3 or less (`curve`).
        """
        return self.curve().tradeoff(false_positive_rate)

    def curve(self) -> "CurveProfile":
        """The same profile for many questions at once: brackets of delta of relative width 1e-3, quickly."""
        return CurveProfile(self, self._curve)

    @cached_property
    def _curve(self) -> ProfileCurve:
        return ProfileCurve.of(self.directions)

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags of every theorem that the profile rests on."""
        own = {tag for single, _ in self.event.singles() for tag in single.tags(self.adjacency)}
        return tuple(sorted(own | {"T2", "T15", "T23"}, key=lambda tag: (len(tag), tag)))


@dataclass(frozen=True)
class CurveProfile:
    """A `PrivacyProfile` that reads its answers from few contours or lattices (`dperm.accounting.curve`)."""

    profile: ComposedProfile
    readings: ProfileCurve = field(repr=False)

    @property
    def adjacency(self) -> Adjacency:
        """That of the profile."""
        return self.profile.adjacency

    def epsilon(self, delta: float) -> float:
        """Upper bound on the smallest epsilon at ``delta``."""
        return self.epsilon_bracket(delta)[1]

    def epsilon_bracket(self, delta: float) -> tuple[float, float]:
        """(lower, upper) bounds on the smallest epsilon at ``delta``."""
        target = checks.small_delta("delta", delta)
        pure = self.profile.epsilon_bracket(0.0)
        if not target:
            return pure
        low, high = self.readings.epsilon_bracket(target, pure[1])
        if high - low <= WIDE * high:
            return low, high
        below, above = self.profile.epsilon_bracket(target)
        return max(low, below), min(high, above)

    def delta(self, epsilon: float) -> float:
        """Upper bound on delta at ``epsilon``."""
        return self.delta_bracket(epsilon)[1]

    def delta_bracket(self, epsilon: float) -> tuple[float, float]:
        """(lower, upper) bounds on delta at ``epsilon``."""
        return self.readings.delta_bracket(checks.nonnegative("epsilon", epsilon, EPSILON))

    def tradeoff(self, false_positive_rate: float) -> float:
        """Lower bound on the false-negative rate of every attacker with this false-positive rate (T2, T19)."""
        return tradeoff_from_delta(self.delta_for_rates, false_positive_rate)

    def delta_for_rates(self, epsilon: float) -> float:
        """Upper bound on delta at ``epsilon``, tight to 1e-9 absolute: all that an attacker's rate needs."""
        return self.readings.delta_bracket(checks.nonnegative("epsilon", epsilon, EPSILON), enough=RATE)[1]


@dataclass(frozen=True)
class ReplaceOneReading:
    """An add/remove profile read under replace-one by T4: delta(2 eps) <= (1 + e^eps) delta_add_remove(eps).

    Valid, not tight: the brackets are of this bound.
    """

    wider: ComposedProfile

    adjacency = Adjacency.REPLACE_ONE

    @property
    def event(self) -> Event:
        """What was done."""
        return self.wider.event

    @property
    def _bound(self) -> PrivacyProfile:
        return replace_one_profile(self.wider)

    def epsilon_answer(self, delta: float) -> Answer:
        """Bracket of T4's epsilon."""
        return Answer(*self._bound.epsilon_bracket(delta), "group", "accounted under add_remove, then read by T4")

    def delta_answer(self, epsilon: float) -> Answer:
        """Bracket of T4's delta."""
        return Answer(*self._bound.delta_bracket(epsilon), "group", "accounted under add_remove, then read by T4")

    def epsilon(self, delta: float) -> float:
        """Upper bound on the smallest epsilon at ``delta``."""
        return self._bound.epsilon(delta)

    def epsilon_bracket(self, delta: float) -> tuple[float, float]:
        """(lower, upper) bounds on T4's epsilon at ``delta``."""
        return self._bound.epsilon_bracket(delta)

    def delta(self, epsilon: float) -> float:
        """Upper bound on delta at ``epsilon``."""
        return self._bound.delta(epsilon)

    def delta_bracket(self, epsilon: float) -> tuple[float, float]:
        """(lower, upper) bounds on T4's delta at ``epsilon``."""
        return self._bound.delta_bracket(epsilon)

    def tradeoff(self, false_positive_rate: float) -> float:
        """Lower bound on the false-negative rate of every attacker with this false-positive rate."""
        return self.curve().tradeoff(false_positive_rate)

    def curve(self) -> PrivacyProfile:
        """T4's bound on the curve of the add/remove profile, for many questions at once."""
        return replace_one_profile(self.wider.curve())

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags of every theorem that the profile rests on."""
        return tuple(sorted({*self.wider.tags, "T4"}, key=lambda tag: (len(tag), tag)))


AccountedProfile = ComposedProfile | ReplaceOneReading
"""What `account` returns: a `PrivacyProfile` that also has answers with their engine, and theorem tags."""
