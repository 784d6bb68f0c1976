# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sums of bounded numbers, and of rows of bounded norm."""

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, cast

from numpy.typing import ArrayLike

from dperm import checks
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.goal import checked_goal
from dperm.mechanisms.releases import parameters
from dperm.mechanisms.releases.bounded import ClippedNumbers
from dperm.mechanisms.releases.choosing import mechanism_for
from dperm.mechanisms.releases.fixed_point import FixedPoint, Totals, fixed_point
from dperm.mechanisms.releases.noisy import NoisyStatistic
from dperm.mechanisms.releases.rows import ClippedRows
from dperm.mechanisms.values import Numbers
from dperm.noise.arrays import Floats
from dperm.privacy import Adjacency

MOST_DIM = 2**20


@dataclass(frozen=True)
class Sum(NoisyStatistic[Numbers]):
    """The sum of records that are clipped to public bounds: numbers to an interval, or rows to an L2 norm.

    Records become integers on a public grid and are summed exactly, so no order and no cancellation changes what is
    proved. The exact total is rounded to a public step, 2^-20 of the sensitivity, which the noise pays for
    (`fixed_point`).

    Parameters
    ----------
    goal
        The guarantee of one release.
    bounds
        (low, high): numbers, one per record, are clipped to [low, high]. Sensitivity max(-low, high) under
        add/remove, high - low under replace-one.
    norm, dim
        Rows of ``dim`` numbers, one per record, are clipped to this L2 norm C. Sensitivity C under add/remove, 2C under
        replace-one, in L2.

    Examples
    --------
    >>> from dperm import GDP
    >>> from dperm.mechanisms.releases import Sum
    >>> Sum(GDP(1.0, "add_remove"), bounds=(-5.0, 10.0)).event
    Gaussian(noise_multiplier=1.0)
    >>> gradients = Sum(GDP(0.5, "add_remove"), norm=1.0, dim=3)
    >>> gradients.event
    Gaussian(noise_multiplier=2.0)
    >>> gradients.release([[0.1, 0.2, 0.3], [40.0, 0.0, 0.0]]).value.shape
    (3,)
    """

    bounds: tuple[float, float] | None = None
    _: KW_ONLY
    norm: float | None = None
    dim: int | None = None

    name: ClassVar[str] = "sum"

    def __post_init__(self) -> None:
        """Check everything and calibrate, before any data is seen."""
        set_field = object.__setattr__
        set_field(self, "goal", checked_goal(self.goal))
        if (self.bounds is None) == (self.norm is None):
            raise ParameterError("bounds (for numbers) or norm (for rows) must be given, and not both.")
        if self.norm is None:
            set_field(self, "bounds", parameters.interval("bounds", self.bounds))
            if self.dim is not None:
                raise ParameterError(
                    f"dim must be left out with bounds, got {shown(self.dim)}. Rows need norm= and dim=."
                )
        else:
            set_field(self, "norm", parameters.norm_bound("norm", self.norm))
            set_field(self, "dim", checks.count("dim", self.dim, "It is the length of a row.", most=MOST_DIM))
        self.facts  # noqa: B018  # everything follows from the parameters

    @cached_property
    def clip(self) -> ClippedNumbers | ClippedRows:
        """How records are bounded."""
        if self.bounds is not None:
            return ClippedNumbers(*self.bounds)
        return ClippedRows(cast(float, self.norm), cast(int, self.dim))

    @property
    def public(self) -> dict[str, object]:
        """The bounds."""
        return {"bounds": self.bounds} if self.bounds is not None else {"norm": self.norm}

    @cached_property
    def fixed_point(self) -> FixedPoint:
        """Multiples of 2^-20 of the sensitivity, over sqrt(d)."""
        _, l2 = self.clip.sensitivity(self.adjacency)
        return fixed_point(self.clip.exponent, l2=l2, dim=self.dim or 1)

    @cached_property
    def mechanism(self) -> AdditiveMechanism:
        """Noise to the sensitivity of the sum."""
        l1, l2 = self.clip.sensitivity(self.adjacency)
        return mechanism_for(self.goal, l1=l1, l2=l2, dim=self.dim or 1, rounding=self.fixed_point.rounding)

    @property
    def offset(self) -> int:
        """What is subtracted from each number, in steps, and put back after the noise: nothing where n is private.

        Under replace-one it is the middle of the interval: the sum stays small however far the interval is from 0.
        """
        return self.clip.middle if self.adjacency is Adjacency.REPLACE_ONE else 0

    @property
    def standard_error(self) -> float:
        """That of the noise, for every entry."""
        return self.mechanism.standard_deviation

    def totals(self, data: ArrayLike) -> Totals:
        """The exact sum, relative to `offset` for each record, which is **not private**."""
        sums, found = self.clip.sums(data)
        moved = found * (self.clip.middle - self.offset)
        return Totals([total + moved for total in sums], found)

    def finished(self, noisy: Floats, n: int | None) -> Numbers:
        """The sum, with the offset of public n records put back: a float for numbers, an array for rows."""
        if self.bounds is None:
            return noisy
        return float(Fraction(float(noisy[0])) + (n or 0) * self.offset * self.clip.step)
