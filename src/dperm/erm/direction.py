# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Newton steps: with a factored Hessian for moderate numbers of coefficients, by conjugate gradients for many."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dperm.data.arrays import Floats
from dperm.erm.objective import Objective
from dperm.errors import AssumptionError

Direction = Callable[[Floats], Floats]

FACTORED_DIM = 1024
"""Up to this many coefficients the Hessian is formed and factored."""
MOST_PRODUCTS = 250
MOST_SHIFTS = 30
GRAM_ROWS = 8
"""Rows per column in the sum of squares that eases conjugate gradients."""


def is_factored(objective: Objective) -> bool:
    """Whether the Hessian is formed and factored."""
    return objective.spec.outputs == 1 and objective.spec.dim <= FACTORED_DIM


def direction_at(objective: Objective, theta: Floats, gram: Floats | None = None) -> Direction:
    """The map from a gradient to a Newton step with the Hessian at ``theta``; ``gram`` is that of `useful_gram`."""
    if not is_factored(objective):
        return _by_conjugate_gradients(objective, theta, useful_gram(objective) if gram is None else gram)
    factor = _factor(objective.hessian(theta))
    return lambda gradient: np.asarray(-cho_solve(factor, gradient, check_finite=False))


def useful_gram(objective: Objective) -> Floats | None:
    """The sum of the squares x x' of some rows, which tells steep directions from flat ones; None if it is too large.

    The Hessian of several scores is a sum of (diag(p) - pp') times x x': nearly a multiple of it, score by score.
    """
    if is_factored(objective) or objective.spec.width > FACTORED_DIM:
        return None
    stride = objective.data.stride_for(GRAM_ROWS * objective.spec.width)
    return replace(objective, stride=stride).gram()


def _factor(hessian: Floats) -> Any:
    """The Cholesky factor of a Hessian; where rounding has made it indefinite, of a slightly larger one."""
    least = 2.0**-52 * float(hessian.diagonal().max())
    for added in [0.0, *(least * 4.0**power for power in range(MOST_SHIFTS))]:
        with suppress(LinAlgError):
            return cho_factor(hessian + added * np.eye(len(hessian)), overwrite_a=True, check_finite=False)
    raise AssumptionError("the Hessian overflows: the features, weights or C are far too large.")


def _by_conjugate_gradients(objective: Objective, theta: Floats, gram: Floats | None) -> Direction:
    bends = objective.bends(theta)
    easier = None if gram is None else _preconditioner(objective, gram)

    def solved(gradient: Floats) -> Floats:
        return -conjugate_gradients(lambda v: objective.hessian_product(bends, v), gradient, easier)

    return solved


def _preconditioner(objective: Objective, gram: Floats) -> Direction:
    """The inverse of gram / K + Lambda, score by score: of the Hessian at 0, up to what all scores have in common."""
    spec = objective.spec
    factor = _factor(gram * spec.loss.bend + spec.strength * np.eye(len(gram)))

    def solved(residual: Floats) -> Floats:
        table = residual.reshape(spec.outputs, spec.width)
        return np.asarray(cho_solve(factor, table.T, check_finite=False).T.ravel())

    return solved


def conjugate_gradients(
    product: Direction, target: Floats, easier: Direction | None = None, accuracy: float = 0.1
) -> Floats:
    """An approximate solution x of A x = target, ||A x - target|| <= accuracy ||target||, A positive definite.

    ``easier`` is the inverse of a matrix like A, positive definite as well: it saves products.
    """
    x, residual = np.zeros_like(target), target.copy()
    eased = residual if easier is None else easier(residual)
    search, square = eased.copy(), float(residual @ eased)
    enough = accuracy * float(np.linalg.norm(target))
    for _ in range(MOST_PRODUCTS):
        if float(np.linalg.norm(residual)) <= enough:
            break
        image = product(search)
        length = square / float(search @ image)
        x += length * search
        residual = residual - length * image
        eased = residual if easier is None else easier(residual)
        square, before = float(residual @ eased), square
        search = eased + (square / before) * search
    return x
