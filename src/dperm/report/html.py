# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Small pieces of HTML; every text is escaped."""

from collections.abc import Iterable, Mapping
from html import escape

_CELL = "text-align:left;vertical-align:top;padding:2px 8px"


def table(rows: Iterable[tuple[str, object]]) -> str:
    """Two columns: a name, and a value of plain data."""
    return f"<table>{''.join(_row(name, value) for name, value in rows)}</table>"


def _row(name: str, value: object) -> str:
    return f'<tr><th style="{_CELL}">{escape(name)}</th><td style="{_CELL}">{_value(value)}</td></tr>'


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "<br/>".join(f"{escape(str(name))}: {_value(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        plain = all(isinstance(item, int | float | str) for item in value)
        return (", " if plain and not _sentences(value) else "<br/>").join(_value(item) for item in value)
    return escape(str(value))


def _sentences(values: Iterable[object]) -> bool:
    return any(" " in str(value) for value in values)
