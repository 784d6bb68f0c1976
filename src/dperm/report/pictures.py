# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Line plots as plain data, and a function that draws such a plot with matplotlib.

The kind of a curve sets its style. The kinds are measured values, proved bounds, published claims and wrong claims.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from os import PathLike
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

from dperm.errors import ParameterError
from dperm.report.plot_style import FIRST, INK, LINE, SECOND, new_axes, tidy
from dperm.report.whole_file import whole_file

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.lines import Line2D
    from matplotlib.transforms import Transform

Kind = Literal["measured", "proved", "published", "wrong"]
"""Kind of a curve.

Measured curves have markers, proved ones are solid lines, published ones are mostly dotted, and wrong ones are dashed
in a warning color.
"""
_GREEN, _PURPLE, _YELLOW, _DARK = "#2a8c6b", "#7a4fa3", "#b08a1e", "#4a535e"
_MEASURED = (FIRST, _GREEN, _PURPLE, _YELLOW, INK)
_PROVED = (INK, FIRST, _GREEN, _PURPLE, _YELLOW)
_MARKERS = ("o", "s", "^", "D", "v")
_PUBLISHED = ((LINE, ":"), (_DARK, "-."), (LINE, (0, (7, 2, 1, 2, 1, 2))))
_WRONG = ("--", "-.", (0, (6, 2, 1, 2, 1, 2)))
_FEW, _SHORT = 3, 36
"""Legends with more than three names of at most 36 characters have two columns."""
_TITLE = 74
"""Characters per line of the title."""
_DECADES = 2.5
"""Shorter logarithmic axes have labels between the powers of ten."""
_TICK, _SMALL_TICK, _TO_NUMBER = 3.5, 2.0, 7.0
"""Lengths of ticks, and the distance from the axis to its labels, which is the same for both kinds of ticks."""
_MOST_IN_LEGEND = 4
"""Pictures with more curves have a label at the right end of each curve in place of a legend."""
_LABEL, _LINE_HEIGHT, _GAP = 20, 0.040, 0.014
"""Characters per line of a label, and the height of a line and of the gap between labels as shares of the axes."""
_LEADER = (1.012, 1.05)
"""Ends of the line from a curve to its label, as shares of the width of the axes."""
_DPI = 220
_ON_TOP = 2.5
"""Drawing order of dashed lines, above solid ones (2), so that both are visible where they overlap."""


@dataclass(frozen=True)
class Curve:
    """One curve of a picture.

    Attributes
    ----------
    name
        Name of the curve in the legend.
    x, y
        Coordinates of the points. Points whose y is not finite leave a gap.
    kind
        Kind of the curve, which sets its style: "measured" (values of a simulation), "proved" (a proved bound or
        formula), "published" (a claim from the literature) or "wrong" (a claim that is not valid).
    low, high
        Lower and upper ends of intervals around y, drawn as a band; empty for no band.
    beside
        Name of an earlier curve that has the same color as this one. For example, a bound on a measured curve names the
        measured curve. Empty to give this curve its own color.

    Raises
    ------
    ParameterError
        If x, y and the ends of the intervals have different lengths.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    kind: Kind = "measured"
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    beside: str = ""

    def __post_init__(self) -> None:
        """Check that all lists have the same length."""
        if len(self.x) != len(self.y) or {len(self.low), len(self.high)} - {0, len(self.x)}:
            raise ParameterError(f"The curve {self.name!r} must have equally many x, y and ends of intervals.")


@dataclass(frozen=True)
class Picture:
    """Line plot as plain data: curves on common axes, with a title.

    Attributes
    ----------
    title
        Short description of the plot.
    x_label, y_label
        Labels of the axes.
    curves
        Curves in drawing order.
    x_log, y_log
        Whether an axis is logarithmic.
    bands
        Legend entry for the bands around the curves; empty for no entry.
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    x_log: bool = False
    y_log: bool = False
    bands: str = ""


def draw(picture: Picture, ax: "Axes | None" = None, *, path: "str | PathLike[str] | None" = None) -> "Axes":
    """Draw a line plot with matplotlib.

    Parameters
    ----------
    picture
        Plot to draw.
    ax
        Axes to draw on; None creates new ones.
    path
        File to write atomically, with a format that follows from the suffix; None writes no file.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Raises
    ------
    ParameterError
        If matplotlib is not installed.
    """
    labelled = len(picture.curves) > _MOST_IN_LEGEND
    ax = new_axes(8.0 if labelled else 6.4, 5.0) if ax is None else ax
    for curve, style in zip(picture.curves, _styled(picture.curves), strict=True):
        _draw_curve(ax, curve, style)
    ax.set(xlabel=picture.x_label, ylabel=picture.y_label)
    if picture.x_log:
        ax.set_xscale("log")
        _write_ticks(ax.xaxis)
    if picture.y_log:
        ax.set_yscale("log")
        _write_ticks(ax.yaxis)
    _finish(ax, picture)
    if path is not None:
        _write(ax, Path(path))
    return ax


def _styled(curves: Iterable[Curve]) -> Iterator[dict[str, Any]]:
    """Yield the style of each curve; a curve beside another one has its color."""
    styles, colors = _styles(), dict[str, str]()
    for curve in curves:
        style = _styles()[curve.kind] if curve.beside else styles[curve.kind]
        drawn = {**next(style), **({"color": colors[curve.beside]} if curve.beside else {})}
        colors[curve.name] = drawn["color"]
        yield drawn


def _styles() -> dict[str, Iterator[dict[str, Any]]]:
    """Return the styles of each kind of curve, all different."""
    measured = zip(_MEASURED, _MARKERS, strict=True)
    return {
        "measured": cycle({"color": color, "marker": marker, "markersize": 4} for color, marker in measured),
        "proved": cycle({"color": color} for color in _PROVED),
        "published": cycle({"color": color, "linestyle": line, "zorder": _ON_TOP} for color, line in _PUBLISHED),
        "wrong": cycle({"color": SECOND, "linestyle": line, "zorder": _ON_TOP} for line in _WRONG),
    }


def _draw_curve(ax: "Axes", curve: Curve, style: dict[str, Any]) -> None:
    heights = [value if math.isfinite(value) else math.nan for value in curve.y]
    ax.plot(curve.x, heights, label=curve.name, linewidth=1.6, **style)
    if curve.low:
        ax.fill_between(curve.x, curve.low, curve.high, color=style["color"], alpha=0.15, linewidth=0)


def _write_ticks(axis: "Axis") -> None:
    """Set decimal labels on a logarithmic axis, and labels between powers of ten on a short one."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    written = FuncFormatter(lambda value, _: _number(value))
    low, high = axis.get_view_interval()
    is_short = high < low * 10**_DECADES
    axis.set_major_formatter(written)
    if is_short:
        axis.set_minor_locator(LogLocator(subs=(2, 5)))
    axis.set_minor_formatter(written if is_short else NullFormatter())
    axis.set_tick_params("major", length=_TICK, pad=_TO_NUMBER - _TICK)
    axis.set_tick_params("minor", length=_SMALL_TICK, pad=_TO_NUMBER - _SMALL_TICK)


def _number(value: float) -> str:
    """Return a tick label, such as 0.01, 20,000, 1e6 or 1e-7."""
    if 1e4 <= value < 1e6:
        return f"{value:,.0f}"
    return f"{value:g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def _finish(ax: "Axes", picture: Picture) -> None:
    """Put the legend between title and plot, where no curve crosses it; label more than four curves directly."""
    tidy(ax)
    labelled = len(picture.curves) > _MOST_IN_LEGEND
    if labelled:
        _label_curves(ax)
    handles = [*([] if labelled else ax.get_legend_handles_labels()[0]), *_shade(picture)]
    names = [str(handle.get_label()) for handle in handles]
    legend = ax.legend(
        handles=handles,
        title=fill(picture.title, _TITLE),
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0.3,
        alignment="left",
        ncols=2 if len(names) > _FEW and max(map(len, names)) <= _SHORT else 1,
        frameon=False,
        fontsize="small",
    )
    for text in (legend.get_title(), *legend.get_texts()):
        text.set_parse_math(False)  # a dollar sign stays a dollar sign
    legend.get_title().set_fontsize("medium")


def _label_curves(ax: "Axes") -> None:
    """Write the name of each curve beside its right end, in the color of the curve, without overlaps."""
    ax.autoscale_view()
    to_share = ax.transData + ax.transAxes.inverted()
    ends = [(line, _right_end(line, to_share)) for line in ax.get_lines()]
    texts = {line: fill(str(line.get_label()), _LABEL) for line, _ in ends}
    ordered = sorted(ends, key=lambda one: one[1][1])
    heights = [_LINE_HEIGHT * (1 + texts[line].count("\n")) for line, _ in ordered]
    places = spread_labels([end[1] for _, end in ordered], heights, gap=_GAP)
    for (line, (x, y)), place in zip(ordered, places, strict=True):
        color = line.get_color()
        ax.plot(
            (x, _LEADER[0], _LEADER[1]),
            (y, y, place),
            transform=ax.transAxes,
            color=color,
            linewidth=0.7,
            alpha=0.7,
            clip_on=False,
            linestyle=line.get_linestyle(),
            label="_leader",
        )
        ax.text(
            _LEADER[1] + 0.01,
            place,
            texts[line],
            transform=ax.transAxes,
            color=_DARK if color == LINE else color,
            fontsize="small",
            va="center",
            linespacing=1.05,
            parse_math=False,
        )


def _right_end(line: "Line2D", to_share: "Transform") -> tuple[float, float]:
    """Return the last finite point of a curve, as shares of the width and the height of the axes."""
    points = [point for point in to_share.transform(line.get_xydata()) if math.isfinite(point[1])]
    x, y = max(points, key=lambda point: float(point[0])) if points else (1.0, 0.5)
    return float(x), min(max(float(y), 0.0), 1.0)


def spread_labels(places: Sequence[float], heights: Sequence[float], *, gap: float) -> list[float]:
    """Return label centers in [0, 1], close to the desired ones, such that no labels overlap.

    Parameters
    ----------
    places
        Desired centers, in increasing order.
    heights
        Heights of the labels, as shares of the height of the axes. The sum of all heights and gaps should be at most 1.
    gap
        Smallest distance between the edges of neighbouring labels.

    Returns
    -------
    list[float]
        Centers of the labels, in increasing order.
    """
    found: list[float] = []
    bottom = 0.0
    for place, height in zip(places, heights, strict=True):
        found.append(max(place, bottom + height / 2))
        bottom = found[-1] + height / 2 + gap
    top = 1.0
    for index in reversed(range(len(found))):
        found[index] = min(found[index], top - heights[index] / 2)
        top = found[index] - heights[index] / 2 - gap
    return found


def _shade(picture: Picture) -> "Iterator[Artist]":
    """Yield the legend entry of the bands."""
    from matplotlib.patches import Patch

    if picture.bands:
        yield Patch(facecolor=LINE, alpha=0.3, linewidth=0, label=picture.bands)


def _write(ax: "Axes", path: Path) -> None:
    with whole_file(path) as file:
        ax.figure.figure.savefig(file, format=path.suffix[1:].lower() or "png", dpi=_DPI)
