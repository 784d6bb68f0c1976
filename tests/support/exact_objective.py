# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The exact law of objective perturbation (`dperm.audit.exact.density`), integrated by Gaussian quadrature.

A check of its own on the audit, which finds the same numbers by other means.
"""

import math
from functools import lru_cache

import numpy as np
import pytest

from dperm.audit.exact.density import Density as Exact
from dperm.audit.exact.density import Row as Row
from dperm.audit.exact.density import Rows
from dperm.methods.linear_term import GaussianTerm

NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)


def panels(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + NODES)).ravel(), (half * WEIGHTS).ravel()


@lru_cache(maxsize=256)
def quantiles(exact: Exact, rows: Rows, count: int) -> tuple[float, ...]:
    """Where the minimiser lies for quantiles of the noise, in one dimension."""
    far = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)  # 0 among them: pure noise has a kink there
    levels = 9 * far if isinstance(exact.term, GaussianTerm) else np.sinh(4.5 * far)
    return tuple(exact.minimiser(levels * exact.term.scale, rows).tolist())


def line(exact: Exact, rows: Rows, others: Rows, count: int = 251) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights in one dimension: panels between quantiles, split where a density jumps."""
    edges = [*quantiles(exact, rows, count), *quantiles(exact, others, count)]
    jumps = [turn for turn in exact.jumps(rows + others) if min(edges) < turn < max(edges)]
    bent = np.linspace(-12, 12, 121) / exact.spec.radius  # where losses bend
    inside = bent[(bent > min(edges)) & (bent < max(edges))]
    nodes, weights = panels(np.unique([*edges, *inside, *jumps]))
    return nodes[np.newaxis], weights


def plane(exact: Exact, rows: Rows, others: Rows, count: int = 48) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights in two dimensions."""
    reach = max(exact.reach(rows), exact.reach(others))
    nodes, weights = panels(np.linspace(-reach, reach, count))
    first, second = np.meshgrid(nodes, nodes)
    return np.stack([first.ravel(), second.ravel()]), np.outer(weights, weights).ravel()


def deltas(exact: Exact, rows: Rows, others: Rows, epsilons: list[float]) -> list[float]:
    """H_{e^epsilon}(p_D || p_D') at each epsilon (T1)."""
    is_line = len(rows[0][0]) == 1
    theta, weights = (line if is_line else plane)(exact, rows, others)
    p, q = (np.exp(exact.log_density(theta, data)) for data in (rows, others))
    for density in (p, q):
        assert float(weights @ density) == pytest.approx(1, abs=1e-6 if is_line else 2e-3)
    return [float(weights @ np.maximum(p - math.exp(epsilon) * q, 0.0)) for epsilon in epsilons]


def largest_loss(exact: Exact, rows: Rows, others: Rows) -> float:
    """sup log p_D/p_D', next to every jump and on a fine line between (or on a plane)."""
    reach = max(exact.reach(rows), exact.reach(others))
    if len(rows[0][0]) == 1:
        near = [turn + side for turn in exact.jumps(rows + others) for side in (-1e-9, 1e-9)]
        near += [quantiles(exact, data, 1)[0] for data in (rows, others)]  # b = 0, a kink of pure noise
        theta = np.concatenate([np.linspace(-reach, reach, 1501), np.linspace(-6, 6, 1501), near])[np.newaxis]
    else:
        theta = plane(exact, rows, others)[0]
    return float((exact.log_density(theta, rows) - exact.log_density(theta, others)).max())
