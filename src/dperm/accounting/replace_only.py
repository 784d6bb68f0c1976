# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Noise calibrated to a sensitivity that is proved only under replace-one."""

from dataclasses import dataclass
from typing import ClassVar

from dperm.accounting.event import Json, Orders, SingleEvent
from dperm.accounting.events import Gaussian, Laplace
from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.accounting.laws.laplace import LaplaceLoss
from dperm.checks import shown
from dperm.errors import AdjacencyError, ParameterError
from dperm.privacy.adjacency import Adjacency, Direction

Noise = Gaussian | Laplace


@dataclass(frozen=True)
class ReplaceOneOnly(SingleEvent):
    """Gaussian or Laplace noise on a statistic whose sensitivity is proved only under replace-one.

    The number n of records is public. Let D be the largest change of the statistic if one record is replaced, in the L2
    norm for Gaussian noise and in the L1 norm for Laplace noise. Let sigma be the standard deviation of Gaussian noise,
    or the scale of Laplace noise. For the accountant, a noise multiplier is relative to the sensitivity for one record
    added or removed, and replace-one doubles this sensitivity. The noise multiplier of this event is therefore relative
    to D / 2. Let mu be the ratio of sensitivity to standard deviation. The event
    ``ReplaceOneOnly(Gaussian(2 * sigma / D))`` has mu = 2 / (2 sigma / D) = D / sigma under replace-one (T6). With
    Laplace noise, D / sigma is the pure epsilon (T5).

    Without the wrapper, the event ``Gaussian(2 * sigma / D)`` would claim mu = D / (2 sigma) under add/remove. There is
    no proof that D / 2 bounds the effect of adding or removing one record. For example, the divisor of a mean changes
    with n. Accounting under add/remove therefore raises AdjacencyError.

    Parameters
    ----------
    event
        One `Gaussian` or `Laplace` event, with a noise multiplier relative to D / 2.

    Examples
    --------
    >>> from dperm.accounting import Gaussian, ReplaceOneOnly, account
    >>> n, sigma = 1000, 0.01
    >>> mean = ReplaceOneOnly(Gaussian(2 * sigma / (1 / n)))  # of values in [0, 1]: D = 1/n, mu = 0.1
    >>> round(account(mean, adjacency="replace_one").epsilon(delta=1e-5), 4)
    0.3407
    """

    event: Noise
    kind: ClassVar[str] = "replace_one_only"

    def __post_init__(self) -> None:
        """Check that the event is `Gaussian` or `Laplace`: their privacy loss depends only on the sensitivity."""
        if not isinstance(self.event, Noise):
            raise ParameterError(
                f"event must be one Gaussian or Laplace event, got {shown(self.event)}. Other mechanisms need no mark: "
                f'declare them as Pure or Approximate under "replace_one", or use WithoutReplacement. Repeat outside: '
                f"ReplaceOneOnly(Gaussian(1.0)) * 10."
            )

    def reading(self, adjacency: Adjacency) -> Adjacency:
        """Return the adjacency under which the privacy loss is computed.

        The result is replace-one. Theorem T4 converts guarantees from add/remove to replace-one, but not from
        replace-one to add/remove.

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
            If ``adjacency`` is add/remove, since no sensitivity is proved for it.
        """
        if adjacency is Adjacency.ADD_REMOVE:
            raise self._unproved("add_remove")
        return adjacency

    def law(self, direction: Direction) -> GaussianLoss | LaplaceLoss:
        """Return the privacy loss distribution of the noise: T6 with mu = D / sigma, or T5 with epsilon = D / sigma.

        Parameters
        ----------
        direction
            Member of `Direction`: ADD or REMOVE under add/remove, REPLACE under replace-one.

        Returns
        -------
        GaussianLoss or LaplaceLoss
            Privacy loss distribution of the dominating pair.

        Raises
        ------
        AdjacencyError
            If ``direction`` adds or removes a record, since no sensitivity is proved for it.
        """
        if direction is not Direction.REPLACE:
            raise self._unproved(direction.value)
        return self.event.law(direction)

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """Return the Rényi curve of the noise (T16).

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
            If ``adjacency`` is add/remove, since no sensitivity is proved for it.
        """
        return self.event.rdp(orders, self.reading(adjacency))

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """Return the theorem tags of the Gaussian or Laplace event.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        tuple[str, ...]
            Theorem tags such as "T6".

        Raises
        ------
        AdjacencyError
            If ``adjacency`` is add/remove, since no sensitivity is proved for it.
        """
        return self.event.tags(self.reading(adjacency))

    def unwrapped(self) -> SingleEvent:
        """Return the Gaussian or Laplace event, which has the same privacy loss under replace-one."""
        return self.event

    def fields(self) -> Json:
        """Return an empty dictionary; the serializer adds the Gaussian or Laplace event."""
        return {}

    def _unproved(self, asked: str) -> AdjacencyError:
        return AdjacencyError(
            f'{self} has a sensitivity that is proved for adjacency="replace_one" only, and was asked for under '
            f'"{asked}": a replaced record says nothing about data sets of different size (T4). Account it under '
            f'"replace_one", or prove the sensitivity to one record added or removed and use the plain '
            f"{type(self.event).__name__} relative to that."
        )
