# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Data within their public bounds, made by `enforce` alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.grid_rows import GridRows, RowGrid, joined
from dperm.data.nonfinite import INFINITE, column_description, nonfinite_columns
from dperm.data.passes import Kernel, Place, total
from dperm.data.space import FeatureSpace
from dperm.data.targets import DROP, Target, Targets
from dperm.errors import AssumptionError, DataError, ParameterError
from dperm.presentation.spelling import arg, quoted_arg

INVALID = ("raise", "drop")
HEIGHT = 2**11
"""Number of rows of a block."""
CHUNK = 2**16
"""Number of rows of a task on rows in memory."""
SAMPLE_SHARE = 8
SAMPLE_CELLS = (2**22, 2**24)
"""Smallest and largest number of cells of a sample; tables up to the smallest are not sampled."""
ROWS_PER_COLUMN = 200
RUN = 2**8
"""Number of consecutive rows of a sample that stay together."""


class Block(NamedTuple):
    """Block of bounded rows without the constant column.

    ``lengths`` are bounds on their norms with the constant, and ``targets`` the labels in the form for losses.
    ``weights`` is 0 for an invalid record.
    """

    x: Any
    lengths: Floats
    targets: Targets
    weights: Floats


class RowStore(Protocol):
    """Bounded rows, wherever they are: in memory, in row groups on disk, or on workers."""

    @property
    def rows(self) -> int:
        """Number of rows, which is private under add/remove."""

    @property
    def offsets(self) -> dict[str, int]:
        """Number of the first row of each row group."""

    def run(self, kernel: Kernel) -> Any:
        """Return the sum of the kernel's results over all rows."""


@dataclass(frozen=True)
class MemoryRows:
    """Bounded rows in memory, as one row group."""

    grid_rows: GridRows = field(repr=False)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.grid_rows.count

    @property
    def offsets(self) -> dict[str, int]:
        """Number 0 of the first row of the only row group."""
        return {"": 0}

    def run(self, kernel: Kernel) -> Any:
        """Return the sum of the kernel's results over chunks of the rows."""
        starts = range(0, self.rows, CHUNK)
        return total(kernel(self.grid_rows.part(start, start + CHUNK), Place("", start)) for start in starts)


@dataclass(frozen=True)
class BoundedData:
    """Rows within the radius of their `FeatureSpace` and on its grid, with labels stored as codes of their `Target`.

    Attributes
    ----------
    space
        Public geometry of the features.
    target
        Public set of allowed labels.
    store
        Rows on the grid, in memory or in row groups.

    Notes
    -----
    *Guarantees.* Every row has norm at most ``space.radius``, and every target is within the range of ``target``,
    whatever the data are (T44, T54, T200). Invalid records have weight 0. A row is a function of its record alone.
    """

    space: FeatureSpace
    target: Target
    store: RowStore = field(repr=False)

    @cached_property
    def grid(self) -> RowGrid:
        """Public grid of the rows."""
        return RowGrid(self.space)

    @property
    def rows(self) -> int:
        """Number of rows, which is private under add/remove."""
        return self.store.rows

    def sums(self, kernel: Kernel) -> Any:
        """Return the sum of a kernel's results over all rows, in one pass (T203).

        Parameters
        ----------
        kernel
            Function of the rows.

        Returns
        -------
        Any
            Sum of the results.
        """
        found = self.store.run(kernel)
        if found is None:  # no rows at all
            found = kernel(self.with_rows([]).in_memory(), Place("", 0))
        return found

    def in_memory(self) -> GridRows:
        """Return the rows, for methods that need random access to them; see `require_memory`."""
        assert isinstance(self.store, MemoryRows), "rows in row groups have no random access"
        return self.store.grid_rows

    def require_memory(self, method: str, reason: str) -> None:
        """Refuse rows in row groups for a method that needs them in memory.

        Raises
        ------
        AssumptionError
            If the rows are in row groups.
        """
        if not isinstance(self.store, MemoryRows):
            raise AssumptionError(
                f"{quoted_arg('method', method)} needs all rows in memory, because {reason}; this table is read in row "
                "groups.",
                remedy=f"Use {quoted_arg('method', 'objective')} or {quoted_arg('method', 'gradient')}, or pass the "
                "data as an array.",
            )

    def sample(self, columns: int, *, rows_per_column: int = ROWS_PER_COLUMN) -> "BoundedData":
        """Return bounded data in memory with all rows of a small table, or some rows of a large one.

        Runs of rows are chosen by row number, so the choice depends neither on the row groups nor on their contents.

        Parameters
        ----------
        columns
            Number of coefficients of one score.
        rows_per_column
            Smallest number of rows for each of them, if there are so many.
        """
        least, most = (cells // max(columns, 1) for cells in SAMPLE_CELLS)
        wanted = min(max(self.rows // SAMPLE_SHARE, least, rows_per_column * columns), max(most, 1))
        stride = max(1, self.rows // max(wanted, 1))
        if stride == 1 and isinstance(self.store, MemoryRows):
            return self
        runs = self.sums(RowRuns(self.store.offsets, stride, RUN))
        parts = [rows for _, rows in sorted(runs or [], key=lambda run: run[0])]
        return self.with_rows(parts)

    def with_rows(self, parts: Sequence[GridRows]) -> "BoundedData":
        """Return bounded data in memory of the same space and target with other rows, one part after the other."""
        return replace(self, store=MemoryRows(joined(parts, self.grid, self.target.read(np.empty(0)))))

    def blocks(self, stride: int = 1) -> Iterator[Block]:
        """Yield every ``stride``-th block of rows in memory. The choice does not depend on the data.

        The next block may overwrite the dense rows ``x`` of a block.

        Parameters
        ----------
        stride
            Distance between the starts of successive blocks, in blocks.

        Yields
        ------
        Block
            Rows, targets and weights of one block.
        """
        work = None if self.in_memory().is_sparse else np.empty((min(HEIGHT, self.rows), self.space.dim))
        for start in range(0, self.rows, HEIGHT * stride):
            yield self.block(start, min(start + HEIGHT, self.rows), work)

    def stride_for(self, rows: int) -> int:
        """Return the largest stride that leaves at least four blocks and at least ``rows`` rows.

        Parameters
        ----------
        rows
            Number of rows that must remain.

        Returns
        -------
        int
            The stride; 1 if the data have fewer blocks or rows.
        """
        blocks = self.rows // HEIGHT
        return max(1, blocks // max(4, -(-rows // HEIGHT)))

    def block(self, start: int, stop: int, work: Floats | None = None) -> Block:
        """Return the rows in memory from ``start`` up to ``stop`` as a block.

        Parameters
        ----------
        start
            Index of the first row.
        stop
            Index after the last row.
        work
            Table of at least as many rows, which is overwritten with dense rows; None for a new one.

        Returns
        -------
        Block
            Rows, targets and weights.
        """
        rows = self.in_memory().part(start, stop)
        if isinstance(rows.cells, np.ndarray):
            x: Any = np.empty(rows.cells.shape) if work is None else work[: rows.count]
            np.copyto(x, rows.cells)
            x *= self.grid.unit
        else:
            x = rows.cells.astype(np.float64)
            x.data *= self.grid.unit
        return Block(x, rows.lengths.astype(np.float64) * self.grid.step, *self.target.targets(rows.codes))

    def at(self, places: NDArray[np.int64]) -> "BoundedData":
        """Return the bounded data of the rows in memory at these indices, with a copy of the rows.

        Parameters
        ----------
        places
            Indices of the rows, in the order of the result.

        Returns
        -------
        BoundedData
            The bounded data of these rows.
        """
        return replace(self, store=MemoryRows(self.in_memory().at(places)))


@dataclass(frozen=True)
class RowRuns:
    """Kernel that selects every ``stride``-th run of consecutive rows, by row number.

    Attributes
    ----------
    offsets
        Number of the first row of each row group.
    stride
        One run of this many is selected.
    run
        Number of rows of a run.
    """

    offsets: dict[str, int]
    stride: int
    run: int

    def wants(self, place: Place, count: int) -> bool:
        """Whether there is a selected row among ``count`` rows."""
        first = self.offsets[place.group] + place.start
        runs = range(first // self.run, (first + count - 1) // self.run + 1)
        return any(run % self.stride == 0 for run in runs)

    def __call__(self, rows: GridRows, place: Place) -> list[tuple[int, GridRows]]:
        """Return the selected rows, with the number of the first row that was offered."""
        first = self.offsets[place.group] + place.start
        numbers = first + np.arange(rows.count)
        chosen = np.flatnonzero((numbers // self.run) % self.stride == 0)
        return [(first, rows.at(chosen))] if len(chosen) else []


def enforce(
    X: Any,
    y: NDArray[Any],
    space: FeatureSpace,
    target: Target,
    *,
    invalid: str = "raise",
    names: Sequence[str] | None = None,
    most_rows: int = 2**31,
) -> BoundedData:
    """Enforce the public bounds on ``X`` and ``y``, and return them as bounded data (T44, T54).

    Parameters
    ----------
    X
        2-D array of floats, or a compressed sparse row matrix.
    y
        1-D array of labels.
    space
        Public geometry of the features.
    target
        Public set of allowed labels.
    invalid
        "raise" refuses data in which a row has NaN, an infinity or a label outside ``target``. With "drop", such rows
        contribute 0 to every sum. The guarantee covers this, since 0 is within the bound on a record's contribution.
    names
        Names of the columns, for error messages.
    most_rows
        Public upper limit on the number of rows.

    Returns
    -------
    BoundedData
        Data whose rows and labels satisfy their public bounds.

    Raises
    ------
    DataError
        If the data break a rule. The message names the column and the rule, but no value, row or count.
    ParameterError
        If a public argument is invalid, ``y`` is not a numpy array, or the bounds of a sparse ``X`` are not symmetric.

    Notes
    -----
    *Guarantees.* Each record is bounded separately, so replacing, adding or removing one record changes one row, one
    norm and one code.

    *Edge cases.*

    =======================  =======================================================================
    input                    result
    =======================  =======================================================================
    NaN or infinite entry    DataError, or weight 0 with ``invalid="drop"``; clipping does not hide it.
    entry beyond its bounds  Clipped to the nearer bound.
    row longer than norm     Scaled down to ``space.norm``, even if the square of its norm overflows.
    label outside classes    DataError, or weight 0 with ``invalid="drop"``.
    label beyond interval    Clipped to the nearer end, if the label is finite.
    NaN or infinite label    DataError, or weight 0 with ``invalid="drop"``.
    no rows                  DataError.
    =======================  =======================================================================
    """
    invalid_rows(invalid)
    labels = _labels(y)
    rows = checked_rows(X, space)
    _check_shapes(rows, labels, most_rows)
    codes = target.read(labels)
    grid_rows, bad = RowGrid(space).rows(rows, codes)
    if invalid == "raise":
        if bad.any():
            raise not_finite(column_description(_first_nonfinite(rows), names))
        if not target.counts(codes).all():
            raise invalid_labels(target)
    target.without(codes, bad)
    return BoundedData(space, target, MemoryRows(grid_rows))


def invalid_rows(invalid: object) -> str:
    """Return ``invalid``; raise ParameterError unless it is "raise" or "drop"."""
    if invalid not in INVALID:
        raise ParameterError(argument="invalid", rule='must be "raise" or "drop"', got=shown(invalid))
    return str(invalid)


def too_many_rows(most: int) -> DataError:
    """Return the error for more rows than a plan allows."""
    return DataError(
        f"X has more rows than the public limit {most:,} of this plan, for which rounding errors were bounded.",
        remedy=f"Declare a larger {arg('n')}.",
    )


def _labels(y: object) -> NDArray[Any]:
    """Return ``y``; raise ParameterError unless it is an array. numpy would give all items of a list one type."""
    if not isinstance(y, np.ndarray) or isinstance(y, np.ma.MaskedArray):
        raise ParameterError(
            argument="y",
            rule="must be a numpy array without a mask",
            remedy="Give a list of numbers as np.array(y, dtype=float), a list of other labels as "
            "np.array(y, dtype=object).",
        )
    return y


def checked_rows(X: Any, space: FeatureSpace) -> Any:
    """Return ``X`` as an array or a CSR matrix in canonical form, if it suits the space.

    Raises
    ------
    DataError
        If it is not a table of numbers with the columns of the space.
    ParameterError
        If sparse rows would be shifted.
    """
    if X.ndim != 2 or X.shape[1] != space.dim or X.dtype.kind not in "biuf":
        raise DataError(f"X must be a table of numbers with {space.dim} columns, as declared.")
    if isinstance(X, np.ndarray):
        return X
    if space.center is not None:
        raise ParameterError(
            "bounds of sparse X must be symmetric, low = -high: anything else would shift zeros and fill the matrix.",
            remedy=f"Give symmetric {arg('bounds')}, {arg('feature_norm')}, or dense X.",
        )
    if X.format != "csr":
        got = f"a sparse matrix in {X.format} format"
        raise ParameterError(argument="X", rule="must be an array or a CSR matrix", got=got)
    fresh = type(X)((X.data, X.indices, X.indptr), shape=X.shape, copy=False)  # a matrix may be marked by mistake
    if not fresh.has_canonical_format:
        X = fresh.copy()
        X.sum_duplicates()  # the norm of a row needs the sums of duplicate entries
    return X


def _check_shapes(X: Any, labels: NDArray[Any], most: int) -> None:
    rows = X.shape[0]
    if labels.shape != (rows,):
        raise DataError("X and y must have the same number of rows, and y one label for each.")
    if rows == 0:
        raise DataError("X must have at least one row: an empty data set teaches nothing.")
    if rows > most:
        raise too_many_rows(most)


def not_finite(column: str) -> DataError:
    """Return the error for a column with NaN or infinities."""
    return DataError(
        f"X must be finite, but {column} has NaN, {INFINITE}.",
        remedy=f"Replace them by public constants, or give {DROP} to leave such rows out.",
    )


def invalid_labels(target: Target) -> DataError:
    """Return the error for labels outside the declared ones."""
    problem, _, remedy = target.rule.rpartition(". ")
    return DataError(f"{problem}.", remedy=f"{remedy}, or give {DROP} to leave other rows out.")


def _first_nonfinite(X: Any) -> int:
    """Return the place of the first column that is not finite."""
    starts = range(0, X.shape[0], CHUNK)
    return min(place for start in starts for place in nonfinite_columns(X[start : start + CHUNK]))
