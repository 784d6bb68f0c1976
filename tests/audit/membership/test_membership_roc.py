# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""ROC curves of attacks: exact on small examples, honest intervals, and ceilings that are ceilings."""

import json

import numpy as np
import pytest
from scipy.special import ndtr

from dperm import GDP, ZCDP, ApproxDP, Gaussian, ParameterError, Poisson, PureDP, account
from dperm.audit.membership import Roc, TrialDependence, area_ceiling, rate_ceiling

REPEATS = 400
PROFILES = {
    "pure": PureDP(1.0, "add_remove"),
    "nothing": PureDP(0.0, "add_remove"),
    "enormous": PureDP(1000.0, "add_remove"),
    "approximate": ApproxDP(0.5, 1e-3, "replace_one"),
    "gaussian": GDP(1.0, "add_remove"),
    "faint": GDP(0.01, "add_remove"),
    "strong": GDP(5.0, "add_remove"),
    "concentrated": ZCDP(0.3, "add_remove"),
}


def gaussian_roc(mu: float, size: int, rng: np.random.Generator, trials: str = "independent") -> Roc:
    scores = np.concatenate([rng.normal(mu, 1, size), rng.normal(0, 1, size)])
    return Roc.of(scores, np.repeat([True, False], size), trials=trials)


def test_rates_and_area_of_a_small_example():
    members, others = np.arange(10) + 0.5, np.arange(10) - 3.0
    roc = Roc.of(np.concatenate([members, others]), np.repeat([1, 0], 10))
    assert roc.auc == np.mean(members[:, None] > others)
    assert roc.tpr_at(0.0) == np.mean(members > 6)
    point = roc.at(0.25)
    assert (point.false_positive_rate, point.threshold, point.true_positive_rate) == (0.2, 4.0, 0.6)
    assert roc.above(-99.0).true_positive_rate == roc.above(-99.0).false_positive_rate == 1.0
    assert roc.at(1.0).false_positive_rate == 0.9, "a threshold is a score of a non-member, and scores above it count"


def test_a_tie_is_half_a_success_and_no_false_alarm():
    roc = Roc.of(np.zeros(40), np.repeat([1, 0], 20))
    assert roc.auc == 0.5 and roc.tpr_at(0.5) == 0.0
    false, true = roc.curve
    assert false.tolist() == true.tolist() == [0.0, 1.0]


def test_the_curve_is_that_of_every_threshold():
    rng = np.random.default_rng(0)
    scores, member = rng.integers(0, 9, 60).astype(float), rng.random(60) < 0.5
    false, true = Roc.of(scores, member).curve
    expected = [((scores[~member] >= t).mean(), (scores[member] >= t).mean()) for t in np.unique(scores)[::-1]]
    assert np.column_stack([false, true])[1:].tolist() == [list(pair) for pair in expected]
    assert np.trapezoid(true, false) == pytest.approx(Roc.of(scores, member).auc)


@pytest.mark.parametrize("mu", [0.0, 1.0, 2.5])
def test_intervals_of_the_area_cover_it_about_as_often_as_they_say(mu):
    rng, exact = np.random.default_rng(1), ndtr(mu / np.sqrt(2))
    found = [gaussian_roc(mu, 40, rng).auc_interval() for _ in range(REPEATS)]
    covered = np.mean([low <= exact <= high for low, high in found])
    assert 0.92 <= covered <= 0.985
    assert np.mean([high - low for low, high in found]) < 0.27, "an interval of everything covers, too"


def test_separated_scores_have_an_interval_that_is_no_point():
    roc = Roc.of(np.arange(40.0), np.repeat([0, 1], 20))
    low, high = roc.auc_interval()
    assert roc.auc == high == 1.0 and 0.75 < low < 0.95
    assert Roc.of(np.zeros(40), np.repeat([0, 1], 20)).auc_interval()[0] < 0.4


@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_intervals_of_rates_hold_at_thresholds_that_come_from_non_members(rate):
    rng, mu = np.random.default_rng(2), 1.5
    missed_true = missed_false = 0
    for _ in range(REPEATS):
        point = gaussian_roc(mu, 60, rng).at(rate, confidence=0.9)
        low, high = point.true_positive_interval
        missed_true += not low <= ndtr(mu - point.threshold) <= high
        missed_false += ndtr(-point.threshold) > point.false_positive_interval[1]
    assert missed_true <= 0.1 * REPEATS + 3 * np.sqrt(0.09 * REPEATS)
    assert abs(missed_false - 0.05 * REPEATS) <= 4 * np.sqrt(0.05 * REPEATS), "exact, and not only safe"


@pytest.mark.parametrize("name", PROFILES)
def test_the_area_under_the_ceiling_is_a_ceiling_and_tight(name):
    profile = PROFILES[name].profile()
    edges = np.linspace(0, 1, 401)
    curve = np.array([profile.tradeoff(x) for x in edges])
    most = 1 - np.trapezoid(curve, edges)
    slack = 0.02 if name == "concentrated" else 2e-3
    assert most <= area_ceiling(profile) <= most + slack
    assert area_ceiling(PROFILES[name]) == area_ceiling(profile)


def test_areas_that_are_known_in_closed_form():
    assert area_ceiling(PureDP(1.0, "add_remove")) == pytest.approx(np.e / (1 + np.e), abs=1e-6)
    exact = ndtr(1 / np.sqrt(2))
    assert exact <= area_ceiling(GDP(1.0, "add_remove")) <= exact + 1e-3
    assert area_ceiling(PureDP(0.0, "add_remove")) == pytest.approx(0.5, abs=1e-9)


def test_a_composed_profile_has_a_ceiling():
    profile = account(Poisson(Gaussian(1.0), rate=0.05) * 50, "add_remove")
    assert 0.6 < area_ceiling(profile) < 0.65


def test_rates_that_a_guarantee_allows():
    assert rate_ceiling(PureDP(1.0, "add_remove"), 0.01) == pytest.approx(np.e / 100)
    assert rate_ceiling(PureDP(1.0, "add_remove"), 0.01) >= np.e / 100
    assert rate_ceiling(GDP(1.0, "add_remove"), 0.01) == pytest.approx(ndtr(1 - 2.3263478740408408))
    assert rate_ceiling(ApproxDP(1.0, 0.01, "add_remove"), 0.0) >= 0.01
    ceilings = gaussian_roc(1.0, 50, np.random.default_rng(0)).ceilings(GDP(1.0, "add_remove"), rates=(0.01,))
    assert list(ceilings) == ["AUC", "TPR at FPR 1 %"]


@pytest.mark.parametrize(
    ("scores", "member", "words"),
    [
        ([0.0, np.nan] * 20, [1, 0] * 20, "NaN"),
        (np.arange(40.0), np.ones(40), "got 40 and 0"),
        (np.arange(18.0), [1, 0] * 9, "got 9 and 9"),
        (np.arange(40.0), [1, 2] * 20, "member must be True or False"),
        (np.arange(40.0), np.ones(39), "the length of member"),
    ],
    ids=["nan", "one-class", "few", "no-bits", "lengths"],
)
def test_what_is_no_attack_is_refused(scores, member, words):
    with pytest.raises(ParameterError, match=words):
        Roc.of(scores, member)


def test_arguments_are_named_in_errors():
    with pytest.raises(
        ParameterError, match='trials must be one of "independent", "one_run", "dependent", got \'none\''
    ):
        Roc.of(np.arange(40.0), [1, 0] * 20, trials="none")
    with pytest.raises(ParameterError, match="confidence must be"):
        Roc.of(np.arange(40.0), [1, 0] * 20).at(0.1, confidence=1.0)


def test_what_is_descriptive_says_so():
    rng = np.random.default_rng(3)
    assert "descriptive only" in gaussian_roc(1.0, 50, rng, trials="dependent").as_dict()["intervals"]
    found = gaussian_roc(1.0, 50, rng).as_dict()
    assert "Clopper-Pearson" in found["intervals"] and json.loads(json.dumps(found)) == found
    assert Roc.of(np.arange(40.0), [1, 0] * 20).trials is TrialDependence.DEPENDENT
