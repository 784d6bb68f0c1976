# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Audit subject: a training run or mechanism with or without one record, and its claimed guarantee."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from dperm.audit.black_box.sample import Progress, Truths, report_progress
from dperm.audit.black_box.statistics import Statistic
from dperm.noise.arrays import Floats
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.profile import PrivacyProfile


@runtime_checkable
class Subject(Protocol):
    """Protocol for an audit subject: a mechanism or training run on two neighbouring data sets.

    Each run uses the data set with the record or the one without it. The attacker sees one row of released numbers for
    each run.
    """

    @property
    def name(self) -> str:
        """Name of the subject for the report."""

    @property
    def claimed(self) -> AnyGuarantee | None:
        """Claimed guarantee of the subject; None if nothing is claimed."""

    @property
    def profile(self) -> PrivacyProfile | None:
        """Claimed privacy profile; None uses the profile of ``claimed``."""

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """Default statistics for an audit."""

    @property
    def facts(self) -> Mapping[str, object]:
        """Public facts for the report, such as the dimension and the neighbouring data sets."""

    def outputs(self, included: Truths, progress: Progress | None = None) -> Floats:
        """Carry out all runs, and return their released numbers.

        The runs are independent, and each run draws fresh noise.

        Parameters
        ----------
        included
            Boolean array with one entry for each run: True if the run includes the record, False if not.
        progress
            Callback that receives the completed fraction of the work, in (0, 1].

        Returns
        -------
        ndarray
            Released numbers of one run in each row.
        """


@dataclass(frozen=True)
class BatchSubject:
    """Audit subject with a function that simulates all runs at once.

    Attributes
    ----------
    name
        Name for the report.
    claimed
        Claimed guarantee; None if nothing is claimed.
    draw
        Function that simulates the runs. Its argument is a boolean array with one entry for each run: True if the run
        includes the record, False if not. It returns an array with the outputs of one run in each row.
    statistics
        Default statistics for an audit.
    profile
        Claimed privacy profile; None uses the profile of ``claimed``.
    facts
        Public facts for the report.
    """

    name: str
    claimed: AnyGuarantee | None
    draw: Callable[[Truths], Floats]
    statistics: tuple[Statistic, ...]
    profile: PrivacyProfile | None = None
    facts: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def outputs(self, included: Truths, progress: Progress | None = None) -> Floats:
        """Simulate all runs, and return their released numbers.

        Parameters
        ----------
        included
            Boolean array with one entry for each run: True if the run includes the record, False if not.
        progress
            Callback that receives the completed fraction of the work, in (0, 1].

        Returns
        -------
        ndarray
            Released numbers of one run in each row.
        """
        drawn = self.draw(included)
        report_progress(progress)
        return drawn
