# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Stateless pricing of an event under a filter, and the refusal if the budget does not cover it."""

import math
from fractions import Fraction

from dperm.accounting.event import Event
from dperm.accounting.filters.filter import Amounts, Cost, Filter, in_brief
from dperm.checks import shown
from dperm.errors import BudgetError, ParameterError
from dperm.privacy.rounding import few_digits_down, few_digits_up, round_down, round_up


def price(rule: Filter, event: Event) -> Cost:
    """Return the cost of ``event`` under a filter.

    Parameters
    ----------
    rule
        Filter of the budget.
    event
        Accounting event.

    Returns
    -------
    tuple of float
        One finite cost for each of ``rule.names``.

    Raises
    ------
    AdjacencyError, ConversionError, BudgetError
        If the event has no finite cost under the filter.
    ParameterError
        If ``event`` is not an event.
    """
    if not isinstance(event, Event):
        raise ParameterError(f"event must be an event such as Gaussian(1.0) * 10, got {shown(event)}.")
    cost = rule.cost(event)
    if not all(math.isfinite(number) for number in cost):
        raise BudgetError(f"{in_brief(event)} costs more than any number. Nothing was charged. Use more noise.")
    return cost


def total(spent: Amounts, cost: Cost) -> Amounts:
    """Return the spent amounts plus ``cost``, as exact fractions.

    Parameters
    ----------
    spent
        Amounts spent so far.
    cost
        Cost of the event.

    Returns
    -------
    tuple of Fraction
        The sums.
    """
    return tuple(old + Fraction(new) for old, new in zip(spent, cost, strict=True))


def left(rule: Filter, spent: Amounts) -> Amounts:
    """Return the remaining part of each limit.

    Parameters
    ----------
    rule
        Filter of the budget.
    spent
        Amounts spent so far.

    Returns
    -------
    tuple of Fraction
        One amount for each of ``rule.names``.
    """
    return tuple(most - used for most, used in zip(rule.capacity, spent, strict=True))


def require(rule: Filter, spent: Amounts, cost: Cost, event: Event) -> None:
    """Check that the limit covers ``cost`` in addition to the spent amounts.

    Parameters
    ----------
    rule
        Filter of the budget.
    spent
        Amounts spent so far.
    cost
        Cost of the event.
    event
        Accounting event.

    Raises
    ------
    BudgetError
        If the limit does not cover the cost. The message states the requested cost, the remaining amount and a remedy.
    """
    for name, asked, most, used in zip(rule.names, cost, rule.capacity, spent, strict=True):
        if Fraction(asked) > most - used:
            raise BudgetError(
                f"This release {shortage(name, Fraction(asked), most - used)} of the limit of {round_up(most)!r} "
                f"remains. Nothing was charged. {_remedy(name, asked, most - used)}"
            )


def is_rounding_error(asked: Fraction, remains: Fraction) -> bool:
    """Return whether a cost exceeds the remaining amount by less than 1e-9 of it, a rounding error."""
    return remains > 0 and asked - remains < remains / 10**9


def shortage(name: str, asked: Fraction, remains: Fraction) -> str:
    """Return the start of a sentence "costs ..., but only ... of the limit remains".

    The cost has few digits, rounded up, and the remainder few digits, rounded down; both are in full if they hardly
    differ.
    """
    cost, rest = round_up(asked), round_down(remains)
    if not is_rounding_error(asked, remains):
        cost, rest = few_digits_up(cost), few_digits_down(rest)
    return f"costs {name}={cost!r}, but only {name}={rest!r}"


def request_less(name: str) -> str:
    """Return the remedy for an uncovered cost called ``name``."""
    currency = name.partition("(")[0].removesuffix("_squared")
    return (
        f"Request a smaller {currency}. A limit that is raised because of earlier results was not fixed in advance, "
        f"and the guarantee of the smaller limit is lost."
    )


def _remedy(name: str, asked: float, remains: Fraction) -> str:
    if is_rounding_error(Fraction(asked), remains):
        return (
            "It is over by a rounding error, and costs are added exactly: ten times the double 0.1 is more than 1. "
            "Ask for slightly less, such as what remains."
        )
    if name == "delta":
        return "Every declared block is used. Declare as many blocks as there will be events when the budget is opened."
    return request_less(name)
