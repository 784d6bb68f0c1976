# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Result of a private preparation: released counts, and the public schema that follows from them."""

import json
import math
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from enum import StrEnum

from dperm.checks import shown
from dperm.data.columns import AnyColumn, Categorical, Numeric
from dperm.data.encoder import PublicEncoder
from dperm.data.identity import same_text
from dperm.data.schema import Schema, TargetSchema
from dperm.errors import ParameterError
from dperm.preparation.profile import ColumnProfile
from dperm.preparation.row_norms import RowNorms
from dperm.preparation.schema import class_labels, declared_column, label_range, record_count, scaled_column
from dperm.preparation.values import ColumnValues, NumericCells, TextValues
from dperm.presentation.facts import Fact

MOST_BINNED_COLUMNS = 200
"""Number of feature columns above which numbers are only scaled by default. It affects utility only."""


class TargetKind(StrEnum):
    """Kind of the target: classes, or a number."""

    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Encoding(StrEnum):
    """Encoding of prepared columns: bins with the scaled number, or the scaled number alone (T75, T76)."""

    BINS = "bins"
    SCALED = "scaled"

    @classmethod
    def of(cls, encoding: object, columns: int) -> "Encoding":
        """Return the encoding selected by the argument ``encoding`` of an estimator.

        "auto" depends on the public number of feature columns.
        """
        if isinstance(encoding, str) and encoding == "auto":
            return cls.SCALED if columns > MOST_BINNED_COLUMNS else cls.BINS
        if not isinstance(encoding, str) or encoding not in tuple(cls):
            rule = 'must be "auto", "bins" or "scaled"'
            raise ParameterError(argument="encoding", rule=rule, got=shown(encoding))
        return cls(encoding)


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
        Names of columns that the encoder leaves out: those without any value or range above the noise, and those whose
        features would all have the names of features of other columns.
    profiles, values
        Released profile, and released values or histogram, of each prepared column, by name.
    rows
        Released histogram of the norms of the encoded rows, and the norm to which rows are scaled down; None unless
        numbers are only scaled (T76).
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
        """Return the facts that follow from released counts. This is post-processing (T3).

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
            Public upper limit on the number of classes.
        encoding
            Encoding of the prepared columns.
        """
        features = {name: found for name, found in values.items() if name != target}
        columns = {
            name: scaled_column(found) if encoding is Encoding.SCALED else declared_column(found, deviation)
            for name, found in features.items()
        }
        kept = _distinct(declared, {name: column for name, column in columns.items() if column is not None})
        constant = tuple(name for name in columns if name not in kept)
        if not kept:  # an encoder has at least one column
            kept = {constant[0]: Categorical((), other=True, missing=True, canonical=True)}
        known = values[target] if target is not None else None
        return cls(
            PublicEncoder(kept),
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

    @classmethod
    def declared(cls, columns: Mapping[str, AnyColumn]) -> "PreparedTable":
        """Return a table whose columns are all declared, so that nothing was released."""
        return cls(
            PublicEncoder(columns),
            None,
            classes=None,
            label_range=None,
            records=math.nan,
            constant=(),
            profiles={},
            values={},
        )

    @property
    def norm(self) -> float:
        """Norm to which encoded rows are scaled down, or the bound on the norm of every row if none was released."""
        return self.encoder.norm if self.rows is None else self.rows.norm

    @property
    def nothing_found(self) -> bool:
        """Whether feature columns were prepared, and all of them were left out."""
        return bool(self.constant) and set(self.constant) == {name for name in self.values if name != self.target}

    @property
    def stand_in(self) -> str | None:
        """Left-out column in an encoder without other columns; its features show only whether it is missing."""
        return next((name for name in self.encoder.columns if name in self.constant), None)

    @property
    def warnings(self) -> tuple[Fact, ...]:
        """Warning that every prepared column was left out, which follows from the released schema."""
        if not self.nothing_found:
            return ()
        known = "the declared columns" if self.stand_in is None else f"whether {shown(self.stand_in)} is missing"
        return (
            Fact(
                "preparation.nothing_found",
                "every prepared column was left out, because no value or range stands out from the noise. The features "
                "show only {known}. Use more records, declare {@columns}, or give a larger epsilon (T91).",
                {"known": known},
            ),
        )

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


def _distinct(declared: Mapping[str, AnyColumn], prepared: Mapping[str, AnyColumn]) -> dict[str, AnyColumn]:
    """Return all columns, without the parts of prepared ones whose features would have the names of other features.

    The encoder refuses two features of one name, and a preparation must not fail after its charge. Features of declared
    columns and scaled numbers keep their names. A category that loses its feature counts as an "other" value. A number
    loses its bins, then the feature of missing numbers. A column that loses all features is left out.
    """
    used = {feature for name, column in declared.items() for feature in _features(name, column)}
    used |= (numbers := {same_text(name) for name, column in prepared.items() if isinstance(column, Numeric)} - used)
    kept = dict(declared)
    for name, column in prepared.items():
        own = {same_text(name)} & numbers if isinstance(column, Numeric) else set()
        smaller = _fewer_categories(name, column, used) if isinstance(column, Categorical) else _fewer_bins(column)
        found = next((one for one in smaller if not _features(name, one) & (used - own)), None)
        if found is not None:
            used |= _features(name, found)
            kept[name] = found
    return kept


def _features(name: str, column: AnyColumn) -> set[str]:
    return set(map(same_text, column.features(name)))


def _fewer_bins(column: Numeric) -> Iterator[AnyColumn]:
    yield from (column, replace(column, bins=()), replace(column, bins=(), missing=False))


def _fewer_categories(name: str, column: Categorical, used: Set[str]) -> Iterator[AnyColumn]:
    """Yield the column with categories of free names, then without the features of missing and of other values."""
    for other, missing in ((True, True), (True, False), (False, True), (False, False)):
        general = replace(column, categories=(), other=other, missing=missing)
        own = {*used, *_features(name, general)}
        categories = []
        for category in column.categories:
            feature = same_text(f"{name}={category}")
            if feature not in own:
                own.add(feature)
                categories.append(category)
        if categories or other or missing:
            yield replace(general, categories=tuple(categories))
