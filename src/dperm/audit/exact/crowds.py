# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Neighbours that move the minimiser far: as real data, in the first two coordinates (T30)."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData, enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval, LabelKind
from dperm.erm.spec import ProblemSpec
from dperm.privacy import Adjacency

CROWD = 10_000
ANGLES = (0.2, 0.45)


@dataclass(frozen=True)
class Design:
    """Rows of the unit ball of a plane, all with the target 1: a crowd, the record, and what takes its place."""

    name: str
    crowd: tuple[tuple[float, float], int]
    record: tuple[float, float]
    other: tuple[float, float]


def designs(dim: int) -> tuple[Design, ...]:
    """In one dimension opposite records, with a crowd of short rows or without; in more also the crowd of T30.

    Short rows push theta and hardly bend the objective. The crowd of T30, many records e1, holds the margin of the
    record (-eta, +-sqrt(1 - eta^2)) so far below 0 that its slope is nearly 1, while nothing resists it across.
    """
    found = [
        Design("opposite records", ((0.0, 0.0), 1), (1.0, 0.0), (-1.0, 0.0)),
        Design("opposite records beside a crowd of short rows", ((0.01, 0.0), CROWD), (-1.0, 0.0), (1.0, 0.0)),
    ]
    for eta in ANGLES if dim > 1 else ():
        across = math.sqrt(1 - eta * eta)
        found.append(Design(f"across a crowd, eta = {eta:g}", ((1.0, 0.0), CROWD), (-eta, across), (-eta, -across)))
    if dim > 1:  # for noise of the L1 norm
        half = math.sqrt(0.5)
        found.append(Design("opposite records on a diagonal", ((0.0, 0.0), 1), (half, half), (-half, -half)))
    return tuple(found)


@dataclass(frozen=True)
class Neighbours:
    """A design as data for a problem, in as many rows as its n allows."""

    design: Design
    spec: ProblemSpec
    adjacency: Adjacency

    @cached_property
    def pair(self) -> tuple[BoundedData, BoundedData]:
        """Record and other (replace-one), or record and nobody (add/remove)."""
        if self.adjacency is Adjacency.REPLACE_ONE:
            return self._data(self.design.record), self._data(self.design.other)
        return self._data(self.design.record), self._data(None)

    def _data(self, record: tuple[float, float] | None) -> BoundedData:
        row, count = self.design.crowd
        room = count if self.spec.n is None or self.adjacency is Adjacency.ADD_REMOVE else self.spec.n - 1
        rows = [np.tile(row, (min(count, room), 1)), np.zeros((max(0, room - count), 2))]
        rows += [] if record is None else [np.array([record])]
        X = self._padded(np.concatenate(rows))
        space = FeatureSpace(self.spec.width, norm=self.spec.radius, intercept=False)
        target = Classes((-1, 1)) if self.spec.loss.labels is LabelKind.SIGN else Interval(-1.0, 1.0)
        labels = np.ones(len(X), dtype=int) if self.spec.loss.labels is LabelKind.SIGN else np.ones(len(X))
        return enforce(X, labels, space, target)

    def _padded(self, rows: Floats) -> Floats:
        """In the dimension and the radius of the problem."""
        X = np.zeros((len(rows), self.spec.width))
        shared = min(2, self.spec.width)
        X[:, :shared] = self.spec.radius * rows[:, :shared]
        return X
