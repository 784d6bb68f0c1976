# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Events on a secret random sample of the records.

Each theorem holds only for the named sampler. A shuffled loader is neither of the two samplers here (T27) and has no
event. Account its epochs without amplification: E epochs with every record in exactly one batch are a Gaussian with
noise multiplier sigma / sqrt(E) (`dperm.accounting.theorems`).
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from dperm import checks
from dperm.accounting import rdp
from dperm.accounting.event import Json, Orders, SingleEvent
from dperm.accounting.events import Approximate, Gaussian, Laplace, Pure
from dperm.accounting.laws.atomic import AtomicLoss, response_loss
from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.accounting.laws.laplace import LaplaceLoss
from dperm.accounting.laws.law import LossLaw
from dperm.accounting.laws.mixture import MixtureKind, MixtureLoss
from dperm.accounting.laws.subsampled_gaussian import SubsampledGaussianLoss
from dperm.accounting.replace_only import ReplaceOneOnly
from dperm.checks import shown
from dperm.errors import AdjacencyError, ConversionError, ParameterError
from dperm.privacy.adjacency import Adjacency, Direction

SMALLEST_RATE = 1e-12
RATE = "It is the probability that a record is in the sample."
POISSON_UNMARKED = (
    "A record enters a Poisson sample or not, so the sensitivity to one record added or removed is needed (T22, T25). "
    "Prove that one and use it for the noise multiplier, or account without sampling."
)
FIXED_UNMARKED = (
    "It is refused under add_remove anyway (T21), so the mark is not needed: give the Gaussian or Laplace itself, "
    "relative to half the sensitivity of the sample's statistic to one record replaced."
)

Base = Gaussian | Laplace | Pure | Approximate


def _check_base(sampler: str, base: object, unmarked: str) -> None:
    """Check that the base is one plain event; ``unmarked`` is the remedy for a ReplaceOneOnly."""
    if isinstance(base, ReplaceOneOnly):
        raise ParameterError(f"{sampler} cannot sample for {base}. {unmarked}")
    if not isinstance(base, Base):
        raise ParameterError(
            f"{sampler} samples for one Gaussian, Laplace, Pure or Approximate event, got {shown(base)}. Sample each "
            f"event on its own, and repeat the sampled event: {sampler}(Gaussian(1.0), rate=0.01) * 1000."
        )


def _amplified(base: Pure | Approximate, rate: float) -> AtomicLoss:
    """Return T21's law, (log(1 + q (e^eps - 1)), q delta), for the base's declared adjacency."""
    delta = base.delta if isinstance(base, Approximate) else 0.0
    epsilon = math.log1p(rate * math.expm1(base.epsilon)) if base.epsilon < 700 else base.epsilon
    return response_loss(epsilon * (1 + 1e-15), math.nextafter(rate * delta, 1.0) if delta else 0.0)


@dataclass(frozen=True)
class Poisson(SingleEvent):
    """Event applied to a fresh Poisson sample, which includes each record independently with probability ``rate``.

    The sample must be secret, and the number of steps must be public. If a sum over the sample is divided by a number,
    this number must be public, so it cannot be the size of the sample. If the sample is empty, the step must still
    release its noise (T22).

    Parameters
    ----------
    event
        Base event: one `Gaussian`, `Laplace`, `Pure` or `Approximate` event.
    rate
        Sampling rate, from 1e-12 to 1.

    Examples
    --------
    >>> from dperm import Gaussian, Poisson, account
    >>> steps = Poisson(Gaussian(noise_multiplier=1.0), rate=0.01) * 1000
    >>> round(account(steps, adjacency="add_remove").epsilon(delta=1e-5), 4)
    1.8282
    """

    event: Base
    rate: float
    kind: ClassVar[str] = "poisson"

    def __post_init__(self) -> None:
        """Check the base event and the rate; numpy scalars are accepted."""
        _check_base("Poisson", self.event, POISSON_UNMARKED)
        object.__setattr__(self, "rate", checks.between("rate", self.rate, SMALLEST_RATE, 1.0, RATE))

    def reading(self, adjacency: Adjacency) -> Adjacency:
        """Return the adjacency under which the privacy loss is computed.

        The result is the argument ``adjacency`` for Gaussian noise (T22, T25). It is add/remove for other base events,
        whose guarantee is then converted by theorem T4 if necessary. If the rate is 1, the base event determines the
        result.

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
            If no theorem covers the base event under ``adjacency``.
        """
        if self.rate == 1:
            return self.event.reading(adjacency)
        if isinstance(self.event, Pure | Approximate) and self.event.adjacency is Adjacency.REPLACE_ONE:
            raise AdjacencyError(
                f"Poisson sampling amplifies an add_remove guarantee (T21), got {self.event}. Declare the base under "
                f'"add_remove", or use WithoutReplacement.'
            )
        return adjacency if isinstance(self.event, Gaussian) else Adjacency.ADD_REMOVE

    def law(self, direction: Direction) -> LossLaw:
        """Return the privacy loss distribution of the event on a Poisson sample.

        For Gaussian noise, the distribution follows from T22 under add/remove and from T25 under replace-one. It
        follows from T22 for Laplace noise, and from T21 for `Pure` and `Approximate` base events.

        Parameters
        ----------
        direction
            Member of `Direction`: ADD or REMOVE under add/remove, REPLACE under replace-one.

        Returns
        -------
        LossLaw
            Privacy loss distribution of the dominating pair.
        """
        if self.rate == 1:
            return self.event.law(direction)
        if isinstance(self.event, Gaussian):
            return SubsampledGaussianLoss(self.rate, self.event.noise_multiplier, direction)
        if isinstance(self.event, Laplace):
            return MixtureLoss(LaplaceLoss(1 / self.event.noise_multiplier), self.rate, MixtureKind(direction.value))
        return _amplified(self.event, self.rate)

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """Return the Rényi curve for a Gaussian base event: T26, and the conversion by T4 under replace-one.

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
            If the base event is not Gaussian and the rate is below 1.
        """
        if self.rate == 1:
            return self.event.rdp(orders, adjacency)
        if not isinstance(self.event, Gaussian):
            raise ConversionError(
                f"no RDP curve is proved here for {self} under {adjacency.value} (T26). Use account()."
            )
        return rdp.poisson_gaussian_rdp(orders, self.event.noise_multiplier, rate=self.rate, adjacency=adjacency)

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """Return the tags of the theorems for the sampled event, and also T4 if the loss is converted from add/remove.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        tuple[str, ...]
            Theorem tags such as "T6".
        """
        if self.rate == 1:
            return self.event.tags(adjacency)
        if isinstance(self.event, Gaussian):
            return ("T22",) if adjacency is Adjacency.ADD_REMOVE else ("T25",)
        own = ("T22",) if isinstance(self.event, Laplace) else ("T21", "T14")
        return own if adjacency is Adjacency.ADD_REMOVE else (*own, "T4")

    def unwrapped(self) -> SingleEvent:
        """Return the base event if the rate is 1, and this event otherwise."""
        return self.event if self.rate == 1 else self

    def fields(self) -> Json:
        """Return the rate as JSON-serialisable data; the serializer adds the base event."""
        return {"rate": self.rate}


@dataclass(frozen=True)
class WithoutReplacement(SingleEvent):
    """Event applied to a fresh uniform sample of m out of n records, drawn without replacement.

    The numbers m and n must be public, ``rate`` is m / n, and the sample must be secret. The guarantee is proved only
    under replace-one (T21, T24). The dominating pair of T24 is valid but not tight. The lower and upper bounds of
    `account` enclose the epsilon of this pair; the true epsilon of the mechanism may be smaller.

    Parameters
    ----------
    event
        Base event: one `Gaussian`, `Laplace`, `Pure` or `Approximate` event.
    rate
        Sampling rate m / n, from 1e-12 to 1.

    Examples
    --------
    >>> from dperm import Gaussian, WithoutReplacement, account
    >>> step = WithoutReplacement(Gaussian(noise_multiplier=4.0), rate=0.01)
    >>> round(account(step * 100, adjacency="replace_one").epsilon(delta=1e-5), 4)
    0.2092
    """

    event: Base
    rate: float
    kind: ClassVar[str] = "without_replacement"

    def __post_init__(self) -> None:
        """Check the base event and the rate; numpy scalars are accepted."""
        _check_base("WithoutReplacement", self.event, FIXED_UNMARKED)
        object.__setattr__(self, "rate", checks.between("rate", self.rate, SMALLEST_RATE, 1.0, RATE))

    def reading(self, adjacency: Adjacency) -> Adjacency:
        """Return the adjacency under which the privacy loss is computed.

        The result is always replace-one. Under add/remove, n is private, so the rate m / n would not be public (T21).

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
            If ``adjacency`` is add/remove, or if the base event is `Pure` or `Approximate` and declared under
            add/remove.
        """
        if adjacency is Adjacency.ADD_REMOVE:
            raise AdjacencyError(
                'sampling without replacement is proved for adjacency="replace_one" (T21), got "add_remove". '
                "Use Poisson sampling."
            )
        if isinstance(self.event, Pure | Approximate) and self.event.adjacency is not Adjacency.REPLACE_ONE:
            raise AdjacencyError(
                f"sampling without replacement amplifies a replace_one guarantee (T21), got {self.event}. Declare the "
                f'base under "replace_one", or use Poisson sampling under "add_remove".'
            )
        return adjacency

    def law(self, direction: Direction) -> LossLaw:
        """Return the privacy loss distribution of T24, or of T21 for `Pure` and `Approximate` base events.

        T24 is stated for Gaussian noise. Its proof requires only that the privacy profile of the base event is
        symmetric, so it also covers Laplace noise.

        Parameters
        ----------
        direction
            Member of `Direction`: ADD or REMOVE under add/remove, REPLACE under replace-one.

        Returns
        -------
        LossLaw
            Privacy loss distribution of the dominating pair.
        """
        if self.rate == 1:
            return self.event.law(direction)
        if isinstance(self.event, Gaussian):
            return MixtureLoss(GaussianLoss(2 / self.event.noise_multiplier), self.rate, MixtureKind.SPLICE)
        if isinstance(self.event, Laplace):
            return MixtureLoss(LaplaceLoss(2 / self.event.noise_multiplier), self.rate, MixtureKind.SPLICE)
        return _amplified(self.event, self.rate)

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """Return the Rényi curve of T24a for a Gaussian base event.

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
            If the base event is not Gaussian and the rate is below 1.
        """
        if self.rate == 1:
            return self.event.rdp(orders, adjacency)
        if not isinstance(self.event, Gaussian):
            raise ConversionError(f"no RDP curve is proved here for {self} (T24a is for the Gaussian). Use account().")
        return rdp.without_replacement_gaussian_rdp(orders, self.event.noise_multiplier, rate=self.rate)

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """Return the theorem tag T24, or T21 and T14 for `Pure` and `Approximate` base events.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        tuple[str, ...]
            Theorem tags such as "T6".
        """
        if self.rate == 1:
            return self.event.tags(adjacency)
        return ("T24",) if isinstance(self.event, Gaussian | Laplace) else ("T21", "T14")

    def unwrapped(self) -> SingleEvent:
        """Return the base event if the rate is 1, and this event otherwise."""
        return self.event if self.rate == 1 else self

    def fields(self) -> Json:
        """Return the rate as JSON-serialisable data; the serializer adds the base event."""
        return {"rate": self.rate}
