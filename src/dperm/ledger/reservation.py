# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Reservations, used by the run that charges an account, and bookings, which report earlier charges."""

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar, final

from dperm.accounting.budget import State, checked_text
from dperm.ledger import bookkeeping
from dperm.ledger.account_facts import AccountFacts, line_of_text
from dperm.ledger.bookkeeping import CLOSED, EntryReference
from dperm.ledger.books import Books
from dperm.ledger.charges import meters_of
from dperm.ledger.entry import Entry, EntryKind
from dperm.ledger.public_facts import plain_facts
from dperm.ledger.stores import store_of
from dperm.ledger.transactions import consult, transact
from dperm.ledger.units import amount, limits
from dperm.privacy.guarantee import guarantee_as_dict
from dperm.privacy.rounding import round_up

Result = TypeVar("Result")


@final
@dataclass(frozen=True)
class LedgerReservation:
    """Reservation made by `Ledger.reserve`: one charge to an account and to its ancestors, for one release.

    Attributes
    ----------
    location
        Path of the ledger file, or URL of its database.
    places
        References to the entry of this charge in the account, and to its entries in the ancestors.
    request_id
        Id of the request; random if none was given.
    repeated
        Whether the request id was already reserved before this call. If True, do not draw any noise.
    holder
        Random token that identifies this object. Only one object, the holder of the reservation, may draw noise under a
        lease; see ``take_over``.
    """

    location: str = field(repr=False)
    places: tuple[EntryReference, ...]
    request_id: str
    repeated: bool = field(default=False, compare=False)
    holder: str = field(default_factory=lambda: secrets.token_hex(16), compare=False, repr=False)

    @property
    def state(self) -> State:
        """State of the reservation: reserved, committed or burned."""
        return consult(store_of(self.location), self._state)

    @property
    def receipt(self) -> Mapping[str, object]:
        """Signed receipt: anchor of the charge, and the limits and spending of the account and its ancestors."""
        return consult(store_of(self.location), self._receipt)

    def commit(self, digest: str) -> None:
        """Close the reservation with the digest of the released value.

        Parameters
        ----------
        digest
            Digest of the released value.

        Raises
        ------
        BudgetError
            If the reservation was burned, or committed with a different digest.
        SupersededError
            If another holder has taken over the reservation.

        Notes
        -----
        **Guarantees.** The commit is stored durably when the method returns. Repeating the call with the same digest
        changes nothing.
        """
        self._close(EntryKind.COMMIT, {"digest": checked_text("digest", digest)})

    def burn(self, reason: str) -> None:
        """Close the reservation without a release. The reservation stays charged.

        Parameters
        ----------
        reason
            Public text stored with the entry; it must not contain private data.

        Raises
        ------
        BudgetError
            If the reservation was committed.
        SupersededError
            If another holder has taken over the reservation.
        """
        self._close(EntryKind.BURN, {"reason": checked_text("reason", reason)})

    def record_stage(self, name: str, facts: Mapping[str, object]) -> None:
        """Durably append the facts of a finished stage to this open reservation. A stage costs nothing.

        Parameters
        ----------
        name
            Name of the stage, one line of text. Each name can be used only once per reservation.
        facts
            Public JSON data, such as the digest of the output; at most 64 kB.

        Raises
        ------
        SupersededError
            If another holder has taken over the reservation.
        BudgetError
            If the reservation is closed or belongs to another run, or has a stage of this name with different facts.
        ParameterError
            If the name or the facts are invalid.

        Notes
        -----
        **Guarantees.** The entry is part of the hash chain of the account, and is stored durably when the method
        returns. Repeating the call changes nothing.
        """
        place, known, public = self.places[0], line_of_text("name", name), plain_facts(facts)
        self._change(lambda books: bookkeeping.record_stage(books, place, self.holder, name=known, facts=public))

    def take_over(self, draws: int) -> int:
        """Durably make this object the only holder of the reservation, to resume a run under the same charge.

        Parameters
        ----------
        draws
            Number of noise draws that the run had made at its checkpoint.

        Returns
        -------
        int
            Number of draws that count as used: ``draws``, or the number leased to the previous holder if it is larger.

        Raises
        ------
        BudgetError
            If the reservation is closed.
        """
        place = self.places[0]
        return self._change(lambda books: bookkeeping.take_over(books, place, self.holder, draws))

    def lease(self, draws: int) -> None:
        """Durably record that this object may make ``draws`` noise draws in total.

        Parameters
        ----------
        draws
            Total number of permitted noise draws since the start of the run.

        Raises
        ------
        SupersededError
            If another holder has taken over the reservation.
        BudgetError
            If the reservation is closed.

        Notes
        -----
        **Guarantees.** Only the last holder obtains a lease, so copies of a run never draw noise twice for one charge.
        """
        self._change(lambda books: bookkeeping.lease(books, self.places[0], self.holder, draws))

    def check_holder(self) -> None:
        """Check that no other holder has taken over the reservation. Nothing is written.

        Raises
        ------
        SupersededError
            If another holder has taken over the reservation.
        """
        place = self.places[0]
        consult(store_of(self.location), lambda books: bookkeeping.require_holder(books, place, self.holder))

    def _change(self, action: Callable[[Books], Result]) -> Result:
        """Run a change of the own account; leases and stages do not concern its ancestors."""
        return transact(store_of(self.location), [self.places[0].account], action)

    def _state(self, books: Books) -> State:
        line = bookkeeping.reservation_entry(books, self.places[0])
        closed = books.closing(line.account, line.seq)
        return State.RESERVED if closed is None else CLOSED[closed.kind]

    def _receipt(self, books: Books) -> Mapping[str, object]:
        own, identity = self.places[0], books.identity()
        reserved = bookkeeping.reservation_entry(books, own)
        last = books.closing(own.account, own.seq) or reserved
        return identity.sign_receipt(
            {
                **asdict(identity.anchor(last)),
                "request_id": self.request_id,
                "digest": last.body.get("digest"),
                **_account(books, own.account),
                **self._ancestors(books),
            }
        )

    def _ancestors(self, books: Books) -> dict[str, object]:
        """Return limit and spending of every ancestor, nearest first; empty without parents."""
        above = [
            {"account": place.account, "seq": place.seq, **_account(books, place.account)} for place in self.places[1:]
        ]
        return {"ancestors": above} if above else {}

    def _close(self, kind: EntryKind, body: Mapping[str, object]) -> None:
        def closing(books: Books) -> None:
            bookkeeping.require_holder(books, self.places[0], self.holder)
            for place in self.places:
                bookkeeping.close(books, place, kind, body)

        transact(store_of(self.location), [place.account for place in self.places], closing)


@dataclass(frozen=True)
class BookedStage:
    """A finished stage of a release.

    Attributes
    ----------
    seq, at
        Number and time of the entry.
    name
        Name of the stage.
    facts
        Public facts, such as the digest of the output.
    """

    seq: int
    at: str
    name: str
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Booking:
    """One charge to an account and its outcome. The cost stays charged, whatever the outcome.

    Attributes
    ----------
    seq, at
        Number of the reservation's entry, and the time at which it was written.
    request_id
        Id of the request. For a charge made through a child account, the id starts with the name of the child, such as
        ``north/fit-7``.
    event
        Charged event, as a mapping of plain JSON data.
    cost
        Cost in each currency of the account, such as "epsilon", rounded up.
    state
        State of the charge: reserved (the run is in progress or has crashed), committed or burned.
    digest
        Digest of the released value; None if the charge was not committed.
    reason
        Reason why the charge was burned; None if it was not burned.
    facts
        Facts reported by the run, such as the noise distribution, package versions, and whether a seed was used.
    stages
        Finished stages of the release, in order, each with ``seq``, ``at``, ``name`` and ``facts``.
    """

    seq: int
    at: str
    request_id: str
    event: Mapping[str, Any]
    cost: Mapping[str, float]
    state: State
    digest: str | None
    reason: str | None
    facts: Mapping[str, Any]
    stages: tuple[BookedStage, ...] = ()


def bookings(facts: AccountFacts, entries: Iterable[Entry]) -> tuple[Booking, ...]:
    """Return the charges among the entries of an account."""
    lines = list(entries)
    closed = {line.about: line for line in lines if line.kind in CLOSED}
    stages: dict[int | None, list[BookedStage]] = defaultdict(list)
    for line in lines:
        if line.kind is EntryKind.STAGE:
            stages[line.about].append(_booked_stage(line))
    reserved = (line for line in lines if line.kind is EntryKind.RESERVE)
    return tuple(_booking(facts, line, closed.get(line.seq), tuple(stages[line.seq])) for line in reserved)


def _booked_stage(line: Entry) -> BookedStage:
    body: Mapping[str, Any] = line.body
    return BookedStage(line.seq, line.at, body["name"], body["facts"])


def _booking(facts: AccountFacts, line: Entry, closed: Entry | None, stages: tuple[BookedStage, ...]) -> Booking:
    body: Mapping[str, Any] = line.body
    said: Mapping[str, Any] = {} if closed is None else closed.body
    return Booking(
        line.seq,
        line.at,
        request_id=str(line.request_id),
        event=body["event"],
        cost={name: round_up(amount(facts.rule, name, units)) for name, units in line.cost.items()},
        state=State.RESERVED if closed is None else CLOSED[closed.kind],
        digest=said.get("digest"),
        reason=said.get("reason"),
        facts=body["facts"],
        stages=stages,
    )


def _changes(books: Books, name: str) -> dict[str, object]:
    """Return the history of limit changes; empty if there were none."""
    changes = [
        {
            "at": line.at,
            **{key: line.body[key] for key in ("limit", "reason", "by")},
            "after": books.reserved_before(name, line.seq),
        }
        for line in books.of_kind(name, EntryKind.LIMIT)
    ]
    if not changes:
        return {}
    (opening,) = books.of_kind(name, EntryKind.OPEN)
    return {"opening_limit": opening.body["limit"], "limit_changes": changes}


def _account(books: Books, name: str) -> dict[str, object]:
    """Return the declarations and meters of an account, for a receipt."""
    facts, counts = bookkeeping.facts_of(books, name), books.counts(name)
    meters = meters_of(books, facts)
    return {
        "dataset": facts.dataset,
        "unit": facts.unit,
        "limit": guarantee_as_dict(facts.limit),
        **({} if facts.promised is None else {"promise": guarantee_as_dict(facts.promised)}),
        **_changes(books, name),
        "blocks": facts.blocks,
        "composition": facts.composition,
        "parents": list(facts.parents),
        "capacity": limits(facts.rule),
        "spent": {key: round_up(amount(facts.rule, key, meter.spent)) for key, meter in meters.items()},
        "releases": counts.committed,
        "burned": counts.burned,
        "open": counts.reserved - counts.committed - counts.burned,
        "seeded": counts.seeded,
    }
