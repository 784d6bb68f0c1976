# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Rounding grid for values and noise, and the sensitivity of rounded values (T10b).

The step g is a power of two computed from public numbers alone. Let q(x) be the value x rounded to the grid. Rounding
changes each of the d coordinates by at most g/2, so the distance between the values x and x' of neighbouring data sets
grows by at most d^(1/p) g in the p-norm:

    ||q(x) - q(x')||_p <= ||x - x'||_p + d^(1/p) g.

If every value is computed with an error of at most tau in the p-norm, 2 tau is added to the sensitivity.
"""

import math
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction

import numpy as np

from dperm import checks
from dperm.noise.arrays import Floats, Integers
from dperm.privacy.rounding import round_up

FINENESS = 40
"""A step is at most 2^-40 of the noise scale."""
FINEST = 46
"""A step is at least 2^-47 of the noise scale, so practically all noise is an integer below 2^53."""
ROUNDING_SHARE = 2.0**-20
"""Within these two limits, rounding increases the sensitivity by at most this fraction."""
SCALES = (2.0**-900, 2.0**900)
EXACT = 2**53
"""Integers below this magnitude are exact doubles."""


class Norm(IntEnum):
    """Norm in which a sensitivity is measured."""

    L1 = 1
    L2 = 2


@dataclass(frozen=True)
class Grid:
    """Grid of the multiples of a step 2^exponent.

    Attributes
    ----------
    exponent
        Binary logarithm of the step.

    Examples
    --------
    >>> from dperm.noise.grid import Grid
    >>> Grid(-2).step
    0.25
    """

    exponent: int

    @property
    def step(self) -> float:
        """Distance g = 2^exponent between neighbouring grid points."""
        return math.ldexp(1.0, self.exponent)

    def rounded(self, values: Floats) -> Floats:
        """Return the values, rounded exactly to the nearest multiples of the step, as doubles.

        A double of magnitude at least 2^52 steps is already a multiple of the step. Smaller doubles are multiplied by a
        power of two. This is exact, except for numbers far below half a step, which are rounded to 0 in any case.

        Parameters
        ----------
        values
            Numbers to round.

        Returns
        -------
        ndarray
            Multiples of the step.
        """
        limit = math.ldexp(1.0, 52 + self.exponent)
        large = (values >= limit) | (values <= -limit)
        steps = np.where(large, 0.0, values)
        steps *= math.ldexp(1.0, -self.exponent)
        np.rint(steps, out=steps)
        steps *= self.step
        np.copyto(steps, values, where=large)
        return steps

    def plus(self, values: Floats, noise: Integers) -> Floats:
        """Return ``values`` plus ``noise`` steps of the grid, with each sum rounded once to the nearest double.

        Parameters
        ----------
        values
            Numbers on the grid.
        noise
            Noise, in steps of the grid.

        Returns
        -------
        ndarray
            Sums, as doubles.

        Notes
        -----
        **Guarantees.** Each result is the double nearest to the exact sum, and therefore post-processing of that sum
        (T10d). The low-order bits of the result reveal nothing beyond the exact sum, for summands of any size.
        """
        total = noise.astype(np.float64)
        total *= self.step
        total += values
        if not len(noise) or max(noise.max(), -noise.min()) < EXACT:
            return total
        for place in np.flatnonzero(np.abs(noise) >= EXACT):
            exact = Fraction(float(values[place])) + int(noise[place]) * Fraction(2) ** self.exponent
            total[place] = float(exact)
        return total


def grid_for(scale: float, *, sensitivity: float, dim: int = 1, norm: Norm = Norm.L2) -> Grid:
    """Return the grid for noise of a given scale, from public numbers only.

    Parameters
    ----------
    scale
        Standard deviation of the noise, or scale b of Laplace noise, from 2^-900 to 2^900.
    sensitivity
        Sensitivity of the value before rounding, greater than 0.
    dim
        Number of entries of the value.
    norm
        Norm in which the sensitivity is measured.

    Returns
    -------
    Grid
        The grid.

    Raises
    ------
    ParameterError
        If ``scale`` is out of range.
    """
    scale = checks.between("scale", scale, *SCALES)
    wanted = min(scale * 2.0**-FINENESS, sensitivity * ROUNDING_SHARE / root_up(dim, norm))
    return Grid(math.floor(math.log2(max(wanted, scale * 2.0**-FINEST))))


def sensitivity_on_grid(sensitivity: float, grid: Grid, *, dim: int, norm: Norm, numerical_error: float = 0.0) -> float:
    """Return the sensitivity of the rounded value: Delta + d^(1/p) g + 2 tau, rounded up (T10b).

    Parameters
    ----------
    sensitivity
        Sensitivity Delta before rounding.
    grid
        Grid with step g.
    dim
        Number d of entries of the value.
    norm
        Norm in which the sensitivity is measured, L1 (p = 1) or L2 (p = 2).
    numerical_error
        Bound tau on the error of the computed value in this norm, for every data set.

    Returns
    -------
    float
        Sensitivity on the grid, rounded up.

    Notes
    -----
    **Guarantees.** The result is an upper bound, computed in exact arithmetic and rounded up to a double (T10b).
    """
    rounding = Fraction(root_up(dim, norm)) * Fraction(2) ** grid.exponent
    return round_up(Fraction(sensitivity) + rounding + 2 * Fraction(numerical_error))


def root_up(dim: int, norm: Norm) -> float:
    """Return d^(1/p), the p-norm of a vector of d ones, rounded up.

    Parameters
    ----------
    dim
        Number d of entries.
    norm
        Norm L1 (p = 1) or L2 (p = 2).

    Returns
    -------
    float
        d^(1/p), rounded up.
    """
    if norm is Norm.L1:
        return round_up(Fraction(dim))
    root = math.isqrt(dim << 64)  # sqrt(d) 2^32, rounded down
    exact = root * root == dim << 64
    return round_up(Fraction(root if exact else root + 1, 2**32))
