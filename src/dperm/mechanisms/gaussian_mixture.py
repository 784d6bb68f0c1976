# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Gamma-norm noise as a finite mixture of Gaussians: fast in a million dimensions, but not pure (T7, T10e)."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from dperm.accounting.event import Event
from dperm.accounting.events import Approximate
from dperm.checks import shown
from dperm.errors import ConversionError
from dperm.mechanisms.additive import Law, on_grid
from dperm.mechanisms.calibration import Calibration, calibration
from dperm.mechanisms.gamma_norm import GammaNormNoise
from dperm.mechanisms.goal import checked_goal, quotient_up
from dperm.noise.arrays import Floats
from dperm.noise.bits import Stream
from dperm.noise.gaussian_mixture import (
    GaussianMixture,
    choose_deviation,
    gaussian_mixture,
    mixture_epsilon,
    mixture_guarantee,
)
from dperm.noise.integer_noise import rounded_gaussian
from dperm.privacy import ApproxDP

SCALE_BITS = 26
"""Significant bits of a scale; its product with a deviation of the mixture is exact."""


@dataclass(frozen=True)
class GaussianMixtureMechanism(GammaNormNoise):
    """Value plus approximate gamma-norm noise, calibrated to an L2 sensitivity and a goal (T7).

    The noise is drawn from a finite mixture of Gaussians. The mixture approximates the gamma-norm density at all points
    whose norm lies between two radii. It has Gaussian tails, so the guarantee is **not** pure: the event is
    `Approximate`. The record of a release contains the two approximation errors of the noise: eta bounds the log-ratio
    of the two densities between the radii, and tau bounds the total variation distance caused by the rounded weights of
    the mixture (T10e). The mechanism is meant for vectors that are too long for `GammaNormMechanism`. A
    `GaussianMechanism` usually needs less noise for the same goal.

    Parameters
    ----------
    sensitivity
        L2 sensitivity of the value, under the adjacency of the goal.
    goal
        ApproxDP with delta > 0.
    dim
        Number of entries of the value.
    numerical_error
        Bound on the L2 error of the computed value, for every data set. Twice this bound is added to the sensitivity.

    Examples
    --------
    >>> from dperm import ApproxDP
    >>> from dperm.mechanisms import GaussianMixtureMechanism
    >>> mechanism = GaussianMixtureMechanism.calibrate(0.01, ApproxDP(1.0, 1e-12, "replace_one"), dim=100)
    >>> mechanism.release([0.0] * 100).record.eta < 1e-9
    True
    """

    name: ClassVar[str] = "gaussian mixture"
    tags: ClassVar[tuple[str, ...]] = ("T7", "T10e")

    @cached_property
    def mixture(self) -> GaussianMixture:
        """Mixture for the dimension of the value, with bounds on its approximation errors."""
        return gaussian_mixture(self.statistic.dim)

    @cached_property
    def calibration(self) -> Calibration:
        """Calibration with scale b = Delta' / epsilon0, rounded up to 26 significant bits.

        Delta' is the sensitivity of the rounded value. epsilon0 is the epsilon of the goal, reduced to make room for
        the approximation error eta.
        """
        goal = checked_goal(self.goal)
        if not isinstance(goal, ApproxDP) or goal.delta == 0:
            raise ConversionError(
                argument="goal",
                rule="must be ApproxDP with delta > 0 for the Gaussian mixture",
                got=shown(goal),
                remedy=f"Use GammaNormMechanism for a pure goal, GaussianMechanism for {type(goal).__name__}.",
            )
        epsilon = mixture_epsilon(goal.epsilon, goal.delta, self.mixture)
        found = calibration(self.statistic, epsilon, spread=self.spread)
        return Calibration(_shortened_up(found.scale), found.grid, found.sensitivity)

    @cached_property
    def event(self) -> Event:
        """Approximate event: the (Delta' / b)-DP of exact gamma-norm noise, weakened by the errors of the mixture.

        Delta' and b are those of `calibration`.
        """
        target = quotient_up(self.calibration.sensitivity, self.scale)
        epsilon, delta = mixture_guarantee(target, self.mixture)
        return Approximate(epsilon, delta, self.goal.adjacency)

    @property
    def law(self) -> Law:
        """Gaussian mixture on the grid, with its approximation errors eta and tau."""
        family = "gamma-norm noise from a finite Gaussian mixture"
        words = f"{family}, rounded to multiples of 2^{self.calibration.grid.exponent}"
        return Law(words, eta=self.mixture.eta, tau=self.mixture.tau, family=family)

    def noisy(self, value: Floats, stream: Stream) -> Floats:
        """Return ``value`` plus noise of a randomly chosen mixture component, drawn exactly on the grid.

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
        deviation = choose_deviation(self.mixture, stream) * self.calibration.steps  # exact: 26 bits times 26 bits
        return on_grid(self.calibration.grid, value, rounded_gaussian(deviation, len(value), stream))


def _shortened_up(value: float) -> float:
    """Return the smallest number of `SCALE_BITS` significant bits not below ``value``."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.ceil(math.ldexp(mantissa, SCALE_BITS)), exponent - SCALE_BITS)
