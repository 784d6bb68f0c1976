# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Filters that decide whether an adaptively chosen event may still run: one rule for each kind of guarantee (T14).

Every rule adds costs and compares the sum with a limit, which is valid although each event, and so its cost, may depend
on the earlier releases:

=========  ==============================================================
PureDP     sum of epsilon_i (T11)
ApproxDP   sum of epsilon_i and sum of delta_i (T11), or, if it was opened so,
           sum of epsilon_i^2 and sum of delta_i (T14a)
ZCDP       sum of rho_i (T18)
GDP        sum of mu_i^2 (T19)
RDP        sum of tau_i(alpha), at **every** order of the limit (T16)
=========  ==============================================================

The following are **not valid**: composing the profiles of adaptively chosen events and stopping when the curve reaches
the limit; choosing the best Rényi order after the stop; applying the composition theorems T12 to T14 to the epsilons so
far; changing from one rule to another. The parameters and counts of one event are fixed when it is declared, so the
accountant composes its steps exactly; the filter applies between events.
"""

from dataclasses import dataclass
from fractions import Fraction

from dperm import checks
from dperm.accounting.event import Event
from dperm.accounting.filters import costs
from dperm.accounting.filters.approx import AdvancedFilter, ApproxFilter
from dperm.accounting.filters.filter import Amounts, Cost, Filter
from dperm.accounting.filters.limits import root
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.privacy.guarantee import GDP, RDP, ZCDP, AnyGuarantee, ApproxDP, PureDP
from dperm.privacy.rounding import round_down, round_up


@dataclass(frozen=True)
class PureFilter:
    """Filter sum of epsilon_i <= epsilon (T11); an event costs the sum of the largest losses of its steps."""

    limit: PureDP

    names = ("epsilon",)

    @property
    def capacity(self) -> Amounts:
        """Epsilon of the limit, as an exact fraction."""
        return (Fraction(self.limit.epsilon),)

    def cost(self, event: Event) -> Cost:
        """Return the epsilon of a pure event; an unbounded loss has no epsilon at delta = 0 and is refused."""
        total = Fraction(0)
        for single, count in event.singles():
            epsilon = costs.pure_epsilon(single, self.limit.adjacency)
            if epsilon is None:
                raise costs.no_cost(single, "pure epsilon", "T1")
            total += count * epsilon
        return (round_up(total),)

    def within(self, amounts: Amounts) -> PureDP:
        """Return the amount as a PureDP guarantee, rounded down."""
        return PureDP(round_down(amounts[0]), self.limit.adjacency)


@dataclass(frozen=True)
class ZCDPFilter:
    """Filter sum of rho_i <= rho (T18)."""

    limit: ZCDP

    names = ("rho",)

    @property
    def capacity(self) -> Amounts:
        """The rho of the limit."""
        return (Fraction(self.limit.rho),)

    def cost(self, event: Event) -> Cost:
        """Return the sum of rho over Gaussian and pure steps."""
        parts = (count * costs.rho(one, self.limit.adjacency) for one, count in event.singles())
        return (round_up(sum(parts, Fraction(0))),)

    def within(self, amounts: Amounts) -> ZCDP:
        """Return the amount as a ZCDP guarantee, rounded down."""
        return ZCDP(round_down(amounts[0]), self.limit.adjacency)


@dataclass(frozen=True)
class GDPFilter:
    """Filter sum of mu_i^2 <= mu^2 (T19)."""

    limit: GDP

    names = ("mu_squared",)

    @property
    def capacity(self) -> Amounts:
        """Square of the limit's mu, exact."""
        return (Fraction(self.limit.mu) ** 2,)

    def cost(self, event: Event) -> Cost:
        """Return the sum of mu^2 over Gaussian and pure steps."""
        parts = (count * costs.mu_square(one, self.limit.adjacency) for one, count in event.singles())
        return (round_up(sum(parts, Fraction(0))),)

    def within(self, amounts: Amounts) -> GDP:
        """Return the root of the amount as a GDP guarantee, rounded down."""
        return GDP(root(amounts[0]), self.limit.adjacency)


@dataclass(frozen=True)
class RDPFilter:
    """Filter sum of tau_i(alpha) <= tau(alpha) at every order of the limit (T14, T16).

    All orders are fixed before the first event.
    """

    limit: RDP

    @property
    def orders(self) -> tuple[float, ...]:
        """Rényi orders alpha of the limit."""
        return tuple(alpha for alpha, _ in self.limit.curve)

    @property
    def names(self) -> tuple[str, ...]:
        """One name for each order."""
        return tuple(f"tau({alpha!r})" for alpha in self.orders)

    @property
    def capacity(self) -> Amounts:
        """Values tau(alpha) of the limit's curve."""
        return tuple(Fraction(tau) for _, tau in self.limit.curve)

    def cost(self, event: Event) -> Cost:
        """Return the event's curve at the limit's orders."""
        totals = [Fraction(0)] * len(self.orders)
        for single, count in event.singles():
            taus = costs.taus(single, self.limit.adjacency, self.orders)
            totals = [total + count * tau for total, tau in zip(totals, taus, strict=True)]
        return tuple(round_up(total) for total in totals)

    def within(self, amounts: Amounts) -> RDP:
        """Return the amounts as an RDP curve, rounded down."""
        curve = zip(self.orders, (round_down(amount) for amount in amounts), strict=True)
        return RDP(curve, self.limit.adjacency)


def filter_of(limit: AnyGuarantee, blocks: int | None = None, composition: str = "basic") -> Filter:
    """Return the filter for a limit.

    Parameters
    ----------
    limit
        PureDP, ApproxDP, ZCDP, GDP or RDP.
    blocks
        For ApproxDP only: the number of events that share its delta equally.
    composition
        For ApproxDP with delta > 0, "basic" adds epsilons (T11) and "advanced" adds their squares (T14a).

    Returns
    -------
    Filter
        The filter.

    Raises
    ------
    ParameterError
        If ``limit`` has an unsupported type, or an option does not apply to it.
    """
    if composition not in ("basic", "advanced"):
        raise ParameterError(f'composition must be "basic" or "advanced", got {shown(composition)}.')
    if isinstance(limit, ApproxDP):
        remedy = "It is the number of events that may be charged: each is charged at one share, fixed in advance."
        return _approximate(limit, checks.count("blocks", blocks, remedy), composition)
    if composition != "basic":
        raise ParameterError(
            f'composition="advanced" is a rule for ApproxDP limits with delta > 0, got {shown(limit)}. Leave it out, '
            'or open the budget with a limit such as ApproxDP(1.0, 1e-6, "replace_one").'
        )
    if blocks is not None:
        raise ParameterError(
            f"blocks divides the delta of an ApproxDP limit, got blocks={shown(blocks)} for {shown(limit)}. Leave it "
            "out."
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


def _approximate(limit: ApproxDP, blocks: int, composition: str) -> Filter:
    if composition == "basic":
        return ApproxFilter(limit, blocks)
    rule = AdvancedFilter(limit, blocks)
    if rule.slack == 0:
        raise ParameterError(
            f'composition="advanced" spends half of the delta on the sum of squares, got delta={limit.delta!r}. Give a '
            'delta such as 1e-6, or leave composition="basic", which adds epsilons.'
        )
    return rule
