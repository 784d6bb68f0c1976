# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Gaussian mechanism, calibrated by its exact profile (T6)."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from dperm.accounting.event import Event
from dperm.accounting.events import Gaussian
from dperm.mechanisms.accuracy import gaussian_bound
from dperm.mechanisms.additive import AdditiveMechanism, Law, on_grid
from dperm.mechanisms.calibration import Calibration, Certificate, calibration, noise_event, raise_until_certified
from dperm.mechanisms.goal import gaussian_mu
from dperm.noise.arrays import Floats
from dperm.noise.bits import Stream
from dperm.noise.grade import Grade
from dperm.noise.grid import Norm
from dperm.noise.integer_noise import rounded_gaussian
from dperm.noise.single_precision import floating_gaussian
from dperm.privacy.guarantee import AnyGuarantee


@dataclass(frozen=True)
class GaussianMechanism(AdditiveMechanism):
    """Value plus N(0, scale^2 I) noise, calibrated to an L2 sensitivity and a goal (T6).

    Gaussian noise never satisfies pure DP: its delta is positive for every epsilon.

    Parameters
    ----------
    sensitivity
        L2 sensitivity of the value, under the adjacency of the goal.
    goal
        ApproxDP with delta > 0, GDP, ZCDP or RDP.
    dim
        Number of entries of the value.
    numerical_error
        Bound on the L2 error of the computed value, for every data set. Twice this bound is added to the sensitivity.
    grade
        "exact" for noise drawn exactly on a grid, or "fast" for floating-point noise. With "fast", the stated
        guarantee holds only for the ideal mechanism with real numbers (T10).

    Examples
    --------
    >>> from dperm import ApproxDP
    >>> from dperm.mechanisms import GaussianMechanism
    >>> mechanism = GaussianMechanism.calibrate(1.0, ApproxDP(1.0, 1e-5, "add_remove"), dim=3)
    >>> round(mechanism.scale, 4)
    3.7306
    >>> mechanism.release([1.0, 2.0, 3.0]).value.shape
    (3,)
    """

    grade: Grade = Grade.EXACT

    name: ClassVar[str] = "gaussian"
    norm: ClassVar[Norm] = Norm.L2
    tags: ClassVar[tuple[str, ...]] = ("T6",)

    @classmethod
    def calibrate(
        cls,
        sensitivity: float,
        goal: AnyGuarantee,
        *,
        dim: int = 1,
        numerical_error: float = 0.0,
        grade: Grade | str = Grade.EXACT,
    ) -> "GaussianMechanism":
        """Return the mechanism with the least noise that satisfies ``goal``.

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
        grade
            "exact" for noise drawn exactly on a grid, or "fast" for floating-point noise. With "fast", the stated
            guarantee holds only for the ideal mechanism with real numbers (T10).

        Returns
        -------
        GaussianMechanism
            The calibrated mechanism.

        Raises
        ------
        ParameterError
            If an argument is out of range.
        ConversionError
            If Gaussian noise cannot satisfy ``goal``.
        """
        return cls(sensitivity, goal, dim, numerical_error, Grade.of(grade))

    @cached_property
    def calibration(self) -> Calibration:
        """Calibration with scale sigma = Delta' / mu, certified by the accountant.

        Delta' is the sensitivity of the rounded value, and mu the largest parameter for which mu-GDP implies the goal.
        """
        return raise_until_certified(
            calibration(self.statistic, gaussian_mu(self.goal)), Certificate(self.goal, Gaussian)
        )

    @cached_property
    def event(self) -> Event:
        """Gaussian event with the noise multiplier of the calibration."""
        return noise_event(Gaussian, self.calibration, self.goal.adjacency)

    @property
    def law(self) -> Law:
        """Gaussian distribution on the grid, or in floating point for grade "fast"."""
        if Grade.of(self.grade) is Grade.FAST:
            family = "floating-point Gaussian noise"
            words = f"{family}; the guarantee is that of the ideal mechanism, and low-order bits may leak"
            return Law(words, Grade.FAST, family=family)
        return Law.on_grid("Gaussian noise", self.calibration.grid.exponent)

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the noise in one coordinate, equal to the scale."""
        return self.scale

    def error_bound(self, probability: float) -> float:
        """Return the bound t for which P(abs(noise) > t) = probability, for one coordinate.

        Parameters
        ----------
        probability
            Probability that the bound is exceeded, in (0, 1).

        Returns
        -------
        float
            Bound on the absolute error of one coordinate.
        """
        return gaussian_bound(self.scale, probability)

    def noisy(self, value: Floats, stream: Stream) -> Floats:
        """Return ``value`` plus Gaussian noise, drawn exactly on the grid or in floating point.

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
        if self.law.grade is Grade.FAST:
            noise = floating_gaussian(len(value), stream).astype(np.float64)
            return value + self.scale * noise
        return on_grid(self.calibration.grid, value, rounded_gaussian(self.calibration.steps, len(value), stream))
