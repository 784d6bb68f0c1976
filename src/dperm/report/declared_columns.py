# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Declarations of columns and target as texts, for the data domain of a statement."""

from collections.abc import Iterator

from dperm.data.columns import AnyColumn, Numeric
from dperm.data.schema import Schema, TargetSchema
from dperm.presentation.numbers import format_number

FOUND_DIGITS = 4
"""Significant digits of numbers that a private schema found; declared numbers have the default number of digits."""


def describe_schema(schema: Schema) -> list[str]:
    """Return the declarations of a schema as texts, one for each column and for the target."""
    columns = [_describe(name, column) for name, column in schema.encoder.columns.items()]
    return columns if schema.target is None else [*columns, _target(schema.target)]


def _describe(name: str, column: AnyColumn) -> str:
    if isinstance(column, Numeric):
        values = f"number in [{_number(column.low, column)}, {_number(column.high, column)}]"
    else:
        values = f"one of {', '.join(map(str, column.categories))}{', or another value' * column.other}"
    return "; ".join([f"{name}: {values}", *_details(column)])


def _details(column: AnyColumn) -> Iterator[str]:
    """Yield the optional parts of a declaration."""
    if isinstance(column, Numeric) and column.bins:
        yield f"cut points {', '.join(_number(cut, column) for cut in column.bins)}"
    if column.impute is not None:
        number = _number(column.impute, column) if isinstance(column, Numeric) else str(column.impute)
        yield f"missing values replaced by {number}{' and marked by a separate feature' * bool(column.missing)}"
    elif column.missing:
        yield "missing values marked by a separate feature"
    if column.canonical:
        yield "found by the private schema"


def _number(value: float, column: Numeric) -> str:
    return format_number(value, digits=FOUND_DIGITS) if column.canonical else format_number(value)


def _target(target: TargetSchema) -> str:
    if target.classes is not None:
        return f"{target.name} (target): one of {', '.join(map(str, target.classes))}"
    low, high = target.range or (0.0, 0.0)
    return f"{target.name} (target): number in [{format_number(low)}, {format_number(high)}]"
