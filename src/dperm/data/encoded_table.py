# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables in row groups with declared columns, encoded as features piece by piece when a fit reads them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dperm.data.columns import Unseen
from dperm.data.encoded import EncodingFacts
from dperm.data.encoder import PublicEncoder
from dperm.data.row_groups import RowGroup, located, pieces_of
from dperm.data.schema import TargetSchema


@dataclass(frozen=True)
class SchemaReader:
    """Picklable reader of declared columns as features, with a column of labels; a `ReadPieces`.

    Attributes
    ----------
    encoder
        Declared columns.
    label
        Name of the column of labels.
    target
        Declaration of the labels; None for labels as they are.
    sparse
        Whether features are compressed sparse rows.
    unseen
        Treatment of cells outside the declarations, as in `PublicEncoder.transform`.
    """

    encoder: PublicEncoder
    label: str
    target: TargetSchema | None = None
    sparse: bool = False
    unseen: Unseen = "raise"

    def __call__(self, group: RowGroup) -> Iterator[tuple[Any, Any]]:
        """Yield matrices of features with their labels.

        Raises
        ------
        DataError
            If a cell violates its declaration. The message names the column, the rule and the row group, and no cell.
        """
        declared = {**self.encoder.columns, self.label: self.target}
        for piece in pieces_of(group, (), declared, unseen=self.unseen):
            yield located(group.id, lambda: self._features(piece.columns)), piece.columns[self.label]  # noqa: B023

    def _features(self, columns: dict[str, Any]) -> Any:
        return self.encoder.transform(columns, sparse=self.sparse, unseen=self.unseen)


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """Table in row groups with declared columns as features. No row is read before a fit.

    `dperm.sklearn.PublicTableEncoder` returns it for a `dperm.data.Table` or a frame of Dask, and the linear models
    accept it as X.

    Attributes
    ----------
    table
        Table with its engine, or frame of Dask.
    encoder
        Declared columns.
    target
        Declaration of the labels; None for labels as they are.
    sparse, unseen
        See `SchemaReader`.
    facts
        Facts for arguments "auto" of an estimator and for its record; None for an encoder that is not part of them.
    """

    table: Any
    encoder: PublicEncoder
    target: TargetSchema | None = None
    sparse: bool = False
    unseen: Unseen = "raise"
    facts: EncodingFacts | None = None

    def reader(self, label: str) -> SchemaReader:
        """Return the reader of the features and of the column ``label``."""
        return SchemaReader(self.encoder, label, target=self.target, sparse=self.sparse, unseen=self.unseen)

    def __repr__(self) -> str:
        """Return the number of features, and nothing about the rows."""
        return f"EncodedTable({len(self.encoder.feature_names)} features)"
