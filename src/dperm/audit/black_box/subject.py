# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What is attacked: something that releases numbers, with or without one record, and claims a guarantee."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from dperm.audit.black_box.sample import Progress, Truths, told
from dperm.audit.black_box.statistics import Statistic
from dperm.noise.arrays import Floats
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.profile import PrivacyProfile


@runtime_checkable
class Subject(Protocol):
    """Two neighbouring data sets and whatever learns from them; the attacker sees one row of numbers for each run."""

    @property
    def name(self) -> str:
        """What it is, in words."""

    @property
    def claimed(self) -> AnyGuarantee | None:
        """The guarantee that it is said to have."""

    @property
    def profile(self) -> PrivacyProfile | None:
        """The whole curve that is claimed, where it is known."""

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """What to look at, unless the auditor says otherwise."""

    @property
    def facts(self) -> Mapping[str, object]:
        """Public numbers for the report: neighbours, sizes."""

    def outputs(self, included: Truths, progress: Progress | None = None) -> Floats:
        """One row of released numbers for each run; run i has the record iff ``included[i]``.

        Runs are independent of each other: fresh noise for each.
        """


@dataclass(frozen=True)
class Drawn:
    """A subject whose runs are drawn all at once by a function.

    Attributes
    ----------
    name
        What it is, in words.
    claimed
        The guarantee that it is said to have.
    draw
        From the coins to the outputs, one row for each run.
    statistics
        What to look at.
    profile
        The whole curve that is claimed, where it is known.
    facts
        Public numbers for the report.
    """

    name: str
    claimed: AnyGuarantee | None
    draw: Callable[[Truths], Floats]
    statistics: tuple[Statistic, ...]
    profile: PrivacyProfile | None = None
    facts: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def outputs(self, included: Truths, progress: Progress | None = None) -> Floats:
        """One row of released numbers for each run."""
        drawn = self.draw(included)
        told(progress)
        return drawn
