# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Cost of pure noise on accounts of zCDP, Gaussian DP or Renyi DP, charged as the worst event with its epsilon."""

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from dperm.cli.charging import format_costs
from dperm.errors import DpermError

if TYPE_CHECKING:
    from dperm.accounting.event import Event
    from dperm.cli.charged_run import ChargedRequest
    from dperm.cli.charging import Account

GAUSSIAN = "gradient"
"""A method with Gaussian noise for all losses."""


def costly_noise_note(event: "Event", account: "Account", request: "ChargedRequest") -> str:
    """Return a note on the high price of pure noise for such an account; empty for other events."""
    from dperm.privacy.guarantee import ApproxDP, PureDP

    if isinstance(account.facts.limit, PureDP | ApproxDP) or not _is_pure(event, account):
        return ""
    cost = format_costs(account.price(event))
    return (
        f"Note: this plan adds pure noise (Laplace or gamma), for which an account of this kind is charged a high "
        f"price: {cost}. Gaussian noise for the same epsilon costs far less: try --method {GAUSSIAN}"
        f"{_alternative_cost(account, request)}."
    )


def _is_pure(event: "Event", account: "Account") -> bool:
    from dperm.accounting.filters.costs import pure_epsilon

    return all(pure_epsilon(single, account.facts.adjacency) is not None for single, _ in event.singles())


def _alternative_cost(account: "Account", request: "ChargedRequest") -> str:
    """Return the cost with Gaussian noise, where it is known."""
    from dperm.cli.fit_request import ModelFitRequest

    if not isinstance(request, ModelFitRequest):  # a private preparation never adds pure noise alone
        return ""
    if not request.is_planned or request.delta == 0:
        return " with a --delta > 0" * (request.delta == 0)
    with suppress(DpermError):
        other = replace(request, method=GAUSSIAN).plan()
        if other is not None:
            return f", which costs {format_costs(account.price(other.event))}"
    return ""
