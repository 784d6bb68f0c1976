# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The ledger behind a fit: which account, whether it is one of these data, and what was charged, whatever happens."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dperm.cli.output import plain_up
from dperm.cli.running import note
from dperm.errors import AdjacencyError, BudgetError, DataError, DpermError, LedgerError, ParameterError

if TYPE_CHECKING:
    from dperm.accounting.budget import Reservation, State
    from dperm.accounting.event import Event
    from dperm.cli.interrupts import Interrupts
    from dperm.ledger import AccountFacts, Booking, Ledger

DEFAULT_ADJACENCY = "replace_one"
DEFAULT_DELTA = 1e-6


@dataclass(frozen=True)
class Account:
    """An account that a fit is charged to.

    Attributes
    ----------
    ledger
        With the request id of this fit; one is made up unless the account asks for approvals, which name it.
    facts
        What was declared of the account.
    shown
        The ledger as messages call it, without a password.
    """

    ledger: "Ledger"
    facts: "AccountFacts"
    shown: str

    @classmethod
    def of(cls, location: str | None, name: str | None, request_id: str | None) -> "Account | None":
        """The account that the options name; None without a ledger."""
        if location is None:
            for option, value in {"--account": name, "--request-id": request_id}.items():
                if value is not None:
                    raise ParameterError(f"{option} belongs to --ledger, which is missing.")
            return None
        if request_id is not None and not request_id.strip():
            raise ParameterError("--request-id must not be empty. Leave it out, or give every release a name.")
        from dperm.ledger import Ledger
        from dperm.ledger.stores import without_secret

        facts = Ledger(location, name).account_facts
        asked = request_id or (None if facts.approval else f"fit-{uuid.uuid4().hex}")
        return cls(Ledger(location, facts.name, asked), facts, without_secret(location))

    @property
    def described(self) -> str:
        """Which account of which ledger, of which data."""
        return f"account {self.facts.name!r} of {self.shown} ({self.facts.dataset}, unit: {self.facts.unit})"

    def require_file(self, path: Path, fingerprint: object) -> None:
        """Refuse a file of another data set, where files were registered."""
        if self.facts.fingerprints and fingerprint not in self.facts.fingerprints:
            raise LedgerError(
                f"{path} is not one of the files registered for {self.described}: this is a ledger of another data "
                "set, or the file was changed. Nothing was charged. Use the ledger of these data, or open an account "
                "for them."
            )

    @property
    def unchecked(self) -> str:
        """What to note where no file was registered; nothing otherwise."""
        if self.facts.fingerprints:
            return ""
        return (
            f"Note: {self.described} has no registered files: that the data belong to its data set was declared by "
            "this command, and not checked."
        )

    def booked_above(self) -> "list[tuple[str, Booking]]":
        """What the parents and theirs were charged for this request, each with what the account is called."""
        from dperm.ledger import Ledger

        waiting = list(self.facts.parents)
        found: dict[str, tuple[str, Booking | None]] = {}
        while waiting:
            name = waiting.pop(0)
            if name not in found:
                ledger = Ledger(self.ledger.location, name)
                above = Account(ledger, ledger.account_facts, self.shown)
                found[name] = above.described, ledger.booking(f"{self.facts.name}/{self.ledger.request_id}")
                waiting += above.facts.parents
        return [(described, booked) for described, booked in found.values() if booked is not None]

    def price(self, event: "Event") -> dict[str, float]:
        """What an event costs here, by currency."""
        from dperm.accounting.filters import price

        return dict(zip(self.facts.rule.names, price(self.facts.rule, event), strict=True))

    def booking(self) -> "Booking | None":
        """What was booked under the request id, if anything was."""
        return self.ledger.booking(self.ledger.request_id) if self.ledger.request_id else None

    def charged(self) -> "tuple[str, Booking | None]":
        """What this request was charged, in a sentence, and as it is booked."""
        try:
            found = self.booking()
        except DpermError as error:
            return f"Whether something was charged cannot be read from {self.shown}: {error}", None
        if found is None:
            return f"Nothing was charged to {self.described}.", None
        ends = {
            "reserved": "and no release is known",
            "burned": "and nothing was released",
            "committed": "and the release is booked",
        }
        sentence = (
            f"Charged to {self.described}: {in_words(found.cost)}, under request id {found.request_id}, "
            f"{ends[found.state.value]}. There are no refunds."
        )
        return sentence, found


def require_unchanged(path: Path, checked: object, read: str) -> None:
    """Refuse data that were read from another content than the one that was checked: both fingerprints are given."""
    if read != checked:
        raise DataError(f"{path} was changed while the command ran: what was read is not what was checked. Try again.")


def relation_of(account: Account | None, asked: str | None) -> str:
    """The adjacency: that of the account, which must be the one that is asked for."""
    from dperm.privacy import Adjacency

    own = DEFAULT_ADJACENCY if account is None else account.facts.adjacency.value
    found = own if asked is None else Adjacency.of(asked).value
    if account is not None and found != own:
        raise AdjacencyError(
            f"--adjacency is {found}, and {account.described} is charged under {own}. Leave --adjacency out."
        )
    return found


def delta_of(account: Account | None, asked: float | None) -> float:
    """The delta that is asked for; if none is, what the account charges a release for: its share, or nothing."""
    from dperm.privacy import PureDP

    if account is None:
        return DEFAULT_DELTA if asked is None else asked
    if asked is not None:
        return _within_share(account, asked)
    if isinstance(account.facts.limit, PureDP):
        return 0.0
    share = account.facts.share
    return DEFAULT_DELTA if share is None else share


def _within_share(account: Account, asked: float) -> float:
    """``asked``, if the account does not promise less."""
    share = account.facts.share
    if share is not None and asked > share:
        raise ParameterError(
            f"--delta is {asked!r}, and each release from {account.described} is charged at its share of the limit's "
            f"delta, {share!r}: a larger one would promise less than the account does. Leave --delta out."
        )
    return asked


class RepeatedRequestError(BudgetError):
    """Another run has charged the same request since this one began: this one charges nothing and draws no noise."""


@dataclass
class WatchedBudget:
    """A ledger (a `Budget`) that holds signals where they would do harm.

    While it reserves, and from the commit on: what was paid for is written before the command ends. The books keep
    ``known``, public facts of the command, beside those of the run. What ``said`` has to say about an event is said
    before it is charged.
    """

    ledger: "Ledger"
    interrupts: "Interrupts"
    known: Mapping[str, object]
    said: Callable[["Event"], str]
    ballast: Path | None = None
    """A file that keeps space on the ledger's disk until the commit."""

    def check(self, event: "Event") -> None:
        """As the ledger."""
        self.ledger.check(event)

    def reserve(
        self, event: "Event", *, request_id: str | None = None, facts: Mapping[str, object] | None = None
    ) -> "WatchedReservation":
        """As the ledger; nobody interrupts it in between.

        Raises
        ------
        RepeatedRequestError
            If another run has charged the same request: nothing was charged now.
        """
        if words := self.said(event):
            note(words)
        with self.interrupts.held():
            reservation = self.ledger.reserve(event, request_id=request_id, facts={**(facts or {}), **self.known})
            if self.interrupts.arrived is not None and not reservation.repeated:
                reservation.burn("interrupted before anything was learnt")
        if reservation.repeated:
            raise RepeatedRequestError(f"request id {reservation.request_id!r} was charged by another run.")
        return WatchedReservation(reservation, self.interrupts, self.ballast)


@dataclass(frozen=True)
class WatchedReservation:
    """A reservation of a `WatchedBudget`."""

    reservation: "Reservation"
    interrupts: "Interrupts"
    ballast: Path | None = None

    @property
    def state(self) -> "State":
        """As of the ledger."""
        return self.reservation.state

    @property
    def repeated(self) -> bool:
        """As of the ledger."""
        return self.reservation.repeated

    @property
    def receipt(self) -> Mapping[str, object]:
        """As of the ledger."""
        return self.reservation.receipt

    def commit(self, digest: str) -> None:
        """As the ledger; from here on signals wait until the model is written."""
        self.interrupts.hold()
        if self.ballast is not None:
            self.ballast.unlink(missing_ok=True)
        self.reservation.commit(digest)

    def burn(self, reason: str) -> None:
        """As the ledger."""
        self.reservation.burn(reason)

    def take_over(self, draws: int) -> int:
        """As the ledger."""
        return self.reservation.take_over(draws)

    def lease(self, draws: int) -> None:
        """As the ledger."""
        self.reservation.lease(draws)

    def check_holder(self) -> None:
        """As the ledger."""
        self.reservation.check_holder()


def in_words(amounts: Mapping[str, float]) -> str:
    """Costs, such as "epsilon 0.5, delta 1e-07", rounded up; those that are nothing are left out."""
    return ", ".join(f"{name} {plain_up(value)}" for name, value in amounts.items() if value) or "nothing"
