# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Pure noise on an account of zCDP, Gaussian DP or Renyi DP: it is charged as the worst event of its epsilon."""

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from dperm.cli.charging import in_words
from dperm.errors import DpermError

if TYPE_CHECKING:
    from dperm.accounting.event import Event
    from dperm.cli.charging import Account
    from dperm.cli.problem import Problem

GAUSSIAN = "gradient"
"""A method whose noise is Gaussian, for all losses."""


def on_dear_noise(event: "Event", account: "Account", asked: "Problem") -> str:
    """What to say of an event that such an account is charged dearly for; nothing of others."""
    from dperm.privacy.guarantee import ApproxDP, PureDP

    if isinstance(account.facts.limit, PureDP | ApproxDP) or not _is_pure(event, account):
        return ""
    cost = in_words(account.price(event))
    return (
        f"Note: the noise of this plan is pure (Laplace or gamma), which an account of this kind is charged dearly "
        f"for: {cost}. Gaussian noise for the same epsilon costs far less: try --method {GAUSSIAN}"
        f"{_instead(account, asked)}."
    )


def _is_pure(event: "Event", account: "Account") -> bool:
    from dperm.accounting.filters.costs import pure_epsilon

    return all(pure_epsilon(single, account.facts.adjacency) is not None for single, _ in event.singles())


def _instead(account: "Account", asked: "Problem") -> str:
    """What that would cost, where it is known."""
    if not asked.is_planned or asked.delta == 0:
        return " with a --delta > 0" * (asked.delta == 0)
    with suppress(DpermError):
        other = replace(asked, method=GAUSSIAN).plan()
        if other is not None:
            return f", which costs {in_words(account.price(other.event))}"
    return ""
