# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The ledger: an account of a budget in a file or a database, as a `Budget`."""

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
from dperm.ledger.anchor import Anchor
from dperm.ledger.balance import Balance, balances, shortfall, spendable
from dperm.ledger.bookkeeping import Place
from dperm.ledger.books import Books, Store, require_current
from dperm.ledger.charges import Charge, meters_of, require
from dperm.ledger.declared import AccountFacts, new_name, plain_name
from dperm.ledger.entry import Entry, Kind
from dperm.ledger.fingerprint import Fingerprint
from dperm.ledger.memory import changing
from dperm.ledger.reservation import Booking, LedgerReservation, bookings
from dperm.ledger.stores import location_of, store_of, without_secret
from dperm.ledger.transact import consult, transact
from dperm.ledger.units import limits
from dperm.presentation.spelling import arg
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.guarantee import AnyGuarantee

DEEPEST = 20
"""How deep facts may be nested: a reader of the books must never run out of stack."""
LONGEST_FACTS = 2**16
"""Characters of facts, as JSON."""


@final
@dataclass(frozen=True, repr=False)
class Ledger:
    """An account of a budget that outlives the process: every charge is durable before anything is released.

    The object holds names only, no connection, so that copies of it (clones of an estimator, workers of joblib, a
    pickle on another machine) all charge one and the same account. What is promised about everything charged to the
    account together is its limit (T14), however the releases were chosen, whoever crashes; if the limit was changed,
    the largest that there was.

    Attributes
    ----------
    location
        A path, or a URL of PostgreSQL.
    account
        The name of the account; None for the only one of the ledger.
    request_id
        If given, the id of the next release, which then happens once: a second release under it is refused, and
        charged nothing.

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
        """Check the names; nothing is opened."""
        object.__setattr__(self, "location", location_of(self.location))
        for name in ("account", "request_id"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, plain_name(name, getattr(self, name)))

    def __repr__(self) -> str:
        """The names, without a password."""
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
        """Open an account; the ledger itself is made if there is none.

        Parameters
        ----------
        location
            A path, or a URL of PostgreSQL.
        limit
            PureDP, ApproxDP, ZCDP, GDP, or RDP at one order: what may be spent in all.
        dataset, unit
            Which data set, and what one of its records stands for.
        account
            The name of the account.
        blocks
            For ApproxDP: among how many releases its delta is divided.
        composition
            For ApproxDP: "basic" adds epsilons, "advanced" their squares, which is better for many small releases.
        parents
            Accounts that are charged too: of data sets that this one overlaps or was made from.
        approval
            Whether every release needs an approval of its request id.
        files
            Files that belong to the data set: the command line will fit no others.

        Raises
        ------
        LedgerError
            If the account exists, or the ledger cannot be written.

        Warns
        -----
        DpermWarning
            If another account is about the same data set, and neither is charged for the other; and if the limit is
            larger than the amount that the ancestors have left.
        """
        account = new_name("account", account)
        ledger, paths, above = cls(location_of(location), account), _paths(files), _names(parents)
        facts = AccountFacts(account, dataset, unit, limit, blocks, composition, above, approval)
        ledger._store.create()
        prints = tuple(map(ledger.fingerprint, paths))  # a file may be large: nobody waits for it
        with changing(ledger._store, [account]) as books:
            same = bookkeeping.untied(books, facts)
            bookkeeping.open_account(books, replace(facts, fingerprints=prints))
        if same:
            warnings.warn(
                f"account {same[0]!r} is about the same data set, {dataset!r}, and is no parent of {account!r}: what "
                f"holds for both together is the sum of their limits. With {arg('parents', same[:1])} it is "
                f"charged for the releases of {account!r} too.",
                DpermWarning,
                stacklevel=2,
            )
        short = shortfall(ledger.balances()) if above else None
        if short is not None:
            warnings.warn(f"{short} Releases beyond that will be refused.", DpermWarning, stacklevel=2)
        return ledger

    @property
    def account_facts(self) -> AccountFacts:
        """What is declared of the account, under its present limit."""
        return consult(self._store, lambda books: bookkeeping.facts_of(books, self._name(books)))

    @property
    def limit(self) -> AnyGuarantee:
        """How much may be charged to the account, in all. What is promised is ``promise``."""
        return self.account_facts.limit

    @property
    def promise(self) -> AnyGuarantee:
        """The guarantee of everything that is charged to the account, together: the largest limit since its opening.

        It is not made smaller by lowering the limit: a limit that follows the releases promises nothing (T14).
        """
        return self.account_facts.promise

    @property
    def adjacency(self) -> Adjacency:
        """The relation under which events are charged."""
        return self.limit.adjacency

    @property
    def spent(self) -> dict[str, float]:
        """The sums of the costs, rounded up: the reading of a meter, and no guarantee (T14)."""
        return self._balance().spent

    @property
    def capacity(self) -> dict[str, float]:
        """The limit on each of these sums, rounded down."""
        return limits(self.account_facts.rule)

    @property
    def remaining(self) -> AnyGuarantee:
        """The unspent part of the account's own limit, rounded down: all of it in one release, without blocks.

        Under ApproxDP every release takes one share of delta, ``account_facts.share``, and the delta here is that of
        all blocks that are left. When none is left nothing can be charged: epsilon is 0 too. An account with parents
        may have less to spend, since every charge is charged to them too: see ``spendable``.
        """
        return self._balance().remaining

    @property
    def spendable(self) -> AnyGuarantee:
        """The size of a release that the account and all its ancestors cover, rounded down.

        It is at most ``remaining``, and equal to it without parents. Among accounts with limits of one kind, a release
        of this size in the currency of the account is always covered: under ApproxDP, an (epsilon, delta) release.
        Releases of other kinds, such as pure ones, may be larger. Where an ancestor has another kind of limit, this is
        the size of Gaussian noise, or of Laplace noise if one of the accounts covers pure noise only. Under ApproxDP,
        delta is the account's share of delta times the number of releases that every account can still take.
        """
        return spendable(self.balances()).guarantee

    def balances(self) -> tuple[Balance, ...]:
        """Limit, spending and remainder of the account, then those of its parents and theirs, at one moment."""
        return consult(self._store, lambda books: balances(books, self._name(books)))

    def accounts(self) -> tuple[str, ...]:
        """The names of all accounts of the ledger."""
        return consult(self._store, lambda books: books.accounts())

    def entries(self) -> tuple[Entry, ...]:
        """Every line of the account, as it is chained."""
        return consult(self._store, lambda books: tuple(books.entries(self._name(books))))

    def bookings(self) -> tuple[Booking, ...]:
        """Every charge, with how it ended."""

        def asked(books: Books) -> tuple[Booking, ...]:
            name = self._name(books)
            return bookings(bookkeeping.facts_of(books, name), books.entries(name))

        return consult(self._store, asked)

    def booking(self, request_id: str) -> Booking | None:
        """The charge of one request, with how it ended; None if it was never charged."""

        def asked(books: Books) -> tuple[Booking, ...]:
            name = self._name(books)
            line = books.named(name, Kind.RESERVE, request_id)
            lines = () if line is None else (line, books.closing(name, line.seq))
            return bookings(bookkeeping.facts_of(books, name), (one for one in lines if one is not None))

        return next(iter(consult(self._store, asked)), None)

    def anchor(self) -> Anchor:
        """A signed word about the last line, to be kept elsewhere: with it a ledger that was put back is recognised."""

        def asked(books: Books) -> Anchor:
            head = books.head(self._name(books))
            if head is None:
                raise LedgerError("the account has no line: the ledger is damaged. Verify it.")
            return books.identity().anchor(head)

        return consult(self._store, asked)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a copy of the whole ledger, all accounts, to a new file that only its owner may read (mode 0600).

        The copy holds the signing key. Of a ledger in a file it is a ledger; of PostgreSQL it is a script for psql. It
        is consistent while others charge the ledger. An older copy gives budget back: keep an anchor elsewhere.

        Raises
        ------
        LedgerError
            If the ledger cannot be read or trusted, or ``path`` exists or cannot be written.
        """
        target = Path(os.path.abspath(path))
        if not target.parent.is_dir():
            raise ParameterError(f"path must be in a directory that exists, got {os.fspath(path)!r}. Make it first.")
        self._store.backup(target)

    def fingerprint(self, path: str | os.PathLike[str]) -> str:
        """The keyed fingerprint of a file, which says nothing to those who do not have the ledger."""
        found = self.fingerprinting()
        with open(path, "rb") as file:
            while block := file.read(2**20):
                found.update(block)
        return found.text

    def fingerprinting(self) -> Fingerprint:
        """A fingerprint of nothing yet, to which content is added while it is read."""
        return Fingerprint(consult(self._store, lambda books: books.identity().fingerprint_key))

    def check(self, event: Event) -> None:
        """Raise as ``reserve`` would now; charge nothing in any case."""
        line = consult(self._store, lambda books: bookkeeping.family(books, self._name(books)))
        asked = self.request_id or uuid.uuid4().hex
        charges, described = self._charges(line, event, asked), json.loads(event_to_json(event))

        def asking(books: Books) -> None:
            require_current(books)
            known = books.named(line[0].name, Kind.RESERVE, asked)
            if known is not None:
                _known_places(books, line, known, described)
            else:
                require(books, bookkeeping.current(books, charges), event, described)

        consult(self._store, asking)

    def reserve(
        self, event: Event, *, request_id: str | None = None, facts: Mapping[str, object] | None = None
    ) -> LedgerReservation:
        """Charge ``event`` to the account and its parents, durably, or raise and charge nothing.

        Raises
        ------
        BudgetError
            If a limit does not cover it, an approval is missing, or the request id was used for another event.
        LedgerError
            If the ledger cannot be read, written or trusted.
        AdjacencyError, ConversionError
            If the event has no cost under the account's adjacency, or in its currency.
        """
        given = self.request_id if request_id is None else request_id
        asked = uuid.uuid4().hex if given is None else new_name("request_id", given)
        described, token = json.loads(event_to_json(event)), secrets.token_hex(16)
        body = {"event": described, "facts": _plain(facts), "token": token}
        line = consult(self._store, lambda books: bookkeeping.family(books, self._name(books)))
        charges = self._charges(line, event, asked)

        def booked(books: Books) -> tuple[tuple[Place, ...], bool]:
            known = books.named(line[0].name, Kind.RESERVE, asked)
            if known is None:
                return bookkeeping.reserve(books, charges, event, body), False
            return _known_places(books, line, known, described), known.body["token"] != token

        places, repeated = transact(self._store, [one.name for one in line], booked)
        return LedgerReservation(self.location, places, asked, repeated, token)

    def change_limit(self, limit: AnyGuarantee, *, reason: str, by: str) -> None:
        """Change the size of the budget, for everybody to see: a line of the books says from when, by whom and why.

        What was promised under a smaller limit no longer holds. A limit that is raised because of what was released is
        no longer fixed in advance, and the sum of the costs then is an account of what happened, not a guarantee.
        One that is lowered stops further charges, and makes the promise no smaller (``promise``).
        """
        checked_text("reason", reason), checked_text("by", by)
        name = self.account_facts.name
        with changing(self._store, [name]) as books:
            bookkeeping.change_limit(books, name, limit, reason=reason, by=by)

    def approve(self, request_id: str, *, reason: str, by: str, event: Event | None = None) -> None:
        """Approve one release by its request id; if an ``event`` is given, of that event only.

        The release of a child, which is charged here too, is approved under its name and id: ``north/fit-7``.
        """
        _approvable(request_id), checked_text("reason", reason), checked_text("by", by)
        body = {"reason": reason, "by": by, "event": None if event is None else json.loads(event_to_json(event))}
        account = self.account_facts.name
        with changing(self._store, [account]) as books:
            bookkeeping.approve(books, account, request_id, body)

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
        """The price for the account, and for its parents under a name of their own."""
        names = [request_id, *(f"{line[0].name}/{request_id}" for _ in line[1:])]
        return [Charge.of(facts, event, name) for facts, name in zip(line, names, strict=True)]


def _known_places(books: Books, line: list[AccountFacts], known: Entry, event: object) -> tuple[Place, ...]:
    """Where a request was booked before, if it is the same."""
    if known.body["event"] != event:
        raise BudgetError(
            f"request id {known.request_id!r} was used for {json.dumps(known.body['event'])}, and is asked for "
            f"{json.dumps(event)}. Nothing was charged. Give every release an id of its own."
        )
    above = (books.named(facts.name, Kind.RESERVE, f"{line[0].name}/{known.request_id}") for facts in line[1:])
    return Place.of(known), *(Place.of(one) for one in above if one is not None)


def _paths(files: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files of a data set, all there: nothing is made before that is known."""
    if isinstance(files, str | os.PathLike):
        raise ParameterError(f"files must be a list of paths, got {shown(files)}. Give [{shown(files)}].")
    paths = [os.fspath(path) for path in files]
    missing = [path for path in paths if not os.path.isfile(path)]
    if missing:
        raise ParameterError(f"files names {shown(missing[0])}, and there is no such file.")
    return paths


def _names(parents: Iterable[str]) -> tuple[str, ...]:
    if isinstance(parents, str):
        raise ParameterError(f"parents must be a list of names of accounts, got {shown(parents)}. Give [{parents!r}].")
    return tuple(parents)


def _approvable(request_id: str) -> str:
    """``request_id``, if it is an id, or that of a child's release."""
    for part in request_id.split("/", 1) if isinstance(request_id, str) else [request_id]:
        plain_name("request_id", part)
    return request_id


def _plain(facts: Mapping[str, object] | None) -> dict[str, object]:
    """Facts as JSON data, small enough for every reader of the books."""
    try:
        text = json.dumps(dict(facts or {}), allow_nan=False)
        found = dict(json.loads(text))
    except (RecursionError, TypeError, ValueError):
        raise ParameterError("facts must be a mapping of JSON values: text, numbers, lists and mappings.") from None
    if len(text) > LONGEST_FACTS or not _is_flat(found, DEEPEST):
        raise ParameterError(
            f"facts must be at most {LONGEST_FACTS:,} characters of JSON, nested at most {DEEPEST} deep. Say less, "
            "such as a digest of what is long."
        )
    return found


def _is_flat(value: object, depth: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    return depth > 0 and all(_is_flat(one, depth - 1) for one in (value.values() if isinstance(value, dict) else value))
