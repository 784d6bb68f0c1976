# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Weights e^-x with x = unit (cost - least), in floating point with a proved error and as rational bounds (T10).

Costs and the unit are exact numbers: doubles, or a fraction for the unit. Their *difference* is not always a double,
so no decision rests on a rounded difference alone. `Exponents.floats` is a filter, `Exponents.bounds` is rigorous.

**Error of the filter**, with u = 2^-53. The unit, the difference and the product are rounded once each, so the computed
x has an error of at most 3.01 u x + 2^-1074. Up to x = 700 this changes e^-x by a factor of at most 1 +- 2108 u. The
analysis assumes 4 units in the last place (8 u) for numpy's exponential, whose actual error is at most one unit.
Together, for the computed weight,

    |computed - e^-x| <= 2^-41.9 e^-x   if x <= 700,     and     <= 1.01 e^-700   otherwise,

since larger x are cut to 700. In absolute terms, because x e^-x <= 1/e, the error is below 10 u < 2^-49. The cut also
avoids slow subnormal weights, so the time does not depend on the costs.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dperm import checks
from dperm.errors import ParameterError
from dperm.noise.arrays import Floats
from dperm.noise.rational_bounds import Bounds, exp_bounds

UNITS = (2.0**-900, 2.0**900)
"""Range of units, in which an overflowing cost difference is an exponent beyond 2^124, and nothing else overflows."""
CUT = 700.0
_UNIT = "It is the exponent per unit of cost."


@dataclass(frozen=True, eq=False)
class Exponents:
    """Exponents x_h = unit (costs[h] - least) of an array of finite costs, none below ``least``."""

    costs: Floats
    unit: float | Fraction
    least: float

    def __post_init__(self) -> None:
        """Check the arguments; messages reveal nothing about the costs, since they may be private."""
        checks.between("unit", self.unit, *UNITS, _UNIT)
        costs = self.costs
        if costs.dtype != np.float64 or costs.ndim != 1 or not len(costs) or not np.isfinite(costs).all():
            raise ParameterError(argument="costs", rule="must be a non-empty one-dimensional array of finite doubles")
        if costs.min() < self.least:
            raise ParameterError(argument="costs", rule="must not be below the least cost: e^-x must be a probability")

    @cached_property
    def floats(self) -> Floats:
        """Weights e^-x in floating point; the module docstring states their error."""
        with np.errstate(over="ignore", under="ignore"):  # a warning would reveal something about the costs
            x = self.costs - self.least
            x *= float(self.unit)
            np.minimum(x, CUT, out=x)
            np.negative(x, out=x)
            return np.exp(x, out=x)

    def bounds(self, place: int, digits: int) -> Bounds:
        """Return (lower, upper) bounds on e^-x of one cost, at most about 10^-digits apart."""
        gap = Fraction(float(self.costs[place])) - Fraction(self.least)
        return weight_bounds(Fraction(self.unit) * gap, digits)


def weight_bounds(exponent: Fraction, digits: int) -> Bounds:
    """Return (lower, upper) bounds on e^-exponent for exponent >= 0, at most about 10^-digits apart; exact at 0.

    For exponents beyond 4 digits, (0, 10^-digits) suffices and avoids long computations.
    """
    if exponent == 0:
        return Fraction(1), Fraction(1)
    if exponent > 4 * digits:
        return Fraction(0), Fraction(1, 10**digits)
    low, high = exp_bounds(exponent, digits)
    return low, min(high, Fraction(1))
