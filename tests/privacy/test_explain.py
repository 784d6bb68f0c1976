# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What an attacker can do: ceilings that hold, and sentences that say them."""

import json
import math

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dperm.errors import ParameterError
from dperm.presentation.numbers import format_percent
from dperm.privacy import GDP, RDP, ZCDP, Adjacency, ApproxDP, PureDP, explain, replace_one_profile
from dperm.privacy.convert import pure_to_gdp

SUBJECTS = [
    PureDP(0.0, "add_remove"),
    PureDP(1.0, "replace_one"),
    PureDP(1e5, "add_remove"),
    ApproxDP(1.0, 1e-6, "replace_one"),
    ApproxDP(0.1, 0.2, "replace_one"),
    ZCDP(0.125, "add_remove"),
    GDP(1e-6, "add_remove"),
    GDP(1.0, "add_remove"),
    GDP(1e4, "add_remove"),
    RDP([(2.0, 0.1), (8.0, 0.5), (64.0, 6.0)], "replace_one"),
    replace_one_profile(GDP(0.5, "add_remove").profile()),
]
subjects = pytest.mark.parametrize("subject", SUBJECTS, ids=str)


@subjects
def test_a_guarantee_and_its_profile_are_explained_alike(subject):
    explained = explain(subject)
    assert explained.adjacency is subject.adjacency
    if subject in SUBJECTS[:-1]:
        assert explain(subject.profile()) == explained


@subjects
def test_every_rate_is_a_probability_and_the_data_is_json(subject):
    data = json.loads(json.dumps(explain(subject).as_dict(), allow_nan=False))
    assert data["unit"] == "one record"
    rates = [row["true_positive_rate"] for row in data["true_positive_rates"]]
    assert [row["false_positive_rate"] for row in data["true_positive_rates"]] == [0.001, 0.01]
    assert all(0 <= rate <= 1 for rate in [*rates, data["advantage"], data["accuracy"], data["posterior"]])
    assert [row["delta"] for row in data["epsilons"]] == [1e-5, 1e-6, 1e-9]


@subjects
def test_the_two_sentences_name_the_adjacency_and_one_record(subject):
    first, second = explain(subject).sentences
    assert subject.adjacency.value in first
    assert "one record" in first
    assert "one record" in second
    assert first.endswith(".")
    assert second.endswith(".")
    assert "nan" not in first + second
    assert "inf" not in first + second


@given(st.floats(-3, 0.9).map(lambda power: 10.0**power))
def test_of_a_gaussian_every_number_is_the_exact_one(mu):
    """T19: TPR = Phi(Phi^-1(x) + mu), advantage = 2 Phi(mu/2) - 1 (T2 at eps = 0), the closest mu is mu."""
    explained = explain(GDP(mu, "add_remove"))
    for (rate, found), quantile in zip(
        explained.true_positive_rates, (-3.090232306167813, -2.326347874040841), strict=True
    ):
        assert rate in (0.001, 0.01)
        assert found == pytest.approx(float(mp.ncdf(quantile + mu)), rel=1e-9)
    assert explained.advantage == pytest.approx(float(2 * mp.ncdf(mu / 2) - 1), rel=1e-9)
    assert explained.accuracy == pytest.approx(float(mp.ncdf(mu / 2)), rel=1e-9)
    assert explained.gdp_mu == pytest.approx(mu, rel=1e-9)
    assert explained.gdp_mu >= mu


@given(st.floats(0.01, 12))
def test_of_pure_dp_the_posterior_and_the_mu_are_the_exact_ones(epsilon):
    """T1: odds at most e^eps. T20: the closest mu is 2 Phi^-1(e^eps/(1 + e^eps))."""
    explained = explain(PureDP(epsilon, "replace_one"))
    assert explained.posterior == pytest.approx(1 / (1 + math.exp(-epsilon)), rel=1e-14)
    assert explained.posterior >= 1 / (1 + math.exp(-epsilon))
    assert explained.accuracy == pytest.approx(explained.posterior, rel=1e-12)
    assert explained.gdp_mu == pytest.approx(pure_to_gdp(PureDP(epsilon, "replace_one")).mu, rel=1e-6)


@given(st.floats(-3, 0.9).map(lambda power: 10.0**power), st.sampled_from([1e-9, 1e-6, 1e-3, 0.1]))
def test_the_posterior_is_exceeded_as_rarely_as_is_said(mu, surprise):
    """T2b, not the folk bound: P(L > s) = Phi(mu/2 - s/mu) <= surprise for the Gaussian, with s = logit(posterior)."""
    explained = explain(GDP(mu, "add_remove"), surprise=surprise)
    assert explained.surprise == surprise
    if explained.posterior < 1 - 1e-9:
        s = mp.log(mp.mpf(explained.posterior) / (1 - mp.mpf(explained.posterior)))
        assert mp.ncdf(mu / 2 - s / mu) <= surprise


def test_the_folk_posterior_would_be_too_low():
    """T2a, golden plrv_tail_vs_exact: for mu = 1 the loss exceeds epsilon(1e-5) = 4.3772 with probability 5e-5."""
    folk = GDP(1.0, "add_remove").profile().epsilon(1e-5)
    assert mp.ncdf(0.5 - folk) > 5e-5
    assert explain(GDP(1.0, "add_remove"), surprise=1e-5).posterior >= 1 / (1 + math.exp(-4.764890793922825))


def test_the_surprise_makes_room_for_the_failure_probability():
    explained = explain(ApproxDP(1.0, 1e-6, "replace_one"))
    assert explained.surprise == 1e-5
    assert 1 / (1 + math.exp(-1.0)) < explained.posterior < 0.77
    assert explain(ApproxDP(1.0, 0.2, "replace_one")).posterior == 1.0


def test_where_no_epsilon_holds_the_data_says_null():
    explained = explain(ApproxDP(1.0, 1e-6, "replace_one"))
    assert explained.epsilons[2] == (1e-9, math.inf)
    assert explained.as_dict()["epsilons"][2] == {"delta": 1e-9, "epsilon": None}


def test_there_is_no_gaussian_reading_of_no_privacy():
    assert explain(GDP(1e4, "add_remove")).gdp_mu is None


def test_the_closest_mu_of_zcdp_covers_its_curve_where_it_is_read():
    """The reading is at least the Gaussian that attains rho, and its curve lies above delta at small epsilon."""
    guarantee = ZCDP(0.5, "add_remove")
    mu = explain(guarantee).gdp_mu
    assert 1.0 <= mu < 1.7
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        assert GDP(mu, "add_remove").profile().delta(epsilon) >= guarantee.profile().delta(epsilon) * (1 - 1e-3)


def test_a_stronger_promise_is_never_explained_as_weaker():
    weak, strong = explain(GDP(1.0, "add_remove")), explain(GDP(0.5, "add_remove"))
    assert strong.advantage < weak.advantage
    assert strong.posterior < weak.posterior
    assert strong.true_positive_rates[0][1] < weak.true_positive_rates[0][1]


def test_replace_one_and_add_remove_are_told_apart():
    assert "replaced by another" in explain(GDP(1.0, "replace_one")).sentences[0]
    assert "added or removed" in explain(GDP(1.0, Adjacency.ADD_REMOVE)).sentences[0]


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0.5, "50 %"),
        (0.0183, "1.83 %"),
        (0.01831, "1.84 %"),
        (1e-6, "0.0001 %"),
        (0.99571, "99.58 %"),
        (1.0, "100 %"),
        (0, "0 %"),
    ],
)
def test_percentages_are_rounded_up(rate, text):
    assert format_percent(rate) == text


@pytest.mark.parametrize("bad", ["GDP", 1.0, 3, None])
def test_only_profiles_and_guarantees_are_explained(bad):
    with pytest.raises(ParameterError, match="a profile or a guarantee"):
        explain(bad)


@pytest.mark.parametrize("bad", [0.0, 1.0, math.nan, "1"])
def test_a_nonsensical_surprise_is_refused(bad):
    with pytest.raises(ParameterError, match=r"^surprise must be"):
        explain(GDP(1.0, "add_remove"), surprise=bad)
