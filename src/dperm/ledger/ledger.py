# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Ledger account as a `Budget`, in a file or a database."""

import json
import os
import secrets
import uuid
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from dperm.accounting.budget import checked_text
from dperm.accounting.event import Event
from dperm.accounting.serialize import event_to_json
from dperm.checks import shown
from dperm.errors import BudgetError, DpermWarning, LedgerError, ParameterError
from dperm.ledger import bookkeeping
from dperm.ledger.account_facts import AccountFacts, new_name, plain_name
from dperm.ledger.anchor import Anchor, Fingerprint
from dperm.ledger.balance import Balance, balances, shortfall, spendable
from dperm.ledger.bookkeeping import EntryReference
from dperm.ledger.books import Books, Store, require_current
from dperm.ledger.charges import Charge, meters_of, require
from dperm.ledger.entry import Entry, EntryKind
from dperm.ledger.public_facts import plain_facts
from dperm.ledger.reservation import Booking, LedgerReservation, bookings
from dperm.ledger.stores import location_of, store_of, without_secret
from dperm.ledger.transactions import checked_write, consult, transact
from dperm.ledger.units import limits
from dperm.presentation.spelling import arg
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.guarantee import AnyGuarantee


@final
@dataclass(frozen=True, repr=False)
class Ledger:
    """Ledger account: a privacy budget that persists across processes.

    Each charge is stored durably before its release is computed.

    The object stores only names, and no connection. All copies of the object therefore charge the same account, for
    example copies in clones of an estimator, in joblib workers, or in a pickle that is loaded on another machine.

    Attributes
    ----------
    location
        Path of a file, or URL of a PostgreSQL database.
    account
        Name of the account; may be None if the ledger has only one account.
    request_id
        Id of the next release; None chooses a random id. A second release with the same id is refused without a charge.

    Notes
    -----
    **Guarantees.** All charged releases together satisfy the limit of the account (T14), even if they are chosen
    adaptively, and even after crashes. If the limit was changed, the largest limit so far applies, provided that no
    limit was raised in response to releases (``change_limit``). A charge is not refunded if a later step fails.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from dperm import Laplace, PureDP
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "census.ledger"
    >>> ledger = Ledger.open(path, PureDP(1.0, "replace_one"), dataset="census 2026", unit="one person")
    >>> ledger.reserve(Laplace(noise_multiplier=8.0)).commit("sha256:...")
    >>> ledger.remaining
    PureDP(epsilon=0.75, adjacency=REPLACE_ONE)
    """

    location: str
    account: str | None = None
    request_id: str | None = None

    def __post_init__(self) -> None:
        """Check the names; no connection is opened."""
        object.__setattr__(self, "location", location_of(self.location))
        for name in ("account", "request_id"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, plain_name(name, getattr(self, name)))

    def __repr__(self) -> str:
        """Return the names, without a password."""
        rest = "".join(f", {name}={value!r}" for name, value in self._names() if value is not None)
        return f"Ledger({without_secret(self.location)!r}{rest})"

    @classmethod
    def open(
        cls,
        location: str | os.PathLike[str],
        limit: AnyGuarantee,
        *,
        dataset: str,
        unit: str = "one record",
        account: str = "main",
        blocks: int | None = None,
        composition: str = "basic",
        parents: Iterable[str] = (),
        approval: bool = False,
        files: Iterable[str | os.PathLike[str]] = (),
    ) -> "Ledger":
        """Open a new account. The ledger is created if it does not exist.

        Parameters
        ----------
        location
            Path of a file, or URL of a PostgreSQL database.
        limit
            Total budget: PureDP, ApproxDP, ZCDP, GDP, or RDP at one order.
        dataset, unit
            Name of the data set, and meaning of one record, such as "one person".
        account
            Name of the account, which must be new in the ledger.
        blocks
            Number of releases that share delta; required for an ApproxDP limit, and None for other limits.
        composition
            Composition rule for an ApproxDP limit: "basic" adds the epsilons of the releases. "advanced" adds their
            squares, and permits more releases if each of them has a small epsilon.
        parents
            Names of the accounts of data sets that overlap this one, or from which this one was taken; every charge
            also applies to these accounts.
        approval
            Whether the request id of each release must be approved in advance (`approve`).
        files
            Files of the data set; ``dperm fit`` refuses any other file.

        Returns
        -------
        Ledger
            The new account.

        Raises
        ------
        LedgerError
            If the account exists, a parent does not exist, or the ledger cannot be written.
        ParameterError
            If an argument is invalid, or ``unit`` differs from the unit of a parent.

        Warns
        -----
        DpermWarning
            If another account, which is not an ancestor, has the same data set, or if the limit exceeds the remaining
            budget of an ancestor.
        """
        account = new_name("account", account)
        ledger, paths, above = cls(location_of(location), account), _paths(files), _names(parents)
        facts = AccountFacts(
            account,
            dataset,
            unit=unit,
            limit=limit,
            blocks=blocks,
            composition=composition,
            parents=above,
            approval=approval,
        )
        ledger._store.create()
        prints = tuple(map(ledger.fingerprint, paths))  # a file may be large: hash it before taking the lock
        with checked_write(ledger._store, [account]) as books:
            same = bookkeeping.unlinked_accounts(books, facts)
            bookkeeping.open_account(books, replace(facts, fingerprints=prints))
        if same:
            warnings.warn(
                f"account {same[0]!r} is about the same data set, {dataset!r}, and is not a parent of "
                f"{account!r}: the joint guarantee of both accounts is the sum of their limits. With "
                f"{arg('parents', same[:1])}, releases of {account!r} are charged to {same[0]!r} too.",
                DpermWarning,
                stacklevel=2,
            )
        short = shortfall(ledger.balances()) if above else None
        if short is not None:
            warnings.warn(f"{short} Larger releases will be refused.", DpermWarning, stacklevel=2)
        return ledger

    @property
    def account_facts(self) -> AccountFacts:
        """Declarations of the account, with its current limit."""
        return consult(self._store, lambda books: bookkeeping.facts_of(books, self._name(books)))

    @property
    def limit(self) -> AnyGuarantee:
        """Total amount that can be charged to the account. See ``promise`` for the guarantee."""
        return self.account_facts.limit

    @property
    def promise(self) -> AnyGuarantee:
        """Guarantee for all releases charged to the account: the largest limit since the account was opened.

        Lowering the limit does not improve the guarantee. A lower limit may have been chosen in response to releases,
        and the guarantee holds only for limits that are fixed in advance (T14).
        """
        return self.account_facts.promise

    @property
    def adjacency(self) -> Adjacency:
        """Neighbouring relation of all charges."""
        return self.limit.adjacency

    @property
    def spent(self) -> dict[str, float]:
        """Total charged cost in each currency of the account, such as "epsilon" or "rho", rounded up.

        The cost records the charges and is not a guarantee (T14).
        """
        return self._balance().spent

    @property
    def capacity(self) -> dict[str, float]:
        """Limit in each currency of the account, such as "epsilon" or "rho", rounded down."""
        return limits(self.account_facts.rule)

    @property
    def remaining(self) -> AnyGuarantee:
        """Unspent part of the account's own limit, rounded down.

        Under limits other than ApproxDP, one release can use the whole remaining amount. Under ApproxDP, each release
        uses the same delta, ``account_facts.share``. The delta of this property is this delta per release multiplied by
        the number of remaining releases. If no release remains, nothing can be charged, and epsilon is 0 as well. If
        the account has parents, less may be available, because each charge also applies to the parents; see
        ``spendable``.
        """
        return self._balance().remaining

    @property
    def spendable(self) -> AnyGuarantee:
        """Largest amount that the account and all its ancestors are known to cover, rounded down.

        The amount is at most ``remaining``, and equal to ``remaining`` without parents. If all accounts have limits of
        the same kind, they cover one release of this amount. Under ApproxDP, they cover one release with this epsilon
        and with the delta per release, ``account_facts.share``. The delta of this property is the delta per release
        multiplied by the smallest number of remaining releases among the accounts. Releases of other kinds, such as
        pure DP, may cost more.

        If an ancestor has a limit of a different kind, the amount is the cost of the most expensive Gaussian-noise
        release that all these accounts cover. If one of the limits is for pure DP, Laplace noise takes the place of
        Gaussian noise. Releases of other kinds may then be covered at a higher cost, or refused at a lower one.
        """
        return spendable(self.balances()).guarantee

    def balances(self) -> tuple[Balance, ...]:
        """Return the balance of the account, then those of its ancestors, from one snapshot of the ledger."""
        return consult(self._store, lambda books: balances(books, self._name(books)))

    def accounts(self) -> tuple[str, ...]:
        """Return the names of all accounts of the ledger."""
        return consult(self._store, lambda books: books.accounts())

    def entries(self) -> tuple[Entry, ...]:
        """Return every entry of the account, in the order of the hash chain."""
        return consult(self._store, lambda books: tuple(books.entries(self._name(books))))

    def bookings(self) -> tuple[Booking, ...]:
        """Return every charge to the account with its outcome, in the order of the charges."""

        def query(books: Books) -> tuple[Booking, ...]:
            name = self._name(books)
            return bookings(bookkeeping.facts_of(books, name), books.entries(name))

        return consult(self._store, query)

    def booking(self, request_id: str) -> Booking | None:
        """Return the charge of one request to the account, with its outcome.

        Parameters
        ----------
        request_id
            Id of the request.

        Returns
        -------
        Booking or None
            The charge; None if the request was never charged.
        """

        def query(books: Books) -> tuple[Booking, ...]:
            name = self._name(books)
            line = books.named(name, EntryKind.RESERVE, request_id)
            lines = () if line is None else (line, *books.stages(name, line.seq), books.closing(name, line.seq))
            return bookings(bookkeeping.facts_of(books, name), (one for one in lines if one is not None))

        return next(iter(consult(self._store, query)), None)

    def anchor(self) -> Anchor:
        """Return a signed anchor of the last entry of the account, to be stored outside the ledger.

        With a stored anchor, `verify` detects that the ledger was replaced by a copy that is older than the anchor,
        even if the .lock file beside the ledger was replaced too.

        Returns
        -------
        Anchor
            The anchor.

        Raises
        ------
        LedgerError
            If the ledger cannot be read or trusted.
        """

        def query(books: Books) -> Anchor:
            head = books.head(self._name(books))
            if head is None:
                raise LedgerError("the account has no line: the ledger is damaged.", remedy="Verify the ledger.")
            return books.identity().anchor(head)

        return consult(self._store, query)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a copy of the whole ledger, with all accounts, to a new file that only its owner can read (mode 0600).

        The copy contains the signing key. The copy of a ledger file is itself a ledger; the copy of a PostgreSQL ledger
        is a script for psql. The copy is consistent even while other processes charge the ledger. Restoring an older
        copy makes spent budget available again. To detect this, store an anchor (`anchor`) in another place.

        Parameters
        ----------
        path
            New file for the copy.

        Raises
        ------
        LedgerError
            If the ledger cannot be read or trusted, or ``path`` exists or cannot be written.
        ParameterError
            If the directory of ``path`` does not exist.
        """
        target = Path(os.path.abspath(path))
        if not target.parent.is_dir():
            raise ParameterError(
                argument="path",
                rule="must be in a directory that exists",
                got=repr(os.fspath(path)),
                remedy="Create the directory first.",
            )
        self._store.backup(target)

    def fingerprint(self, path: str | os.PathLike[str]) -> str:
        """Return the keyed fingerprint of a file. Without the key in the ledger, the fingerprint reveals nothing.

        Parameters
        ----------
        path
            File of the data set.

        Returns
        -------
        str
            Fingerprint: "hmac-sha256:" and 64 hexadecimal digits.
        """
        found = self.fingerprinting()
        with open(path, "rb") as file:
            while block := file.read(2**20):
                found.update(block)
        return found.text

    def fingerprinting(self) -> Fingerprint:
        """Return a fingerprint object without content; call its ``update`` with each block of a file."""
        return Fingerprint(consult(self._store, lambda books: books.identity().fingerprint_key))

    def check(self, event: Event) -> None:
        """Check whether ``reserve`` would accept this event now, and raise its error if not. Nothing is charged.

        Parameters
        ----------
        event
            Accounting event of the release.

        Raises
        ------
        BudgetError
            If a limit does not cover the event, an approval is missing, or the request id was used for a different
            event.
        LedgerError
            If the ledger cannot be read or trusted.
        AdjacencyError, ConversionError
            If the cost of the event cannot be computed under the account's adjacency, or expressed in its currency.
        """
        line = consult(self._store, lambda books: bookkeeping.family(books, self._name(books)))
        asked = self.request_id or uuid.uuid4().hex
        charges, described = self._charges(line, event, asked), json.loads(event_to_json(event))

        def check(books: Books) -> None:
            require_current(books)
            known = books.named(line[0].name, EntryKind.RESERVE, asked)
            if known is not None:
                _known_places(books, line, known, described)
            else:
                require(books, bookkeeping.with_current_limits(books, charges), event, described)

        consult(self._store, check)

    def reserve(
        self, event: Event, *, request_id: str | None = None, facts: Mapping[str, object] | None = None
    ) -> LedgerReservation:
        """Charge ``event`` durably to the account and its ancestors, or refuse it without a charge.

        Parameters
        ----------
        event
            Accounting event of the release.
        request_id
            Id of the request. The default is ``request_id`` of the ledger object, or a random id if this is None too.
        facts
            Public JSON data about the run, stored with the event.

        Returns
        -------
        LedgerReservation
            The charge. Commit it with the digest of the released value, or burn it.

        Raises
        ------
        BudgetError
            If a limit does not cover the event, an approval is missing, or the request id was used for a different
            event.
        LedgerError
            If the ledger cannot be read, written or trusted.
        AdjacencyError, ConversionError
            If the cost of the event cannot be computed under the account's adjacency, or expressed in its currency.

        Notes
        -----
        **Guarantees.** When the method returns, the charge is stored durably. The account and all its ancestors are
        charged together, or none of them is (T14). If a lost connection causes LedgerError, it is unknown whether the
        charge was stored. Each request id is charged only once, so repeat the call with the same id.

        ==========================  ====================================================
        request                     result
        ==========================  ====================================================
        same id, same event         same reservation, ``repeated`` is True
        same id, different event    BudgetError, nothing charged
        connection lost at COMMIT   retried for at most 30 s, then LedgerError
        ==========================  ====================================================
        """
        given = self.request_id if request_id is None else request_id
        asked = uuid.uuid4().hex if given is None else new_name("request_id", given)
        described, token = json.loads(event_to_json(event)), secrets.token_hex(16)
        body = {"event": described, "facts": plain_facts(facts), "token": token}
        line = consult(self._store, lambda books: bookkeeping.family(books, self._name(books)))
        charges = self._charges(line, event, asked)

        def booked(books: Books) -> tuple[tuple[EntryReference, ...], bool]:
            known = books.named(line[0].name, EntryKind.RESERVE, asked)
            if known is None:
                return bookkeeping.reserve(books, charges, event, body), False
            return _known_places(books, line, known, described), known.body["token"] != token

        places, repeated = transact(self._store, [one.name for one in line], booked)
        return LedgerReservation(self.location, places, asked, repeated, token)

    def change_limit(self, limit: AnyGuarantee, *, reason: str, by: str) -> None:
        """Change the limit of the account. A public entry of the ledger records the time, the person and the reason.

        After an increase, the guarantee is the new, larger limit (``promise``); the smaller limit is no longer
        guaranteed. A limit that is raised in response to releases is not fixed in advance, so it is not a guarantee
        (T14). A lower limit restricts further charges, but does not improve the guarantee.

        Parameters
        ----------
        limit
            New limit, of the same kind as before.
        reason
            Reason for the change, stored in the public entry.
        by
            Name of the person who changes the limit, stored in the public entry.

        Raises
        ------
        ParameterError
            If the new limit differs in kind, adjacency, delta or Rényi order from the present one.
        BudgetError
            If the new limit is smaller than the spent amount.
        LedgerError
            If the ledger cannot be written.
        """
        checked_text("reason", reason), checked_text("by", by)
        name = self.account_facts.name
        with checked_write(self._store, [name]) as books:
            bookkeeping.change_limit(books, name, limit, reason=reason, by=by)

    def approve(self, request_id: str, *, reason: str, by: str, event: Event | None = None) -> None:
        """Approve one release by its request id.

        In a parent account, the release of a child account is approved by the name of the child and the request id,
        such as ``north/fit-7``.

        Parameters
        ----------
        request_id
            Id of the request to approve.
        reason
            Reason for the approval, stored in the public entry.
        by
            Name of the approver, stored in the public entry.
        event
            The only event that the approval covers; None covers any event.

        Raises
        ------
        BudgetError
            If the request is already approved.
        LedgerError
            If the ledger cannot be written.
        """
        _approvable(request_id), checked_text("reason", reason), checked_text("by", by)
        body = {"reason": reason, "by": by, "event": None if event is None else json.loads(event_to_json(event))}
        account = self.account_facts.name
        with checked_write(self._store, [account]) as books:
            bookkeeping.approve(books, account, request_id, body)

    def burn(self, request_id: str, *, reason: str, by: str) -> None:
        """Close the open charge of a run that has crashed or was killed. The cost stays charged.

        Only a person can decide that a run has ended, because it may be on another machine, or may resume from a
        checkpoint. If the run is still alive, it cannot commit afterwards, so it releases nothing. The charges in all
        ancestors are closed too. Repeating the call has no effect.

        Parameters
        ----------
        request_id
            Id of the charged request.
        reason
            Reason for closing the charge, stored in the public entry.
        by
            Name of the person who closes the charge, stored in the public entry.

        Raises
        ------
        BudgetError
            If the request was never charged to this account, or its release was committed.
        ParameterError
            If the charge was made through a child account.
        LedgerError
            If the ledger cannot be written.
        """
        body = {"reason": checked_text("reason", reason), "by": checked_text("by", by)}
        child, separator, rest = _approvable(request_id).partition("/")
        if separator:
            raise ParameterError(
                argument="request_id",
                rule="must be the id of a charge made to this account itself, not through a child account",
                got=shown(request_id),
                remedy=f"Burn request {rest!r} of account {child!r}; its charges in all parents are closed with it.",
            )
        line = consult(self._store, lambda books: bookkeeping.family(books, self._name(books)))

        def burned(books: Books) -> None:
            known = books.named(line[0].name, EntryKind.RESERVE, request_id)
            if known is None:
                raise BudgetError(
                    f"request id {request_id!r} was never charged to account {line[0].name!r}. Nothing was burned.",
                    remedy="List the charges: Ledger.bookings, or dperm ledger show --entries.",
                )
            for place in _known_places(books, line, known, known.body["event"]):
                bookkeeping.close(books, place, EntryKind.BURN, body)

        transact(self._store, [one.name for one in line], burned)

    @property
    def _store(self) -> Store:
        return store_of(self.location)

    def _names(self) -> tuple[tuple[str, str | None], ...]:
        return ("account", self.account), ("request_id", self.request_id)

    def _name(self, books: Books) -> str:
        return bookkeeping.the_account(books, self.account)

    def _balance(self) -> Balance:
        def read(books: Books) -> Balance:
            facts = bookkeeping.facts_of(books, self._name(books))
            return Balance(facts, meters_of(books, facts))

        return consult(self._store, read)

    def _charges(self, line: list[AccountFacts], event: Event, request_id: str) -> list[Charge]:
        """Return the charge of the account, and those of its ancestors under their own request ids."""
        names = [request_id, *(f"{line[0].name}/{request_id}" for _ in line[1:])]
        return [Charge.of(facts, event, name) for facts, name in zip(line, names, strict=True)]


def _known_places(books: Books, line: list[AccountFacts], known: Entry, event: object) -> tuple[EntryReference, ...]:
    """Return the entries of an earlier booking of a request; raise if its event differs."""
    if known.body["event"] != event:
        raise BudgetError(
            f"request id {known.request_id!r} was used for {json.dumps(known.body['event'])}, and is asked for "
            f"{json.dumps(event)}. Nothing was charged. Give every release an id of its own."
        )
    above = (books.named(facts.name, EntryKind.RESERVE, f"{line[0].name}/{known.request_id}") for facts in line[1:])
    return EntryReference.of(known), *(EntryReference.of(one) for one in above if one is not None)


def _paths(files: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return the files of a data set after checking that all exist, before any change."""
    if isinstance(files, str | os.PathLike):
        raise ParameterError(
            argument="files", rule="must be a list of paths", got=shown(files), remedy=f"Give [{shown(files)}]."
        )
    paths = [os.fspath(path) for path in files]
    missing = [path for path in paths if not os.path.isfile(path)]
    if missing:
        raise ParameterError(argument="files", rule="must be existing files", got=shown(missing[0]))
    return paths


def _names(parents: Iterable[str]) -> tuple[str, ...]:
    if isinstance(parents, str):
        raise ParameterError(
            argument="parents",
            rule="must be a list of account names",
            got=shown(parents),
            remedy=f"Give [{parents!r}].",
        )
    return tuple(parents)


def _approvable(request_id: str) -> str:
    """Return ``request_id`` if it is an id, or a child's name and id."""
    for part in request_id.split("/", 1) if isinstance(request_id, str) else [request_id]:
        plain_name("request_id", part)
    return request_id
