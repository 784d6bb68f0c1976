# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures that are easy to read: numbers of an axis on one line, bands explained, printed formulas told apart."""

import pytest

from dperm.report.pictures import Curve, Picture, draw

X = (500.0, 1000.0, 20_000.0)

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def edges(axis, edge):
    """Where the labels of major and of minor ticks end that is nearest to the axis."""
    axis.axes.figure.draw_without_rendering()
    low, high = axis.get_view_interval()
    return [
        {
            round(getattr(text.get_window_extent(), edge), 1)
            for place, text in zip(axis.get_ticklocs(minor=minor), axis.get_ticklabels(minor=minor), strict=True)
            if low <= place <= high and text.get_text()
        }
        for minor in (False, True)
    ]


def test_the_numbers_of_a_logarithmic_axis_stand_on_one_line():
    ax = draw(Picture("title", "x", "y", (Curve("a", X, X),), x_log=True, y_log=True))
    for axis, edge in ((ax.xaxis, "y1"), (ax.yaxis, "x1")):
        major, minor = edges(axis, edge)
        assert major and minor
        assert max(major | minor) - min(major | minor) <= 1


def test_what_bands_are_stands_in_the_legend():
    band = Curve("a", X, X, low=(1.0, 2.0, 3.0), high=(2e4, 3e4, 4e4))
    for words, names in (("two standard errors", ["a", "two standard errors"]), ("", ["a"])):
        legend = draw(Picture("title", "x", "y", (band,), bands=words)).get_legend()
        assert [text.get_text() for text in legend.get_texts()] == names


def test_the_first_two_printed_formulas_differ_in_colour_and_lie_over_what_is_proved():
    curves = (Curve("a", X, X, "published"), Curve("b", X, X, "published"), Curve("c", X, X, "proved"))
    one, two, proved = draw(Picture("title", "x", "y", curves)).get_lines()
    assert one.get_color() != two.get_color()
    assert min(one.get_zorder(), two.get_zorder()) > proved.get_zorder()
