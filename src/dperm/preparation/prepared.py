# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Result of a private preparation: released counts, and the public schema that follows from them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from dperm.data.columns import AnyColumn, Categorical
from dperm.data.encoder import PublicEncoder
from dperm.data.identity import same_text
from dperm.data.schema import Schema, TargetSchema
from dperm.preparation.profile import ColumnProfile
from dperm.preparation.row_norms import RowNorms
from dperm.preparation.schema import class_labels, declared_column, label_range, record_count, scaled_column
from dperm.preparation.values import ColumnValues, NumericCells, TextValues


class TargetKind(StrEnum):
    """Kind of the target: classes, or a number."""

    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Encoding(StrEnum):
    """Encoding of prepared columns: bins with the scaled number, or the scaled number alone (T75, T76)."""

    BINS = "bins"
    SCALED = "scaled"


@dataclass(frozen=True)
class PreparedTable:
    """Released facts about a table. All attributes are covered by the guarantee of the preparation.

    Attributes
    ----------
    encoder
        Encoder of the feature columns, declared and prepared.
    target
        Name of the target; None without one.
    classes
        Classes found, sorted; None unless the task is a classification.
    label_range
        Range of the target; None unless the task is a regression, or if no range was found.
    records
        Noisy estimate of the number of records.
    constant
        Names of columns without any value or range above the noise. The encoder leaves them out.
    profiles, values
        Released counts of each prepared column, by name.
    rows
        Released norms of the encoded rows; None unless numbers are only scaled (T76).
    """

    encoder: PublicEncoder
    target: str | None
    classes: tuple[str | int | float, ...] | None
    label_range: tuple[float, float] | None
    records: float
    constant: tuple[str, ...]
    profiles: Mapping[str, ColumnProfile] = field(repr=False)
    values: Mapping[str, ColumnValues] = field(repr=False)
    rows: RowNorms | None = None

    @classmethod
    def of(
        cls,
        profiles: Mapping[str, ColumnProfile],
        values: Mapping[str, ColumnValues],
        *,
        declared: Mapping[str, AnyColumn],
        deviation: float,
        target: str | None,
        task: TargetKind | None,
        most_classes: int,
        encoding: Encoding = Encoding.BINS,
    ) -> "PreparedTable":
        """Return the table that follows from released counts; post-processing (T3).

        Parameters
        ----------
        profiles, values
            Released counts of each prepared column.
        declared
            Declarations of further columns.
        deviation
            Standard deviation of the noise in ``values``.
        target, task
            Name and kind of the target.
        most_classes
            Public largest number of classes.
        encoding
            Encoding of the prepared columns.
        """
        features = {name: found for name, found in values.items() if name != target}
        columns = {
            name: scaled_column(found) if encoding is Encoding.SCALED else declared_column(found, deviation)
            for name, found in features.items()
        }
        constant = tuple(name for name, column in columns.items() if column is None)
        kept: dict[str, AnyColumn] = dict(declared)
        kept |= {name: column for name, column in columns.items() if column is not None}
        if not kept:  # an encoder has at least one column
            kept = {constant[0]: Categorical((), other=True, missing=True, canonical=True)}
        known = values[target] if target is not None else None
        return cls(
            PublicEncoder(_distinct(kept)),
            target,
            classes=None
            if known is None or task is not TargetKind.CLASSIFICATION
            else class_labels(known, most_classes),
            label_range=None if known is None or task is not TargetKind.REGRESSION else label_range(known),
            records=record_count(profiles),
            constant=constant,
            profiles=dict(profiles),
            values=dict(values),
        )

    @property
    def norm(self) -> float:
        """Norm to which encoded rows are scaled down; without released row norms, the bound on every row."""
        return self.encoder.norm if self.rows is None else self.rows.norm

    @property
    def schema(self) -> Schema:
        """Public schema: the encoder, and the target if its classes or its range were found."""
        found: TargetSchema | None = None
        if self.target is not None and self.classes is not None and len(self.classes) >= 2:
            found = TargetSchema(self.target, classes=self.classes)
        elif self.target is not None and self.label_range is not None:
            found = TargetSchema(self.target, range=self.label_range)
        return Schema(self.encoder, found)

    def __repr__(self) -> str:
        """Return schema and released counts as one line, from which the digest in a ledger is computed."""
        counts = {name: _counts(found) for name, found in self.values.items()}
        bins = {name: sorted(profile.counts.items()) for name, profile in self.profiles.items()}
        rows = [] if self.rows is None else [self.rows.norm, self.rows.counts.tolist()]
        return f"PreparedTable({json.dumps([self.schema.to_json(), self.records, bins, counts, *rows])})"


def _counts(found: ColumnValues) -> list[object]:
    if isinstance(found, TextValues):
        return [list(item) for item in found.counts.items()]
    assert isinstance(found, NumericCells)
    return [found.edges.tolist(), found.counts.tolist()]


def _distinct(columns: Mapping[str, AnyColumn]) -> dict[str, AnyColumn]:
    """Return the columns without released categories whose feature would have the name of another feature.

    The encoder refuses two features of one name, and a preparation must not fail after its charge. Such a category
    counts as an "other" value.
    """
    used: set[str] = set()
    for name, column in columns.items():
        if not isinstance(column, Categorical) or not column.canonical:
            used |= set(map(same_text, column.features(name)))
    kept: dict[str, AnyColumn] = {}
    for name, column in columns.items():
        if isinstance(column, Categorical) and column.canonical:
            own = set(map(same_text, replace(column, categories=()).features(name)))
            categories = []
            used |= own
            for category in column.categories:
                feature = same_text(f"{name}={category}")
                if feature not in used:
                    used.add(feature)
                    categories.append(category)
            column = replace(column, categories=tuple(categories))
        kept[name] = column
    return kept
