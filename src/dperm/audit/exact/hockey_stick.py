# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Lower bounds on delta(epsilon) of objective perturbation in one dimension, from the noise distribution function.

theta decreases in b, so P(s < theta <= t) = P(-J'(t) <= b < -J'(s)) exactly. Rounding theta to the cells of a fine grid
is post-processing (T3). So the hockey-stick divergence of the cell probabilities, the sum of (p - e^epsilon q)_+, is a
valid lower bound on delta(epsilon) (T1). Only cells crossed by the boundary of the optimal event lose accuracy.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product

import numpy as np
from scipy.special import ndtr

from dperm.audit.exact.density import Density, Row, Rows
from dperm.data.arrays import Floats
from dperm.methods.linear_term import GaussianTerm
from dperm.privacy import Adjacency

CELLS = 2001
HALVINGS = 60
LARGEST = 700.0
"""Largest epsilon for which e^epsilon is a double."""


@dataclass(frozen=True)
class CellProbabilities:
    """Probabilities of the cells under both data sets.

    Attributes
    ----------
    p, q
        Probability of each cell under the first and the second data set.
    error
        Upper bound on the rounding error of each probability.
    """

    p: Floats
    q: Floats
    error: Floats

    def delta(self, epsilon: float) -> float:
        """Return a lower bound on H_{e^epsilon}(P || Q), after subtracting rounding errors."""
        if epsilon > LARGEST:
            return 0.0  # true of any
        return float(np.maximum(self.p - math.exp(epsilon) * self.q - (1 + math.exp(epsilon)) * self.error, 0.0).sum())

    def epsilon(self, delta: float) -> float:
        """Return the largest epsilon with a lower bound above ``delta``, rounded down; 0 if there is none."""
        low, high = 0.0, 1.0
        if self.delta(low) <= delta:
            return 0.0
        while self.delta(high) > delta and high < 512:
            low, high = high, 2 * high
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return low


@dataclass(frozen=True)
class NeighbourCells:
    """Two neighbouring data sets with the cell probabilities under both."""

    cells: CellProbabilities
    rest: Rows
    record: Row | None
    other: Row | None


@dataclass(frozen=True)
class WorstCase:
    """Neighbours with the largest epsilon at a given delta."""

    epsilon: float
    delta: float
    pair: NeighbourCells


def worst_cells(
    density: Density,
    rests: tuple[Rows, ...],
    records: tuple[Row, ...],
    *,
    adjacency: Adjacency,
    deltas: Sequence[float],
    progress: Callable[[float], None] | None = None,
) -> tuple[WorstCase, ...]:
    """Return, for each delta, the neighbours with the largest epsilon over all rests and records, in both directions.

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
    deltas
        Values of delta to test.
    progress
        Callback that receives the completed fraction of the work, in (0, 1].

    Returns
    -------
    tuple of WorstCase
        One entry per delta.
    """
    found: dict[float, WorstCase] = {}
    for place, rest in enumerate(rests):
        for pair, delta in product(_neighbours_with_rest(density, rest, records, adjacency), deltas):
            best = found.get(delta)
            if best is None or pair.cells.delta(best.epsilon) > delta:
                found[delta] = WorstCase(pair.cells.epsilon(delta), delta, pair)
        if progress is not None:
            progress((place + 1) / len(rests))
    return tuple(found.values())


def _neighbours_with_rest(
    density: Density, rest: Rows, records: tuple[Row, ...], adjacency: Adjacency
) -> Iterator[NeighbourCells]:
    """Yield all neighbours with the same rest."""
    edges = _edges(density, rest, records)
    masses: list[tuple[Row | None, Floats, Floats]] = [
        (record, *_masses(density, edges, (record, *rest))) for record in records
    ]
    nobody: list[tuple[Row | None, Floats, Floats]] = [(None, *_masses(density, edges, rest))]
    is_replaced = adjacency is Adjacency.REPLACE_ONE
    pairs = product(masses, masses) if is_replaced else chain(product(masses, nobody), product(nobody, masses))
    for (record, p, e), (other, q, f) in pairs:
        yield NeighbourCells(CellProbabilities(p, q, np.maximum(e, f)), rest, record, other)


def _edges(density: Density, rest: Rows, records: tuple[Row, ...]) -> Floats:
    """Return cell edges: minimizers for equally spaced noise, with and without the extreme records, and all jumps."""
    far = np.linspace(-1, 1, CELLS)
    levels = (9 * far if isinstance(density.term, GaussianTerm) else np.sinh(4.5 * far)) * density.term.scale
    family = [rest, (records[0], *rest), (records[-1], *rest)]
    places = [density.minimiser(levels, rows) for rows in family]
    jumps = [density.jumps(rows) for rows in family]
    return np.unique(np.concatenate([*places, *jumps, np.linspace(-12, 12, 241) / density.spec.radius]))


def _masses(density: Density, edges: Floats, rows: Rows) -> tuple[Floats, Floats]:
    """Return the probabilities of all cells, including both unbounded ones, and their rounding errors.

    Each probability is computed from the smaller tail.
    """
    x = np.concatenate([[-np.inf], density.gradient(edges, rows) / density.term.scale, [np.inf]])
    below = _below(density, x)
    above = _below(density, -x)
    left = x[1:] <= 0
    masses = np.where(left, below[1:] - below[:-1], above[:-1] - above[1:])
    size = np.where(left, below[1:], above[:-1])
    bulk = 1 + density.pull(rows) / density.term.scale
    steep = np.where(np.isfinite(x), np.abs(x), 0.0)
    return masses, 2.0**-49 * size * (bulk + np.maximum(steep[1:], steep[:-1]) ** 2)


def _below(density: Density, x: Floats) -> Floats:
    """Return P(b <= x) for noise of scale 1."""
    if isinstance(density.term, GaussianTerm):
        return np.asarray(ndtr(x))
    return np.asarray(np.where(x <= 0, np.exp(np.minimum(x, 0.0)) / 2, 1 - np.exp(-np.maximum(x, 0.0)) / 2))
