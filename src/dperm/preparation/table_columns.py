# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Columns of a table in row groups, counted in one pass for each release of a preparation (T72-T74, T76, T203).

All statistics of a preparation are whole numbers: counts of bins, of values, of intervals of numbers, and of row norms.
They are functions of single records, so their sums over row groups are those of the same records in memory. Counts of
values need a dictionary of the distinct values, so memory grows with them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats
from dperm.data.columns import AnyColumn
from dperm.data.encoder import PublicEncoder
from dperm.data.raw_passes import RAW, ChosenRows, Columns, RawPasses
from dperm.preparation.bins import BINS
from dperm.preparation.profile import bin_counts
from dperm.preparation.row_norms import norm_counts
from dperm.preparation.values import CountedColumn, counted_column

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class SparseCounts:
    """Counts of few of many bins, by bin number.

    Attributes
    ----------
    places
        Numbers of the bins, in ascending order.
    counts
        Counts of these bins.
    """

    places: Integers
    counts: Integers

    @classmethod
    def of(cls, counts: Floats) -> "SparseCounts":
        """Return the counts that are not 0."""
        places = np.flatnonzero(counts).astype(np.int64)
        return cls(places, counts[places].astype(np.int64))

    def __add__(self, other: "SparseCounts") -> "SparseCounts":
        """Return the sum of both, bin by bin."""
        places, index = np.unique(np.concatenate([self.places, other.places]), return_inverse=True)
        counts = np.zeros(len(places), np.int64)
        np.add.at(counts, index, np.concatenate([self.counts, other.counts]))
        return SparseCounts(places, counts)

    def dense(self, size: int) -> Floats:
        """Return the counts of all ``size`` bins."""
        found = np.zeros(size)
        found[self.places] = self.counts
        return found


@dataclass(frozen=True)
class BinCounter:
    """Function of records: counts of the bins of the profile (T72).

    Attributes
    ----------
    names
        Names of the columns, in the order of the profile.
    """

    names: tuple[str, ...]

    def __call__(self, columns: Columns) -> SparseCounts:
        """Return the counts of all columns, one after the other."""
        return SparseCounts.of(np.concatenate([bin_counts(columns[name]) for name in self.names]))


@dataclass(frozen=True)
class ValueCounter:
    """Function of records: counts of text values and of intervals of numbers (T73, T74).

    Attributes
    ----------
    edges
        Edges of the intervals of each column, by its name; None for a text column.
    """

    edges: Mapping[str, Floats | None]

    def __call__(self, columns: Columns) -> "ValueCounts":
        """Return the counts of each column."""
        return ValueCounts([_values(counted_column(columns[name], edges)) for name, edges in self.edges.items()])


@dataclass(frozen=True)
class ValueCounts:
    """Counts of the values of each column: by value, or one for each interval."""

    columns: list[dict[str, int] | Integers]

    def __add__(self, other: "ValueCounts") -> "ValueCounts":
        """Return the sum of both, value by value."""
        return ValueCounts([_sum(one, more) for one, more in zip(self.columns, other.columns, strict=True)])


@dataclass(frozen=True)
class NormCounter:
    """Function of records: counts of the intervals of row norms (T76).

    Attributes
    ----------
    encoder
        Released encoder.
    edges
        Edges of the intervals.
    """

    encoder: PublicEncoder
    edges: Floats

    def __call__(self, columns: Columns) -> Integers:
        """Return the counts of the intervals."""
        return norm_counts(self.encoder.row_norms(columns, unseen="other"), self.edges).astype(np.int64)


@dataclass(frozen=True)
class GroupedColumns:
    """Columns of a table in row groups with the exact counts of their profile, both **not private**.

    Attributes
    ----------
    passes
        Passes over the table.
    names
        Names of the columns to prepare.
    counts
        Exact counts of the profile.
    chosen
        Rows to read; None for all rows.
    """

    passes: RawPasses = field(repr=False)
    names: tuple[str, ...]
    counts: Floats = field(repr=False)
    chosen: ChosenRows | None = field(default=None, repr=False)

    @classmethod
    def of(cls, passes: RawPasses, names: Sequence[str], chosen: ChosenRows | None = None) -> "GroupedColumns":
        """Count the bins of all columns, in one pass."""
        counter = BinCounter(tuple(names))
        reader = passes.reader(raw_columns_of(names), chosen=chosen)
        return cls.counted(passes, names, passes.run(counter, reader, add=add), chosen)

    @classmethod
    def counted(
        cls, passes: RawPasses, names: Sequence[str], counts: SparseCounts | None, chosen: ChosenRows | None = None
    ) -> "GroupedColumns":
        """Return the columns with counts of their bins; None for those of no records."""
        size = BINS * len(names)
        return cls(passes, tuple(names), np.zeros(size) if counts is None else counts.dense(size), chosen)

    def countable(self, edges: Sequence[Floats | None]) -> Iterable[CountedColumn]:
        """Return the counts of each column, in one pass; see `dperm.preparation.values.noisy_values`."""
        counter = ValueCounter(dict(zip(self.names, edges, strict=True)))
        reader = self.passes.reader(raw_columns_of(self.names), chosen=self.chosen)
        found: ValueCounts | None = self.passes.run(counter, reader, add=add)
        if found is None:  # no records
            found = ValueCounts([{} if cells is None else np.zeros(len(cells) + 1, np.int64) for cells in edges])
        return [
            CountedColumn.of(counts) if isinstance(counts, dict) else CountedColumn(counts.astype(np.float64))
            for counts in found.columns
        ]

    def norm_counts(self, encoder: PublicEncoder, edges: Floats) -> Floats:
        """Return the exact counts of the intervals of row norms, in one pass."""
        reader = self.passes.reader(encoder.columns, chosen=self.chosen)
        found: Integers | None = self.passes.run(NormCounter(encoder, edges), reader, add=add)
        return np.zeros(len(edges) - 1) if found is None else found.astype(np.float64)


def raw_columns_of(names: Iterable[str]) -> dict[str, AnyColumn]:
    """Return declarations of columns that are read in canonical form."""
    return dict.fromkeys(names, RAW)


def _values(column: CountedColumn) -> dict[str, int] | Integers:
    counts = column.counts.astype(np.int64)
    if column.texts is None:
        return counts
    return {text: count for text, count in zip(column.texts, counts.tolist(), strict=True) if count}


def _sum(one: dict[str, int] | Integers, more: dict[str, int] | Integers) -> dict[str, int] | Integers:
    if isinstance(one, dict) and isinstance(more, dict):
        large, small = (one, more) if len(one) >= len(more) else (more, one)
        return {**large, **{text: large.get(text, 0) + count for text, count in small.items()}}
    assert isinstance(one, np.ndarray) and isinstance(more, np.ndarray)
    return one + more
