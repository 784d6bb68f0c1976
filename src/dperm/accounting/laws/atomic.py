# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Privacy losses with finitely many values: randomized response, pure and approximate DP."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dperm.accounting.laws.law import Array, ComplexArray, Parts
from dperm.privacy.rounding import ULP


@dataclass(frozen=True)
class AtomicLoss:
    """Atoms at ``losses`` with P-masses ``weights`` (summing to 1 given L < infinity), and ``infinity``."""

    losses: tuple[float, ...]
    weights: tuple[float, ...]
    infinity: float = 0.0

    resolution: ClassVar[float] = 4e-15

    @property
    def ceiling(self) -> float:
        """Largest atom, the supremum of the loss."""
        return max(self.losses)

    def delta(self, epsilon: float) -> float:
        """Return the sum of T2 over the atoms, plus the mass at infinity."""
        return self.infinity + (1 - self.infinity) * self._finite_delta(epsilon)

    def _finite_delta(self, epsilon: float) -> float:
        above = [(a, w) for a, w in zip(self.losses, self.weights, strict=True) if a > epsilon]
        return math.fsum(w * -math.expm1(epsilon - a) for a, w in above)

    def log_delta(self, epsilon: float) -> float:
        """Return the logarithm of the sum of T2 over the atoms, without the mass at infinity."""
        finite = self._finite_delta(epsilon)
        return math.log(finite) if finite > 0 else -math.inf

    def support(self, tail: float) -> tuple[float, float]:
        """Return the smallest and the largest atom."""
        return min(self.losses), max(self.losses)

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Return all (loss, P-mass) pairs."""
        return tuple(zip(self.losses, self.weights, strict=True))

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """Return zeros: the law has no continuous part."""
        nothing = np.zeros(len(borders) - 1)
        return nothing, nothing

    def place(self, count: int, parts: Parts) -> None:
        """Register as a law with a closed moment generating function."""
        parts.closed(self, count)

    def log_mgf(self, s: ComplexArray) -> tuple[ComplexArray, Array]:
        """Log of sum w e^{s a}, scaled by the largest atom (which no other can cancel only if it dominates)."""
        losses, weights = np.array(self.losses), np.array(self.weights)
        top = losses.max()
        total = np.exp(np.multiply.outer(s, losses - top)) @ weights
        size = np.exp(np.multiply.outer(s.real, losses - top)) @ weights
        error = ULP * (8 + 8 * np.abs(s) * float(np.ptp(losses))) * size
        return s * top + np.log(total), error / np.maximum(np.abs(total) - error, 1e-300) + ULP * np.abs(s * top)

    def size(self, c: float, t: float) -> int:
        """Return the number of atoms, one term each."""
        return len(self.losses)

    def log_mgf_real(self, c: Array) -> Array:
        """Return the log of sum w e^{c a} for real c."""
        with np.errstate(divide="ignore"):  # a weight may have underflowed
            e = np.multiply.outer(c, np.array(self.losses)) + np.log(np.array(self.weights))
        top = e.max(axis=1)
        return np.asarray(top + np.log(np.exp(e - top[:, None]).sum(axis=1)))

    def modulus(self, c: float, t: float) -> float:
        """Return 1: the modulus of a sum over atoms does not decay."""
        return 1.0


def response_loss(epsilon: float, delta: float = 0.0) -> AtomicLoss:
    """Return the law dominating every (epsilon, delta)-DP mechanism (T13, T14).

    Mass delta at +infinity, (1-delta) e^eps/(1+e^eps) at eps, (1-delta)/(1+e^eps) at -eps.
    """
    low = math.exp(-epsilon) / (1 + math.exp(-epsilon))
    return AtomicLoss((-epsilon, epsilon), (low, 1 / (1 + math.exp(-epsilon))), delta)


def randomized_response_loss(epsilon: float, values: int) -> AtomicLoss:
    """T9: keep the value with probability e^eps/(e^eps + k - 1), else one of the k - 1 others uniformly.

    Against the response of another value: loss eps on the true value, -eps on the other one, 0 on the k - 2 rest.
    """
    if values == 2:
        return response_loss(epsilon)
    other = math.exp(-epsilon) / (1 + (values - 1) * math.exp(-epsilon))
    keep = 1 / (1 + (values - 1) * math.exp(-epsilon))
    return AtomicLoss((-epsilon, 0.0, epsilon), (other, (values - 2) * other, keep))
