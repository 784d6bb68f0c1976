# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Row groups encoded as bounded rows on a grid, and bounded data of a table in row groups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dperm.data.bounded import (
    CHUNK,
    BoundedData,
    checked_rows,
    invalid_labels,
    invalid_rows,
    not_finite,
    too_many_rows,
)
from dperm.data.grid_rows import GridRows, RowGrid, joined
from dperm.data.inputs import labels_of, numbers_of
from dperm.data.large_tables import Table
from dperm.data.nonfinite import column_description, nonfinite_columns
from dperm.data.passes import TablePasses, checksum_of
from dperm.data.row_groups import RowGroup, in_row_group, pieces_of
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, LabelKind, Target, are_text
from dperm.errors import DataError, ParameterError

NO_ROWS = "no-rows"
"""Code of the error for a table without rows."""
LABELS = ""
"""Name of the labels among the problems of a row group."""
LARGEST_CLASS = 2**53
"""Largest number that is exact in double precision, as all smaller ones are."""
TEXT, NUMBERS, MIXED = KINDS = ("\0text", "\0numbers", "\0mixed")
"""Kinds of the labels of a row group, beside its problems; no column has these names."""


@dataclass(frozen=True)
class EncodedGroup:
    """Bounded rows of one row group in memory; a `HeldGroup`.

    Attributes
    ----------
    id
        Id of the row group.
    encoded
        Bounded rows.
    problems
        Columns with cells that are not finite, and `LABELS` for labels that are not declared.
    checksum
        Checksum of the rows; private.
    """

    id: str
    encoded: GridRows = field(repr=False)
    problems: frozenset[str] = field(repr=False)
    checksum: int = field(repr=False)

    @property
    def rows(self) -> int:
        """Number of rows; private."""
        return self.encoded.count

    def chunks(self) -> Iterator[tuple[int, GridRows]]:
        """Yield the rows in chunks, each with the number of its first row within the group."""
        for start in range(0, self.rows, CHUNK):
            yield start, self.encoded.part(start, start + CHUNK)


class ReadPieces(Protocol):
    """Picklable reader of a row group: pieces of a feature matrix with labels."""

    def __call__(self, group: RowGroup) -> Iterator[tuple[Any, Any]]:
        """Yield matrices of features with their raw labels."""


@dataclass(frozen=True)
class ColumnReader:
    """Reader of numeric columns and a column of labels.

    Attributes
    ----------
    features
        Names of the columns, in order.
    label
        Name of the column of labels.
    """

    features: tuple[str, ...]
    label: str

    def __call__(self, group: RowGroup) -> Iterator[tuple[Any, Any]]:
        """Yield pieces of the matrix with their labels."""
        for piece in pieces_of(group, self.features, {self.label: None}):
            yield piece.numbers, piece.columns[self.label]


@dataclass(frozen=True)
class RowEncoder:
    """Picklable function from a row group to its bounded rows on the grid (T200).

    Attributes
    ----------
    space, target
        Public geometry of the features, and public set of labels.
    read
        Reader of features and labels.
    names
        Names of the features.
    """

    space: FeatureSpace
    target: Target
    read: ReadPieces
    names: tuple[str, ...]

    def __call__(self, group: RowGroup) -> EncodedGroup:
        """Return the bounded rows of the group, in memory."""
        parts, problems = [], set[str]()
        for rows, found in self.pieces(group):
            parts.append(rows)
            problems |= found
        whole = joined(parts, RowGrid(self.space), self.target.read(np.empty(0)))
        return EncodedGroup(group.id, whole, frozenset(problems), checksum_of(whole))

    def pieces(self, group: RowGroup) -> Iterator[tuple[GridRows, frozenset[str]]]:
        """Yield the bounded rows of the group in pieces, with the problems of each one."""
        grid = RowGrid(self.space)
        for X, y in self.read(group):
            matrix = checked_rows(X, self.space)
            labels = numbers_of(y) if self.target.kind is LabelKind.NUMBER else labels_of(y)
            if len(labels) != matrix.shape[0]:
                raise DataError(f"row group {group.id!r} must have one label for each row.")
            codes = self.target.read(labels)
            rows, bad = grid.rows(matrix, codes)
            problems = {self.names[place] for place in nonfinite_columns(matrix)} if bad.any() else set[str]()
            if not self.target.counts(codes).all():
                problems.add(LABELS)
            if isinstance(self.target, Classes):
                problems |= _kinds(labels)
            self.target.without(codes, bad)
            yield rows, frozenset(problems)


def encoded_table(
    table: Table, encoder: RowEncoder, *, invalid: str = "raise", names: Sequence[str] | None
) -> BoundedData:
    """Return the bounded data of a table in row groups, after the first read of all rows (T200, T206).

    Parameters
    ----------
    table
        Table in row groups, with its engine.
    encoder
        Encoder of a row group.
    invalid
        "raise" or "drop", as in `dperm.data.bounded.enforce`.
    names
        Names of the columns, for messages; None for numbers.

    Returns
    -------
    BoundedData
        Data whose rows and labels satisfy their public bounds; `TablePasses.close` of its store frees them.

    Raises
    ------
    DataError
        If a row group cannot be read or breaks a rule. The message names the row group, the column and the rule, and no
        cell.
    """
    invalid_rows(invalid)
    _require_exact_classes(encoder.target)
    ids = tuple(group.id for group in table.groups)
    passes = TablePasses(table.engine.hold(encoder, table.groups), ids)
    try:
        problems = passes.read_manifest()
        _require_kind(encoder.target, {kind for found in problems.values() for kind in found if kind in KINDS})
        if invalid == "raise":
            for name, found in problems.items():
                _refuse(name, found, encoder, names)
        if not passes.rows:
            raise DataError("X must have at least one row: an empty data set teaches nothing.", code=NO_ROWS)
    except BaseException:
        passes.close()
        raise
    return BoundedData(encoder.space, encoder.target, passes)


def require_rows(data: BoundedData, most_rows: int) -> BoundedData:
    """Return the data; raise DataError if there are more rows than the public limit of a plan."""
    if data.rows > most_rows:
        raise too_many_rows(most_rows)
    return data


def _refuse(name: str, problems: Sequence[str], encoder: RowEncoder, names: Sequence[str] | None) -> None:
    """Raise DataError for the first problem of a row group, columns first."""
    columns = [place for place, column in enumerate(encoder.names) if column in problems]
    if columns:
        error = not_finite(f"{column_description(columns[0], names)} of row group {name!r}")
    elif LABELS in problems:
        error = in_row_group(invalid_labels(encoder.target), name)
    else:
        return
    raise error


def _kinds(labels: NDArray[Any]) -> set[str]:
    """Return the kind of some labels; nothing if none of them is present."""
    found = are_text(labels)
    if found is None:
        return {MIXED} if labels.dtype.kind != "O" or any(item is not None for item in labels.tolist()) else set()
    return {TEXT if found else NUMBERS}


def _require_kind(target: Target, kinds: set[str]) -> None:
    """Raise DataError if all labels of the table are text and the classes numbers, or the reverse.

    The kinds of all row groups count together, so that the cut of the table decides nothing.
    """
    if isinstance(target, Classes) and kinds in ({TEXT}, {NUMBERS}):
        target.require_kind(np.array(["a"] if TEXT in kinds else [0]))


def _require_exact_classes(target: Target) -> None:
    """Refuse classes beyond 2^53: a column is read in pieces, and one of them may hold its numbers as doubles."""
    labels: list[Any] = list(target.labels) if isinstance(target, Classes) else []
    numbers: list[Any] = [label for label in labels if isinstance(label, int | float | np.number)]
    if any(abs(number) > LARGEST_CLASS for number in numbers):
        raise ParameterError(
            argument="classes",
            rule="must be text, or numbers of at most 2^53, for a table in row groups",
            remedy="Convert larger numbers to text.",
        )
