# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Money in whole numbers: a power of two of epsilon, rho, mu^2 or tau, and whole shares of delta.

A ledger adds integers, so that no rounding is lost in a sum, and a database can compare it with the limit itself. A
cost is rounded up to the next unit, a limit down: neither gives anything away. The unit is fixed when an account is
opened, so small that the limit, a double, is a whole number of units, and so are all costs but tiny ones: what was
opened with epsilon 0.1 covers a release of epsilon 0.1.
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
"""Of the limit, when an account is opened: more than the 53 of a double, and five are left for raising it."""
LARGEST = 2**22
"""The largest limit of an account: far beyond it nothing is promised anyway."""
MOST = 2**62
"""Units that an account can hold: they fit into the 64-bit integers of databases, sums too."""

Units = Mapping[str, int]


@dataclass(frozen=True)
class CountedRule:
    """A filter (a `Filter`), and how large a unit of its currency is: 2^-exponent."""

    rule: Filter
    exponent: int

    @property
    def names(self) -> tuple[str, ...]:
        """Of the currencies."""
        return self.rule.names

    @property
    def capacity(self) -> Amounts:
        """The limit on each."""
        return self.rule.capacity

    def cost(self, event: Event) -> Cost:
        """Of an event, rounded up."""
        return self.rule.cost(event)

    def within(self, amounts: Amounts) -> AnyGuarantee:
        """The weakest guarantee whose numbers are at most ``amounts``."""
        return self.rule.within(amounts)

    @property
    def share(self) -> float | None:
        """The delta of every event under an ApproxDP limit; None under others."""
        return self.rule.share if isinstance(self.rule, ApproxFilter | AdvancedFilter) else None


def rule_of(limit: AnyGuarantee, blocks: int | None, composition: str, exponent: int | None = None) -> CountedRule:
    """The filter of an account (T14), in units of 2^-exponent, or in those of a new account.

    Raises
    ------
    ParameterError
        If the limit has no rule, several Renyi orders, or more units than a database can count.
    """
    if isinstance(limit, RDP) and len(limit.curve) != 1:
        raise ParameterError(
            f"limit: an account in Renyi DP has one order, fixed when it is opened, got {len(limit.curve)} of them. "
            f'Give one, such as RDP([(8.0, 0.5)], "{limit.adjacency.value}").'
        )
    rule = filter_of(limit, blocks, composition)
    if rule.capacity[0] > LARGEST:
        raise ParameterError(f"limit: an account holds at most {rule.names[0]}={LARGEST:,}, got {limit!r}.")
    counted = CountedRule(rule, _exponent(rule.capacity[0]) if exponent is None else exponent)
    if max(capacity_units(counted).values()) > MOST:
        most = float(MOST * quantum(counted, rule.names[0]))
        raise ParameterError(
            f"limit: this account counts up to {rule.names[0]}={most:g}, got {limit!r}. Open another for larger ones."
        )
    return counted


def _exponent(capacity: Fraction) -> int:
    """So that the capacity has `BITS` bits."""
    return BITS - math.frexp(round_down(capacity))[1] if capacity > 0 else BITS


def quantum(rule: CountedRule, name: str) -> Fraction:
    """What one unit is worth. Every event is charged one and the same share of delta, so delta is counted in shares."""
    return Fraction(rule.share) if name == "delta" and rule.share else Fraction(2) ** -rule.exponent


def capacity_units(rule: CountedRule) -> dict[str, int]:
    """The limit on each currency, in units, rounded down."""
    return {name: math.floor(most / quantum(rule, name)) for name, most in zip(rule.names, rule.capacity, strict=True)}


def limits(rule: CountedRule) -> dict[str, float]:
    """The limit on each currency as it was declared, rounded down to a double: less than a unit above what fits."""
    return {name: round_down(most) for name, most in zip(rule.names, rule.capacity, strict=True)}


def cost_units(rule: CountedRule, cost: Cost) -> dict[str, int]:
    """A cost in units, rounded up."""
    return {
        name: math.ceil(Fraction(number) / quantum(rule, name)) for name, number in zip(rule.names, cost, strict=True)
    }


def amount(rule: CountedRule, name: str, units: int) -> Fraction:
    """So many units, as a number."""
    return units * quantum(rule, name)
