# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""HTML for notebooks: tables, cards, lists and a line chart, readable in light and dark themes.

Notebooks have their own style sheets, so styles are inline, and text and lines take the color of the page. There are no
scripts, no style sheets and no external resources. All text is escaped, except finished HTML (`Html`).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from dperm.presentation.glossary import CHANGES, guarantee_name, term
from dperm.presentation.nested_data import is_short, one_line
from dperm.presentation.numbers import format_number, format_parameters, format_up
from dperm.presentation.tables import TextTable

Status = Literal["good", "bad", "neutral"]
"""Meaning of a badge."""
Badge = tuple[str, Status]
"""Short text in capital letters beside a title, with its meaning."""

_GREY = "rgba(127,127,127,0.45)"
_CELL = "text-align:left;vertical-align:top;padding:2px 8px"
_TABLE = "border-collapse:collapse;margin:4px 0;font-size:inherit;color:inherit"
_CARD = f"border:1px solid {_GREY};border-radius:4px;padding:6px 10px;margin:4px 0;max-width:60em"
_BADGES: dict[Status, str] = {
    "good": "background:#1b6e3c;color:#ffffff",
    "bad": "background:#b3261e;color:#ffffff",
    "neutral": f"border:1px solid {_GREY}",
}
_BADGE = "padding:0 6px;border-radius:3px;font-weight:600;white-space:nowrap"
_SHORT_NAME = 20
"""Row names of at most this many characters stay on one line."""
_WIDTH, _HEIGHT = 380, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 10, 38
"""Margins of the chart in pixels."""
_FLOOR = -12
"""Smallest exponent of ten on a logarithmic axis; smaller numbers are drawn there."""


class Html(str):
    """Finished HTML, inserted as it is."""

    __slots__ = ()


@dataclass(frozen=True)
class DiagramBlock:
    """Block of one estimator in the HTML diagrams of scikit-learn, with a caption below its name.

    It has the attributes read from the result of ``_sk_visual_block_``.
    """

    estimators: object
    names: str
    name_details: str
    name_caption: str
    kind: str = "single"
    doc_link_label: str | None = None
    dash_wrapped: bool = True


def notebook_table(rows: Iterable[tuple[str, object]]) -> Html:
    """Return a table of two columns, a name and its value. Mappings and lists become blocks."""
    body = "".join(_row(name, value) for name, value in rows)
    return Html(f'<table style="{_TABLE};max-width:60em">{body}</table>')


def notebook_grid(table: TextTable) -> Html:
    """Return a table with a header row; the first cell of each row is its header."""
    head = "".join(f'<th scope="col" style="{_CELL}">{escape(name)}</th>' for name in table.header)
    body = "".join(f"<tr>{_grid_cells(row)}</tr>" for row in table.rows)
    title = f'<caption style="text-align:left">{escape(table.caption)}</caption>' if table.caption else ""
    return Html(f'<table style="{_TABLE}">{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>')


def notebook_card(title: str, *parts: str, badge: Badge | None = None) -> Html:
    """Return a framed block with a title, an optional badge, and parts; parts of plain text become paragraphs."""
    mark = "" if badge is None else f' <span style="{_BADGE};{_BADGES[badge[1]]}">{escape(badge[0])}</span>'
    head = f"<div><strong>{escape(title)}</strong>{mark}</div>"
    body = "".join(part if isinstance(part, Html) else paragraph(part) for part in parts if part)
    return Html(f'<div role="group" aria-label="{escape(title)}" style="{_CARD}">{head}{body}</div>')


def paragraph(text: str) -> Html:
    """Return escaped text as a paragraph."""
    return Html(f'<p style="margin:4px 0">{escape(text)}</p>')


def notebook_list(items: Iterable[object]) -> Html:
    """Return a bullet list; empty HTML without items."""
    lines = "".join(f"<li>{escape(str(item))}</li>" for item in items)
    return Html(f'<ul style="margin:4px 0;padding-left:1.4em">{lines}</ul>' if lines else "")


def notebook_fold(summary: str, content: str) -> Html:
    """Return finished HTML folded below a summary."""
    return Html(f"<details><summary>{escape(summary)}</summary>{content}</details>" if content else "")


def side_by_side(*parts: str) -> Html:
    """Return finished HTML parts beside each other; on narrow pages they wrap."""
    return Html(f'<div style="display:flex;flex-wrap:wrap;gap:16px;align-items:center">{"".join(parts)}</div>')


def guarantee_rows(guarantee: Mapping[str, object], unit: str = "record") -> list[tuple[str, object]]:
    """Return guarantee and adjacency as table rows.

    Parameters
    ----------
    guarantee
        Kind, numbers and adjacency, as in a stored guarantee. Numbers are rounded up.
    unit
        "record" or "group".

    Examples
    --------
    >>> guarantee_rows({"kind": "PureDP", "epsilon": 1.0, "adjacency": "replace_one"})
    [('guarantee', 'epsilon-DP: epsilon = 1'), ('protects', 'one record replaced by another (replace_one)')]
    """
    name, numbers = guarantee_name(guarantee.get("kind")), format_parameters(guarantee)
    curve = guarantee.get("curve")
    if isinstance(curve, Sequence):  # of Renyi DP
        numbers = ", ".join(f"{format_up(tau)} at order {format_number(order)}" for order, tau in curve)
    adjacency = str(guarantee.get("adjacency"))
    return [
        ("guarantee", f"{name}: {numbers}" if numbers else name),
        ("protects", f"one {unit} {CHANGES[adjacency]} ({adjacency})" if adjacency in CHANGES else adjacency),
    ]


def plan_card(
    title: str,
    guarantee: Mapping[str, object],
    rows: Iterable[tuple[str, object]],
    reasons: Iterable[object],
    numbers: Mapping[str, object],
    *,
    unit: str = "record",
) -> Html:
    """Return the card of a plan: guarantee and rows, the reasons, and all public numbers folded below them."""
    facts = notebook_table([*guarantee_rows(guarantee, unit), *rows])
    folded = notebook_fold("public numbers", notebook_table(number_rows(numbers)))
    return notebook_card(title, facts, notebook_list(reasons), folded, badge=("NOTHING RELEASED YET", "neutral"))


def number_rows(numbers: Mapping[str, object]) -> list[tuple[str, object]]:
    """Return public numbers as table rows, with readable names; numbers are rounded to six digits."""
    return [(term(name), _rounded(value)) for name, value in numbers.items()]


def line_chart(points: Sequence[tuple[float, float]], *, title: str, x_label: str, y_label: str) -> Html:
    """Return a line with a logarithmic y axis as inline SVG.

    Parameters
    ----------
    points
        Pairs (x, y) with increasing x >= 0 and 0 <= y <= 1. Values of y below 1e-12 are drawn at 1e-12.
    title
        Description for screen readers.
    x_label, y_label
        Labels of the axes.
    """
    exponents = [max(_FLOOR, math.log10(y)) if y > 0 else _FLOOR for _, y in points]
    low, right = min(-1, math.floor(min(exponents))), points[-1][0] or 1.0
    across, down = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    line = " ".join(
        f"{_LEFT + across * x / right:.1f},{_TOP + down * exponent / low:.1f}"
        for (x, _), exponent in zip(points, exponents, strict=True)
    )
    axes = "".join([*_y_axis(low, down, across), *_x_axis(right, down, across)])
    labels = _text(_LEFT + across / 2, _HEIGHT - 4, x_label) + _text(12, _TOP + down / 2, y_label, turned=True)
    name = escape(title)
    return Html(
        f'<svg role="img" aria-label="{name}" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'style="max-width:100%;height:auto" fill="currentColor" font-size="11"><title>{name}</title>{axes}{labels}'
        f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="2"/></svg>'
    )


def _y_axis(low: int, down: float, across: float) -> Iterable[str]:
    step = max(1, math.ceil(-low / 4))
    for exponent in range(0, low - 1, -step):
        height = _TOP + down * exponent / low
        yield _line(_LEFT, height, _LEFT + across, height)
        yield _text(_LEFT - 5, height + 4, "1" if exponent == 0 else f"1e{exponent}", anchor="end")


def _x_axis(right: float, down: float, across: float) -> Iterable[str]:
    step = 10.0 ** math.floor(math.log10(right))
    step *= next(share for share in (0.2, 0.25, 0.5, 1, 2) if right / (step * share) <= 6)
    for place in range(int(right / step + 1e-9) + 1):
        where = _LEFT + across * place * step / right
        yield _line(where, _TOP, where, _TOP + down)
        yield _text(where, _TOP + down + 14, format_number(place * step, digits=3))


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="currentColor" stroke-opacity="0.25"/>'
    )


def _text(x: float, y: float, text: str, *, anchor: str = "middle", turned: bool = False) -> str:
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" stroke="none"{turn}>{escape(text)}</text>'


def _grid_cells(cells: Sequence[str]) -> str:
    first = f'<th scope="row" style="{_CELL}">{escape(cells[0])}</th>'
    return first + "".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in cells[1:])


def _row(name: str, value: object) -> str:
    style = f"{_CELL};white-space:nowrap" if len(name) <= _SHORT_NAME else _CELL
    cell = f'<td style="{_CELL};overflow-wrap:anywhere">{_value(value)}</td>'  # digests are long words
    return f'<tr><th scope="row" style="{style}">{escape(name)}</th>{cell}</tr>'


def _value(value: object) -> str:
    """Return each item of a mapping or list as a block; nested mappings are indented."""
    if isinstance(value, Html):
        return value
    if isinstance(value, Mapping) and value:
        return "".join(f"<div>{escape(str(name))}: {_item(item)}</div>" for name, item in value.items())
    if isinstance(value, list | tuple) and not is_short(value):
        return "".join(f"<div>{_value(item)}</div>" for item in value)
    return escape(one_line(value))


def _item(value: object) -> str:
    nested = bool(value) if isinstance(value, Mapping) else isinstance(value, list | tuple) and not is_short(value)
    return f'<div style="margin-left:1em">{_value(value)}</div>' if nested else _value(value)


def _rounded(value: object) -> object:
    if isinstance(value, Mapping):
        return {term(name): _rounded(item) for name, item in value.items()}
    return format_number(value) if isinstance(value, float) else value
