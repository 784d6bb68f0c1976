# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Neighbouring data sets with a single feature, close to the worst case for a method, and their empirical risk.

Only the first feature differs from 0. One dimension is the worst case for most methods, because noise in other
dimensions only hides the signal. The records common to both data sets may be rows of zeros. They may also be a crowd,
many equal records that move the model to its most sensitive point. The rows of a crowd have the largest norm, or they
are short and shift the minimizer with little added curvature (T30).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np

from dperm.audit.exact.output import CROWD
from dperm.data.bounded import BoundedData, enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval, LabelKind, Target
from dperm.erm.loss import Limits
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError
from dperm.methods.plan import Plan
from dperm.noise.arrays import Floats
from dperm.privacy import Adjacency
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.profile import PrivacyProfile

Row = tuple[float, float, int]
"""Entry of a bounded row, its target (a sign, or a number in [-1, 1]), and its multiplicity."""
Rows = tuple[Row, ...]
HALVINGS = 64
CROWDS = (1, 4, 40, 1000)
SHORT = (0.01, 0.03, 0.1)
"""Row lengths of a shifting crowd, in radii; their number is the same as in the exact audit."""


@dataclass(frozen=True)
class LineProblem:
    """Empirical risk of ``spec`` on rows along one axis, for many coefficients at once.

    Every record has the largest weight.
    """

    spec: ProblemSpec
    rows: Rows

    def gradient(self, theta: Floats) -> Floats:
        """Return the sum of the records' clipped gradients (T44) at each theta, without the regularizer."""
        total = np.zeros_like(theta)
        for x, target, count in self.rows:
            total += count * self.spec.weight * x * self.spec.loss.slopes(x * theta, np.full(1, target), self._limit(x))
        return total

    def curvature(self, theta: Floats) -> Floats:
        """Return the derivative of `gradient` at each theta, defined almost everywhere."""
        total = np.zeros_like(theta)
        for x, target, count in self.rows:
            bends = self.spec.loss.bends(x * theta, np.full(1, target), self._limit(x))
            total += count * self.spec.weight * x * x * bends
        return total

    def minimiser(self, linear: Floats) -> Floats:
        """Return the theta with minimal Lambda theta^2 / 2 + losses + linear theta, by bisection of the derivative."""
        strength = self.spec.strength
        pull = sum(count for x, _, count in self.rows if x) * self.spec.lipschitz
        low, high = (-linear - pull) / strength, (-linear + pull) / strength
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            rises = strength * middle + self.gradient(middle) + linear > 0
            high = np.where(rises, middle, high)
            low = np.where(rises, low, middle)
        return np.asarray((low + high) / 2)

    def _limit(self, x: float) -> Limits:
        """Return the largest slope of a row, clip / ||x||, or None without clipping."""
        return None if self.spec.clip is None or not x else np.full(1, self.spec.clip / abs(x))


@dataclass(frozen=True)
class Neighbours:
    """Neighbouring data sets with a single feature, with and without the record under attack.

    Under replace_one, the data set without the record contains a replacement record. Every record is given as a tuple
    (x, y, multiplicity) of its feature, its target, and the number of times that the record occurs.

    Attributes
    ----------
    spec
        Specification of the empirical risk problem.
    adjacency
        Neighbouring relation, add_remove or replace_one.
    record
        The record under attack.
    other
        The replacement record; None under add_remove.
    rest
        The remaining records, contained in both data sets.
    """

    spec: ProblemSpec
    adjacency: Adjacency
    record: Row
    other: Row | None
    rest: Rows = ()

    @property
    def included(self) -> LineProblem:
        """Empirical risk problem with the record under attack."""
        return LineProblem(self.spec, (self.record, *self.rest))

    @property
    def excluded(self) -> LineProblem:
        """Empirical risk problem without the record under attack, which is replaced by ``other`` under replace_one."""
        return LineProblem(self.spec, self.rest if self.other is None else (self.other, *self.rest))

    def data(self, included: bool) -> BoundedData:
        """Return training data with or without the record under attack.

        The first column of the feature matrix contains the feature x of each record, and all other columns are 0. Under
        replace_one with a public number n of records, rows of zeros are appended until there are n rows. Under
        add_remove, one row of zeros is appended.

        Parameters
        ----------
        included
            Whether the data include the record under attack.

        Returns
        -------
        BoundedData
            Features and targets, within the bounds of ``spec``.
        """
        rows = (self.included if included else self.excluded).rows
        values = np.array([(x, target) for x, target, count in rows for _ in range(count)]).reshape(-1, 2)
        X = np.zeros((self._height(len(values)), self.spec.width))
        y = np.ones(len(X))
        X[: len(values), 0], y[: len(values)] = values.T
        space = FeatureSpace(self.spec.width, norm=self.spec.radius / (1 + 2.0**-50), intercept=False)
        return enforce(X, y, space, _target(self.spec))

    def _height(self, rows: int) -> int:
        return rows + 1 if self.adjacency is Adjacency.ADD_REMOVE else max(rows, self.spec.n or 1)

    @property
    def description(self) -> str:
        """Description of both data sets for a report."""
        crowd = sum(count for *_, count in self.rest)
        other = "none" if self.other is None else f"x = {self.other[0]:g}, y = {self.other[1]:g}"
        return f"x = {self.record[0]:g}, y = {self.record[1]:g} against {other}; {crowd} others that are not 0"


def require_line(spec: ProblemSpec, method: str) -> None:
    """Raise ``AssumptionError`` for losses of several scores: their worst neighbours have more than one feature."""
    if spec.outputs > 1:
        raise AssumptionError(
            f"neighbours for method={method!r} are known for losses of one score, got the loss {spec.loss.name!r}.",
            remedy="Use repeated(train, with_record, without_record, claimed=...) with your own neighbours.",
        )


def candidate_neighbours(spec: ProblemSpec, adjacency: Adjacency) -> Iterator[Neighbours]:
    """Yield candidates: record and replacement at either end of the range or between, with every crowd.

    The order of the two records does not matter, because the attacker guesses both ways.
    """
    for rest in _crowds(spec, adjacency):
        if adjacency is Adjacency.ADD_REMOVE:
            yield from (Neighbours(spec, adjacency, record, None, rest) for record in _records(spec))
        else:
            pairs = combinations((*_records(spec), (0.0, 1.0, 1)), 2)
            yield from (Neighbours(spec, adjacency, record, other, rest) for record, other in pairs)


def worst_neighbours(
    spec: ProblemSpec, adjacency: Adjacency, value: Callable[[Neighbours], float], *, method: str = "audit"
) -> Neighbours:
    """Return the candidate with the largest value; among equals, the first and simplest one."""
    require_line(spec, method)
    return max(candidate_neighbours(spec, adjacency), key=value)


def farthest_minimiser_neighbours(spec: ProblemSpec, adjacency: Adjacency) -> Neighbours:
    """Return the neighbouring data sets with the most distant minimizers (T30).

    The distance is at most 2L/Lambda (replace_one) or L/Lambda (add_remove).
    """
    found: dict[Rows, float] = {}

    def minimiser(line: LineProblem) -> float:
        if line.rows not in found:
            found[line.rows] = float(line.minimiser(np.zeros(1))[0])
        return found[line.rows]

    def gap(pair: Neighbours) -> float:
        return float(f"{abs(minimiser(pair.included) - minimiser(pair.excluded)):.4g}")  # of equals the plainest

    return worst_neighbours(spec, adjacency, gap, method="output")


def opposite_records(spec: ProblemSpec, adjacency: Adjacency) -> Neighbours:
    """Return neighbours that suit any method: a record of the largest norm, and its replacement or no record.

    The replacement is the same record with a negated feature (classes) or a negated target (numbers). Both data sets
    contain no other records.
    """
    require_line(spec, "audit")
    record, other = _records(spec)[:2]
    return Neighbours(spec, adjacency, record, None if adjacency is Adjacency.ADD_REMOVE else other)


def _records(spec: ProblemSpec) -> tuple[Row, ...]:
    """Return candidate records; for classes y = 1 suffices, because a margin depends only on y x."""
    radius = spec.radius / (1 + 2.0**-50)
    if spec.loss.labels is LabelKind.SIGN:
        return ((radius, 1.0, 1), (-radius, 1.0, 1), (radius / 2, 1.0, 1))
    return ((radius, 1.0, 1), (radius, -1.0, 1), (radius / 2, 1.0, 1), (radius / 2, -1.0, 1))


def _crowds(spec: ProblemSpec, adjacency: Adjacency) -> Iterator[Rows]:
    """Yield crowds, the empty one first; at most n - 1 records if n is public."""
    yield ()
    radius = spec.radius / (1 + 2.0**-50)
    most = CROWD if spec.n is None or adjacency is Adjacency.ADD_REMOVE else spec.n - 1
    for count in CROWDS:
        if count <= most:
            yield ((radius, -1.0, count),)
            yield ((radius, 1.0, count),)
    if most > 0:
        yield from (((length * radius, 1.0, min(CROWD, most)),) for length in SHORT)


def _target(spec: ProblemSpec) -> Target:
    return Classes((-1, 1), (spec.weight, spec.weight)) if spec.loss.labels is LabelKind.SIGN else Interval(-1.0, 1.0)


class LineSubject(Protocol):
    """Audit subject of a plan on neighbours along a line; claim and profile are the plan's."""

    plan: Plan
    pair: Neighbours

    @property
    def claimed(self) -> AnyGuarantee:
        """Claimed guarantee: the plan's goal."""
        return self.plan.goal

    @property
    def profile(self) -> PrivacyProfile:
        """Privacy profile of the plan."""
        return self.plan.facts.profile

    @property
    def facts(self) -> Mapping[str, object]:
        """Neighbours and dimension, for the report."""
        return {"neighbours": self.pair.description, "dim": self.plan.spec.dim}
