# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Worst-case profile of each guarantee: the largest delta(epsilon) of any mechanism with the guarantee.

It is exact for pure, approximate and Gaussian DP. For zCDP and RDP the upper ends are T17, and the lower ends the
Gaussian mechanism with the same guarantee (T6), so the bracket is rigorous but not narrow.
"""

import math
from dataclasses import dataclass

from dperm import checks
from dperm.privacy import gaussian_profile, renyi
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.profile import PrivacyProfile
from dperm.privacy.rounding import LEAST_DOUBLE, ULP, lowered, raised


@dataclass(frozen=True)
class ResponseProfile(PrivacyProfile):
    """Exact profile of (epsilon_0, delta_0)-DP: randomised response that reveals all with probability delta_0.

    Theorems T13 (k = 1) and T14: the privacy loss is +inf with mass delta_0, and otherwise +-epsilon_0 with odds
    e^epsilon_0, so delta(eps) = delta_0 + (1 - delta_0) (1 - e^(eps - epsilon_0))_+ / (1 + e^-epsilon_0).
    """

    epsilon_0: float
    delta_0: float
    adjacency: Adjacency

    def epsilon_bracket(self, delta: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on the smallest epsilon at ``delta``."""
        delta = checks.small_delta("delta", delta)
        if delta < self.delta_0:
            return math.inf, math.inf
        scaled = (delta - self.delta_0) / (1 - self.delta_0) * (1 + math.exp(-self.epsilon_0))
        return self._inverse(scaled, -1), min(self.epsilon_0, self._inverse(scaled, 1))

    def delta_bracket(self, epsilon: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on delta at ``epsilon``."""
        epsilon = checks.nonnegative("epsilon", epsilon)
        if epsilon >= self.epsilon_0:
            return self.delta_0, self.delta_0
        response = -math.expm1(epsilon - self.epsilon_0) / (1 + math.exp(-self.epsilon_0))
        total = self.delta_0 + (1 - self.delta_0) * response
        # max: a product of subnormal numbers may have been rounded to 0
        return lowered(total), min(1.0, raised(max(total, LEAST_DOUBLE)))

    def tradeoff(self, false_positive_rate: float) -> float:
        """Return the exact curve max(0, 1 - delta_0 - e^eps_0 x, e^-eps_0 (1 - delta_0 - x)), rounded down."""
        x = checks.probability("false_positive_rate", false_positive_rate)
        rest = 1 - self.delta_0
        if x == 0:
            return rest
        steep = rest - math.exp(min(1.0, self.epsilon_0 + math.log(x))) * (1 + 4 * (8 + self.epsilon_0) * ULP)
        flat = math.exp(-self.epsilon_0) * (rest - x - 4 * ULP)
        return max(0.0, steep - 4 * ULP, lowered(flat) if flat > 0 else 0.0)

    def _inverse(self, scaled: float, side: int) -> float:
        """Return epsilon_0 + log(1 - scaled), at least 0, rounded up for ``side`` 1 and down for -1."""
        moved = scaled * (1 - side * 8 * ULP)
        if moved >= 1:
            return 0.0
        log = math.log1p(-moved)
        return max(0.0, self.epsilon_0 + log + side * 4 * ULP * (self.epsilon_0 - log))


@dataclass(frozen=True)
class GaussianProfile(PrivacyProfile):
    """Exact profile of mu-GDP (T6, T19); epsilon is infinite at delta = 0."""

    mu: float
    adjacency: Adjacency

    def epsilon_bracket(self, delta: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on the smallest epsilon at ``delta``."""
        return gaussian_profile.epsilon_bracket(self.mu, delta)

    def delta_bracket(self, epsilon: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on delta at ``epsilon``."""
        return gaussian_profile.delta_bracket(epsilon, self.mu)

    def tradeoff(self, false_positive_rate: float) -> float:
        """Return Phi(Phi^-1(1 - x) - mu), rounded down."""
        return gaussian_profile.false_negative_rate(false_positive_rate, self.mu)


@dataclass(frozen=True)
class ConcentratedProfile(PrivacyProfile):
    """Profile of rho-zCDP: T17 at the best order above, the Gaussian of mu = sqrt(2 rho) below (T18)."""

    rho: float
    adjacency: Adjacency

    def epsilon_bracket(self, delta: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on the worst epsilon at ``delta`` of any mechanism with rho-zCDP."""
        low = gaussian_profile.epsilon_bracket(self._attained(), delta)[0]
        return low, renyi.zcdp_epsilon(self.rho, float(delta)) if delta > 0 else low

    def delta_bracket(self, epsilon: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on the worst delta at ``epsilon`` of any mechanism with rho-zCDP."""
        low = gaussian_profile.delta_bracket(epsilon, self._attained())[0]
        return low, renyi.zcdp_delta(self.rho, float(epsilon))

    def _attained(self) -> float:
        return lowered(math.sqrt(2 * self.rho))


@dataclass(frozen=True)
class OrdersProfile(PrivacyProfile):
    """Profile of RDP at finitely many orders (alpha, tau): the best of T17 above, a Gaussian below.

    The Gaussian has the largest mu that satisfies all orders, mu^2 = min 2 tau / alpha (T16).
    """

    curve: tuple[tuple[float, float], ...]
    adjacency: Adjacency

    def epsilon_bracket(self, delta: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on the worst epsilon at ``delta`` of any mechanism with these orders."""
        low = gaussian_profile.epsilon_bracket(self._attained(), delta)[0]
        if self._perfect() or delta == 0:
            return low, low
        return low, min(renyi.rdp_epsilon(alpha, tau, float(delta)) for alpha, tau in self.curve)

    def delta_bracket(self, epsilon: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on the worst delta at ``epsilon`` of any mechanism with these orders."""
        low = gaussian_profile.delta_bracket(epsilon, self._attained())[0]
        if self._perfect():
            return low, low
        return low, min(renyi.rdp_delta(alpha, tau, float(epsilon)) for alpha, tau in self.curve)

    def _attained(self) -> float:
        return lowered(math.sqrt(min(2 * tau / alpha for alpha, tau in self.curve)))

    def _perfect(self) -> bool:
        """Whether some order has divergence 0, so that the output distributions are equal and nothing is leaked."""
        return any(tau == 0 for _, tau in self.curve)
