# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Search for the largest privacy loss log p_D(theta) - log p_D'(theta), in both directions (T35, A8).

A loss at a point of continuity of both densities is a lower bound on epsilon, even if the search misses a larger loss.
The result is reduced by a bound on the rounding error.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dperm.audit.exact.density import Density, Row, Rows
from dperm.data.arrays import Floats
from dperm.privacy import Adjacency

BESIDE = 1e-9
"""Relative distance from a jump at which densities are evaluated."""
KINKS = 5
"""Every fifth data set contributes its kink to the grid; refinement finds the others."""
ROUNDS = 20
NARROWER = 0.55
Family = tuple[Sequence[Row | None], Floats]
"""Records, and the log-density with each of them (rows)."""


@dataclass(frozen=True)
class PointLoss:
    """Privacy loss at a point, rounded down.

    Attributes
    ----------
    value
        Log-ratio of the densities at ``theta``.
    theta
        The point.
    rest
        Records common to both data sets.
    record, other
        Record of the first and of the second data set; None for no record.
    """

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
    """Return the largest privacy loss over all rests, records and points of a grid, after local refinement.

    Parameters
    ----------
    density
        Density of the perturbed objective, in one dimension.
    rests
        Candidate sets of records common to both neighbours.
    records
        Candidates for the record that differs.
    adjacency
        Neighbouring relation.
    progress
        Callback that receives the completed fraction of the work, in (0, 1].

    Returns
    -------
    PointLoss
        The loss with its point and its neighbours.
    """
    found = []
    for place, rest in enumerate(rests):
        found.append(_refine(density, _on_grid(density, rest, records, adjacency)))
        if progress is not None:
            progress((place + 1) / len(rests))
    return max(found, key=lambda loss: loss.value)


def _on_grid(density: Density, rest: Rows, records: tuple[Row, ...], adjacency: Adjacency) -> PointLoss:
    """Return the largest loss on the grid; under add/remove one of the two data sets lacks the record."""
    theta = _grid(density, rest, records)
    logs = _logs(density, theta, rest, records)
    if adjacency is Adjacency.REPLACE_ONE:
        return _best(density, theta, rest, (records, logs), (records, logs))
    nobody = ((None,), _logs(density, theta, rest, (None,)))
    somebody = (records, logs)
    both = (_best(density, theta, rest, somebody, nobody), _best(density, theta, rest, nobody, somebody))
    return max(both, key=lambda loss: loss.value)


def _logs(density: Density, theta: Floats, rest: Rows, records: Sequence[Row | None]) -> Floats:
    return np.stack([density.log_density(theta[np.newaxis], _with(rest, record)) for record in records])


def _with(rest: Rows, record: Row | None) -> Rows:
    return rest if record is None else (record, *rest)


def _best(density: Density, theta: Floats, rest: Rows, high: Family, low: Family) -> PointLoss:
    """Return the largest loss: at each theta the highest density against the lowest, chosen independently."""
    at = int((high[1].max(axis=0) - low[1].min(axis=0)).argmax())
    record, other = high[0][int(high[1][:, at].argmax())], low[0][int(low[1][:, at].argmin())]
    return _loss(density, float(theta[at]), rest, record, other)


def _grid(density: Density, rest: Rows, records: tuple[Row, ...]) -> Floats:
    """Return a grid over the whole range: dense at small theta, beside every jump, and at b = 0.

    Pure-DP noise has a kink at b = 0.
    """
    family = [rest, *(_with(rest, record) for record in records)]
    reach, near = max(density.reach(rows) for rows in family), 12 / density.spec.radius
    jumps = np.array([turn for rows in family for turn in density.jumps(rows)])
    beside = [jumps + side * BESIDE * (1 + np.abs(jumps)) for side in (-1, 1)]
    kinks = [float(density.minimiser(np.zeros(1), rows)[0]) for rows in family[::KINKS]]
    lines = (np.linspace(-reach, reach, 1501), np.linspace(-near, near, 1501))
    return np.unique(np.concatenate([*lines, *beside, kinks]))


def _loss(density: Density, theta: float, rest: Rows, record: Row | None, other: Row | None) -> PointLoss:
    """Return the loss at one point, minus a bound on the rounding error of gradient sums and logarithms.

    A point on a jump, up to rounding, has loss -inf, because densities are defined only almost everywhere.
    """
    data, neighbour = _with(rest, record), _with(rest, other)
    one, two = (float(density.log_density(np.full((1, 1), theta), rows)[0]) for rows in (data, neighbour))
    pulls = density.spec.strength * abs(theta) + density.pull(data) + density.pull(neighbour)
    allowance = 2.0**-40 * (1 + abs(one) + abs(two)) + 2.0**-48 * pulls / density.term.scale
    on_jump = any(abs(theta - turn) < BESIDE / 100 * (1 + abs(turn)) for turn in density.jumps(data + neighbour))
    return PointLoss(-np.inf if on_jump else one - two - allowance, theta, rest, record, other)


def _refine(density: Density, start: PointLoss) -> PointLoss:
    """Search in shrinking boxes of theta and both records around the best point."""
    best, width = start, 0.1
    for _ in range(ROUNDS):
        best = max(best, _in_box(density, best, width), key=lambda loss: loss.value)
        width *= NARROWER
    return best


def _in_box(density: Density, around: PointLoss, width: float) -> PointLoss:
    """Return the best point of a box with half-width ``width``, relative to theta and to the radius."""
    theta = around.theta + width * max(abs(around.theta), 1 / density.spec.radius) * np.linspace(-1, 1, 33)
    families = [_nearby_records(record, width, density.spec.radius) for record in (around.record, around.other)]
    high, low = ((records, _logs(density, theta, around.rest, records)) for records in families)
    return _best(density, theta, around.rest, high, low)


def _nearby_records(record: Row | None, width: float, radius: float) -> Sequence[Row | None]:
    """Return copies of the record at nearby positions within the radius."""
    if record is None:
        return (None,)
    (x, target, count) = record
    places = np.clip(x[0] + width * radius * np.linspace(-1, 1, 5), -radius, radius)
    return [((float(place),), target, count) for place in places]
