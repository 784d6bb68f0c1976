# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Money in whole numbers: 2^-40 of epsilon, rho, mu^2 or tau, and whole shares of delta.

A ledger adds integers, so that no rounding is lost in a sum, and a database can compare it with the limit itself. A
cost is rounded up to the next unit, a limit down: neither gives anything away.
"""

import math
from collections.abc import Mapping
from fractions import Fraction

from dperm.accounting.filters import Cost, Filter, filter_of
from dperm.accounting.filters.approx import AdvancedFilter, ApproxFilter
from dperm.errors import ParameterError
from dperm.privacy.guarantee import RDP, AnyGuarantee

UNIT = Fraction(1, 2**40)
MOST = 2**62
"""Units that an account can hold: they fit into the 64-bit integers of databases, sums too."""

Units = Mapping[str, int]


def rule_of(limit: AnyGuarantee, blocks: int | None, composition: str) -> Filter:
    """The filter of an account (T14).

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
    if max(capacity_units(rule).values()) > MOST:
        raise ParameterError(f"limit: an account holds at most {float(MOST * UNIT):g}, got {limit!r}.")
    return rule


def quantum(rule: Filter, name: str) -> Fraction:
    """What one unit is worth. Every event is charged one and the same share of delta, so delta is counted in shares."""
    share = share_of(rule) if name == "delta" else None
    return Fraction(share) if share else UNIT


def share_of(rule: Filter) -> float | None:
    """The delta of every event under an ApproxDP limit; None under others."""
    return rule.share if isinstance(rule, ApproxFilter | AdvancedFilter) else None


def capacity_units(rule: Filter) -> dict[str, int]:
    """The limit on each currency, in units, rounded down."""
    return {name: math.floor(most / quantum(rule, name)) for name, most in zip(rule.names, rule.capacity, strict=True)}


def cost_units(rule: Filter, cost: Cost) -> dict[str, int]:
    """A cost in units, rounded up."""
    return {
        name: math.ceil(Fraction(number) / quantum(rule, name)) for name, number in zip(rule.names, cost, strict=True)
    }


def amount(rule: Filter, name: str, units: int) -> Fraction:
    """So many units, as a number."""
    return units * quantum(rule, name)
