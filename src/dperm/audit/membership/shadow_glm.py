# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Batched logistic regressions, each on its own half of the same records: the shadow models of an attack (A9).

Three solvers cooperate: a quasi-Newton iteration with one shared Hessian, its Anderson acceleration, and Newton's
method with the models' own Hessians for slow models.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from dperm import checks
from dperm.audit.arrays import numbers, truths
from dperm.data.arrays import Floats, Mask
from dperm.errors import ParameterError
from dperm.presentation.spelling import arg

Reals = NDArray[np.floating]

MEMORY = 5
RIDGE = 1e-12
"""Relative ridge, times the trace, added to normal equations with possibly parallel columns."""
MOST_NEWTON_STEPS = 200
MOST_HALVINGS = 40
DECREASE = 1e-4
ROUNDING = 1e-14
"""Relative rounding error of objective values; the last steps decrease them by less."""
PRECISION = 1e-20
"""Convergence limit: squared Newton step in the norm of the Hessian, relative to the value; rounding level."""
HESSIAN_BYTES = 2**26
"""Memory limit for simultaneously stored Hessians, in bytes."""
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


@dataclass
class Anderson:
    """Recent points W and their steps R(W), one column per model; W - R(W) is the plain iteration.

    For each model, the accelerated point combines the last steps into the shortest step. For linear problems this is
    GMRES (Walker & Ni 2011). It halves the number of passes where the plain iteration converges, and converges where
    the plain iteration is very slow.
    """

    points: list[Reals] = field(default_factory=list)
    steps: list[Reals] = field(default_factory=list)

    def after(self, point: Reals, step: Reals) -> Reals:
        """Return the accelerated next point after ``point`` with plain step ``step``, and store both."""
        self.points, self.steps = [*self.points[-MEMORY:], point], [*self.steps[-MEMORY:], step]
        if len(self.points) == 1:
            return point - step
        moves, turns = np.diff(self.points, axis=0), np.diff(self.steps, axis=0)
        shares = _least_squares(turns, step).astype(point.dtype)
        corrected: Reals = point - step - np.einsum("qdk,kq->dk", moves - turns, shares)
        return corrected


def _least_squares(turns: Reals, step: Reals) -> Reals:
    """Return, for each model, the coefficients of ``turns`` (q, columns, models) with the sum nearest to ``step``."""
    columns = turns.transpose(2, 0, 1).astype(np.float64)
    normal = columns @ columns.transpose(0, 2, 1)
    trace = np.trace(normal, axis1=1, axis2=2)[:, np.newaxis, np.newaxis]
    normal += np.eye(len(turns)) * (RIDGE * trace + np.finfo(np.float64).tiny)
    right = columns @ step.T.astype(np.float64)[:, :, np.newaxis]
    shares: Reals = np.linalg.solve(normal, right)[:, :, 0]
    return shares


def newton(
    X: Floats, signs: Floats, weights: Floats | Mask, strength: float, *, start: Reals, precision: float = PRECISION
) -> Floats:
    """Minimize sum_i weights_ik log(1 + exp(-s_i x_i.w)) + strength |w|^2 / 2 for all k, from ``start``.

    Damped Newton's method: each problem is smooth and strongly convex, so it converges from any start, even for
    separable records and weak regularization. Each model halves its step until its own objective decreases.
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
    for _ in range(MOST_NEWTON_STEPS):
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


def shadow_logistic(X: Floats, signs: Floats, mask: Mask, *, C: float = 1.0, dtype: Precision = "float32") -> Reals:
    """Return the coefficients of logistic regressions; model k is trained on the records in column k of ``mask`` (A9).

    The coefficients w of model k minimize ``sum_i mask_ik log(1 + exp(-s_i x_i.w)) + |w|^2 / (2 C)``, where x_i is
    row i of ``X``, s_i is its label, and x_i.w is the dot product.

    The solver is a quasi-Newton method with Anderson acceleration and one Hessian for all models. This Hessian is
    computed from all records with weights 1/2, at the minimizer of the weighted problem, where the solver starts. One
    step for all K models needs two matrix products, with ``X`` and with its transpose, and the tanh of an (n, K) array.
    Random halves of a large data set are similar, so the solver converges quickly. It converges slowly for few records
    or weak regularization. Models for which it does not converge are fitted by Newton's method, in double precision and
    with one Hessian per model.

    Parameters
    ----------
    X
        Records, of shape (n, d). All coefficients are penalized; for an intercept, add a column of ones.
    signs
        Labels -1 and +1, of shape (n,).
    mask
        Boolean array of shape (n, K): whether each record is in the training set of each of the K models.
    C
        Inverse of the regularization strength for the sum of the losses, as in scikit-learn; from 1e-12 to 1e12.
    dtype
        Precision of the quasi-Newton steps and of the result: "float32" or "float64".

    Returns
    -------
    ndarray
        Coefficients, of shape (d, K).

    Raises
    ------
    ParameterError
        If an argument is invalid or out of range, or the shapes do not match.
    """
    X, signs, mask = check_problem(X, signs, mask)
    strength = 1 / checks.between("C", C, 1e-12, 1e12, "Beyond this range, nothing is learnt or regularised.")
    if dtype not in ERROR:
        raise ParameterError(argument="dtype", rule='must be "float32" or "float64"', got=checks.shown(dtype))
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
        raise ParameterError(
            argument="X",
            rule=f"must be (n, d), with {arg('signs')} (n,) and {arg('mask')} (n, models) of booleans for the same n",
        )
    if not (np.abs(signs) == 1).all():
        raise ParameterError(
            argument="signs", rule="must be -1 or +1", remedy="For other labels, pass 2 * (y == positive) - 1."
        )
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
    than the shared Hessian, short steps are uninformative, but then they shrink slowly.
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
