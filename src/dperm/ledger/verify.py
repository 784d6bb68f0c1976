# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Reading the books again: every hash, every sum, every limit, and the anchors that artefacts carry."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dperm.errors import LedgerError
from dperm.ledger.anchor import Anchor
from dperm.ledger.books import Books, UnreadableLedgerError
from dperm.ledger.replay import Replayed, replay
from dperm.ledger.stores import location_of, store_of
from dperm.ledger.units import amount, limits
from dperm.privacy.rounding import round_up


@dataclass(frozen=True)
class VerifiedAccount:
    """What an account came to when its lines were read again."""

    entries: int
    spent: Mapping[str, float]
    capacity: Mapping[str, float]
    head: str
    """The hash of the last line."""


@dataclass(frozen=True)
class Verification:
    """The outcome: no problems, or what they are, in sentences."""

    ledger: str
    """The id of the ledger; "" if it could not be read."""
    accounts: Mapping[str, VerifiedAccount]
    problems: tuple[str, ...]
    anchors: int = 0
    """How many anchors were compared."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(location: str | os.PathLike[str], anchors: Iterable[Anchor] = (), *, prices: bool = False) -> Verification:
    """Read a ledger from its first line to its last, at one moment.

    Lines that were changed, removed or put between others are found by the chain; a wrong sum or an overspent limit
    by adding again; lines missing at the end by ``anchors`` only, since the rest is a valid ledger too.

    Parameters
    ----------
    location
        A path, or a URL of PostgreSQL.
    anchors
        From artefacts, ``Anchor.from_receipt(release.record.ledger)`` or
        ``Anchor.from_receipt(model.statement_["ledger_entry"])``, or kept from ``Ledger.anchor``.
    prices
        Whether to work out the price of every event again, which takes some milliseconds each.

    Raises
    ------
    LedgerError
        If the ledger cannot be read (a missing permission, a read-only medium with an unfinished log): then nothing was
        verified, which is no finding about the ledger.
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
    """What is wrong with books that are open."""
    return _verified(books, (), False).problems


def require_whole(books: Books, *, after: str) -> None:
    """Check that nothing is wrong with books that are open.

    Raises
    ------
    LedgerError
        If something is; ``after`` is the remedy.
    """
    if problems := problems_in(books):
        raise LedgerError(f"the ledger fails its verification: {problems[0]} Nothing was changed. {after}")


def _verified(books: Books, anchors: tuple[Anchor, ...], prices: bool) -> Verification:
    identity = books.identity()
    problems = list(books.damage())
    if not identity.is_whole:
        problems.append("the keys of the ledger do not belong together: one of them was changed.")
    accounts = {name: replay(name, books.entries(name), prices=prices) for name in books.accounts()}
    for name, replayed in accounts.items():
        problems += [*replayed.problems, *_wrong_meters(name, replayed, books), *_not_above(replayed, accounts)]
    problems += [problem for anchor in anchors for problem in _missing(anchor, identity.id, books)]
    found = {name: _account(replayed) for name, replayed in accounts.items()}
    return Verification(identity.id, found, tuple(problems), len(anchors))


def _wrong_meters(name: str, replayed: Replayed, books: Books) -> list[str]:
    if books.meters(name) == replayed.meters:
        return []
    return [f"account {name!r}: what its meters show is not the sum of its lines."]


def _not_above(replayed: Replayed, accounts: Mapping[str, Replayed]) -> list[str]:
    """Charges that a parent was spared. A charge of a child's child has the same name in both."""
    found = []
    for parent in replayed.facts.parents if replayed.facts is not None else ():
        above = accounts[parent].events if parent in accounts else {}
        for seq, request_id in replayed.reserved.items():
            told = replayed.events.get(request_id)
            if told not in (above.get(f"{replayed.name}/{request_id}"), above.get(request_id)):
                found.append(f"account {replayed.name!r}, line {seq}: its parent {parent!r} was not charged.")
    return found


def _missing(anchor: Anchor, ledger: str, books: Books) -> list[str]:
    """What is wrong with the ledger, if ``anchor`` tells the truth."""
    where = f"the anchor of line {anchor.seq} of account {anchor.account!r}"
    if not anchor.is_signed:
        return [f"{where} is not signed by the ledger that it names: it was changed, or made up."]
    if anchor.ledger != ledger:
        return [f"{where} is of another ledger ({anchor.ledger}): this one ({ledger}) is not what was charged."]
    line = books.entry(anchor.account, anchor.seq)
    if line is None:
        return [f"{where} is beyond the last line: the ledger was put back to an older state."]
    if line.hash != anchor.hash:
        return [f"{where} has another hash than the line: the ledger was put back, and went another way since."]
    return []


def _account(replayed: Replayed) -> VerifiedAccount:
    rule: Any = None if replayed.facts is None else replayed.facts.rule
    meters = {} if rule is None else replayed.meters
    return VerifiedAccount(
        replayed.entries,
        {key: round_up(amount(rule, key, meter.spent)) for key, meter in meters.items()},
        {} if rule is None else limits(rule),
        replayed.head,
    )
