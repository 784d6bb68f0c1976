# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The fields of a statement that the receipt of a budget fills; nothing else about the budget is known here.

A receipt is the mapping in ``Record.ledger``: of a ledger, with account, data set and unit as they were declared; of a
budget in memory, with the limit and what is spent; or empty.
"""

from collections.abc import Iterable, Iterator, Mapping

from dperm.report import fields as words
from dperm.report.accounts import (
    ANCESTORS,
    Receipt,
    account_of,
    ancestors_of,
    covering_accounts,
    from_the_top,
    has_unknown_ancestors,
)
from dperm.report.labels import epsilon_first
from dperm.report.limit_changes import changes_in_words, later, limit_in_words, when_booked
from dperm.report.numbers import rounded_up
from dperm.report.unit import GROUP

NO_REFUNDS = "A run that fails after its charge stays charged: there are no refunds."
OUTSIDE = "Runs that were not charged to it are not included."
ALONE = "Other releases from the same data are not covered here."
OTHERS = "Nothing is promised for this release, which ran with a seed: the limit is about the others."
COVERING = (
    "The joint guarantee for a person is the limit of {}: it covers all releases charged to that account and to the "
    "accounts below it."
)
SEVERAL_COVERING = (
    "The joint guarantees are the limits of {}: each covers all releases charged to that account and to the accounts "
    "below it. For a person whose records are in the data of several of them, the limits add up."
)
UNKNOWN_ANCESTORS = (
    "The charge also counts against the parent accounts {}. This receipt does not have their limits; dperm ledger show "
    "prints them. The joint guarantee for a person is theirs."
)
CHOSEN = "Choosing among them by scores on private data is not covered by that."


def ledger_facts(receipt: Receipt, *, seeded: bool = False) -> dict[str, object]:
    """What the receipt says; without one, nothing. ``seeded`` if the release is not private itself."""
    if not receipt:
        return {"composition": words.NO_COMPOSITION}
    return {
        "ledger_entry": _ordered(receipt),
        "composition": _composition(receipt, seeded),
        "tuning": _tuning(receipt, seeded),
        "retries": _retries(receipt),
        **({"data_domain": {"data set, as declared": receipt["dataset"]}} if receipt.get("dataset") else {}),
    }


def unit_of_privacy(proved: str, receipt: Receipt) -> str:
    """What the proof is about; and the unit that the account declares, with the condition under which it holds."""
    unit = receipt.get("unit")
    if not unit or unit == proved:
        return proved
    grouped = proved.startswith(f"one {GROUP}")
    condition = "all of its records are in one group" if grouped else "at most one record belongs to each"
    return f"{proved}. The account declares the unit {unit!r}: it is protected if {condition}."


def together(receipt: Receipt) -> list[str]:
    """What holds for this and all other releases, for the plain part of a page; changes of the limit on their own."""
    if not receipt:
        return [ALONE]
    many = receipt.get("releases")
    count = "" if many is None else " (1 release so far)" if many == 1 else f" ({many} releases so far)"
    limit = limit_in_words(receipt.get("limit", {}))
    said = f"Together with everything else charged to {account_of(receipt)}{count} the limit was {limit}, "
    own = (f"{said}{when_booked(receipt)}{_later(receipt)}.", changes_in_words(receipt), _seeded(receipt))
    return [part for part in (*ancestors_in_words(receipt), *own) if part]


def ancestors_in_words(receipt: Receipt) -> list[str]:
    """Which limits cover a person, then limit and spending of every ancestor, from the top; empty without parents."""
    return [sentence for sentence in (_covering(receipt), *_spent_above(receipt)) if sentence]


def _covering(receipt: Receipt) -> str:
    """The accounts whose limit is the joint guarantee, with their limits; empty without parents."""
    if has_unknown_ancestors(receipt):
        return UNKNOWN_ANCESTORS.format(_names(receipt.get("parents") or ()))
    if not ancestors_of(receipt):
        return ""
    tops = covering_accounts(receipt)
    limits = " and ".join(f"{account_of(one)}, {limit_in_words(one.get('limit', {}))}" for one in tops)
    return (COVERING if len(tops) == 1 else SEVERAL_COVERING).format(limits)


def _spent_above(receipt: Receipt) -> Iterator[str]:
    for one in from_the_top(receipt):
        yield from (_ancestor(one), changes_in_words(one), _seeded(one))


def spending_in_words(receipt: Receipt) -> str:
    """Such as "epsilon 1.5 of 3, delta 2e-7 of 1e-6"."""
    spent, capacity = receipt.get("spent"), receipt.get("capacity")
    if not isinstance(spent, Mapping) or not isinstance(capacity, Mapping):
        return ""
    shared = (name for name in epsilon_first(capacity) if name in spent)
    return ", ".join(f"{name} {rounded_up(spent[name])} of {rounded_up(capacity[name])}" for name in shared)


def _ancestor(one: Receipt) -> str:
    limit, spent = limit_in_words(one.get("limit", {})), spending_in_words(one)
    count = "1 release" if one.get("releases") == 1 else f"{one.get('releases')} releases"
    return f"The charge counts against {account_of(one)}: limit {limit}, spent {spent}, {count} so far."


def _names(accounts: Iterable[object]) -> str:
    return ", ".join(map(repr, accounts))


def _ordered(receipt: Receipt) -> dict[str, object]:
    """The receipt, epsilon before delta wherever they stand side by side."""
    ordered = {name: epsilon_first(item) if isinstance(item, Mapping) else item for name, item in receipt.items()}
    above = [_ordered(one) for one in ancestors_of(receipt)]
    return {**ordered, ANCESTORS: above} if above else ordered


def _composition(receipt: Receipt, seeded: bool) -> str:
    parts = [
        *ancestors_in_words(receipt),
        f"The limit of {account_of(receipt)} {when_booked(receipt)}, {limit_in_words(receipt.get('limit', {}))}, is "
        f"what holds for everything charged to it together{', until it is raised' if later(receipt) else ''}, also if "
        f"releases were chosen from earlier releases (not from looks at the data){_later(receipt)}. Post-processing "
        f"costs nothing.",
        _blocks(receipt),
        changes_in_words(receipt),
        _seeded(receipt),
        OTHERS if seeded else "",
    ]
    return " ".join(part for part in parts if part)


def _blocks(receipt: Receipt) -> str:
    rule, blocks = receipt.get("composition"), receipt.get("blocks")
    shares = f"Its delta is divided among {blocks} releases at most." if blocks else ""
    return " ".join(part for part in (f"Rule of composition: {rule}." if rule else "", shares) if part)


def _later(receipt: Receipt) -> str:
    return f"; {later(receipt)}" if later(receipt) else ""


def _tuning(receipt: Receipt, seeded: bool) -> str:
    many = receipt.get("releases")
    so_far = f", {many} so far," if many is not None else ""
    limit = limit_in_words(receipt.get("limit", {}))
    within = f"All releases charged to {account_of(receipt)}{so_far} are together within {limit}, the limit "
    said = f"{within}{when_booked(receipt)}{_later(receipt)}."
    parts = (
        _covering(receipt),
        said,
        changes_in_words(receipt),
        _seeded(receipt),
        OTHERS if seeded else "",
        OUTSIDE,
        CHOSEN,
    )
    return " ".join(part for part in parts if part)


def _retries(receipt: Receipt) -> str:
    burned, still_open = receipt.get("burned"), receipt.get("open")
    if burned is None or still_open is None:
        return f"{NO_REFUNDS} {OUTSIDE}"
    return f"Burned: {burned}, still open: {still_open}. All of them are charged. {NO_REFUNDS} {OUTSIDE}"


def _seeded(receipt: Receipt) -> str:
    """Seeded runs are in no guarantee, also not in that of the account."""
    seeded = receipt.get("seeded") or 0
    return (
        f"But {seeded} of what was charged ran with a seed and is NOT PRIVATE: the limit holds for the rest alone."
        if seeded
        else ""
    )
