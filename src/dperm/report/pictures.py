# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Curves as plain data, and how they are drawn: measured, proved, published, and wrong ones look different."""

import math
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Literal

from dperm.errors import ParameterError
from dperm.report.palette import FAINT, FIRST, INK, LINE, SECOND
from dperm.report.plots import INSTALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["measured", "proved", "published", "wrong"]
"""Dots on a line; a line; a thin dotted line; a dashed line in the colour of what is wrong."""
_MEASURED = (FIRST, "#2a8c6b", "#7a4fa3", "#b08a1e", INK)
_PROVED = (INK, FIRST, "#2a8c6b", "#7a4fa3", "#b08a1e")


@dataclass(frozen=True)
class Curve:
    """One line of a picture.

    Attributes
    ----------
    name
        In the legend.
    x, y
        The points; a y that is not finite is a gap.
    kind
        What it is, which says how it is drawn.
    low, high
        The ends of intervals around y, drawn as a band; empty for none.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    kind: Kind = "measured"
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """As many numbers on each axis."""
        if len(self.x) != len(self.y) or {len(self.low), len(self.high)} - {0, len(self.x)}:
            raise ParameterError(f"the curve {self.name!r} must have as many x as y, and as many ends of intervals.")


@dataclass(frozen=True)
class Picture:
    """Curves over common axes, with a title.

    Attributes
    ----------
    title
        What is seen, in a few words.
    x_label, y_label
        What the axes are.
    curves
        Drawn in this order.
    x_log, y_log
        Whether an axis is logarithmic.
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    x_log: bool = False
    y_log: bool = False


def draw(picture: Picture, ax: "Axes | None" = None, *, path: "str | PathLike[str] | None" = None) -> "Axes":
    """Draw ``picture``; ``path`` is where to write it, and its ending tells the format."""
    ax = _axes() if ax is None else ax
    colors = {"measured": iter(_MEASURED * 9), "proved": iter(_PROVED * 9)}
    for curve in picture.curves:
        _draw_curve(ax, curve, next(colors[curve.kind]) if curve.kind in colors else "")
    ax.set(xlabel=picture.x_label, ylabel=picture.y_label)
    ax.set_title(picture.title, loc="left", fontsize="medium")
    ax.set(xscale="log" if picture.x_log else "linear", yscale="log" if picture.y_log else "linear")
    _finish(ax)
    if path is not None:
        ax.figure.figure.savefig(path, dpi=110)
    return ax


def _axes() -> "Axes":
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ParameterError(f"plots need matplotlib, which is not installed: {INSTALL}.") from None
    return Figure(figsize=(6.4, 4.6), layout="constrained").subplots()


def _draw_curve(ax: "Axes", curve: Curve, color: str) -> None:
    style = {
        "measured": {"color": color, "marker": "o", "markersize": 4, "linewidth": 1.6},
        "proved": {"color": color, "linewidth": 1.6},
        "published": {"color": LINE, "linestyle": ":", "linewidth": 1.6},
        "wrong": {"color": SECOND, "linestyle": "--", "linewidth": 1.8},
    }[curve.kind]
    heights = [value if math.isfinite(value) else math.nan for value in curve.y]
    ax.plot(curve.x, heights, label=curve.name, **style)  # type: ignore[arg-type]
    if curve.low:
        ax.fill_between(curve.x, curve.low, curve.high, color=style["color"], alpha=0.15, linewidth=0)  # type: ignore[arg-type]


def _finish(ax: "Axes") -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color=FAINT, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.legend(frameon=False, fontsize="small")
