# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Densities of scores between the edges of a histogram, as linear functions of its counts (T85, T87).

In every bin, the density is the parabola with the same mass as the counts in this bin and its two neighbours. It is a
parabola in the stretched log-odds of the score, since scores near 0 and 1 differ by factors. Means of losses are then
linear in the counts, and the area under the ROC curve is bilinear in the counts of the two classes. Noise of mean zero
therefore adds no bias. The weights depend on the public edges alone.

Counts do not determine the order of scores inside a bin. Bounds on the pairs and losses of a bin hold for every order;
`unresolved_share` computes from the counts the part of the distance to these bounds that an interval includes.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
STRETCH = 2.0
"""Log-odds up to about 2 have equal steps in the stretched log-odds asinh(log-odds / 2), larger ones longer steps."""
FAINTEST = 1e-5
"""Scores below it, or above one minus it, count as this score in the stretched log-odds."""
EVEN = 1 / 3
"""Share of a bin among itself and its two neighbours, where the density is constant."""

Loss = Callable[[Floats], Floats]


class Slack(NamedTuple):
    """Possible errors of reconstructed sums: distances to smaller and to larger values."""

    below: Floats
    above: Floats


class Stencils(NamedTuple):
    """Density of each bin as a function of the counts of the bin and its neighbours.

    Attributes
    ----------
    nodes
        Scores at the quadrature nodes, of shape (B, Q).
    near
        Places of the K bins that determine the density, of shape (B, K).
    mass, below
        Mass at each node, and mass of this bin below it, by count of a near bin: shape (B, Q, K).
    """

    nodes: Floats
    near: NDArray[np.int64]
    mass: Floats
    below: Floats


def stretched(scores: Floats, *, faintest: float = FAINTEST) -> Floats:
    """Return asinh(log-odds / 2) of scores, clipped to [faintest, 1 - faintest]."""
    p = np.clip(scores, faintest, 1 - faintest)
    return np.asarray(np.arcsinh(np.log(p / (1 - p)) / STRETCH))


def from_stretched(places: Floats) -> Floats:
    """Return the scores of stretched log-odds."""
    return np.asarray(1 / (1 + np.exp(-STRETCH * np.sinh(places))))


@lru_cache(maxsize=32)
def stencils(edges: tuple[float, ...]) -> Stencils:
    """Return the densities of all bins.

    Parameters
    ----------
    edges
        Increasing edges of the bins, from 0 to 1.
    """
    faintest = min(FAINTEST, edges[1] / 2, (1 - edges[-2]) / 2)
    bounds = stretched(np.array(edges), faintest=faintest)
    bins, size = len(edges) - 1, min(len(edges) - 1, 3)
    near = _nearest(bins, 3)
    powers, x = np.arange(1, size + 1), (_NODES + 1) / 2
    nodes, mass, below = np.empty((bins, len(x))), np.empty((bins, len(x), size)), np.empty((bins, len(x), size))
    for place in range(bins):
        left, width = bounds[place], bounds[place + 1] - bounds[place]
        ends = (bounds[[*near[place], near[place][-1] + 1]] - left) / width
        # row i: integrals of 1, x, x^2 over the i-th neighbour; its inverse gives the coefficients from the counts
        coefficients = np.linalg.inv((ends[1:, None] ** powers - ends[:-1, None] ** powers) / powers)
        nodes[place] = from_stretched(left + width * x)
        mass[place] = (_WEIGHTS / 2)[:, None] * (x[:, None] ** (powers - 1)) @ coefficients
        below[place] = (x[:, None] ** powers / powers) @ coefficients
    return Stencils(nodes, near, mass, below)


def loss_weights(edges: tuple[float, ...], loss: Loss) -> Floats:
    """Return weights w such that sum(w c) is the total loss of records with counts c in the bins.

    Parameters
    ----------
    edges
        Increasing edges of the bins, from 0 to 1.
    loss
        Loss of a record as a function of its score.
    """
    found = stencils(edges)
    weights = np.zeros(len(edges) - 1)
    np.add.at(weights, found.near, np.einsum("bq,bqk->bk", loss(found.nodes), found.mass))
    return weights


def pair_weights(edges: tuple[float, ...]) -> Floats:
    """Return the matrix K such that sum(K[i, j] neg_i pos_j) counts the pairs with the larger score on the positive."""
    found = stencils(edges)
    kernel = np.triu(np.ones((len(edges) - 1, len(edges) - 1)), 1)
    np.add.at(kernel, (found.near[:, :, None], found.near[:, None, :]), _pairs_inside(edges))
    return kernel


def unresolved_share(counts: Floats) -> Floats:
    """Return the part of the distance to the bounds of each bin that its counts do not exclude, from 0 to 1 (T87).

    It is the larger one of two numbers. A bin with the share s > 1/3 of the records in it and its two neighbours has
    4 (s - 1/3)^2. A bin that holds, with its larger neighbour, the share t > 1/2 of the five nearest bins has
    (2 t - 1)^3. A density that varies slowly between bins has s near 1/3 and t near 2/5. If one or two bins hold all
    records of their surroundings, the order inside them is unknown, and the part is 1.

    Parameters
    ----------
    counts
        Noisy counts of one class, of shape (..., B).
    """
    present = np.maximum(counts, 0.0)
    sides = np.concatenate([present, np.zeros_like(present[..., :1])], axis=-1)
    larger = np.maximum(sides[..., 1:], np.roll(sides, 1, axis=-1)[..., :-1])
    alone, pair = _share(present, present, 3), _share(present + larger, present, 5)
    of_one, of_two = 4 * np.maximum(alone - EVEN, 0.0) ** 2, np.maximum(2 * pair - 1, 0.0) ** 3
    return np.asarray(np.minimum(np.maximum(of_one, of_two), 1.0))


def _share(part: Floats, present: Floats, size: int) -> Floats:
    """Return the share of a part among the ``size`` nearest bins; 1 where they are empty."""
    total = present[..., _nearest(present.shape[-1], size)].sum(axis=-1)
    return np.where(total > 0, part / np.where(total > 0, total, 1.0), 1.0)


def _nearest(bins: int, size: int) -> NDArray[np.int64]:
    """Return the places of the nearest bins of each bin, of shape (B, min(B, size))."""
    size = min(bins, size)
    return np.asarray(np.clip(np.arange(bins) - size // 2, 0, bins - size)[:, None] + np.arange(size))


def pair_slack(counts: Floats, edges: tuple[float, ...]) -> Slack:
    """Return the possible errors of the number of ordered pairs with both scores in one bin (T87).

    Of x negative and y positive records in a bin, any number of pairs from 0 to xy may be in the right order.

    Parameters
    ----------
    counts
        Noisy counts of shape (..., 2, B), negative class first.
    edges
        Increasing edges of the bins, from 0 to 1.
    """
    near = stencils(edges).near
    neg, pos = counts[..., 0, :], counts[..., 1, :]
    estimated = np.einsum("...bi,bij,...bj->...b", neg[..., near], _pairs_inside(edges), pos[..., near])
    pairs = np.maximum(neg, 0.0) * np.maximum(pos, 0.0)
    return _slack(unresolved_share(counts).max(axis=-2), estimated, 0.0, pairs)


def loss_slack(counts: Floats, edges: tuple[float, ...], loss: Loss) -> Slack:
    """Return the possible errors of the total loss of one class (T85).

    Parameters
    ----------
    counts
        Noisy counts of shape (..., B).
    edges
        Increasing edges of the bins, from 0 to 1.
    loss
        Loss of a record as a monotone function of its score.
    """
    found = stencils(edges)
    weights = np.einsum("bq,bqk->bk", loss(found.nodes), found.mass)
    estimated = (counts[..., found.near] * weights).sum(axis=-1)
    ends, present = loss(np.array(edges)), np.maximum(counts, 0.0)
    least, most = np.minimum(ends[1:], ends[:-1]), np.maximum(ends[1:], ends[:-1])
    return _slack(unresolved_share(counts), estimated, least * present, most * present)


def _slack(unresolved: Floats, estimated: Floats, least: Floats | float, most: Floats) -> Slack:
    below, above = np.maximum(estimated - least, 0.0), np.maximum(most - estimated, 0.0)
    return Slack((unresolved * below).sum(axis=-1), (unresolved * above).sum(axis=-1))


@lru_cache(maxsize=32)
def _pairs_inside(edges: tuple[float, ...]) -> Floats:
    """Return weights of shape (B, K, K) of the ordered pairs inside each bin, by counts of near bins."""
    found = stencils(edges)
    return np.asarray(np.einsum("bqi,bqj->bij", found.below, found.mass))
