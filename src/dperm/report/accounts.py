# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Accounts in a receipt: the charged account, its ancestors, and those that cover the people concerned.

A charge to an account is a charge to all of its ancestors, and an account has the unit of its parents, word for word.
So an ancestor's limit bounds everything that its descendants release about one unit, and a child's limit bounds only
the releases charged to the child. The accounts without parents are therefore the ones that cover a person: their
limit is the joint guarantee. A receipt written before version 0.9.0 has the names of its parents, not their limits.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from dperm.errors import EventFormatError, ParameterError
from dperm.privacy.guarantee import guarantee_from_dict
from dperm.privacy.protection import Protection, protection

Receipt = Mapping[str, Any]

ANCESTORS = "ancestors"


def account_of(receipt: Receipt) -> str:
    """Name of an account in a sentence."""
    return f"the account {receipt['account']!r}" if receipt.get("account") else "the budget of this process"


def ancestors_of(receipt: Receipt) -> list[Receipt]:
    """Ancestors of the charged account, nearest first, each with its limit and spending."""
    found = receipt.get(ANCESTORS)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list | tuple) else []


def has_unknown_ancestors(receipt: Receipt) -> bool:
    """Whether the receipt names parents and does not have their limits."""
    known = {one.get("account") for one in ancestors_of(receipt)}
    return any(parent not in known for one in (receipt, *ancestors_of(receipt)) for parent in one.get("parents") or ())


def covering_accounts(receipt: Receipt) -> list[Receipt]:
    """Accounts whose limit is the joint guarantee for a person: those without parents.

    The charged account itself if it has no parents, or if the limits of its ancestors are not known.
    """
    if not receipt:
        return []
    tops = [one for one in (receipt, *ancestors_of(receipt)) if not one.get("parents")]
    return tops or [receipt]


def from_the_top(receipt: Receipt) -> list[Receipt]:
    """Ancestors of the charged account, those without parents first."""
    return sorted(reversed(ancestors_of(receipt)), key=lambda one: bool(one.get("parents")))


def weakest(receipts: list[Receipt]) -> tuple[Receipt, Protection] | None:
    """The account whose limit permits the most successful attack, with the rates; None without a readable limit."""
    rated = [(one, limit_protection(one)) for one in receipts]
    known = [(one, rates) for one, rates in rated if rates is not None]
    return max(known, key=lambda pair: (pair[1].success, pair[1].detection), default=None)


def limit_protection(receipt: Receipt) -> Protection | None:
    """Protection by an account's limit, for everything that it may be charged; None if there is no such limit.

    A limit that was lowered after releases counts with its largest value.
    """
    limit = receipt.get("promise") or receipt.get("limit")
    return _protection(json.dumps(limit, sort_keys=True)) if isinstance(limit, Mapping) else None


@cache
def _protection(limit: str) -> Protection | None:
    try:
        return protection(guarantee_from_dict(json.loads(limit)).profile())
    except (EventFormatError, ParameterError):
        return None
