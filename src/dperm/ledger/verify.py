# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Verification of a ledger: every hash, every total, every limit, and anchors stored elsewhere."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dperm.errors import LedgerError
from dperm.ledger.anchor import Anchor
from dperm.ledger.books import Books, UnreadableLedgerError
from dperm.ledger.replay import AccountReplay, replay
from dperm.ledger.stores import location_of, store_of
from dperm.ledger.units import amount, limits
from dperm.privacy.rounding import round_up


@dataclass(frozen=True)
class VerifiedAccount:
    """Result of the verification of one account: number of entries, spending, limits and hash of the last entry."""

    entries: int
    spent: Mapping[str, float]
    capacity: Mapping[str, float]
    head: str
    """Hash of the last entry."""


@dataclass(frozen=True)
class Verification:
    """Result of `verify`, with the problems found.

    Attributes
    ----------
    ledger
        Id of the ledger; "" if the ledger could not be read.
    accounts
        Verified accounts, keyed by account name.
    problems
        Problems found, as sentences; empty if there are none.
    anchors
        Number of anchors that were compared with the ledger.
    """

    ledger: str
    accounts: Mapping[str, VerifiedAccount]
    problems: tuple[str, ...]
    anchors: int = 0

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems


def verify(location: str | os.PathLike[str], anchors: Iterable[Anchor] = (), *, prices: bool = False) -> Verification:
    """Verify all entries in one consistent snapshot of a ledger.

    The hash chain reveals changed, removed or inserted entries, and the sums of the charges reveal wrong totals or
    exceeded limits. An older copy of the ledger also has a valid hash chain, but lacks the last entries. The .lock file
    beside a ledger file reveals that they are missing. If the .lock file is missing or was replaced by an older copy
    too, only ``anchors`` reveal this.

    Parameters
    ----------
    location
        Path of a file, or URL of a PostgreSQL database.
    anchors
        Anchors to compare with the ledger. They are saved results of ``Ledger.anchor``, or come from the receipts of
        releases: ``Anchor.from_receipt(release.record.ledger)`` or
        ``Anchor.from_receipt(model.statement_["ledger_entry"])``.
    prices
        Whether to recompute the cost of every event, which takes a few milliseconds per event.

    Returns
    -------
    Verification
        Accounts and problems found.

    Raises
    ------
    LedgerError
        If the ledger cannot be read, for example because of a missing permission. Nothing was verified then, so the
        error does not mean that the ledger is damaged.
    """
    kept = tuple(anchors)
    try:
        with store_of(location_of(location)).read() as books:
            return _verified(books, kept, prices)
    except UnreadableLedgerError:
        raise
    except LedgerError as error:
        return Verification("", {}, (str(error),), len(kept))


def problems_in(books: Books) -> tuple[str, ...]:
    """Return the problems of open books."""
    return _verified(books, (), False).problems


def require_whole(books: Books, *, after: str) -> None:
    """Check that open books have no problems.

    Raises
    ------
    LedgerError
        With the first problem, and ``after`` as the remedy.
    """
    if problems := problems_in(books):
        raise LedgerError(f"the ledger fails its verification: {problems[0]} Nothing was changed.", remedy=after)


def _verified(books: Books, anchors: tuple[Anchor, ...], prices: bool) -> Verification:
    identity = books.identity()
    problems = list(books.damage())
    if not identity.is_whole:
        problems.append("the keys of the ledger do not match each other: one of them was changed.")
    accounts = {name: replay(name, books.entries(name), prices=prices) for name in books.accounts()}
    for name, replayed in accounts.items():
        problems += [*replayed.problems, *_wrong_meters(name, replayed, books), *_uncharged_parents(replayed, accounts)]
    problems += [problem for anchor in anchors for problem in _anchor_problems(anchor, identity.id, books)]
    found = {name: _account(replayed) for name, replayed in accounts.items()}
    return Verification(identity.id, found, tuple(problems), len(anchors))


def _wrong_meters(name: str, replayed: AccountReplay, books: Books) -> list[str]:
    if books.meters(name) == replayed.meters:
        return []
    return [f"account {name!r}: its meters are not the sums of its lines."]


def _uncharged_parents(replayed: AccountReplay, accounts: Mapping[str, AccountReplay]) -> list[str]:
    """Return charges missing in a parent; a grandchild's charge has the same request id in both."""
    found = []
    for parent in replayed.facts.parents if replayed.facts is not None else ():
        above = accounts[parent].events if parent in accounts else {}
        for seq, request_id in replayed.reserved.items():
            charged = replayed.events.get(request_id)
            if charged not in (above.get(f"{replayed.name}/{request_id}"), above.get(request_id)):
                found.append(f"account {replayed.name!r}, line {seq}: its parent {parent!r} was not charged.")
    return found


def _anchor_problems(anchor: Anchor, ledger: str, books: Books) -> list[str]:
    """Return contradictions between the ledger and a valid ``anchor``."""
    where = f"the anchor of line {anchor.seq} of account {anchor.account!r}"
    if not anchor.is_signed:
        return [f"{where} is not signed by its ledger: it was changed, or forged."]
    if anchor.ledger != ledger:
        return [f"{where} is of another ledger ({anchor.ledger}), not of this one ({ledger})."]
    line = books.entry(anchor.account, anchor.seq)
    if line is None:
        return [f"{where} is beyond the last line: the ledger was rolled back to an older state."]
    if line.hash != anchor.hash:
        return [f"{where} has another hash than the line: the ledger was rolled back and then continued differently."]
    return []


def _account(replayed: AccountReplay) -> VerifiedAccount:
    rule: Any = None if replayed.facts is None else replayed.facts.rule
    meters = {} if rule is None else replayed.meters
    return VerifiedAccount(
        replayed.entries,
        {key: round_up(amount(rule, key, meter.spent)) for key, meter in meters.items()},
        {} if rule is None else limits(rule),
        replayed.head,
    )
