# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Facts that the receipt of a budget adds to a statement: accounts, limits, limit changes and spending.

A receipt is the mapping ``Record.ledger``. The receipt of a ledger has the account, the data set and the declared unit;
the receipt of a budget in memory has the limit and the spending. It is empty if no budget was charged.

A charge to an account is a charge to all of its ancestors, and an account has the same unit as its parents. An
ancestor's limit therefore bounds everything that its descendants release about one unit, and a child's limit bounds
only the releases charged to the child. The accounts without parents cover a person: their limit is the joint
guarantee. Receipts of versions before 0.9.0 name the parents but lack their limits.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from dperm.errors import EventFormatError, ParameterError
from dperm.presentation.glossary import guarantee_name
from dperm.presentation.numbers import epsilon_first, format_number, format_up
from dperm.presentation.phrases import capitalize, count_of, join_sentences
from dperm.privacy.guarantee import guarantee_from_dict
from dperm.privacy.protection import Protection, protection
from dperm.report.definitions import GROUP
from dperm.report.field_values import as_mapping

Receipt = Mapping[str, Any]

ANCESTORS = "ancestors"
NO_COMPOSITION = "One release. Post-processing costs nothing; the costs of further releases add up."
NO_REFUNDS = "Runs that fail after their charge are not refunded."
OUTSIDE = "Runs that were not charged to {} are not included."
ALONE = "Other releases from the same data are not covered by this guarantee."
OTHERS = "This release used a seed and has no guarantee; the limit applies to the other releases only."
COVERING = (
    "This release was charged to {} and also to {}. The joint guarantee is the limit of {}. It covers all releases "
    "charged to that account or to any account below it."
)
SEVERAL_COVERING = (
    "This release was charged to {} and also to {}. The joint guarantees are the limits of {}. Each covers all "
    "releases charged to that account or to any account below it. For a person with records in the data of several of "
    "these accounts, the limits add up."
)
UNKNOWN_ANCESTORS = (
    "This release was also charged to the parent {}. The joint guarantee is the limit of the account at the top, which "
    'this receipt does not contain. To see it, run "dperm ledger show".'
)
SELECTION = "Selection among the releases by scores on private data is not covered."
LATER = (
    "The limit can be raised later. It does not cover runs whose noise was drawn from a seed; such runs are not "
    'private. "dperm ledger show" prints the current limit and the number of such runs.'
)
CURRENT = 'To see the current limit, run "dperm ledger show".'
NO_LONGER = "The guarantee of the smaller limit no longer holds."
NOT_A_GUARANTEE = "A limit that was changed after releases is a record of the spending, not a guarantee."


def budget_facts(receipt: Receipt, *, seeded: bool = False) -> dict[str, object]:
    """Return the fields of a statement for a receipt.

    Parameters
    ----------
    receipt
        Receipt of the charged budget, or an empty mapping.
    seeded
        Whether the release itself is not private.
    """
    if not receipt:
        return {"composition": NO_COMPOSITION}
    return {
        "ledger_entry": _ordered(receipt),
        "composition": _composition(receipt, seeded),
        "tuning": _tuning(receipt, seeded),
        "retries": _retries(receipt),
        **({"data_domain": {"data set, as declared": receipt["dataset"]}} if receipt.get("dataset") else {}),
    }


def unit_of_privacy(proved: str, receipt: Receipt) -> str:
    """Return the proved unit of privacy, and the declared unit of the account with the condition for its protection."""
    unit = receipt.get("unit")
    if not unit or unit == proved:
        return proved
    grouped = proved.startswith(f"one {GROUP}")
    condition = "all records of each unit are in one group" if grouped else "each unit has at most one record"
    return f"{proved}. The account declares the unit {unit!r}; the guarantee holds for this unit if {condition}."


def account_name(receipt: Receipt) -> str:
    """Return the name of an account for use in a sentence."""
    return f"the account {receipt['account']!r}" if receipt.get("account") else "the budget of this process"


def ancestors_of(receipt: Receipt) -> list[Receipt]:
    """Return the ancestors of the charged account, nearest first, each with its limit and spending."""
    ancestors = receipt.get(ANCESTORS)
    return [one for one in ancestors if isinstance(one, Mapping)] if isinstance(ancestors, list | tuple) else []


def has_unknown_ancestors(receipt: Receipt) -> bool:
    """Return whether the receipt names parents without their limits."""
    known = {one.get("account") for one in ancestors_of(receipt)}
    return any(parent not in known for one in (receipt, *ancestors_of(receipt)) for parent in one.get("parents") or ())


def covering_accounts(receipt: Receipt) -> list[Receipt]:
    """Return the accounts whose limit is the joint guarantee: those without parents.

    This is the charged account itself if it has no parents, or if the limits of its ancestors are unknown.
    """
    if not receipt:
        return []
    tops = [one for one in (receipt, *ancestors_of(receipt)) if not one.get("parents")]
    return tops or [receipt]


def ancestors_from_top(receipt: Receipt) -> list[Receipt]:
    """Return the ancestors of the charged account, those without parents first."""
    return sorted(reversed(ancestors_of(receipt)), key=lambda one: bool(one.get("parents")))


def weakest_limit(receipts: list[Receipt]) -> tuple[Receipt, Protection] | None:
    """Return the account whose limit permits the most successful attack; None without a readable limit."""
    rated = [(one, limit_protection(one)) for one in receipts]
    known = [(one, rates) for one, rates in rated if rates is not None]
    return max(known, key=lambda pair: (pair[1].success, pair[1].detection), default=None)


def limit_protection(receipt: Receipt) -> Protection | None:
    """Return the protection by an account's limit, for all permitted charges; None without a limit.

    A limit lowered after releases counts with its largest value.
    """
    limit = receipt.get("promise") or receipt.get("limit")
    return _protection(json.dumps(limit, sort_keys=True)) if isinstance(limit, Mapping) else None


@cache
def _protection(limit: str) -> Protection | None:
    try:
        return protection(guarantee_from_dict(json.loads(limit)).profile())
    except (EventFormatError, ParameterError):
        return None


def format_limit(limit: Mapping[str, Any]) -> str:
    """Return a limit as text, such as "(epsilon, delta)-DP with epsilon = 3, delta = 1e-6 (replace_one)"."""
    return f"{_format_guarantee(limit)} ({limit.get('adjacency', '')})"


def _format_guarantee(limit: Mapping[str, Any]) -> str:
    numbers = {name: value for name, value in limit.items() if name not in ("kind", "adjacency")}
    kind = guarantee_name(limit.get("kind", ""))
    if "curve" in numbers:
        return f"{kind} at {len(numbers['curve'])} orders"
    return (
        f"{kind} with {', '.join(f'{name} = {_limit_number(value)}' for name, value in epsilon_first(numbers).items())}"
    )


def _limit_number(value: object) -> str:
    return format_up(value) if isinstance(value, int | float) else str(value)


def format_spending(receipt: Receipt) -> str:
    """Return the spending of an account as text, such as "epsilon 1.5 of 3, delta 2e-7 of 1e-6"."""
    spent, capacity = receipt.get("spent"), receipt.get("capacity")
    if not isinstance(spent, Mapping) or not isinstance(capacity, Mapping):
        return ""
    shared = (name for name in epsilon_first(capacity) if name in spent)
    return ", ".join(f"{name} {format_up(spent[name])} of {format_up(capacity[name])}" for name in shared)


def time_of_charge(receipt: Receipt) -> str:
    """Return the time of validity of the receipt, such as "when this release was charged (ledger entry 7)".

    A receipt has the number of the entry that completed the release; the reservation is an earlier entry.
    """
    entry, kind = receipt.get("seq"), "ledger entry" if receipt.get("account") else "entry"
    return f"when this release was charged{f' ({kind} {entry})' if entry is not None else ''}"


def later_changes(receipt: Receipt) -> str:
    """Return the warning about later changes of the limit; empty for a budget in memory, which has a fixed limit."""
    return LATER if receipt.get("account") else ""


def limit_changes(receipt: Receipt) -> list[Mapping[str, Any]]:
    """Return the changes of the limit in a receipt, each with "at", "by", "reason", "limit" and "after".

    "after" is the number of releases charged before the change.
    """
    found = receipt.get("limit_changes")
    return [change for change in found if isinstance(change, Mapping)] if isinstance(found, list | tuple) else []


def describe_limit_changes(receipt: Receipt) -> str:
    """Return sentences about every change of the limit and its consequence; empty without changes."""
    return " ".join(_change_sentences(receipt))


def _change_sentences(receipt: Receipt) -> Iterator[str]:
    changes = limit_changes(receipt)
    limits = [as_mapping(receipt.get("opening_limit")), *(as_mapping(change.get("limit")) for change in changes)]
    steps = list(zip(pairwise(limits), changes, strict=True))
    for (old, new), change in steps:
        start = f" from {_format_guarantee(old)}" if old else ""
        yield f"The limit was changed{start} to {_format_guarantee(new)} by {_author(change)}, {_moment(change)}."
    late = [limits for limits, change in steps if change.get("after") != 0]
    if any(_is_raised(old, new) for old, new in late):
        yield NO_LONGER
    if late:
        yield NOT_A_GUARANTEE


def _author(change: Mapping[str, Any]) -> str:
    reason, day = change.get("reason"), str(change.get("at") or "").partition("T")[0]
    return f"{change.get('by')!r}" + (f" on {day}" if day else "") + (f" (reason: {reason!r})" if reason else "")


def _moment(change: Mapping[str, Any]) -> str:
    releases = change.get("after")
    if releases == 0:
        return "before any release"
    return "at an unknown time" if releases is None else f"after {count_of(releases, 'release')}"


def _is_raised(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Return whether any number grew; limits that cannot be compared count as raised."""
    names = [name for name in new if name not in ("kind", "adjacency")]
    try:
        return any(new[name] > old[name] for name in names)
    except (KeyError, TypeError):
        return True


def joint_guarantee(receipt: Receipt) -> list[str]:
    """Return sentences about the joint guarantee of this and all other releases, for the head of a page."""
    if not receipt:
        return [ALONE]
    releases = receipt.get("releases")
    count = "" if releases is None else f" ({count_of(releases, 'release')} so far)"
    limit = format_limit(receipt.get("limit", {}))
    name = account_name(receipt)
    own = (
        f"The limit of {name} applies jointly to all releases charged to this account{count}. "
        f"{_limit_at_charge(receipt, limit)}",
        later_changes(receipt),
        describe_limit_changes(receipt),
        _seeded_runs(receipt),
    )
    return [*describe_ancestors(receipt), *(sentence for sentence in (join_sentences(own[:2]), *own[2:]) if sentence)]


def describe_ancestors(receipt: Receipt) -> list[str]:
    """Return sentences about the covering limits and the spending of each ancestor; empty without parents."""
    return [sentence for sentence in (_covering_limits(receipt), *_ancestor_spending(receipt)) if sentence]


def _covering_limits(receipt: Receipt) -> str:
    if has_unknown_ancestors(receipt):
        parents = receipt.get("parents") or ()
        return UNKNOWN_ANCESTORS.format(f"{'account' if len(parents) == 1 else 'accounts'} {_quoted(parents)}")
    if not ancestors_of(receipt):
        return ""
    tops = covering_accounts(receipt)
    limits = " and ".join(f"{account_name(one)}, {format_limit(one.get('limit', {}))}" for one in tops)
    template = COVERING if len(tops) == 1 else SEVERAL_COVERING
    return template.format(account_name(receipt), _name_ancestors(receipt), limits)


def _name_ancestors(receipt: Receipt) -> str:
    """Return the ancestors for use in a sentence, nearest first."""
    above = [one.get("account") for one in ancestors_of(receipt)]
    return f"its parent account {above[0]!r}" if len(above) == 1 else f"the accounts above it, {_quoted(above)}"


def _ancestor_spending(receipt: Receipt) -> Iterator[str]:
    for one in ancestors_from_top(receipt):
        limit, spent, releases = format_limit(one.get("limit", {})), format_spending(one), one.get("releases")
        count = count_of(releases, "release") if isinstance(releases, int) else f"{releases} releases"
        known = f", whose limit is {limit}" if one.get("parents") else ""
        yield f"Spent so far from {account_name(one)}{known}: {spent} ({count})."
        yield from (describe_limit_changes(one), _seeded_runs(one))


def _quoted(accounts: Iterable[object]) -> str:
    return ", ".join(map(repr, accounts))


def _ordered(receipt: Receipt) -> dict[str, object]:
    """Return the receipt with epsilon before delta in every mapping."""
    ordered = {name: epsilon_first(item) if isinstance(item, Mapping) else item for name, item in receipt.items()}
    above = [_ordered(one) for one in ancestors_of(receipt)]
    return {**ordered, ANCESTORS: above} if above else ordered


def _composition(receipt: Receipt, seeded: bool) -> str:
    limit, bound = format_limit(receipt.get("limit", {})), "The charges to the budget never exceed the limit in total."
    if later_changes(receipt):
        bound = "Unless the limit is raised, the charges to the account never exceed the limit in total. " + CURRENT
    return join_sentences(
        (
            *describe_ancestors(receipt),
            f"The limit of {account_name(receipt)} was {limit} {time_of_charge(receipt)}. {bound}",
            "Releases may be chosen adaptively, based on earlier releases but not on the data themselves.",
            "Post-processing costs nothing.",
            _composition_rule(receipt),
            describe_limit_changes(receipt),
            _seeded_runs(receipt),
            OTHERS if seeded else "",
        )
    )


def _composition_rule(receipt: Receipt) -> str:
    rule, blocks = receipt.get("composition"), receipt.get("blocks")
    delta = f"The delta of the limit of {_booked(receipt)} is divided among at most"
    shares = f"{delta} {format_number(blocks)} releases." if blocks else ""
    return join_sentences((f"Composition rule: {rule}." if rule else "", shares))


def _booked(receipt: Receipt) -> str:
    """Return the name of the account in a receipt, or "this budget"."""
    return account_name(receipt) if receipt.get("account") else "this budget"


def _tuning(receipt: Receipt, seeded: bool) -> str:
    kind = "account" if receipt.get("account") else "budget"
    releases = receipt.get("releases")
    so_far = f" ({releases} so far)" if releases is not None else ""
    limit = format_limit(receipt.get("limit", {}))
    return join_sentences(
        (
            _covering_limits(receipt),
            f"Together, all releases charged to {account_name(receipt)}{so_far} are within the limit of the {kind}. "
            f"{_limit_at_charge(receipt, limit)}",
            later_changes(receipt),
            describe_limit_changes(receipt),
            _seeded_runs(receipt),
            OTHERS if seeded else "",
            OUTSIDE.format(_booked(receipt)),
            SELECTION,
        )
    )


def _retries(receipt: Receipt) -> str:
    burned, still_open = receipt.get("burned"), receipt.get("open")
    outside = OUTSIDE.format(_booked(receipt))
    if burned is None or still_open is None:
        return f"{NO_REFUNDS} {outside}"
    counts = (
        f"Charges for failed runs (burned): {burned}; for unfinished runs (open): {still_open}. Both count as spent."
    )
    return f"{counts} {NO_REFUNDS} {outside}"


def _limit_at_charge(receipt: Receipt, limit: str) -> str:
    return f"{capitalize(time_of_charge(receipt))}, the limit was {limit}."


def _seeded_runs(receipt: Receipt) -> str:
    """Return the warning about charged runs with a seed, without any guarantee."""
    seeded = receipt.get("seeded") or 0
    if not seeded:
        return ""
    verb = "is" if seeded == 1 else "are"
    return f"{seeded} of the charged runs used a seed and {verb} NOT PRIVATE; the limit covers only the other runs."
