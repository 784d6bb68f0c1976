# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables in row groups as input of ``fit``: files larger than memory, and objects of Dask."""

import os
from dataclasses import dataclass, field, replace
from typing import Any

from dperm.checks import shown
from dperm.data.bounded import BoundedData
from dperm.data.encoded import EncodingFacts, facts_of
from dperm.data.encoded_table import EncodedTable
from dperm.data.large_tables import Table, engine_facts_of
from dperm.data.row_encoder import ColumnReader, ReadPieces, RowEncoder, encoded_table
from dperm.data.row_groups import listed_columns
from dperm.data.space import FeatureSpace
from dperm.data.targets import Target
from dperm.engines.dask_tables import is_dask, row_groups_of
from dperm.errors import ParameterError
from dperm.presentation.spelling import arg

REQUIRES_Y = "fit requires y to be passed, but the target y is None."


@dataclass
class TableInput:
    """Features and labels of a fit as columns of a table in row groups.

    Attributes
    ----------
    table
        Table with its engine.
    features
        Names of the columns of features, in order.
    label
        Name of the column of labels.
    names
        Column names to store in the model; None for an array without names.
    reader
        Reader of features and labels; None for columns of numbers.
    """

    table: Table
    features: tuple[str, ...]
    label: str
    names: tuple[str, ...] | None
    reader: ReadPieces | None = None
    _encoded: BoundedData | None = field(default=None, repr=False)

    @property
    def shape(self) -> tuple[None, int]:
        """Unknown number of rows, and number of features."""
        return None, len(self.features)

    @property
    def engine_facts(self) -> dict[str, str]:
        """Name of the engine, and its version if it has one, as public facts of a fit."""
        return engine_facts_of(self.table)

    def encoded(self, space: FeatureSpace, target: Target, invalid: str) -> BoundedData:
        """Return the bounded data, after the first read of all rows; a second call returns the same data."""
        if self._encoded is None:
            read = self.reader or ColumnReader(self.features, self.label)
            encoder = RowEncoder(space, target, read, self.features)
            self._encoded = encoded_table(self.table, encoder, invalid=invalid, names=self.names)
        return self._encoded

    def close(self) -> None:
        """Free the encoded rows, in memory, in scratch files or on workers."""
        if self._encoded is not None:
            self._encoded.store.close()  # type: ignore[attr-defined]  # rows of a table are `TablePasses`
            self._encoded = None


def table_input(X: Any, y: Any) -> TableInput | None:
    """Return a table in row groups and the column of its labels; None if X is in memory.

    Raises
    ------
    ParameterError
        If y does not name a column of the table, or is not aligned with X.
    """
    refuse_paths(X)
    if isinstance(X, EncodedTable):
        if is_dask(X.table):
            found = _dask_input(X.table, y)
            return replace(found, features=X.encoder.feature_names, names=None, reader=X.reader(found.label))
        label = _label_column(X.table, y, "Columns that the encoder declares are features.")
        if label in X.encoder.columns:
            rule = "must name a column that the encoder does not declare as a feature"
            raise ParameterError(argument="y", rule=rule, got=shown(label))
        return TableInput(X.table, X.encoder.feature_names, label, None, X.reader(label))
    if isinstance(X, Table):
        label = _label_column(
            X, y, "All other columns are features; pass the names of the columns to use to Table.select."
        )
        features = tuple(name for name in X.columns if name != label)
        if not features:
            raise ParameterError(argument="X", rule="must have at least one column besides the labels")
        return TableInput(X, features, label, features)
    if is_dask(X):
        return _dask_input(X, y)
    if is_dask(y):
        raise ParameterError(
            argument="y", rule="must be in memory like X", remedy="Pass both as objects of Dask, or compute both."
        )
    return None


def refuse_paths(X: object) -> None:
    """Raise ParameterError for a path or a pattern in place of a table."""
    if isinstance(X, str | os.PathLike):
        raise ParameterError(
            argument="X",
            rule="must be an array or a table",
            got=f"the path {shown(X)}",
            remedy=f"Open files by dperm.data.table, and pass the result: table({shown(X)}).",
        )


def encoding_facts_of(X: object) -> EncodingFacts | None:
    """Return the facts of the encoder of X, in memory or in row groups; None for any other object."""
    return X.facts if isinstance(X, EncodedTable) else facts_of(X)


def _label_column(table: Table, y: Any, remedy: str) -> str:
    """Return the name of the column of labels; raise ParameterError unless ``y`` is one."""
    if isinstance(y, str) and y in table.columns:
        return y
    if y is None:
        raise ParameterError(REQUIRES_Y, remedy="Give the name of the column of labels.")
    raise ParameterError(
        argument="y",
        rule="must be the name of a column, where X is a table in row groups",
        got=shown(y) if isinstance(y, str) else f"an object of type {type(y).__name__}",
        remedy=f"{listed_columns(table)} {remedy}",
    )


def _dask_input(X: Any, y: Any) -> TableInput:
    from dperm.engines import DaskEngine

    if y is None:
        raise ParameterError(REQUIRES_Y, remedy="Give the labels.")
    groups = row_groups_of(X, y)
    *features, label = groups.columns
    engine = DaskEngine()
    names = tuple(features) if hasattr(X, "columns") else None
    return TableInput(Table(groups.groups, groups.columns, engine, 0), tuple(features), label, names)


def undeclared_classes() -> ParameterError:
    """Return the error for a classifier without declared classes and a table in row groups."""
    return ParameterError(
        argument="classes",
        rule="must be declared for a table in row groups",
        remedy=f"Give all labels, such as {arg('classes', (0, 1))}.",
    )
