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

    The length of the interval is called the range of the mechanism. The exponential mechanism has range epsilon if it
    selects with probability proportional to e^{epsilon u / (2 Delta)}, where the utility u has sensitivity Delta. For
    monotone utilities, the exponent may be epsilon u / Delta (T8). Report-noisy-max with Gumbel noise is equivalent to
    the exponential mechanism. The range of an arbitrary epsilon-DP mechanism can be as large as 2 epsilon; declare such
    a mechanism as `Pure`.

    The accountant uses three consequences of T74a:

    - (epsilon, delta): the supremum of the privacy profiles of all mechanisms of this range is the profile of one pair
      of distributions. For a single release, the supremum is attained. In a composition, the pair gives an upper bound.
    - RDP and zCDP: the Rényi curve is at most alpha epsilon^2 / 8, so the mechanism is rho-zCDP with
      rho = epsilon^2 / 8.
    - GDP: the mechanism is mu-GDP with mu = 2 Phi^-1(e^{epsilon/2}/(1 + e^{epsilon/2})), the same mu as for an
      (epsilon/2)-DP mechanism. Here Phi is the standard normal distribution function.

    By theorem T4, a mechanism of range epsilon under add/remove has at most range 2 epsilon under replace-one. A range
    under replace-one implies nothing under add/remove.

    Parameters
    ----------
    epsilon
        Length of the interval, from 0 to 500.
    adjacency
        Neighbouring relation under which the range is epsilon, "add_remove" or "replace_one".

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
        """Return the length of the interval of privacy losses under ``adjacency``, doubled if T4 converts the range.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        float
            Length of the interval.
        """
        return self.epsilon * (1 if adjacency is self.adjacency else 2)

    def reading(self, adjacency: Adjacency) -> Adjacency:
        """Return the adjacency under which the privacy loss is computed.

        The result is the argument ``adjacency``. Under replace-one, theorem T4 (group privacy) converts a range
        declared under add/remove.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

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
        """Return the privacy loss distribution of a pair that dominates every mechanism of this range (T74a).

        Parameters
        ----------
        direction
            Member of `Direction`: ADD or REMOVE under add/remove, REPLACE under replace-one.

        Returns
        -------
        BoundedRangeLoss or AtomicLoss
            Privacy loss distribution of the dominating pair. For epsilon = 0, the loss is 0 with probability 1.
        """
        adjacency = Adjacency.REPLACE_ONE if direction is Direction.REPLACE else Adjacency.ADD_REMOVE
        width = self.width(adjacency)
        return BoundedRangeLoss(width) if width else response_loss(0.0)

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """Return the Rényi curve: the smaller of alpha w^2/8 and w, where w is the range under ``adjacency`` (T74a).

        Parameters
        ----------
        orders
            Rényi orders alpha > 1.
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        ndarray
            Values of the curve at ``orders``, rounded up.

        Raises
        ------
        AdjacencyError
            If the range is declared under replace-one and ``adjacency`` is add/remove.
        ParameterError
            If an order is not above 1.
        """
        alpha, width = np.asarray(orders, dtype=np.float64), self.width(self.reading(adjacency))
        if not np.all(alpha > 1):
            raise ParameterError(argument="orders", rule="must be above 1", remedy=ORDERS)
        return up_array(np.minimum(alpha * (width * width / 8), width))

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """Return the theorem tag T74a, and also T4 if the range is converted to replace-one.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        tuple[str, ...]
            Theorem tags such as "T6".
        """
        return ("T74a",) if adjacency is self.adjacency else ("T74a", "T4")

    def fields(self) -> Json:
        """Return epsilon and the adjacency as JSON-serialisable data."""
        return {"epsilon": self.epsilon, "adjacency": self.adjacency.value}
