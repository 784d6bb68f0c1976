# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Procedure of every release: order of steps, record, and charge.

1. The constructor of the mechanism fixes everything public.
2. ``budget.check`` refuses early, before the value is read.
3. The value is checked. An invalid value raises an error without a charge, and the message does not reveal the value.
4. A stream of random bits is keyed (without randomness the release stops), the event is reserved, the value is drawn,
   and the digest of the released value is committed.
"""

import json
import platform
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from importlib.metadata import version
from typing import Any, Generic, TypeVar

import numpy as np

from dperm.accounting import account, charged, event_to_json
from dperm.accounting.account import AccountedProfile
from dperm.accounting.budget import Budget, Reservation, Resumable, checked_budget
from dperm.accounting.event import Event
from dperm.checks import shown
from dperm.errors import DataError, NotPrivateWarning, ParameterError
from dperm.noise.bits import Bits, Stream, SystemBits
from dperm.noise.grade import Grade
from dperm.presentation.user_line import level_of_user
from dperm.privacy import Record, Release
from dperm.privacy.digest import digest
from dperm.privacy.guarantee import AnyGuarantee, guarantee_as_dict

Raw = TypeVar("Raw")
Value = TypeVar("Value")


@dataclass(frozen=True)
class ReleaseFacts:
    """Public facts of a release, known before any data are read.

    Attributes
    ----------
    goal
        Guarantee of the release.
    event
        Accounting event of the release.
    noise
        Description of the noise distribution.
    theorems
        Tags of the theorems behind the guarantee.
    grade, eta, tau
        Grade of the noise, and the distance between its distribution and the distribution in the theorem.
    public
        Public constants to store in the record of the release.
    versions
        Versions of further packages to store in the record of the release.
    """

    goal: AnyGuarantee
    event: Event
    noise: str
    theorems: tuple[str, ...]
    grade: Grade = Grade.EXACT
    eta: float = 0.0
    tau: float = 0.0
    public: Mapping[str, object] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def profile(self) -> AccountedProfile:
        """Privacy profile of one release under the goal's adjacency."""
        return account(self.event, self.goal.adjacency)

    @cached_property
    def known(self) -> dict[str, Any]:
        """Fields of the record common to all runs."""
        return {
            "guarantee": self.goal,
            "event": json.loads(event_to_json(self.event)),
            "theorems": tuple(dict.fromkeys((*self.theorems, *self.profile.tags))),
            "grade": self.grade.value,
            "eta": self.eta,
            "tau": self.tau,
            "public": self.public,
            "versions": {**_versions(), **self.versions},
        }


@dataclass(frozen=True)
class Run(Generic[Raw]):
    """Charged release in progress, with its own stream; ``record`` holds the fields known before the draw.

    ``stages`` holds the finished stages, in order; they become part of the record of the release.
    """

    facts: ReleaseFacts
    value: Raw
    stream: Stream
    record: Record
    reservation: Reservation
    budgeted: bool
    stages: list[Mapping[str, object]] = field(default_factory=list)

    def record_stage(self, name: str, facts: Mapping[str, object]) -> None:
        """Record a finished stage of this release: in the entry of its charge, and in its record.

        All stages share the one charge of the release. The facts are stored at once, and stay in the ledger even if a
        later stage fails.

        Parameters
        ----------
        name
            Name of the stage; each name once.
        facts
            Public JSON data: the digest of the output of the stage, and values computed from the output.

        Raises
        ------
        ParameterError
            If the name or the facts are invalid; nothing is recorded.
        SupersededError, BudgetError
            If the reservation is closed, or another run holds it.
        """
        known = replace(self.record, stages=(*self.stages, {"name": name, "facts": facts})).stages
        stage: Mapping[str, Any] = known[-1]
        self.reservation.record_stage(name, stage["facts"])
        self.stages[:] = known

    def released(self, value: Value, digested: Callable[[Value], str] | None = None) -> Release[Value]:
        """Return the release of ``value``, committed with its digest.

        ``digested`` replaces the usual digest function.
        """
        record = replace(self.record, stages=tuple(self.stages)) if self.stages else self.record
        if self.budgeted:  # a digest of a million numbers takes milliseconds
            self.reservation.commit(digest(value) if digested is None else digested(value))
            record = replace(record, ledger=self.reservation.receipt)
        return Release(value, self.facts.goal, self.facts.profile, self.facts.event, record)


@dataclass(frozen=True)
class PreparedRelease(Generic[Raw]):
    """Release ready to start: budget checked, value read, random bits available, nothing charged."""

    facts: ReleaseFacts
    value: Raw
    stream: Stream
    record: Record
    budget: Budget | None

    @contextmanager
    def charged(self, *, request_id: str | None = None, resumable: Resumable | None = None) -> Iterator[Run[Raw]]:
        """Charge the release and yield its run; the charge stays open until the block exits.

        An exception in the block burns the charge, unless the run is ``resumable``. An exit without `Run.released` also
        burns the charge.
        """
        facts, booked = self.facts, _ledger_facts(self.record)
        with charged(self.budget, facts.event, request_id=request_id, facts=booked, resumable=resumable) as reservation:
            yield Run(
                facts,
                self.value,
                stream=self.stream,
                record=self.record,
                reservation=reservation,
                budgeted=self.budget is not None,
            )

    def release(self, draw: Callable[[Raw, Stream], Value]) -> Release[Value]:
        """Charge the budget, draw the value to release, and commit its digest."""
        with self.charged() as run:
            # the user's own settings must not let the data decide whether rounding is an error, after the charge
            with np.errstate(all="ignore"):
                value = draw(run.value, run.stream)
            return run.released(value)


def prepare_release(
    facts: ReleaseFacts,
    checked: Callable[[], Raw],
    *,
    budget: Budget | None,
    bits: Bits | None,
    resumes: bool = False,
) -> PreparedRelease[Raw]:
    """Perform all steps before the charge, in the order of every release.

    Parameters
    ----------
    facts
        Public facts of the release.
    checked
        Function that reads and checks the private value.
    budget
        Budget to check; None checks nothing.
    bits
        Source of randomness; None uses the operating system.
    resumes
        Whether the run continues an earlier charge, so the budget is not checked again.

    Raises
    ------
    BudgetError
        If the budget does not cover the event.
    DataError
        If the private value breaks a rule.
    """
    source = _source(bits)
    if budget is not None and not resumes:
        checked_budget(budget).check(facts.event)
    record = _record(facts, source)
    return PreparedRelease(facts, _read(checked), source.stream(), record, budget)


def release(
    facts: ReleaseFacts,
    checked: Callable[[], Raw],
    draw: Callable[[Raw, Stream], Value],
    *,
    budget: Budget | None,
    bits: Bits | None,
) -> Release[Value]:
    """Release the result of ``draw`` on the value of ``checked``, charged to ``budget``.

    Notes
    -----
    **Guarantees.** The budget is checked before the value is read, and charged before noise is drawn (T10, T14). A
    failure after the charge burns it: charges are not refunded.
    """
    return prepare_release(facts, checked, budget=budget, bits=bits).release(draw)


def _read(checked: Callable[[], Raw]) -> Raw:
    """Return the checked value; numpy's message about memory would reveal the number of records."""
    with suppress(MemoryError), np.errstate(all="ignore"):
        return checked()
    raise DataError("the data do not fit into memory.")


def _source(bits: Bits | None) -> Bits:
    if bits is None:
        return SystemBits()
    if isinstance(bits, type) or not isinstance(bits, Bits) or not isinstance(bits.is_private, bool):
        raise ParameterError(
            argument="bits",
            rule="must be None (the operating system's randomness) or NotPrivateBits(seed)",
            got=shown(bits),
            remedy="To use a seed, pass NotPrivateBits(seed); the release is then marked NOT PRIVATE.",
        )
    if not bits.is_private:
        warnings.warn(
            f"this release is NOT PRIVATE: {bits!r} determines its noise. Leave out the seed for real releases.",
            NotPrivateWarning,
            stacklevel=level_of_user(),
        )
    return bits


def _record(facts: ReleaseFacts, source: Bits) -> Record:
    """Return the facts as a record, with the time before the value was read."""
    return Record(
        **facts.known,
        noise=f"{facts.noise}; random bits: {_describe_bits(source)}",
        seeded=not source.is_private,
        timestamp=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _ledger_facts(record: Record) -> dict[str, object]:
    """Return the facts stored in the ledger beside the event: noise, theorems, versions, and the seed flag."""
    return {
        "guarantee": guarantee_as_dict(record.guarantee),
        "noise": record.noise,
        "grade": record.grade,
        "theorems": record.theorems,
        "versions": record.versions,
        "seeded": record.seeded,
    }


def _describe_bits(source: Bits) -> str:
    if type(source) is SystemBits:
        return "AES-256-CTR with a fresh key from the operating system"
    if source.is_private:
        return f"{type(source).__name__}, which its maker declares private"
    return f"NOT PRIVATE (generated from {_describe_seed(source)})"


def _describe_seed(source: Bits) -> str:
    seed = getattr(source, "seed", None)
    return repr(source) if seed is None else f"seed {seed}"


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    return {"dperm": version("dperm"), "numpy": np.__version__, "python": platform.python_version()}
