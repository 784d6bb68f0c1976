# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Measured and claimed epsilons of several audits: a line for each, on one logarithmic axis.

matplotlib is an extra: ``pip install "dperm[plots]"``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from dperm.errors import ParameterError
from dperm.report.numbers import rounded_down, rounded_up
from dperm.report.palette import FAINT, FIRST, INK, SECOND
from dperm.report.plots import INSTALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, LINE_HEIGHT, MARGINS = 7.2, 0.36, 1.5
"""Of the picture, in inches."""
AXIS = "epsilon (no leak: 0; a measured value right of the claim refutes it)"
SPAN = 30.0
"""At least so many times the smallest number is the largest of the axis."""


@dataclass(frozen=True)
class Dot:
    """One line.

    Attributes
    ----------
    name
        At its left.
    claimed, measured
        Epsilons; what is measured may be 0 or infinite.
    violation
        Whether the claim is refuted.
    """

    name: str
    claimed: float
    measured: float
    violation: bool


def plot_dots(dots: Sequence[Dot], ax: "Axes | None" = None, *, path: "str | PathLike[str] | None" = None) -> "Axes":
    """The claim of each line as a bar, what was measured as a dot; dots on the right of their bars refute the claim.

    A dot at the left edge is a bound of 0, or next to it; one at the right edge is infinite.
    """
    if not dots or not all(0 < dot.claimed < math.inf for dot in dots):
        raise ParameterError("dots must hold at least one, each with a claimed epsilon that is finite and > 0.")
    ax = _axes(len(dots)) if ax is None else ax
    low, high = _span(dots)
    for height, dot in enumerate(dots):
        _draw(ax, dot, height, (low, high))
    _legend(ax, dots)
    ax.set(
        xscale="log",
        xlim=(low, high),
        ylim=(len(dots) - 0.4, -0.6),
        xlabel=AXIS,
    )
    ax.set_yticks(range(len(dots)), [dot.name for dot in dots], parse_math=False)
    _ticks(ax, low, high)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(True, axis="x", color=FAINT, linewidth=0.8)
    ax.set_axisbelow(True)
    if path is not None:
        ax.figure.figure.savefig(path, dpi=150)
    return ax


def _draw(ax: "Axes", dot: Dot, height: int, span: tuple[float, float]) -> None:
    color, marker = (SECOND, "X") if dot.violation else (FIRST, "o")
    at = min(max(dot.measured, span[0]), span[1])
    ax.plot([dot.claimed, at], [height, height], color=color, linewidth=1.4, alpha=0.45)
    ax.plot([dot.claimed], [height], color=INK, marker="|", markersize=15, markeredgewidth=2.2, linestyle="none")
    ax.plot([at], [height], color=color, marker=marker, markersize=8, linestyle="none", clip_on=False, zorder=3)
    words = f"≥ {rounded_down(dot.measured, 3)}"
    place = ("axes fraction", "data")
    ax.annotate(words, (1, height), (8, 0), place, "offset points", color=color, fontsize=9, va="center")


def _legend(ax: "Axes", dots: Sequence[Dot]) -> None:
    from matplotlib.lines import Line2D

    kinds = [
        ("claimed (at most)", INK, "|", True),
        ("measured (at least)", FIRST, "o", not all(dot.violation for dot in dots)),
    ]
    kinds += [("VIOLATION (at least)", SECOND, "X", any(dot.violation for dot in dots))]
    handles = [
        Line2D([], [], color=color, marker=marker, markersize=9, linestyle="none", label=name)
        for name, color, marker, shown in kinds
        if shown
    ]
    ax.legend(handles=handles, frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2)


def _span(dots: Sequence[Dot]) -> tuple[float, float]:
    """Around all numbers; bounds far below their claims lie on the left edge."""
    claims = [dot.claimed for dot in dots]
    measured = [dot.measured for dot in dots if min(claims) / SPAN < dot.measured < math.inf]
    low, high = min((*claims, *measured)), max((*claims, *measured))
    if high / low < SPAN:
        middle = math.sqrt(low * high)
        low, high = min(low, middle / math.sqrt(SPAN)), max(high, middle * math.sqrt(SPAN))
    return low / 1.5, high * 1.5


def _ticks(ax: "Axes", low: float, high: float) -> None:
    bases = (1, 2, 5) if high / low < 100 else (1,)
    ticks = [base * 10.0**power for power in range(-9, 10) for base in bases if low <= base * 10.0**power <= high]
    ax.set_xticks(ticks, [rounded_up(float(f"{tick:.1g}")) for tick in ticks])
    ax.minorticks_off()


def _axes(lines: int) -> "Axes":
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ParameterError(f"plots need matplotlib, which is not installed: {INSTALL}.") from None
    figure = Figure(figsize=(WIDTH, MARGINS + LINE_HEIGHT * lines), layout="constrained")
    return figure.subplots()
