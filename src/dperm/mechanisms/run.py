# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How every mechanism releases: one order of steps, one record, one way to charge.

1. everything public was decided when the mechanism was made;
2. ``budget.check``: refuse early, the value unread;
3. check the value: a bad one raises, nothing is charged, and the message says nothing about it;
4. key a stream of bits (without randomness nothing goes on), reserve, draw, commit the digest of what is released.
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
from dperm.privacy import Record, Release
from dperm.privacy.digest import digest
from dperm.privacy.guarantee import AnyGuarantee, guarantee_as_dict

Raw = TypeVar("Raw")
Value = TypeVar("Value")


@dataclass(frozen=True)
class Facts:
    """What is known about a release before any data is read."""

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
        """The curve of one release under the goal's adjacency."""
        return account(self.event, self.goal.adjacency)

    @cached_property
    def known(self) -> dict[str, Any]:
        """The fields of the record that do not depend on the run."""
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
    """A release under way: charged, with a stream of its own; ``record`` is what was known before."""

    facts: Facts
    value: Raw
    stream: Stream
    record: Record
    reservation: Reservation
    budgeted: bool

    def released(self, value: Value, digested: Callable[[Value], str] | None = None) -> Release[Value]:
        """The release of ``value``, committed with its digest; ``digested`` makes it, if not the usual function."""
        record = self.record
        if self.budgeted:  # a digest of a million numbers takes milliseconds
            self.reservation.commit(digest(value) if digested is None else digested(value))
            record = replace(record, ledger=self.reservation.receipt)
        return Release(value, self.facts.goal, self.facts.profile, self.facts.event, record)


@dataclass(frozen=True)
class Prepared(Generic[Raw]):
    """A release that can begin: the budget covers it, the value was read, bits are there. Nothing is charged yet."""

    facts: Facts
    value: Raw
    stream: Stream
    record: Record
    budget: Budget | None

    @contextmanager
    def charged(self, *, request_id: str | None = None, resumable: Resumable | None = None) -> Iterator[Run[Raw]]:
        """The run, charged until the block is left.

        An exception in the block burns the charge, unless the run is ``resumable``; a block that is left without
        `Run.released` does too.
        """
        told = _booked(self.record)
        with charged(self.budget, self.facts.event, request_id=request_id, facts=told, resumable=resumable) as held:
            yield Run(self.facts, self.value, self.stream, self.record, held, self.budget is not None)


def prepared(
    facts: Facts,
    checked: Callable[[], Raw],
    *,
    budget: Budget | None,
    bits: Bits | None,
    resumes: bool = False,
) -> Prepared[Raw]:
    """Everything that comes before the charge, in the order of every release; a run that ``resumes`` was covered."""
    source = _source(bits)
    if budget is not None and not resumes:
        checked_budget(budget).check(facts.event)
    record = _record(facts, source)
    return Prepared(facts, _read(checked), source.stream(), record, budget)


def release(
    facts: Facts,
    checked: Callable[[], Raw],
    draw: Callable[[Raw, Stream], Value],
    *,
    budget: Budget | None,
    bits: Bits | None,
) -> Release[Value]:
    """Release what ``draw`` makes of the value that ``checked`` returns, charged to ``budget``."""
    with prepared(facts, checked, budget=budget, bits=bits).charged() as run:
        # the user's own settings must not let the data decide whether rounding is an error, after the charge
        with np.errstate(all="ignore"):
            released = draw(run.value, run.stream)
        return run.released(released)


def _read(checked: Callable[[], Raw]) -> Raw:
    """The checked value; numpy's words about memory would tell how many records there are."""
    with suppress(MemoryError), np.errstate(all="ignore"):
        return checked()
    raise DataError("the data do not fit into memory.")


def _source(bits: Bits | None) -> Bits:
    if bits is None:
        return SystemBits()
    if isinstance(bits, type) or not isinstance(bits, Bits) or not isinstance(bits.is_private, bool):
        raise ParameterError(
            f"bits must be None (the operating system's randomness) or NotPrivateBits(seed), got {shown(bits)}. A seed "
            f"is accepted only through NotPrivateBits, which marks the release NOT PRIVATE."
        )
    if not bits.is_private:
        warnings.warn(
            f"this release is NOT PRIVATE: its noise follows from {bits!r}. Leave out the seed for anything real.",
            NotPrivateWarning,
            stacklevel=5,
        )
    return bits


def _record(facts: Facts, source: Bits) -> Record:
    """The facts as a record; the time is the one before the value was read."""
    return Record(
        **facts.known,
        noise=f"{facts.noise}; bits: {_bits_in_words(source)}",
        seeded=not source.is_private,
        timestamp=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _booked(record: Record) -> dict[str, object]:
    """What the books keep beside the event: the law of the noise, the theorems, the versions, and whether it counts."""
    return {
        "guarantee": guarantee_as_dict(record.guarantee),
        "noise": record.noise,
        "grade": record.grade,
        "theorems": record.theorems,
        "versions": record.versions,
        "seeded": record.seeded,
    }


def _bits_in_words(source: Bits) -> str:
    if type(source) is SystemBits:
        return "AES-256-CTR, fresh key from the operating system"
    if source.is_private:
        return f"{type(source).__name__}, which its maker declares private"
    return f"NOT PRIVATE, they follow from {source!r}"


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    return {"dperm": version("dperm"), "numpy": np.__version__, "python": platform.python_version()}
