# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms of bounded range, such as the exponential mechanism."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dperm import checks
from dperm.accounting.event import Json, Orders, SingleEvent
from dperm.accounting.events import LARGEST_EPSILON, declared_reading
from dperm.accounting.laws.atomic import AtomicLoss, response_loss
from dperm.accounting.laws.bounded_range import BoundedRangeLoss
from dperm.accounting.theorems._rounding import up_array
from dperm.errors import ParameterError
from dperm.privacy.adjacency import Adjacency, Direction

ORDERS = "Rényi orders are numbers above 1."


@dataclass(frozen=True)
class BoundedRange(SingleEvent):
    """Any mechanism whose privacy losses, for each neighbouring pair, lie in an interval of length epsilon (T74a).

    The exponential mechanism that selects with probability proportional to e^{epsilon u / (2 Delta)}, for utilities u
    of sensitivity Delta, has range epsilon. Report-noisy-max with Gumbel noise has range epsilon, too. If the utilities
    are monotone, the exponent is epsilon u / Delta (T8). For an epsilon-DP mechanism in general, only the range 2
    epsilon is known; declare such a mechanism as `Pure`.

    Three consequences of T74a are used:

    - (epsilon, delta), alone and in a composition: the pair of distributions whose profile is the supremum over all
      such mechanisms. For a single release, this profile is attained; in a composition, the pair gives an upper bound.
    - RDP and zCDP: tau(alpha) <= alpha epsilon^2 / 8, that is rho = epsilon^2 / 8.
    - GDP: mu = 2 Phi^-1(e^{epsilon/2}/(1 + e^{epsilon/2})), the mu of (epsilon/2)-DP.

    By T4, a range under add/remove implies a range twice as long under replace-one. A range under replace-one implies
    nothing under add/remove.

    Parameters
    ----------
    epsilon
        Length of the interval, from 0 to 500.
    adjacency
        Adjacency of the range, "add_remove" or "replace_one".

    Examples
    --------
    >>> from dperm.accounting import BoundedRange, Pure, account
    >>> choice = BoundedRange(0.1, "replace_one")
    >>> round(account(choice * 50, adjacency="replace_one").epsilon(delta=1e-6), 4)
    1.7683
    >>> round(account(Pure(0.1, "replace_one") * 50, adjacency="replace_one").epsilon(delta=1e-6), 4)
    3.1729
    """

    epsilon: float
    adjacency: Adjacency
    kind: ClassVar[str] = "bounded_range"

    def __post_init__(self) -> None:
        """Check the parameters; numpy scalars and the adjacency's string are accepted."""
        object.__setattr__(self, "epsilon", checks.between("epsilon", self.epsilon, 0.0, LARGEST_EPSILON))
        object.__setattr__(self, "adjacency", Adjacency.of(self.adjacency))

    def width(self, adjacency: Adjacency) -> float:
        """Return the length of the interval of losses under ``adjacency``; T4 doubles it exactly.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, "add_remove" or "replace_one".

        Returns
        -------
        float
            Length of the interval.
        """
        return self.epsilon * (1 if adjacency is self.adjacency else 2)

    def reading(self, adjacency: Adjacency) -> Adjacency:
        """Return the adjacency under which the privacy loss is computed (T4).

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, "add_remove" or "replace_one".

        Returns
        -------
        Adjacency
            Adjacency under which the privacy loss is computed.

        Raises
        ------
        AdjacencyError
            If the range is declared under replace-one and ``adjacency`` is add/remove.
        """
        return declared_reading(self, adjacency)

    def law(self, direction: Direction) -> BoundedRangeLoss | AtomicLoss:
        """Return the privacy loss distribution that dominates every mechanism of this range (T74a).

        Parameters
        ----------
        direction
            Direction of the neighbouring pair, which determines the adjacency.

        Returns
        -------
        BoundedRangeLoss or AtomicLoss
            Privacy loss distribution of the dominating pair; one atom at 0 for epsilon = 0.
        """
        adjacency = Adjacency.REPLACE_ONE if direction is Direction.REPLACE else Adjacency.ADD_REMOVE
        width = self.width(adjacency)
        return BoundedRangeLoss(width) if width else response_loss(0.0)

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """Return the smaller of alpha epsilon^2/8 and epsilon (T74a).

        Parameters
        ----------
        orders
            Rényi orders alpha > 1.
        adjacency
            Neighbouring relation of the guarantee, "add_remove" or "replace_one".

        Returns
        -------
        ndarray
            tau(alpha) at ``orders``, rounded up.
        """
        alpha, width = np.asarray(orders, dtype=np.float64), self.width(self.reading(adjacency))
        if not np.all(alpha > 1):
            raise ParameterError(argument="orders", rule="must be above 1", remedy=ORDERS)
        return up_array(np.minimum(alpha * (width * width / 8), width))

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """Return T74a, and T4 if the range is converted.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, "add_remove" or "replace_one".

        Returns
        -------
        tuple[str, ...]
            Theorem tags such as "T6".
        """
        return ("T74a",) if adjacency is self.adjacency else ("T74a", "T4")

    def fields(self) -> Json:
        """Return epsilon and the adjacency as JSON."""
        return {"epsilon": self.epsilon, "adjacency": self.adjacency.value}
