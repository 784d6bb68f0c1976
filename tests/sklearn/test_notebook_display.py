# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Estimators, plans, profiles, releases and findings in notebooks: nothing private, nothing unescaped."""

import copy
import json
import pickle
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from dperm import ApproxDP, Ledger, PureDP
from dperm.accounting import MemoryBudget
from dperm.audit.finding import Finding
from dperm.audit.rates import from_rates
from dperm.errors import DpermWarning, NotPrivateWarning
from dperm.mechanisms import LaplaceMechanism
from dperm.noise import NotPrivateBits
from dperm.privacy import GDP, RDP, ZCDP
from dperm.sklearn import PrivateLinearRegression, PrivateLogisticRegression

CARD = '<div role="group" aria-label="Privacy"'
HOSTILE = "<script>alert(1)</script>"
rng = np.random.default_rng(5)
X = rng.uniform(-1, 1, (1500, 2))
Y = (X[:, 0] > 0).astype(int)


def model(**arguments):
    return PrivateLogisticRegression(**{"bounds": (-1, 1), "classes": (0, 1), **arguments})


def card_of(html):
    """The last card, which ends the representation."""
    return html[html.rindex(CARD) : -len("</div>")]


def test_an_estimator_keeps_the_diagram_and_has_one_card_below_it():
    for shown in (model(), model().fit(X, Y)):
        html = shown._repr_html_()
        assert "sk-top-container" in html and html.count(CARD) == 1
        assert html.index(CARD) > html.rindex("sk-toggleable__content")
        ElementTree.fromstring(card_of(html))


def test_an_unfitted_estimator_shows_its_parameters():
    card = card_of(model(epsilon=0.25, method="output")._repr_html_())
    assert "NOT FITTED" in card and "epsilon=0.25, delta=1e-06" in card and ">output<" in card
    assert "replace_one" in card and "PRIVATE<" not in card


def test_a_fitted_estimator_shows_guarantee_method_and_reasons():
    fitted = model(adjacency="add_remove", n=1500, ledger=MemoryBudget(PureDP(3.0, "add_remove")), delta=0.0).fit(X, Y)
    card = card_of(fitted._repr_html_())
    root = ElementTree.fromstring(card)
    names = [cell.text for cell in root.iter("th")]
    assert names == ["guarantee", "protects", "method", "charged to", "covered"]
    assert "epsilon = 1" in card and "one record added or removed" in card and "objective perturbation" in card
    assert [item.text for item in root.iter("li")] == [str(reason) for reason in fitted.plan_.why]


def test_a_pipeline_shows_the_guarantee_below_the_name_and_the_card_when_unfolded():
    pipe = make_pipeline(model())
    assert "not fitted; requested epsilon=1.0" in estimator_html_repr(pipe)
    html = estimator_html_repr(pipe.fit(X, Y))
    assert '<div class="caption">PRIVATE: epsilon = 1, delta = 1e-6</div>' in html
    if hasattr(StandardScaler, "_get_params_html"):  # from scikit-learn 1.7
        assert html.count(CARD) == 1 and "reasons of the plan" in html


def test_transformers_that_learn_from_the_data_are_shown_as_not_covered():
    with pytest.warns(DpermWarning):
        pipe = make_pipeline(StandardScaler(), model(fitted_transformers="not_covered")).fit(X, Y)
    assert '<div class="caption">NOT COVERED</div>' in estimator_html_repr(pipe)
    card = card_of(pipe[-1]._repr_html_())
    assert "NOT COVERED" in card and "#1b6e3c" not in card


def test_a_fit_without_noise_or_with_a_seed_has_a_warning_badge():
    for arguments in ({"epsilon": np.inf}, {"random_state": 3}):
        with pytest.warns(NotPrivateWarning):
            fitted = model(**arguments).fit(X, Y)
        card = card_of(fitted._repr_html_())
        assert ">NOT PRIVATE</span>" in card and "#b3261e" in card and "#1b6e3c" not in card
        assert fitted._sk_visual_block_().name_caption == "NOT PRIVATE"


def test_names_of_columns_classes_and_accounts_are_escaped(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=[HOSTILE, "b"])
    ledger = Ledger.open(tmp_path / "a.ledger", PureDP(3.0, "replace_one"), dataset=HOSTILE[:20], account="<script>1")
    labels = np.array([HOSTILE, "z"])
    fitted = PrivateLogisticRegression(
        delta=0.0, bounds={HOSTILE: (-1, 1), "b": (-1, 1)}, classes=tuple(labels), ledger=ledger
    ).fit(table, labels[Y])
    for html in (fitted._repr_html_(), estimator_html_repr(make_pipeline(fitted)), fitted.statement_._repr_html_()):
        assert HOSTILE not in html and "<script>1" not in html
    assert "&lt;script&gt;1" in card_of(fitted._repr_html_())


def test_the_card_depends_on_public_facts_alone():
    """Fits on opposite data, under add/remove where even the number of rows is private, have the same card."""
    one = model(adjacency="add_remove", n=1500).fit(X, Y)
    other = model(adjacency="add_remove", n=1500).fit(-X[:700], 1 - Y[:700])
    assert card_of(one._repr_html_()) == card_of(other._repr_html_())
    assert one.plan_._repr_html_() == other.plan_._repr_html_()
    assert one.profile_._repr_html_() == other.profile_._repr_html_()
    shown = re.findall(r"\d+\.?\d*", re.sub(r"<[^>]+>", " ", card_of(other._repr_html_())))
    assert "700" not in shown and not {f"{value:.6g}" for value in other.coef_.ravel()} & set(shown)


def test_text_display_is_respected_and_models_stay_as_they_were():
    fitted = model().fit(X, Y)
    with config_context(display="text"):
        assert fitted._repr_mimebundle_() == {"text/plain": repr(fitted)}
    assert set(fitted._repr_mimebundle_(include=None, exclude=None)) == {"text/plain", "text/html"}
    for again in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted)), clone(fitted).fit(X, Y)):
        assert card_of(again._repr_html_()) == card_of(fitted._repr_html_())


def test_a_model_from_a_file_is_shown_without_reasons(tmp_path):
    model().fit(X, Y).save(tmp_path / "m.dperm")
    card = card_of(PrivateLogisticRegression.load(tmp_path / "m.dperm")._repr_html_())
    assert ">PRIVATE</span>" in card and "objective perturbation" in card and "<li>" not in card


def test_a_plan_shows_its_reasons_and_every_public_number():
    plan = PrivateLinearRegression(bounds=(-1, 1), label_range=(0, 1)).plan(n=1000, dim=2)
    root = ElementTree.fromstring(plan._repr_html_())
    assert [item.text for item in root.iter("li")] == [str(reason) for reason in plan.why]
    assert len(root.findall("details/table/tr")) == len(plan.describe())


PROFILES = {
    "pure": PureDP(1.0, "replace_one"),
    "approximate": ApproxDP(1.0, 1e-6, "replace_one"),
    "large delta": ApproxDP(0.0, 0.5, "add_remove"),
    "nothing spent": PureDP(0.0, "replace_one"),
    "beyond doubles": PureDP(1e4, "replace_one"),
    "concentrated": ZCDP(0.125, "add_remove"),
    "gaussian": GDP(0.5, "add_remove"),
    "renyi": RDP({2.0: 0.1, 8.0: 0.5}.items(), "add_remove"),
}


@pytest.mark.parametrize("guarantee", PROFILES.values(), ids=PROFILES)
def test_a_profile_shows_upper_bounds_and_a_curve(guarantee):
    profile = guarantee.profile()
    root = ElementTree.fromstring(profile._repr_html_())
    assert guarantee.adjacency.value in root.find("div/strong").text
    rows = {row[0].text: row[1].text for row in root.iter("tr") if row[1].tag == "td"}
    assert list(rows) == ["0.001", "1e-5", "1e-6", "1e-9", "0"]
    for delta, epsilon in rows.items():
        exact = profile.epsilon(float(delta))
        assert float(epsilon.replace("infinite", "inf")) >= exact
        assert exact == np.inf or float(epsilon) <= exact * 1.001 + 1e-12  # four digits
    assert len(root.find(".//polyline").get("points").split()) > 40


def test_a_release_shows_its_value_or_that_it_is_not_private():
    mechanism = LaplaceMechanism.calibrate(1.0, PureDP(0.5, "add_remove"))
    release = mechanism.release(3.0)
    html = release._repr_html_()
    assert repr(release.value) in html and "epsilon-DP: epsilon = 0.5" in html and ">PRIVATE</span>" in html
    with pytest.warns(NotPrivateWarning):
        seeded = mechanism.release(3.0, bits=NotPrivateBits(1))
    html = seeded._repr_html_()
    assert ">NOT PRIVATE</span>" in html and "epsilon" not in html
    long = release.with_value([HOSTILE] * 1000)._repr_html_()
    assert HOSTILE not in long and len(long) < 4000
    ElementTree.fromstring(long)


def test_a_finding_shows_all_bounds_rounded_to_the_safe_side():
    bounds = {
        HOSTILE: from_rates(900, 1000, 100, 1000, delta=1e-5, confidence=0.975),
        "low": from_rates(550, 1000, 500, 1000, delta=1e-5, confidence=0.975),
    }
    finding = Finding(HOSTILE, ApproxDP(2.0, 1e-5, "add_remove"), bounds, 0.95)
    html = finding._repr_html_()
    root = ElementTree.fromstring(html)
    rows = [[cell.text for cell in row] for row in root.iter("tr")][1:]
    assert [row[0] for row in rows] == list(bounds)
    for row in rows:
        measured = bounds[row[0]].epsilon
        assert measured * 0.998 <= float(row[1]) <= measured and float(row[2]) >= 2
    assert "NO VIOLATION FOUND" in html and str(finding).split(":")[0] in html
    assert [item.text for item in root.iter("li")] == [str(fact) for fact in finding.explanations]
    violation = Finding("x", ApproxDP(0.5, 1e-5, "add_remove"), bounds, 0.95)._repr_html_()
    assert ">VIOLATION</span>" in violation and "#b3261e" in violation


def test_ipython_is_not_needed():
    code = """
import json, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"IPython", "ipykernel", "nbformat", "nbclient", "matplotlib"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuse())
from dperm import PureDP
from dperm.sklearn import PrivateLogisticRegression
html = PrivateLogisticRegression()._repr_html_() + PureDP(1.0, "replace_one").profile()._repr_html_()
print(json.dumps(["NOT FITTED" in html, "<svg" in html]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [True, True]
