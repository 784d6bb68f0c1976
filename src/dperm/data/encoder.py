# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Encoder of tables with numbers, categories and missing values as bounded features."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Union, get_args

import numpy as np

from dperm.checks import shortened, shown
from dperm.data.arrays import Floats
from dperm.data.canonical import canonical_columns
from dperm.data.columns import AnyColumn, Categorical, Numeric, Part, Unseen, declared_fields, optional_fields
from dperm.data.identity import same_text
from dperm.data.tables import columns
from dperm.errors import DataError, ParameterError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Categorical", "Numeric", "PublicEncoder"]

VERSION = 1
_KINDS: dict[str, type[AnyColumn]] = {"numeric": Numeric, "categorical": Categorical}
_TEXT = "text must be JSON written by PublicEncoder.to_json"


@dataclass(frozen=True, eq=False)
class PublicEncoder:
    """Encoder that turns declared columns into features in [-1, 1]. It learns nothing from the data.

    A `Numeric` column becomes one feature, clipped to its bounds and mapped to [-1, 1]. With ``bins`` or ``missing``,
    indicators follow, at most one of which is 1. A `Categorical` column becomes indicators, at most one of which is 1.
    Pass ``norm`` to an estimator as its argument ``feature_norm``, or pass ``bounds`` as its argument ``bounds``. In
    both cases, the estimator leaves the features unchanged, and sparse features stay sparse.

    Attributes
    ----------
    columns
        `Numeric` or `Categorical` declarations of the columns to use, by name; other columns are not read.

    Raises
    ------
    ParameterError
        If a declaration is invalid, or the names of two features are equal after Unicode normalization.

    Notes
    -----
    *Guarantees.* Each declared column adds at most its ``squared_norm``, 1 or 2, to the squared norm of a row. So
    ``norm`` bounds the norm of every row, for all data. Each record is encoded separately, so neighbouring
    tables have neighbouring feature matrices.

    Examples
    --------
    >>> from dperm.data.encoder import Categorical, Numeric, PublicEncoder
    >>> encoder = PublicEncoder({"age": Numeric(0, 100, impute=40), "work": Categorical(["public", "private"])})
    >>> encoder.feature_names
    ('age', 'work=public', 'work=private')
    >>> encoder.transform({"age": [25, None, 110], "work": ["private", "private", "public"]})
    array([[-0.5,  0. ,  1. ],
           [-0.2,  0. ,  1. ],
           [ 1. ,  1. ,  0. ]])
    """

    columns: Mapping[str, AnyColumn]

    def __post_init__(self) -> None:
        """Check every declaration, and that feature names differ."""
        object.__setattr__(self, "columns", checked_columns(self.columns))
        _refuse_additive(self.columns)
        twice = [name for name, times in Counter(map(same_text, self.feature_names)).items() if times > 1]
        if twice:
            normal = "" if twice[0].isascii() else ", possibly in different Unicode normal forms"
            rule = f"must give different features, and two are named {shown(twice[0])}{normal}"
            raise ParameterError(argument="columns", rule=rule)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicEncoder) and self._declared == other._declared

    def __hash__(self) -> int:
        return hash(self._declared)

    @property
    def _declared(self) -> tuple[tuple[str, AnyColumn], ...]:
        """Columns with their names, in the order of the features."""
        return tuple(self.columns.items())

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Feature names: the column name for a scaled number, and one name for each indicator.

        Indicators are named ``column=category``, ``column=(other)``, ``column=(missing)``, ``column<cut``,
        ``cut<=column<cut`` and ``column>=cut``.
        """
        return tuple(feature for name, column in self.columns.items() for feature in column.features(name))

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Public (low, high) of each feature, always (-1, 1), even for indicators.

        With symmetric bounds, an estimator does not shift the features.
        """
        return ((-1.0, 1.0),) * len(self.feature_names)

    @property
    def norm(self) -> float:
        """Public bound on the L2 norm of a row: the square root of the sum of all ``squared_norm``, rounded up."""
        squared = sum(column.squared_norm for column in self.columns.values())
        root = math.sqrt(squared)
        return root if Fraction(root) ** 2 >= squared else math.nextafter(root, math.inf)

    def transform(self, table: object, *, sparse: bool = False, unseen: Unseen = "raise") -> Union[Floats, "csr_array"]:
        """Return one row of features for each record.

        Parameters
        ----------
        table
            pandas or polars data frame, Arrow table, or mapping of names to one-dimensional arrays.
        sparse
            Whether to return a compressed sparse row matrix. Each row stores one entry for each declared column, and
            two for a `Numeric` column with ``bins`` or ``missing``. Entries that are zero are stored too, so the number
            of stored entries reveals nothing about the values.
        unseen
            Treatment of undeclared categories, and of missing values that a column does not allow. "raise" raises
            DataError. With "other", an undeclared category sets the ``(other)`` indicator of the column, and a missing
            value is encoded by the ``missing`` or ``impute`` setting of the column. Without the indicator or the
            setting, the features of the column are 0 in this record. Text in a `Numeric` column counts as missing. The
            norm of each row stays at most ``norm``. Numbers outside their bounds are always clipped.

        Returns
        -------
        ndarray or csr_array
            Features of shape (records, features).

        Raises
        ------
        DataError
            If a declared column is missing or contains dates or other objects, or if ``unseen`` is "raise" and a column
            contains an undeclared category or a missing value that its declaration does not allow. The message names
            the column and the rule, but not the value.
        ParameterError
            If ``unseen`` is neither "raise" nor "other".
        """
        encoded = self._encoded(table, checked_unseen(unseen))
        return self._sparse(encoded) if sparse else self._dense(encoded)

    def row_norms(self, table: object, *, unseen: Unseen = "raise") -> Floats:
        """Return the L2 norm of each encoded row, without building the matrix.

        Parameters
        ----------
        table, unseen
            See `transform`.

        Returns
        -------
        ndarray
            One norm for each record, in the order of the records. The norm of a record depends on this record alone.

        Raises
        ------
        DataError, ParameterError
            See `transform`.
        """
        squared: Floats | None = None
        for _, entries in self._encoded(table, checked_unseen(unseen)):  # the parts of a row have different places
            squared = entries * entries if squared is None else squared + entries * entries
        assert squared is not None  # there is at least one column
        return np.sqrt(squared)

    def to_json(self) -> str:
        """Return the declarations, which are public, as one line of JSON with a format version."""
        return _columns_to_json(self.columns)

    @classmethod
    def from_json(cls, text: str) -> "PublicEncoder":
        """Return the encoder stored as JSON.

        Parameters
        ----------
        text
            JSON written by ``to_json``.

        Returns
        -------
        PublicEncoder
            The encoder.

        Raises
        ------
        ParameterError
            If the text is not a stored encoder.
        """
        return cls(_columns_from_json(text))

    def _encoded(self, table: object, unseen: Unseen) -> Iterator[Part]:
        """Yield places of features with their entries for each record: one or two pairs for each declared column."""
        start, length = 0, None
        for name, column in self._declared:
            for places, entries in _parts(name, column, table, unseen):
                if length is not None and len(entries) != length:
                    raise DataError("all columns of the table must have the same length.")
                length = len(entries)
                yield start + places, entries
            start += len(column.features(name))

    def _dense(self, encoded: Iterator[Part]) -> Floats:
        matrix = np.empty((0, 0))
        for place, (places, entries) in enumerate(encoded):
            if place == 0:
                matrix = np.zeros((len(entries), len(self.feature_names)))
            matrix[np.arange(len(entries)), places] = entries
        return matrix

    def _sparse(self, encoded: Iterator[Part]) -> "csr_array":
        from scipy.sparse import csr_array

        places, entries = (np.stack(found, axis=1) for found in zip(*encoded, strict=True))
        index = np.int32 if entries.size < 2**31 else np.int64  # not every solver accepts 64-bit indices
        starts = np.arange(0, entries.size + 1, entries.shape[1], dtype=index)
        shape = (len(entries), len(self.feature_names))
        return csr_array((entries.ravel(), places.ravel().astype(index), starts), shape=shape)


def _parts(name: str, column: AnyColumn, table: object, unseen: Unseen) -> tuple[Part, ...]:
    """Return the places and entries of one column of a table."""
    if column.canonical:
        (cells,) = canonical_columns(table, [name])
        return column.canonical_entries(name, cells)
    (values,) = columns(table, [name])
    return column.entries(name, values, unseen)


def checked_unseen(unseen: object) -> Unseen:
    """Return ``unseen``; raise ParameterError unless it is "raise" or "other"."""
    if isinstance(unseen, str) and unseen in get_args(Unseen):
        return unseen  # type: ignore[return-value]  # one of its values
    raise ParameterError(argument="unseen", rule='must be "raise" or "other"', got=shown(unseen))


def _refuse_additive(columns: Mapping[str, AnyColumn]) -> None:
    """Raise ParameterError for declarations that linear features would ignore."""
    for name, column in columns.items():
        for field_name in column.additive_fields:
            raise ParameterError(
                argument=f"columns[{shown(name)}].{field_name}",
                rule="must keep its default here, because only additive models use it",
                got=shown(getattr(column, field_name)),
                remedy="Use PrivateAdditiveClassifier or PrivateAdditiveRegressor, or leave it out.",
            )


def checked_columns(given: object) -> dict[str, AnyColumn]:
    """Return a copy of the declarations, all checked.

    Raises
    ------
    ParameterError
        If there is no declaration, or one is invalid; the message names the column.
    """
    if not isinstance(given, Mapping) or not given:
        raise ParameterError(
            argument="columns",
            rule="must be a mapping of at least one name to Numeric(low, high) or Categorical(categories)",
            got="an empty one" if isinstance(given, Mapping) else shown(given),
        )
    for name, column in given.items():
        if not isinstance(name, str):
            raise ParameterError(argument="columns", rule="must be named by strings", got=shown(name))
        if not isinstance(column, AnyColumn):
            rule = "must be Numeric(low, high) or Categorical(categories)"
            raise ParameterError(argument=f"columns[{shown(name)}]", rule=rule, got=shown(column))
    return {name: column.checked(f"columns[{shown(name)}]") for name, column in given.items()}


def _columns_to_json(columns: Mapping[str, AnyColumn]) -> str:
    """Return one line of standard JSON: a list, since the order of columns is the order of features."""
    return json.dumps({"dperm_encoder": VERSION, "columns": columns_to_data(columns)}, allow_nan=False)


def _columns_from_json(text: str) -> dict[str, AnyColumn]:
    """Return the columns stored by `_columns_to_json`, with unchecked values.

    Raises
    ------
    ParameterError
        If the text was not written by `_columns_to_json`, or has an unknown version.
    """
    data = stored_object(text, "dperm_encoder", VERSION, rule=_TEXT)
    listed = data.get("columns")
    if set(data) != {"dperm_encoder", "columns"} or not isinstance(listed, list):
        raise ParameterError(f'{_TEXT}, with a list of "columns" and nothing else.')
    return columns_from_data(listed, rule=_TEXT)


def stored_object(text: str, key: str, version: int, *, rule: str) -> dict[str, Any]:
    """Return the object of a stored encoder, after checking its version.

    Parameters
    ----------
    text
        JSON.
    key
        Key of the format version.
    version
        Format version that this release reads.
    rule
        Rule of the error messages: what the text must be.

    Raises
    ------
    ParameterError
        If the text is not JSON, names a key twice, or has another version.
    """
    try:
        data = json.loads(text, object_pairs_hook=lambda pairs: _unique(pairs, rule))
    except (ValueError, TypeError, RecursionError) as error:
        raise ParameterError(f"{rule}, and it is not JSON: {shortened(str(error))}.") from None
    found = data.get(key) if isinstance(data, dict) else None
    if type(found) is not int or found != version:
        raise ParameterError(f'{rule}, with "{key}": {version}, got {shown(found)}.', remedy="Upgrade dperm.")
    return dict(data)


def columns_to_data(columns: Mapping[str, AnyColumn]) -> list[dict[str, object]]:
    """Return the declarations as JSON-serialisable data, in the order of the columns."""
    return [_encoded(name, column) for name, column in columns.items()]


def columns_from_data(listed: list[Any], *, rule: str) -> dict[str, AnyColumn]:
    """Return the columns of `columns_to_data`, with unchecked values.

    Raises
    ------
    ParameterError
        If an item is not a stored column, or two have the same name. The message begins with ``rule``.
    """
    return _unique([_decoded(column, rule) for column in listed], rule)


def _encoded(name: str, column: AnyColumn) -> dict[str, object]:
    kind = next(kind for kind, known in _KINDS.items() if isinstance(column, known))
    return {"name": name, "type": kind} | declared_fields(column)


def _decoded(data: object, rule: str) -> tuple[str, AnyColumn]:
    given = dict(data) if isinstance(data, dict) else {}
    name, kind = given.pop("name", None), given.pop("type", None)
    if not isinstance(name, str) or not isinstance(kind, str) or kind not in _KINDS:
        raise ParameterError(f'{rule}: each column has a "name", and a "type" that is one of {", ".join(_KINDS)}.')
    optional = set(optional_fields(_KINDS[kind]))
    expected = {item.name for item in fields(_KINDS[kind])} - optional
    if set(given) - optional != expected:
        listed = f"{', '.join(sorted(expected))}, and optionally {', '.join(sorted(optional))}"
        raise ParameterError(f"{rule}: the {kind} column {shown(name)} has the fields {listed}.")
    return name, _KINDS[kind](**given)


def _unique(pairs: list[tuple[str, Any]], rule: str) -> dict[str, Any]:
    """Return the pairs as a dictionary; raise ParameterError for duplicate keys instead of guessing."""
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ParameterError(f"{rule}, and names something twice.")
    return data
