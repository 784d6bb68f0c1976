# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a budget is: the protocol that a run charges, and the one way to charge it.

The order of a run is the same everywhere:

1. plan, from public constants;
2. ``budget.check(event)``: refuse early, the data unread;
3. enforce the bounds on the data (may raise; nothing was charged);
4. ``reserve``, then compute and draw noise, then ``commit`` the digest of what is released.

**There are no refunds.** A reservation is charged before any noise is drawn. A run that fails afterwards may have
shown something (its error, its timing, a part of its output), so its reservation is burned: closed, and charged.

`dperm.accounting.memory_budget` implements the protocol in memory, `dperm.ledger` in a file or a database.
"""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from dperm.accounting.event import Event
from dperm.checks import shown
from dperm.errors import BudgetError, DpermWarning, ParameterError, SupersededError


class State(StrEnum):
    """Where a reservation stands. In each of the states it is charged."""

    RESERVED = "reserved"
    """Charged; the release may be under way."""

    COMMITTED = "committed"
    """Something was released, and its digest is known."""

    BURNED = "burned"
    """Nothing is known to have been released; charged all the same."""


class Reservation(Protocol):
    """A part of a budget that is charged, for one release."""

    @property
    def state(self) -> State:
        """Reserved, committed or burned."""

    @property
    def repeated(self) -> bool:
        """True if the request id had been reserved before: then **draw no noise**, one charge pays for one release."""

    @property
    def receipt(self) -> Mapping[str, object]:
        """Where this is booked and what is spent with it, as public JSON data: goes into the record of the release."""

    def commit(self, digest: str) -> None:
        """Close the reservation with the digest of what is released; the same digest again changes nothing.

        Raises
        ------
        BudgetError
            If it was burned, or committed with another digest.
        """

    def burn(self, reason: str) -> None:
        """Close the reservation without a release; it stays charged. Burning twice changes nothing.

        ``reason`` is kept in the books: say nothing private in it.

        Raises
        ------
        BudgetError
            If it was committed.
        """

    def take_over(self, draws: int) -> int:
        """Make this object the only holder of the reservation, durably; return the number of draws to count.

        A run that can be resumed leases its draws of noise from the reservation. Every draw that was leased to an
        earlier holder counts as made, so the result is at least ``draws``, and all holders together never draw more
        often than the last number that was leased.

        Raises
        ------
        BudgetError
            If the reservation is closed.
        """

    def lease(self, draws: int) -> None:
        """Allow this holder to draw noise until ``draws`` draws were made in all, durably before the first of them.

        A smaller number than before gives unused draws back.

        Raises
        ------
        SupersededError
            If another object took over.
        BudgetError
            If the reservation is closed.
        """

    def check_holder(self) -> None:
        """Check that no other object took over; cheaper than ``lease``.

        Raises
        ------
        SupersededError
            If one did.
        """


@runtime_checkable
class Budget(Protocol):
    """A limit on what may be spent, composed by a filter that is valid for adaptively chosen events (T14)."""

    def check(self, event: Event) -> None:
        """Do nothing if the budget covers ``event`` now; nothing is charged either way.

        Raises
        ------
        BudgetError
            If it does not.
        AdjacencyError, ConversionError
            If the event has no cost under the budget's adjacency, or in its currency.
        """

    def reserve(
        self, event: Event, *, request_id: str | None = None, facts: Mapping[str, object] | None = None
    ) -> Reservation:
        """Charge ``event`` at once, or raise as ``check`` does and charge nothing.

        A ``request_id`` makes the call idempotent: the same id with the same event is charged once and returns the
        same reservation (then ``repeated``); with another event it raises BudgetError. ``facts`` are kept in the books
        beside the event: public JSON data about what will run, such as whether a seed makes it NOT PRIVATE.
        """


class Resumable(Protocol):
    """A run that may be gone on with after it failed, under the same charge."""

    @property
    def resumes(self) -> bool:
        """Whether this run goes on with an earlier one, whose reservation is still open."""

    @property
    def can_go_on(self) -> bool:
        """Whether it could be gone on with if it failed now: then its reservation stays open."""


@contextmanager
def charged(
    budget: Budget | None,
    event: Event,
    *,
    request_id: str | None = None,
    facts: Mapping[str, object] | None = None,
    resumable: Resumable | None = None,
) -> Iterator[Reservation]:
    """Run a release inside a reservation of ``event``, charged before the first line.

    An exception burns the reservation, gets a note that says so, and goes on. Leaving without ``commit`` (or
    ``burn``) burns it with a DpermWarning. Without a budget (None) nothing is charged, and the reservation that is
    yielded does nothing. A ``resumable`` run draws no more noise in all its parts than its event says: it may go on
    under a reservation that is still open.

    Raises
    ------
    BudgetError
        Before the first line: if the budget does not cover the event, or if ``request_id`` was reserved before, since
        a second run would draw noise twice for one charge.

    Examples
    --------
    >>> from dperm.accounting import Pure
    >>> from dperm.accounting.memory_budget import MemoryBudget
    >>> from dperm.privacy import PureDP
    >>> budget = MemoryBudget(PureDP(1.0, "add_remove"))
    >>> with charged(budget, Pure(0.25, "add_remove")) as reservation:
    ...     released = "what the mechanism says"
    ...     reservation.commit("sha256:...")
    >>> budget.remaining
    PureDP(epsilon=0.75, adjacency=ADD_REMOVE)
    """
    if budget is None:
        yield _Unbudgeted()
        return
    reservation = checked_budget(budget).reserve(event, request_id=request_id, facts=facts)
    if not (resumable is not None and resumable.resumes and reservation.state == State.RESERVED):
        _refuse_second_use(reservation, request_id)
    try:
        yield reservation
    except BaseException as error:
        if isinstance(error, SupersededError):
            pass  # the reservation belongs to another run
        elif resumable is not None and resumable.can_go_on:
            error.add_note("The reservation of this run stays open: resume the run from its checkpoint.")
        else:
            _burn_after(error, reservation)
        raise
    if reservation.state == State.RESERVED:
        reservation.burn("left without commit")
        warnings.warn(
            "a block of charged() was left without commit: its reservation is burned and stays charged. "
            "Call reservation.commit(digest) when something is released, or reservation.burn(reason) when nothing is.",
            DpermWarning,
            stacklevel=3,
        )


def superseded(request_id: object) -> SupersededError:
    """The error of a run whose charge another run took over."""
    return SupersededError(
        f"the run with request_id={request_id!r} was superseded: another run resumed from a checkpoint of it, or from "
        f"a copy of one, and took over its charge. This run draws no more noise and releases nothing. Go on with the "
        f"run that resumed last, or begin another training, which is charged anew."
    )


def checked_text(name: str, value: object) -> str:
    """``value``, if it is a string with something in it (a digest, a reason, a request id)."""
    if not isinstance(value, str) or not value:
        raise ParameterError(f"{name} must be a string that is not empty, got {shown(value)}.")
    return value


def checked_budget(budget: object) -> Budget:
    """``budget``, if it is one."""
    if not isinstance(budget, Budget):
        raise ParameterError(
            f"budget must be a budget or None, got {shown(budget)}. Give a ledger that was "
            'opened for the data, dperm.Ledger("census.ledger"), or MemoryBudget(PureDP(1.0, "add_remove")).'
        )
    return budget


@dataclass(frozen=True)
class _Unbudgeted:
    """The reservation of a run that is charged to no budget."""

    state = State.RESERVED
    repeated = False

    @property
    def receipt(self) -> Mapping[str, object]:
        """Nothing: it is booked nowhere."""
        return {}

    def commit(self, digest: str) -> None:
        """Check the argument as a budget would, and do nothing."""
        checked_text("digest", digest)

    def burn(self, reason: str) -> None:
        """Check the argument as a budget would, and do nothing."""
        checked_text("reason", reason)

    def take_over(self, draws: int) -> int:
        """Return ``draws``: nothing is known of other runs."""
        return draws

    def lease(self, draws: int) -> None:
        """Do nothing."""

    def check_holder(self) -> None:
        """Do nothing: no other run can take over."""


def _refuse_second_use(reservation: Reservation, request_id: str | None) -> None:
    """Refuse a reservation that another run has or had."""
    if reservation.repeated:
        asked = reservation.receipt.get("request_id", request_id)
        if reservation.state == State.RESERVED:
            raise BudgetError(
                f"request_id={asked!r} is reserved by another run, which is in progress or was killed: one charge pays "
                "for one release. This run charged nothing. Wait for the other run. If it is gone, it stays charged; "
                "charge a new run under a new request_id."
            )
        raise BudgetError(
            f"request_id={asked!r} was charged before and is {reservation.state.value}: a second run would draw "
            "noise twice for one charge. Use what the first run released, or charge a new run under a new request_id."
        )


def _burn_after(error: BaseException, reservation: Reservation) -> None:
    """Burn what is still open and say so on ``error``, which is never replaced by a failure to burn."""
    try:
        if reservation.state != State.RESERVED:
            return
        # the type alone: a message may hold private values, and the books are public
        reservation.burn(f"{type(error).__name__} before commit")
        error.add_note("The reservation of this run is burned: it stays charged to the budget (there are no refunds).")
    except Exception as failure:
        error.add_note(f"The reservation of this run could not be burned ({failure}); it stays charged to the budget.")
