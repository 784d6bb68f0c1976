# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Newton steps: with a factored Hessian for moderate numbers of coefficients, by conjugate gradients for many."""

from collections.abc import Callable
from contextlib import suppress
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


def is_factored(objective: Objective) -> bool:
    """Whether the Hessian is formed and factored."""
    return objective.spec.dim <= FACTORED_DIM


def direction_at(objective: Objective, theta: Floats) -> Direction:
    """The map from a gradient to a Newton step with the Hessian at ``theta``."""
    if not is_factored(objective):
        return _by_conjugate_gradients(objective, theta)
    factor = _factor(objective.hessian(theta))
    return lambda gradient: np.asarray(-cho_solve(factor, gradient, check_finite=False))


def _factor(hessian: Floats) -> Any:
    """The Cholesky factor of a Hessian; where rounding has made it indefinite, of a slightly larger one."""
    least = 2.0**-52 * float(hessian.diagonal().max())
    for added in [0.0, *(least * 4.0**power for power in range(MOST_SHIFTS))]:
        with suppress(LinAlgError):
            return cho_factor(hessian + added * np.eye(len(hessian)), overwrite_a=True, check_finite=False)
    raise AssumptionError("the Hessian overflows: the features, weights or C are far too large.")


def _by_conjugate_gradients(objective: Objective, theta: Floats) -> Direction:
    bends = objective.bends(theta)

    def solved(gradient: Floats) -> Floats:
        return -conjugate_gradients(lambda v: objective.hessian_product(bends, v), gradient)

    return solved


def conjugate_gradients(product: Direction, target: Floats, accuracy: float = 0.1) -> Floats:
    """An approximate solution x of A x = target, ||A x - target|| <= accuracy ||target||, A positive definite."""
    x, residual = np.zeros_like(target), target.copy()
    search, square = residual.copy(), float(residual @ residual)
    enough = accuracy**2 * square
    for _ in range(MOST_PRODUCTS):
        if square <= enough:
            break
        image = product(search)
        length = square / float(search @ image)
        x += length * search
        residual -= length * image
        square, before = float(residual @ residual), square
        search = residual + (square / before) * search
    return x
