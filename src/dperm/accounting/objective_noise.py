# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Noise calibration for objective perturbation: T37, T39-T41 and the recipe T43a."""

import math

from dperm import checks
from dperm.accounting.events import MULTIPLIERS
from dperm.accounting.laws.objective import (
    BoundingLoss,
    corner_bound,
    one_sided_bound,
    two_sided_bound,
    union_bound,
)
from dperm.accounting.noise_search import NoiseSearch, certified_delta
from dperm.errors import AssumptionError
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.rounding import lowered, raised

MULTIPLIER = "Give the standard deviation of the noise over the Lipschitz constant L of one record's loss."
CURVATURE = "Give beta/Lambda, the smoothness of one record's loss over the strength of the regularization."
MONOTONE = "It says that the slope of a record's loss has one sign, as for logistic and hinge types."
LARGEST_CURVATURE = 1e100


def checked_multiplier(value: object) -> float:
    """Return sigma/L if it is within the range of noise multipliers, else raise ParameterError."""
    return checks.between("noise_multiplier", value, *MULTIPLIERS, MULTIPLIER)


def checked_curvature(value: object) -> float:
    """Return beta/Lambda if it is in range (0 for linear losses), else raise ParameterError."""
    return checks.between("curvature", value, 0.0, LARGEST_CURVATURE, CURVATURE)


def checked_monotone(value: object) -> bool:
    """Return the value as a bool if it is a Python or numpy bool, else raise ParameterError."""
    return checks.truth("monotone", value, MONOTONE)


def determinant_loss(curvature: float) -> float:
    """Return c = log(1 + curvature), the largest loss due to the Jacobian of the noise, rounded up.

    Theorem T37. With a Hessian of rank one and eigenvalue at most beta,
        det(H + Lambda I + the record's) / det(H + Lambda I) <= 1 + beta/Lambda.
    """
    return raised(math.log1p(checked_curvature(curvature)), 2)


def bounding_loss(noise_multiplier: float, curvature: float, adjacency: Adjacency, monotone: bool) -> BoundingLoss:
    """Return the loss that bounds both directions: T40 or T39 under add/remove, T41 (b) or (c) under replace-one.

    Adding a record costs no determinant (T37); the bound for removing a record is used for both.
    """
    c, mu = determinant_loss(curvature), 1 / noise_multiplier
    if adjacency is Adjacency.REPLACE_ONE:
        return union_bound(c, mu) if monotone else corner_bound(c, mu)
    return one_sided_bound(c, mu) if monotone else two_sided_bound(c, mu)


def objective_delta(
    epsilon: float, noise_multiplier: float, curvature: float, adjacency: Adjacency | str, monotone: bool = True
) -> float:
    """Return an upper bound on delta(epsilon) of one `PerturbedObjective`: T40 or T39 (add_remove), T41 (replace_one).

    The result equals the number of `account`, without an engine. It is at most 1 and never 0, as the loss is unbounded.
    For small epsilon it is below the theorems' own bound: both directions are bounded, so the tangent of
    `dperm.accounting.laws.objective` applies.
    """
    epsilon, noise = checks.nonnegative("epsilon", epsilon), checked_multiplier(noise_multiplier)
    bound = bounding_loss(noise, curvature, Adjacency.of(adjacency), checked_monotone(monotone))
    return certified_delta(bound, epsilon)


def objective_noise_multiplier(
    epsilon: float, delta: float, curvature: float, adjacency: Adjacency | str, monotone: bool = True
) -> float:
    """Return the smallest sigma/L, rounded up, at which the accountant certifies (epsilon, delta)-DP.

    Theorem T43a, for one `PerturbedObjective`. Under add_remove with monotone losses, sigma/L = 1/mu(epsilon - c,
    delta) with mu of T6, the exact inverse of T40. Otherwise it is the root of T39 or T41, which grow with L/sigma. The
    returned value itself is checked.

    Raises
    ------
    AssumptionError
        If c = log(1 + curvature) leaves no epsilon for the noise.
    """
    epsilon, delta = checks.positive("epsilon", epsilon), checks.positive_delta("delta", delta)
    adjacency, monotone = Adjacency.of(adjacency), checked_monotone(monotone)
    left = lowered(epsilon - determinant_loss(curvature), 2)
    if left <= 0:
        raise _no_room(epsilon, curvature)
    search = NoiseSearch(epsilon, delta, lambda noise: bounding_loss(noise, curvature, adjacency, monotone))
    least = search.least(left)
    exact = monotone and adjacency is Adjacency.ADD_REMOVE
    return search.pushed(least if exact else search.root(least))


def _no_room(epsilon: float, curvature: float) -> AssumptionError:
    room = math.expm1(min(epsilon, 700.0))
    return AssumptionError(
        f"objective perturbation with epsilon={epsilon:g} needs curvature = beta/Lambda < e^epsilon - 1 = {room:.6g}, "
        f"got {curvature:g}: the determinant alone costs log(1 + curvature) = {math.log1p(curvature):.6g} (T37, T43a). "
        f"Raise the regularization above the smallest admissible Lambda = beta/(e^epsilon - 1), which is "
        f"{curvature / room:.6g} times the present one, or give a larger epsilon."
    )
