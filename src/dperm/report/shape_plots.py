# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plots of the shape functions of additive models. Plotting requires matplotlib: ``pip install "dperm[plots]"``.

The plots show released numbers and public declarations only. They have no bands: no confidence band of a shape is
proved for noise in the objective.
"""

import math
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dperm.data.arrays import Floats
from dperm.errors import ParameterError
from dperm.presentation.numbers import format_number
from dperm.report.plot_style import FIRST, INK, LINE, SECOND, missing_matplotlib, save, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _HEIGHT, _PER_ROW = 4.2, 3.1, 3
"""Width and height of one plot in inches, and the number of plots in a row."""
_GAP, _STEP = 0.12, 0.08
"""Distances of the other points from the grid and from each other, as shares of the width of the grid."""
_APART = 0.11
"""Smallest distance of two numbers on the scale, as a share of the width of the grid."""
_MANY_CELLS = 64
"""Number of cells above which a step function has thin lines."""
_MOST_NAMES = 40
"""Number of categories above which bars have no names."""
_LONGEST = 18
"""Characters of a name; longer ones are cut."""


class DrawnAxis(Protocol):
    """Public points of one column of a term, such as `dperm.sklearn.shapes.Axis`."""

    @property
    def column(self) -> str:
        """Name of the column."""

    @property
    def grid(self) -> Any:
        """Places of the grid, or categories."""

    @property
    def others(self) -> tuple[str, ...]:
        """Labels of the points outside the grid."""

    @property
    def labels(self) -> tuple[Any, ...]:
        """Labels of all points."""

    @property
    def is_number(self) -> bool:
        """Whether the column is a number."""

    @property
    def is_step(self) -> bool:
        """Whether the shape is constant on cells around the places."""

    @property
    def ends(self) -> tuple[float, float] | None:
        """Ends of the scale of a number."""


class DrawnShape(Protocol):
    """Shape function of a term, such as `dperm.sklearn.shapes.ShapeFunction`."""

    @property
    def name(self) -> str:
        """Name of the term."""

    @property
    def axes(self) -> tuple[Any, ...]:
        """One or two `DrawnAxis`."""

    @property
    def points(self) -> Floats:
        """Contributions at all points, with one dimension for each axis."""

    @property
    def unit(self) -> str:
        """Unit of the contributions."""


def shape_axes(count: int) -> "list[Axes]":
    """Return the axes of a new figure for ``count`` shapes, at most three in a row.

    Raises
    ------
    ParameterError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_matplotlib() from None
    columns = min(count, _PER_ROW)
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(_WIDTH * columns, _HEIGHT * rows + 0.3), layout="constrained")
    found = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for unused in found[count:]:
        unused.remove()
    return found[:count]


def plot_shape(shape: DrawnShape, ax: "Axes", *, note: str = "") -> "Axes":
    """Draw the shape of one term: a curve, cells, bars of categories, or a heat map of a pair.

    Parameters
    ----------
    shape
        Shape function.
    ax
        Axes to draw on.
    note
        Second line of the title, such as the guarantee.

    Returns
    -------
    matplotlib.axes.Axes
        The same axes.
    """
    if len(shape.axes) > 1:
        _draw_pair(shape, ax)
    elif shape.axes[0].is_number:
        _draw_number(shape, ax)
    else:
        _draw_categories(shape, ax)
    title = f"{shape.name}\n{note}" if note else shape.name
    ax.set_title(title, fontsize=10, parse_math=False)
    return ax


def given_axes(axes: Any, count: int) -> "list[Axes]":
    """Return the user's axes as a list.

    Raises
    ------
    ParameterError
        If there are not ``count`` axes.
    """
    found = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(found) != count or not all(hasattr(ax, "set_title") for ax in found):
        rule = f"must be {count} matplotlib axes, one for each term"
        raise ParameterError(argument="axes", rule=rule, got=f"{len(found)} objects")
    return found


def _draw_number(shape: DrawnShape, ax: "Axes") -> None:
    """Draw a curve over the scale of the term; special and missing values are dots beside it."""
    axis, size = shape.axes[0], len(shape.axes[0].grid)
    places = _places(axis)
    values = shape.points[:size]
    if axis.is_step:
        ax.stairs(values, _edges(places), baseline=None, color=FIRST, linewidth=1.0 if size > _MANY_CELLS else 1.6)
    else:
        ax.plot(places, values, color=FIRST, linewidth=2)
    ticks, names = _number_ticks(axis, places)
    others = 1 + _GAP + _STEP * np.arange(len(axis.others))
    if axis.others:
        ax.axvline(1 + _GAP / 2, color=LINE, linewidth=0.8)
        ax.plot(others, shape.points[size:], linestyle="none", marker="o", markersize=5, color=SECOND)
    tidy(ax, axis="y")
    ax.axhline(0, color=LINE, linewidth=0.8)
    ax.set_xticks([*ticks, *others], [*names, *map(_short, axis.others)])
    for label in ax.get_xticklabels()[len(ticks) :]:
        label.set(rotation=90, fontsize=7, color=SECOND, parse_math=False)
    ax.set_xlim(-0.02, 1.02 if not axis.others else others[-1] + _STEP / 2)
    ax.set_ylabel(f"contribution to the {shape.unit}")


def _draw_categories(shape: DrawnShape, ax: "Axes") -> None:
    """Draw one bar for each category, from 0; others and missing values are in a second color."""
    axis, size = shape.axes[0], len(shape.axes[0].grid)
    names = [*map(str, axis.grid), *axis.others]
    rows = np.arange(len(names))
    ax.barh(rows, shape.points, color=[FIRST] * size + [SECOND] * len(axis.others), height=0.7)
    tidy(ax, axis="x")
    ax.axvline(0, color=LINE, linewidth=0.8)
    ax.invert_yaxis()
    ax.locator_params(axis="x", nbins=5)
    if len(names) <= _MOST_NAMES:
        ax.set_yticks(rows, [_short(name) for name in names], fontsize=8 if len(names) <= 10 else 6)
        for label in ax.get_yticklabels():
            label.set_parse_math(False)
    else:
        ax.set_yticks([])
        ax.set_ylabel(f"{len(names)} categories")
    ax.set_xlabel(f"contribution to the {shape.unit}")


def _draw_pair(shape: DrawnShape, ax: "Axes") -> None:
    """Draw a heat map; the color of 0 is in the middle of the scale."""
    first, second = shape.axes
    largest = float(np.abs(shape.points).max()) or 1.0
    rows, columns = (_cell_edges(axis) for axis in (first, second))
    mesh = ax.pcolormesh(columns, rows, shape.points, cmap="RdBu_r", vmin=-largest, vmax=largest)
    bar = ax.figure.colorbar(mesh, ax=ax)
    assert bar.solids is not None  # there is always one for a mesh
    bar.solids.set(rasterized=False, edgecolor="face")  # pages load no images, not even embedded ones
    bar.set_label(f"contribution to the {shape.unit}")
    for axis, edges, setter, where in ((first, rows, ax.set_yticks, "y"), (second, columns, ax.set_xticks, "x")):
        ticks, names = _cell_ticks(axis, edges)
        setter(ticks, names)
        labels = ax.get_yticklabels() if where == "y" else ax.get_xticklabels()
        for label in labels:
            turned = where == "x" and label.get_text() in (
                *map(_short, axis.others),
                *(() if axis.is_number else names),
            )
            label.set(fontsize=7, parse_math=False, rotation=90 if turned else 0)
    ax.set_xlabel(second.column, parse_math=False)
    ax.set_ylabel(first.column, parse_math=False)
    ax.tick_params(colors=INK)


def _places(axis: DrawnAxis) -> Floats:
    """Return the places of the grid in [0, 1] on the scale of the term, on which the grid is equidistant."""
    size = len(axis.grid)
    return (np.arange(size) + 0.5) / size if axis.is_step else np.arange(size) / max(size - 1, 1)


def _edges(places: Floats) -> Floats:
    return np.arange(len(places) + 1) / len(places)


def _cell_edges(axis: DrawnAxis) -> Floats:
    """Return the edges of the cells of a heat map: the grid in [0, 1], then cells of the same size for the others."""
    return np.arange(len(axis.grid) + len(axis.others) + 1) / len(axis.grid)


def _cell_ticks(axis: DrawnAxis, edges: Floats) -> tuple[list[float], list[str]]:
    centres = (edges[1:] + edges[:-1]) / 2
    others = centres[len(axis.grid) :]
    if axis.is_number:
        ticks, names = _number_ticks(axis, _places(axis), upto=1.0 if not axis.others else 1 - _APART / 2)
    else:
        ticks, names = list(centres[: len(axis.grid)]), [_short(str(name)) for name in axis.grid]
    return [*ticks, *others], [*names, *map(_short, axis.others)]


def _number_ticks(axis: DrawnAxis, places: Floats, *, upto: float = 1.0) -> tuple[list[float], list[str]]:
    """Return round numbers on the scale of a term up to a place, and their texts."""
    grid = np.asarray(axis.grid, dtype=np.float64)
    low, high = axis.ends or (float(grid[0]), float(grid[-1]))
    steps = np.diff(grid)
    if np.allclose(steps, steps[0], rtol=1e-6):
        candidates = _round_numbers(low, high)
    else:
        candidates = _powers(low, high, float(np.abs(steps).min()) * len(grid))
    ticks: list[float] = []
    names: list[str] = []
    for number in candidates:
        place = float(np.interp(number, [low, *grid, high], [0.0, *places, 1.0]))
        if place <= upto and all(abs(place - other) >= _APART for other in ticks):
            ticks.append(place)
            names.append(_tick(number))
    return ticks, names


def _round_numbers(low: float, high: float) -> list[float]:
    from matplotlib.ticker import MaxNLocator

    return [float(number) for number in MaxNLocator(5).tick_values(low, high) if low <= number <= high]


def _powers(low: float, high: float, width: float) -> list[float]:
    """Return 0 and powers of ten of both signs, the largest first, where they lie between the ends."""
    top = math.ceil(math.log10(max(abs(low), abs(high))))
    bottom = math.floor(math.log10(max(width, 1e-300))) - 1
    sizes = [10.0**power for power in range(top, max(bottom, top - 12), -1)]
    both = [number for size in sizes for number in (size, -size)]
    return [number for number in (*([0.0] if low <= 0 <= high else [low]), *both) if low <= number <= high]


def _tick(number: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(number) >= size:
            scale = 1e3 if letter == "k" else size
            return f"{format_number(number / scale)}{letter}"
    return format_number(number)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def figure_note(axes: "Sequence[Axes]", note: str) -> None:
    """Write a note, such as the guarantee, above all plots of a figure."""
    axes[0].figure.figure.suptitle(note, fontsize=10, parse_math=False, wrap=True)


def save_shapes(axes: "list[Axes]", path: "str | PathLike[str] | None") -> "list[Axes]":
    """Write the figure of the axes to ``path``, if one is given, and return the axes."""
    save(axes[0], path)
    return axes
