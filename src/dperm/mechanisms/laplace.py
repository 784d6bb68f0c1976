# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Laplace mechanism (T5), and the discrete Laplace mechanism for integers (T5a)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dperm import checks
from dperm.accounting.event import Event
from dperm.accounting.events import Laplace, Pure
from dperm.errors import ParameterError
from dperm.mechanisms.accuracy import discrete_laplace_bound, discrete_laplace_deviation, laplace_bound
from dperm.mechanisms.additive import AdditiveMechanism, Law, on_grid
from dperm.mechanisms.calibration import (
    SENSITIVITY,
    Calibration,
    Certificate,
    calibration,
    error_up,
    noise_event,
    raise_until_certified,
    sensitivity_up,
)
from dperm.mechanisms.goal import laplace_epsilon, pure_epsilon, quotient_up
from dperm.noise.arrays import Floats
from dperm.noise.bits import Stream
from dperm.noise.grid import Grid, Norm, root_up
from dperm.noise.integer_noise import LARGEST_SCALE, SMALLEST_SCALE, discrete_laplace, rounded_laplace
from dperm.presentation.spelling import arg
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import round_up


@dataclass(frozen=True)
class LaplaceMechanism(AdditiveMechanism):
    """Value plus Laplace noise, calibrated to an L1 sensitivity and a goal (T5).

    The noise is drawn independently for each coordinate of the value.

    Parameters
    ----------
    sensitivity
        L1 sensitivity of the value, under the adjacency of the goal.
    goal
        PureDP or ApproxDP; a positive delta reduces the noise slightly.
    dim
        Number of entries of the value.
    numerical_error
        Bound on the L1 error of the computed value, for every data set. Twice this bound is added to the sensitivity.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.mechanisms import LaplaceMechanism
    >>> mechanism = LaplaceMechanism.calibrate(1.0, PureDP(0.5, "add_remove"))
    >>> round(mechanism.scale, 6)
    2.0
    >>> mechanism.release(42).guarantee
    PureDP(epsilon=0.5, adjacency=ADD_REMOVE)
    """

    name: ClassVar[str] = "laplace"
    norm: ClassVar[Norm] = Norm.L1
    tags: ClassVar[tuple[str, ...]] = ("T5",)

    @classmethod
    def calibrate(
        cls, sensitivity: float, goal: AnyGuarantee, *, dim: int = 1, numerical_error: float = 0.0
    ) -> "LaplaceMechanism":
        """Return the mechanism with the least noise that satisfies ``goal``.

        Parameters
        ----------
        sensitivity
            L1 sensitivity of the value, under the adjacency of the goal.
        goal
            Guarantee of one release.
        dim
            Number of entries of the value.
        numerical_error
            Bound on the L1 error of the computed value, for every data set.

        Returns
        -------
        LaplaceMechanism
            The calibrated mechanism.

        Raises
        ------
        ParameterError
            If an argument is out of range.
        ConversionError
            If Laplace noise cannot satisfy ``goal``.
        """
        return cls(sensitivity, goal, dim, numerical_error)

    @classmethod
    def calibrate_l2(
        cls, sensitivity: float, goal: AnyGuarantee, *, dim: int, numerical_error: float = 0.0
    ) -> "LaplaceMechanism":
        """Return the mechanism for a value with known L2 sensitivity, using ||x||_1 <= sqrt(d) ||x||_2.

        Here d is the number of entries of the value, ``dim``. For a PureDP goal, the guarantee is pure in any dimension
        d. The root mean square of the noise is sqrt(2d/(d + 1)) times the root mean square of the noise of
        `GammaNormMechanism`.

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
        LaplaceMechanism
            The calibrated mechanism.

        Raises
        ------
        ParameterError
            If an argument is out of range.
        ConversionError
            If Laplace noise cannot satisfy ``goal``.
        """
        root = Fraction(root_up(checks.count("dim", dim), Norm.L2))
        moved = Fraction(sensitivity_up("sensitivity", sensitivity))
        error = Fraction(error_up("numerical_error", numerical_error))
        return cls(round_up(root * moved), goal, dim, round_up(root * error))

    @cached_property
    def calibration(self) -> Calibration:
        """Calibration with scale b = Delta' / epsilon0, certified by the accountant.

        Delta' is the sensitivity of the rounded value, and epsilon0 the largest quotient Delta' / b that satisfies the
        goal (T5).
        """
        return raise_until_certified(
            calibration(self.statistic, laplace_epsilon(self.goal)), Certificate(self.goal, Laplace)
        )

    @cached_property
    def event(self) -> Event:
        """Laplace event with the noise multiplier of the calibration."""
        return noise_event(Laplace, self.calibration, self.goal.adjacency)

    @property
    def law(self) -> Law:
        """Laplace distribution, rounded to the grid."""
        return Law.on_grid("Laplace noise", self.calibration.grid.exponent)

    @property
    def standard_deviation(self) -> float:
        """Standard deviation sqrt(2) b of the noise in one coordinate, for scale b."""
        return math.sqrt(2) * self.scale

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
        return laplace_bound(self.scale, probability)

    def noisy(self, value: Floats, stream: Stream) -> Floats:
        """Return ``value`` plus Laplace noise, drawn exactly on the grid.

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
        return on_grid(self.calibration.grid, value, rounded_laplace(self.calibration.steps, len(value), stream))


@dataclass(frozen=True)
class DiscreteLaplaceMechanism(AdditiveMechanism):
    """Integers plus discrete Laplace noise, also known as the geometric mechanism (T5, T5a).

    Let Delta be the sensitivity. Integer noise z has probability proportional to ``e^(-|z| epsilon/Delta)``. A shift of
    the value by an integer vector k changes every probability by a factor of at most ``e^(|k|_1 epsilon/Delta)``, so
    the mechanism is exactly epsilon-DP. The value needs no rounding. The privacy profile lies above the profile of
    Laplace noise: for a shift of 1 and scale s, the total variation distance is tanh(1/(2s)) instead of
    1 - e^(-1/(2s)). The event is therefore `Pure` and not `Laplace`. The mechanism is best for a single release of
    counts; in long compositions, `LaplaceMechanism` is better.

    Parameters
    ----------
    sensitivity
        Integer L1 sensitivity of the value, under the adjacency of the goal.
    goal
        PureDP or ApproxDP; the delta of an ApproxDP goal is not used.
    dim
        Number of entries of the value.
    numerical_error
        Must be 0, since the values are integers.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.mechanisms import DiscreteLaplaceMechanism
    >>> mechanism = DiscreteLaplaceMechanism.calibrate(1, PureDP(0.5, "add_remove"))
    >>> mechanism.release(42).value.is_integer()
    True
    """

    name: ClassVar[str] = "discrete laplace"
    norm: ClassVar[Norm] = Norm.L1
    tags: ClassVar[tuple[str, ...]] = ("T5",)
    integers: ClassVar[bool] = True

    @classmethod
    def calibrate(cls, sensitivity: int, goal: AnyGuarantee, *, dim: int = 1) -> "DiscreteLaplaceMechanism":
        """Return the mechanism with the least noise that satisfies ``goal``.

        Parameters
        ----------
        sensitivity
            Integer L1 sensitivity of the value, under the adjacency of the goal.
        goal
            PureDP or ApproxDP; the delta of an ApproxDP goal is not used.
        dim
            Number of entries of the value.

        Returns
        -------
        DiscreteLaplaceMechanism
            The calibrated mechanism.

        Raises
        ------
        ParameterError
            If an argument is out of range.
        ConversionError
            If this noise cannot satisfy ``goal``.
        """
        return cls(checks.count("sensitivity", sensitivity, SENSITIVITY), goal, dim)

    @cached_property
    def calibration(self) -> Calibration:
        """Calibration with scale Delta / epsilon; the grid is the integers, so the value is not rounded."""
        if self.numerical_error or not float(self.statistic.sensitivity).is_integer():
            raise ParameterError(
                argument="sensitivity",
                rule=f"must be a whole number, and {arg('numerical_error')} must be 0: integers are exact",
            )
        scale = quotient_up(self.statistic.sensitivity, pure_epsilon(self.goal, type(self).__name__))
        if scale < SMALLEST_SCALE:
            raise ParameterError(
                argument="goal", rule=f"must have epsilon at most {1 / SMALLEST_SCALE:g} per unit of sensitivity"
            )
        if scale > LARGEST_SCALE:
            raise ParameterError(
                argument="sensitivity",
                rule="must be at most 2^52 epsilon: larger integers are not exact doubles",
            )
        return Calibration(scale, Grid(0), self.statistic.sensitivity)

    @cached_property
    def event(self) -> Event:
        """Pure event with epsilon = Delta / scale, rounded up; at most the epsilon of the goal."""
        return Pure(quotient_up(self.calibration.sensitivity, self.scale), self.goal.adjacency)

    @property
    def law(self) -> Law:
        """Discrete Laplace distribution on the integers."""
        return Law("discrete Laplace noise on the integers, drawn exactly")

    @property
    def standard_deviation(self) -> float:
        """Standard deviation sqrt(2 q) / (1 - q) of the noise in one coordinate, with q = e^(-1/s) for scale s."""
        return discrete_laplace_deviation(self.scale)

    def error_bound(self, probability: float) -> float:
        """Return the smallest integer t with P(abs(noise) > t) <= probability, for one coordinate.

        Parameters
        ----------
        probability
            Probability that the bound is exceeded, in (0, 1).

        Returns
        -------
        float
            Bound on the absolute error of one coordinate.
        """
        return discrete_laplace_bound(self.scale, probability)

    def noisy(self, value: Floats, stream: Stream) -> Floats:
        """Return ``value`` plus discrete Laplace noise, drawn exactly.

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
        return self.calibration.grid.plus(value, discrete_laplace(self.scale, len(value), stream))
