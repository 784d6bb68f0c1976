# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures of audits show the numbers of the audit."""

import sys

import numpy as np
import pytest

from dperm import GDP, ParameterError, PureDP
from dperm.audit import Finding, LowerBound
from dperm.audit.membership import Roc
from dperm.report.audit_plots import (
    MOST_CURVES,
    NAME_HEIGHT,
    AuditDot,
    _apart,
    plot_claimed_against_measured,
    plot_dots,
    plot_roc,
)

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def roc(mu: float = 1.0, size: int = 500) -> Roc:
    rng = np.random.default_rng(0)
    return Roc.of(np.concatenate([rng.normal(mu, 1, size), rng.normal(0, 1, size)]), np.repeat([True, False], size))


def finding(subject: str, claimed: float, measured: float) -> Finding:
    return Finding(subject, PureDP(claimed, "add_remove"), {"any": LowerBound(measured, 0.0, 0.95, "test")}, 0.95)


def labelled(ax, label):
    return next(line for line in ax.lines if line.get_label() == label)


def test_curves_have_both_axes_logarithmic_and_markers_at_the_rates_that_are_reported():
    given = roc()
    ax = plot_roc({"LiRA": given})
    assert ax.get_xscale() == ax.get_yscale() == "log"
    x, y = labelled(ax, f"LiRA (AUC {given.auc:.3f})").get_data()
    for false, true in list(zip(x, y, strict=True))[::60]:
        assert true == (given.members >= lowest_threshold(given, false)).mean()
    markers = next(line for line in ax.lines if line.get_marker() == "o")
    assert markers.get_xydata().tolist() == [[rate, given.tpr_at(rate)] for rate in (0.01, 0.1)]
    diagonal = labelled(ax, "random guessing (AUC 0.5)").get_xydata()
    assert diagonal.tolist() == [[0.001, 0.001], [1, 1]]


def lowest_threshold(given: Roc, rate: float) -> float:
    return min(t for t in given.scores if (given.non_members >= t).mean() <= rate * (1 + 1e-9))


def test_the_ceiling_of_a_guarantee_is_drawn():
    claim = GDP(0.5, "add_remove")
    ax = plot_roc(roc(), guarantee=claim)
    drawn = labelled(ax, "upper bound by mu = 0.5 (add_remove)").get_xydata()
    exact = np.array([1 - claim.profile().tradeoff(x) for x in drawn[:, 0]])
    assert (drawn[:, 1] >= exact - 1e-9).all() and drawn[:, 1] == pytest.approx(exact, rel=0.1)


def test_notes_stand_in_the_picture():
    ax = plot_roc(roc(), note="not private: do not publish")
    assert [text.get_text() for text in ax.texts] == ["not private: do not publish"]


def test_dots_have_a_line_each_with_claim_and_measurement():
    ax = plot_dots(
        [AuditDot("a $ b $", 1.0, 2.0, True), AuditDot("b", 4.0, 0.0, False), AuditDot("c", 1.0, float("inf"), True)]
    )
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a $ b $", "b", "c"]
    low, high = ax.get_xlim()
    crosses = [line.get_xydata().tolist() for line in ax.lines if line.get_marker() == "X"]
    assert crosses == [[[2.0, 0]], [[high, 2]]]
    assert next(line for line in ax.lines if line.get_marker() == "o").get_xydata().tolist() == [[low, 1]]
    claims = [line.get_xydata().tolist()[0] for line in ax.lines if line.get_marker() == "|"]
    assert claims == [[1.0, 0], [4.0, 1], [1.0, 2]]
    with pytest.raises(ParameterError, match="dots must have at least one"):
        plot_dots([])


def test_pictures_are_written_to_files(tmp_path):
    plot_roc(roc(), path=tmp_path / "roc.png")
    plot_claimed_against_measured([finding("a", 1.0, 0.9)], path=tmp_path / "claimed.svg")
    assert (tmp_path / "roc.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "claimed.svg").read_text()


def test_violations_are_marked_and_named_and_lie_above_the_diagonal():
    ax = plot_claimed_against_measured([finding("fine", 1.0, 0.9), finding("100 $ bug $", 1.0, 2.0)])
    assert labelled(ax, "violation").get_xydata().tolist() == [[1.0, 2.0]]
    assert labelled(ax, "no violation found").get_xydata().tolist() == [[1.0, 0.9]]
    assert [text.get_text() for text in ax.texts] == ["100 $ bug $"] and not ax.texts[0].get_parse_math()


def test_bounds_of_zero_and_infinity_lie_on_the_edges():
    ax = plot_claimed_against_measured({"none": finding("x", 1.0, 0.0), "all": finding("y", 2.0, float("inf"))})
    low, high = ax.get_ylim()
    assert labelled(ax, "no violation found").get_ydata() == pytest.approx([low])
    assert labelled(ax, "violation").get_ydata() == pytest.approx([high])


def test_names_do_not_cover_each_other():
    moved = _apart([0.5, 0.51, 0.52, 0.99, 0.995, 0.1], NAME_HEIGHT)
    assert min(np.diff(sorted(moved))) >= NAME_HEIGHT - 1e-12 and max(moved) <= 1 and moved[5] == 0.1
    assert np.argsort(moved).tolist() == [5, 0, 1, 2, 3, 4]


def test_names_of_points_on_both_sides_do_not_cover_each_other_either():
    ax = plot_claimed_against_measured(
        [finding("a long name", 0.1, 1.2), finding("another", 1.0, 1.21), finding("b", 4.0, 1.0)]
    )
    low, high = ax.get_ylim()
    heights = [np.log(text.get_position()[1] / low) / np.log(high / low) for text in ax.texts]
    assert abs(heights[0] - heights[1]) >= NAME_HEIGHT - 1e-9


def test_axes_that_are_given_are_used():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert plot_roc(roc(), ax) is ax and plot_claimed_against_measured([finding("a", 1.0, 0.9)], Figure().subplots())


def test_what_cannot_be_drawn_is_refused(monkeypatch):
    with pytest.raises(ParameterError, match="from 1 to 6 curves, got 7"):
        plot_roc(dict.fromkeys(range(MOST_CURVES + 1), roc()))
    for findings in ([], [finding("a", 0.0, 1.0)]):
        with pytest.raises(ParameterError, match="findings must have at least one"):
            plot_claimed_against_measured(findings)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ParameterError, match=r'pip install "dperm\[plots\]"'):
        plot_roc(roc())
