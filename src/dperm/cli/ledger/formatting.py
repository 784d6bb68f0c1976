# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Limits, charges and balances as text."""

import math
from collections.abc import Callable

from dperm.cli.ledger.account_status import AccountStatus
from dperm.cli.output import DIGITS, down, plain_down, plain_up
from dperm.ledger import AccountFacts
from dperm.ledger.units import amount, capacity_units, quantum
from dperm.presentation.numbers import format_number
from dperm.privacy.guarantee import GDP, RDP, ZCDP, AnyGuarantee, ApproxDP, PureDP
from dperm.privacy.rounding import round_down, round_up

_CURRENCIES = {"epsilon_squared": "epsilon^2", "mu_squared": "mu^2"}
SHARES = "releases"
"""Unit of delta: every release takes one equal share."""


def format_constant(number: float) -> str:
    """Return a declared constant as typed, such as 3, 0.1 or 1e-6; never smaller than it is."""
    short = format_number(number, digits=DIGITS)
    return (
        short if abs(float(short) - number) <= 1e-12 * abs(number) else repr(number)
    )  # a limit must not look smaller than it is


def format_currency(name: str) -> str:
    """Return the name of a currency for tables."""
    return (
        f"tau, order {format_constant(float(name[4:-1]))}" if name.startswith("tau(") else _CURRENCIES.get(name, name)
    )


def format_limit(limit: AnyGuarantee, number: Callable[[float], str] = format_constant) -> str:
    """Return a limit as text, such as "epsilon 3 at delta 1e-6, replace_one"; ``number`` formats its numbers."""
    match limit:
        case PureDP():
            size = f"epsilon {number(limit.epsilon)}"
        case ApproxDP():
            size = f"epsilon {number(limit.epsilon)} at delta {number(limit.delta)}"
        case ZCDP():
            size = f"rho {number(limit.rho)} (zCDP)"
        case GDP():
            size = f"mu {number(limit.mu)} (Gaussian DP)"
        case RDP():
            size = (
                ", ".join(f"tau {number(tau)} at order {format_constant(order)}" for order, tau in limit.curve)
                + " (Renyi DP)"
            )
    return f"{size}, {limit.adjacency.value}"


def describe_charges(facts: AccountFacts) -> str:
    """Return the cost rule of releases, and their largest number."""
    match facts.limit:
        case ApproxDP():
            return _charged_at_share(facts)
        case ZCDP():
            own = "its rho"
        case GDP():
            own = "the square of its mu"
        case RDP():
            own = "its Renyi divergence at that order"
        case PureDP():
            own = "its epsilon"
    return f"each costs {own}; the sum stays within {_capacity(facts)}."


def _charged_at_share(facts: AccountFacts) -> str:
    """Return the cost rule of an ApproxDP limit, whose delta is divided in advance."""
    name, share = facts.rule.names[0], format_constant(facts.share or 0.0)
    squares = name == "epsilon_squared"
    own = "the square of its epsilon" if squares else "its epsilon"
    less = ", or 2 rho if that is less" if squares else ""
    units = capacity_units(facts.rule)[name] // (facts.blocks or 1)
    each = round_down(amount(facts.rule, name, units))
    equal = down(math.sqrt(each)) if squares else format_constant(each)
    return (
        f"each costs {own} at delta {share}{less}; the sum stays within {_capacity(facts)}. At most {facts.blocks} "
        f"releases, of epsilon {equal} each if they are equal."
    )


def _capacity(facts: AccountFacts) -> str:
    name = facts.rule.names[0]
    return format_constant(float(amount(facts.rule, name, capacity_units(facts.rule)[name])))


def meter_rows(status: AccountStatus) -> list[tuple[str, str, str, str, str, float]]:
    """Return currency, limit, spent, left, spendable and used share; spent rounded up, left and spendable down."""
    rows: list[tuple[str, str, str, str, str, float]] = []
    rule = status.facts.rule
    for name in rule.names:
        meter, most = status.meters[name], status.spendable.amounts[name]
        used = meter.spent / meter.capacity if meter.capacity else 1.0
        if name != "delta":
            size, spent = (amount(rule, name, units) for units in (meter.capacity, meter.spent))
            left, spendable = (plain_down(round_down(one)) for one in (status.own.left(name), most))
            rows.append(
                (format_currency(name), format_constant(float(size)), plain_up(round_up(spent)), left, spendable, used)
            )
        elif meter.capacity:  # in whole shares
            left, spendable = str(meter.capacity - meter.spent), str(most // quantum(rule, name))
            rows.append((SHARES, str(meter.capacity), str(meter.spent), left, spendable, used))
    return rows
