# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Values discovered by a threshold on noisy counts, and the probability that a fresh value is shown (T73)."""

import math
from dataclasses import dataclass
from typing import ClassVar

from scipy.special import ndtr

from dperm import checks
from dperm.accounting.event import Json, Orders, SingleEvent
from dperm.accounting.events import MULTIPLIERS
from dperm.accounting.laws.failure import LossWithFailure
from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.checks import shown
from dperm.errors import ConversionError, ParameterError
from dperm.privacy.adjacency import Adjacency, Direction

MOST_VALUES = 10**6
LARGEST_THRESHOLD = 1e15
THRESHOLD = "A value that one record holds has a count of 1, and the threshold must not lie below it."
VALUES = "It is the largest number of values that one record holds, one for each column."
_TAIL = 4e-12  # relative error of a normal tail, with the rounding of its argument at up to 39 deviations


def fresh_value_probability(threshold: float, standard_deviation: float, values: int) -> float:
    """Return 1 - Phi((threshold - 1)/standard_deviation)^values, rounded up (T73).

    This bounds the probability that at least one value held by only one record is released.

    Parameters
    ----------
    threshold
        Threshold of the noisy counts, from 1 to 1e15.
    standard_deviation
        Standard deviation of the noise on each count, positive.
    values
        Number of values of one record, from 1 to 1,000,000.

    Returns
    -------
    float
        Probability, rounded up; always positive.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    tau, values = checked_threshold(threshold), checked_values(values)
    distance = (tau - 1) / checks.positive("standard_deviation", standard_deviation)
    tail = float(ndtr(-distance)) * (1 + _TAIL)  # exact to a few units, also where it is tiny
    found = -math.expm1(values * math.log1p(-tail))
    return min(math.nextafter(found * (1 + _TAIL), math.inf), 1.0)


def checked_threshold(threshold: object) -> float:
    """Return the threshold; raise ParameterError outside [1, 1e15]."""
    return checks.between("threshold", threshold, 1.0, LARGEST_THRESHOLD, THRESHOLD)


def checked_values(values: object) -> int:
    """Return the number of values of one record; raise ParameterError outside 1 to a million."""
    return checks.count("values", values, VALUES, most=MOST_VALUES)


@dataclass(frozen=True)
class ThresholdedValues(SingleEvent):
    """Release of the values in the data whose noisy counts exceed a threshold (T73).

    For every value that occurs in a column, the mechanism adds N(0, standard_deviation^2) noise to the number of
    records with this value. If the noisy count is above ``threshold``, the mechanism releases the value and the noisy
    count. One record holds at most ``values`` values, one for each column. Values that occur in no record are never
    released.

    The event is accounted for as a Gaussian mechanism with a failure of probability
    p = 1 - Phi((threshold - 1)/standard_deviation)^values, where Phi is the standard normal distribution function. The
    Gaussian mechanism has mu = sqrt(values)/standard_deviation under add/remove and sqrt(2 values)/standard_deviation
    under replace-one, where mu is the ratio of sensitivity to standard deviation. The failure is the release of a value
    that only one record holds; the privacy loss is then infinite. Under either relation, p enters the bound only once.
    The resulting privacy profile is an upper bound. For the exact privacy profile of one release under add/remove, see
    `dperm.accounting.theorems.thresholded_values_delta`.

    For a table, ``values`` is the number of columns whose values are counted, such as the columns of text. If this
    number is not public, pass the total number of columns.

    Parameters
    ----------
    standard_deviation
        Standard deviation of the noise on each count, in records; at least 0.01 sqrt(values), and at most 1e10.
    threshold
        Threshold for the noisy counts, from 1 to 1e15; `dperm.sensitivity.discovery_threshold` computes it.
    values
        Largest number of values that one record holds, from 1 to 1,000,000.

    Examples
    --------
    >>> from dperm.accounting import ThresholdedValues, account
    >>> release = ThresholdedValues(standard_deviation=15.0, threshold=73.0, values=15)
    >>> round(account(release, adjacency="add_remove").delta(epsilon=1.0), 9)
    1.7162e-05
    """

    standard_deviation: float
    threshold: float
    values: int
    kind: ClassVar[str] = "thresholded_values"

    def __post_init__(self) -> None:
        """Check the parameters; numpy scalars are accepted."""
        noise = checks.between("standard_deviation", self.standard_deviation, *MULTIPLIERS)
        object.__setattr__(self, "standard_deviation", noise)
        object.__setattr__(self, "threshold", checked_threshold(self.threshold))
        object.__setattr__(self, "values", checked_values(self.values))
        if noise < MULTIPLIERS[0] * math.sqrt(self.values):
            raise ParameterError(
                argument="standard_deviation",
                rule=f"must be at least {MULTIPLIERS[0]} times the square root of values",
                got=shown(noise),
                remedy="Add more noise, or count fewer columns.",
            )

    def failure(self) -> float:
        """Return the probability that a value held by only one record is released, rounded up."""
        return fresh_value_probability(self.threshold, self.standard_deviation, self.values)

    def law(self, direction: Direction) -> LossWithFailure:
        """Return the privacy loss distribution of a Gaussian mechanism together with the failure of T73.

        Parameters
        ----------
        direction
            Member of `Direction`: ADD or REMOVE under add/remove, REPLACE under replace-one.

        Returns
        -------
        LossWithFailure
            Privacy loss distribution of the dominating pair.
        """
        changed = 2 * self.values if direction is Direction.REPLACE else self.values
        return LossWithFailure(GaussianLoss(math.sqrt(changed) / self.standard_deviation), self.failure())

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """Raise ConversionError: the privacy loss can be infinite, so there is no Rényi bound (T20).

        Parameters
        ----------
        orders
            Rényi orders alpha > 1.
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Raises
        ------
        ConversionError
            Always.
        """
        raise ConversionError(
            f"{self} has an infinite privacy loss with probability {self.failure():.3g}: no RDP curve follows from it "
            f"(T20, T73). Use account(), or declare the values instead of discovering them."
        )

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """Return the theorem tags of the Gaussian loss, the failure and their combination: T6, T14 and T73.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        tuple[str, ...]
            Theorem tags such as "T6".
        """
        return ("T6", "T14", "T73")

    def fields(self) -> Json:
        """Return the standard deviation, the threshold and the number of values as JSON-serialisable data."""
        return {"standard_deviation": self.standard_deviation, "threshold": self.threshold, "values": self.values}
