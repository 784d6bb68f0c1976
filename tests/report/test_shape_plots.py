# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plots of shape functions show the released contributions, the scale of the term and the guarantee."""

import numpy as np
import pytest
from additive_tables import classifier, records

from dperm.errors import ParameterError
from dperm.presentation.numbers import format_number
from dperm.report import shape_page

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def fitted():
    table, labels, _ = records()
    return classifier().fit(table, labels)


def texts(labels) -> list[str]:
    return [label.get_text() for label in labels]


def test_every_term_has_a_plot_and_the_figure_has_the_guarantee(fitted, tmp_path):
    axes = fitted.plot_shapes(path=tmp_path / "shapes.png")
    assert [ax.get_title() for ax in axes] == fitted.term_names_
    assert axes[0].figure.get_suptitle() == "epsilon = 1, delta = 1e-6 (replace_one)"
    assert (tmp_path / "shapes.png").stat().st_size > 0


def test_a_curve_goes_through_the_contributions_and_has_no_band(fitted):
    (ax,) = fitted.plot_shapes(["age"])
    shape = fitted.shape_functions_["age"]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), shape.values)
    assert not ax.collections
    assert "(missing)" in texts(ax.get_xticklabels())
    places = dict(zip(texts(ax.get_xticklabels()), ax.get_xticks(), strict=True))
    assert places["30"] == pytest.approx((30 - 17) / 73, abs=1e-6)
    assert ax.get_ylabel() == "contribution to the score"


def test_cells_and_special_values_of_a_stretched_scale(fitted):
    (ax,) = fitted.plot_shapes("gain")
    shape = fitted.shape_functions_["gain"]
    np.testing.assert_array_equal(ax.patches[0].get_data().values, shape.values)
    places = dict(zip(texts(ax.get_xticklabels()), ax.get_xticks(), strict=True))
    assert places["10k"] == pytest.approx(np.arcsinh(10) / np.arcsinh(100), abs=0.01)
    assert {"0", "99999", "(missing)"} <= places.keys()
    dots = ax.lines[1].get_ydata()
    np.testing.assert_array_equal(dots, list(shape.special.values()))


def test_bars_of_categories(fitted):
    (ax,) = fitted.plot_shapes(["work"])
    shape = fitted.shape_functions_["work"]
    assert texts(ax.get_yticklabels()) == ["public", "private", "own", "(other)"]
    np.testing.assert_array_equal([bar.get_width() for bar in ax.patches], shape.points)


def test_the_heat_map_of_a_pair_is_centered_at_zero(fitted):
    (ax,) = fitted.plot_shapes(["hour x work"])
    (mesh,) = ax.collections
    np.testing.assert_array_equal(np.asarray(mesh.get_array()), fitted.shape_functions_["hour x work"].points)
    low, high = mesh.get_clim()
    assert low == -high and high == np.abs(mesh.get_array()).max()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("work", "hour")


def test_given_axes_have_the_guarantee_in_their_titles(fitted):
    from matplotlib.figure import Figure

    axes = Figure().subplots(1, 2)
    assert fitted.plot_shapes(["age", "sex"], axes) == list(axes)
    assert axes[1].get_title() == "sex\nepsilon = 1, delta = 1e-6 (replace_one)"
    with pytest.raises(ParameterError, match="axes must be 1 matplotlib axes"):
        fitted.plot_shapes(["age"], axes)
    with pytest.raises(ParameterError, match="names must name terms"):
        fitted.plot_shapes(["height"])


@pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")
def test_a_seeded_fit_says_that_it_is_not_private():
    table, labels, _ = records()
    (ax,) = classifier(interactions=0, random_state=1).fit(table, labels).plot_shapes(["age"])
    assert ax.figure.get_suptitle().startswith("NOT PRIVATE")


def test_without_clipping_contributions_are_log_odds():
    table, labels, _ = records()
    (ax,) = classifier(interactions=0, clip=1.0).fit(table, labels).plot_shapes(["age"])
    assert ax.get_ylabel() == "contribution to the log-odds"


# Page


def test_the_page_has_every_term_the_guarantee_and_no_external_parts(fitted, tmp_path):
    fitted.write_shapes(tmp_path / "shapes.html")
    text = (tmp_path / "shapes.html").read_text(encoding="utf-8")
    for name in fitted.term_names_:
        assert f"<h3>{name}</h3>" in text
    assert "epsilon = 1, delta = 1e-6 (replace_one)" in text and 'class="private"' in text
    assert "<image" not in text and "http://" not in text.replace("http://www.w3.org", "") and "<script" not in text
    assert text.count("<svg") == len(fitted.term_names_)
    assert format_number(fitted.shape_functions_["sex"].values[0]) in text


def test_without_matplotlib_the_page_has_tables(fitted, tmp_path, monkeypatch):
    monkeypatch.setattr(shape_page, "can_draw", lambda: False)
    fitted.write_shapes(tmp_path / "shapes.html")
    text = (tmp_path / "shapes.html").read_text(encoding="utf-8")
    assert "<svg" not in text and "matplotlib" in text and text.count("<table") == len(fitted.term_names_)


def test_existing_pages_and_other_suffixes_are_refused(fitted, tmp_path):
    path = tmp_path / "shapes.html"
    fitted.write_shapes(path)
    with pytest.raises(ParameterError, match="exists"):
        fitted.write_shapes(path)
    fitted.write_shapes(path, overwrite=True)
    with pytest.raises(ParameterError, match=r"\.html"):
        fitted.write_shapes(tmp_path / "shapes.pdf")


@pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")
def test_the_page_of_a_seeded_fit_says_that_it_is_not_private(tmp_path):
    table, labels, _ = records()
    classifier(interactions=0, random_state=1).fit(table, labels).write_shapes(tmp_path / "shapes.html")
    text = (tmp_path / "shapes.html").read_text(encoding="utf-8")
    assert "NOT PRIVATE" in text and 'class="not-private"' in text
