# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the mechanisms that add noise have in common."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from numpy.typing import ArrayLike

from dperm.accounting.budget import Budget
from dperm.accounting.event import Event
from dperm.mechanisms.calibration import Calibration, Statistic
from dperm.mechanisms.run import Facts, release
from dperm.mechanisms.values import Numbers, integral, plain, vector
from dperm.noise.arrays import Floats, Integers
from dperm.noise.bits import Bits, Stream
from dperm.noise.grade import Grade
from dperm.noise.grid import Grid, Norm
from dperm.privacy import Release
from dperm.privacy.guarantee import AnyGuarantee


@dataclass(frozen=True)
class Law:
    """The law of the noise in words, its grade, and its inexactness (log-ratio, total variation), already paid for."""

    words: str
    grade: Grade = Grade.EXACT
    eta: float = 0.0
    tau: float = 0.0


@dataclass(frozen=True)
class AdditiveMechanism(ABC):
    """A value plus noise that was calibrated to a sensitivity and a goal when the mechanism was made.

    Parameters
    ----------
    sensitivity
        Sensitivity of the value in the mechanism's norm, under the goal's adjacency.
    goal
        The guarantee to be met by one release.
    dim
        Number of entries of the value.
    numerical_error
        Bound in the same norm on the error of the computed value, for every data set; twice it is added to the
        sensitivity.
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

    def __post_init__(self) -> None:
        """Check everything and calibrate, before any data is seen."""
        self.facts  # noqa: B018  # everything follows from the parameters

    @cached_property
    def statistic(self) -> Statistic:
        """The value's public facts, checked."""
        return Statistic(self.sensitivity, self.dim, self.norm, self.numerical_error)

    @cached_property
    @abstractmethod
    def calibration(self) -> Calibration:
        """Scale, grid, and the sensitivity on the grid."""

    @cached_property
    @abstractmethod
    def event(self) -> Event:
        """What one release spends."""

    @property
    def scale(self) -> float:
        """Scale of the noise: a Gaussian's standard deviation, a Laplace law's b."""
        return self.calibration.scale

    @property
    @abstractmethod
    def law(self) -> Law:
        """The law of the noise."""

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """Standard deviation of the noise in one coordinate: comparable between mechanisms, unlike ``scale``."""

    @abstractmethod
    def error_bound(self, probability: float) -> float:
        """What the noise in one coordinate exceeds in magnitude with this probability: 0.05 gives a 95 % interval."""

    @abstractmethod
    def noisy(self, value: Floats, stream: Stream) -> Floats:
        """The flat ``value`` plus noise."""

    @cached_property
    def facts(self) -> Facts:
        """What is known of a release beforehand."""
        return Facts(
            goal=self.goal,
            event=self.event,
            noise=self.law.words,
            theorems=(*self.tags, "T10"),
            grade=self.law.grade,
            eta=self.law.eta,
            tau=self.law.tau,
            public={
                "mechanism": self.name,
                "sensitivity": self.statistic.sensitivity,
                "sensitivity_norm": self.norm.name,
                "numerical_error": self.statistic.numerical_error,
                "dim": self.statistic.dim,
                "noise_scale": self.scale,
                "noise_standard_deviation": self.standard_deviation,
                "grid": self.calibration.grid.step,
            },
        )

    def release(self, value: ArrayLike, budget: Budget | None = None, *, bits: Bits | None = None) -> Release[Numbers]:
        """``value`` plus noise, in the shape of ``value``: a float for a number.

        Parameters
        ----------
        value
            ``dim`` finite real numbers, in any shape.
        budget
            What the release is charged to.
        bits
            Where randomness comes from; ``NotPrivateBits(seed)`` makes the release reproducible and NOT PRIVATE.

        Raises
        ------
        DataError
            If the value has not ``dim`` finite entries; before anything is charged, and without a word about it.
        BudgetError
            If ``budget`` does not cover the event; nothing is charged.
        """
        return release(self.facts, lambda: self.checked(value), self._released, budget=budget, bits=bits)

    def checked(self, value: ArrayLike) -> Floats:
        """``value`` as doubles."""
        found = vector("value", value, self.statistic.dim)
        return integral("value", found) if self.integers else found

    def _released(self, value: Floats, stream: Stream) -> Numbers:
        return plain(self.noisy(value.ravel(), stream).reshape(value.shape))


def on_grid(grid: Grid, value: Floats, noise: Integers) -> Floats:
    """``value`` rounded to the grid plus ``noise`` steps (T10a, T10d)."""
    return grid.plus(grid.rounded(value), noise)
