# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Data that keep their public bounds. Make them with `enforce`: nothing else reads the rows to bound them."""

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
    column_in_words,
    odd_columns,
    row_lengths,
    row_multiples,
)
from dperm.data.space import FeatureSpace
from dperm.data.targets import Codes, Target, Targets
from dperm.errors import DataError, ParameterError

INVALID = ("raise", "drop")


class Block(NamedTuple):
    """Some rows: the bounded row i is (factors[i] * x[i], constant), of norm ``lengths[i]``.

    ``targets`` are what the losses see of the labels; ``weights`` is 0 for a record that does not count.
    """

    x: Any
    factors: Floats
    lengths: Floats
    targets: Targets
    weights: Floats


@dataclass(frozen=True)
class BoundedData:
    """Rows within the radius of their `FeatureSpace`, with labels as codes of their `Target`.

    X stays where it is: a row's factor min(1, norm / ||x||) is applied in passing, block by block. Besides X there are
    one double and one code for each row. X must not change until the run has ended: norms were taken from what it held.
    """

    space: FeatureSpace
    target: Target
    source: RowBlocks
    codes: Codes
    norms: Floats
    bad: Mask | None = None

    @property
    def rows(self) -> int:
        """Number of rows; private under add/remove."""
        return self.source.count

    @property
    def is_sparse(self) -> bool:
        """Whether blocks are sparse matrices."""
        return isinstance(self.source, SparseRows)

    @property
    def height(self) -> int:
        """Rows per block."""
        return self.source.height

    def blocks(self, stride: int = 1) -> Iterator[Block]:
        """Every ``stride``-th block of rows: which ones does not depend on what they hold."""
        for start in range(0, self.rows, self.height * stride):
            yield self.block(start, min(start + self.height, self.rows))

    def stride_for(self, rows: int) -> int:
        """The largest stride at which blocks with at least ``rows`` rows remain, all of them among at least four."""
        blocks = self.rows // self.height
        return max(1, blocks // max(4, -(-rows // self.height)))

    def block(self, start: int, stop: int) -> Block:
        """The rows from ``start`` to ``stop``."""
        norms = self.norms[start:stop]
        bad = None if self.bad is None else self.bad[start:stop]
        x = self.source.scaled(start, stop, bad)
        factors, lengths = self.sizes(norms)
        if norms.size and norms.max() > LARGE:
            x, factors = self._shortened(x, norms, factors), np.ones_like(factors)
        return Block(x, factors, lengths, *self.target.targets(self.codes[start:stop]))

    def at(self, places: NDArray[np.int64]) -> "BoundedData":
        """Bounded data of the rows at these places, in their order: a copy of these rows alone."""
        bad = None if self.bad is None else self.bad[places]
        return replace(self, source=self.source.at(places), codes=self.codes[places], norms=self.norms[places], bad=bad)

    def sizes(self, norms: Floats) -> tuple[Floats, Floats]:
        """Row factors, and the lengths of the bounded rows with their constant."""
        if self.space.norm is None:
            return np.ones_like(norms), np.sqrt(norms * norms + self.space.constant**2)
        inside = np.minimum(norms, self.space.norm)
        factors = self.space.norm / np.maximum(norms, self.space.norm)
        return factors, np.sqrt(inside * inside + self.space.constant**2)

    def _shortened(self, x: Any, norms: Floats, factors: Floats) -> Any:
        """The rows times their factors, where the norm of one, its factor or a product might leave the doubles."""
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
    """``X`` and ``y`` as bounded data (T44, T54); a row that cannot be bounded raises, or contributes nothing.

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
        "raise", or "drop": a row with NaN, infinities or a label that ``target`` does not allow adds 0 to every sum,
        which is within what a record may add, so the guarantee covers it.
    names
        Names of the columns, for messages.
    most_rows
        Public limit on the number of rows.

    Raises
    ------
    DataError
        If the data break a rule: with the column and the rule, and nothing about values, rows or counts.
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
    return BoundedData(space, target, source, codes, norms, bad if bad.any() else None)


def invalid_rows(invalid: object) -> str:
    """``invalid``, if it is "raise" or "drop"."""
    if invalid not in INVALID:
        raise ParameterError(f'invalid must be "raise" or "drop", got {shown(invalid)}.')
    return str(invalid)


def too_many_rows(most: int) -> DataError:
    """The refusal of more rows than a plan allows."""
    return DataError(
        f"X has more rows than the public limit {most:,} of this plan, for which rounding errors were bounded. "
        f"Declare a larger n."
    )


def _labels(y: object) -> NDArray[Any]:
    """``y``, if it is an array: numpy would read all items of a list as what the oddest of them is."""
    if not isinstance(y, np.ndarray) or isinstance(y, np.ma.MaskedArray):
        raise ParameterError(
            "y must be a numpy array without a mask. Give a list of numbers as np.array(y, dtype=float), a list of "
            "other labels as np.array(y, dtype=object)."
        )
    return y


def _source(X: Any, space: FeatureSpace) -> RowBlocks:
    if X.ndim != 2 or X.shape[1] != space.dim or X.dtype.kind not in "biuf":
        raise DataError(f"X must be a table of numbers with {space.dim} columns, as declared.")
    if isinstance(X, np.ndarray):
        return DenseRows(X, space)
    if space.center is not None:
        raise ParameterError(
            "bounds of sparse X must be symmetric, low = -high: anything else would shift zeros and fill the matrix. "
            "Give symmetric bounds, feature_norm, or dense X."
        )
    if X.format != "csr":
        raise ParameterError(f"X must be an array or a CSR matrix, got a sparse matrix in {X.format} format.")
    rows = SparseRows(X, space)
    starts = range(0, rows.count, rows.height)
    if not all(rows.raw(start, start + rows.height).has_canonical_format for start in starts):
        rows = SparseRows(X.copy(), space)  # an entry in pieces has another norm than its pieces
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
    """Norms of the rows with scaled columns, infinite if they overflow, and which rows are not finite."""
    norms = np.empty(source.count)
    bad = np.zeros(source.count, dtype=np.bool_)
    for start in range(0, source.count, source.height):
        stop = min(start + source.height, source.count)
        norms[start:stop] = source.lengths(start, stop)
        bad[start:stop] = np.isnan(norms[start:stop])
    return norms, bad


def _refuse(source: RowBlocks, bad: Mask, names: Sequence[str] | None) -> None:
    """Raise for rows that are not finite, naming the column."""
    if bad.any():
        raise DataError(
            f"X must be finite, but {_odd_column(source, names)} has NaN, {INFINITE}. Replace them by public "
            f'constants, or give invalid="drop" to leave such rows out.'
        )


def _refuse_labels(target: Target, codes: Codes) -> None:
    if not target.counts(codes).all():
        raise DataError(f'{target.rule}, or give invalid="drop" to leave other rows out.')


def _odd_column(source: RowBlocks, names: Sequence[str] | None) -> str:
    """The first column that is not finite, by its name."""
    odd = source.space.dim
    for start in range(0, source.count, source.height):
        entries = source.raw(start, min(start + source.height, source.count))
        odd = min([odd, *odd_columns(entries)])
    return column_in_words(odd, names)
