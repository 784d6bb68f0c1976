# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Data sets in one dimension among which the worst neighbours are looked for.

Whoever stays may be nobody (rows of zeros), a few or many on one side, on both, of half the length; the record that
changes is anywhere within the radius.
"""

import numpy as np

from dperm.audit.exact.density import Row, Rows
from dperm.data.targets import Kind
from dperm.erm.spec import ProblemSpec
from dperm.privacy import Adjacency

NOBODY: Rows = (((0.0,), 1.0, 1),)
PLACES = 21
TARGETS = 3


def row(x: float, target: float = 1.0, count: int = 1) -> Row:
    """A record of one feature, or several of it."""
    return (float(x),), float(target), count


def rests(spec: ProblemSpec, adjacency: Adjacency) -> tuple[Rows, ...]:
    """Those who stay, nobody first; not more than n - 1 where n is public."""
    radius = spec.radius
    crowds: tuple[Rows, ...] = (
        NOBODY,
        (row(radius, -1),),
        (row(radius, 1, 2),),
        (row(radius, 1, 2), row(radius / 2, -1)),
        (row(radius, -1, 4),),
        (row(radius, 1, 12),),
        (row(radius, -1, 40),),
        (row(radius, -1, 1000),),
    )
    if adjacency is Adjacency.ADD_REMOVE or spec.n is None:
        return crowds
    return tuple(rows for rows in crowds if rows is NOBODY or sum(count for *_, count in rows) < spec.n)


def records(spec: ProblemSpec, places: int = PLACES) -> tuple[Row, ...]:
    """The record that changes; a margin depends on y x alone, so that y = 1 says all there is to say of classes."""
    targets = (1.0,) if spec.loss.labels is Kind.SIGN else tuple(np.linspace(-1, 1, TARGETS).tolist())
    across = np.linspace(-spec.radius, spec.radius, places).tolist()
    return tuple(row(x, target) for x in across for target in targets)
