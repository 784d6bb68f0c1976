# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Stages that read different parts of the data, chosen by secret coins of the records (T71)."""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise
from typing import ClassVar

import numpy as np

from dperm.accounting.composition import Composition
from dperm.accounting.curve import DirectionCurve
from dperm.accounting.engines import solve_epsilon
from dperm.accounting.event import Event, Json, Orders, SingleEvent, elementary
from dperm.accounting.laws.atomic import AtomicLoss
from dperm.accounting.laws.envelope import ProfileBounds
from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.accounting.laws.law import Array, LossLaw
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.privacy.adjacency import Adjacency, Direction

TAIL = 1e-15  # delta beyond the largest atom of a discretized law, counted as an infinite loss
POINTS = 800  # atoms of a discretized law on each side of 0
WIDTH = 1e-5  # relative width of the brackets of delta from which a law is discretized
MOST_ATOMS = 400  # of parts whose profiles are combined exactly
SMALLEST_LOSS = 1e-12
CLOSEST = 1e-9  # distance of two atoms, relative to the largest
REVERSED = {
    Direction.REMOVE: Direction.ADD,
    Direction.ADD: Direction.REMOVE,
    Direction.REPLACE: Direction.REPLACE,
}


@dataclass(frozen=True)
class ParallelParts(SingleEvent):
    """Stages on disjoint parts of the data; a secret, independent random draw assigns each record to its part (T71).

    The event ``events[j]`` describes all stages that read part j. A stage may also use the outputs of all earlier
    stages. A stage that reads several parts belongs to the event of each of these parts. Stages of different parts may
    be interleaved.

    The probabilities of the parts must be public. The draws must be independent of each other and of the contents of
    the records; `dperm.noise` can make such draws. Under replace-one, a draw belongs to a position in the data, so a
    new record is in the same part as the record that it replaces. Splits with exact sizes, and splits by hash, stratum
    or group, are not covered (erratum E42).

    In each direction, the privacy profile of the event is the pointwise maximum of the privacy profiles of the parts.
    In a composition with other events, the pair of distributions with this maximal profile represents the event. The
    composition may therefore cost more than the composition of any single part with the other events. The privacy loss
    distribution of this pair is exact if all parts are Gaussian, or if all parts are the same single event. For other
    parts, the pair is discretized, with its profile rounded up. The lower and upper bounds of `account` then enclose
    the privacy profile of the discretized pair, not that of the mechanism.

    Parameters
    ----------
    events
        Events of the parts, one event for each part; at least two.

    Examples
    --------
    >>> from dperm.accounting import Gaussian, ParallelParts, account
    >>> split = ParallelParts((Gaussian(4.0), Gaussian(5.0) * 2))  # training records, validation records
    >>> round(account(split, adjacency="add_remove").epsilon(delta=1e-5), 4)
    1.0608
    """

    events: tuple[Event, ...]
    kind: ClassVar[str] = "parallel_parts"

    def __post_init__(self) -> None:
        """Check the parts; any iterable of events is accepted."""
        try:
            object.__setattr__(self, "events", tuple(self.events))
        except TypeError:
            raise ParameterError(f"events must be a sequence of events, got {shown(self.events)}.") from None
        if len(self.events) < 2:
            raise ParameterError(
                f"events must hold the events of at least two parts, got {len(self.events)}. One part is all the data: "
                "use its event."
            )
        for event in self.events:
            if not isinstance(event, Event):
                raise ParameterError(f"events must hold events such as Gaussian(1.0) * 10, got {shown(event)}.")
            elementary(event)

    def reading(self, adjacency: Adjacency) -> Adjacency:
        """Return the adjacency under which the privacy loss is computed in a composition.

        The result is the argument ``adjacency``, with one exception. It is add/remove if theorem T4 converts the
        privacy loss of one of the stages from add/remove to replace-one.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        Adjacency
            Adjacency under which the privacy loss is computed.

        Raises
        ------
        AdjacencyError
            If no theorem covers one of the stages under ``adjacency``.
        """
        readings = {single.reading(adjacency) for event in self.events for single, _ in event.singles()}
        return adjacency if readings == {adjacency} else Adjacency.ADD_REMOVE

    def law(self, direction: Direction) -> LossLaw:
        """Return the privacy loss distribution of a pair that dominates all parts (T71).

        Parameters
        ----------
        direction
            Member of `Direction`: ADD or REMOVE under add/remove, REPLACE under replace-one.

        Returns
        -------
        LossLaw
            If all parts are Gaussian, the distribution of the part with the largest privacy loss. If all parts are the
            same single event, the distribution of this event. Otherwise, a discrete distribution that dominates all
            parts.
        """
        return _largest_law(self.events, direction)

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """Return the pointwise maximum of the Rényi curves of the parts (T71).

        Parameters
        ----------
        orders
            Rényi orders alpha > 1.
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        ndarray
            Values of the curve at ``orders``, rounded up.

        Raises
        ------
        ConversionError
            If one of the stages has no Rényi curve.
        """
        curves = []
        for event in self.events:
            curve = np.zeros(np.shape(orders))
            for single, count in event.singles():
                curve = np.nextafter(curve + count * single.rdp(orders, adjacency) * (1 + 4e-16), np.inf)
            curves.append(curve)
        return np.asarray(np.max(curves, axis=0))

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """Return the theorem tag T71 and the tags of all stages.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        tuple[str, ...]
            Theorem tags such as "T6".
        """
        found = {tag for event in self.events for single, _ in event.singles() for tag in single.tags(adjacency)}
        return ("T71", *sorted(found - {"T71"}))

    def fields(self) -> Json:
        """Return an empty dictionary; the serializer adds the events of the parts."""
        return {}


def composition_of(event: Event, direction: Direction) -> Composition:
    """Return the composition of the privacy losses of an event in one direction (T15)."""
    return Composition.of((single.law(direction), count) for single, count in event.singles())


@lru_cache(maxsize=128)
def _largest_law(events: tuple[Event, ...], direction: Direction) -> LossLaw:
    """Return a law whose profile is at least that of every part: exact for ordered parts, else atomic."""
    parts = tuple(dict.fromkeys(composition_of(event, direction) for event in events))
    laws = [part.steps[0][0] for part in parts if part.count == 1]
    if len(laws) == len(parts):
        gaussians = [law for law in laws if isinstance(law, GaussianLoss)]
        if len(gaussians) == len(laws):
            return max(gaussians, key=lambda law: law.mu)  # T19: Gaussian profiles are ordered by mu
        if len(laws) == 1:
            return laws[0]
    mirrored = tuple(dict.fromkeys(composition_of(event, REVERSED[direction]) for event in events))
    return profile_bounds(parts, mirrored).dominating_law()


def profile_bounds(parts: tuple[Composition, ...], mirrored: tuple[Composition, ...]) -> ProfileBounds:
    """Return upper bounds on the largest profile, and on the one of the reversed pairs.

    Both hold for every mechanism that the parts describe, since each direction dominates its own order of the pair.
    """
    losses = loss_grid((*parts, *mirrored))
    above, below = (_largest_profile(one, losses) for one in (parts, mirrored))
    above[0] = below[0] = max(above[0], below[0])  # the total variation is the same in both orders
    return ProfileBounds(losses, above, below)


def _largest_profile(parts: tuple[Composition, ...], losses: Array) -> Array:
    curves = [DirectionCurve(part) for part in parts]
    values = [max(curve.bracket(float(loss), WIDTH)[1] for curve in curves) for loss in losses]
    return np.minimum.accumulate(values)  # profiles fall, so an earlier bound holds later too


def loss_grid(parts: tuple[Composition, ...]) -> Array:
    """Return the losses >= 0 of the atoms: kinks and crossings of piecewise linear profiles, or an even grid."""
    if all(_is_atomic(part) for part in parts):
        exact = _apart(_kinks(parts))
        if len(exact) <= MOST_ATOMS:
            return exact
    reach = max(_reach(part) for part in parts)
    grid = np.linspace(0.0, max(reach, SMALLEST_LOSS), POINTS + 1)
    top = max(part.ceiling for part in parts)  # where a pure part ends, the law ends too
    ends = [top] if reach < top < math.inf else []
    atoms = {abs(loss) for part in parts if part.count == 1 for loss, _ in part.steps[0][0].atoms()[:MOST_ATOMS]}
    return _apart(np.unique([*grid, *ends, *(loss for loss in atoms if loss < reach)]))


def _apart(losses: Array) -> Array:
    """Drop losses next to a larger one; fewer points raise the law, and tiny distances lose digits."""
    far = np.diff(losses) > CLOSEST * losses[-1]
    far[0] = True  # the loss 0 stays
    return np.asarray(losses[np.append(far, True)])


def _is_atomic(part: Composition) -> bool:
    return part.count == 1 and isinstance(part.steps[0][0], AtomicLoss)


def _reach(part: Composition) -> float:
    """Return a loss beyond which no more than TAIL is left of the finite losses, or the largest loss."""
    lost = part.infinity_bracket[1]
    if lost >= 1:
        return 0.0
    found = solve_epsilon((part,), min(lost + TAIL, math.nextafter(1.0, 0.0))).upper
    return min(found, part.ceiling)


def _kinks(parts: tuple[Composition, ...]) -> Array:
    """Return the atoms of all parts, and the losses at which two of their profiles cross."""
    laws = [part.steps[0][0] for part in parts]
    losses = sorted({0.0, SMALLEST_LOSS, *(abs(loss) for law in laws for loss, _ in law.atoms())})
    crossings = []
    for low, high in pairwise(losses):
        at_low, at_high = ([law.delta(loss) for law in laws] for loss in (low, high))
        for first, second in combinations(range(len(laws)), 2):
            gap, next_gap = at_low[first] - at_low[second], at_high[first] - at_high[second]
            if gap * next_gap < 0:
                crossings.append(low + math.log1p(math.expm1(high - low) * gap / (gap - next_gap)))
    return np.unique([*losses, *crossings])
