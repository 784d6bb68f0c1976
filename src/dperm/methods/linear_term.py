# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Random linear term b'theta of objective perturbation, drawn exactly and rounded to a grid.

The theorems are about continuous b. The solver sees b rounded, b + e with ||e|| <= sqrt(d) g/2. The rounding error is
part of its residual (T43), so the distribution of b is exact. Entries below 2^53 steps, a thousand deviations, are
exact doubles.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dperm.data.arrays import Floats
from dperm.errors import ParameterError
from dperm.mechanisms.accuracy import gamma_norm_deviation
from dperm.mechanisms.mechanism import Law
from dperm.noise.arrays import Integers
from dperm.noise.bits import Stream
from dperm.noise.gamma_norm import MOST_DIM, gamma_norm
from dperm.noise.grid import Grid, Norm, root_up
from dperm.noise.integer_noise import rounded_gaussian
from dperm.presentation.spelling import quoted_arg
from dperm.privacy.rounding import round_up

FINENESS = 42
"""The step of the grid is between 2^-43 and 2^-42 of one entry's deviation."""


@dataclass(frozen=True)
class LinearTerm(ABC):
    """Noise b of ``dim`` entries; ``scale`` is sigma of a Gaussian, s of a density ~ e^(-||b||/s)."""

    scale: float
    dim: int

    name: ClassVar[str]

    @property
    @abstractmethod
    def deviation(self) -> float:
        """Standard deviation of one entry."""

    @property
    @abstractmethod
    def longest(self) -> float:
        """Norm exceeded by ||b|| with probability below 2^-200."""

    @abstractmethod
    def steps(self, stream: Stream) -> Integers:
        """Return a draw in steps of the grid, rounded to the nearest."""

    @property
    def grid(self) -> Grid:
        """Grid of the draws; its step follows from the deviation alone."""
        return Grid(math.floor(math.log2(self.deviation)) - FINENESS)

    @property
    def rounding(self) -> float:
        """Bound on ||e||, e the rounding of b to the grid: sqrt(d) g/2, rounded up."""
        return round_up(Fraction(root_up(self.dim, Norm.L2)) * Fraction(2) ** (self.grid.exponent - 1))

    @property
    def words(self) -> str:
        """Description of the distribution and its grid."""
        return Law.on_grid(self.family, self.grid.exponent).words

    @property
    def family(self) -> str:
        """Description of the distribution without its grid."""
        return f"{self.name.replace(' ', '-')} noise"

    def draw(self, stream: Stream) -> Floats:
        """Return one draw of b, rounded to the grid."""
        return self.grid.plus(np.zeros(self.dim), self.steps(stream))


@dataclass(frozen=True)
class GaussianTerm(LinearTerm):
    """Gaussian noise, b ~ N(0, sigma^2 I)."""

    name: ClassVar[str] = "Gaussian"

    @property
    def deviation(self) -> float:
        """Standard deviation sigma of one entry."""
        return self.scale

    @property
    def longest(self) -> float:
        """Norm sigma (sqrt(d) + 17).

        ||b|| is sigma-Lipschitz in d normals, so the tail is below e^{-17^2/2} < 2^-200.
        """
        return self.scale * (math.sqrt(self.dim) + 17)

    def steps(self, stream: Stream) -> Integers:
        """Return independent Gaussian entries in steps of the grid (T6)."""
        return rounded_gaussian(self.scale / self.grid.step, self.dim, stream)


@dataclass(frozen=True)
class GammaNormTerm(LinearTerm):
    """Gamma-norm noise, b of density proportional to e^(-||b||/s) (T7).

    Raises
    ------
    ParameterError
        For more than 2^20 entries, the most that are drawn exactly.
    """

    name: ClassVar[str] = "gamma norm"

    def __post_init__(self) -> None:
        """Refuse more entries than the sampler draws exactly."""
        if self.dim > MOST_DIM:
            raise ParameterError(
                argument="dim",
                rule=f"must be at most {MOST_DIM:,} for gamma-norm noise in the objective",
                got=f"{self.dim:,}",
                remedy=f"Set delta > 0 for Gaussian noise, or use {quoted_arg('method', 'output')}.",
            )

    @property
    def deviation(self) -> float:
        """Standard deviation sqrt(d + 1) s of one entry."""
        return gamma_norm_deviation(self.scale, self.dim)

    @property
    def longest(self) -> float:
        """Norm s (d + t), t = 17 sqrt(d) + 140.

        P(||b|| > s (d + t)) <= e^{-t + d log(1 + t/d)} < 2^-200 for every d.
        """
        return self.scale * (self.dim + 17 * math.sqrt(self.dim) + 140)

    def steps(self, stream: Stream) -> Integers:
        """Return one gamma-norm vector in steps of the grid (T7)."""
        return gamma_norm(self.scale / self.grid.step, self.dim, stream)
