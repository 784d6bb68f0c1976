# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A finite privacy-loss distribution, from which T13 and T14 are read off."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np

from dperm.accounting.theorems._binomial import log_response_mass
from dperm.accounting.theorems._rounding import Array, up, up_delta
from dperm.errors import AssumptionError
from dperm.privacy.rounding import ULP

MOST_ATOMS = 2**21
"""More atoms than this (about a second and 100 MB) are refused."""


@dataclass(frozen=True)
class LossAtoms:
    """Positive losses in decreasing order and their P-masses, both rounded up.

    ``delta(eps)`` of T2 grows with every loss and every mass, so it is an upper bound for the true law.
    """

    losses: Array
    masses: Array

    def delta(self, epsilon: float) -> float:
        """Sum of p_j (1 - e^{eps - L_j})_+ (T2), rounded up; exactly zero above the largest loss."""
        n = int(np.searchsorted(-self.losses, -epsilon))
        if n == 0:
            return 0.0
        return up_delta(float(np.sum(self.masses[:n] * -np.expm1(epsilon - self.losses[:n]))))

    def epsilon(self, delta: float) -> float:
        """Smallest eps >= 0 with delta(eps) <= ``delta``, rounded up.

        Between neighbouring losses delta(eps) = delta(L) + B (1 - e^{eps - L}), L the larger of the two and
        B = sum of p_j e^{L - L_j} over L_j >= L: one logarithm inverts it. The answer is checked by ``delta``.
        """
        if self.delta(0.0) <= delta:
            return 0.0
        right = self._first_loss_within(delta)
        loss = float(self.losses[right])
        n = int(np.searchsorted(-self.losses, -loss, side="right"))
        slope = float(np.sum(self.masses[:n] * np.exp(loss - self.losses[:n])))
        share = min((delta - self.delta(loss)) / slope, 1 - ULP)
        return self._raised(max(loss + math.log1p(-share), 0.0), loss, delta)

    def _first_loss_within(self, delta: float) -> int:
        """Index of the smallest loss L with delta(L) <= ``delta``; the largest loss always is one."""
        good, bad = 0, len(self.losses)
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if self.delta(float(self.losses[middle])) <= delta else (good, middle)
        return good

    def _raised(self, epsilon: float, limit: float, delta: float) -> float:
        """``epsilon`` moved up, in growing steps, until its delta is within the target; ``limit`` is."""
        step = 2.0**-50 * limit
        while epsilon < limit and self.delta(epsilon) > delta:
            epsilon, step = epsilon + step, 2 * step
        return min(epsilon, limit)


def response_atoms(counts: Mapping[float, int]) -> LossAtoms:
    """The atoms of composed randomized responses: ``counts[eps]`` of them with parameter eps > 0.

    They dominate every composition of pure mechanisms with these parameters [Kairouz, Oh & Viswanath 2015].
    """
    needed = math.prod(count + 1 for count in counts.values())
    if needed > MOST_ATOMS:
        raise AssumptionError(
            f"the exact composition needs {needed} atoms, more than {MOST_ATOMS} (it is #P-hard in general, T14). "
            "Use dperm.accounting.account() on Approximate events, which brackets the same number."
        )
    groups = [_group(epsilon, count, whole=len(counts) > 1) for epsilon, count in counts.items()]
    losses, log_masses = reduce(_convolved, groups)
    positive = np.flatnonzero(losses > 0)
    order = positive[np.argsort(-losses[positive], kind="stable")]
    # one unit up, so that a mass that underflows stays positive
    return LossAtoms(losses[order], np.nextafter(np.exp(log_masses[order]), np.inf))


def _group(epsilon: float, count: int, *, whole: bool) -> tuple[Array, Array]:
    """Losses (k - 2l) eps and log masses of k equal responses with l lies; the positive losses, or the whole law."""
    lies = np.arange(count + 1 if whole else count // 2 + 1, dtype=np.float64)
    return _product_up(count - 2 * lies, epsilon), log_response_mass(lies, count, epsilon)


def _product_up(whole: Array, epsilon: float) -> Array:
    """Whole numbers below 2^26 times epsilon, rounded up: exact where the product is (two pure steps of 1 cost 2)."""
    fraction, exponent = math.frexp(epsilon)
    high = math.ldexp(math.floor(math.ldexp(fraction, 26)), exponent - 26)
    product = whole * epsilon
    error = (whole * high - product) + whole * (epsilon - high)  # both products are exact
    return np.asarray(np.where(error > 0, np.nextafter(product, np.inf), product))


def _convolved(left: tuple[Array, Array], right: tuple[Array, Array]) -> tuple[Array, Array]:
    losses = np.nextafter(np.add.outer(left[0], right[0]).ravel(), np.inf)
    # log masses are <= 0: shrinking the sum by four units rounds the mass up
    return losses, np.add.outer(left[1], right[1]).ravel() * (1 - 4 * ULP)


def combined(infinite: float, finite: float) -> float:
    """1 - (1 - infinite)(1 - finite), rounded up; exact when one of the two is zero."""
    if infinite == 0.0 or finite == 0.0:
        return infinite + finite
    return min(up(infinite + (1 - infinite) * finite), 1.0)
