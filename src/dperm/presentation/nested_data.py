# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""JSON-like values for readers: nested mappings and lists as lines of text, HTML and Markdown.

Every text is escaped for its format.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from dperm.presentation.tables import TextTable, escape_markdown

MOST_IN_LINE = 24
"""Longer lists are folded in HTML."""
_INDENT = "  "
_LINKS = ("https://", "http://")
_UNBROKEN = re.compile(r"\b(?:epsilon|delta|rho|mu) = [\w.-]*\w|\b\d[\d.]*e-\d+\b|\b\d[\d.]* %")
"""Text that must not be broken at the end of a line, such as 1e-5."""


def is_short(values: Sequence[object]) -> bool:
    """Return whether all items are numbers or single words, which fit on one line."""
    return all(isinstance(item, int | float | str) and " " not in str(item) for item in values)


def text_lines(name: str, value: object) -> Iterator[str]:
    """Yield ``name: value`` on one line, or the name and below it the indented items of the value."""
    if isinstance(value, Mapping) and value:
        yield f"{name}:"
        for key, item in value.items():
            yield from (_INDENT + line for line in text_lines(str(key), item))
    elif isinstance(value, list | tuple) and not is_short(value):
        yield f"{name}:"
        for item in value:
            yield from (_INDENT + line for line in _list_item(item))
    else:
        yield f"{name}: {one_line(value)}"


def _list_item(item: object) -> Iterator[str]:
    if isinstance(item, Mapping):
        parts = [line for key, part in item.items() for line in text_lines(str(key), part)]
        yield from (f"{'  ' if place else '- '}{line}" for place, line in enumerate(parts))
    else:
        yield f"- {one_line(item)}"


def one_line(value: object) -> str:
    """Return a value on one line; "none" for None and empty mappings."""
    if isinstance(value, list | tuple):
        return ", ".join(f"[{one_line(item)}]" if isinstance(item, list | tuple) else str(item) for item in value)
    return "none" if value is None or value == {} else str(value)


def html_value(value: object) -> str:
    """Return a value as HTML: a definition list, a table, a bullet list or text. Web addresses become links."""
    if isinstance(value, Mapping):
        return html_definitions((str(name), html_value(item)) for name, item in value.items())
    return _html_list(value) if isinstance(value, list) else _html_item(value)


def html_text(text: str) -> str:
    """Return escaped text whose numbers are not broken at the end of a line."""
    return _UNBROKEN.sub(r'<span class="whole">\g<0></span>', escape(text))


def html_definitions(rows: Iterable[tuple[str, str]]) -> str:
    """Return a definition list of names, which are escaped, and finished HTML."""
    parts = (f"<div><dt>{escape(name)}</dt><dd>{content}</dd></div>" for name, content in rows)
    return f'<dl class="pairs">{"".join(parts)}</dl>'


def html_details(summary: str, content: str, *, kind: str = "") -> str:
    """Return finished HTML that is folded below a summary."""
    return f'<details class="{kind}"><summary>{escape(summary)}</summary>{content}</details>'


def _html_list(values: Sequence[object]) -> str:
    if is_short(values):
        return _folded(", ".join(map(_html_item, values)), len(values))
    inner = [item for item in values if isinstance(item, list) and is_short(item)]
    if len(inner) == len(values):
        return _folded(", ".join("[" + ", ".join(map(_html_item, item)) + "]" for item in inner), len(values))
    table = table_of(values)
    if table is not None:
        return table.html()
    return f"<ul>{''.join(f'<li>{html_value(item)}</li>' for item in values)}</ul>"


def _folded(content: str, count: int) -> str:
    return content if count <= MOST_IN_LINE else html_details(f"{count} items", content)


def table_of(values: object) -> TextTable | None:
    """Return a list of flat mappings with the same keys as a table; None for any other value."""
    if not isinstance(values, list):
        return None
    rows = [dict(item) for item in values if isinstance(item, Mapping)]
    flat = all(not isinstance(part, Mapping | list) for row in rows for part in row.values())
    same = len(rows) == len(values) and all(list(row) == list(rows[0]) for row in rows)
    return TextTable(list(rows[0]), [list(map(str, row.values())) for row in rows]) if rows and flat and same else None


def _html_item(value: object) -> str:
    text = str(value)
    if text.startswith(_LINKS) and not any(sign.isspace() for sign in text):
        return f'<a href="{escape(text)}" rel="noopener noreferrer">{escape(text)}</a>'
    return html_text(text)


def markdown_lines(value: object, indent: str = "") -> Iterator[str]:
    """Yield a value as lines of Markdown; the items of mappings and lists follow dashes."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _markdown_item(f"{indent}- {escape_markdown(name)}:", item, indent)
    elif isinstance(value, list) and _markdown_line(value) is None:
        for item in value:
            yield from _markdown_item(f"{indent}-", item, indent)
    else:
        yield f"{indent}{escape_markdown(_markdown_line(value))}"


def _markdown_item(start: str, value: object, indent: str) -> Iterator[str]:
    line = _markdown_line(value)
    if line is None and isinstance(value, Mapping) and start.endswith("-"):
        line = _flat_mapping(value)
    if line is None and isinstance(value, Mapping) and start.endswith("-"):
        first, *rest = markdown_lines(value, f"{indent}  ")
        yield from (f"{start} {first.strip().removeprefix('- ')}", *rest)
    elif line is None:
        yield start
        yield from markdown_lines(value, f"{indent}  ")
    else:
        yield f"{start} {escape_markdown(line)}"


def _markdown_line(value: object) -> str | None:
    """Return a value that fits on one line; None for a value that needs several."""
    if isinstance(value, list):
        if all(isinstance(item, list) and is_short(item) for item in value):
            return ", ".join(f"[{', '.join(map(str, item))}]" for item in value)
        return ", ".join(map(str, value)) if is_short(value) else None
    return None if isinstance(value, Mapping) else str(value)


def _flat_mapping(value: Mapping[str, object]) -> str | None:
    """Return a mapping without nested values as "epsilon: 1, delta: 1e-6"; None for a nested one."""
    flat = not any(isinstance(part, Mapping | list) for part in value.values())
    return ", ".join(f"{name}: {part}" for name, part in value.items()) if flat else None
