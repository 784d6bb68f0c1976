# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plots take and return axes, and what they draw is true: ceilings above the exact curve, and not far above."""

import math
import re
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from statements import POINTS, RECEIPT, STATED, booked, fitted, profile

from dperm import GDP, ApproxDP, Gaussian, ParameterError, Poisson, PureDP, account
from dperm.accounting.curve import WIDTH
from dperm.presentation.numbers import format_down, format_number, format_remaining, format_up
from dperm.report import page, plots
from dperm.report.figures import svg
from dperm.report.headline import NO_LIMIT, format_rate
from dperm.report.profile_samples import POINTS as CURVE_POINTS
from dperm.report.profile_samples import ProfileSamples
from dperm.report.utility import MeasuredUtility, measured_utility, with_measure_names
from dperm.sklearn import PrivateLogisticRegression

BARELY_MORE = 1.00000049
RATES = (0.0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.9, 1.0)
PROFILES = {
    "pure": PureDP(1.0, "add_remove").profile(),
    "approximate": ApproxDP(0.5, 1e-6, "replace_one").profile(),
    "gaussian": GDP(1.0, "add_remove").profile(),
    "large": GDP(6.0, "add_remove").profile(),
    "enormous": PureDP(1000.0, "add_remove").profile(),
    "none": PureDP(0.0, "add_remove").profile(),
    "sampled": account(Poisson(Gaussian(1.0), rate=0.05) * 50, "add_remove"),
}
EACH = pytest.mark.parametrize("name", PROFILES)


@pytest.fixture
def ax():
    return pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed").Figure().subplots()


@EACH
def test_the_curve_of_an_attacker_is_a_ceiling_and_close_to_the_exact_one(name):
    rates = {"sampled": RATES[2:5], "enormous": RATES[1:]}.get(name, RATES)  # exact values of the first take a while
    exact = np.array([1 - PROFILES[name].tradeoff(rate) for rate in rates])
    found = ProfileSamples.of(PROFILES[name]).true_positive_rates(rates)
    assert (found >= exact - 1e-9).all()
    assert found == pytest.approx(exact, abs=0.01)


@EACH
def test_a_curve_is_that_of_its_profile(name):
    curve = ProfileSamples.of(PROFILES[name])
    exact = np.array([PROFILES[name].delta(epsilon) for epsilon in curve.epsilons])
    assert curve.epsilons[0] == 0.0 and (np.diff(curve.epsilons) > 0).all() and (np.diff(curve.deltas) <= 0).all()
    assert len(curve.epsilons) >= CURVE_POINTS
    assert (np.array(curve.deltas) >= exact * (1 - 1e-9) - 1e-14).all()
    assert curve.deltas == pytest.approx(exact, rel=WIDTH, abs=1e-12)  # the width that a curve promises
    assert ProfileSamples.of(curve) is curve


@EACH
def test_curves_are_drawn_on_the_axes_that_are_given(ax, name):
    assert plots.privacy_profile(PROFILES[name], ax, promise=(0.5, 1e-6)) is ax
    drawn = ax.lines[0].get_xydata()
    curve = ProfileSamples.of(PROFILES[name])
    points = {(x, y) for x, y in zip(curve.epsilons, curve.deltas, strict=True) if y >= plots.LOWEST_DELTA}
    assert points <= set(map(tuple, drawn.tolist()))
    assert (np.diff(drawn[:, 0]) > 0).all() and (np.diff(drawn[:, 1]) <= 0).all()
    assert ax.get_yscale() == "log"


@EACH
def test_the_drawn_curve_is_an_upper_bound_between_its_points_too(name):
    drawn = ProfileSamples.of(PROFILES[name]).refined()
    low = np.array([PROFILES[name].delta_bracket(epsilon)[0] for epsilon in drawn.epsilons[::3]])
    assert (np.array(drawn.deltas[::3]) >= low * (1 - 1e-9) - 1e-14).all()


def test_the_curve_of_pure_noise_does_not_double_back():
    """A fit with pure noise: its deltas come down to 0 within the last digits of epsilon."""
    model = PrivateLogisticRegression(epsilon=50.0, feature_norm=1.0, classes=(0, 1)).fit(np.eye(2), [0, 1])
    curve = ProfileSamples.of(model.profile_)
    assert (np.diff(curve.epsilons) > 0).all() and (np.diff(curve.deltas) <= 0).all()
    table = page(model.statement_, model.profile_).partition('id="profile"')[2].partition("</table>")[0]
    shown = [float(cell) for cell in re.findall(r"<t[hd][^>]*>([0-9.e-]+)</t[hd]>", table)]
    assert 0.0 in shown[1::2] and (np.diff(shown[::2]) > 0).all() and (np.diff(shown[1::2]) <= 0).all()


def test_the_attackers_curve_has_the_diagonal_beside_it(ax):
    assert plots.trade_off(profile(), ax) is ax
    curve, diagonal = (line.get_xydata() for line in ax.lines)
    assert diagonal.tolist() == [[0, 0], [1, 1]]
    assert (curve[:, 1] >= curve[:, 0]).all() and curve[-1].tolist() == [1, 1]


def test_the_promise_is_marked(ax):
    plots.privacy_profile(profile(), ax, promise=(1.0, 1e-6))
    assert ax.lines[-1].get_xydata().tolist() == [[1.0, 1e-6]]
    plots.privacy_profile(profile(), ax, promise=(0.25, 0.0))
    assert set(ax.lines[-1].get_xdata()) == {0.25}


def test_what_was_measured_is_drawn_in_order_with_its_intervals(ax):
    assert plots.accuracy_against_epsilon(POINTS, ax) is ax
    assert ax.lines[0].get_xydata().tolist() == [[0.1, 0.71], [1.0, 0.845]]
    assert ax.get_xscale() == "log"
    ends = ax.collections[0].get_segments()
    assert [segment[:, 1].tolist() for segment in ends] == [pytest.approx([0.69, 0.73]), pytest.approx([0.832, 0.858])]


def test_levels_and_the_measure_come_from_the_field(ax):
    plots.accuracy_against_epsilon(measured_utility({**STATED["utility"], "measure": "R2"}), ax)
    assert ax.get_ylabel() == "R2"
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"without privacy", "by guessing"}
    assert {line.get_ydata()[0] for line in ax.lines} >= {0.866, 0.52}


def test_pairs_are_points_too():
    found = MeasuredUtility.of([(1.0, 0.8), (0.5, 0.7)])
    assert [(point.epsilon, point.low, point.high) for point in found.points] == [(0.5, 0.7, 0.7), (1.0, 0.8, 0.8)]


@pytest.mark.parametrize(
    "points",
    [[], [1.0], [(1.0,)], [("a", 1.0)], [(0.0, 1.0)], [{"epsilon": 1.0}], [{"epsilon": 1, "value": 1, "low": 2}], 7],
    ids=str,
)
def test_what_is_no_point_is_refused_and_is_no_picture(points):
    with pytest.raises(ParameterError, match="points must be a list of pairs"):
        MeasuredUtility.of(points)
    assert measured_utility({"points": points}) is None


@pytest.mark.parametrize(
    "utility", ["accuracy 0.8", [1, 2], {}, {"points": [[1.0, 0.8]], "without_privacy": "x"}], ids=str
)
def test_other_words_about_usefulness_are_no_picture(utility):
    assert measured_utility(utility) is None


def test_the_budget_has_a_bar_for_what_is_spent_and_says_what_is_left(ax):
    assert plots.budget(RECEIPT, ax) is ax
    widths = sorted(patch.get_width() for patch in ax.patches)
    assert widths == pytest.approx([0.4, 1.2345678901234567 / 3, 1.0, 1.0])
    assert [text.get_text() for text in ax.texts] == [
        "delta: 4e-6 of 1e-5 spent, 6e-6 remaining",
        "epsilon: 1.235 of 3 spent, 1.765 remaining",
    ]


def test_limits_and_what_is_spent_are_rounded_up_and_what_is_left_down(ax):
    receipt = {"capacity": {"epsilon": BARELY_MORE}, "spent": {"epsilon": 0.30000001}}
    plots.budget(receipt, ax)
    assert [text.get_text() for text in ax.texts] == ["epsilon: 0.3001 of 1.001 spent, 0.7 remaining"]
    shown = page(booked(**receipt))
    assert "<td>0.300001</td><td>1.00001</td><td>0.7</td>" in shown and "limit at the time of the charge</th>" in shown


def test_what_is_left_is_never_too_much():
    assert [
        format_remaining(0.3, 0.1),
        format_remaining(1.0, 1.0),
        format_remaining(1e-5, 4e-6),
        format_remaining(math.inf, 1.0),
    ] == ["0.2", "0", "6e-6", "infinite"]
    assert format_remaining(1.0000001, 0.0) == "1" and format_remaining(3.0, 1.2345678901234567, 4) == "1.765"


def texts_of(draw) -> str:
    """All texts of a plot, without markup."""
    root = ElementTree.fromstring(svg(draw, "x", title="t", description="d").replace("xlink:href", "href"))
    return ElementTree.tostring(root, "unicode", "text")


@pytest.mark.parametrize("text", ["gain $\\foo{$", "$x$ and $y$", "$", "100 $ of 200 $", "a_b^c", "精度"], ids=str)
def test_what_the_user_writes_is_drawn_as_it_is(text):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    utility = {**STATED["utility"], "measure": text, "on": text}
    points = replace(measured_utility(utility), levels={f"level {text}": 0.5})
    shown = texts_of(lambda ax: plots.accuracy_against_epsilon(points, ax))
    assert text in shown.replace(f"level {text}", "") and f"level {text}" in shown
    numbers = {"capacity": {text: 1.0}, "spent": {text: 0.5}}
    assert f"{text}: 0.5 of 1 spent" in texts_of(lambda ax: plots.budget(numbers, ax))
    assert page(booked(**numbers).filled({"utility": utility})).count("<svg") == 2


def test_epsilons_that_the_user_states_are_rounded_up():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    numbers = {"measure": "R2", "points": [[BARELY_MORE, 0.8]], "target_epsilon": BARELY_MORE, "Delta": [1.0000001e-6]}
    found = fitted().statement_.filled({"utility": numbers, "reasons": {"epsilon": BARELY_MORE, "other": BARELY_MORE}})
    for text in (page(found).partition("Machine-readable")[0], found.to_markdown()):
        assert text.count("1.00001") >= 4 and "1.00001e-6" in text
    shown = texts_of(lambda ax: plots.accuracy_against_epsilon(measured_utility(numbers), ax))
    assert "1.00001" in shown.split()


def test_a_measure_does_not_hide_the_epsilon():
    assert with_measure_names({"measure": "epsilon", "points": [[1.0, 0.5]]})["points"] == [
        {"epsilon": 1.0, "value": 0.5}
    ]


def test_of_many_currencies_those_that_are_used_most_are_shown():
    many = {f"tau({order})": 1.0 for order in range(2, 40)}
    rows = plots.spendings({"capacity": many, "spent": {name: place / 40 for place, name in enumerate(many)}})
    assert [name for name, _, _ in rows] == [f"tau({order})" for order in range(39, 39 - plots.MOST_BARS, -1)]


@pytest.mark.parametrize("receipt", [{}, {"spent": {}}, {"spent": {}, "capacity": {"epsilon": 1.0}}, []], ids=str)
def test_what_is_no_receipt_is_refused(receipt):
    with pytest.raises(ParameterError, match="receipt must be that of a budget"):
        plots.spendings(receipt)


def test_without_axes_a_plot_makes_its_own(monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")
    pyplot.switch_backend("agg")
    first, second = plots.trade_off(profile()), plots.budget(RECEIPT)
    assert first.figure is not second.figure
    pyplot.close("all")


def test_without_matplotlib_a_plot_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ParameterError, match=r'pip install "dperm\[plots\]"'):
        plots.trade_off(profile())


def test_an_embedded_plot_is_well_formed_described_and_always_the_same():
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")

    def made(name: str) -> str:
        return svg(lambda ax: plots.trade_off(profile(), ax), name, title="A <b>", description="C & D")

    text = made("x")
    with matplotlib.rc_context({"font.size": 30.0, "axes.facecolor": "red", "svg.fonttype": "path"}):
        assert made("x") == text
    root = ElementTree.fromstring(text.replace("xlink:href", "href"))
    assert root.attrib["role"] == "img" and [child.text for child in root[:2]] == ["A <b>", "C & D"]
    assert "metadata" not in text and "DOCTYPE" not in text and "<?xml" not in text
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert len(set(ids)) == len(ids) and all(name.startswith("x-") for name in ids)
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= set(ids)
    assert made("y") == re.sub(r'(\bid="|"#|url\(#|labelledby="|\s)x-', r"\1y-", text)
    assert "var(--first" in text and "var(--ink" in text


@pytest.mark.parametrize(
    ("number", "up", "down"),
    [
        (1.0, "1", "1"),
        (0.1, "0.1", "0.1"),
        (1e-6, "1e-6", "1e-6"),
        (0.12345678901, "0.123457", "0.123456"),
        (123456789.125, "123457000", "123456000"),
        (1.2345678901e-7, "1.23457e-7", "1.23456e-7"),
        (1e300, "1e300", "1e300"),
        (float("inf"), "infinite", "infinite"),
        (5000, "5000", "5000"),
        (0.0, "0", "0"),
    ],
)
def test_numbers_are_rounded_to_the_side_that_is_asked_for(number, up, down):
    assert (format_up(number), format_down(number)) == (up, down)
    assert format_number(number) in (up, down)


def test_percentages_are_rounded_up():
    assert [format_rate(rate) for rate in (0.5, 0.54701, 0.001)] == ["50 %", "54.8 %", "0.1 %"]
    assert [format_rate(rate) for rate in (0.99961, 0.9999989, 0.9999999, 1.0)] == [
        "99.961 %",
        "99.9999 %",
        *[NO_LIMIT] * 2,
    ]
    assert [format_rate(rate) for rate in (0.07, math.nextafter(0.07, 1))] == ["7 %", "7.01 %"]
