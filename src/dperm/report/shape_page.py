# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""HTML page with the shape functions of an additive model: a plot and a table of each term."""

from collections.abc import Sequence
from functools import partial
from html import escape

from dperm.presentation.numbers import format_number
from dperm.presentation.tables import TextTable
from dperm.report.figures import NO_PLOTS, PageFigure, can_draw
from dperm.report.page import document
from dperm.report.shape_plots import DrawnShape, plot_shape

CAPTION = "Contribution to the {unit} at public points."
READING = (
    "The {unit} of a record is the intercept plus one contribution for each term. A contribution is an effect in this "
    "model, not a cause. Where there were few records, a contribution is mostly noise. No bands are drawn, because "
    "none is proved for this kind of noise."
)
FOOTER = "This page loads no external resources and runs no script. It shows released numbers and public declarations."
_MOST_ROWS = 40
"""Largest number of points of a curve in its table."""
_USUAL, _HEAD, _PER_BAR = 3.2, 1.0, 0.16
"""Height of a plot in inches, height without bars, and height of a bar."""


def shapes_page(shapes: Sequence[DrawnShape], *, model: str, note: str, intercept: float, is_private: bool) -> str:
    """Return a self-contained HTML page. Without matplotlib, it has the tables alone.

    Parameters
    ----------
    shapes
        Shape functions to show.
    model
        Class name of the model.
    note
        Guarantee as text, and changes after the release.
    intercept
        Intercept of the model.
    is_private
        Whether there is a guarantee.
    """
    drawn, unit = can_draw(), shapes[0].unit
    figures = "".join(_figure(place, shape).html(drawn) for place, shape in enumerate(shapes))
    missing = "" if drawn else f'<p class="note">{escape(NO_PLOTS)}</p>'
    body = (
        f'<header><p class="eyebrow">Shape functions</p><h1>{escape(model)}</h1></header><main>'
        f"<section><p><strong>{escape(note)}</strong></p><p>{escape(READING.format(unit=unit))} "
        f"The intercept is {format_number(intercept)}.</p></section>"
        f'<section><h2>Terms</h2>{missing}<div class="figures">{figures}</div></section></main>'
        f"<footer><p>{escape(FOOTER)}</p></footer>"
    )
    return document(f"Shape functions: {model}", body, kind="private" if is_private else "not-private")


def _figure(place: int, shape: DrawnShape) -> PageFigure:
    bars = 0 if len(shape.axes) > 1 or shape.axes[0].is_number else len(shape.points)
    height = max(_USUAL, _HEAD + _PER_BAR * bars)
    caption = CAPTION.format(unit=shape.unit)
    return PageFigure(f"shape-{place}", shape.name, caption, partial(plot_shape, shape), _table(shape), height)


def _table(shape: DrawnShape) -> str:
    """Return the contributions as an HTML table: some points of a curve, all others, a matrix for a pair."""
    first = shape.axes[0]
    if len(shape.axes) > 1:
        header = (f"{first.column} / {shape.axes[1].column}", *map(_text, shape.axes[1].labels))
        rows = [
            [_text(label), *map(format_number, row)]
            for label, row in zip(first.labels, shape.points.tolist(), strict=True)
        ]
        return TextTable(header, rows).html()
    labels, size = first.labels, len(first.grid)
    step = max(1, -(-size // _MOST_ROWS)) if first.is_number else 1
    chosen = [*range(0, size, step), *range(size, len(labels))]
    values = shape.points.tolist()
    return TextTable(
        (first.column, "contribution"), [(_text(labels[place]), format_number(values[place])) for place in chosen]
    ).html()


def _text(label: object) -> str:
    return format_number(label) if isinstance(label, int | float) and not isinstance(label, bool) else str(label)
