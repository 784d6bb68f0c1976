# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private mean of bounded numbers."""

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.releases import parameters, records, sensitivities
from dperm.mechanisms.releases.clipping import ClippedNumbers
from dperm.mechanisms.releases.fixed_point import FixedPoint, Totals, add_totals, fixed_point
from dperm.mechanisms.releases.mechanism_choice import mechanism_for
from dperm.mechanisms.releases.noisy_statistic import NoisyStatistic
from dperm.mechanisms.releases.table_columns import Records, total
from dperm.noise.arrays import Floats
from dperm.privacy import Adjacency


@dataclass(frozen=True)
class Mean(NoisyStatistic[float]):
    """Mean of numbers clipped to public bounds.

    Let m be the middle of the interval [low, high] of the bounds, and h half its width.

    - Under replace-one, the number n of records is public. The sum of x - m over the clipped numbers x has sensitivity
      high - low, and the released value is m + (sum + noise)/n. The mean has sensitivity (high - low)/n (T5). The
      released value is an unbiased estimate of the mean of the clipped numbers, and may lie outside the bounds.
    - Under add/remove, n is private. One release adds noise to the pair (sum of x - m, h n). The pair has L1
      sensitivity 2h and L2 sensitivity sqrt(2) h. The released value is m + sum / max(n, 1), computed from the noisy
      sum and the noisy n and clipped to [low, high].

    Parameters
    ----------
    goal
        Guarantee of one release.
    bounds
        Public bounds (low, high) to which the numbers are clipped.
    n
        Number of records. Required under replace-one, where the data must have exactly n records. Must be None under
        add/remove, where the number of records is private.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.mechanisms.releases import Mean
    >>> income = Mean(PureDP(0.1, "replace_one"), bounds=(0.0, 1.0), n=10_000)
    >>> round(income.mechanism.scale / 10_000, 6)
    0.001
    >>> Mean(PureDP(0.1, "add_remove"), bounds=(0.0, 1.0)).release([0.25, 0.75]).guarantee
    PureDP(epsilon=0.1, adjacency=ADD_REMOVE)
    """

    bounds: tuple[float, float]
    _: KW_ONLY
    n: int | None = None

    name: ClassVar[str] = "mean"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._set(bounds=parameters.interval("bounds", self.bounds))
        self._set(n=parameters.public_n(self.n, self.adjacency))

    @cached_property
    def clip(self) -> ClippedNumbers:
        """Clipping of the numbers to the bounds."""
        return ClippedNumbers(*self.bounds)

    @property
    def public(self) -> dict[str, object]:
        """Bounds, and n under replace-one."""
        return {"bounds": self.bounds, "n": self.n}

    @cached_property
    def fixed_point(self) -> FixedPoint:
        """Fixed-point format with steps of at most 2^-20 of the sensitivity."""
        return fixed_point(self.clip.exponent, l2=self._sensitivity[1], dim=self._dim)

    @cached_property
    def mechanism(self) -> AdditiveMechanism:
        """Mechanism that adds noise, calibrated to the sensitivity of the sum, or of the pair under add/remove."""
        l1, l2 = self._sensitivity
        return mechanism_for(self.goal, l1=l1, l2=l2, dim=self._dim, rounding=self.fixed_point.rounding)

    @property
    def standard_error(self) -> float | None:
        """Standard deviation of the noise divided by n; None under add/remove, where n is private."""
        return None if self.n is None else self.mechanism.standard_deviation / self.n

    def totals(self, data: Records) -> Totals:
        """Return the exact sum of x - m and, under add/remove, h n. The result is **not private**.

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
        (centered,), found = total(self.clip.sums, add_totals, data)
        records.require_records(found, self.n)
        count = [self.clip.radius * found] if self.adjacency is Adjacency.ADD_REMOVE else []
        return Totals([centered, *count], found)

    def finished(self, noisy: Floats, n: int | None) -> float:
        """Return m plus the noisy sum of x - m divided by the public n or by the noisy n.

        If n is noisy, the result is clipped to the bounds.

        Parameters
        ----------
        noisy
            Noisy statistic.
        n
            Public number of records; None if it is private.

        Returns
        -------
        float
            Value to release.
        """
        centered, middle = Fraction(float(noisy[0])), self.clip.middle * self.clip.step
        if n is not None:
            return float(middle + centered / n)
        count = Fraction(float(noisy[1])) / (self.clip.radius * self.clip.step)
        low, high = self.bounds
        return min(high, max(low, float(middle + centered / max(count, Fraction(1)))))

    @property
    def _dim(self) -> int:
        return 1 if self.adjacency is Adjacency.REPLACE_ONE else 2

    @property
    def _sensitivity(self) -> tuple[float, float]:
        """L1 and L2 sensitivities of the sum, or of the pair."""
        if self.adjacency is Adjacency.REPLACE_ONE:
            return self.clip.sensitivity(self.adjacency)
        return (
            sensitivities.centred_sum_and_count_l1(self.clip.width),
            sensitivities.centred_sum_and_count_l2(self.clip.width),
        )
