# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Worst-case audit subject for the private preparation of a table (T72-T74).

All cells of a column are equal, except under replace-one, where a second number occurs. Both numbers are frequent, so
that the preparation shows their counts in every run. One record then moves one or two counts of each column in both
releases, which attains their sensitivity. The likelihood ratio of the shown counts is that of two Gaussian releases.

These neighbours show no value that only one record holds. The threshold of values (T73) needs other tables; audit
those with `repeated`.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dperm.accounting import account
from dperm.audit.black_box.likelihood_ratio import SIMULATED_RUNS, simulated_coins, simulated_normal
from dperm.audit.black_box.sample import Progress, RunSample, Truths, report_progress
from dperm.audit.black_box.statistics import SimulatedThreshold, Statistic
from dperm.data.canonical import CanonicalColumn, canonical_column, number_text
from dperm.errors import AssumptionError
from dperm.noise.arrays import Floats
from dperm.noise.bits import Bits, SystemBits
from dperm.preparation.bins import bins_of
from dperm.preparation.plan import PreparationPlan, PrivateColumns
from dperm.preparation.prepared import PreparedTable
from dperm.preparation.values import NumericCells
from dperm.privacy import Adjacency
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.profile import PrivacyProfile

RECORD, OTHER = 1.0, 5.0
"""Cell of the record in every column, and that of the record in its place."""
CLEARANCE = 8.0
"""Standard deviations of noise between the frequent counts and the thresholds, so that all runs show the counts."""


@dataclass(frozen=True)
class PreparationSubject:
    """Preparation of a table of frequent numbers, with and without one record; see the module.

    Attributes
    ----------
    plan
        Plan of the preparation.
    bits
        Source of the noise.
    """

    plan: PreparationPlan
    bits: Bits = field(default_factory=SystemBits)

    def __post_init__(self) -> None:
        """Refuse a plan without a guarantee of its own."""
        if self.plan.goal is None:
            raise AssumptionError(
                "this plan is a stage of a larger release, and has no guarantee of its own.",
                remedy="Audit the whole release with repeated(train, with_record, without_record, claimed=...).",
            )

    @property
    def name(self) -> str:
        """Name for the report."""
        return "private preparation"

    @property
    def claimed(self) -> AnyGuarantee:
        """Guarantee of the preparation."""
        assert self.plan.goal is not None
        return self.plan.goal

    @property
    def profile(self) -> PrivacyProfile:
        """Privacy profile of the plan's event."""
        return account(self.plan.event, self.plan.adjacency)

    @property
    def facts(self) -> dict[str, object]:
        """Number of columns and of records, for the report."""
        return {"columns": self.plan.width, "frequent": self.frequent, "adjacency": self.plan.adjacency.value}

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """Likelihood ratio of the shown counts."""
        return (SimulatedThreshold("likelihood ratio of counts", lambda rows: rows[:, 0], self._simulated),)

    @property
    def frequent(self) -> int:
        """Number of other records with each number."""
        plan = self.plan
        shown = plan.profile_threshold + CLEARANCE * plan.profile_noise.scale
        return math.ceil(max(shown, plan.value_threshold + CLEARANCE * plan.value_noise.scale))

    @cached_property
    def tables(self) -> tuple[PrivateColumns, PrivateColumns]:
        """Private tables without and with the record."""
        rest = [RECORD] * self.frequent
        if self.plan.adjacency is Adjacency.ADD_REMOVE:
            return self._table(rest), self._table([*rest, RECORD])
        rest += [OTHER] * self.frequent
        return self._table([*rest, OTHER]), self._table([*rest, RECORD])

    def outputs(self, included: Truths, progress: Progress | None = None) -> Floats:
        """Return the log-likelihood ratio of the counts of each run.

        Parameters
        ----------
        included
            Boolean array with one entry for each run: True if the run includes the record, False if not.
        progress
            Callback that receives the completed fraction of the work, in (0, 1].

        Returns
        -------
        ndarray
            One row for each run.
        """
        rows = []
        for place, side in enumerate(included.tolist()):
            rows.append([self.log_ratio(self.plan.draw(self.tables[side], self.bits.stream()))])
            report_progress(progress, (place + 1) / len(included))
        return np.array(rows)

    def log_ratio(self, prepared: PreparedTable) -> float:
        """Return the log-likelihood ratio of released counts, with the record against without."""
        plan, total = self.plan, 0.0
        for name in plan.names:
            for number, sign in self._changes():
                (place,) = bins_of(canonical_column([number]))
                bin_count = prepared.profiles[name].counts.get(int(place), 0.0)
                total += sign * (bin_count - self._middle) / plan.profile_noise.scale**2
                total += sign * (self._value(prepared, name, number) - self._middle) / plan.value_noise.scale**2
        return total

    @property
    def _middle(self) -> float:
        return self.frequent + 0.5

    def _changes(self) -> Iterable[tuple[float, int]]:
        """Return the numbers whose counts the record changes, with the signs of the changes."""
        return [(RECORD, 1)] if self.plan.adjacency is Adjacency.ADD_REMOVE else [(RECORD, 1), (OTHER, -1)]

    @staticmethod
    def _value(prepared: PreparedTable, name: str, number: float) -> float:
        """Return the released count of a number, as a cell or as a value."""
        found = prepared.values[name]
        if isinstance(found, NumericCells):
            return float(found.counts[np.searchsorted(found.edges, number, side="right")])
        return found.counts.get(number_text(number), 0.0)

    def _table(self, cells: list[float]) -> PrivateColumns:
        column: CanonicalColumn = canonical_column(np.array(cells))
        return PrivateColumns.of(dict.fromkeys(self.plan.names, column))

    def _simulated(self) -> RunSample:
        """Return log-likelihood ratios of two ideal Gaussian releases."""
        plan, truths = self.plan, simulated_coins()
        moved = plan.width * len(list(self._changes()))
        squared = moved * (plan.profile_noise.scale**-2 + plan.value_noise.scale**-2)
        noise = simulated_normal("a rehearsal of a preparation", (SIMULATED_RUNS, 1))
        means = np.where(truths[:, np.newaxis], squared / 2, -squared / 2)
        return RunSample(means + math.sqrt(squared) * noise, truths)
