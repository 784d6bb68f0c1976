# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Second release of a preparation: values of text columns above a threshold, and cells of numeric columns (T73, T74).

Both kinds of columns share one Gaussian release: a record adds 1 to one count of each column. The profile, which is
released, decides the kind of a column and the cells of its numbers. Here a *cell* is an interval of numbers.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.canonical import CanonicalColumn
from dperm.data.schema import PLACEHOLDER
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.noise.bits import Stream
from dperm.preparation.bins import ABOVE_ZERO, ZERO, cell_edges
from dperm.preparation.profile import ColumnProfile

VISIBLE = 2.5
"""Standard deviations above which the count of a cell is taken as nonzero; no privacy rests on it."""


@dataclass(frozen=True)
class NumericCells:
    """Released histogram of a numeric column. Its intervals are called cells.

    Attributes
    ----------
    edges
        Edges of the cells, increasing. Cell i is [edges[i-1], edges[i]); the first and the last are unbounded.
    counts
        Noisy counts of the len(edges) + 1 cells, 0 where the noise dominates.
    """

    edges: Floats = field(repr=False)
    counts: Floats = field(repr=False)

    @property
    def total(self) -> float:
        """Noisy number of records in the visible cells."""
        return float(self.counts.sum())

    @property
    def span(self) -> tuple[float, float] | None:
        """Lower end of the first and upper end of the last visible bounded cell; None without a visible cell."""
        inner = self.counts[1:-1]
        visible = np.flatnonzero(inner > 0)
        if not len(visible):
            return None
        return float(self.edges[visible[0]]), float(self.edges[visible[-1] + 1])

    def quantile(self, share: float) -> float:
        """Return the quantile of the released counts at ``share``, linear within a cell; post-processing (T3).

        Exactly 0 if the cell of zero contains it. Requires a visible bounded cell.
        """
        inner = self.counts[1:-1]
        cumulated = np.concatenate([[0.0], np.cumsum(inner)]) / inner.sum()
        found = float(np.interp(share, cumulated, self.edges))
        return 0.0 if 0 <= found <= ABOVE_ZERO else found


@dataclass(frozen=True)
class TextValues:
    """Released values of a text column: those with a noisy count above the threshold, most frequent first.

    Attributes
    ----------
    counts
        Noisy counts by value.
    """

    counts: dict[str, float]


ColumnValues = NumericCells | TextValues


@dataclass(frozen=True)
class CountedColumn:
    """Exact counts of a column, which are **not private**.

    Attributes
    ----------
    counts
        Counts of the values, or of the cells of numbers.
    texts
        Values in alphabetical order; None for cells of numbers.
    """

    counts: Floats = field(repr=False)
    texts: list[str] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, counts: dict[str, int]) -> "CountedColumn":
        """Return the counts of values, in alphabetical order."""
        texts = sorted(counts)
        return cls(np.array([counts[text] for text in texts], dtype=np.float64), texts)


def number_edges(profile: ColumnProfile, deviation: float, *, per_cell: float, most_cells: int) -> Floats:
    """Return the edges of the cells of a numeric column, from its released profile alone (T74).

    A binade with noisy count c has 2^floor(log2(c / (per_cell deviation))) equal cells, at least 1 and at most
    ``most_cells``, so that a cell has about ``per_cell`` standard deviations of noise. Zero has a cell of its own.
    """
    edges: list[Floats] = []
    for place, count in profile.counts.items():
        if place < ZERO:
            continue
        share = max(count / (per_cell * deviation), 1.0)
        edges.append(cell_edges(place, min(most_cells, 2 ** math.floor(math.log2(share)))))
    return np.unique(np.concatenate(edges)) if edges else np.empty(0)


def noisy_values(
    columns: Iterable[CanonicalColumn | CountedColumn],
    edges: Sequence[Floats | None],
    mechanism: GaussianMechanism,
    *,
    threshold: float,
    stream: Stream,
) -> list[ColumnValues]:
    """Return the released values or cells of each column.

    Parameters
    ----------
    columns
        Private columns in canonical form, or their counts for these edges.
    edges
        Edges of the cells of a numeric column; None for a text column.
    mechanism
        Gaussian noise of the counts.
    threshold
        Values of text columns are shown if their noisy count is above it.
    stream
        Random bits of the release.

    Returns
    -------
    list of NumericCells or TextValues
        One entry for each column. All cells of numbers receive noise, empty ones included. Of the values of text
        columns, only those that occur receive noise, and only those above the threshold are shown (T73).
    """
    counted = [counted_column(column, cells) for column, cells in zip(columns, edges, strict=True)]
    sizes = [len(column.counts) for column in counted]
    total = np.concatenate([column.counts for column in counted]) if counted else np.empty(0)
    noisy = np.split(mechanism.noisy(total, stream), np.cumsum(sizes)[:-1])
    found: list[ColumnValues] = []
    for column, cells, values in zip(counted, edges, noisy, strict=True):
        if cells is None:
            found.append(_shown(column.texts or [], values, threshold))
        else:
            found.append(NumericCells(cells, np.where(values > VISIBLE * mechanism.scale, values, 0.0)))
    return found


def pooled_cells(
    columns: Iterable[CanonicalColumn], edges: Floats, mechanism: GaussianMechanism, stream: Stream
) -> NumericCells:
    """Return the released cells of all numbers of a table, regardless of the column (T72).

    Parameters
    ----------
    columns
        Private columns in canonical form.
    edges
        Edges of the cells, the same for all columns.
    mechanism
        Gaussian noise for `dperm.sensitivity.preparation.pooled_count_sensitivity`.
    stream
        Random bits of the release.
    """
    counts = np.zeros(len(edges) + 1)
    for column in columns:
        counts += counted_column(column, edges).counts
    noisy = mechanism.noisy(counts, stream)
    return NumericCells(edges, np.where(noisy > VISIBLE * mechanism.scale, noisy, 0.0))


def counted_column(column: CanonicalColumn | CountedColumn, edges: Floats | None) -> CountedColumn:
    """Return the exact counts of a column: of its values in alphabetical order, or of the cells of its numbers.

    The order does not depend on the order of the records, so neither does the noise that a value receives.
    """
    if isinstance(column, CountedColumn):
        return column
    if edges is None:
        codes, texts = column.values()
        counts = np.bincount(codes[codes >= 0], minlength=len(texts))
        return CountedColumn.of(dict(zip(texts, counts.tolist(), strict=True)))
    numbers = column.numbers[~np.isnan(column.numbers)]
    places = np.searchsorted(edges, numbers, side="right")
    return CountedColumn(np.bincount(places, minlength=len(edges) + 1).astype(np.float64))


def _shown(texts: list[str], noisy: Floats, threshold: float) -> TextValues:
    """Return the values above the threshold, sorted by noisy count: the order of ``texts`` is private."""
    above = [(float(noisy[place]), texts[place]) for place in np.flatnonzero(noisy > threshold).tolist()]
    # a schema file refuses the placeholder of drafts, so that it counts as an "other" value
    return TextValues({text: count for count, text in sorted(above, reverse=True) if text != PLACEHOLDER})
