# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Elementary events without sampling: Gaussian, Laplace, declared guarantees and randomized response."""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

from dperm import checks
from dperm.accounting import rdp
from dperm.accounting.event import Json, Orders, SingleEvent
from dperm.accounting.laws.atomic import AtomicLoss, randomized_response_loss, response_loss
from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.accounting.laws.laplace import LaplaceLoss
from dperm.errors import AdjacencyError, ConversionError
from dperm.privacy.adjacency import Adjacency, Direction

MULTIPLIER = "Give the noise's standard deviation (Laplace: scale) over the sensitivity of one record added or removed."

MULTIPLIERS = (1e-2, 1e10)  # below, epsilon is in the thousands; beyond, a statistic is all noise
LARGEST_EPSILON = 500.0


def sensitivity(direction: Direction) -> float:
    """Return the sensitivity in units of one record added or removed: a replacement is a removal and an addition."""
    return 2.0 if direction is Direction.REPLACE else 1.0


def _relative_sensitivity(adjacency: Adjacency) -> float:
    return sensitivity(adjacency.directions[0])


@dataclass(frozen=True)
class Gaussian(SingleEvent):
    """Gaussian mechanism: noise N(0, (noise_multiplier * s)^2 I) on a statistic with L2 sensitivity s (T6).

    The sensitivity s refers to one record added or removed. Under replace-one, the sensitivity is taken to be 2 s.

    Parameters
    ----------
    noise_multiplier
        Standard deviation of the noise divided by the L2 sensitivity s for one record added or removed, from 0.01 to
        1e10.

    Examples
    --------
    >>> from dperm import Gaussian, account
    >>> round(account(Gaussian(noise_multiplier=2.0), adjacency="add_remove").epsilon(delta=1e-5), 4)
    1.9931
    """

    noise_multiplier: float
    kind: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        """Check the noise multiplier; numpy scalars are accepted."""
        object.__setattr__(
            self,
            "noise_multiplier",
            checks.between("noise_multiplier", self.noise_multiplier, *MULTIPLIERS, MULTIPLIER),
        )

    def law(self, direction: Direction) -> GaussianLoss:
        """Return the privacy loss distribution N(mu^2/2, mu^2) of Gaussian noise (T6).

        Here mu is the sensitivity divided by the standard deviation of the noise. It is 1/noise_multiplier under
        add/remove and 2/noise_multiplier under replace-one.

        Parameters
        ----------
        direction
            Member of `Direction`: ADD or REMOVE under add/remove, REPLACE under replace-one.

        Returns
        -------
        GaussianLoss
            Privacy loss distribution of the dominating pair.
        """
        return GaussianLoss(sensitivity(direction) / self.noise_multiplier)

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """Return the Rényi curve of Gaussian noise (T16).

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
        """
        return rdp.gaussian_rdp(orders, self.noise_multiplier, _relative_sensitivity(adjacency))

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """Return the theorem tags T6 and T19.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        tuple[str, ...]
            Theorem tags such as "T6".
        """
        return ("T6", "T19")

    def fields(self) -> Json:
        """Return the noise multiplier as JSON-serialisable data."""
        return {"noise_multiplier": self.noise_multiplier}


@dataclass(frozen=True)
class Laplace(SingleEvent):
    """Laplace mechanism: noise of scale noise_multiplier * s on a statistic with L1 sensitivity s (T5).

    The sensitivity s refers to one record added or removed. Under replace-one, the sensitivity is taken to be 2 s.

    Parameters
    ----------
    noise_multiplier
        Scale of the noise divided by the L1 sensitivity s for one record added or removed, from 0.01 to 1e10.

    Examples
    --------
    >>> from dperm import Laplace, account
    >>> round(account(Laplace(noise_multiplier=2.0), adjacency="add_remove").epsilon(delta=0.0), 6)
    0.5
    """

    noise_multiplier: float
    kind: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        """Check the noise multiplier; numpy scalars are accepted."""
        object.__setattr__(
            self,
            "noise_multiplier",
            checks.between("noise_multiplier", self.noise_multiplier, *MULTIPLIERS, MULTIPLIER),
        )

    def law(self, direction: Direction) -> LaplaceLoss:
        """Return the privacy loss distribution of Laplace noise (T5).

        The pure epsilon is 1/noise_multiplier under add/remove and 2/noise_multiplier under replace-one. The
        distribution is valid for statistics of any dimension. A shift of the statistic along one coordinate axis is an
        extreme point of the L1 ball, so it dominates all other shifts.

        Parameters
        ----------
        direction
            Member of `Direction`: ADD or REMOVE under add/remove, REPLACE under replace-one.

        Returns
        -------
        LaplaceLoss
            Privacy loss distribution of the dominating pair.
        """
        return LaplaceLoss(sensitivity(direction) / self.noise_multiplier)

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """Return the Rényi curve of Laplace noise (T16).

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
        """
        return rdp.laplace_rdp(orders, self.noise_multiplier, _relative_sensitivity(adjacency))

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """Return T5, the theorem tag of the Laplace mechanism.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        tuple[str, ...]
            Theorem tags such as "T6".
        """
        return ("T5",)

    def fields(self) -> Json:
        """Return the noise multiplier as JSON-serialisable data."""
        return {"noise_multiplier": self.noise_multiplier}


@dataclass(frozen=True)
class Approximate(SingleEvent):
    """Any (epsilon, delta)-DP mechanism, described only by its guarantee under one adjacency.

    The event is accounted for with a privacy loss distribution that dominates all such mechanisms (T14). Theorem T4
    (group privacy) converts an add/remove guarantee to replace-one. A replace-one guarantee implies nothing under
    add/remove.

    Parameters
    ----------
    epsilon
        Epsilon of the guarantee, from 0 to 500.
    delta
        Delta of the guarantee, in [0, 1).
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".

    Examples
    --------
    >>> from dperm import Approximate, account
    >>> query = Approximate(0.1, 1e-6, "add_remove")
    >>> round(account(query * 10, adjacency="add_remove").epsilon(delta=1e-4), 4)
    0.9417
    """

    epsilon: float
    delta: float
    adjacency: Adjacency
    kind: ClassVar[str] = "approximate"

    def __post_init__(self) -> None:
        """Check the parameters; numpy scalars and the adjacency's string are accepted."""
        object.__setattr__(self, "epsilon", checks.between("epsilon", self.epsilon, 0.0, LARGEST_EPSILON))
        object.__setattr__(self, "delta", checks.small_delta("delta", self.delta))
        object.__setattr__(self, "adjacency", Adjacency.of(self.adjacency))

    def reading(self, adjacency: Adjacency) -> Adjacency:
        """Return the adjacency under which the privacy loss is computed.

        The result is the argument ``adjacency``. Under replace-one, theorem T4 (group privacy) converts a guarantee
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
            If the guarantee is declared under replace-one and ``adjacency`` is add/remove.
        """
        return declared_reading(self, adjacency)

    def law(self, direction: Direction) -> AtomicLoss:
        """Return the privacy loss distribution of the pair that dominates all (epsilon, delta)-DP mechanisms (T14).

        Theorem T4 converts an add/remove guarantee to (2 epsilon, delta (1 + e^epsilon)) under replace-one.

        Parameters
        ----------
        direction
            Member of `Direction`: ADD or REMOVE under add/remove, REPLACE under replace-one.

        Returns
        -------
        AtomicLoss
            Privacy loss distribution of the dominating pair.
        """
        if direction is Direction.REPLACE and self.adjacency is Adjacency.ADD_REMOVE:
            delta = min(self.delta * (1 + math.exp(self.epsilon)) * (1 + 1e-15), 1.0)  # 1: nothing is promised
            return response_loss(2 * self.epsilon, delta)
        return response_loss(self.epsilon, self.delta)

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """Return the largest Rényi curve of any epsilon-DP mechanism; delta must be 0 (T16).

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
        ConversionError
            If delta > 0, since an approximate guarantee implies no Rényi bound (T20).
        """
        if self.delta:
            raise ConversionError(
                f"{self} has delta > 0: no RDP curve follows from it (T20). Use account(), which needs none, or a "
                f"mechanism with a pure guarantee."
            )
        doubled = adjacency is not self.adjacency
        return rdp.pure_rdp(orders, self.epsilon * (2 if doubled else 1))

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """Return the theorem tag T14, and also T4 if the guarantee is converted to replace-one.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        tuple[str, ...]
            Theorem tags such as "T6".
        """
        return ("T14",) if adjacency is self.adjacency else ("T14", "T4")

    def fields(self) -> Json:
        """Return epsilon, delta and the adjacency as JSON-serialisable data."""
        return {"epsilon": self.epsilon, "delta": self.delta, "adjacency": self.adjacency.value}


@dataclass(frozen=True)
class Pure(SingleEvent):
    """Any epsilon-DP mechanism, described only by its guarantee under one adjacency (T13).

    The event is equivalent to `Approximate` with delta = 0.

    Parameters
    ----------
    epsilon
        Epsilon of the guarantee, from 0 to 500.
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".

    Examples
    --------
    >>> from dperm import Pure, account
    >>> round(account(Pure(0.5, "replace_one") * 4, adjacency="replace_one").epsilon(delta=0.0), 6)
    2.0
    """

    epsilon: float
    adjacency: Adjacency
    kind: ClassVar[str] = "pure"

    def __post_init__(self) -> None:
        """Check the parameters; numpy scalars and the adjacency's string are accepted."""
        object.__setattr__(self, "epsilon", checks.between("epsilon", self.epsilon, 0.0, LARGEST_EPSILON))
        object.__setattr__(self, "adjacency", Adjacency.of(self.adjacency))

    @property
    def _general(self) -> Approximate:
        return Approximate(self.epsilon, 0.0, self.adjacency)

    def reading(self, adjacency: Adjacency) -> Adjacency:
        """Return the adjacency under which the privacy loss is computed.

        The result is the argument ``adjacency``. Under replace-one, theorem T4 (group privacy) converts a guarantee
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
            If the guarantee is declared under replace-one and ``adjacency`` is add/remove.
        """
        return declared_reading(self, adjacency)

    def law(self, direction: Direction) -> AtomicLoss:
        """Return the privacy loss distribution of randomized response, which dominates all epsilon-DP mechanisms (T13).

        Theorem T4 converts an add/remove guarantee to 2 epsilon under replace-one.

        Parameters
        ----------
        direction
            Member of `Direction`: ADD or REMOVE under add/remove, REPLACE under replace-one.

        Returns
        -------
        AtomicLoss
            Privacy loss distribution of the dominating pair.
        """
        return self._general.law(direction)

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """Return the largest Rényi curve of any epsilon-DP mechanism (T16).

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
        """
        return self._general.rdp(orders, adjacency)

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """Return the theorem tag T13, and also T4 if the guarantee is converted to replace-one.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        tuple[str, ...]
            Theorem tags such as "T6".
        """
        return ("T13",) if adjacency is self.adjacency else ("T13", "T4")

    def fields(self) -> Json:
        """Return epsilon and the adjacency as JSON-serialisable data."""
        return {"epsilon": self.epsilon, "adjacency": self.adjacency.value}


class _Declared(Protocol):
    """Event whose guarantee is declared under one adjacency."""

    @property
    def adjacency(self) -> Adjacency:
        """Adjacency of the guarantee."""


def declared_reading(event: _Declared, adjacency: Adjacency) -> Adjacency:
    """Return ``adjacency``; raise AdjacencyError if a replace-one guarantee is accounted for under add/remove (T4)."""
    if adjacency is Adjacency.ADD_REMOVE and event.adjacency is Adjacency.REPLACE_ONE:
        raise AdjacencyError(
            f'{event} was declared under adjacency="replace_one" and asked for under "add_remove": a replace-one '
            f"guarantee says nothing about data sets of different size (T4). Account the composition under "
            f'"replace_one", or declare an add_remove guarantee.'
        )
    return adjacency


@dataclass(frozen=True)
class RandomizedResponse(SingleEvent):
    """Randomized response on k values: the true value is sent with probability e^epsilon/(e^epsilon + k - 1) (T9).

    Otherwise one of the other values is sent, chosen uniformly. The mechanism is local: every record sends its own
    answer, so the number of records is public. The guarantee is therefore proved only under replace-one.

    Parameters
    ----------
    epsilon
        Epsilon of each answer, from 0 to 500.
    values
        Number k of possible values, at least 2.

    Examples
    --------
    >>> from dperm import RandomizedResponse, account
    >>> round(account(RandomizedResponse(1.0), adjacency="replace_one").epsilon(delta=0.0), 6)
    1.0
    """

    epsilon: float
    values: int = 2
    kind: ClassVar[str] = "randomized_response"

    def __post_init__(self) -> None:
        """Check the parameters; numpy scalars are accepted."""
        object.__setattr__(self, "epsilon", checks.between("epsilon", self.epsilon, 0.0, LARGEST_EPSILON))
        object.__setattr__(
            self, "values", checks.count("values", self.values, "It is the number of answers, at least 2.", least=2)
        )

    def reading(self, adjacency: Adjacency) -> Adjacency:
        """Return the adjacency under which the privacy loss is computed.

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
            If ``adjacency`` is add/remove, since the number of answers reveals the number of records.
        """
        if adjacency is Adjacency.ADD_REMOVE:
            raise AdjacencyError(
                "randomized response is local: every record sends an answer, so their number is public and only "
                'adjacency="replace_one" is proved (T9), got "add_remove". Account it under "replace_one".'
            )
        return adjacency

    def law(self, direction: Direction) -> AtomicLoss:
        """Return the privacy loss distribution of randomized response on k values (T9).

        Parameters
        ----------
        direction
            Member of `Direction`: ADD or REMOVE under add/remove, REPLACE under replace-one.

        Returns
        -------
        AtomicLoss
            Privacy loss distribution of the dominating pair.
        """
        return randomized_response_loss(self.epsilon, self.values)

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """Return the Rényi curve of randomized response (T9).

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
        """
        return rdp.randomized_response_rdp(orders, self.epsilon, self.values)

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """Return T9, the theorem tag of randomized response.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        tuple[str, ...]
            Theorem tags such as "T6".
        """
        return ("T9",)

    def fields(self) -> Json:
        """Return epsilon and the number of values as JSON-serialisable data."""
        return {"epsilon": self.epsilon, "values": self.values}
