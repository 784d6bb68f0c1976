# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Declarations of columns and target as text, for the data domain of a statement."""

from collections.abc import Iterator

from dperm.data.columns import AnyColumn, Numeric
from dperm.data.schema import Schema, TargetSchema


def describe_schema(schema: Schema) -> str:
    """Return all declarations of a schema as one line of text."""
    columns = [_describe(name, column) for name, column in schema.encoder.columns.items()]
    return "enforced; " + "; ".join([*columns, *([] if schema.target is None else [_target(schema.target)])])


def _describe(name: str, column: AnyColumn) -> str:
    if isinstance(column, Numeric):
        values = f"a number in [{column.low:g}, {column.high:g}]"
    else:
        values = f"one of {', '.join(map(str, column.categories))}{', or another value' * column.other}"
    return ", ".join([f"{name}: {values}", *_details(column)])


def _details(column: AnyColumn) -> Iterator[str]:
    """Yield the optional parts of a declaration."""
    if isinstance(column, Numeric) and column.bins:
        yield f"with cut points {', '.join(f'{cut:g}' for cut in column.bins)}"
    if column.impute is not None:
        number = f"{column.impute:g}" if isinstance(column, Numeric) else str(column.impute)
        yield f"where {number} replaces missing values"
    if column.missing:
        yield "with a feature for missing values"
    if column.canonical:
        yield "from a private schema"


def _target(target: TargetSchema) -> str:
    if target.classes is not None:
        return f"{target.name}: one of {', '.join(map(str, target.classes))}"
    low, high = target.range or (0.0, 0.0)
    return f"{target.name}: a number in [{low:g}, {high:g}]"
