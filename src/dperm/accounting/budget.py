# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The budget protocol, and `charged`, the only way to charge a run.

Every run follows the same order:

1. plan the run from public constants;
2. call ``budget.check(event)``, which refuses an uncovered event before the data are read;
3. enforce the bounds on the data, which may raise an error before anything is charged;
4. call ``reserve``, compute the release and draw its noise, then ``commit`` the digest of the release.

**There are no refunds.** A reservation is charged before any noise is drawn. A later failure may still reveal
information through its error, its timing or partial output. The reservation of a failed run is therefore burned: it is
closed, and it stays charged.

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
from dperm.presentation.spelling import arg


class State(StrEnum):
    """State of a reservation. A reservation stays charged in every state."""

    RESERVED = "reserved"
    """Charged; the release may be in progress."""

    COMMITTED = "committed"
    """Released; the digest of the release is recorded."""

    BURNED = "burned"
    """Closed without a known release; still charged."""


class Reservation(Protocol):
    """Protocol for a reservation: the part of a budget that is charged for one release."""

    @property
    def state(self) -> State:
        """Current state: reserved, committed or burned."""

    @property
    def repeated(self) -> bool:
        """Whether the request id was already reserved. If True, **draw no noise**: a charge covers only one release."""

    @property
    def receipt(self) -> Mapping[str, object]:
        """Position of the entry in the budget and the amounts spent, as public JSON data to store with the release."""

    def commit(self, digest: str) -> None:
        """Close the reservation with the digest of the release.

        Repeating the call with the same digest has no further effect.

        Parameters
        ----------
        digest
            Digest of the released value.

        Raises
        ------
        SupersededError
            If another holder has taken over the reservation.
        BudgetError
            If the reservation was burned, or committed with a different digest.
        """

    def burn(self, reason: str) -> None:
        """Close the reservation without a release.

        The reservation stays charged. Burning the reservation a second time has no effect.

        Parameters
        ----------
        reason
            Public text stored with the entry; it must not contain private data.

        Raises
        ------
        SupersededError
            If another holder has taken over the reservation.
        BudgetError
            If the reservation was committed.
        """

    def record_stage(self, name: str, facts: Mapping[str, object]) -> None:
        """Append the facts of a finished stage to this open reservation, and store them durably.

        A release with several stages, such as preparation, training and evaluation, has one reservation. All stages are
        charged before the first one starts, so recording a stage costs nothing. Repeating the call with the same facts
        has no effect.

        Parameters
        ----------
        name
            Name of the stage. Each name can be used only once per reservation.
        facts
            Public JSON data: the digest of the stage's output, and values computed from this output. The facts must not
            depend on private data in any other way, because they are public even if the release fails later.

        Raises
        ------
        SupersededError
            If another holder has taken over the reservation.
        BudgetError
            If the reservation is closed, belongs to another run, or already has a stage with this name and other facts.
        """

    def take_over(self, draws: int) -> int:
        """Make this object the only holder of the reservation, and record this durably.

        The holder of a reservation is the only run that may draw noise under it. A resumable run calls ``lease`` before
        it draws noise. When another run takes over, all draws leased so far count as made, even if they were not made.
        All holders together therefore never make more draws than were leased.

        Parameters
        ----------
        draws
            Number of noise draws already made according to the checkpoint of this run.

        Returns
        -------
        int
            Number of noise draws that count as made, at least ``draws``.

        Raises
        ------
        BudgetError
            If the reservation is closed.
        """

    def lease(self, draws: int) -> None:
        """Set the number of noise draws permitted under the reservation, and record it durably before they are made.

        The number includes the draws of earlier holders. A smaller number than in an earlier call gives back unused
        draws.

        Parameters
        ----------
        draws
            Total number of noise draws permitted under the reservation.

        Raises
        ------
        SupersededError
            If another holder has taken over the reservation.
        BudgetError
            If the reservation is closed.
        """

    def check_holder(self) -> None:
        """Check that no other holder has taken over the reservation; this check is cheaper than ``lease``.

        Raises
        ------
        SupersededError
            If another holder has taken over the reservation.
        """


@runtime_checkable
class Budget(Protocol):
    """Protocol for a privacy budget, which enforces its limit even if the events are chosen adaptively (T14)."""

    def check(self, event: Event) -> None:
        """Check that the remaining budget covers ``event``, without charging it.

        Parameters
        ----------
        event
            Event to check.

        Raises
        ------
        BudgetError
            If the remaining budget does not cover the event.
        AdjacencyError, ConversionError
            If no theorem gives the cost of the event under the budget's adjacency and for its kind of guarantee, such
            as zCDP.
        """

    def reserve(
        self, event: Event, *, request_id: str | None = None, facts: Mapping[str, object] | None = None
    ) -> Reservation:
        """Charge ``event`` and return its reservation; if an error is raised, nothing is charged.

        Parameters
        ----------
        event
            Event to charge.
        request_id
            Identifier that makes the call idempotent. A second call with the same id and the same event charges nothing
            and returns the same reservation, marked as ``repeated``.
        facts
            Public JSON data about the run to store with the event, such as a note that a fixed seed makes the release
            NOT PRIVATE.

        Returns
        -------
        Reservation
            The charged reservation. Commit it or burn it.

        Raises
        ------
        BudgetError
            If the remaining budget does not cover the event, or ``request_id`` was used for a different event.
        AdjacencyError, ConversionError
            If no theorem gives the cost of the event under the budget's adjacency and for its kind of guarantee, such
            as zCDP.
        """


class Resumable(Protocol):
    """Protocol for a run that can continue after a failure, under the same charge."""

    @property
    def resumes(self) -> bool:
        """Whether this run resumes an earlier run whose reservation is still open."""

    @property
    def can_go_on(self) -> bool:
        """Whether the run can be resumed after a failure at this point; if so, its reservation stays open."""


@contextmanager
def charged(
    budget: Budget | None,
    event: Event,
    *,
    request_id: str | None = None,
    facts: Mapping[str, object] | None = None,
    resumable: Resumable | None = None,
) -> Iterator[Reservation]:
    """Charge ``event`` to ``budget`` when a ``with`` block is entered; the block computes the release.

    If the block raises an exception, an open reservation is burned: it is closed, and the charge is not refunded. The
    exception propagates, with a note about the charge. If the block ends without a call of ``commit`` or ``burn``, the
    reservation is burned as well, and a DpermWarning is issued.

    Parameters
    ----------
    budget
        Budget to charge. None charges nothing and yields a reservation that has no effect.
    event
        Event to charge.
    request_id
        Identifier of the release. The same identifier is never charged twice.
    facts
        Public JSON data about the run to store with the event.
    resumable
        Run that can be resumed after a failure, without more noise draws in total than ``event`` declares. If the run
        can be resumed after an exception, its reservation stays open instead of being burned. The resumed run then uses
        this reservation and is not charged again.

    Yields
    ------
    Reservation
        The charged reservation; call its ``commit`` with the digest of the release.

    Raises
    ------
    BudgetError
        Before the block starts, if the budget does not cover the event, or if ``request_id`` was already used by
        another run. A second run under one charge would release more than the charge covers.
    AdjacencyError, ConversionError
        Before the block starts, if no theorem gives the cost of the event under the budget's adjacency and for its kind
        of guarantee, such as zCDP.
    ParameterError
        If ``budget`` is neither a budget nor None.

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
    """Return the error for a run whose charge was taken over by another run.

    Parameters
    ----------
    request_id
        Identifier of the request.

    Returns
    -------
    SupersededError
        Error to raise.
    """
    return SupersededError(
        f"the run with request id {request_id!r} was superseded: another run resumed from a checkpoint of it, or from "
        f"a copy of one, and took over its charge. This run draws no more noise and releases nothing. Go on with the "
        f"run that resumed last, or begin another training run, which is charged anew."
    )


def recorded_stage(name: str, request_id: object) -> BudgetError:
    """Return the error for a stage that is already recorded with different facts.

    Parameters
    ----------
    name
        Name of the stage.
    request_id
        Identifier of the request.

    Returns
    -------
    BudgetError
        Error to raise.
    """
    return BudgetError(
        f"stage {name!r} of request id {request_id!r} is recorded already, with other facts, and never changes.",
        remedy="Give every stage of a release a name of its own.",
    )


def stage_of_another_run(request_id: object) -> BudgetError:
    """Return the error for a stage of a run that did not make the reservation.

    Parameters
    ----------
    request_id
        Identifier of the request.

    Returns
    -------
    BudgetError
        Error to raise.
    """
    return BudgetError(
        f"request id {request_id!r} is reserved by another run: only the run that was charged records its stages.",
        remedy=f"Charge another run under a new {arg('request_id')}.",
    )


def checked_text(name: str, value: object) -> str:
    """Return ``value`` if it is a non-empty string, such as a digest, a reason or a request id.

    Parameters
    ----------
    name
        Name of the argument, for the message.
    value
        Value to check.

    Returns
    -------
    str
        ``value``.

    Raises
    ------
    ParameterError
        If ``value`` is not a non-empty string.
    """
    if not isinstance(value, str) or not value:
        raise ParameterError(f"{name} must be a string that is not empty, got {shown(value)}.")
    return value


def checked_budget(budget: object) -> Budget:
    """Return ``budget`` if it implements the `Budget` protocol.

    Parameters
    ----------
    budget
        Object to check.

    Returns
    -------
    Budget
        ``budget``.

    Raises
    ------
    ParameterError
        If ``budget`` does not implement the protocol.
    """
    if not isinstance(budget, Budget):
        raise ParameterError(
            f"budget must be a budget or None, got {shown(budget)}. Give a ledger that was "
            'opened for the data, dperm.Ledger("census.ledger"), or MemoryBudget(PureDP(1.0, "add_remove")).'
        )
    return budget


@dataclass(frozen=True)
class _Unbudgeted:
    """Reservation of a run without a budget; it records nothing."""

    state = State.RESERVED
    repeated = False

    @property
    def receipt(self) -> Mapping[str, object]:
        """Empty mapping: there is no entry to refer to."""
        return {}

    def commit(self, digest: str) -> None:
        """Check that the digest is a non-empty string; no other effect."""
        checked_text("digest", digest)

    def burn(self, reason: str) -> None:
        """Check that the reason is a non-empty string; no other effect."""
        checked_text("reason", reason)

    def record_stage(self, name: str, facts: Mapping[str, object]) -> None:
        """Check that the name is a non-empty string; no other effect."""
        checked_text("name", name)

    def take_over(self, draws: int) -> int:
        """Return ``draws``: no other holder is known."""
        return draws

    def lease(self, draws: int) -> None:
        """Do nothing: without a budget, draws are not counted."""

    def check_holder(self) -> None:
        """Do nothing: without a budget, no other run can take over."""


def _refuse_second_use(reservation: Reservation, request_id: str | None) -> None:
    """Raise BudgetError if another run used or uses this reservation."""
    if reservation.repeated:
        asked = reservation.receipt.get("request_id", request_id)
        if reservation.state == State.RESERVED:
            raise BudgetError(
                f"request id {asked!r} is reserved by another run, which is in progress or was killed: one charge pays "
                "for one release. This run charged nothing. Wait for the other run. If it is gone, it stays charged; "
                f"charge a new run under a new {arg('request_id')}."
            )
        raise BudgetError(
            f"request id {asked!r} was charged before and is {reservation.state.value}: a second run would draw "
            f"noise twice for one charge. Use what the first run released, or charge a new run under a new "
            f"{arg('request_id')}."
        )


def _burn_after(error: BaseException, reservation: Reservation) -> None:
    """Burn the reservation if it is open and note it on ``error``; a failure to burn never replaces ``error``."""
    try:
        if reservation.state != State.RESERVED:
            return
        # the type alone: a message may hold private values, and the books are public
        reservation.burn(f"{type(error).__name__} before commit")
        error.add_note("The reservation of this run is burned: it stays charged to the budget (there are no refunds).")
    except Exception as failure:
        error.add_note(f"The reservation of this run could not be burned ({failure}); it stays charged to the budget.")
