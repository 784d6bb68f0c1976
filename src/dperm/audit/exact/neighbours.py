# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Candidate data sets in one dimension for the search for the worst neighbours.

The common records may be absent (rows of zeros), few or many on one side, on both sides, or of half the norm. A crowd
of short rows shifts theta with little added curvature. The record that differs lies anywhere within the radius.
"""

from collections.abc import Sequence

import numpy as np

from dperm import checks
from dperm.audit.exact.density import Row, Rows
from dperm.data.targets import LabelKind
from dperm.erm.spec import ProblemSpec
from dperm.errors import ParameterError
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency

NOBODY: Rows = (((0.0,), 1.0, 1),)
PLACES = 21
TARGETS = 3
SHORT, PULLS = 0.01, (1.0, 2.5, 4.0, 8.0)
"""Norm of short rows, and their total pull, relative to the radius."""


def row(x: float, target: float = 1.0, count: int = 1) -> Row:
    """Return a record with one feature and its multiplicity."""
    return (float(x),), float(target), count


def candidate_rests(spec: ProblemSpec, adjacency: Adjacency) -> tuple[Rows, ...]:
    """Return candidate sets of common records, the empty one first; at most n - 1 records if n is public."""
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
    """Return the largest number of common records, or None if n is not public."""
    return None if adjacency is Adjacency.ADD_REMOVE or spec.n is None else spec.n - 1


def _size(rows: Rows) -> int:
    """Return the number of records; rows of zeros do not count."""
    return sum(count for x, _, count in rows if any(x))


def _short(radius: float, pull: float, room: int | None) -> Rows:
    """Return a crowd of rows, as short as the number of records allows."""
    count = round(pull / SHORT) if room is None else min(round(pull / SHORT), room)
    return (row(radius * min(1.0, pull / count), 1, count),) if count else NOBODY


def checked_candidate_rests(among: object, spec: ProblemSpec, adjacency: Adjacency) -> tuple[Rows, ...]:
    """Return ``among``; raise ``ParameterError`` unless each set of rows is valid data for the problem."""
    if isinstance(among, str) or not isinstance(among, Sequence) or not among:
        raise _malformed()
    found = tuple(_checked_rows(rows, spec) for rows in among)
    room = _room(spec, adjacency)
    if room is not None and max(map(_size, found)) > room:
        raise ParameterError(
            argument="among", rule=f"must leave room for the record that differs: n = {room + 1} is public"
        )
    return found


def _checked_rows(rows: object, spec: ProblemSpec) -> Rows:
    if isinstance(rows, str) or not isinstance(rows, Sequence):
        raise _malformed()
    return tuple(_checked_row(one, spec) for one in rows)


def _checked_row(one: object, spec: ProblemSpec) -> Row:
    """Return the row; raise ``ParameterError`` unless it is within the radius and has a target of the loss.

    A bound from other data refutes nothing.
    """
    match one:
        case ((x,), target, count):
            place = checks.between("x of a row in among", x, -spec.radius, spec.radius)
            number = checks.between("the target of a row in among", target, -1.0, 1.0)
            if spec.loss.labels is LabelKind.SIGN and abs(number) != 1:
                raise ParameterError(
                    f"the target of a row in {arg('among')} must be -1 or 1 for {spec.loss.name}, got {number}."
                )
            return row(place, number, checks.count("the count of a row in among", count))
    raise _malformed()


def _malformed() -> ParameterError:
    return ParameterError(
        argument="among",
        rule="must be at least one set of rows, each row ((x,), target, count), such as (((1.0,), -1.0, 40),), or None",
    )


def candidate_records(spec: ProblemSpec, places: int = PLACES) -> tuple[Row, ...]:
    """Return candidates for the record that differs.

    For classes y = 1 suffices, because a margin depends only on y x.
    """
    targets = (1.0,) if spec.loss.labels is LabelKind.SIGN else tuple(np.linspace(-1, 1, TARGETS).tolist())
    across = np.linspace(-spec.radius, spec.radius, places).tolist()
    return tuple(row(x, target) for x in across for target in targets)
