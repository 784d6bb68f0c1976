# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Gamma-norm mechanism: pure privacy for an L2 sensitivity (T7)."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

from dperm.accounting.event import Event
from dperm.accounting.events import Pure
from dperm.errors import ParameterError
from dperm.mechanisms.accuracy import gamma_norm_bound, gamma_norm_deviation
from dperm.mechanisms.additive import AdditiveMechanism, Law, on_grid
from dperm.mechanisms.calibration import Calibration, calibration
from dperm.mechanisms.goal import pure_epsilon, quotient_up
from dperm.noise.arrays import Floats
from dperm.noise.bits import Stream
from dperm.noise.gamma_norm import MOST_DIM, gamma_norm
from dperm.noise.grid import Norm
from dperm.privacy.guarantee import AnyGuarantee

GAMMA_NORM_SHAPE = "has a uniformly random direction and a gamma-distributed norm"
"""Explanation of gamma-norm noise, for sentences of plans and statements."""


@dataclass(frozen=True)
class GammaNormNoise(AdditiveMechanism):
    """Base class of mechanisms with gamma-norm noise, for an L2 sensitivity (T7)."""

    norm: ClassVar[Norm] = Norm.L2

    @classmethod
    def calibrate(cls, sensitivity: float, goal: AnyGuarantee, *, dim: int = 1, numerical_error: float = 0.0) -> Self:
        """Return the mechanism with the least noise of this distribution that satisfies ``goal``.

        Parameters
        ----------
        sensitivity
            L2 sensitivity of the value, under the adjacency of the goal.
        goal
            Guarantee of one release.
        dim
            Number of entries of the value.
        numerical_error
            Bound on the L2 error of the computed value, for every data set.

        Returns
        -------
        GammaNormMechanism or GaussianMixtureMechanism
            The calibrated mechanism.

        Raises
        ------
        ParameterError
            If an argument is out of range.
        ConversionError
            If this noise cannot satisfy ``goal``.
        """
        return cls(sensitivity, goal, dim, numerical_error)

    @property
    def spread(self) -> float:
        """Standard deviation of the noise in one coordinate, divided by the scale."""
        return gamma_norm_deviation(1.0, self.statistic.dim)

    @property
    def standard_deviation(self) -> float:
        """Standard deviation sqrt(d + 1) b of the noise in one coordinate, for dimension d and scale b."""
        return gamma_norm_deviation(self.scale, self.statistic.dim)

    def error_bound(self, probability: float) -> float:
        """Return the bound t for which P(abs(noise) > t) = probability, for one coordinate of gamma-norm noise.

        Parameters
        ----------
        probability
            Probability that the bound is exceeded, in (0, 1).

        Returns
        -------
        float
            Bound on the absolute error of one coordinate.
        """
        return gamma_norm_bound(self.scale, self.statistic.dim, probability)


@dataclass(frozen=True)
class GammaNormMechanism(GammaNormNoise):
    """Value plus noise of density proportional to e^(-epsilon ||x||_2 / Delta), for an L2 sensitivity Delta (T7).

    The guarantee is exactly pure: delta is 0. At most 2^20 dimensions are supported. A draw takes about 1.5
    microseconds per coordinate. For larger vectors, use `LaplaceMechanism.calibrate_l2`.

    Parameters
    ----------
    sensitivity
        L2 sensitivity of the value, under the adjacency of the goal.
    goal
        PureDP or ApproxDP; the delta of an ApproxDP goal is not used.
    dim
        Number of entries of the value.
    numerical_error
        Bound on the L2 error of the computed value, for every data set. Twice this bound is added to the sensitivity.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.mechanisms import GammaNormMechanism
    >>> mechanism = GammaNormMechanism.calibrate(0.01, PureDP(1.0, "replace_one"), dim=3)
    >>> mechanism.release([0.1, 0.2, 0.3]).value.shape
    (3,)
    """

    name: ClassVar[str] = "gamma norm"
    tags: ClassVar[tuple[str, ...]] = ("T7",)

    @cached_property
    def calibration(self) -> Calibration:
        """Calibration with scale b = Delta' / epsilon, where Delta' is the sensitivity of the rounded value."""
        epsilon = pure_epsilon(self.goal, type(self).__name__)
        if self.statistic.dim > MOST_DIM:
            raise ParameterError(
                argument="dim",
                rule=f"must be at most {MOST_DIM:,} for gamma-norm noise",
                got=f"{self.dim:,}",
                remedy="Use LaplaceMechanism.calibrate_l2, or GaussianMechanism with a delta.",
            )
        return calibration(self.statistic, epsilon, spread=self.spread)

    @cached_property
    def event(self) -> Event:
        """Pure event with epsilon = Delta' / b as in `calibration`, rounded up; at most the epsilon of the goal."""
        return Pure(quotient_up(self.calibration.sensitivity, self.scale), self.goal.adjacency)

    @property
    def law(self) -> Law:
        """Gamma-norm distribution, rounded to the grid."""
        return Law.on_grid("gamma-norm noise", self.calibration.grid.exponent)

    def noisy(self, value: Floats, stream: Stream) -> Floats:
        """Return ``value`` plus gamma-norm noise, drawn exactly on the grid.

        Parameters
        ----------
        value
            One-dimensional array to which noise is added.
        stream
            Stream of random bits.

        Returns
        -------
        ndarray
            Noisy value.
        """
        return on_grid(self.calibration.grid, value, gamma_norm(self.calibration.steps, len(value), stream))
