# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private sums of bounded numbers and of rows of bounded norm."""

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, cast

from dperm import checks
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.releases import parameters
from dperm.mechanisms.releases.clipping import ClippedNumbers, ClippedRows
from dperm.mechanisms.releases.fixed_point import FixedPoint, Totals, add_totals, fixed_point
from dperm.mechanisms.releases.mechanism_choice import mechanism_for
from dperm.mechanisms.releases.noisy_statistic import NoisyStatistic
from dperm.mechanisms.releases.table_columns import NUMBERS, Layout, Records, total
from dperm.mechanisms.values import Numbers
from dperm.noise.arrays import Floats
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency

MOST_DIM = 2**20


@dataclass(frozen=True)
class Sum(NoisyStatistic[Numbers]):
    """Sum of numbers clipped to a public interval, or of rows clipped to a public L2 norm.

    The clipped records are rounded to a public grid and summed exactly as integers. The sensitivity bound therefore
    also holds for the computed sum, for any order of the records and any amount of cancellation. The exact total is
    then rounded to a multiple of a public step size, which is at most 2^-20 times the sensitivity (`fixed_point`). The
    noise accounts for this rounding. Either ``bounds`` or ``norm`` and ``dim`` must be given.

    Parameters
    ----------
    goal
        Guarantee of one release.
    bounds
        For one number per record: public bounds (low, high) to which the numbers are clipped. The sensitivity is
        max(-low, high) under add/remove, and high - low under replace-one.
    norm, dim
        For one row per record: public L2 norm C to which the rows are clipped, and number of entries of a row. The L2
        sensitivity is C under add/remove, and 2C under replace-one.

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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if (self.bounds is None) == (self.norm is None):
            raise ParameterError(
                f"{arg('bounds')} (for numbers) or {arg('norm')} (for rows) must be given, and not both."
            )
        if self.norm is None:
            self._set(bounds=parameters.interval("bounds", self.bounds))
            if self.dim is not None:
                raise ParameterError(
                    argument="dim",
                    rule=f"must be left out with {arg('bounds')}",
                    got=shown(self.dim),
                    remedy=f"For rows, give {arg('norm')} and {arg('dim')}.",
                )
        else:
            self._set(norm=parameters.norm_bound("norm", self.norm))
            self._set(dim=checks.count("dim", self.dim, "Give the length of a row.", most=MOST_DIM))

    @cached_property
    def clip(self) -> ClippedNumbers | ClippedRows:
        """Clipping of the records to the bounds, or to the norm."""
        if self.bounds is not None:
            return ClippedNumbers(*self.bounds)
        return ClippedRows(cast(float, self.norm), cast(int, self.dim))

    @property
    def _layout(self) -> Layout:
        """One column of numbers, or a column for each entry of a row."""
        return NUMBERS if self.dim is None else Layout(self.dim, numeric=self.dim, rows=True)

    @property
    def public(self) -> dict[str, object]:
        """Bounds of the numbers, or norm of the rows."""
        return {"bounds": self.bounds} if self.bounds is not None else {"norm": self.norm}

    @cached_property
    def fixed_point(self) -> FixedPoint:
        """Fixed-point format with steps of at most 2^-20 of the L2 sensitivity divided by sqrt(d), for d entries."""
        _, l2 = self.clip.sensitivity(self.adjacency)
        return fixed_point(self.clip.exponent, l2=l2, dim=self.dim or 1)

    @cached_property
    def mechanism(self) -> AdditiveMechanism:
        """Mechanism that adds noise, calibrated to the sensitivity of the sum."""
        l1, l2 = self.clip.sensitivity(self.adjacency)
        return mechanism_for(self.goal, l1=l1, l2=l2, dim=self.dim or 1, rounding=self.fixed_point.rounding)

    @property
    def offset(self) -> int:
        """Offset subtracted from each number and added back after the noise, in steps of the grid; 0 if n is private.

        Under replace-one, the offset is the middle of the interval, so the sum stays small even if the interval is far
        from 0.
        """
        return self.clip.middle if self.adjacency is Adjacency.REPLACE_ONE else 0

    @property
    def standard_error(self) -> float:
        """Standard deviation of the noise in each entry."""
        return self.mechanism.standard_deviation

    def totals(self, data: Records) -> Totals:
        """Return the exact sum of the records, each reduced by `offset`. The result is **not private**.

        Parameters
        ----------
        data
            Private records.

        Returns
        -------
        Totals
            Exact totals, in units of the fixed-point format.

        Raises
        ------
        DataError
            If the data are invalid.
        """
        sums, found = total(self.clip.sums, add_totals, data)
        moved = found * (self.clip.middle - self.offset)
        return Totals([one + moved for one in sums], found)

    def finished(self, noisy: Floats, n: int | None) -> Numbers:
        """Return the noisy sum. For numbers and a public n, n times the offset is added back.

        Parameters
        ----------
        noisy
            Noisy statistic.
        n
            Public number of records; None if it is private.

        Returns
        -------
        float or ndarray
            A float for numbers, or an array for rows.
        """
        if self.bounds is None:
            return noisy
        return float(Fraction(float(noisy[0])) + (n or 0) * self.offset * self.clip.step)
