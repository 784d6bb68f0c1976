# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plain data as HTML: lists, definitions and tables; every text is escaped."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from dperm.report.text import is_short

MOST_IN_LINE = 24
_LINKS = ("https://", "http://")
_WHOLE = re.compile(r"\b(?:epsilon|delta|rho|mu) = [\w.-]*\w|\b\d[\d.]*e-\d+\b|\b\d[\d.]* %")
"""What must not be broken at the end of a line, such as 1e-5."""


def value_html(value: object) -> str:
    """A value that was prepared by `presented` as HTML."""
    if isinstance(value, Mapping):
        return definitions((str(name), value_html(item)) for name, item in value.items())
    return _list_html(value) if isinstance(value, list) else _text(value)


def text_html(text: str) -> str:
    """Escaped text whose numbers stay in one line."""
    return _WHOLE.sub(r'<span class="whole">\g<0></span>', escape(text))


def definitions(rows: Iterable[tuple[str, str]]) -> str:
    """Names, which are escaped, and their HTML."""
    parts = (f"<div><dt>{escape(name)}</dt><dd>{content}</dd></div>" for name, content in rows)
    return f'<dl class="pairs">{"".join(parts)}</dl>'


def grid(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """A table of texts, which are escaped; headers have their scope."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f'<div class="wide"><table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def fold(summary: str, content: str, *, kind: str = "") -> str:
    """Content that is shown when asked for."""
    return f'<details class="{kind}"><summary>{escape(summary)}</summary>{content}</details>'


def _cells(row: Sequence[str]) -> str:
    first, *rest = (escape(cell) for cell in row)
    return f'<th scope="row">{first}</th>' + "".join(f"<td>{cell}</td>" for cell in rest)


def _list_html(values: Sequence[object]) -> str:
    if is_short(values):
        return _folded(", ".join(map(_text, values)), len(values))
    inner = [item for item in values if isinstance(item, list) and is_short(item)]
    if len(inner) == len(values):
        return _folded(", ".join("[" + ", ".join(map(_text, item)) + "]" for item in inner), len(values))
    rows = _rows(values)
    if rows:
        return grid(list(rows[0]), (list(map(str, row.values())) for row in rows))
    return f"<ul>{''.join(f'<li>{value_html(item)}</li>' for item in values)}</ul>"


def _folded(content: str, count: int) -> str:
    return content if count <= MOST_IN_LINE else fold(f"{count} items", content)


def _rows(values: Sequence[object]) -> list[dict[str, object]]:
    """The items as rows of a table, if they are mappings of single values with the same keys; else none."""
    rows = [dict(item) for item in values if isinstance(item, Mapping)]
    flat = all(not isinstance(part, Mapping | list) for row in rows for part in row.values())
    same = len(rows) == len(values) and all(list(row) == list(rows[0]) for row in rows)
    return rows if flat and same else []


def _text(value: object) -> str:
    text = str(value)
    if text.startswith(_LINKS) and not any(sign.isspace() for sign in text):
        return f'<a href="{escape(text)}" rel="noopener noreferrer">{escape(text)}</a>'
    return text_html(text)
