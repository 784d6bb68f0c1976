# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Newton's method with a line search for many logistic regressions of the same records, each with its own Hessian."""

import numpy as np
from numpy.typing import NDArray

from dperm.audit.membership.anderson import Reals
from dperm.data.arrays import Floats, Mask

MOST_STEPS = 200
MOST_HALVINGS = 40
DECREASE = 1e-4
ROUNDING = 1e-14
"""Relative rounding error of objective values; the last steps decrease them by less."""
PRECISION = 1e-20
"""Convergence limit: squared Newton step in the norm of the Hessian, relative to the value; rounding level."""
HESSIAN_BYTES = 2**26
"""Memory limit for simultaneously stored Hessians, in bytes."""


def newton(
    X: Floats, signs: Floats, weights: Floats | Mask, strength: float, *, start: Reals, precision: float = PRECISION
) -> Floats:
    """Minimise sum_i weights_ik log(1 + exp(-s_i x_i.w)) + strength |w|^2 / 2 for all k, from ``start``.

    Damped Newton's method: each problem is smooth and strongly convex, so it converges from any start, even for
    separable records and weak regularisation. Each model halves its step until its own objective decreases.
    """
    found = start.astype(np.float64)
    size = max(1, HESSIAN_BYTES // (8 * X.shape[1] ** 2))
    for first in range(0, found.shape[1], size):
        some = slice(first, first + size)
        found[:, some] = _descend(X, signs, weights[:, some], strength, start=found[:, some], precision=precision)
    return found


def _descend(
    X: Floats, signs: Floats, weights: Floats | Mask, strength: float, *, start: Floats, precision: float
) -> Floats:
    W, active = start.copy(), np.arange(start.shape[1])
    for _ in range(MOST_STEPS):
        own = weights[:, active]
        step, slope = _steps(X, signs, own, strength, W[:, active])
        share, value = _shares(X, signs, own, strength, at=W[:, active], step=step, slope=slope)
        W[:, active] -= share * step
        # a step that no longer decreases anything has met rounding
        active = active[(slope > precision * np.maximum(1, value)) & (share > 0)]
        if not len(active):
            break
    return W


def _steps(
    X: Floats, signs: Floats, weights: Floats | Mask, strength: float, W: Floats
) -> tuple[Floats, NDArray[np.float64]]:
    """Return the Newton steps, and their squared lengths in the norms of the Hessians."""
    half = np.tanh(0.5 * (X @ W))
    gradient = X.T @ (0.5 * weights * (half - signs[:, np.newaxis])) + strength * W
    curvature = 0.25 * weights * (1 - half**2)
    hessians = np.stack([X.T @ (column[:, np.newaxis] * X) for column in curvature.T])
    hessians += strength * np.eye(X.shape[1])
    step = np.linalg.solve(hessians, gradient.T[:, :, np.newaxis])[:, :, 0].T
    return step, (gradient * step).sum(axis=0)


def _shares(
    X: Floats, signs: Floats, weights: Floats | Mask, strength: float, *, at: Floats, step: Floats, slope: Floats
) -> tuple[Floats, Floats]:
    """Return the largest of 1, 1/2, 1/4, ... with sufficient decrease per model (0 if none), and its old value."""
    margins, moves = signs[:, np.newaxis] * (X @ at), signs[:, np.newaxis] * (X @ step)

    def values(share: Floats) -> Floats:
        losses = weights * np.logaddexp(0, share * moves - margins)
        total: Floats = losses.sum(axis=0) + 0.5 * strength * ((at - share * step) ** 2).sum(axis=0)
        return total

    share = np.ones(at.shape[1])
    before = values(np.zeros_like(share))
    for _ in range(MOST_HALVINGS):
        failed = ~(values(share) <= before * (1 + ROUNDING) - DECREASE * share * slope)
        if not failed.any():
            return share, before
        share[failed] /= 2
    return np.where(failed, 0.0, share), before
