# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Codes of the terms of an additive model: public tables whose rows have norm at most 1 (T96).

A term has public points: nodes or cells of a number, its special values and missing values, categories, or pairs of
these. The table of its code has one row for each point. A record lies at one point, or between two neighbouring nodes
of a number, and its code is the mean of the two rows with the shares of the record. So the effect of a term is known at
every value of its columns from one number for each point, the table times the coefficients of the term.

Only the products of rows matter for the law of the released effect (T94), so a table may be replaced by any other with
the same products.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np

from dperm.checks import shown
from dperm.data.arrays import Floats, Mask
from dperm.data.columns import (
    DEFAULT_CELLS,
    MOST_EXACT,
    AnyColumn,
    Categorical,
    Numeric,
    Places,
    Unseen,
    read_numbers,
)
from dperm.data.tables import Column
from dperm.errors import ParameterError

HARMONICS = 16
"""Number of frequencies of a smooth code."""
LONG, SHORT, SHORT_SHARE = 0.2, 0.05, 0.3
"""Two length scales of smooth effects, as fractions of the range, and the share of the shorter one."""
STEPS = 512
"""Number of steps between the nodes of a number without detail."""
PAIR_CELLS = 24
"""Number of cells of a number in a pair."""
PAIR_WEIGHT = 3.0
"""Weight of a pair beside columns of weight 1."""
MOST_ENTRIES = 2**24
"""Largest number of entries of a table: 128 MB."""
SHRINK = 1 - 2.0**-44
"""Factor of smooth rows. It covers the rounding of their entries, so that the stored row has norm at most 1 (T96)."""
JITTER = 2.0**-12
"""Share of independent cells in the smooth code of a pair. It keeps the triangular factor of its kernel accurate."""


@dataclass(frozen=True, eq=False)
class TermPlaces:
    """Place of each record among the points of a term; private.

    A quantity with value v at the points has the value (1 - share) v[first] + share v[second] in a record.

    Attributes
    ----------
    first, second
        Indices of one or two points. They are equal if the record lies at a point.
    share
        Share of the second point, in [0, 1].
    """

    first: Places
    second: Places
    share: Floats

    @classmethod
    def at(cls, points: Places) -> "TermPlaces":
        """Return places at single points."""
        return cls(points, points, np.broadcast_to(np.float64(0), points.shape))  # without memory for each

    def __len__(self) -> int:
        return len(self.first)

    def part(self, start: int, stop: int) -> "TermPlaces":
        """Return the places of the records from ``start`` to before ``stop``."""
        return TermPlaces(self.first[start:stop], self.second[start:stop], self.share[start:stop])

    def mean_of(self, values: Floats) -> Floats:
        """Return the value of each record, from the values or rows at the points.

        Parameters
        ----------
        values
            Array whose first axis has one entry for each point.
        """
        found: Floats = values[self.first]
        if self.share.any():
            share = self.share.reshape(-1, *(1,) * (values.ndim - 1))
            found = (1 - share) * found + share * values[self.second]
        return found


class TermCode(Protocol):
    """Public code of one term, built from declarations alone."""

    @property
    def name(self) -> str:
        """Name of the term: that of its column, or "a x b" for a pair."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the term reads."""

    @property
    def width(self) -> int:
        """Number of features."""

    @property
    def weight(self) -> float:
        """Declared relative weight."""

    @property
    def table(self) -> Floats:
        """Code at every point, of shape (points, width). Each row has norm at most 1 in exact arithmetic (T96)."""

    @property
    def labels(self) -> tuple[str, ...]:
        """One text for each point: a number, an interval, a category, "(other)" or "(missing)"."""

    @property
    def ordinary(self) -> Mask:
        """Whether each point is on the grid or a declared category; special, missing and other points are not."""

    def places(self, columns: Mapping[str, Column], unseen: Unseen) -> TermPlaces:
        """Return the place of each record.

        Parameters
        ----------
        columns
            Values of the columns by name.
        unseen
            "raise" raises DataError for text in a column of numbers, and for values whose type differs from that of
            the categories. With "other", the former are missing values, and the latter other categories.
        """

    def feature_names(self) -> tuple[str, ...]:
        """Return one name for each feature."""


@dataclass(frozen=True)
class NumberCode:
    """Code of a number: a smooth spectrum, with cells if ``detail`` is declared, special and missing values.

    The place t in [0, 1] of a number is `Numeric.scaled`. The smooth code has the entries a_k cos(pi k t) and
    a_k sin(pi k t) with squares a_k^2 that sum to 1. They mix two Gaussian spectra of lengths .2 and .05. With
    ``period``, only even k remain, so that t = 0 and t = 1 have one code.

    Attributes
    ----------
    name
        Name of the column.
    column
        Checked declaration.
    """

    name: str
    column: Numeric

    def __post_init__(self) -> None:
        """Check the size of the table."""
        _require_size(self.name, self.regular + len(self.extra), self.width)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column itself."""
        return (self.name,)

    @property
    def weight(self) -> float:
        """Declared relative weight."""
        return self.column.weight

    @property
    def cells(self) -> int:
        """Number of cells of a step function; 0 without detail."""
        if not self.column.detail:
            return 0
        return self.column.bins if isinstance(self.column.bins, int) else DEFAULT_CELLS

    @property
    def regular(self) -> int:
        """Number of points on the grid: cells, or nodes."""
        return self.cells or STEPS + 1

    @property
    def extra(self) -> tuple[str, ...]:
        """Labels of the points after the grid: special values, and missing values unless they are imputed."""
        gaps = ("(missing)",) if self.column.impute is None else ()
        return (*map(_exact_text, self.column.special), *gaps)

    @property
    def width(self) -> int:
        """Number of features: harmonics, cells, and one for each other point."""
        return len(_frequencies(self.column)) * 2 + self.cells + len(self.extra)

    @property
    def grid(self) -> Floats:
        """Number at each node, or at the center of each cell."""
        t = (np.arange(self.cells) + 0.5) / self.cells if self.cells else np.arange(STEPS + 1) / STEPS
        return self.column.unscaled(t)

    @property
    def edges(self) -> Floats:
        """Edges of the cells, one more than there are cells; empty without detail."""
        return self.column.unscaled(np.arange(self.cells + 1) / self.cells) if self.cells else np.empty(0)

    @cached_property
    def table(self) -> Floats:
        """Code at every node or cell, special value and missing values."""
        if self.cells:
            smooth = _smooth(2 * np.arange(self.cells) + 1, 2 * self.cells, self.column)
            detail = self.column.detail
            parts = [smooth * math.sqrt(1 - detail), np.eye(self.cells) * (math.sqrt(detail) * SHRINK)]
            return _read_only(_with_points(np.hstack(parts), len(self.extra)))
        return _read_only(_with_points(_smooth(np.arange(STEPS + 1), STEPS, self.column), len(self.extra)))

    @property
    def labels(self) -> tuple[str, ...]:
        """Numbers of the nodes, or intervals of the cells, then special values and "(missing)"."""
        if self.cells:
            ends = [_number_text(edge) for edge in self.edges.tolist()]
            grid = [f"{low} to {high}" for low, high in pairwise(ends)]
        else:
            grid = [_number_text(number) for number in self.grid.tolist()]
        return (*grid, *self.extra)

    @property
    def ordinary(self) -> Mask:
        """Whether each point is on the grid."""
        return _first_points(self.regular, len(self.extra))

    def places(self, columns: Mapping[str, Column], unseen: Unseen) -> TermPlaces:
        """Return the place of each record; see `TermCode.places`."""
        t, points = _number_places(self.name, self.column, columns[self.name], unseen)
        on_grid = points < 0
        if self.cells:
            cell = np.minimum((t * self.cells).astype(np.intp), self.cells - 1)
            return TermPlaces.at(np.where(on_grid, cell, self.cells + points))
        place = t * STEPS
        node = np.minimum(place.astype(np.intp), STEPS - 1)
        first = np.where(on_grid, node, STEPS + 1 + points)
        return TermPlaces(first, np.where(on_grid, node + 1, first), np.where(on_grid, place - node, 0.0))

    def feature_names(self) -> tuple[str, ...]:
        """Return names of harmonics, cells, special values and missing values."""
        frequencies = _frequencies(self.column).tolist()
        waves = [f"{self.name}: {wave} {k}" for wave in ("cos", "sin") for k in frequencies]
        cells = [f"{self.name}: cell {cell + 1}" for cell in range(self.cells)]
        return (*waves, *cells, *(f"{self.name}={label}" for label in self.extra))


@dataclass(frozen=True)
class CategoryCode:
    """Code of a column of categories: an indicator for each, and one for all other and missing values.

    Two categories have a single feature, -1 for the first and 1 for the second, and 0 for all other values.

    Attributes
    ----------
    name
        Name of the column.
    column
        Checked declaration.
    """

    name: str
    column: Categorical

    def __post_init__(self) -> None:
        """Check the size of the table."""
        _require_size(self.name, len(self.labels), self.width)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column itself."""
        return (self.name,)

    @property
    def weight(self) -> float:
        """Declared relative weight."""
        return self.column.weight

    @property
    def width(self) -> int:
        """Number of features."""
        declared = len(self.column.categories)
        return 1 if declared == 2 else declared + 1

    @cached_property
    def table(self) -> Floats:
        """Code of each category and of all other values."""
        if len(self.column.categories) == 2:
            return _read_only(np.array([[-1.0], [1.0], [0.0]]))
        return _read_only(np.eye(self.width))

    @property
    def labels(self) -> tuple[str, ...]:
        """Texts of the categories, and "(other)"."""
        return (*map(str, self.column.categories), "(other)")

    @property
    def ordinary(self) -> Mask:
        """Whether each point is a declared category; all points if none is declared."""
        return _first_points(len(self.column.categories), 1)

    def places(self, columns: Mapping[str, Column], unseen: Unseen) -> TermPlaces:
        """Return the place of each record; see `TermCode.places`."""
        return TermPlaces.at(_category_places(self.name, self.column, columns[self.name], unseen))

    def feature_names(self) -> tuple[str, ...]:
        """Return one name for each indicator."""
        if len(self.column.categories) == 2:
            return (f"{self.name}={self.column.categories[1]}",)
        return tuple(f"{self.name}={label}" for label in self.labels)


@dataclass(frozen=True)
class CoarseCode:
    """Code of a column within a pair: 24 cells of a number, or an indicator for each category.

    Attributes
    ----------
    name
        Name of the column.
    column
        Checked declaration; ``detail`` has no effect.
    """

    name: str
    column: AnyColumn

    @property
    def width(self) -> int:
        """Number of features."""
        if isinstance(self.column, Categorical):
            return len(self.column.categories) + 1
        return min(2 * len(_frequencies(self.column)), PAIR_CELLS) + len(NumberCode(self.name, self.column).extra)

    @property
    def labels(self) -> tuple[str, ...]:
        """One text for each point."""
        if isinstance(self.column, Categorical):
            return CategoryCode(self.name, self.column).labels
        ends = [_number_text(edge) for edge in self.edges.tolist()]
        grid = (f"{low} to {high}" for low, high in pairwise(ends))
        return (*grid, *NumberCode(self.name, self.column).extra)

    @property
    def edges(self) -> Floats:
        """Edges of the cells of a number; empty for categories."""
        if isinstance(self.column, Categorical):
            return np.empty(0)
        return self.column.unscaled(np.arange(PAIR_CELLS + 1) / PAIR_CELLS)

    @property
    def ordinary(self) -> Mask:
        """Whether each point is a cell or a declared category."""
        if isinstance(self.column, Categorical):
            return CategoryCode(self.name, self.column).ordinary
        return _first_points(PAIR_CELLS, len(NumberCode(self.name, self.column).extra))

    @cached_property
    def table(self) -> Floats:
        """Code of each point, with rows of norm at most 1."""
        if isinstance(self.column, Categorical):
            return _read_only(np.eye(len(self.column.categories) + 1))
        extra = len(NumberCode(self.name, self.column).extra)
        smooth = _smooth(2 * np.arange(PAIR_CELLS) + 1, 2 * PAIR_CELLS, self.column)
        return _read_only(_with_points(_root(smooth) if smooth.shape[1] > PAIR_CELLS else smooth, extra))

    def places(self, columns: Mapping[str, Column], unseen: Unseen) -> Places:
        """Return the point of each record."""
        values = columns[self.name]
        if isinstance(self.column, Categorical):
            return _category_places(self.name, self.column, values, unseen)
        t, points = _number_places(self.name, self.column, values, unseen)
        cell = np.minimum((t * PAIR_CELLS).astype(np.intp), PAIR_CELLS - 1)
        return np.where(points < 0, cell, PAIR_CELLS + points)


@dataclass(frozen=True)
class PairCode:
    """Code of two columns together: all products of an entry of one coarse code with an entry of the other.

    The point of the pair at point i of the first column and j of the second has the index i * m + j, where m is the
    number of points of the second.

    Attributes
    ----------
    first, second
        Coarse codes of the columns.
    """

    first: CoarseCode
    second: CoarseCode

    def __post_init__(self) -> None:
        """Check the size of the table before it is built."""
        points = len(self.first.labels) * len(self.second.labels)
        _require_size(self.name, points, self.width)

    @property
    def name(self) -> str:
        """Names of both columns, as in "hour x workingday"."""
        return f"{self.first.name} x {self.second.name}"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of both columns."""
        return (self.first.name, self.second.name)

    @property
    def width(self) -> int:
        """Number of features: the product of those of the two codes."""
        return self.first.width * self.second.width

    @property
    def weight(self) -> float:
        """Weight of a pair, the same for all."""
        return PAIR_WEIGHT

    @cached_property
    def table(self) -> Floats:
        """Kronecker product of the two tables."""
        # Each entry is one rounded product; indicators are exact, and smooth rows have a margin.
        return _read_only(np.asarray(np.kron(self.first.table, self.second.table), dtype=np.float64))

    @property
    def labels(self) -> tuple[str, ...]:
        """Both texts of each point, as in "8 to 9, yes"."""
        return tuple(f"{one}, {other}" for one in self.first.labels for other in self.second.labels)

    @property
    def ordinary(self) -> Mask:
        """Whether both points are ordinary."""
        return np.outer(self.first.ordinary, self.second.ordinary).ravel()

    def places(self, columns: Mapping[str, Column], unseen: Unseen) -> TermPlaces:
        """Return the place of each record; see `TermCode.places`."""
        first, second = (code.places(columns, unseen) for code in (self.first, self.second))
        return TermPlaces.at(first * len(self.second.table) + second)

    def feature_names(self) -> tuple[str, ...]:
        """Return numbered names: single features of a pair have no meaning of their own."""
        return tuple(f"{self.name}: {place + 1}" for place in range(self.width))


def single_code(name: str, column: AnyColumn) -> NumberCode | CategoryCode:
    """Return the code of one column.

    Parameters
    ----------
    name
        Name of the column.
    column
        Checked declaration.
    """
    return NumberCode(name, column) if isinstance(column, Numeric) else CategoryCode(name, column)


def spectrum() -> Floats:
    """Return the squares a_k^2 of a smooth code for k = 1, ..., 16; they sum to 1."""
    k = np.arange(1, HARMONICS + 1)
    long, short = (np.exp(-((math.pi * k * length) ** 2) / 2) for length in (LONG, SHORT))
    return np.asarray((1 - SHORT_SHARE) * long / long.sum() + SHORT_SHARE * short / short.sum())


def _frequencies(column: Numeric) -> Places:
    step = 1 if column.period is None else 2
    return np.arange(step, HARMONICS + 1, step)


def _smooth(numerators: Places, denominator: int, column: Numeric) -> Floats:
    """Return the smooth code at t = numerators / denominator."""
    k = _frequencies(column)
    squares = spectrum()[k - 1]
    amplitudes = np.sqrt(squares / squares.sum()) * SHRINK
    # The angle is reduced in integers, so that points a whole period apart have the same bits.
    angles = (math.pi / denominator) * (np.outer(numerators, k) % (2 * denominator))
    return np.hstack([amplitudes * np.cos(angles), amplitudes * np.sin(angles)])


def _root(smooth: Floats) -> Floats:
    """Return a triangular code of as many features as points, with the products of rows of a smooth code.

    The law of a released effect depends on these products alone (T94). A number in a pair has 24 features instead of
    32, and a pair of numbers 576 instead of 1,024.
    """
    points = len(smooth)
    kernel = (1 - JITTER) * (smooth @ smooth.T) + JITTER * np.eye(points)
    return _cholesky(kernel) * SHRINK


def _cholesky(kernel: Floats) -> Floats:
    """Return the lower triangular factor. It is unique, and exact sums make its digits those of every machine."""
    rows = kernel.tolist()
    factor = [[0.0] * len(rows) for _ in rows]
    for i, row in enumerate(rows):
        for j in range(i + 1):
            rest = math.fsum([row[j], *(-factor[i][m] * factor[j][m] for m in range(j))])
            factor[i][j] = math.sqrt(rest) if i == j else rest / factor[j][j]
    return np.array(factor)


def _with_points(grid: Floats, extra: int) -> Floats:
    """Return the table with rows and features of their own for further points."""
    table = np.zeros((len(grid) + extra, grid.shape[1] + extra))
    table[: len(grid), : grid.shape[1]] = grid
    table[len(grid) :, grid.shape[1] :] = np.eye(extra)
    return table


def _number_places(name: str, column: Numeric, values: Column, unseen: Unseen) -> tuple[Floats, Places]:
    """Return the place t of each number, and the index of its special or missing point; -1 for numbers on the grid."""
    numbers = read_numbers(name, values, unseen)
    if column.impute is not None:
        numbers = np.where(np.isnan(numbers), column.impute, numbers)
    points = np.full(len(numbers), -1, dtype=np.intp)
    for place, value in enumerate(column.special):
        points[numbers == value] = place
    gaps = np.isnan(numbers)
    points[gaps] = len(column.special)
    return column.scaled(np.where(gaps, column.low, numbers)), points


def _category_places(name: str, column: Categorical, values: Column, unseen: Unseen) -> Places:
    """Return the index of each category; the next one for all other and missing values."""
    # Other and missing values always have a point here, so that only a value of another type can raise an error.
    accepting = Categorical(column.categories, column.impute, True, missing=column.impute is None)
    return np.minimum(accepting.positions(name, values, unseen), len(column.categories))


def _first_points(count: int, extra: int) -> Mask:
    return np.arange(count + extra) < (count or extra)


def _number_text(number: float) -> str:
    return f"{number:.6g}"


def _exact_text(number: float) -> str:
    """Return a text that differs between any two doubles."""
    return str(int(number)) if number.is_integer() and abs(number) <= MOST_EXACT else repr(number)


def _read_only(table: Floats) -> Floats:
    table.setflags(write=False)
    return table


def _require_size(name: str, points: int, width: int) -> None:
    if points * width > MOST_ENTRIES:
        raise ParameterError(
            argument=f"term {shown(name)}",
            rule=f"must have at most {MOST_ENTRIES:,} entries in the table of its code, points times features",
            got=f"{points:,} times {width:,}",
            remedy="Declare fewer bins or categories.",
        )
