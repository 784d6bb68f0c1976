# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Privacy loss of a mechanism together with a failure of small probability."""

from dataclasses import dataclass

from dperm.accounting.laws.atomic import AtomicLoss
from dperm.accounting.laws.law import Array, LossLaw, Parts


@dataclass(frozen=True)
class LossWithFailure:
    """A law without infinite losses composed with a (0, ``infinity``)-DP release (T14, T23).

    A composition stores the two separately, so that Gaussian laws are still merged (T19).
    """

    base: LossLaw
    infinity: float

    @property
    def ceiling(self) -> float:
        """Largest finite loss, that of the base."""
        return self.base.ceiling

    @property
    def resolution(self) -> float:
        """Relative accuracy of the losses of the base."""
        return self.base.resolution

    def delta(self, epsilon: float) -> float:
        """Return the profile of the base plus the probability of a failure."""
        return self.infinity + (1 - self.infinity) * self.base.delta(epsilon)

    def log_delta(self, epsilon: float) -> float:
        """Return the logarithm of the profile of the base."""
        return self.base.log_delta(epsilon)

    def support(self, tail: float) -> tuple[float, float]:
        """Return the support of the base."""
        return self.base.support(tail)

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Return the atoms of the base."""
        return self.base.atoms()

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """Return the masses of the base."""
        return self.base.masses(borders)

    def place(self, count: int, parts: Parts) -> None:
        """Register the base, and ``count`` failures without any other loss."""
        self.base.place(count, parts)
        if self.infinity:
            parts.closed(AtomicLoss((0.0,), (1.0,), self.infinity), count)
