# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Schema of a table from released values: bins, categories, classes and the label range. Post-processing alone (T3)."""

import math
from collections.abc import Mapping

import numpy as np

from dperm.data.canonical import number_text
from dperm.data.columns import LARGEST, AnyColumn, Categorical, Numeric
from dperm.data.space import NARROWEST
from dperm.preparation.profile import ColumnProfile
from dperm.preparation.values import ColumnValues, NumericCells, TextValues

MOST_BINS = 12
"""Largest number of bins with an equal share of the records; tails may have more."""
CLEAR = 8.0
"""Standard deviations of noise above which a bin of a tail is kept on its own."""
SMALL = 0.01
"""Smallest share of the records in a bin of a tail."""
LARGEST_LABEL = 2.0**53
"""Magnitude from which numeric labels are kept as text."""
TAILS = (0.02, 0.98)
"""Quantiles that become the bounds of the scaled number."""


def declared_column(values: ColumnValues, deviation: float) -> AnyColumn | None:
    """Return the declaration of a feature column; None if nothing was found, so that it would be constant.

    Parameters
    ----------
    values
        Released values or histogram of the column.
    deviation
        Standard deviation of the noise in their counts.
    """
    if isinstance(values, TextValues):
        return Categorical(list(values.counts), other=True, missing=True, canonical=True) if values.counts else None
    return _numeric(values, deviation)


def _numeric(cells: NumericCells, deviation: float) -> AnyColumn | None:
    found = number_range(cells)
    if found is None:
        return None
    low, middle, high = found
    bins = merged_bins(cells, deviation)
    return Numeric(low, high, middle, bins=bins, missing=True, canonical=True)


def number_range(cells: NumericCells, tails: tuple[float, float] = TAILS) -> tuple[float, float, float] | None:
    """Return low, middle and high of a numeric column: two quantiles with the median; None without any range.

    Where both quantiles are equal, low and high are the ends of the visible cells.

    Parameters
    ----------
    cells
        Released histogram.
    tails
        Shares of the lower and of the upper quantile.
    """
    span = cells.span
    if span is None:
        return None
    low, high = (_bounded(cells.quantile(share)) for share in tails)
    if not high / 2 - low / 2 > 0:
        low, high = map(_bounded, span)
    if not high / 2 - low / 2 > 0:
        return None
    return low, min(max(_bounded(cells.quantile(0.5)), low), high), high


def scaled_column(values: ColumnValues) -> AnyColumn | None:
    """Return the declaration of a column of a wide table; None if nothing was found, so that it would be constant.

    A number x becomes (x - median) / spread, clipped to [-1, 1], and a missing number 0 (T76). The spread is the
    larger distance of the median from both quantiles of `TAILS`. Text has indicators as in `declared_column`.
    """
    if isinstance(values, TextValues):
        return declared_column(values, 0.0)
    found = number_range(values)
    if found is None:
        return None
    low, middle, high = found
    spread = max(high - middle, middle - low)
    ends = _bounded(middle - spread), _bounded(middle + spread)
    if not ends[1] / 2 - ends[0] / 2 > 0:
        return None
    return Numeric(*ends, canonical=True)


def merged_bins(cells: NumericCells, deviation: float, most: int = MOST_BINS) -> tuple[float, ...]:
    """Return cut points between bins of neighbouring cells, each with about 1/``most`` of the records.

    A smaller bin is kept where it stands out: at a tail, or before a large cell, with at least `CLEAR` standard
    deviations of noise and `SMALL` of the records.
    """
    counts, total = cells.counts, cells.total
    share = total / most
    small = max(CLEAR * deviation, SMALL * total)
    remaining = np.concatenate([np.cumsum(counts[::-1])[::-1], [0.0]])  # counts[i:].sum() at i
    cuts: list[float] = []
    held = 0.0
    for place in range(len(counts) - 1):
        held += counts[place]
        rest = remaining[place + 1]
        stands_out = held >= small and (counts[place + 1] > share or rest < 2 * share)
        if (held >= share or stands_out) and rest >= small:
            cuts.append(float(cells.edges[place]))
            held = 0.0
    return tuple(cuts)


def label_range(values: ColumnValues) -> tuple[float, float] | None:
    """Return the range of the visible cells of a numeric target; None if there is none, or it is too narrow."""
    span = values.span if isinstance(values, NumericCells) else None
    if span is None:
        return None
    low, high = map(_bounded, span)
    return (low, high) if high - low >= NARROWEST else None


def class_labels(values: ColumnValues, most: int) -> tuple[str | int | float, ...]:
    """Return the ``most`` most frequent released labels, sorted: numbers if all of them are numbers, otherwise text.

    Parameters
    ----------
    values
        Released values of the target.
    most
        Public upper limit on the number of classes (T70). Rarer ones are left out.
    """
    assert isinstance(values, TextValues)
    kept = list(values.counts)[:most]
    numbers = [_plain_number(text) for text in kept]
    if kept and None not in numbers:
        return tuple(sorted(number for number in numbers if number is not None))
    return tuple(sorted(kept))


def record_count(profiles: Mapping[str, ColumnProfile]) -> float:
    """Return an estimate of the number of records: the mean over columns of the profile's totals."""
    totals = [profile.total for profile in profiles.values()]
    return math.fsum(totals) / max(len(totals), 1)


def _plain_number(text: str) -> int | float | None:
    """Return the number whose canonical text this is; None for other texts, such as "1_0", and for large numbers."""
    try:
        number = float(text)
    except ValueError:
        return None
    if not abs(number) < LARGEST_LABEL or number_text(number) != text:
        return None
    return int(number) if number.is_integer() else number


def _bounded(value: float) -> float:
    return min(max(value, -LARGEST), LARGEST)
