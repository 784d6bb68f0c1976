# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Costs and limits as whole numbers of units: a power of two of epsilon, rho, mu^2 or tau, and whole shares of delta.

A ledger adds integers, so sums are exact, and a database can compare them with the limit itself. Costs are rounded up
to the next unit, limits down. The unit is fixed at the opening of an account. It is so small that the limit, a double,
is a whole number of units, and so are all costs except tiny ones: a limit of epsilon 0.1 covers a release of epsilon
0.1.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dperm.accounting.event import Event
from dperm.accounting.filters import Amounts, Cost, Filter, filter_of
from dperm.accounting.filters.approx import AdvancedFilter, ApproxFilter
from dperm.errors import ParameterError
from dperm.privacy.guarantee import RDP, AnyGuarantee
from dperm.privacy.rounding import round_down

BITS = 57
"""Bits of the limit in units at the opening: more than the 53 of a double, with five left for raising it."""
LARGEST = 2**22
"""Largest limit of an account; far larger limits have no meaning."""
MOST = 2**62
"""Largest number of units of an account; they and their sums fit the 64-bit integers of databases."""

Units = Mapping[str, int]


@dataclass(frozen=True)
class CountedRule:
    """Filter (a `Filter`) with the unit 2^-exponent of its currency."""

    rule: Filter
    exponent: int

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the currencies of the filter."""
        return self.rule.names

    @property
    def capacity(self) -> Amounts:
        """Limit of each currency, as an exact amount."""
        return self.rule.capacity

    def cost(self, event: Event) -> Cost:
        """Return the cost of an event, rounded up."""
        return self.rule.cost(event)

    def within(self, amounts: Amounts) -> AnyGuarantee:
        """Return the weakest guarantee with numbers of at most ``amounts``."""
        return self.rule.within(amounts)

    @property
    def share(self) -> float | None:
        """Delta of every event under an ApproxDP limit; None under others."""
        return self.rule.share if isinstance(self.rule, ApproxFilter | AdvancedFilter) else None


def rule_of(limit: AnyGuarantee, blocks: int | None, composition: str, exponent: int | None = None) -> CountedRule:
    """Return the filter of an account (T14), in units of 2^-exponent, or in those of a new account.

    Raises
    ------
    ParameterError
        If the limit has no rule, several Renyi orders, or more units than a database can count.
    """
    if isinstance(limit, RDP) and len(limit.curve) != 1:
        raise ParameterError(
            argument="limit",
            rule="must have one order in Renyi DP, fixed when the account is opened",
            got=f"{len(limit.curve)} orders",
            remedy=f'Give one, such as RDP([(8.0, 0.5)], "{limit.adjacency.value}").',
        )
    rule = filter_of(limit, blocks, composition)
    if rule.capacity[0] > LARGEST:
        raise ParameterError(argument="limit", rule=f"must be at most {rule.names[0]}={LARGEST:,}", got=repr(limit))
    counted = CountedRule(rule, _exponent(rule.capacity[0]) if exponent is None else exponent)
    if max(capacity_units(counted).values()) > MOST:
        most = float(MOST * quantum(counted, rule.names[0]))
        raise ParameterError(
            argument="limit",
            rule=f"must be at most {rule.names[0]}={most:g} in this account",
            got=repr(limit),
            remedy="Open another account for a larger limit.",
        )
    return counted


def _exponent(capacity: Fraction) -> int:
    """Return the exponent for which the capacity has `BITS` bits."""
    return BITS - math.frexp(round_down(capacity))[1] if capacity > 0 else BITS


def quantum(rule: CountedRule, name: str) -> Fraction:
    """Return the worth of one unit; delta is counted in shares, since every event is charged one share."""
    return Fraction(rule.share) if name == "delta" and rule.share else Fraction(2) ** -rule.exponent


def capacity_units(rule: CountedRule) -> dict[str, int]:
    """Return the limit of each currency in units, rounded down."""
    return {name: math.floor(most / quantum(rule, name)) for name, most in zip(rule.names, rule.capacity, strict=True)}


def limits(rule: CountedRule) -> dict[str, float]:
    """Return the declared limit of each currency, rounded down to a double: less than a unit above the capacity."""
    return {name: round_down(most) for name, most in zip(rule.names, rule.capacity, strict=True)}


def cost_units(rule: CountedRule, cost: Cost) -> dict[str, int]:
    """Return a cost in units, rounded up."""
    return {
        name: math.ceil(Fraction(number) / quantum(rule, name)) for name, number in zip(rule.names, cost, strict=True)
    }


def amount(rule: CountedRule, name: str, units: int) -> Fraction:
    """Return a number of units as an exact amount."""
    return units * quantum(rule, name)
