# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How many records have a property."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.goal import checked_goal
from dperm.mechanisms.releases import records, sensitivities
from dperm.mechanisms.releases.choosing import mechanism_for
from dperm.mechanisms.releases.fixed_point import INTEGERS, FixedPoint, Totals
from dperm.mechanisms.releases.noisy import NoisyStatistic
from dperm.noise.arrays import Floats


@dataclass(frozen=True)
class Count(NoisyStatistic[int]):
    """How many records are True, with noise to sensitivity 1 (T5, T6).

    The data are one truth value per record (True or False, 1 or 0). The released value is an integer: the noisy count,
    rounded to the nearest. It can be negative, or larger than any possible count; clip it if you prefer, which costs no
    privacy but makes small counts too large on average.

    Parameters
    ----------
    goal
        The guarantee of one release: PureDP and ApproxDP (mostly) with Laplace noise, the others with Gaussian noise.

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

    def __post_init__(self) -> None:
        """Calibrate, before any data is seen."""
        object.__setattr__(self, "goal", checked_goal(self.goal))
        self.facts  # noqa: B018  # everything follows from the parameters

    @property
    def public(self) -> dict[str, object]:
        """No constants."""
        return {}

    @property
    def fixed_point(self) -> FixedPoint:
        """Integers."""
        return INTEGERS

    @cached_property
    def mechanism(self) -> AdditiveMechanism:
        """Noise to sensitivity 1 in both norms."""
        sensitivity = sensitivities.count(self.adjacency)
        return mechanism_for(self.goal, l1=sensitivity, l2=sensitivity)

    @property
    def standard_error(self) -> float:
        """That of the noise."""
        return self.mechanism.standard_deviation

    def totals(self, data: ArrayLike) -> Totals:
        """The count, which is **not private**."""
        flags = records.flags(data)
        return Totals([int(np.count_nonzero(flags))], len(flags))

    def finished(self, noisy: Floats, n: int | None) -> int:
        """The nearest integer."""
        return round(float(noisy[0]))
