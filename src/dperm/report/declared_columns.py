# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Declarations of columns and target as texts, for the data domain of a statement."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from dperm.data.columns import AnyColumn, Categorical, Numeric
from dperm.data.schema import AdditiveSchema, AnySchema, TargetSchema
from dperm.presentation.numbers import format_number
from dperm.report.run_facts import PREPARATION
from dperm.report.schema_facts import ENCODERS

FOUND_DIGITS = 4
"""Significant digits of numbers that a private schema found; declared numbers have the default number of digits."""

NOTHING_FOUND = (
    "Every prepared column was left out, because no value or range stands out from the noise: the model does not use "
    "the values of these columns."
)
SEPARATE = (
    "The private schema was released separately, before this fit. The guarantee of the fit does not cover that "
    "release, and both guarantees add up."
)


def describe_schema(schema: AnySchema, public: Mapping[str, object]) -> list[str]:
    """Return the declarations of a schema as texts, one for each column and for the target.

    Parameters
    ----------
    schema
        Schema of a model.
    public
        Public facts of the fit. If they name no preparation, a schema with privately found columns, such as one of
        ``dperm schema fit``, is a release of its own, and a last sentence says so.
    """
    preparation = public.get(PREPARATION)
    declared = preparation.get("declared", ()) if isinstance(preparation, Mapping) else ()
    prepared = preparation.get("columns", ()) if isinstance(preparation, Mapping) else ()
    found = {name for name, column in schema.encoder.columns.items() if column.canonical and name not in declared}
    columns = [_describe(name, column, is_found=name in found) for name, column in _columns(schema).items()]
    encoders = public.get(ENCODERS)
    listed = encoders if isinstance(encoders, list) else []
    known = PREPARATION in public or any(isinstance(one, Mapping) and "guarantee" in one for one in listed)
    separate = bool(found) and not known
    preparation = public.get(PREPARATION)
    found_labels = isinstance(preparation, Mapping) and preparation.get("target") is not None
    target = [] if schema.target is None else [_target(schema.target) + "; found privately" * found_labels]
    empty = [NOTHING_FOUND] if prepared and all(_is_left_out(schema, name) for name in prepared) else []
    return [*columns, *target, *empty, *([SEPARATE] if separate else [])]


def _columns(schema: AnySchema) -> Mapping[str, AnyColumn]:
    """Return the declarations; those of an additive model with its treatment of missing and undeclared values."""
    if not isinstance(schema, AdditiveSchema):
        return schema.encoder.columns
    return {
        name: replace(column, missing=False, other=True)
        if isinstance(column, Categorical)
        else replace(column, missing=column.impute is None)
        for name, column in schema.encoder.columns.items()
    }


def _is_left_out(schema: AnySchema, name: str) -> bool:
    """Whether the encoder has no value and no range of a prepared column."""
    column = schema.encoder.columns.get(name)
    return column is None or (isinstance(column, Categorical) and not column.categories)


def _describe(name: str, column: AnyColumn, *, is_found: bool) -> str:
    if isinstance(column, Numeric):
        values = f"number in [{_number(column.low, column)}, {_number(column.high, column)}]"
    elif not column.categories:
        values = "all values are treated alike"
    else:
        values = f"one of {', '.join(map(str, column.categories))}{', or another value' * column.other}"
    return "; ".join([f"{name}: {values}", *_details(column, is_found=is_found)])


def _details(column: AnyColumn, *, is_found: bool) -> Iterator[str]:
    """Yield the optional parts of a declaration."""
    if isinstance(column, Numeric) and column.cut_points:
        yield f"cut points, applied to the values before clipping: {', '.join(map(format_number, column.cut_points))}"
    if column.impute is not None:
        number = _number(column.impute, column) if isinstance(column, Numeric) else str(column.impute)
        yield f"missing values replaced by {number}{' and marked by a separate feature' * bool(column.missing)}"
    elif column.missing:
        yield "missing values marked by a separate feature"
    if is_found:
        yield "found privately"


def _number(value: float, column: Numeric) -> str:
    return format_number(value, digits=FOUND_DIGITS) if column.canonical else format_number(value)


def _target(target: TargetSchema) -> str:
    if target.classes is not None:
        return f"{target.name} (target): one of {', '.join(map(str, target.classes))}"
    low, high = target.range or (0.0, 0.0)
    return f"{target.name} (target): number in [{format_number(low)}, {format_number(high)}]"
