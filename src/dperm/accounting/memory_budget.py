# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""In-memory budget, for the lifetime of one process."""

import os
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NoReturn, final

from dperm.accounting.budget import State, checked_text, recorded_stage, stage_of_another_run, superseded
from dperm.accounting.event import Event
from dperm.accounting.filters import Amounts, Filter, filter_of, left, price, require, total
from dperm.accounting.serialize import event_to_json
from dperm.deprecation import deprecated_names
from dperm.errors import BudgetError
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.guarantee import AnyGuarantee, guarantee_as_dict
from dperm.privacy.rounding import round_down, round_up

__getattr__ = deprecated_names(__name__, {"Entry": "dperm.accounting.memory_budget:MemoryEntry"})


@dataclass(frozen=True)
class MemoryEntry:
    """One entry of a `MemoryBudget`. Its cost counts in every state, even after a failure.

    Attributes
    ----------
    number
        Number of the entry, in the order of the charges.
    event
        Event as JSON text (`dperm.accounting.serialize`).
    cost
        Amounts charged, rounded up, keyed by the name of the cost ("epsilon", "rho", ...).
    state
        State of the reservation.
    request_id
        Identifier of the release; None if none was given.
    digest
        Digest of the release, once committed.
    reason
        Reason for burning the reservation.
    facts
        Public facts supplied by the run.
    stages
        Finished stages of the release: mappings with ``name`` and ``facts``.
    """

    number: int
    event: str
    cost: tuple[tuple[str, float], ...]
    state: State = State.RESERVED
    request_id: str | None = None
    digest: str | None = None
    reason: str | None = None
    facts: Mapping[str, object] = field(default_factory=dict, hash=False)
    stages: tuple[Mapping[str, object], ...] = field(default=(), hash=False)


@final
class MemoryBudget:
    """Thread-safe `Budget` in memory, for events that may be chosen adaptively.

    All charged events together satisfy the guarantee ``limit``. This holds even if each event, and the decision to
    stop, depend on earlier releases. Every event has a cost, and the sum of the costs never exceeds the limit (T14).
    `dperm.accounting.filters.rules` describes the cost for each kind of guarantee. Each cost is rounded up to a
    floating-point number, and costs are added as exact fractions.

    Composing the privacy profiles of adaptively chosen events, and stopping when the result reaches the limit, would
    **not** be valid. The parameters and the number of steps of each event must therefore be declared before it runs.
    For example, declare the thousand steps of a training run as one event. The accountant then composes the steps
    exactly.

    Parameters
    ----------
    limit
        Guarantee of type PureDP, ApproxDP, ZCDP, GDP or RDP. Events are accounted for under its adjacency.
    blocks
        Number of events among which the delta of an ApproxDP limit is divided equally. If delta > 0, no more than
        ``blocks`` events can be charged. Required for ApproxDP limits; must be None for other limits.
    composition
        Composition rule for an ApproxDP limit; other limits accept only the default. The rule "basic" adds the epsilons
        of the events, and divides delta equally among ``blocks`` events. The rule "advanced" requires delta > 0. It
        adds the squares of the epsilons, divides half of delta among ``blocks`` events, and spends the other half on
        the composition (T14a). Compared with "basic", it allows more events if their epsilons are small, and fewer
        events if their epsilons are large.

    Examples
    --------
    >>> from dperm.accounting import Gaussian
    >>> from dperm.privacy import ZCDP
    >>> budget = MemoryBudget(ZCDP(0.5, "add_remove"))
    >>> budget.reserve(Gaussian(noise_multiplier=2.0)).commit("sha256:...")
    >>> budget.remaining
    ZCDP(rho=0.375, adjacency=ADD_REMOVE)
    """

    def __init__(self, limit: AnyGuarantee, *, blocks: int | None = None, composition: str = "basic") -> None:
        self._filter: Filter = filter_of(limit, blocks, composition)
        self._limit = limit
        self._spent: Amounts = tuple(Fraction(0) for _ in self._filter.capacity)
        self._entries: list[MemoryEntry] = []
        self._numbers: dict[str, int] = {}  # request id -> entry
        self._owners: dict[int, str] = {}  # entry -> the reservation object that charged it
        self._leases: dict[int, tuple[str, int]] = {}  # entry -> its holder, and the draws that were leased
        self._lock = threading.Lock()
        self._process = os.getpid()

    @property
    def limit(self) -> AnyGuarantee:
        """Guarantee that all charged events together satisfy."""
        return self._limit

    @property
    def adjacency(self) -> Adjacency:
        """Neighbouring relation under which the events are accounted for."""
        return self._limit.adjacency

    @property
    def spent(self) -> dict[str, float]:
        """Sum of each charged cost, rounded up, keyed by the name of the cost ("epsilon", "rho", ...).

        The sums are plain numbers and not a guarantee, because the events may be chosen adaptively (T14). The guarantee
        of the budget is ``limit``.
        """
        return {name: round_up(used) for name, used in zip(self._filter.names, self._spent, strict=True)}

    @property
    def capacity(self) -> dict[str, float]:
        """Limit on each sum in ``spent``, rounded down."""
        return {name: round_down(most) for name, most in zip(self._filter.names, self._filter.capacity, strict=True)}

    @property
    def remaining(self) -> AnyGuarantee:
        """Remaining budget, rounded down and expressed as a guarantee."""
        return self._filter.within(left(self._filter, self._spent))

    @property
    def entries(self) -> tuple[MemoryEntry, ...]:
        """Entries in the order of the charges."""
        return tuple(self._entries)

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
        self._require_this_process()
        cost = price(self._filter, event)
        require(self._filter, self._spent, cost, event)

    def reserve(
        self, event: Event, *, request_id: str | None = None, facts: Mapping[str, object] | None = None
    ) -> "MemoryReservation":
        """Charge ``event`` and return its reservation; if an error is raised, nothing is charged.

        Parameters
        ----------
        event
            Event to charge.
        request_id
            Identifier of the release. A second call with the same id and the same event returns the same reservation
            and charges nothing.
        facts
            Public JSON data about the run to store with the entry.

        Returns
        -------
        MemoryReservation
            The charged reservation. Commit it or burn it.

        Raises
        ------
        BudgetError
            If the remaining budget does not cover the event, or ``request_id`` was used for a different event.
        AdjacencyError, ConversionError
            If no theorem gives the cost of the event under the budget's adjacency and for its kind of guarantee, such
            as zCDP.
        """
        self._require_this_process()
        if request_id is not None:
            checked_text("request_id", request_id)
        cost = price(self._filter, event)
        text, named = event_to_json(event), tuple(zip(self._filter.names, cost, strict=True))
        with self._lock:  # between the comparison and the charge nobody else may charge
            known = self._find(request_id, text)
            if known is not None:
                return MemoryReservation(self, known, repeated=True)
            require(self._filter, self._spent, cost, event)
            self._spent = total(self._spent, cost)
            charge = MemoryReservation(self, self._append(text, named, request_id, facts or {}))
            self._owners[charge.number] = charge.holder
            return charge

    def __copy__(self) -> "MemoryBudget":
        """Return the budget itself: a copy (sklearn's clone makes one for every fold) could be spent a second time."""
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> "MemoryBudget":
        """Return the budget itself: a copy could be spent a second time."""
        return self

    def __reduce__(self) -> NoReturn:
        """Raise BudgetError: with a pickled copy, another process could spend the budget a second time."""
        raise BudgetError(
            "a MemoryBudget cannot be pickled: another process would spend a copy of it. Charge it in the process that "
            "opened it (with joblib, use threads)."
        )

    def __repr__(self) -> str:
        """Return the limit and the amounts spent."""
        return f"MemoryBudget(limit={self._limit!r}, spent={self.spent!r})"

    def _append(
        self, event: str, cost: tuple[tuple[str, float], ...], request_id: str | None, facts: Mapping[str, object]
    ) -> int:
        """Append an entry and return its number; the caller holds the lock."""
        number = len(self._entries)
        self._entries.append(MemoryEntry(number, event, cost, request_id=request_id, facts=dict(facts)))
        if request_id is not None:
            self._numbers[request_id] = number
        return number

    def _find(self, request_id: str | None, event: str) -> int | None:
        """Return the number of the entry with this request id, or None; the caller holds the lock."""
        if request_id is None or request_id not in self._numbers:
            return None
        entry = self._entries[self._numbers[request_id]]
        if entry.event != event:
            raise BudgetError(
                f"request id {request_id!r} was used for {entry.event}, and is asked for {event}. Nothing was charged. "
                "Give every release an id of its own."
            )
        return entry.number

    def _close(
        self, number: int, state: State, holder: str, *, digest: str | None = None, reason: str | None = None
    ) -> None:
        """Close a reserved entry, the only change allowed to an entry; its cost never changes."""
        with self._lock:
            entry = self._entries[number]
            if entry.state is State.RESERVED:
                self._require_holder(number, holder)
                self._entries[number] = replace(entry, state=state, digest=digest, reason=reason)
            elif entry.state is not state or entry.digest != digest:
                raise BudgetError(
                    f"a reservation is closed once: number {number} is {entry.state.value} (digest={entry.digest!r}), "
                    f"and cannot be {state.value} (digest={digest!r}). Reserve again for another release."
                )

    def _record_stage(self, number: int, holder: str, *, name: str, facts: Mapping[str, object]) -> None:
        with self._lock:
            self._require_holder(number, holder)
            entry = self._entries[number]
            if number not in self._leases and self._owners[number] != holder:
                raise stage_of_another_run(entry.request_id)
            self._require_open(number)
            known = next((stage["facts"] for stage in entry.stages if stage["name"] == name), None)
            if known is None:
                stages = (*entry.stages, {"name": name, "facts": dict(facts)})
                self._entries[number] = replace(entry, stages=stages)
            elif known != dict(facts):
                raise recorded_stage(name, entry.request_id)

    def _take_over(self, number: int, holder: str, draws: int) -> int:
        with self._lock:
            self._require_open(number)
            counted = max(draws, self._leases.get(number, (holder, 0))[1])
            self._leases[number] = (holder, counted)
            return counted

    def _lease(self, number: int, holder: str, draws: int) -> None:
        with self._lock:
            self._require_holder(number, holder)
            self._require_open(number)
            self._leases[number] = (holder, draws)

    def _require_holder(self, number: int, holder: str) -> None:
        if self._leases.get(number, (holder, 0))[0] != holder:
            raise superseded(self._entries[number].request_id)

    def _require_open(self, number: int) -> None:
        state = self._entries[number].state
        if state is not State.RESERVED:
            raise BudgetError(
                f"reservation number {number} is {state.value}: noise is drawn, and stages are recorded, under an open "
                "reservation only. Reserve again for another release."
            )

    def _require_this_process(self) -> None:
        if os.getpid() != self._process:
            raise BudgetError(
                "a MemoryBudget lives in the process that opened it, and this is a fork of that process: both would "
                "spend the same budget. Nothing was charged. Charge it before forking, or use threads."
            )


@final
@dataclass(frozen=True)
class MemoryReservation:
    """Entry of a `MemoryBudget`, as a `Reservation`. Reservations are equal if they refer to the same entry.

    Attributes
    ----------
    budget
        Budget of the entry.
    number
        Number of the entry.
    repeated
        Whether the request id was already reserved. If so, draw no noise.
    holder
        Random token of this object; a lease names the token of its holder.
    """

    budget: MemoryBudget
    number: int
    repeated: bool = field(default=False, compare=False)
    holder: str = field(default_factory=lambda: secrets.token_hex(16), compare=False, repr=False)

    @property
    def entry(self) -> MemoryEntry:
        """Current content of the entry."""
        return self.budget._entries[self.number]

    @property
    def state(self) -> State:
        """Current state: reserved, committed or burned."""
        return self.entry.state

    @property
    def receipt(self) -> Mapping[str, object]:
        """Entry number, request id, digest, limit, capacity and spent amounts, as JSON-serialisable data."""
        return {
            "ledger": "in memory, gone with its process",
            "seq": self.number,
            "request_id": self.entry.request_id,
            "digest": self.entry.digest,
            "limit": guarantee_as_dict(self.budget.limit),
            "capacity": self.budget.capacity,
            "spent": self.budget.spent,
        }

    def commit(self, digest: str) -> None:
        """Close the reservation with the digest of the release.

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
        self.budget._close(self.number, State.COMMITTED, self.holder, digest=checked_text("digest", digest))

    def burn(self, reason: str) -> None:
        """Close the reservation without a release. The reservation stays charged.

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
        self.budget._close(self.number, State.BURNED, self.holder, reason=checked_text("reason", reason))

    def record_stage(self, name: str, facts: Mapping[str, object]) -> None:
        """Append the facts of a finished stage to this open reservation. A stage costs nothing.

        Parameters
        ----------
        name
            Name of the stage.
        facts
            Public JSON data, such as the digest of the output.

        Raises
        ------
        SupersededError
            If another holder has taken over the reservation.
        BudgetError
            If the reservation is closed, belongs to another run, or already has a stage with this name and other facts.
        """
        self.budget._record_stage(self.number, self.holder, name=checked_text("name", name), facts=facts)

    def take_over(self, draws: int) -> int:
        """Make this object the only holder of the reservation.

        Parameters
        ----------
        draws
            Number of noise draws that this run has already made.

        Returns
        -------
        int
            Number of noise draws that count as made, at least ``draws``.

        Raises
        ------
        BudgetError
            If the reservation is closed.
        """
        return self.budget._take_over(self.number, self.holder, draws)

    def lease(self, draws: int) -> None:
        """Set the total number of noise draws permitted under the reservation, including those of earlier holders.

        Parameters
        ----------
        draws
            Total number of noise draws.

        Raises
        ------
        SupersededError
            If another holder has taken over the reservation.
        BudgetError
            If the reservation is closed.
        """
        self.budget._lease(self.number, self.holder, draws)

    def check_holder(self) -> None:
        """Check that no other object has taken over the reservation.

        Raises
        ------
        SupersededError
            If another holder has taken over the reservation.
        """
        self.budget._require_holder(self.number, self.holder)
