# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Small pieces of HTML; every text is escaped."""

from collections.abc import Iterable, Mapping
from html import escape

from dperm.report.text import in_line, is_short

_CELL = "text-align:left;vertical-align:top;padding:2px 8px"


def table(rows: Iterable[tuple[str, object]]) -> str:
    """Two columns: a name, and a value of plain data."""
    return f"<table>{''.join(_row(name, value) for name, value in rows)}</table>"


def _row(name: str, value: object) -> str:
    return f'<tr><th style="{_CELL}">{escape(name)}</th><td style="{_CELL}">{_value(value)}</td></tr>'


def _value(value: object) -> str:
    """Items of mappings and lists each in a block of its own; mappings inside are indented."""
    if isinstance(value, Mapping) and value:
        return "".join(f"<div>{escape(str(name))}: {_inside(item)}</div>" for name, item in value.items())
    if isinstance(value, list | tuple) and not is_short(value):
        return "".join(f"<div>{_value(item)}</div>" for item in value)
    return escape(in_line(value))


def _inside(value: object) -> str:
    nested = bool(value) if isinstance(value, Mapping) else isinstance(value, list | tuple) and not is_short(value)
    return f'<div style="margin-left:1em">{_value(value)}</div>' if nested else _value(value)
