# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The largest privacy loss log p_D(theta) - log p_D'(theta), both orders: a search that ends at a point (T35, A8).

A loss that is attained at a point where both densities are continuous is a lower bound on epsilon, whatever the search
has missed. It is lowered by what rounding may have added.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dperm.audit.exact.density import Density, Row, Rows
from dperm.data.arrays import Floats
from dperm.privacy import Adjacency

BESIDE = 1e-9
"""Of a jump: so far from it densities are looked at."""
KINKS = 5
"""Of so many data sets one shows its kink to the line; the others' are found from there."""
ROUNDS = 20
NARROWER = 0.55


@dataclass(frozen=True)
class PointLoss:
    """A privacy loss, rounded down, at ``theta``: of ``rest`` and the record to ``rest`` and the other, or nobody."""

    value: float
    theta: float
    rest: Rows
    record: Row | None
    other: Row | None


def largest_loss(
    density: Density,
    rests: tuple[Rows, ...],
    records: tuple[Row, ...],
    *,
    adjacency: Adjacency,
    progress: Callable[[float], None] | None = None,
) -> PointLoss:
    """Over all rests, records, and theta on a line that is fine where losses bend; then nearer to the best."""
    found = []
    for place, rest in enumerate(rests):
        found.append(_refined(density, _on_line(density, rest, records, adjacency)))
        if progress is not None:
            progress((place + 1) / len(rests))
    return max(found, key=lambda loss: loss.value)


def _on_line(density: Density, rest: Rows, records: tuple[Row, ...], adjacency: Adjacency) -> PointLoss:
    """The best on the line; under add/remove one of the two has nobody in the record's place."""
    theta = _line(density, rest, records)
    logs = _logs(density, theta, rest, records)
    if adjacency is Adjacency.REPLACE_ONE:
        return _best(density, theta, rest, (records, logs), (records, logs))
    nobody = ((None,), _logs(density, theta, rest, (None,)))
    somebody = (records, logs)
    both = (_best(density, theta, rest, somebody, nobody), _best(density, theta, rest, nobody, somebody))
    return max(both, key=lambda loss: loss.value)


Family = tuple[Sequence[Row | None], Floats]
"""Records, and the logarithms of the densities with each of them, in rows."""


def _logs(density: Density, theta: Floats, rest: Rows, records: Sequence[Row | None]) -> Floats:
    return np.stack([density.log_density(theta[np.newaxis], _with(rest, record)) for record in records])


def _with(rest: Rows, record: Row | None) -> Rows:
    return rest if record is None else (record, *rest)


def _best(density: Density, theta: Floats, rest: Rows, high: Family, low: Family) -> PointLoss:
    """At a theta the largest loss is that of the highest density to the lowest: each is chosen by itself."""
    at = int((high[1].max(axis=0) - low[1].min(axis=0)).argmax())
    record, other = high[0][int(high[1][:, at].argmax())], low[0][int(low[1][:, at].argmin())]
    return _loss(density, float(theta[at]), rest, record, other)


def _line(density: Density, rest: Rows, records: tuple[Row, ...]) -> Floats:
    """Theta from end to end, where losses bend, beside every jump, and at b = 0, a kink of pure noise."""
    family = [rest, *(_with(rest, record) for record in records)]
    reach, near = max(density.reach(rows) for rows in family), 12 / density.spec.radius
    jumps = np.array([turn for rows in family for turn in density.jumps(rows)])
    beside = [jumps + side * BESIDE * (1 + np.abs(jumps)) for side in (-1, 1)]
    kinks = [float(density.minimiser(np.zeros(1), rows)[0]) for rows in family[::KINKS]]
    lines = (np.linspace(-reach, reach, 1501), np.linspace(-near, near, 1501))
    return np.unique(np.concatenate([*lines, *beside, kinks]))


def _loss(density: Density, theta: float, rest: Rows, record: Row | None, other: Row | None) -> PointLoss:
    """The loss at one point, less what rounding may have added to sums of gradients and to logarithms.

    On a jump, to rounding, it counts for nothing: densities are what they are almost everywhere.
    """
    data, neighbour = _with(rest, record), _with(rest, other)
    one, two = (float(density.log_density(np.full((1, 1), theta), rows)[0]) for rows in (data, neighbour))
    pulls = density.spec.strength * abs(theta) + density.pull(data) + density.pull(neighbour)
    allowance = 2.0**-40 * (1 + abs(one) + abs(two)) + 2.0**-48 * pulls / density.term.scale
    on_jump = any(abs(theta - turn) < BESIDE / 100 * (1 + abs(turn)) for turn in density.jumps(data + neighbour))
    return PointLoss(-np.inf if on_jump else one - two - allowance, theta, rest, record, other)


def _refined(density: Density, start: PointLoss) -> PointLoss:
    """Smaller and smaller boxes of theta and of both records around the best so far."""
    best, width = start, 0.1
    for _ in range(ROUNDS):
        best = max(best, _in_box(density, best, width), key=lambda loss: loss.value)
        width *= NARROWER
    return best


def _in_box(density: Density, around: PointLoss, width: float) -> PointLoss:
    """The best of a box whose sides are ``width`` both ways, relative to theta and to the radius."""
    theta = around.theta + width * max(abs(around.theta), 1 / density.spec.radius) * np.linspace(-1, 1, 33)
    families = [_moved(record, width, density.spec.radius) for record in (around.record, around.other)]
    high, low = ((records, _logs(density, theta, around.rest, records)) for records in families)
    return _best(density, theta, around.rest, high, low)


def _moved(record: Row | None, width: float, radius: float) -> Sequence[Row | None]:
    """The record, and the same elsewhere within the radius."""
    if record is None:
        return (None,)
    (x, target, count) = record
    places = np.clip(x[0] + width * radius * np.linspace(-1, 1, 5), -radius, radius)
    return [((float(place),), target, count) for place in places]
