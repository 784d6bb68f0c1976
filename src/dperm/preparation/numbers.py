# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private preparation of tables of numbers: quantiles of the columns, and the norm of scaled rows (T72, T74, T76).

A plan reads no data. Its event has two Gaussian releases, or three with the norm of the rows, whatever the data are
(T70). Values of text are not released, so the event has no threshold. Text and infinities count as missing.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dperm import checks
from dperm.accounting.budget import Budget
from dperm.accounting.event import Event
from dperm.checks import shown
from dperm.data.columns import AnyColumn, Numeric
from dperm.data.encoder import PublicEncoder
from dperm.data.identity import same_text
from dperm.data.tables import raw_columns
from dperm.errors import AssumptionError, ParameterError
from dperm.mechanisms.calibration import MOST_DIM, covers
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.mechanisms.goal import checked_goal, gaussian_mu
from dperm.mechanisms.run import ReleaseFacts, release
from dperm.noise.bits import Bits, Stream
from dperm.preparation.bins import BINS
from dperm.preparation.plan import (
    FALSE_BINS,
    MOST_CELLS,
    MOST_COLUMNS,
    PER_CELL,
    RANGE_RECORDS,
    SCALED_PROFILE_SHARE,
    PrivateColumns,
    about,
    described_noise,
    profile_records_needed,
)
from dperm.preparation.profile import ColumnProfile, noisy_profiles
from dperm.preparation.row_norms import (
    NORM_BINS,
    NORM_SHARE,
    RowNorms,
    noisy_row_norms,
    row_norm_fact,
    row_norm_numbers,
)
from dperm.preparation.schema import number_range, scaled_column
from dperm.preparation.values import NumericCells, noisy_values, number_edges, pooled_cells
from dperm.presentation.facts import Fact
from dperm.privacy import GDP, Release
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import lowered
from dperm.sensitivity.preparation import (
    histogram_sensitivity,
    norm_histogram_sensitivity,
    normal_tail_point,
    pooled_count_sensitivity,
)

CERTIFICATIONS = 20
"""Attempts to certify the noise. The accountant's upper bound may exceed the goal in the last digits."""


@dataclass(frozen=True)
class PreparedNumbers:
    """Released facts about columns of numbers. All attributes are covered by the guarantee of the preparation.

    Attributes
    ----------
    columns
        Released histogram of each column (edges and noisy counts), by column name; the same for all columns if they
        were pooled.
    profiles
        Released profiles: one for each column, or a single one for all.
    records
        Noisy estimate of the number of records.
    rows
        Released histogram of the row norms, and the norm to which rows are scaled down; None if they were not released.
    """

    columns: Mapping[str, NumericCells] = field(repr=False)
    profiles: tuple[ColumnProfile, ...] = field(repr=False)
    records: float
    rows: RowNorms | None = None

    @cached_property
    def encoder(self) -> PublicEncoder:
        """Encoder of the columns as (x - median) / spread, clipped to [-1, 1]; columns without a range are left out."""
        return scaling_encoder(self.columns)

    def bounds(self, quantiles: tuple[float, float]) -> list[tuple[float, float] | None]:
        """Return the two quantiles of each column; None for a column in which no range was found.

        This is post-processing and costs no privacy.
        """
        found = [number_range(cells, quantiles) for cells in self.columns.values()]
        return [None if one is None else (one[0], one[2]) for one in found]

    def __repr__(self) -> str:
        """Return the released numbers as one line, from which the digest in a ledger is computed."""
        distinct = list({id(cells): cells for cells in self.columns.values()}.values())
        cells = [[found.edges.tolist(), found.counts.tolist()] for found in distinct]
        bins = [sorted(profile.counts.items()) for profile in self.profiles]
        rows = None if self.rows is None else [self.rows.norm, self.rows.counts.tolist()]
        return f"PreparedNumbers({json.dumps([list(self.columns), cells, bins, self.records, rows])})"


def scaling_encoder(columns: Mapping[str, NumericCells]) -> PublicEncoder:
    """Return the encoder of scaled numbers. If no column has a range, it has the first column, clipped to [-1, 1]."""
    declared = {name: scaled_column(cells) for name, cells in columns.items()}
    kept: dict[str, AnyColumn] = {name: column for name, column in declared.items() if column is not None}
    return PublicEncoder(kept or {next(iter(columns)): Numeric(-1.0, 1.0, canonical=True)})


@dataclass(frozen=True, kw_only=True)
class NumberPlan:
    """Public plan of a preparation of numbers.

    Attributes
    ----------
    columns
        Names of the columns.
    goal
        Guarantee of the preparation.
    mu
        Privacy loss of all Gaussian releases together, as mu of GDP.
    pooled
        Whether all columns share one histogram, because they have a common scale (T72).
    row_norm
        Whether a noisy histogram of the norms of the scaled rows is released too (T76).
    """

    columns: tuple[str, ...]
    goal: AnyGuarantee
    mu: float
    pooled: bool = False
    row_norm: bool = False

    @classmethod
    def for_goal(
        cls, columns: Sequence[str], goal: AnyGuarantee, *, pooled: bool = False, row_norm: bool = False
    ) -> "NumberPlan":
        """Return the plan of a preparation that meets ``goal``.

        Parameters
        ----------
        columns
            Names of the columns.
        goal
            Guarantee to meet: ApproxDP with delta > 0, GDP, ZCDP or RDP.
        pooled, row_norm
            See the attributes.

        Raises
        ------
        ConversionError
            If Gaussian noise cannot meet the goal.
        ParameterError
            If the names are not distinct strings.
        """
        names, goal = _names(columns), checked_goal(goal)
        pooled, row_norm = checks.truth("pooled", pooled), checks.truth("row_norm", row_norm)
        mu = gaussian_mu(goal)
        for _ in range(CERTIFICATIONS):
            plan = cls(columns=names, goal=goal, mu=mu, pooled=pooled, row_norm=row_norm)
            if covers(goal, plan.event):
                return plan
            mu *= 1 - 1e-9
        raise AssumptionError("no noise near the exact one could be certified.", remedy="Give a larger epsilon.")

    @property
    def width(self) -> int:
        """Number d of columns."""
        return len(self.columns)

    @property
    def histograms(self) -> int:
        """Number of released histograms in each of the first two releases."""
        return 1 if self.pooled else self.width

    @cached_property
    def profile_noise(self) -> GaussianMechanism:
        """Noise of the profile, the histograms over public bins (T72)."""
        return self._count_noise(SCALED_PROFILE_SHARE, self.histograms * BINS)

    @cached_property
    def value_noise(self) -> GaussianMechanism:
        """Noise of the counts of number intervals (T74)."""
        return self._count_noise(1 - SCALED_PROFILE_SHARE, MOST_DIM)  # the number of cells is a released number

    @cached_property
    def norm_noise(self) -> GaussianMechanism | None:
        """Noise of the histogram of row norms (T76); None if no histogram is released."""
        if not self.row_norm:
            return None
        goal = GDP(lowered(self.mu * math.sqrt(NORM_SHARE)), self.goal.adjacency)
        return GaussianMechanism.calibrate(norm_histogram_sensitivity(goal.adjacency), goal, dim=NORM_BINS)

    def _count_noise(self, share: float, dim: int) -> GaussianMechanism:
        share *= 1 - NORM_SHARE if self.row_norm else 1
        goal = GDP(lowered(self.mu * math.sqrt(share)), self.goal.adjacency)
        of = pooled_count_sensitivity if self.pooled else histogram_sensitivity
        return GaussianMechanism.calibrate(of(self.width, goal.adjacency), goal, dim=dim)

    @cached_property
    def event(self) -> Event:
        """Event of all releases."""
        counts = self.profile_noise.event + self.value_noise.event
        return counts if self.norm_noise is None else counts + self.norm_noise.event

    @property
    def profile_threshold(self) -> float:
        """Noisy count above which a bin of the profile is used; about `FALSE_BINS` empty bins exceed it."""
        return self.profile_noise.scale * normal_tail_point(FALSE_BINS / (BINS * self.histograms))

    @property
    def records_needed(self) -> int:
        """Smallest number of records at which a bin that holds 2 % of them is detected in the profile (T91)."""
        cells = self.width if self.pooled else 1
        return math.ceil(profile_records_needed(self.profile_noise.scale) / cells)

    @property
    def why(self) -> tuple[Fact, ...]:
        """Consequences of the noise, computed from public numbers."""
        counted = "one histogram of all cells" if self.pooled else "one histogram for each column"
        ranges = Fact(
            "numbers.columns",
            "{columns} columns of numbers are prepared under one guarantee, with {counted} (T72, T74).",
            {"columns": self.width, "counted": counted},
        )
        records = Fact(
            "preparation.records",
            RANGE_RECORDS,
            {"records": about(self.records_needed)},
        )
        if self.norm_noise is None:
            return ranges, records
        return ranges, records, row_norm_fact(self.norm_noise)

    @property
    def public(self) -> dict[str, object]:
        """Public numbers of the plan, as stored in the record of a run."""
        return {
            "release": "numbers",
            "columns": list(self.columns),
            "pooled": self.pooled,
            "profile_noise_standard_deviation": self.profile_noise.scale,
            "profile_threshold": self.profile_threshold,
            "value_noise_standard_deviation": self.value_noise.scale,
            **row_norm_numbers(self.norm_noise),
        }

    @cached_property
    def facts(self) -> ReleaseFacts:
        """Public facts of the release, known before data are read."""
        rows = () if self.norm_noise is None else ("T76",)
        return ReleaseFacts(
            goal=self.goal,
            event=self.event,
            noise=described_noise(self.profile_noise, self.value_noise, "intervals", self.norm_noise),
            theorems=("T70", "T72", "T74", *rows, *self.profile_noise.facts.theorems),
            public=self.public,
        )

    def read(self, table: object) -> PrivateColumns:
        """Return the columns, not copied, with the exact counts of the profile. Both are **not private**.

        Raises
        ------
        DataError
            If a column is missing, or the lengths differ. Invalid cells do not raise an error.
        """
        return PrivateColumns.of(dict(zip(self.columns, raw_columns(table, self.columns), strict=True)))

    def draw(self, private: PrivateColumns, stream: Stream) -> PreparedNumbers:
        """Return the released facts about the columns.

        **Only this method combines private data with noise.**
        """
        counts = private.counts.reshape(-1, BINS).sum(axis=0) if self.pooled else private.counts
        profiles = noisy_profiles(counts, self.profile_noise, threshold=self.profile_threshold, stream=stream)
        cells = dict(zip(self.columns, self._cells(private, profiles, stream), strict=True))
        totals = [profile.total / (self.width if self.pooled else 1) for profile in profiles]
        found = PreparedNumbers(cells, tuple(profiles), math.fsum(totals) / len(totals))
        if self.norm_noise is None:
            return found
        encoder = found.encoder
        rows = noisy_row_norms(encoder.row_norms(private.raw, unseen="other"), encoder.norm, self.norm_noise, stream)
        return PreparedNumbers(found.columns, found.profiles, found.records, rows)

    def _cells(
        self, private: PrivateColumns, profiles: Sequence[ColumnProfile], stream: Stream
    ) -> Iterator[NumericCells]:
        """Return the released cells of each column."""
        edges = [
            number_edges(profile, self.value_noise.scale, per_cell=PER_CELL, most_cells=MOST_CELLS)
            for profile in profiles
        ]
        if self.pooled:
            pooled = pooled_cells(private.columns(), edges[0], self.value_noise, stream)
            return iter([pooled] * self.width)
        found = noisy_values(private.columns(), edges, self.value_noise, threshold=np.inf, stream=stream)
        return (cells for cells in found if isinstance(cells, NumericCells))

    def run(self, table: object, budget: Budget | None = None, *, bits: Bits | None = None) -> Release[PreparedNumbers]:
        """Prepare a private table: check the budget, read the table, charge the budget, draw noise, commit the charge.

        Parameters
        ----------
        table
            Private table.
        budget
            Budget to charge; None charges nothing.
        bits
            Source of randomness; ``NotPrivateBits(seed)`` makes the run reproducible and NOT PRIVATE.
        """
        return release(self.facts, lambda: self.read(table), self.draw, budget=budget, bits=bits)

    def __str__(self) -> str:
        """Return the guarantee and the consequences, one per line."""
        return "\n".join([f"Plan for {self.goal}:", *(f"- {reason}" for reason in self.why)])


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    names = tuple(columns)
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise ParameterError(argument="columns", rule="must be named by strings", got=shown(wrong[0]))
    if len(set(map(same_text, names))) < len(names) or not 1 <= len(names) <= MOST_COLUMNS:
        rule = f"must be 1 to {MOST_COLUMNS:,} different columns"
        raise ParameterError(argument="columns", rule=rule, got=f"{len(names)} names")
    return names
