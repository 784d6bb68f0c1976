# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Base class of all mechanisms and releases."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

from dperm.accounting.budget import Budget
from dperm.accounting.event import Event
from dperm.mechanisms.run import ReleaseFacts, prepare_release
from dperm.noise.bits import Bits, Stream
from dperm.noise.grade import Grade
from dperm.privacy import Adjacency, Release
from dperm.privacy.guarantee import AnyGuarantee

Raw = TypeVar("Raw")
Value = TypeVar("Value")


@dataclass(frozen=True)
class Law:
    """Noise distribution.

    Attributes
    ----------
    words
        Description of the distribution, as stored in the record of a release.
    family
        Name of the distribution without its rounding grid, such as "Gaussian noise"; ``words`` if there is no grid.
    grade
        "exact" or "fast": exact or floating-point draws.
    eta, tau
        Log-ratio and total variation distance between the sampled distribution and the distribution in the theorem. The
        event accounts for these two errors (T10e).
    """

    words: str
    grade: Grade = Grade.EXACT
    eta: float = 0.0
    tau: float = 0.0
    family: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        """Set ``family`` to ``words`` if it is empty, for distributions without a grid."""
        if not self.family:
            object.__setattr__(self, "family", self.words)

    @classmethod
    def on_grid(cls, family: str, exponent: int) -> "Law":
        """Return a distribution rounded to multiples of 2^exponent and sampled exactly."""
        return cls(f"{family}, drawn exactly from the distribution rounded to multiples of 2^{exponent}", family=family)

    def words_at(self, place: str) -> str:
        """Return the description with a place, such as "Gaussian noise on the coefficients, rounded ..."."""
        return noise_at(place, self.words, self.family)


def noise_at(place: str, words: str, family: str) -> str:
    """Return the description ``words`` of noise, with its place after the name of the distribution, ``family``."""
    return f"{family} {place}{words.removeprefix(family)}"


class Mechanism(ABC, Generic[Raw, Value]):
    """Base class of mechanisms, with public parameters, one accounting event, and a ``release`` method.

    A subclass is a frozen dataclass with a field ``goal``. The subclass defines its event, its noise distribution, the
    tags of its theorems, its public constants, and a method ``release`` that calls `_release`. The constructor checks
    all parameters and calibrates the noise before any data are read.

    Attributes
    ----------
    goal
        Guarantee of one release.

    Notes
    -----
    **Guarantees.** Each release satisfies ``goal`` and costs ``event`` (T10). The budget is checked before the data are
    read, and charged before noise is drawn. No parameter depends on the data.
    """

    goal: AnyGuarantee

    def __post_init__(self) -> None:
        """Check the parameters and calibrate the noise."""
        self._check_parameters()
        self.facts  # noqa: B018  # calibrates

    def _check_parameters(self) -> None:
        """Replace the fields of the dataclass with checked values; raise an error for invalid values."""

    def _set(self, **fields: object) -> None:
        """Set fields of the frozen dataclass; only for use during construction."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    @abstractmethod
    def event(self) -> Event:
        """Accounting event of one release."""

    @property
    @abstractmethod
    def law(self) -> Law:
        """Noise distribution, as stored in the record of a release."""

    @property
    @abstractmethod
    def theorems(self) -> tuple[str, ...]:
        """Tags of the theorems behind the guarantee."""

    @property
    @abstractmethod
    def public_constants(self) -> Mapping[str, object]:
        """Public constants in the record of a release."""

    @abstractmethod
    def _draw(self, raw: Raw, stream: Stream) -> Value:
        """Return the value to release from the checked private input and random bits."""

    @property
    def adjacency(self) -> Adjacency:
        """Neighbouring relation of the goal."""
        return self.goal.adjacency

    @cached_property
    def facts(self) -> ReleaseFacts:
        """Public facts of a release, known before any data are read."""
        return ReleaseFacts(
            goal=self.goal,
            event=self.event,
            noise=self.law.words,
            theorems=self.theorems,
            grade=self.law.grade,
            eta=self.law.eta,
            tau=self.law.tau,
            public=self.public_constants,
        )

    def _release(self, read: Callable[[], Raw], budget: Budget | None, bits: Bits | None) -> Release[Value]:
        """Check the budget, read the private input, charge, draw and commit."""
        return prepare_release(self.facts, read, budget=budget, bits=bits).release(self._draw)
