# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The filters: when may an adaptively chosen event still run? One rule for each kind of guarantee (T14).

Every rule adds costs and compares the sum with a limit, which is valid although each event, and so its cost, may
depend on what the earlier ones released:

=========  ==============================================================
PureDP     sum of epsilon_i (T11)
ApproxDP   sum of epsilon_i and sum of delta_i (T11)
ZCDP       sum of rho_i (T18)
GDP        sum of mu_i^2 (T19)
RDP        sum of tau_i(alpha), at **every** order of the limit (T16)
=========  ==============================================================

**Not valid:** to compose the profiles of adaptively chosen events and to stop when the curve reaches the limit; to
choose the best Renyi order after the stop; the advanced composition theorem T12 with the sums seen so far. Inside one
event nothing is chosen by what was seen (its parameters and counts are fixed when it is declared), so the accountant
composes it exactly; the filter stands between events.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from dperm import checks
from dperm.accounting.account import account
from dperm.accounting.event import Event
from dperm.accounting.filters import costs
from dperm.checks import shortened, shown
from dperm.errors import BudgetError, ParameterError
from dperm.privacy.guarantee import GDP, RDP, ZCDP, AnyGuarantee, ApproxDP, PureDP
from dperm.privacy.rounding import round_down, round_up

Amounts = tuple[Fraction, ...]
Cost = tuple[float, ...]


class Filter(Protocol):
    """A currency of one or several numbers that add up, and a limit on each."""

    @property
    def names(self) -> tuple[str, ...]:
        """What each number is called."""

    @property
    def capacity(self) -> Amounts:
        """The limit on each number."""

    def cost(self, event: Event) -> Cost:
        """The event's numbers, rounded up; an infinite one refuses it."""

    def within(self, amounts: Amounts) -> AnyGuarantee:
        """The weakest guarantee, in doubles, whose numbers are at most ``amounts``."""


@dataclass(frozen=True)
class PureFilter:
    """sum of epsilon_i <= epsilon (T11); an event costs the sum of the largest losses of its steps."""

    limit: PureDP

    names = ("epsilon",)

    @property
    def capacity(self) -> Amounts:
        """The epsilon of the limit."""
        return (Fraction(self.limit.epsilon),)

    def cost(self, event: Event) -> Cost:
        """Pure events only: an unbounded loss has no epsilon at delta = 0."""
        total = Fraction(0)
        for single, count in event.singles():
            epsilon = costs.pure_epsilon(single, self.limit.adjacency)
            if epsilon is None:
                raise costs.no_cost(single, "pure epsilon", "T1")
            total += count * epsilon
        return (round_up(total),)

    def within(self, amounts: Amounts) -> PureDP:
        """The epsilon."""
        return PureDP(round_down(amounts[0]), self.limit.adjacency)


@dataclass(frozen=True)
class ApproxFilter:
    """sum of epsilon_i <= epsilon and sum of delta_i <= delta (T11), every event at the same delta_i.

    The share delta_i = delta/blocks is fixed in advance, rounded down. An event costs its exact epsilon at this
    share, or the sum of what its steps promise by themselves (T11), if that is less.
    """

    limit: ApproxDP
    blocks: int

    names = ("epsilon", "delta")

    @property
    def share(self) -> float:
        """The delta of every event."""
        return round_down(Fraction(self.limit.delta) / self.blocks)

    @property
    def capacity(self) -> Amounts:
        """Both parameters of the limit."""
        return Fraction(self.limit.epsilon), Fraction(self.limit.delta)

    def cost(self, event: Event) -> Cost:
        """(epsilon_i, delta_i)."""
        share = self.share
        epsilon = self._sum_of_claims(event, share)
        if share > 0:  # at delta = 0 the claims are exact
            epsilon = min(epsilon, account(event, self.limit.adjacency).epsilon(share))
        if math.isinf(epsilon):
            raise BudgetError(
                f"{in_brief(event)} has no finite epsilon at delta={share!r}, which is delta/blocks of {self.limit} "
                f"and blocks={self.blocks}. Nothing was charged. Open the budget with a larger delta or fewer blocks."
            )
        return epsilon, share

    def _sum_of_claims(self, event: Event, share: float) -> float:
        """T11 inside the event: exact where the accountant's rounding would refuse an event that just fits."""
        epsilon, delta = Fraction(0), Fraction(0)
        for single, count in event.singles():
            own = costs.claim(single, self.limit.adjacency)
            if own is None:
                return math.inf
            epsilon, delta = epsilon + count * own.epsilon, delta + count * own.delta
        return round_up(epsilon) if delta <= Fraction(share) else math.inf

    def within(self, amounts: Amounts) -> ApproxDP:
        """Both parameters."""
        return ApproxDP(round_down(amounts[0]), round_down(amounts[1]), self.limit.adjacency)


@dataclass(frozen=True)
class ZCDPFilter:
    """sum of rho_i <= rho (T18)."""

    limit: ZCDP

    names = ("rho",)

    @property
    def capacity(self) -> Amounts:
        """The rho of the limit."""
        return (Fraction(self.limit.rho),)

    def cost(self, event: Event) -> Cost:
        """Gaussian and pure steps."""
        parts = (count * costs.rho(one, self.limit.adjacency) for one, count in event.singles())
        return (round_up(sum(parts, Fraction(0))),)

    def within(self, amounts: Amounts) -> ZCDP:
        """The rho."""
        return ZCDP(round_down(amounts[0]), self.limit.adjacency)


@dataclass(frozen=True)
class GDPFilter:
    """sum of mu_i^2 <= mu^2 (T19)."""

    limit: GDP

    names = ("mu_squared",)

    @property
    def capacity(self) -> Amounts:
        """The square of the limit's mu, exactly."""
        return (Fraction(self.limit.mu) ** 2,)

    def cost(self, event: Event) -> Cost:
        """Gaussian and pure steps."""
        parts = (count * costs.mu_square(one, self.limit.adjacency) for one, count in event.singles())
        return (round_up(sum(parts, Fraction(0))),)

    def within(self, amounts: Amounts) -> GDP:
        """The root, rounded down."""
        near = math.sqrt(round_down(amounts[0]))
        nearby = (math.nextafter(near, math.inf), near, math.nextafter(near, 0.0))
        return GDP(next(mu for mu in nearby if Fraction(mu) ** 2 <= amounts[0]), self.limit.adjacency)


@dataclass(frozen=True)
class RDPFilter:
    """sum of tau_i(alpha) <= tau(alpha) at every order of the limit, all fixed before the first event (T14, T16)."""

    limit: RDP

    @property
    def orders(self) -> tuple[float, ...]:
        """The limit's orders."""
        return tuple(alpha for alpha, _ in self.limit.curve)

    @property
    def names(self) -> tuple[str, ...]:
        """One number for each order."""
        return tuple(f"tau({alpha!r})" for alpha in self.orders)

    @property
    def capacity(self) -> Amounts:
        """The limit's curve."""
        return tuple(Fraction(tau) for _, tau in self.limit.curve)

    def cost(self, event: Event) -> Cost:
        """The event's curve at the limit's orders."""
        totals = [Fraction(0)] * len(self.orders)
        for single, count in event.singles():
            taus = costs.taus(single, self.limit.adjacency, self.orders)
            totals = [total + count * tau for total, tau in zip(totals, taus, strict=True)]
        return tuple(round_up(total) for total in totals)

    def within(self, amounts: Amounts) -> RDP:
        """The curve."""
        curve = zip(self.orders, (round_down(amount) for amount in amounts), strict=True)
        return RDP(curve, self.limit.adjacency)


def filter_of(limit: AnyGuarantee, blocks: int | None = None) -> Filter:
    """The rule for a limit. ``blocks``, for ApproxDP only: into how many equal shares its delta is divided."""
    if isinstance(limit, ApproxDP):
        remedy = "It is the number of events that may be charged: each is charged at delta/blocks, fixed in advance."
        return ApproxFilter(limit, checks.count("blocks", blocks, remedy))
    if blocks is not None:
        raise ParameterError(
            f"blocks divides the delta of an ApproxDP limit, got blocks={blocks!r} for {limit!r}. Leave it out."
        )
    match limit:
        case PureDP():
            return PureFilter(limit)
        case ZCDP():
            return ZCDPFilter(limit)
        case GDP():
            return GDPFilter(limit)
        case RDP():
            return RDPFilter(limit)
    raise ParameterError(f"limit must be a PureDP, ApproxDP, ZCDP, GDP or RDP, got {shown(limit)}.")


def in_brief(event: Event) -> str:
    """The event for a message, not longer than a line or two."""
    return shortened(repr(event), 160)
