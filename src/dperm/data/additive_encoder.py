# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Encoder of the declared columns and pairs of an additive model."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.canonical import CanonicalColumn, canonical_columns
from dperm.data.columns import AnyColumn, Numeric, Unseen
from dperm.data.encoder import checked_columns, checked_unseen, columns_from_data, columns_to_data, stored_object
from dperm.data.identity import same_text
from dperm.data.tables import Column
from dperm.data.tables import columns as table_columns
from dperm.data.term_codes import CoarseCode, PairCode, TermCode, TermPlaces, single_code
from dperm.errors import DataError, ParameterError

VERSION = 1
_KEY, _TEXT = "dperm_additive_encoder", "text must be JSON written by AdditiveEncoder.to_json"
MARGIN = 1 - 2.0**-40
"""Factor of the scale of every term. It covers the rounding of features, so that rows have norm at most 1 (T96)."""
RECORDS = 8192
"""Number of records encoded at a time."""


@dataclass(frozen=True, eq=False)
class AdditiveEncoder:
    """Encoder that turns declared columns and pairs into features of an additive model. It learns nothing from data.

    Each term j has a public code with rows of norm at most 1 (`dperm.data.term_codes`). The row of a record is
    (sqrt(share_j) code_j) over all terms, where ``shares`` are the weights of the terms divided by their sum.

    Attributes
    ----------
    columns
        `Numeric` or `Categorical` declarations of the columns to use, by name; other columns are not read. Missing
        values have a point of their own unless ``impute`` is declared, and undeclared categories share one point, so
        ``missing`` and ``other`` have no effect.
    pairs
        Pairs of declared columns whose joint effect is a term of its own.

    Raises
    ------
    ParameterError
        If a declaration is invalid or has cut points as ``bins``, a pair is not two different declared columns or
        occurs twice, a table is too large, or two terms or features have one name.

    Notes
    -----
    *Guarantees.* Every row of ``transform`` has norm at most ``norm``, 1, in exact arithmetic, for all data (T96). Each
    record is encoded separately, so neighbouring tables have neighbouring feature matrices.

    Examples
    --------
    >>> from dperm.data import Categorical, Numeric
    >>> from dperm.data.additive_encoder import AdditiveEncoder
    >>> encoder = AdditiveEncoder({"age": Numeric(17, 90), "work": Categorical(["public", "private"])})
    >>> [term.name for term in encoder.terms], encoder.slices
    (['age', 'work'], (slice(0, 33, None), slice(33, 34, None)))
    >>> encoder.transform({"age": [25, None], "work": ["public", "private"]}).shape
    (2, 34)
    """

    columns: Mapping[str, AnyColumn]
    pairs: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        """Check every declaration, and that names of terms and features differ."""
        object.__setattr__(self, "columns", _checked(self.columns))
        object.__setattr__(self, "pairs", _checked_pairs(self.pairs, self.columns))
        for names, kind in (([term.name for term in self.terms], "terms"), (self.feature_names, "features")):
            twice = [name for name, times in Counter(map(same_text, names)).items() if times > 1]
            if twice:
                rule = f"must give different {kind}, and two are named {shown(twice[0])}"
                raise ParameterError(argument="columns", rule=rule, remedy="Rename a column.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AdditiveEncoder) and self._declared == other._declared

    def __hash__(self) -> int:
        return hash(self._declared)

    def __reduce__(self) -> tuple[type["AdditiveEncoder"], tuple[dict[str, AnyColumn], tuple[tuple[str, str], ...]]]:
        # The tables are not pickled: they follow from the declarations.
        return AdditiveEncoder, (dict(self.columns), self.pairs)

    @property
    def _declared(self) -> tuple[tuple[tuple[str, AnyColumn], ...], tuple[tuple[str, str], ...]]:
        """Columns with their names, and pairs, in the order of the features."""
        return tuple(self.columns.items()), self.pairs

    @cached_property
    def terms(self) -> tuple[TermCode, ...]:
        """Codes of the terms: single columns in their declared order, then pairs."""
        coarse = {name: CoarseCode(name, self.columns[name]) for pair in self.pairs for name in pair}
        singles = (single_code(name, column) for name, column in self.columns.items())
        return (*singles, *(PairCode(coarse[one], coarse[other]) for one, other in self.pairs))

    @cached_property
    def shares(self) -> Floats:
        """Weight of each term divided by the sum of all weights; public."""
        weights = np.array([term.weight for term in self.terms])
        return np.asarray(weights / math.fsum(weights))

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Features of each term."""
        ends = list(accumulate((term.width for term in self.terms), initial=0))
        return tuple(slice(start, stop) for start, stop in pairwise(ends))

    @cached_property
    def tables(self) -> tuple[Floats, ...]:
        """Features of each term at its points: the table of its code times the square root of its share."""
        scales = np.sqrt(self.shares) * MARGIN
        return tuple(term.table * scale for term, scale in zip(self.terms, scales, strict=True))

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Feature names, in the order of the columns of the matrix."""
        return tuple(name for term in self.terms for name in term.feature_names())

    @property
    def norm(self) -> float:
        """Public bound on the L2 norm of a row: 1."""
        return 1.0

    def transform(self, table: object, *, unseen: Unseen = "raise") -> Floats:
        """Return one row of features for each record.

        Parameters
        ----------
        table
            pandas or polars data frame, Arrow table, or mapping of names to one-dimensional arrays.
        unseen
            "raise" raises DataError for text in a `Numeric` column, and for values of another type than the declared
            categories, such as numbers among strings. With "other", the former count as missing, and the latter as
            undeclared categories. Neither undeclared categories nor missing values raise an error.

        Returns
        -------
        ndarray
            Doubles of shape (records, features), in C order.

        Raises
        ------
        DataError
            If a declared column is missing, contains dates or other objects, or, with "raise", a value of the wrong
            type. The message names the column and the rule, but not the value.
        ParameterError
            If ``unseen`` is neither "raise" nor "other".
        """
        placed = self.places(table, unseen=unseen)
        count = len(placed[0])
        matrix = np.empty((count, len(self.feature_names)))
        for start in range(0, count, RECORDS):  # a part at a time, so that intermediate arrays are small
            rows = matrix[start : start + RECORDS]
            for points, values, features in zip(placed, self.tables, self.slices, strict=True):
                rows[:, features] = points.part(start, start + RECORDS).mean_of(values)
        return matrix

    def places(self, table: object, *, unseen: Unseen = "other") -> tuple[TermPlaces, ...]:
        """Return the places of all records among the points of each term.

        Parameters
        ----------
        table, unseen
            See `transform`.

        Returns
        -------
        tuple of TermPlaces
            One for each term, in the order of ``terms``; private.

        Raises
        ------
        DataError, ParameterError
            See `transform`.
        """
        treatment = checked_unseen(unseen)
        read, length = {}, None
        for name, column in self.columns.items():
            values = _read(name, column, table)
            if length is not None and len(values) != length:
                raise DataError("all columns of the table must have the same length.")
            read[name], length = values, len(values)
        return tuple(term.places(read, self._treatment(term, treatment)) for term in self.terms)

    def term_values(self, coef: Floats) -> tuple[Floats, ...]:
        """Return the value of each term at its points, for the coefficients of a linear function of the features.

        Parameters
        ----------
        coef
            Coefficients of shape (features,).

        Returns
        -------
        tuple of ndarray
            One array for each term, with one number for each point.
        """
        wanted = np.asarray(coef, dtype=np.float64)
        if wanted.shape != (len(self.feature_names),):
            rule = f"must have one coefficient for each of the {len(self.feature_names)} features"
            raise ParameterError(argument="coef", rule=rule, got=f"shape {wanted.shape}")
        return tuple(values @ wanted[part] for values, part in zip(self.tables, self.slices, strict=True))

    def to_json(self) -> str:
        """Return the declarations, which are public, as one line of JSON with a format version."""
        data = {_KEY: VERSION, "columns": columns_to_data(self.columns), "pairs": self.pairs}
        return json.dumps(data, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "AdditiveEncoder":
        """Return the encoder stored as JSON.

        Parameters
        ----------
        text
            JSON written by ``to_json``.

        Raises
        ------
        ParameterError
            If the text is not a stored encoder.
        """
        data = stored_object(text, _KEY, VERSION, rule=_TEXT)
        columns, pairs = data.get("columns"), data.get("pairs")
        if set(data) != {_KEY, "columns", "pairs"} or not isinstance(columns, list) or not isinstance(pairs, list):
            raise ParameterError(f'{_TEXT}, with lists of "columns" and "pairs" and nothing else.')
        return cls(columns_from_data(columns, rule=_TEXT), tuple(pairs))

    def _treatment(self, term: TermCode, unseen: Unseen) -> Unseen:
        """Return the treatment of one term: no cell of a canonical column raises an error."""
        # A pair is placed after both of its columns, each of which has raised its own error.
        return "other" if any(self.columns[name].canonical for name in term.columns) else unseen


def _read(name: str, column: AnyColumn, table: object) -> Column:
    """Return the values of one column; cells of a canonical column as numbers, or as text with None for gaps."""
    if not column.canonical:
        (values,) = table_columns(table, [name])
        return values
    (cells,) = canonical_columns(table, [name])
    return cells.numbers if isinstance(column, Numeric) else _texts(cells)


def _texts(cells: CanonicalColumn) -> Column:
    codes, texts = cells.values()
    known = np.empty(len(texts) + 1, dtype=object)
    known[: len(texts)] = list(texts)
    return np.asarray(known[codes])  # code -1 of missing cells is last


def _checked(given: object) -> dict[str, AnyColumn]:
    """Return a copy of the declarations, all checked for an additive model."""
    columns = checked_columns(given)
    for name, column in columns.items():
        if isinstance(column, Numeric) and column.cut_points:
            raise ParameterError(
                argument=f"columns[{shown(name)}].bins",
                rule="must not be cut points in an additive model, whose effects need none",
                remedy="Leave it out, or declare detail=.6 and a number of cells, such as bins=256.",
            )
    return columns


def _checked_pairs(given: Any, columns: Mapping[str, AnyColumn]) -> tuple[tuple[str, str], ...]:
    """Return the pairs as a tuple of tuples, after checking them."""
    remedy = 'Give pairs of declared columns, such as [("hour", "workingday")].'
    if not isinstance(given, tuple | list):
        raise ParameterError(argument="pairs", rule="must be a list of pairs", got=shown(given), remedy=remedy)
    found: list[tuple[str, str]] = []
    for place, pair in enumerate(given):
        argument = f"pairs[{place}]"
        if not isinstance(pair, tuple | list) or len(pair) != 2 or pair[0] == pair[1]:
            raise ParameterError(
                argument=argument, rule="must be two different columns", got=shown(pair), remedy=remedy
            )
        unknown = [name for name in pair if not isinstance(name, str) or name not in columns]
        if unknown:
            rule = "must name declared columns"
            raise ParameterError(argument=argument, rule=rule, got=shown(unknown[0]), remedy=remedy)
        if any(set(pair) == set(other) for other in found):
            raise ParameterError(argument=argument, rule="must occur only once, in either order", got=shown(pair))
        found.append((pair[0], pair[1]))
    return tuple(found)
