# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Densities of scores between the edges of a histogram, as linear functions of its counts (T85, T87).

In every bin, the density is the parabola with the same mass as the counts in this bin and its two neighbours. Means of
losses are then linear in the counts, and the area under the ROC curve is bilinear in the counts of the two classes.
Noise of mean zero therefore adds no bias. The weights depend on the public edges alone.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from dperm.data.arrays import Floats

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


@lru_cache(maxsize=32)
def mass_at_nodes(edges: tuple[float, ...]) -> tuple[Floats, Floats, Floats]:
    """Return quadrature nodes, the mass at each node and the mass below each node, by count of a bin.

    Parameters
    ----------
    edges
        Increasing edges of the bins.

    Returns
    -------
    tuple of ndarray
        Nodes of shape (B, Q); masses and cumulative masses of shape (B, Q, B), where the last axis is the count.
    """
    bounds = np.array(edges)
    bins = len(bounds) - 1
    nodes = np.empty((bins, len(_NODES)))
    mass, below = np.zeros((bins, len(_NODES), bins)), np.zeros((bins, len(_NODES), bins))
    for place in range(bins):
        near = _neighbours(place, bins)
        left, width = bounds[place], bounds[place + 1] - bounds[place]
        ends = (bounds[[*near, near[-1] + 1]] - left) / width
        powers = np.arange(1, len(near) + 1)
        # row i: integrals of 1, x, x^2 over the i-th neighbour; its inverse gives the coefficients from the counts
        coefficients = np.linalg.inv((ends[1:, None] ** powers - ends[:-1, None] ** powers) / powers)
        x = (_NODES + 1) / 2
        nodes[place] = left + width * x
        mass[place][:, near] = (_WEIGHTS / 2)[:, None] * (x[:, None] ** (powers - 1)) @ coefficients
        below[place][:, near] = (x[:, None] ** powers / powers) @ coefficients
        below[place][:, :place] += 1.0
    return nodes, mass, below


def loss_weights(edges: tuple[float, ...], loss: Callable[[Floats], Floats]) -> Floats:
    """Return weights w such that sum(w c) is the total loss of records with counts c in the bins.

    Parameters
    ----------
    edges
        Increasing edges of the bins.
    loss
        Loss of a record as a function of its score.
    """
    nodes, mass, _ = mass_at_nodes(edges)
    return np.asarray(np.einsum("bq,bqc->c", loss(nodes), mass))


def pair_weights(edges: tuple[float, ...]) -> Floats:
    """Return the matrix K such that sum(K[i, j] neg_i pos_j) counts the pairs with the larger score on the positive."""
    _, mass, below = mass_at_nodes(edges)
    return np.asarray(np.einsum("bqi,bqj->ij", below, mass))


def _neighbours(place: int, bins: int) -> list[int]:
    first = min(max(place - 1, 0), max(bins - 3, 0))
    return list(range(first, min(first + 3, bins)))
