# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plain data as HTML: lists, definitions and tables; every text is escaped."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape

from dperm.report.numbers import as_text
from dperm.report.text import is_short

Number = Callable[[float], str]
MOST_IN_LINE = 24
_WORDS = {
    "n": "number of records",
    "n_features": "number of features",
    "gdp_mu": "closest Gaussian mu (a reading, not a promise)",
    "seq": "entry",
    "hash": "hash of the entry",
    "releases": "releases so far",
}
_LINKS = ("https://", "http://")


def value_html(value: object, number: Number = as_text) -> str:
    """A value as HTML; ``number`` writes its numbers."""
    if isinstance(value, Mapping) and value:
        return definitions(((words(name), value_html(item, number)) for name, item in value.items()))
    if isinstance(value, list | tuple) and value:
        return _list_html(value, number)
    return _text(value, number)


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


def words(name: object) -> str:
    """A key as words."""
    return _WORDS.get(str(name), str(name).replace("_", " "))


def _cells(row: Sequence[str]) -> str:
    first, *rest = (escape(cell) for cell in row)
    return f'<th scope="row">{first}</th>' + "".join(f"<td>{cell}</td>" for cell in rest)


def _list_html(values: Sequence[object], number: Number) -> str:
    if is_short(values):
        return _folded(", ".join(_text(item, number) for item in values), len(values))
    inner = [item for item in values if isinstance(item, list | tuple) and is_short(item)]
    if len(inner) == len(values):
        texts = ("[" + ", ".join(_text(part, number) for part in item) + "]" for item in inner)
        return _folded(", ".join(texts), len(values))
    rows = _rows(values)
    if rows:
        return grid(
            [words(name) for name in rows[0]], ([_plain(part, number) for part in row.values()] for row in rows)
        )
    return f"<ul>{''.join(f'<li>{value_html(item, number)}</li>' for item in values)}</ul>"


def _folded(content: str, count: int) -> str:
    return content if count <= MOST_IN_LINE else fold(f"{count} items", content)


def _rows(values: Sequence[object]) -> list[dict[str, object]]:
    """The items as rows of a table, if they are mappings of single values with the same keys; else none."""
    rows = [dict(item) for item in values if isinstance(item, Mapping) and item]
    flat = all(not isinstance(part, Mapping | list | tuple) for row in rows for part in row.values())
    same = len(rows) == len(values) and all(list(row) == list(rows[0]) for row in rows)
    return rows if flat and same else []


def _text(value: object, number: Number) -> str:
    if isinstance(value, str) and value.startswith(_LINKS) and not any(sign.isspace() for sign in value):
        return f'<a href="{escape(value)}" rel="noopener noreferrer">{escape(value)}</a>'
    return escape(_plain(value, number))


def _plain(value: object, number: Number) -> str:
    if value is None or value in ("", {}, [], ()):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, int | float) else str(value)
