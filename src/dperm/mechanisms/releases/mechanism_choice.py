# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Choice of the mechanism with the least noise for a goal, from public constants alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.gamma_norm import GammaNormMechanism
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.mechanisms.goal import checked_goal
from dperm.mechanisms.laplace import LaplaceMechanism
from dperm.noise.gamma_norm import MOST_DIM
from dperm.noise.grid import Norm, root_up
from dperm.privacy import ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import round_up


def mechanism_for(
    goal: AnyGuarantee, *, l1: float, l2: float, dim: int = 1, rounding: float = 0.0
) -> AdditiveMechanism:
    """Return the mechanism with the least noise in root mean square for a value of these sensitivities.

    - PureDP: Laplace noise for the L1 sensitivity (T5), or gamma-norm noise for the L2 sensitivity (T7).
    - ApproxDP with delta > 0: these two (T1), or Gaussian noise for the L2 sensitivity (T6).
    - GDP, ZCDP, RDP: Gaussian noise.

    Parameters
    ----------
    goal
        Guarantee of one release; the sensitivities refer to its adjacency.
    l1, l2
        Sensitivities in the two norms.
    dim
        Number of entries of the value.
    rounding
        Bound on the error of each computed entry; the numerical error is d times this in L1, sqrt(d) times this in L2.
    """
    noise = _Candidates(checked_goal(goal), l1, l2, dim, rounding)
    return min(noise.suitable(), key=lambda mechanism: mechanism.standard_deviation)


@dataclass(frozen=True)
class _Candidates:
    """Mechanisms for one value, by their noise."""

    goal: AnyGuarantee
    l1: float
    l2: float
    dim: int
    rounding: float

    def suitable(self) -> Iterator[AdditiveMechanism]:
        """Yield the mechanisms for the kind of goal."""
        if not isinstance(self.goal, PureDP | ApproxDP):
            yield self.gaussian()
            return
        yield self.laplace()
        if isinstance(self.goal, ApproxDP) and self.goal.delta > 0:
            yield self.gaussian()
        if 1 < self.dim <= MOST_DIM:  # in one dimension it is the Laplace law, with an event that says less
            yield self.gamma_norm()

    def laplace(self) -> AdditiveMechanism:
        """Return Laplace noise for the L1 sensitivity (T5)."""
        return LaplaceMechanism.calibrate(
            self.l1, self.goal, dim=self.dim, numerical_error=self._numerical_error(Norm.L1)
        )

    def gaussian(self) -> AdditiveMechanism:
        """Return Gaussian noise for the L2 sensitivity (T6)."""
        return GaussianMechanism.calibrate(
            self.l2, self.goal, dim=self.dim, numerical_error=self._numerical_error(Norm.L2)
        )

    def gamma_norm(self) -> AdditiveMechanism:
        """Return gamma-norm noise for the L2 sensitivity (T7)."""
        return GammaNormMechanism.calibrate(
            self.l2, self.goal, dim=self.dim, numerical_error=self._numerical_error(Norm.L2)
        )

    def _numerical_error(self, norm: Norm) -> float:
        return round_up(Fraction(root_up(self.dim, norm)) * Fraction(self.rounding))
