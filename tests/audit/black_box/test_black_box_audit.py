# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The audit itself: coins, shares of alpha, verdicts, and what it refuses."""

import numpy as np
import pytest

from dperm import GDP, ApproxDP, PureDP
from dperm.audit.black_box import Drawn, Fixed, Selected, audit, projection
from dperm.audit.black_box.guessing import fewest_runs
from dperm.errors import DataError, ParameterError

CLAIM = PureDP(1.0, "add_remove")
SIGN = Fixed("sign", lambda outputs: outputs[:, 0])


def told_all(included):
    """Releases whether the record was there."""
    return np.where(included, 1.0, -1.0)[:, None]


def noise_of(seed, scale=1.0, shift=0.0):
    """Normal noise around ``shift`` with the record, around 0 without."""
    rng = np.random.default_rng(seed)
    return lambda included: rng.normal(shift * included, scale)[:, None]


def subject(draw, *, claimed=CLAIM, statistics=(SIGN,), profile=None):
    return Drawn("a subject", claimed, draw, tuple(statistics), profile)


def test_the_coins_are_fair_independent_and_follow_from_the_seed():
    seen = []

    def draw(included):
        seen.append(included)
        return told_all(included)

    for seed in (1, 1, 2):
        audit(subject(draw), runs=4000, seed=seed)
    first, again, other = seen
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert abs(first.mean() - 0.5) < 4 * 0.5 / np.sqrt(4000)
    assert abs((first[1:] == first[:-1]).mean() - 0.5) < 4 * 0.5 / np.sqrt(4000)


def test_noise_of_the_same_seed_is_independent_of_the_coins():
    """A subject that is simulated with the auditor's seed, as everybody's is who writes 0."""
    found = []

    def draw(included):
        found.append(np.corrcoef(included, np.random.default_rng(7).random(len(included)))[0, 1])
        return told_all(included)

    audit(subject(draw), runs=10_000, seed=7)
    assert abs(found[0]) < 4 / np.sqrt(10_000)


def test_a_release_of_the_coin_is_a_violation_and_the_report_says_so():
    found = audit(subject(told_all), runs=1000, seed=1)
    assert found.violation and found.bound.epsilon == pytest.approx(5.80907, abs=1e-5)  # logit(.05^(1/1000))
    assert str(found).startswith("VIOLATION: claimed epsilon 1, measured >= 5.8")
    assert found.facts["runs"] == 1000 and found.as_dict()["violation"] is True


def test_noise_alone_shows_nothing_or_hardly_anything():
    found = audit(subject(noise_of(1)), runs=1000, seed=1)
    assert not found.violation and found.bound.epsilon < 0.2


def test_alpha_is_shared_out_in_proportion():
    statistics = [Fixed("main", SIGN.score, share=0.8), Fixed("other", SIGN.score, share=0.2)]
    found = audit(subject(told_all, statistics=statistics), runs=100, confidence=0.9, seed=1)
    assert found.bounds["main"].confidence == pytest.approx(0.92)
    assert found.bounds["other"].confidence == pytest.approx(0.98)
    assert found.confidence == 0.9


@pytest.mark.parametrize(
    ("claimed", "delta"),
    [(CLAIM, 0.0), (ApproxDP(1.0, 1e-6, "add_remove"), 1e-6), (GDP(1.0, "add_remove"), 1e-5)],
    ids=["pure", "approximate", "GDP"],
)
def test_epsilon_is_bounded_at_the_delta_of_the_claim(claimed, delta):
    assert audit(subject(told_all, claimed=claimed), runs=100, seed=1).bound.delta == delta
    assert audit(subject(told_all, claimed=claimed), runs=100, delta=0.1, seed=1).bound.delta == 0.1


@pytest.mark.parametrize("claimed", [None, 1.0, "1"], ids=["none", "a number", "a word"])
def test_a_missing_claim_is_named(claimed):
    with pytest.raises(ParameterError, match="claimed must be the guarantee"):
        audit(subject(told_all, claimed=claimed), runs=100)


def test_too_few_runs_are_refused_with_the_number_that_would_do():
    with pytest.raises(ParameterError, match=r"runs must be at least 5 here.*got 4"):
        audit(subject(told_all), runs=4)
    assert audit(subject(told_all), runs=5, seed=0).bound.epsilon > 0
    split = Selected("split", lambda first: SIGN.score)
    with pytest.raises(ParameterError, match="runs must be at least 6 here"):
        audit(subject(told_all, statistics=[split]), runs=5)
    assert fewest_runs(0.05) == 5 and fewest_runs(0.5) == 2


def test_nothing_is_run_before_the_arguments_are_checked():
    def draw(included):
        raise AssertionError

    for wrong in ({"runs": 2}, {"runs": 100, "statistics": ()}, {"runs": 100, "confidence": 2.0}, {"runs": 1.5}):
        with pytest.raises(ParameterError):
            audit(subject(draw), **wrong)


def test_two_statistics_of_one_name_are_refused():
    with pytest.raises(ParameterError, match="a name of its own"):
        audit(subject(told_all), runs=100, statistics=[SIGN, SIGN])


def test_outputs_that_are_no_numbers_are_refused():
    def some_nan(included):
        return np.where(np.arange(len(included)) < 3, np.nan, 0.0)

    with pytest.raises(DataError, match="NaN or infinity in 3 of 50 runs"):
        audit(subject(some_nan), runs=50)
    with pytest.raises(DataError, match="one row for each of the 50 runs"):
        audit(subject(lambda included: np.zeros((7, 1))), runs=50)


def test_scores_must_be_one_for_each_run():
    with pytest.raises(ParameterError, match="one score for each of the 50 runs"):
        audit(subject(told_all, statistics=[Fixed("two", lambda outputs: np.zeros(2))]), runs=50)


def test_thresholds_that_cross_are_refused():
    with pytest.raises(ParameterError, match="threshold must be at least"):
        Fixed("odd", SIGN.score, 0.0, lower=1.0)
    with pytest.raises(ParameterError, match="every run is guessed"):
        Fixed("odd", SIGN.score, 1.0, gaussian=True)


def test_a_gaussian_trade_off_is_said_to_be_assumed():
    claimed = GDP(0.5, "add_remove")
    statistic = Fixed("sum", lambda outputs: outputs[:, 0] - 0.25, gaussian=True)
    found = audit(subject(noise_of(2, shift=0.5), claimed=claimed, statistics=[statistic]), runs=50_000, seed=1)
    assert "Gaussian" in found.bound.assumes and 0.85 < found.tightness <= 1
    wrong = audit(subject(noise_of(2, 0.7, 0.5), claimed=claimed, statistics=[statistic]), runs=50_000, seed=1)
    assert wrong.violation


def share_of_alarms(audits, *, statistics, draw, claimed, runs):
    found = [audit(subject(draw, claimed=claimed, statistics=statistics), runs=runs, seed=s) for s in range(audits)]
    return np.mean([one.violation for one in found])


CASES = {
    "null, selected": ([projection()], 0.0, PureDP(0.0, "add_remove")),
    "null, selected with delta": ([projection()], 0.0, ApproxDP(0.0, 1e-3, "add_remove")),
    "Gaussian, assumed": ([projection(gaussian=True)], 0.5, GDP(0.5, "add_remove")),
    "null, two statistics": ([SIGN, projection()], 0.0, PureDP(0.0, "add_remove")),
}


@pytest.mark.parametrize("case", CASES)
def test_alarms_are_as_rare_as_promised(case):
    """At 80 % with 5 points of slack for 150 audits."""
    statistics, shift, claimed = CASES[case]
    draw = noise_of(5, shift=shift)
    found = [audit(subject(draw, claimed=claimed, statistics=statistics), runs=600, confidence=0.8) for _ in range(150)]
    assert np.mean([one.violation for one in found]) <= 0.2 + 3 * np.sqrt(0.16 / 150)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_alarms_are_as_rare_as_promised_over_many_audits(case):
    statistics, shift, claimed = CASES[case]
    share = share_of_alarms(3000, statistics=statistics, draw=noise_of(6, shift=shift), claimed=claimed, runs=2000)
    assert share <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 3000)
