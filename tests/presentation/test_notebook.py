# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""HTML for notebooks: well formed, escaped, accessible, without scripts, style sheets or external resources."""

import re
from xml.etree import ElementTree

import pytest

from dperm.presentation.notebook import (
    DiagramBlock,
    Html,
    guarantee_rows,
    line_chart,
    notebook_card,
    notebook_fold,
    notebook_grid,
    notebook_list,
    notebook_table,
    number_rows,
    plan_card,
    side_by_side,
)
from dperm.presentation.tables import TextTable

HOSTILE = "<script>alert(1)</script>&\"'"
GOAL = {"kind": "ApproxDP", "epsilon": 1.0, "delta": 1e-6, "adjacency": "replace_one"}
POINTS = [(0.0, 0.5), (1.0, 1e-3), (2.0, 0.0)]


def every_part(text):
    chart = line_chart(POINTS, title=text, x_label=text, y_label=text)
    return {
        "table": notebook_table([(text, {text: [text, {text: text}]}), ("list", [text, "two words"])]),
        "grid": notebook_grid(TextTable((text, "b"), [(text, text)], caption=text)),
        "card": notebook_card(text, text, notebook_list([text]), notebook_fold(text, chart), badge=(text, "bad")),
        "plan": plan_card(text, {**GOAL, "adjacency": text}, [(text, text)], [text], {text: {text: text}}, unit=text),
        "sides": side_by_side(chart),
    }


@pytest.mark.parametrize("part", every_part(HOSTILE).items(), ids=lambda part: part[0])
def test_every_text_is_escaped_and_the_html_is_well_formed(part):
    name, html = part
    root = ElementTree.fromstring(html)
    assert "script" not in {element.tag for element in root.iter()}
    assert "".join(root.itertext()).count(HOSTILE) >= 2, name


def relative_luminance(color):
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("status", ["good", "bad"])
def test_badges_have_the_contrast_of_wcag_aa(status):
    """4.5 to 1, on a background of their own, so in light and dark themes."""
    back, front = re.search(r"background:(#\w{6});color:(#\w{6})", notebook_card("t", badge=("B", status))).groups()
    light, dark = sorted(map(relative_luminance, (back, front)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize("part", every_part("text").items(), ids=lambda part: part[0])
def test_no_script_style_sheet_or_resource_and_only_neutral_colors_outside_badges(part):
    html = part[1]
    assert not re.search(r"<script|<style|<link|<img|<iframe|\bon\w+=|https?:|url\(|@import|\bsrc=|\bhref=", html)
    unbadged = re.sub(r"<span.*?</span>", "", html)
    assert set(re.findall(r"(?<![-\w])(?:color|background|fill|stroke):?=?[\"']?([#\w]+)", unbadged)) <= {
        "inherit",
        "currentColor",
        "none",
    }


def test_header_cells_have_a_scope():
    for html in every_part("text").values():
        cells = [element for element in ElementTree.fromstring(html).iter() if element.tag == "th"]
        assert all(cell.get("scope") in {"row", "col"} for cell in cells)
    assert [cell.get("scope") for cell in ElementTree.fromstring(every_part("text")["grid"]).iter("th")] == [
        "col",
        "col",
        "row",
    ]


def test_finished_html_stays_and_text_becomes_a_paragraph():
    html = notebook_card("title", Html("<b>bold</b>"), "1 < 2", "")
    assert "<b>bold</b>" in html and ">1 &lt; 2</p>" in html and html.count("<p") == 1
    assert notebook_list([]) == "" and notebook_fold("summary", "") == ""


def test_a_chart_goes_down_and_to_the_right_and_stays_inside():
    root = ElementTree.fromstring(line_chart(POINTS, title="delta over epsilon", x_label="x", y_label="y"))
    assert root.get("role") == "img" and root.get("aria-label") == root.find("title").text == "delta over epsilon"
    _, _, width, height = map(float, root.get("viewBox").split())
    places = [tuple(map(float, pair.split(","))) for pair in root.find("polyline").get("points").split()]
    assert len(places) == len(POINTS)
    assert places == sorted(places) and [y for _, y in places] == sorted(y for _, y in places)
    assert all(0 <= x <= width and 0 <= y <= height for x, y in places)
    labels = [text.text for text in root.iter("text")]
    assert {"1", "1e-3", "1e-12", "0", "2", "x", "y"} <= set(labels)


@pytest.mark.parametrize("points", [[(0.0, 1.0)], [(0.0, 0.0), (0.0007, 0.0)], [(0.0, 1.0), (4321.0, 1.0)]])
def test_extreme_charts_have_finite_coordinates(points):
    html = line_chart(points, title="t", x_label="x", y_label="y")
    assert "nan" not in html and "inf" not in html
    assert 2 <= len(ElementTree.fromstring(html).findall("line")) < 20


def test_a_guarantee_is_rounded_up_and_names_its_unit():
    rows = dict(guarantee_rows({**GOAL, "epsilon": 1.00000001, "adjacency": "add_remove"}, "group"))
    assert rows["guarantee"] == "(epsilon, delta)-DP: epsilon = 1.00001, delta = 1e-6"
    assert rows["protects"] == "one group added or removed (add_remove)"
    renyi = {"kind": "RDP", "curve": ((2.0, 0.1), (8.0, 0.5)), "adjacency": "replace_one"}
    assert dict(guarantee_rows(renyi))["guarantee"] == "Renyi DP: 0.1 at order 2, 0.5 at order 8"


def test_public_numbers_have_names_and_six_digits():
    rows = dict(number_rows({"n": 5, "clip": 1.0000000000000009, "step_noise": {"grid": 1 / 3}, "loss": "logistic"}))
    assert rows == {"number of records": 5, "clip": "1", "step noise": {"grid": "0.333333"}, "loss": "logistic"}


def test_the_block_of_a_diagram_has_the_attributes_of_scikit_learn():
    sklearn = pytest.importorskip("sklearn.utils._repr_html.estimator")
    theirs = vars(sklearn._VisualBlock("single", 1, names="a", name_details="b", name_caption="c"))
    assert vars(DiagramBlock(1, "a", "b", "c")) == theirs
