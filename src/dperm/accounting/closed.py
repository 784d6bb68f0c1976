# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Closed forms, tried before every engine: one Gaussian, one step of any law, and randomized responses.

Randomized responses also cover mechanisms known by (epsilon, delta) alone (T14). Each function returns brackets of the
profile of one direction, given L < infinity, or None without a closed form.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from dperm.accounting.composition import Composition
from dperm.accounting.laws.atomic import AtomicLoss
from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.accounting.laws.law import LossLaw
from dperm.accounting.theorems._atoms import MOST_ATOMS, LossAtoms, response_atoms
from dperm.privacy import gaussian_profile
from dperm.privacy.rounding import LEAST_DOUBLE, exp_bracket

SINGLE = 1e-11  # relative accuracy of LossLaw.delta, with a margin; measured against 60-digit arithmetic
BINOMIAL = 1e-9  # relative accuracy of the binomial masses up to a million steps, with a margin
RAISED = 2 * MOST_ATOMS * LEAST_DOUBLE  # each mass is rounded up by at most two units where it underflows
Bracket = tuple[float, float]


def epsilon_bracket(composition: Composition, delta: float) -> Bracket | None:
    """Return bounds on the smallest epsilon at ``delta`` > 0, or None without a closed form."""
    steps = _informative(composition)
    if not steps:
        return 0.0, 0.0
    (law, count), *rest = steps
    if not rest and count == 1:
        if isinstance(law, GaussianLoss):
            low, high = (gaussian_profile.epsilon_bracket(mu, delta) for mu in _rounded(law.mu))
            return low[0], high[1]
        return _single_epsilon(SingleStep(law), delta, law.support(1e-300)[1])
    atoms = _responses(composition)
    if atoms is None:
        return None
    upper = atoms.epsilon(delta)
    return atoms.epsilon(min(delta * (1 + BINOMIAL) + RAISED, 1.0)) * (1 - 1e-12), upper


def delta_bracket(composition: Composition, epsilon: float) -> Bracket | None:
    """Return bounds on delta at ``epsilon`` >= 0, or None without a closed form."""
    steps = _informative(composition)
    if not steps:
        return 0.0, 0.0
    (law, count), *rest = steps
    if not rest and count == 1:
        if isinstance(law, GaussianLoss):
            low, high = (gaussian_profile.delta_bracket(epsilon, mu) for mu in _rounded(law.mu))
            return low[0], high[1]
        return SingleStep(law).bracket(epsilon)
    atoms = _responses(composition)
    if atoms is None:
        return None
    return max(atoms.delta(epsilon * (1 + 1e-12)) * (1 - BINOMIAL) - RAISED, 0.0), atoms.delta(epsilon)


def _informative(composition: Composition) -> list[tuple[LossLaw, int]]:
    """Return the steps with a loss other than 0 and infinity; a largest loss of 0 leaves no negative ones (T2)."""
    return [(law, count) for law, count in composition.steps if law.ceiling != 0]


def _rounded(mu: float) -> tuple[float, float]:
    """Return bounds on the exact mu: 1/sigma, its square, the count, the sum and the root each round once."""
    return mu * (1 - 5e-16), mu * (1 + 5e-16)


@dataclass(frozen=True)
class SingleStep:
    """Privacy profile of one step, given L < infinity, with the accuracy of its closed form."""

    law: LossLaw

    def log_value(self, epsilon: float) -> float:
        """Return log delta, not rounded to a side; -infinity if the whole mass is at L = infinity."""
        return self.law.log_delta(epsilon) if self.law.infinity < 1 else -math.inf

    def bracket(self, epsilon: float) -> Bracket:
        """Return (lower, upper) bounds: the closed form at epsilon shifted by the resolution of the losses.

        The upper bound is positive below the largest loss, even where delta underflows.
        """
        top = self.law.ceiling
        shift = self.law.resolution * (max(epsilon, top) if math.isfinite(top) else epsilon)
        low, high = self.log_value(epsilon + shift), self.log_value(max(epsilon - shift, 0.0))
        if high == -math.inf and (epsilon >= top or self.law.infinity >= 1):
            return 0.0, 0.0
        return exp_bracket(low - SINGLE, high + SINGLE)


def _responses(composition: Composition) -> LossAtoms | None:
    """Return the atoms of a composition of plain randomized responses (T13, T14), or None if there are too many."""
    counts: dict[float, int] = {}
    for law, count in composition.steps:
        if not isinstance(law, AtomicLoss) or len(law.losses) != 2 or law.losses[0] != -law.losses[1]:
            return None
        if law.losses[1] > 0:
            counts[law.losses[1]] = counts.get(law.losses[1], 0) + count
    if math.prod(count + 1 for count in counts.values()) > MOST_ATOMS:
        return None
    return response_atoms(counts) if counts else None


def _single_epsilon(single: SingleStep, delta: float, high: float) -> Bracket:
    """Return the root of one step's profile as a bracket; both ends are verified with the closed form's accuracy."""
    if single.bracket(0.0)[1] <= delta:
        return 0.0, 0.0
    while high < single.law.ceiling and single.log_value(high) > math.log(delta):
        high *= 2
    root = falling_root(lambda epsilon: single.log_value(epsilon) - math.log(delta), high)
    return _verified(single, root, delta, -1), _verified(single, root, delta, +1)


def _verified(single: SingleStep, root: float, delta: float, sign: int) -> float:
    """Return a point beside the root where the bound holds despite rounding.

    Fall back to 0 below, the ceiling above.
    """
    step = 1e-13
    while step < 1:
        point = root * (1 + sign * step)
        low, high = single.bracket(point)
        if high <= delta if sign > 0 else low >= delta:
            return point
        step *= 4
    return max(2 * root, single.law.ceiling) if sign > 0 else 0.0


def falling_root(f: Callable[[float], float], high: float) -> float:
    """Return the root of a falling function on [0, high]: Illinois method, bisection where f is -infinity."""
    low, f_low, f_high = 0.0, f(0.0), f(high)
    if f_high >= 0:
        return high
    for _ in range(200):
        finite = math.isfinite(f_high)
        middle = (low * f_high - high * f_low) / (f_high - f_low) if finite else (low + high) / 2
        if not low < middle < high:
            middle = (low + high) / 2
        value = f(middle)
        if abs(value) < 1e-13 or high - low <= 1e-15 * high:
            return middle
        if value > 0:
            low, f_low = middle, value
            f_high = f_high / 2 if finite else f_high
        else:
            high, f_high = middle, value
            f_low /= 2
    return (low + high) / 2
