# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Data within their public bounds, made by `enforce` alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dperm.checks import shown
from dperm.data.arrays import Floats, Mask
from dperm.data.blocks import (
    INFINITE,
    LARGE,
    SHRINK,
    DenseRows,
    RowBlocks,
    SparseRows,
    column_description,
    nonfinite_columns,
    row_lengths,
    row_multiples,
)
from dperm.data.space import FeatureSpace
from dperm.data.targets import DROP, Codes, Target, Targets
from dperm.errors import DataError, ParameterError
from dperm.presentation.spelling import arg

INVALID = ("raise", "drop")


class Block(NamedTuple):
    """Block of rows: the bounded row i is (factors[i] * x[i], constant), of norm ``lengths[i]``.

    ``targets`` are the labels in the form for losses; ``weights`` is 0 for an invalid record.
    """

    x: Any
    factors: Floats
    lengths: Floats
    targets: Targets
    weights: Floats


@dataclass(frozen=True)
class BoundedData:
    """Rows within the radius of their `FeatureSpace`, with labels as codes of their `Target`.

    X is not copied. The factor min(1, norm / ||x||) of each row is applied block by block. In addition to X, memory
    holds one double and one code for each row. X must not change until the run has ended, because its norms are
    computed in advance.

    Attributes
    ----------
    space
        Public geometry of the features.
    target
        Public shape of the labels.
    source
        Rows of X, in blocks.
    codes
        Code of each label.
    norms
        Norm of each row before it is scaled down.
    bad
        Mask of the invalid records; None if there are none.

    Notes
    -----
    *Guarantees.* Every row of every block has norm at most ``space.radius``, and every target is within the range of
    ``target``, whatever the data are (T44, T54). Invalid records have weight 0.
    """

    space: FeatureSpace
    target: Target
    source: RowBlocks
    codes: Codes
    norms: Floats
    bad: Mask | None = None

    @property
    def rows(self) -> int:
        """Number of rows, which is private under add/remove."""
        return self.source.count

    @property
    def is_sparse(self) -> bool:
        """Whether blocks are sparse matrices."""
        return isinstance(self.source, SparseRows)

    @property
    def height(self) -> int:
        """Number of rows per block."""
        return self.source.height

    def blocks(self, stride: int = 1) -> Iterator[Block]:
        """Yield every ``stride``-th block of rows. The choice does not depend on the data.

        Parameters
        ----------
        stride
            Distance between the blocks.

        Yields
        ------
        Block
            Rows, targets and weights of one block.
        """
        for start in range(0, self.rows, self.height * stride):
            yield self.block(start, min(start + self.height, self.rows))

    def stride_for(self, rows: int) -> int:
        """Return the largest stride that leaves at least four blocks and at least ``rows`` rows.

        Parameters
        ----------
        rows
            Smallest number of rows.

        Returns
        -------
        int
            The stride, at least 1.
        """
        blocks = self.rows // self.height
        return max(1, blocks // max(4, -(-rows // self.height)))

    def block(self, start: int, stop: int) -> Block:
        """Return the rows from ``start`` up to ``stop`` as a block.

        Parameters
        ----------
        start
            First row.
        stop
            Row after the last one.

        Returns
        -------
        Block
            Rows, targets and weights.
        """
        norms = self.norms[start:stop]
        bad = None if self.bad is None else self.bad[start:stop]
        x = self.source.scaled(start, stop, bad)
        factors, lengths = self.sizes(norms)
        if norms.size and norms.max() > LARGE:
            x, factors = self._shortened(x, norms, factors), np.ones_like(factors)
        return Block(x, factors, lengths, *self.target.targets(self.codes[start:stop]))

    def at(self, places: NDArray[np.int64]) -> "BoundedData":
        """Return a copy of the rows at these indices, in their order.

        Parameters
        ----------
        places
            Indices of the rows.

        Returns
        -------
        BoundedData
            Bounded data of these rows.
        """
        bad = None if self.bad is None else self.bad[places]
        return replace(self, source=self.source.at(places), codes=self.codes[places], norms=self.norms[places], bad=bad)

    def sizes(self, norms: Floats) -> tuple[Floats, Floats]:
        """Return the factors of the rows, and the norms of the bounded rows including the constant.

        Parameters
        ----------
        norms
            Norms of the rows.

        Returns
        -------
        tuple of ndarray
            Factors and norms.
        """
        if self.space.norm is None:
            return np.ones_like(norms), np.sqrt(norms * norms + self.space.constant**2)
        inside = np.minimum(norms, self.space.norm)
        factors = self.space.norm / np.maximum(norms, self.space.norm)
        return factors, np.sqrt(inside * inside + self.space.constant**2)

    def _shortened(self, x: Any, norms: Floats, factors: Floats) -> Any:
        """Return rows times their factors, without overflow in norms, factors and products."""
        is_long = norms > LARGE
        x = row_multiples(x, np.where(is_long, SHRINK, 1.0))
        return row_multiples(x, np.divide(self.space.norm or 0.0, row_lengths(x), out=factors.copy(), where=is_long))


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
    """Return ``X`` and ``y`` as bounded data (T44, T54).

    Parameters
    ----------
    X
        2-D array of floats, or a compressed sparse row matrix.
    y
        1-D array of labels.
    space
        Public geometry of the features.
    target
        Public shape of the labels.
    invalid
        "raise" refuses rows with NaN, infinities or labels outside ``target``. With "drop", such rows contribute 0 to
        every sum. The guarantee covers this, since 0 is within the bound on a record's contribution.
    names
        Names of the columns, for messages.
    most_rows
        Public limit on the number of rows.

    Returns
    -------
    BoundedData
        Data whose rows and labels satisfy their public bounds.

    Raises
    ------
    DataError
        If the data break a rule. The message names the column and the rule, and no value, row or count.
    ParameterError
        If a public argument is invalid, or sparse ``X`` has bounds that are not symmetric.

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
    row longer than norm     Scaled down to ``space.norm``, even if its square overflows.
    label outside target     DataError, or weight 0 with ``invalid="drop"``; numbers are clipped.
    no rows                  DataError.
    =======================  =======================================================================
    """
    invalid_rows(invalid)
    labels = _labels(y)
    source = _source(X, space)
    _check_shapes(source, labels, most_rows)
    codes = target.read(labels)
    norms, bad = _norms(source)
    if invalid == "raise":
        _refuse(source, bad, names)
        _refuse_labels(target, codes)
    target.without(codes, bad)
    norms[bad] = 0.0
    return BoundedData(space, target, source=source, codes=codes, norms=norms, bad=bad if bad.any() else None)


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


def _source(X: Any, space: FeatureSpace) -> RowBlocks:
    if X.ndim != 2 or X.shape[1] != space.dim or X.dtype.kind not in "biuf":
        raise DataError(f"X must be a table of numbers with {space.dim} columns, as declared.")
    if isinstance(X, np.ndarray):
        return DenseRows(X, space)
    if space.center is not None:
        raise ParameterError(
            "bounds of sparse X must be symmetric, low = -high: anything else would shift zeros and fill the matrix.",
            remedy=f"Give symmetric {arg('bounds')}, {arg('feature_norm')}, or dense X.",
        )
    if X.format != "csr":
        got = f"a sparse matrix in {X.format} format"
        raise ParameterError(argument="X", rule="must be an array or a CSR matrix", got=got)
    rows = SparseRows(X, space)
    starts = range(0, rows.count, rows.height)
    if not all(rows.raw(start, start + rows.height).has_canonical_format for start in starts):
        rows = SparseRows(X.copy(), space)  # the norm of a row needs the sums of duplicate entries
        rows.array.sum_duplicates()
    return rows


def _check_shapes(source: RowBlocks, labels: NDArray[Any], most: int) -> None:
    rows = source.count
    if labels.shape != (rows,):
        raise DataError("X and y must have the same number of rows, and y one label for each.")
    if rows == 0:
        raise DataError("X must have at least one row: an empty data set teaches nothing.")
    if rows > most:
        raise too_many_rows(most)


def _norms(source: RowBlocks) -> tuple[Floats, Mask]:
    """Return norms of the rows with scaled columns, infinite on overflow, and a mask of rows that are not finite."""
    norms = np.empty(source.count)
    bad = np.zeros(source.count, dtype=np.bool_)
    for start in range(0, source.count, source.height):
        stop = min(start + source.height, source.count)
        norms[start:stop] = source.lengths(start, stop)
        bad[start:stop] = np.isnan(norms[start:stop])
    return norms, bad


def _refuse(source: RowBlocks, bad: Mask, names: Sequence[str] | None) -> None:
    """Raise DataError for rows that are not finite, naming the column."""
    if bad.any():
        raise DataError(
            f"X must be finite, but {_first_nonfinite(source, names)} has NaN, {INFINITE}.",
            remedy=f"Replace them by public constants, or give {DROP} to leave such rows out.",
        )


def _refuse_labels(target: Target, codes: Codes) -> None:
    if not target.counts(codes).all():
        problem, _, remedy = target.rule.rpartition(". ")
        remedy = f"{remedy}, or give {DROP} to leave other rows out."
        raise DataError(f"{problem}.", remedy=remedy)


def _first_nonfinite(source: RowBlocks, names: Sequence[str] | None) -> str:
    """Return a description of the first column that is not finite."""
    first = source.space.dim
    for start in range(0, source.count, source.height):
        entries = source.raw(start, min(start + source.height, source.count))
        first = min([first, *nonfinite_columns(entries)])
    return column_description(first, names)
