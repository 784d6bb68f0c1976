# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Data sets in one dimension among which the worst neighbours are looked for.

Whoever stays may be nobody (rows of zeros), a few or many on one side, on both, of half the length, or a crowd of short
rows, which pulls theta and hardly bends the objective; the record that changes is anywhere within the radius.
"""

from collections.abc import Sequence

import numpy as np

from dperm import checks
from dperm.audit.exact.density import Row, Rows
from dperm.data.targets import Kind
from dperm.erm.spec import ProblemSpec
from dperm.errors import ParameterError
from dperm.privacy import Adjacency

NOBODY: Rows = (((0.0,), 1.0, 1),)
PLACES = 21
TARGETS = 3
SHORT, PULLS = 0.01, (1.0, 2.5, 4.0, 8.0)
"""The length of short rows, and how far they pull together, relative to the radius."""


def row(x: float, target: float = 1.0, count: int = 1) -> Row:
    """A record of one feature, or several of it."""
    return (float(x),), float(target), count


def candidate_rests(spec: ProblemSpec, adjacency: Adjacency) -> tuple[Rows, ...]:
    """Those who stay, nobody first; not more than n - 1 where n is public."""
    radius, room = spec.radius, _room(spec, adjacency)
    crowds: tuple[Rows, ...] = (
        NOBODY,
        (row(radius, -1),),
        (row(radius, 1, 2),),
        (row(radius, 1, 2), row(radius / 2, -1)),
        (row(radius, -1, 4),),
        (row(radius, 1, 12),),
        (row(radius, -1, 40),),
        (row(radius, -1, 1000),),
        *(_short(radius, pull, room) for pull in PULLS),
    )
    return tuple(rows for rows in crowds if room is None or _size(rows) <= room)


def _room(spec: ProblemSpec, adjacency: Adjacency) -> int | None:
    """How many may stay, where that is public."""
    return None if adjacency is Adjacency.ADD_REMOVE or spec.n is None else spec.n - 1


def _size(rows: Rows) -> int:
    """Rows of zeros are nobody."""
    return sum(count for x, _, count in rows if any(x))


def _short(radius: float, pull: float, room: int | None) -> Rows:
    """As short as room allows."""
    count = round(pull / SHORT) if room is None else min(round(pull / SHORT), room)
    return (row(radius * min(1.0, pull / count), 1, count),) if count else NOBODY


def checked_candidate_rests(among: object, spec: ProblemSpec, adjacency: Adjacency) -> tuple[Rows, ...]:
    """``among``, if every set of rows could be in the data of the problem."""
    if isinstance(among, str) or not isinstance(among, Sequence) or not among:
        raise _malformed()
    found = tuple(_checked_rows(rows, spec) for rows in among)
    room = _room(spec, adjacency)
    if room is not None and max(map(_size, found)) > room:
        raise ParameterError(f"among must leave room for the record that changes: n = {room + 1} is public.")
    return found


def _checked_rows(rows: object, spec: ProblemSpec) -> Rows:
    if isinstance(rows, str) or not isinstance(rows, Sequence):
        raise _malformed()
    return tuple(_checked_row(one, spec) for one in rows)


def _checked_row(one: object, spec: ProblemSpec) -> Row:
    """Within the radius, and with a target of the loss: what is found of other data refutes nothing."""
    match one:
        case ((x,), target, count):
            place = checks.between("x of a row in among", x, -spec.radius, spec.radius)
            number = checks.between("the target of a row in among", target, -1.0, 1.0)
            if spec.loss.labels is Kind.SIGN and abs(number) != 1:
                raise ParameterError(
                    f"the target of a row in among must be -1 or 1 for {spec.loss.name}, got {number}."
                )
            return row(place, number, checks.count("the count of a row in among", count))
    raise _malformed()


def _malformed() -> ParameterError:
    return ParameterError(
        "among must be at least one set of rows, each row ((x,), target, count), such as (((1.0,), -1.0, 40),), or "
        "None for a choice."
    )


def candidate_records(spec: ProblemSpec, places: int = PLACES) -> tuple[Row, ...]:
    """The record that changes; a margin depends on y x alone, so that y = 1 says all there is to say of classes."""
    targets = (1.0,) if spec.loss.labels is Kind.SIGN else tuple(np.linspace(-1, 1, TARGETS).tolist())
    across = np.linspace(-spec.radius, spec.radius, places).tolist()
    return tuple(row(x, target) for x in across for target in targets)
