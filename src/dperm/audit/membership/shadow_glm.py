# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Batched logistic regressions, each on its own half of the same records: the shadow models of an attack (A9)."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dperm import checks
from dperm.audit.arrays import numbers, truths
from dperm.audit.membership.anderson import Anderson, Reals
from dperm.audit.membership.batched_newton import newton
from dperm.data.arrays import Floats, Mask
from dperm.errors import ParameterError

Precision = Literal["float32", "float64"]
Preconditioner = Callable[[Reals], Reals]

ROW_BLOCK = 1024
"""Rows per block: the scores of one block under 256 models fit into a core's cache."""
ERROR = {"float32": 1e-4, "float64": 1e-9}
"""Largest estimated error of a coefficient before the last step, relative to the largest coefficient (or 1)."""
MOST_STEPS = 60
PATIENCE = 6
"""Passes allowed for halving the step; slower models switch to Newton's method with their own Hessians."""
ROUGHLY = 1e-7
SLOWEST = 0.999
TINY = 1e-30


def shadow_logistic(X: Floats, signs: Floats, mask: Mask, *, C: float = 1.0, dtype: Precision = "float32") -> Reals:
    """Return the minimisers (columns x models) of ``sum_i mask_ik log(1 + exp(-s_i x_i.w)) + |w|^2 / (2 C)`` (A9).

    The method is quasi-Newton with one shared Hessian for all models, with Anderson acceleration. It uses the Hessian
    of the whole data with weights 1/2, and starts at the minimum of this weighted problem. A step costs two products
    with X and a tanh. Halves of many records are similar, so steps shrink quickly. Slower models (few records, weak
    regularisation) finish with Newton's method and their own Hessians, in doubles.

    Parameters
    ----------
    X
        Records, (n, d). All coefficients are penalised; for a penalised intercept, add a column of ones.
    signs
        Labels -1 and +1.
    mask
        Membership of each record in each model, (n, K).
    C
        Inverse strength of the regularisation, for the sum of losses as in scikit-learn.
    dtype
        Precision of the quasi-Newton steps and of the result.

    Returns
    -------
    Reals
        Coefficients, (d, K).
    """
    X, signs, mask = check_problem(X, signs, mask)
    strength = 1 / checks.between("C", C, 1e-12, 1e12, "Beyond, nothing is learnt, or nothing regularised.")
    if dtype not in ERROR:
        raise ParameterError(f'dtype must be "float32" or "float64", got {checks.shown(dtype)}.')
    halves = np.full((len(X), 1), 0.5)
    center = newton(X, signs, halves, strength, start=np.zeros((X.shape[1], 1)), precision=ROUGHLY)
    solve = _shared(X, center[:, 0], strength)
    start = np.repeat(center, mask.shape[1], axis=1).astype(dtype)
    found, finished = _quick(X.astype(dtype), signs.astype(dtype), mask, strength, start=start, solve=solve)
    if not finished.all():
        late = ~finished
        found[:, late] = newton(X, signs, mask[:, late], strength, start=found[:, late])
    return found


def check_problem(X: object, signs: object, mask: object) -> tuple[Floats, Floats, Mask]:
    """Return X and signs as doubles and the mask as booleans; raise ``ParameterError`` if any is invalid."""
    X, signs, mask = numbers("X", X, dims=2), numbers("signs", signs), truths("mask", mask, dims=2)
    if signs.shape != X.shape[:1] or len(mask) != len(X) or not mask.size:
        raise ParameterError("X must be (n, d), signs (n,) and mask (n, models) of truth values, with the same n.")
    if not (np.abs(signs) == 1).all():
        raise ParameterError("signs must be -1 or +1. For other labels give 2 * (y == positive) - 1.")
    return X, signs, mask


def _shared(X: Floats, center: Floats, strength: float) -> Preconditioner:
    """Return the inverse of X' D X / 2 + strength I, at the minimum of the whole data, as a function of gradients."""
    curvature = 0.125 * (1 - np.tanh(0.5 * (X @ center)) ** 2)
    hessian = X.T @ (curvature[:, np.newaxis] * X)
    hessian[np.diag_indices_from(hessian)] += strength
    factor = cho_factor(hessian)
    return lambda gradient: cho_solve(factor, gradient)


def _quick(
    X: Reals, signs: Reals, mask: Mask, strength: float, *, start: Reals, solve: Preconditioner
) -> tuple[Reals, Mask]:
    """Iterate with the shared Hessian until all models converge or stall; return the points and a convergence mask.

    Models without convergence are returned at the point after their shortest step.
    """
    W, path, sizes, first = start, Anderson(), [], np.ones(1)
    best, shortest = start.copy(), np.full(start.shape[1], np.inf)
    for _ in range(MOST_STEPS):
        step = solve(gradients(X, signs, mask, W) + strength * W).astype(W.dtype)
        size = np.abs(step).max(axis=0)
        better = size < shortest
        after = path.after(W, step)
        best[:, better], shortest[better] = after[:, better], size[better]
        sizes.append(float(np.median(size)))
        first = size if len(sizes) == 1 else first
        error = shortest * _condition(shortest / np.maximum(first, TINY), len(sizes) - 1)
        finished: Mask = error <= ERROR[W.dtype.name] * np.maximum(1, np.abs(best).max(axis=0))
        if finished.all() or _stalls(sizes):
            break
        W = after
    return best, finished


def _condition(shrunk: Reals, steps: int) -> Reals:
    """Estimate the ratio of error to step: the condition number of P^-1 H, from the observed rate of shrinkage.

    Accelerated steps shrink by rho = (sqrt(kappa) - 1)/(sqrt(kappa) + 1) each. If a model's own Hessian is much smaller
    than the shared one, short steps are uninformative, but then they shrink slowly.
    """
    rho = np.minimum(shrunk ** (1 / max(1, steps)), SLOWEST)
    kappa: Reals = ((1 + rho) / (1 - rho)) ** 2
    return kappa


def _stalls(sizes: list[float]) -> bool:
    """Whether the median step has stopped shrinking; a few slow models are left to Newton's method."""
    return len(sizes) > PATIENCE and not sizes[-1] <= 0.5 * sizes[-1 - PATIENCE]


def gradients(X: Reals, signs: Reals, mask: Mask, W: Reals) -> Reals:
    """Return the gradients of the sums of losses, X' (mask * (sigma(X W) - y)), by blocks of rows.

    sigma(z) - y = (tanh(z/2) - s)/2 for y = (1 + s)/2, and an in-place tanh is a vector instruction.
    """
    half, total = 0.5 * W, np.zeros_like(W)
    for start in range(0, len(X), ROW_BLOCK):
        rows = slice(start, start + ROW_BLOCK)
        residual = X[rows] @ half
        np.tanh(residual, out=residual)
        residual -= signs[rows, np.newaxis]
        residual *= mask[rows]
        total += X[rows].T @ residual
    total *= 0.5
    return total
