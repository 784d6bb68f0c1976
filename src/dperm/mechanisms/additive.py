# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Base class of additive-noise mechanisms."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from numpy.typing import ArrayLike

from dperm.accounting.budget import Budget
from dperm.mechanisms.calibration import Calibration, ValueSensitivity
from dperm.mechanisms.mechanism import Law as Law
from dperm.mechanisms.mechanism import Mechanism
from dperm.mechanisms.values import Numbers, require_whole, scalar_or_array, vector
from dperm.noise.arrays import Floats, Integers
from dperm.noise.bits import Bits, Stream
from dperm.noise.grid import Grid, Norm
from dperm.privacy import Release
from dperm.privacy.guarantee import AnyGuarantee


@dataclass(frozen=True)
class AdditiveMechanism(Mechanism[Floats, Numbers]):
    """Value plus noise; the constructor calibrates the noise to a sensitivity and a goal.

    Parameters
    ----------
    sensitivity
        Sensitivity of the value in the mechanism's norm, under the goal's adjacency.
    goal
        Guarantee of one release.
    dim
        Number of entries of the value.
    numerical_error
        Bound on the error of the computed value, in the mechanism's norm, for every data set. Twice this bound is added
        to the sensitivity.

    Notes
    -----
    **Guarantees.** Each release satisfies ``goal`` for values of the declared sensitivity. Rounding to the grid and the
    numerical error are part of the calibration (T10a, T10b).
    """

    sensitivity: float
    goal: AnyGuarantee
    dim: int = 1
    numerical_error: float = 0.0

    name: ClassVar[str]
    norm: ClassVar[Norm]
    tags: ClassVar[tuple[str, ...]]
    integers: ClassVar[bool] = False
    """Whether values must be whole numbers."""

    @cached_property
    def statistic(self) -> ValueSensitivity:
        """Checked sensitivity, dimension, norm and numerical error of the value."""
        return ValueSensitivity(self.sensitivity, self.dim, self.norm, self.numerical_error)

    @cached_property
    @abstractmethod
    def calibration(self) -> Calibration:
        """Noise scale, grid, and sensitivity of the rounded value."""

    @property
    def scale(self) -> float:
        """Scale of the noise: the standard deviation of Gaussian noise, or b of Laplace or gamma-norm noise."""
        return self.calibration.scale

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """Standard deviation of the noise in one coordinate; unlike ``scale``, it is comparable between mechanisms."""

    @abstractmethod
    def error_bound(self, probability: float) -> float:
        """Return the t with P(abs(noise) > t) = probability, for one coordinate; 0.05 gives a 95 % bound.

        Parameters
        ----------
        probability
            Probability that the bound is exceeded, in (0, 1).

        Returns
        -------
        float
            Bound on the absolute error of one coordinate.
        """

    @abstractmethod
    def noisy(self, value: Floats, stream: Stream) -> Floats:
        """Return the value plus noise, without charging a budget.

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

    @property
    def theorems(self) -> tuple[str, ...]:
        """Theorem tags of the noise distribution and of the grid (T10)."""
        return (*self.tags, "T10")

    @property
    def public_constants(self) -> dict[str, object]:
        """Sensitivity, noise scale and grid."""
        return {
            "mechanism": self.name,
            "sensitivity": self.statistic.sensitivity,
            "sensitivity_norm": self.norm.name,
            "numerical_error": self.statistic.numerical_error,
            "dim": self.statistic.dim,
            "noise_scale": self.scale,
            "noise_standard_deviation": self.standard_deviation,
            "grid": self.calibration.grid.step,
        }

    def release(self, value: ArrayLike, budget: Budget | None = None, *, bits: Bits | None = None) -> Release[Numbers]:
        """Release ``value`` plus noise, in the shape of ``value``; a scalar gives a float.

        Parameters
        ----------
        value
            ``dim`` finite real numbers, in any shape.
        budget
            Budget to charge; None charges nothing.
        bits
            Source of randomness; ``NotPrivateBits(seed)`` makes the release reproducible and NOT PRIVATE.

        Returns
        -------
        Release
            Noisy value, with guarantee, profile, event and record.

        Raises
        ------
        DataError
            If the value does not have ``dim`` finite entries. Nothing is charged, and the message contains no value.
        BudgetError
            If ``budget`` does not cover the event; nothing is charged.

        Notes
        -----
        **Guarantees.** The release satisfies the goal (T10a). The budget is charged before noise is drawn.

        ==========================  ===============================
        value                       result
        ==========================  ===============================
        nan, inf, empty, masked     DataError before the charge
        integers beyond 2^53        DataError before the charge
        0-dimensional               a float
        ==========================  ===============================
        """
        return self._release(lambda: self.checked(value), budget, bits)

    def checked(self, value: ArrayLike) -> Floats:
        """Return the value as doubles, after checking it.

        Parameters
        ----------
        value
            ``dim`` finite real numbers, in any shape; integers if the mechanism requires them.

        Returns
        -------
        ndarray
            Array of doubles, in the shape of ``value``.

        Raises
        ------
        DataError
            If the value is invalid. The message contains no value.
        """
        found = vector("value", value, self.statistic.dim)
        return require_whole("value", found) if self.integers else found

    def _draw(self, value: Floats, stream: Stream) -> Numbers:
        return scalar_or_array(self.noisy(value.ravel(), stream).reshape(value.shape))


def on_grid(grid: Grid, value: Floats, noise: Integers) -> Floats:
    """Return ``value`` rounded to the grid plus ``noise`` steps (T10a, T10d)."""
    return grid.plus(grid.rounded(value), noise)
