# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private count of records with a property."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.releases import records, sensitivities
from dperm.mechanisms.releases.fixed_point import INTEGERS, FixedPoint, Totals, add_totals
from dperm.mechanisms.releases.mechanism_choice import mechanism_for
from dperm.mechanisms.releases.noisy_statistic import NoisyStatistic
from dperm.mechanisms.releases.table_columns import Records, total
from dperm.noise.arrays import Floats


@dataclass(frozen=True)
class Count(NoisyStatistic[int]):
    """Number of records with the value True, plus noise calibrated to sensitivity 1 (T5, T6).

    The data contain one Boolean value per record (True or False, or 1 or 0). The released value is the noisy count,
    rounded to the nearest integer. The value can be negative, or larger than any possible count. Replacing a negative
    value with 0 costs no privacy, but biases small counts upwards.

    Parameters
    ----------
    goal
        Guarantee of one release. Laplace noise is used for PureDP and most ApproxDP goals, and Gaussian noise for the
        other goals.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.mechanisms.releases import Count
    >>> adults = Count(PureDP(0.5, "add_remove"))
    >>> adults.mechanism.name, round(adults.mechanism.scale, 6)
    ('laplace', 2.0)
    >>> adults.release([True, False, True]).guarantee
    PureDP(epsilon=0.5, adjacency=ADD_REMOVE)
    """

    name: ClassVar[str] = "count"

    @property
    def public(self) -> dict[str, object]:
        """Empty mapping, because a count has no public constants besides the goal."""
        return {}

    @property
    def fixed_point(self) -> FixedPoint:
        """Fixed-point format with step 1: integers are not rounded."""
        return INTEGERS

    @cached_property
    def mechanism(self) -> AdditiveMechanism:
        """Mechanism that adds noise, calibrated to sensitivity 1 in the L1 and L2 norms."""
        sensitivity = sensitivities.count(self.adjacency)
        return mechanism_for(self.goal, l1=sensitivity, l2=sensitivity)

    @property
    def standard_error(self) -> float:
        """Standard deviation of the noise, before the value is rounded to an integer."""
        return self.mechanism.standard_deviation

    def totals(self, data: Records) -> Totals:
        """Return the exact count, which is **not private**.

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
        return total(_count_true, add_totals, data)

    def finished(self, noisy: Floats, n: int | None) -> int:
        """Return the noisy count rounded to the nearest integer, which may be negative.

        Parameters
        ----------
        noisy
            Noisy statistic.
        n
            Public number of records; None if it is private.

        Returns
        -------
        int
            Value to release.
        """
        return round(float(noisy[0]))


def _count_true(data: ArrayLike) -> Totals:
    """Return the exact count of the records that are True. Not private."""
    flags = records.flags(data)
    return Totals([int(np.count_nonzero(flags))], len(flags))
