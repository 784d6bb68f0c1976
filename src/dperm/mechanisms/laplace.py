# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The Laplace mechanism (T5), and its discrete sibling for integers."""

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
    pushed,
    sensitivity_up,
)
from dperm.mechanisms.goal import laplace_epsilon, pure_epsilon, quotient_up
from dperm.noise.arrays import Floats
from dperm.noise.bits import Stream
from dperm.noise.grid import Grid, Norm, root_up
from dperm.noise.integer_noise import LARGEST_SCALE, SMALLEST_SCALE, discrete_laplace, rounded_laplace
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import round_up


@dataclass(frozen=True)
class LaplaceMechanism(AdditiveMechanism):
    """A value plus independent Laplace noise, calibrated to an L1 sensitivity and a goal (T5).

    The goal is PureDP or ApproxDP; a delta is used, though it saves little. See `AdditiveMechanism` for the parameters.

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
        """The mechanism with the least noise that meets ``goal``."""
        return cls(sensitivity, goal, dim, numerical_error)

    @classmethod
    def calibrate_l2(
        cls, sensitivity: float, goal: AnyGuarantee, *, dim: int, numerical_error: float = 0.0
    ) -> "LaplaceMechanism":
        """The mechanism for an L2 sensitivity and error: ||x||_1 <= sqrt(d) ||x||_2.

        Exactly pure at any size. Its noise is sqrt(2d/(d + 1)) times that of `GammaNormMechanism` in root mean square.
        """
        root = Fraction(root_up(checks.count("dim", dim), Norm.L2))
        moved = Fraction(sensitivity_up("sensitivity", sensitivity))
        error = Fraction(error_up("numerical_error", numerical_error))
        return cls(round_up(root * moved), goal, dim, round_up(root * error))

    @cached_property
    def calibration(self) -> Calibration:
        """The scale b = Delta' / epsilon0 with the epsilon0 that T5 allows, certified by the accountant."""
        return pushed(calibration(self.statistic, laplace_epsilon(self.goal)), Certificate(self.goal, Laplace))

    @cached_property
    def event(self) -> Event:
        """What one release spends."""
        return noise_event(Laplace, self.calibration, self.goal.adjacency)

    @property
    def law(self) -> Law:
        """The continuous law, rounded."""
        return Law(f"Laplace rounded to the grid 2^{self.calibration.grid.exponent}, drawn exactly")

    @property
    def standard_deviation(self) -> float:
        """Of one coordinate: sqrt(2) b."""
        return math.sqrt(2) * self.scale

    def error_bound(self, probability: float) -> float:
        """What the noise in one coordinate exceeds in magnitude with this probability."""
        return laplace_bound(self.scale, probability)

    def noisy(self, value: Floats, stream: Stream) -> Floats:
        """``value`` plus Laplace noise, exactly, on the grid."""
        return on_grid(self.calibration.grid, value, rounded_laplace(self.calibration.steps, len(value), stream))


@dataclass(frozen=True)
class DiscreteLaplaceMechanism(AdditiveMechanism):
    """Integers plus discrete Laplace noise, ``P(z) ~ e^-|z| epsilon/Delta``: the geometric mechanism (T5, T5a).

    For shifts of integers by k the ratio is at most ``e^(|k|_1 epsilon/Delta)``: it is exactly epsilon-DP, and nothing
    is rounded. Its curve lies above that of Laplace noise (at shift 1 and scale s its total variation is tanh(1/2s),
    not 1 - e^-1/2s), so its event is `Pure`: for one release of counts it is the best, in long compositions
    `LaplaceMechanism` is.

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
        """The mechanism with the least noise that meets ``goal``, PureDP or ApproxDP; the sensitivity is an integer."""
        return cls(checks.count("sensitivity", sensitivity, SENSITIVITY), goal, dim)

    @cached_property
    def calibration(self) -> Calibration:
        """The scale Delta / epsilon on the integers."""
        if self.numerical_error or not float(self.statistic.sensitivity).is_integer():
            raise ParameterError("sensitivity must be a whole number, and numerical_error 0: integers are exact.")
        scale = quotient_up(self.statistic.sensitivity, pure_epsilon(self.goal, type(self).__name__))
        if scale < SMALLEST_SCALE:
            raise ParameterError(f"goal must have epsilon at most {1 / SMALLEST_SCALE:g} per unit of sensitivity.")
        if scale > LARGEST_SCALE:
            raise ParameterError("sensitivity / epsilon must be at most 2^52: larger integers are not exact doubles.")
        return Calibration(scale, Grid(0), self.statistic.sensitivity)

    @cached_property
    def event(self) -> Event:
        """What one release spends: Delta / scale, rounded up, which is at most the goal's epsilon."""
        return Pure(quotient_up(self.calibration.sensitivity, self.scale), self.goal.adjacency)

    @property
    def law(self) -> Law:
        """The discrete law."""
        return Law("discrete Laplace on the integers, drawn exactly")

    @property
    def standard_deviation(self) -> float:
        """Of one coordinate: sqrt(2 q) / (1 - q), q = e^-1/s."""
        return discrete_laplace_deviation(self.scale)

    def error_bound(self, probability: float) -> float:
        """The least whole number that the noise exceeds in magnitude with at most this probability."""
        return discrete_laplace_bound(self.scale, probability)

    def noisy(self, value: Floats, stream: Stream) -> Floats:
        """``value`` plus discrete Laplace noise."""
        return self.calibration.grid.plus(value, discrete_laplace(self.scale, len(value), stream))
