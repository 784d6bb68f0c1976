# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Colors, axes and layout shared by all plots. matplotlib is an extra: ``pip install "dperm[plots]"``."""

from os import PathLike
from typing import TYPE_CHECKING

from dperm.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INSTALL = 'pip install "dperm[plots]"'
INK = "#1d232b"
LINE = "#8c96a3"
FAINT = "#d9dee4"
FIRST = "#1f5fa8"
SECOND = "#b5541c"
LEFT = "#c9d6e6"

COLORS = {INK: "ink", LINE: "axis", FAINT: "grid", FIRST: "first", SECOND: "second", LEFT: "left"}
"""Names of the colors in the style sheet of the page, which has a light and a dark version of each."""


def new_axes(width: float, height: float) -> "Axes":
    """Return the axes of a new figure, which is not registered with pyplot.

    Parameters
    ----------
    width, height
        Size of the figure in inches.

    Returns
    -------
    matplotlib.axes.Axes
        Axes of the figure.

    Raises
    ------
    ParameterError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_matplotlib() from None
    return Figure(figsize=(width, height), layout="constrained").subplots()


def missing_matplotlib() -> ParameterError:
    """Return the error for a missing matplotlib, with the command for its installation."""
    return ParameterError("Plots need matplotlib, which is not installed.", remedy=f"Install it: {INSTALL}.")


def tidy(ax: "Axes", *, axis: str = "both") -> "Axes":
    """Remove the top and right spines and draw a faint grid behind the data.

    Parameters
    ----------
    ax
        Axes to change.
    axis
        Axis of the grid: "x", "y" or "both".

    Returns
    -------
    matplotlib.axes.Axes
        The same axes.
    """
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, axis=axis, color=FAINT, linewidth=0.8)  # type: ignore[arg-type]  # "both", "x" or "y"
    ax.set_axisbelow(True)
    return ax


def legend_above(ax: "Axes", *, columns: int = 1, space: float = 0.3) -> None:
    """Put the legend above the plot, where no curve crosses it. A dollar sign in a name stays a dollar sign."""
    legend = ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=space)
    for text in legend.get_texts():
        text.set_parse_math(False)


def save(ax: "Axes", path: "str | PathLike[str] | None") -> "Axes":
    """Write the figure of the axes to ``path``, if one is given, and return the axes."""
    if path is not None:
        ax.figure.figure.savefig(path, dpi=150)
    return ax
