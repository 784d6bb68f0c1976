# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Accounts for the charge of a fit: choice of the account, check of the data file, and the amount charged."""

import hashlib
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
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
    """Account for the charge of a fit.

    Attributes
    ----------
    ledger
        Ledger with the request id of this fit; by default a random id, unless the account needs approvals.
    facts
        Declarations of the account.
    shown
        Location of the ledger for messages, without a password.
    """

    ledger: "Ledger"
    facts: "AccountFacts"
    shown: str

    @classmethod
    def of(
        cls, location: str | None, name: str | None, request_id: str | None, *, prefix: str = "fit"
    ) -> "Account | None":
        """Return the account of the options; None without a ledger. ``prefix`` starts a random request id."""
        if location is None:
            for option, value in {"--account": name, "--request-id": request_id}.items():
                if value is not None:
                    raise ParameterError(f"{option} belongs to --ledger, which is missing.")
            return None
        if request_id is not None and not request_id.strip():
            raise ParameterError("--request-id must not be empty. Leave it out, or give every release an id.")
        from dperm.ledger import Ledger
        from dperm.ledger.stores import without_secret

        facts = Ledger(location, name).account_facts
        chosen = request_id or (None if facts.approval else f"{prefix}-{uuid.uuid4().hex}")
        return cls(Ledger(location, facts.name, chosen), facts, without_secret(location))

    @property
    def described(self) -> str:
        """Account, ledger, data set and unit, for messages."""
        return f"account {self.facts.name!r} of {self.shown} ({self.facts.dataset}, unit: {self.facts.unit})"

    def require_file(self, path: Path, fingerprint: object) -> None:
        """Refuse an unregistered file, if the account has registered files."""
        if self.facts.fingerprints and fingerprint not in self.facts.fingerprints:
            raise LedgerError(
                f"{path} is not one of the files registered for {self.described}: the ledger is for another data set, "
                "or the file was changed. Nothing was charged. Use the ledger of these data, or open an account for "
                "them."
            )

    def has_trained(self, receipt: Mapping[str, object], path: Path) -> bool:
        """Return whether the ledger shows that a model was fitted to this very file.

        Parameters
        ----------
        receipt
            Receipt in the model file; empty without one.
        path
            Data file.

        Notes
        -----
        ``dperm fit`` stores the keyed fingerprint of the data file with its charge. A changed copy of the file, a fit
        in Python and a fit that was charged to another ledger cannot be recognized.
        """
        from dperm.cli.command_facts import FILE, fingerprints
        from dperm.ledger import Ledger

        name, request = receipt.get("account"), receipt.get("request_id")
        if not isinstance(name, str) or not isinstance(request, str):
            return False
        try:
            booked = Ledger(self.ledger.location, name).booking(request)
        except DpermError:  # the receipt is of another ledger
            return False
        if booked is None or booked.digest != receipt.get("digest") or FILE not in booked.facts:
            return False
        return self.ledger.fingerprint(path) in fingerprints(booked.facts)

    @property
    def unchecked(self) -> str:
        """Note on an account without registered files; empty otherwise."""
        if self.facts.fingerprints:
            return ""
        return (
            f"Note: {self.described} has no registered files, so dperm cannot check that the data belong to its data "
            "set."
        )

    def booked_above(self) -> "list[tuple[str, Booking]]":
        """Return description and booking of each ancestor charged for this request."""
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
        """Return the cost of an event by currency."""
        from dperm.accounting.filters import price

        return dict(zip(self.facts.rule.names, price(self.facts.rule, event), strict=True))

    def booking(self) -> "Booking | None":
        """Return the booking of the request id; None if there is none."""
        return self.ledger.booking(self.ledger.request_id) if self.ledger.request_id else None

    def charge(self) -> "tuple[str, Booking | None]":
        """Return a sentence on the charge of this request, and its booking."""
        try:
            found = self.booking()
        except DpermError as error:
            return f"The charge cannot be read from {self.shown}: {error}", None
        if found is None:
            return f"Nothing was charged to {self.described}.", None
        ends = {
            "reserved": "and no release is known",
            "burned": "and nothing was released",
            "committed": "and the release is recorded",
        }
        sentence = (
            f"Charged to {self.described}: {format_costs(found.cost)}, under request id {found.request_id}, "
            f"{ends[found.state.value]}. There are no refunds."
        )
        return sentence, found


@dataclass
class ContentCheck:
    """Check that every pass over a data file reads the content whose fingerprint was checked.

    Attributes
    ----------
    files
        Data files.
    ledger
        Ledger that fingerprints the content with its key; None without an account.
    expected
        Fingerprints of the files, by path; a first pass defines a missing one.
    """

    files: tuple[Path, ...]
    ledger: "Ledger | None" = None
    expected: dict[Path, object] = field(default_factory=dict)

    @contextmanager
    def reading(self, *, once: bool = False) -> Iterator[Callable[[bytes], object] | None]:
        """Yield the function that receives the bytes of one pass over the only file, and check them at its end.

        With ``once`` there is one pass only. Without a ledger there is then nothing to compare, and None is yielded.

        Raises
        ------
        DataError
            If the content has changed.
        """
        if self.ledger is None:
            if once:
                yield None
                return
            plain = hashlib.sha256()
            yield plain.update
            self._compare(self.files[0], plain.hexdigest())
        else:
            keyed = self.ledger.fingerprinting()
            yield keyed.update
            self._compare(self.files[0], keyed.text)

    def compare_files(self) -> None:
        """Compare the content of all files with their fingerprints, if there is a ledger.

        Row groups are read at several places of a file, so it is read once more for this purpose. They refuse a file
        whose size or time of modification changes from the opening of the table to the last pass.

        Raises
        ------
        DataError
            If the content of a file has changed.
        """
        if self.ledger is not None:
            for path in self.files:
                self._compare(path, self.ledger.fingerprint(path))

    def _compare(self, path: Path, found: str) -> None:
        _require_unchanged(path, self.expected.setdefault(path, found), found)


def _require_unchanged(path: Path, checked: object, read: str) -> None:
    """Refuse a file with different fingerprints before and after reading."""
    if read != checked:
        raise DataError(
            f"{path} changed while the command ran: its content is not the content that was checked. Try again."
        )


def relation_of(account: Account | None, adjacency: str | None) -> str:
    """Return the adjacency of the account, or --adjacency without an account.

    Raises
    ------
    AdjacencyError
        If --adjacency differs from the adjacency of the account.
    """
    from dperm.privacy import Adjacency

    own = DEFAULT_ADJACENCY if account is None else account.facts.adjacency.value
    found = own if adjacency is None else Adjacency.of(adjacency).value
    if account is not None and found != own:
        raise AdjacencyError(
            f"--adjacency is {found}, but {account.described} is charged under {own}. Leave --adjacency out."
        )
    return found


def delta_of(account: Account | None, delta: float | None) -> float:
    """Return --delta; by default the share of a release in the account, 0 for a pure limit, or 1e-6."""
    from dperm.privacy import PureDP

    if account is None:
        return DEFAULT_DELTA if delta is None else delta
    if delta is not None:
        return _within_share(account, delta)
    if isinstance(account.facts.limit, PureDP):
        return 0.0
    share = account.facts.share
    return DEFAULT_DELTA if share is None else share


def _within_share(account: Account, delta: float) -> float:
    """Return ``delta`` if it is at most the share of a release in the account."""
    share = account.facts.share
    if share is not None and delta > share:
        raise ParameterError(
            f"--delta is {delta!r}, and each release from {account.described} is charged at its share of the limit's "
            f"delta, {share!r}: a larger delta would give a weaker guarantee than the account. Leave --delta out."
        )
    return delta


class RepeatedRequestError(BudgetError):
    """Another run charged the same request after this one began. This run charges nothing and draws no noise."""


@dataclass
class WatchedBudget:
    """A ledger (a `Budget`) that delays signals while it reserves, and from the commit until the model is written.

    Attributes
    ----------
    ledger
        Ledger with the account.
    interrupts
        Handler of Ctrl-C and SIGTERM.
    known
        Public facts of the command, stored with those of the run.
    cost_note
        Note on an event, printed before the charge; empty for none.
    ballast
        File that keeps space on the ledger's disk until the commit.
    """

    ledger: "Ledger"
    interrupts: "Interrupts"
    known: Mapping[str, object]
    cost_note: Callable[["Event"], str]
    ballast: Path | None = None

    def check(self, event: "Event") -> None:
        """Raise BudgetError if the account does not cover the event."""
        self.ledger.check(event)

    def reserve(
        self, event: "Event", *, request_id: str | None = None, facts: Mapping[str, object] | None = None
    ) -> "WatchedReservation":
        """Charge the event, without an interruption by signals.

        Raises
        ------
        RepeatedRequestError
            If another run charged the same request; this call charges nothing.
        """
        if text := self.cost_note(event):
            note(text)
        with self.interrupts.delayed():
            reservation = self.ledger.reserve(event, request_id=request_id, facts={**(facts or {}), **self.known})
            if self.interrupts.arrived is not None and not reservation.repeated:
                reservation.burn("interrupted before anything was released")
        if reservation.repeated:
            raise RepeatedRequestError(f"request id {reservation.request_id!r} was charged by another run.")
        return WatchedReservation(reservation, self.interrupts, self.ballast)


@dataclass(frozen=True)
class WatchedReservation:
    """A reservation of a `WatchedBudget`: passes every call on to the reservation of the ledger."""

    reservation: "Reservation"
    interrupts: "Interrupts"
    ballast: Path | None = None

    @property
    def state(self) -> "State":
        """State of the charge: reserved, committed or burned."""
        return self.reservation.state

    @property
    def repeated(self) -> bool:
        """Whether the request was charged before."""
        return self.reservation.repeated

    @property
    def receipt(self) -> Mapping[str, object]:
        """The signed receipt of the charge."""
        return self.reservation.receipt

    def commit(self, digest: str) -> None:
        """Commit the release; signals are delayed from here on until the model is written."""
        self.interrupts.delay()
        if self.ballast is not None:
            self.ballast.unlink(missing_ok=True)
        self.reservation.commit(digest)

    def burn(self, reason: str) -> None:
        """Close the reservation without a release; the charge remains."""
        self.reservation.burn(reason)

    def record_stage(self, name: str, facts: Mapping[str, object]) -> None:
        """Append the facts of a finished stage to the reservation."""
        self.reservation.record_stage(name, facts)

    def take_over(self, draws: int) -> int:
        """Take over a reservation for further draws; returns the number of earlier draws."""
        return self.reservation.take_over(draws)

    def lease(self, draws: int) -> None:
        """Announce further draws of noise."""
        self.reservation.lease(draws)

    def check_holder(self) -> None:
        """Raise SupersededError if another run has taken the reservation over."""
        self.reservation.check_holder()


def format_costs(amounts: Mapping[str, float]) -> str:
    """Return costs as text, such as "epsilon 0.5, delta 1e-07", rounded up and without zeros."""
    return ", ".join(f"{name} {plain_up(value)}" for name, value in amounts.items() if value) or "nothing"
