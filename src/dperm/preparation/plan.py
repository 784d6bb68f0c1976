# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plan of a private preparation: noise, threshold and event, from column names and a budget (T70, T72-T75).

A plan reads no data. Its event has two Gaussian releases, or three with the row norms, and the threshold of values,
whatever the data are. The run chooses the queries: bins, intervals of numbers ("cells"), and values of text columns.
The queries may depend on earlier releases, because the noise does not (T70).
"""

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from dperm.accounting import ThresholdedValues, account
from dperm.accounting.budget import Budget
from dperm.accounting.event import Event
from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.canonical import CanonicalColumn, canonical_columns
from dperm.data.columns import AnyColumn
from dperm.data.encoder import PublicEncoder
from dperm.data.identity import same_text
from dperm.data.table_part import Rows, TablePart, joined_columns
from dperm.data.tables import raw_columns
from dperm.errors import AssumptionError, ConversionError, DataError, DpermWarning, ParameterError
from dperm.mechanisms.calibration import MOST_DIM
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.mechanisms.run import ReleaseFacts, release
from dperm.noise.bits import Bits, Stream
from dperm.preparation.bins import BINS
from dperm.preparation.prepared import Encoding, PreparedTable, TargetKind
from dperm.preparation.profile import bin_counts, noisy_profiles
from dperm.preparation.row_norms import (
    NORM_BINS,
    NORM_SHARE,
    noisy_norm_counts,
    norm_counts,
    norm_edges,
    row_norm_fact,
    row_norm_numbers,
)
from dperm.preparation.values import CountedColumn, noisy_values, number_edges
from dperm.presentation.facts import Fact
from dperm.presentation.spelling import arg
from dperm.privacy import GDP, Adjacency, ApproxDP, Release
from dperm.privacy.gaussian_profile import mu_for
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import lowered
from dperm.sensitivity.preparation import histogram_sensitivity, norm_histogram_sensitivity, normal_tail_point
from dperm.sensitivity.thresholds import discovery_threshold

PROFILE_SHARE = 0.3
"""Share of the profile in mu^2 of a preparation; the rest goes to values and cells (T90)."""
SCALED_PROFILE_SHARE = 0.5
"""The same where numbers are only scaled: the second release finds three quantiles of a column, and no bins (T76)."""
THRESHOLD_SHARE = 0.3
"""Share of delta for the threshold of values (T90)."""
FALSE_BINS = 0.01
"""Expected number of empty bins of a profile above its threshold."""
MOST_COLUMNS = 10_000
PER_CELL, MOST_CELLS = 8.0, 256
"""Standard deviations of noise in a cell of numbers, and the largest number of cells of a binade (T74)."""
SEEN_SHARE = 0.02
"""Share of records in `PreparationPlan.records_needed`."""
RANGE_RECORDS = (
    "About {records:,} records are needed to detect a range of values that contains 2 % of the records (T91)."
)
"""Sentence on `PreparationPlan.records_needed`."""
LEAST_RECORDS = 100 * math.sqrt(PROFILE_SHARE)
"""Standard deviations of the profile's noise in `PreparationPlan.least_records` (T91)."""


@dataclass(frozen=True, kw_only=True)
class PreparationPlan:
    """Public plan of a preparation.

    Attributes
    ----------
    columns
        Names of the feature columns to prepare.
    target, task
        Name of the target and its kind, if the preparation finds its classes or its range.
    declared
        Public declarations of further feature columns, by name. Declared columns cost no privacy.
    adjacency
        Neighbouring relation.
    mu
        Privacy loss of all Gaussian releases together, as mu of GDP.
    threshold_delta
        Bound on the probability that a value held by only one record is released, over all columns together (T73).
    most_classes
        Public upper limit on the number of classes (T70).
    encoding
        Encoding of the columns. If numbers are only scaled, a noisy histogram of the row norms is released too (T76).
    goal
        Guarantee of the preparation alone; None if it is a stage of a larger release.
    read_share
        Probability with which the preparation reads a record of the table; less than 1 where records are held out. All
        stated numbers of records count the whole table.
    """

    columns: tuple[str, ...]
    target: str | None = None
    task: TargetKind | None = None
    declared: Mapping[str, AnyColumn] = field(default_factory=dict, hash=False)
    adjacency: Adjacency
    mu: float
    threshold_delta: float
    most_classes: int = 100
    encoding: Encoding = Encoding.BINS
    goal: AnyGuarantee | None = None
    read_share: float = 1.0

    def __post_init__(self) -> None:
        """Check the names, and make the noise: everything follows from public numbers."""
        object.__setattr__(self, "columns", _names(self.columns, self.declared, self.target))
        self.event  # noqa: B018  # raises before any data are read

    @classmethod
    def for_goal(
        cls,
        columns: Sequence[str],
        goal: AnyGuarantee,
        *,
        target: str | None = None,
        task: TargetKind | None = None,
        declared: Mapping[str, AnyColumn] | None = None,
        most_classes: int = 100,
        encoding: Encoding = Encoding.BINS,
    ) -> "PreparationPlan":
        """Return the plan of a preparation that meets ``goal`` on its own.

        Parameters
        ----------
        columns
            Names of the feature columns to prepare.
        goal
            Guarantee to meet: ApproxDP with delta > 0.
        target, task, declared, most_classes, encoding
            See the attributes.

        Raises
        ------
        ConversionError
            If the goal is not (epsilon, delta)-DP with delta > 0. Values cannot be found under a pure guarantee (T73b).
        """
        require_delta(goal)
        assert isinstance(goal, ApproxDP)
        hidden = lowered(THRESHOLD_SHARE * goal.delta)
        mu = mu_for(goal.epsilon, lowered((goal.delta - hidden) / (1 - hidden)))
        for _ in range(20):  # the accountant's upper bound may exceed delta in the last digits
            plan = cls(
                columns=tuple(columns),
                target=target,
                task=task,
                declared=declared or {},
                adjacency=goal.adjacency,
                mu=mu,
                threshold_delta=hidden,
                most_classes=most_classes,
                encoding=encoding,
                goal=goal,
            )
            if account(plan.event, goal.adjacency).delta(goal.epsilon) <= goal.delta:
                return plan
            mu *= 1 - 1e-9
        raise AssumptionError("no noise near the exact one could be certified.", remedy="Give a larger epsilon.")

    @property
    def width(self) -> int:
        """Number d of prepared columns, the target included."""
        return len(self.columns) + (self.target is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all prepared columns, the target last."""
        return self.columns if self.target is None else (*self.columns, self.target)

    @property
    def _profile_share(self) -> float:
        """Share of the profile in mu^2 of the releases of counts."""
        return PROFILE_SHARE if self.encoding is Encoding.BINS else SCALED_PROFILE_SHARE

    @cached_property
    def profile_noise(self) -> GaussianMechanism:
        """Noise of the profile, the histograms of the columns over public bins (T72)."""
        return self._noise(self._profile_share, self.width * BINS)

    @cached_property
    def value_noise(self) -> GaussianMechanism:
        """Noise of the counts of text values and of number intervals (T73, T74).

        The number of different values in the data is private, so the grid of the noise is chosen for the largest
        supported number of counts. Counts are whole numbers, so they lie on the grid.
        """
        return self._noise(1 - self._profile_share, MOST_DIM)

    @cached_property
    def norm_noise(self) -> GaussianMechanism | None:
        """Noise of the histogram of row norms (T76); None if no such histogram is released."""
        if self.encoding is not Encoding.SCALED:
            return None
        goal = GDP(lowered(self.mu * math.sqrt(NORM_SHARE)), self.adjacency)
        return GaussianMechanism.calibrate(norm_histogram_sensitivity(self.adjacency), goal, dim=NORM_BINS)

    def _noise(self, share: float, dim: int) -> GaussianMechanism:
        share *= 1 - NORM_SHARE if self.encoding is Encoding.SCALED else 1
        goal = GDP(lowered(self.mu * math.sqrt(share)), self.adjacency)
        return GaussianMechanism.calibrate(histogram_sensitivity(self.width, self.adjacency), goal, dim=dim)

    @property
    def profile_threshold(self) -> float:
        """Noisy count above which a bin of the profile is used; about `FALSE_BINS` empty bins exceed it."""
        return self.profile_noise.scale * normal_tail_point(FALSE_BINS / (BINS * self.width))

    @cached_property
    def value_threshold(self) -> float:
        """Threshold tau of the event: noisy count above which a value may be shown (T73)."""
        return discovery_threshold(self.threshold_delta, self.value_noise.scale, self.width)

    @cached_property
    def event(self) -> Event:
        """Event of the whole preparation: profile, values above the threshold, number intervals, and row norms."""
        values = ThresholdedValues(self.value_noise.scale, self.value_threshold, self.width)
        counts = self.profile_noise.event + values
        return counts if self.norm_noise is None else counts + self.norm_noise.event

    @property
    def records_needed(self) -> int:
        """Smallest number of records at which a bin that holds 2 % of them is detected in the profile (T91)."""
        return self._in_the_table(profile_records_needed(self.profile_noise.scale))

    @property
    def category_records(self) -> int:
        """Number of records from which a category or class is released with probability at least 1/2 (T73).

        Coin flips choose Bin(m, p) of m records, p = ``read_share`` >= 1/2, so m p reaches the threshold. Tests compute
        the probability, noise and coin flips included (T91).
        """
        return self._in_the_table(math.ceil(self.value_threshold))

    @property
    def least_records(self) -> int:
        """Number of records below which public columns should be declared (T91).

        If the preparation has a quarter of mu^2 (T90), this is 200 sqrt(d)/mu under add/remove, and sqrt(2) times as
        many under replace-one.
        """
        return self._in_the_table(math.ceil(LEAST_RECORDS * self.profile_noise.scale))

    def _in_the_table(self, records: int) -> int:
        """Return the number of records of the table of which the preparation reads ``records`` on average."""
        return math.ceil(records / self.read_share)

    def warnings(self, n: int | None) -> tuple[Fact, ...]:
        """Return the warnings that follow from a public number of records, before any data are read.

        Parameters
        ----------
        n
            Public number of records; None if it is private, which gives no warning.
        """
        if n is None or n >= self.least_records:
            return ()
        return (
            Fact(
                "preparation.too_few_records",
                "{n:,} records are too few for a private preparation of {columns} columns{read}. With this guarantee, "
                "the preparation needs at least {least:,} records, and about {needed:,} to detect a range of values "
                "that contains 2 % of the records (T91). Declare the columns and labels whose bounds, categories or "
                "classes are public, leave columns out, or give a larger epsilon.",
                {
                    "n": n,
                    "columns": self.width,
                    "read": "" if self.read_share == 1 else f" that reads {100 * self.read_share:.3g} % of them",
                    "least": self.least_records,
                    "needed": about(self.records_needed),
                },
            ),
        )

    @property
    def why(self) -> tuple[Fact, ...]:
        """Consequences of the noise, computed from public numbers."""
        rows = () if self.norm_noise is None else (row_norm_fact(self.norm_noise),)
        held_out = (
            "preparation.read_share",
            "These numbers of records refer to the whole table, although the preparation reads each record only with "
            "probability {share:g}.",
            {"share": self.read_share},
        )
        return (
            Fact(
                "preparation.columns",
                "One guarantee covers the preparation of {columns} columns. The preparation finds their {found}.",
                {
                    "columns": self.width,
                    "found": "kinds, missing values, ranges, bins and categories (T72-T75)"
                    if self.norm_noise is None
                    else "kinds, medians, spreads and categories (T72-T74, T76)",
                },
            ),
            Fact(
                "preparation.category",
                "A category or class held by {records} records is released with probability at least 1/2 (T73). "
                "Categories that are not released share one feature.",
                {"records": self.category_records},
            ),
            Fact(
                "preparation.records",
                RANGE_RECORDS,
                {"records": about(self.records_needed)},
            ),
            *(() if self.read_share == 1 else (Fact(*held_out),)),
            *rows,
        )

    @property
    def public(self) -> dict[str, object]:
        """Public numbers of the plan, as stored in the record of a run."""
        return {
            "release": "preparation",
            "columns": list(self.columns),
            "target": self.target,
            "task": None if self.task is None else str(self.task),
            "declared": sorted(self.declared),
            "prepared_columns": self.width,
            "most_classes": self.most_classes,
            "profile_noise_standard_deviation": self.profile_noise.scale,
            "profile_threshold": self.profile_threshold,
            "value_noise_standard_deviation": self.value_noise.scale,
            "value_threshold": self.value_threshold,
            "threshold_delta": self.threshold_delta,
            **row_norm_numbers(self.norm_noise),
        }

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags of the theorems behind the guarantee."""
        norm = "T75" if self.norm_noise is None else "T76"
        return ("T70", "T72", "T73", "T74", norm, *self.profile_noise.facts.theorems)

    @property
    def noise(self) -> str:
        """Description of the noise."""
        return described_noise(self.profile_noise, self.value_noise, "values", self.norm_noise)

    @cached_property
    def facts(self) -> ReleaseFacts:
        """Public facts of the preparation as a separate release, known before data are read."""
        if self.goal is None:
            raise AssumptionError("this plan is a stage of a larger release, and is not run on its own.")
        return ReleaseFacts(
            goal=self.goal, event=self.event, noise=self.noise, theorems=self.theorems, public=self.public
        )

    def read(self, table: object, labels: object = None, rows: Rows | None = None) -> "PrivateColumns":
        """Return the columns to prepare, not copied, with the exact counts of the profile. Both are **not private**.

        Parameters
        ----------
        table
            Table with the columns, and with the target unless ``labels`` is given. Declared columns are read only where
            row norms are released.
        labels
            Column of the target.
        rows
            Places of the records to read; None reads all records, and requires at least one.

        Raises
        ------
        DataError
            If a column is missing, the lengths differ, or there is no record. Invalid cells do not raise an error.
        """
        names = self.names if labels is None or self.target is None else self.columns
        raw: Mapping[str, object] = dict(zip(names, raw_columns(table, names), strict=True))
        if labels is not None and self.target is not None:
            raw = {**raw, self.target: labels}
        others = self.declared if self.encoding is Encoding.SCALED else {}  # they are part of the row norms
        declared: Mapping[str, object] = dict(zip(others, raw_columns(table, others), strict=True))
        if rows is not None:
            return PrivateColumns.of(TablePart(raw, rows), TablePart(declared, rows))
        found = PrivateColumns.of(raw, declared)
        if not found.rows:
            raise DataError("the table must have at least one record.")
        return found

    def draw(self, private: "CountableColumns", stream: Stream) -> PreparedTable:
        """Return the released table: profile, values of text columns, and histograms of numbers.

        **Only this method combines private data with noise.** Noise is drawn for every bin of the profile and every
        interval of numbers. A value of a text column is released if its noisy count is above the threshold. The
        threshold is raised by one step of the grid, because the noise is rounded.
        """
        profiles = noisy_profiles(private.counts, self.profile_noise, threshold=self.profile_threshold, stream=stream)
        edges = [
            number_edges(profile, self.value_noise.scale, per_cell=PER_CELL, most_cells=MOST_CELLS)
            if self._is_number(name, profile.is_number)
            else None
            for name, profile in zip(self.names, profiles, strict=True)
        ]
        threshold = math.nextafter(self.value_threshold + self.value_noise.calibration.grid.step, math.inf)
        values = noisy_values(private.countable(edges), edges, self.value_noise, threshold=threshold, stream=stream)
        found = PreparedTable.of(
            dict(zip(self.names, profiles, strict=True)),
            dict(zip(self.names, values, strict=True)),
            declared=self.declared,
            deviation=self.value_noise.scale,
            target=self.target,
            task=self.task,
            most_classes=self.most_classes,
            encoding=self.encoding,
        )
        if self.norm_noise is None:
            return found
        counts = private.norm_counts(found.encoder, norm_edges(found.encoder.norm))
        return replace(found, rows=noisy_norm_counts(counts, found.encoder.norm, self.norm_noise, stream))

    def _is_number(self, name: str, by_majority: bool) -> bool:
        """Whether a column is read as numbers: by its profile, and for the target by the declared task."""
        return by_majority if name != self.target else self.task is TargetKind.REGRESSION

    def run(
        self, table: object, labels: object = None, budget: Budget | None = None, *, bits: Bits | None = None
    ) -> Release[PreparedTable]:
        """Prepare a private table: check the budget, read the table, charge the budget, draw noise, commit the charge.

        Parameters
        ----------
        table
            Private table.
        labels
            Column of the target; None if the table contains it.
        budget
            Budget to charge; None charges nothing.
        bits
            Source of randomness; ``NotPrivateBits(seed)`` makes the run reproducible and NOT PRIVATE.

        Returns
        -------
        Release
            The prepared table: schema, classes, label range and noisy counts.
        """
        return release(self.facts, lambda: self.read(table, labels), self.draw, budget=budget, bits=bits)


class CountableColumns(Protocol):
    """Private columns of a preparation, in memory or in row groups."""

    @property
    def counts(self) -> Floats:
        """Exact counts of the profile."""

    def countable(self, edges: Sequence[Floats | None]) -> Iterable[CanonicalColumn | CountedColumn]:
        """Return the columns, or their exact counts for these edges, as `noisy_values` reads them."""

    def norm_counts(self, encoder: PublicEncoder, edges: Floats) -> Floats:
        """Return the exact counts of the intervals of the norms of encoded rows."""


@dataclass(frozen=True)
class PrivateColumns:
    """Columns of a private table, read one at a time, so that no copy of the table is held.

    Attributes
    ----------
    raw
        Columns as the table holds them, by name.
    counts
        Exact counts of the profile.
    rows
        Number of records.
    declared
        Further columns, which are declared and not prepared.
    """

    raw: Mapping[str, object] = field(repr=False)
    counts: Floats = field(repr=False)
    rows: int = field(repr=False)
    declared: Mapping[str, object] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, raw: Mapping[str, object], declared: Mapping[str, object] | None = None) -> "PrivateColumns":
        """Count the bins of all columns, declared ones left out.

        Raises
        ------
        DataError
            If a column is not one-dimensional, or the lengths differ.
        """
        counts: list[Floats] = []
        lengths: set[int] = set()
        for column in canonical_columns(raw, raw):
            counts.append(bin_counts(column))
            lengths.add(len(column))
        rows = lengths.pop()
        return cls(raw, np.concatenate(counts), rows, declared or {})

    def columns(self) -> Iterator[CanonicalColumn]:
        """Yield the columns in canonical form."""
        return canonical_columns(self.raw, self.raw)

    def countable(self, edges: Sequence[Floats | None]) -> Iterator[CanonicalColumn]:
        """Yield the columns in canonical form; the counts of one column at a time need less memory."""
        return self.columns()

    def norm_counts(self, encoder: PublicEncoder, edges: Floats) -> Floats:
        """Return the exact counts of the intervals of the norms of encoded rows."""
        return norm_counts(encoder.row_norms(joined_columns(self.raw, self.declared), unseen="other"), edges)


def warn_few_records(plan: PreparationPlan, n: int | None, *, stacklevel: int) -> None:
    """Issue the warnings of a plan for a public number of records."""
    for fact in plan.warnings(n):
        warnings.warn(fact.describe(arg), DpermWarning, stacklevel=stacklevel + 1)


def described_noise(
    profile: GaussianMechanism, counts: GaussianMechanism, counted: str, norms: GaussianMechanism | None
) -> str:
    """Return the description of the noise of a preparation; ``counted`` names the counts of its second release."""
    parts = [profile.law.words_at("on the column profile"), counts.law.words_at(f"on the counts of {counted}")]
    return "; ".join(parts if norms is None else [*parts, norms.law.words_at("on the counts of row norms")])


def about(records: int) -> int:
    """Return a number of records rounded to two significant digits, for sentences."""
    return int(round(records, min(0, 2 - len(str(records)))))


def profile_records_needed(deviation: float) -> int:
    """Return the smallest number of records at which a bin that holds 2 % of them is detected in a profile (T91)."""
    return math.ceil(5.1 * deviation / SEEN_SHARE)


def require_delta(goal: AnyGuarantee) -> None:
    """Raise ConversionError unless the goal is (epsilon, delta)-DP with delta > 0 (T73b)."""
    if not isinstance(goal, ApproxDP) or goal.delta <= 0:
        raise ConversionError(
            "a private preparation needs an (epsilon, delta) guarantee with delta > 0: under a pure guarantee, values "
            f"that are not declared cannot be released (T73b), got {arg('goal', shown(goal))}.",
            remedy=f"Give {arg('delta', '1e-6')}, for example, or declare all columns.",
        )


def _names(columns: Sequence[str], declared: Mapping[str, AnyColumn], target: str | None) -> tuple[str, ...]:
    names = tuple(columns)
    for name in (*names, *declared, *([] if target is None else [target])):
        if not isinstance(name, str):
            raise ParameterError(argument="columns", rule="must be named by strings", got=shown(name))
    every = [*names, *declared, *([] if target is None else [target])]
    if len(set(map(same_text, every))) < len(every):
        raise ParameterError(
            argument="columns", rule="must be different columns, declared or prepared, and must not contain the target"
        )
    if not 1 <= len(names) + (target is not None) <= MOST_COLUMNS:
        rule = f"must name 1 to {MOST_COLUMNS:,} columns to prepare"
        raise ParameterError(argument="columns", rule=rule, got=str(len(names)))
    return names
