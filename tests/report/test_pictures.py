# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures of curves: kinds look different, gaps stay gaps, legends cover nothing, files are whole."""

import math
import sys
from itertools import pairwise

import pytest

from dperm import ParameterError
from dperm.report.pictures import Curve, Picture, draw, spread_labels
from dperm.report.plot_style import LINE, SECOND

X = (1.0, 10.0, 100.0)
KINDS = ("measured", "proved", "published", "wrong")

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def picture(*curves, **more):
    return Picture("A title", "epsilon", "error", curves or (Curve("one", X, (1.0, 2.0, 3.0)),), **more)


def look(line):
    return line.get_color(), line.get_marker(), str(line._dash_pattern), line.get_linestyle()


@pytest.mark.parametrize(("x", "y", "low", "high"), [((1,), (1, 2), (), ()), ((1, 2), (1, 2), (1,), (1, 2))])
def test_a_curve_has_as_many_numbers_on_each_axis(x, y, low, high):
    with pytest.raises(ParameterError, match="'a' must have equally many x, y"):
        Curve("a", x, y, low=low, high=high)


def test_titles_labels_and_names_are_shown():
    ax = draw(picture(Curve("first", X, X), Curve("second $1", X, X)))
    legend = ax.get_legend()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("epsilon", "error")
    assert legend.get_title().get_text() == "A title"
    assert [text.get_text() for text in legend.get_texts()] == ["first", "second $1"]


def test_no_two_curves_look_alike():
    curves = [Curve(f"{kind} {place}", X, X, kind) for kind in KINDS for place in range(3)]
    lines = [line for line in draw(picture(*curves)).get_lines() if line.get_label() != "_leader"]
    assert len({look(line) for line in lines}) == len(curves) == 12


def test_more_than_four_curves_are_labelled_at_their_ends():
    ax = draw(picture(*(Curve(f"curve {place}", X, (1.0, 2.0, 3.0 + place)) for place in range(5))))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == []
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert sorted(heights, key=heights.get) == [f"curve {place}" for place in range(5)]
    assert all(text.get_position()[0] > 1 for text in ax.texts)


def test_four_curves_have_a_legend():
    ax = draw(picture(*(Curve(f"curve {place}", X, X) for place in range(4))))
    assert len(ax.get_legend().get_texts()) == 4
    assert not ax.texts


@pytest.mark.parametrize("places", [[0.5] * 6, [0.0] * 6, [1.0] * 6, [0.1, 0.11, 0.5, 0.52, 0.9, 1.0]])
def test_labels_do_not_overlap_and_stay_inside(places):
    found = spread_labels(places, [0.1] * 6, gap=0.02)
    assert all(after - before >= 0.12 - 1e-12 for before, after in pairwise(found))
    assert found[0] >= 0.05 - 1e-12 and found[-1] <= 0.95 + 1e-12


def test_labels_with_enough_room_stay_where_they_are():
    assert spread_labels([0.2, 0.5, 0.8], [0.1] * 3, gap=0.02) == [0.2, 0.5, 0.8]


def test_what_is_wrong_is_dashed_in_its_own_colour_and_what_is_published_is_grey():
    wrong, published = draw(picture(Curve("w", X, X, "wrong"), Curve("p", X, X, "published"))).get_lines()
    assert (wrong.get_color(), wrong.get_linestyle()) == (SECOND, "--")
    assert (published.get_color(), published.get_linestyle()) == (LINE, ":")


def test_a_number_that_is_not_finite_is_a_gap():
    (line,) = draw(picture(Curve("a", X, (1.0, math.inf, 3.0)))).get_lines()
    assert [math.isnan(value) for value in line.get_ydata()] == [False, True, False]


def test_intervals_are_a_band():
    ax = draw(picture(Curve("a", X, (1, 2, 3), low=(0, 1, 2), high=(2, 3, 4))))
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    assert (corners[:, 1].min(), corners[:, 1].max()) == (0, 4)


@pytest.mark.parametrize("count", [1, 3, 8])
def test_the_legend_is_above_the_axes_and_within_the_picture(count):
    """So it covers no curve, whatever the curves do."""
    long = "a name that is rather long, as names of algorithms are"
    curves = [Curve(f"{long} {place}", X, (1.0, 5.0, 9.0)) for place in range(count)]
    ax = draw(Picture(f"{long}, {long}, {long}", "x", "y", tuple(curves)))
    ax.figure.draw_without_rendering()
    legend, axes, whole = ax.get_legend().get_window_extent(), ax.get_window_extent(), ax.figure.bbox
    assert legend.y0 >= axes.y1
    assert legend.y1 <= whole.y1 and legend.x1 <= whole.x1
    assert axes.width > 0.7 * whole.width and axes.height > 0.4 * whole.height


def shown_numbers(axis):
    axis.axes.figure.draw_without_rendering()
    low, high = axis.get_view_interval()
    labels = zip(axis.get_ticklocs(minor=False), axis.get_ticklabels(minor=False), strict=True)
    minor = zip(axis.get_ticklocs(minor=True), axis.get_ticklabels(minor=True), strict=True)
    return {text.get_text() for place, text in [*labels, *minor] if low <= place <= high} - {""}


def test_a_logarithmic_axis_has_numbers_as_one_writes_them():
    ax = draw(picture(Curve("a", (0.001, 0.1, 1000.0), (0.3, 2.0, 8.0)), x_log=True, y_log=True))
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert {"0.001", "1", "1000"} <= shown_numbers(ax.xaxis) <= {"0.001", "0.01", "0.1", "1", "10", "100", "1000"}
    assert shown_numbers(ax.yaxis) == {"0.5", "1", "2", "5"}


@pytest.mark.parametrize(
    ("value", "text"), [(1e-7, "1e-7"), (0.02, "0.02"), (5000, "5000"), (2e4, "20,000"), (1e6, "1e6"), (1e12, "1e12")]
)
def test_large_and_small_numbers_are_short(value, text):
    ax = draw(picture(Curve("a", (value / 1.5, value, 1.5 * value), X), x_log=True))
    assert text in shown_numbers(ax.xaxis)


def test_other_axes_are_linear():
    ax = draw(picture())
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "linear")


def test_axes_that_are_given_are_drawn_on():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert draw(picture(), ax) is ax and len(ax.get_lines()) == 1


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml"), ("a.pdf", b"%PDF")])
def test_the_ending_tells_the_format(tmp_path, name, start):
    draw(picture(), path=tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_picture_that_cannot_be_drawn_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def fails(self, file, **more):
        file.write(b"half")
        raise RuntimeError("full")

    (tmp_path / "a.png").write_bytes(b"old")
    monkeypatch.setattr(Figure, "savefig", fails)
    with pytest.raises(RuntimeError, match="full"):
        draw(picture(), path=tmp_path / "a.png")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ParameterError, match=r'pip install "dperm\[plots\]"'):
        draw(picture())


def test_a_bound_beside_what_was_measured_has_its_colour():
    x, y = (1.0, 2.0), (3.0, 4.0)
    curves = (Curve("a", x, y), Curve("b", x, y), Curve("bound of b", x, y, "proved", beside="b"))
    lines = draw(Picture("title", "x", "y", curves)).get_lines()
    assert lines[2].get_color() == lines[1].get_color() != lines[0].get_color()
