# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The audit itself: coins, shares of alpha, verdicts, and what it refuses."""

import numpy as np
import pytest

from dperm import GDP, ApproxDP, PureDP
from dperm.audit.black_box import (
    BatchSubject,
    FixedThreshold,
    SelectedThreshold,
    audit,
    low_order_bits,
    of_mechanism,
    projection,
    step_differences,
)
from dperm.audit.black_box.audit import _levels
from dperm.audit.black_box.guess_bounds import fewest_guesses
from dperm.audit.lower_bound import LowerBound
from dperm.errors import DataError, ParameterError
from dperm.mechanisms import LaplaceMechanism
from dperm.noise import NotPrivateBits

CLAIM = PureDP(1.0, "add_remove")
SIGN = FixedThreshold("sign", lambda outputs: outputs[:, 0])


def told_all(included):
    """Releases whether the record was there."""
    return np.where(included, 1.0, -1.0)[:, None]


def noise_of(seed, scale=1.0, shift=0.0):
    """Normal noise around ``shift`` with the record, around 0 without."""
    rng = np.random.default_rng(seed)
    return lambda included: rng.normal(shift * included, scale)[:, None]


def subject(draw, *, claimed=CLAIM, statistics=(SIGN,), profile=None):
    return BatchSubject("a subject", claimed, draw, tuple(statistics), profile)


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
    statistics = [FixedThreshold("main", SIGN.score, share=0.8), FixedThreshold("other", SIGN.score, share=0.2)]
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
    split = SelectedThreshold("split", lambda first: SIGN.score)
    with pytest.raises(ParameterError, match="runs must be at least 6 here"):
        audit(subject(told_all, statistics=[split]), runs=5)
    assert fewest_guesses(0.05) == 5 and fewest_guesses(0.5) == 2


def test_nothing_is_run_before_the_arguments_are_checked():
    def draw(included):
        raise AssertionError

    for wrong in ({"runs": 2}, {"runs": 100, "statistics": ()}, {"runs": 100, "confidence": 2.0}, {"runs": 1.5}):
        with pytest.raises(ParameterError):
            audit(subject(draw), **wrong)


def test_two_statistics_of_one_name_are_refused():
    with pytest.raises(ParameterError, match="distinct names"):
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
        audit(subject(told_all, statistics=[FixedThreshold("two", lambda outputs: np.zeros(2))]), runs=50)


def test_thresholds_that_cross_are_refused():
    with pytest.raises(ParameterError, match="threshold must be at least"):
        FixedThreshold("odd", SIGN.score, 0.0, lower=1.0)
    with pytest.raises(ParameterError, match="every run has a guess"):
        FixedThreshold("odd", SIGN.score, 1.0, gaussian=True)


def test_a_gaussian_trade_off_is_said_to_be_assumed():
    claimed = GDP(0.5, "add_remove")
    statistic = FixedThreshold("sum", lambda outputs: outputs[:, 0] - 0.25, gaussian=True)
    found = audit(subject(noise_of(2, shift=0.5), claimed=claimed, statistics=[statistic]), runs=50_000, seed=1)
    assert "Gaussian" in found.bound.assumes and 0.85 < found.tightness <= 1
    wrong = audit(subject(noise_of(2, 0.7, 0.5), claimed=claimed, statistics=[statistic]), runs=50_000, seed=1)
    assert wrong.violation


def test_a_gaussian_rule_does_not_refute_a_claim_that_is_not_gaussian():
    """Laplace noise keeps its claim; the rule says otherwise of Gaussian trade-offs, and says so."""
    subject = of_mechanism(LaplaceMechanism.calibrate(1.0, CLAIM), bits=NotPrivateBits(3))
    middle = FixedThreshold("middle", lambda outputs: outputs[:, 0] - 0.5, gaussian=True)
    for statistic in (middle, projection(gaussian=True)):
        found = audit(subject, runs=5000, statistics=[statistic], delta=1e-5, seed=1)
        assert found.bound.epsilon > 2 and not found.violation and "only if the trade-off is Gaussian" in str(found)


def test_coins_are_out_of_reach_of_what_is_attacked():
    seen = []

    def draw(included):
        seen.append(included)
        with pytest.raises(ValueError, match="read-only"):
            included[:] = False
        included.flags.writeable = True  # whoever insists has his way, with a copy
        released = told_all(included)
        included[:] = np.arange(len(included)) % 2 == 0
        return released

    found = audit(subject(draw), runs=1000, seed=1)
    assert found.violation and found.facts["with_record"] != seen[0].sum()


def not_run(included):
    raise AssertionError


REFUSED = {
    "a word as subject": ("x", {}, "subject must be an audit subject"),
    "a class as subject": (BatchSubject, {}, "subject must be an audit subject"),
    "one statistic": (None, {"statistics": projection()}, "statistics must be a list"),
    "a number as statistic": (None, {"statistics": [1]}, "statistics must contain statistics only.*got 1"),
    "a number as statistics": (None, {"statistics": 1}, "statistics must be a list"),
    "a word as statistics": (None, {"statistics": "abc"}, "statistics must be a list"),
    "progress": (None, {"progress": "a"}, "progress must be a function"),
    "seed": (None, {"seed": "a"}, "seed must be"),
    "Gaussian rule without delta": (None, {"statistics": [projection(gaussian=True)]}, "delta must be above 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_arguments_are_named_before_any_run(case):
    attacked, wrong, words = REFUSED[case]
    with pytest.raises(ParameterError, match=words):
        audit(subject(not_run) if attacked is None else attacked, runs=100, **wrong)


@pytest.mark.parametrize("claimed", [ApproxDP(1.0, 1e-5, "add_remove"), GDP(1.0, "add_remove")], ids=["approx", "GDP"])
def test_a_delta_at_which_nothing_is_claimed_is_refused_before_any_run(claimed):
    with pytest.raises(ParameterError, match="delta must be a value at which"):
        audit(subject(not_run, claimed=claimed), runs=100, delta=0)


def test_a_curve_that_is_not_of_the_claim_is_refused_before_any_run():
    for claimed in (PureDP(3.0, "add_remove"), PureDP(1.0, "replace_one")):
        with pytest.raises(ParameterError, match="profile must"):
            audit(subject(not_run, profile=claimed.profile()), runs=100)


class Own:
    """A statistic as a user may write it."""

    name = "own"

    def __init__(self, share=1.0, confidence=None, tested=1.0):
        self.share, self.confidence, self.part = share, confidence, tested

    def tested(self, runs):
        return int(self.part * runs)

    def bound(self, sample, *, delta, alpha):
        return LowerBound(0.1, delta, 1 - alpha if self.confidence is None else self.confidence, "own")


@pytest.mark.parametrize("share", [-0.5, 0.0, float("nan"), "a"], ids=str)
def test_shares_of_alpha_are_checked(share):
    with pytest.raises(ParameterError, match="share of the statistic 'own' must be"):
        audit(subject(not_run, statistics=[SIGN, Own(share)]), runs=100)
    assert sum(_levels((SIGN, Own(3.0)), 0.05)) == pytest.approx(0.05)


def test_a_bound_that_was_not_paid_for_is_refused():
    assert audit(subject(told_all, statistics=[Own()]), runs=100).bound.epsilon == 0.1
    with pytest.raises(ParameterError, match=r"'own' must give a LowerBound of confidence 0\.975 at least, got one of"):
        audit(subject(told_all, statistics=[SIGN, Own(confidence=0.96)]), runs=100)


def test_a_statistic_that_never_guesses_is_refused():
    with pytest.raises(ParameterError, match="runs must be at least"):
        audit(subject(not_run, statistics=[Own(tested=0.0)]), runs=100)


ODD = {
    "words": lambda included: ["x"] * len(included),
    "ragged": lambda included: [[1.0]] * (len(included) - 1) + [[1.0, 2.0]],
    "objects": lambda included: np.array([object()] * len(included)),
    "complex": lambda included: included + 1j,
    "nothing": lambda included: np.zeros((len(included), 0)),
    "None": lambda included: None,
}


@pytest.mark.parametrize("case", ODD)
def test_outputs_and_scores_that_are_no_numbers_are_refused(case):
    with pytest.raises(DataError, match="outputs must"):
        audit(subject(ODD[case]), runs=50)
    with pytest.raises(ParameterError, match="score must return one score for each of the 50 runs"):
        audit(subject(told_all, statistics=[FixedThreshold("odd", ODD[case])]), runs=50)


def test_differences_need_steps():
    for draw in (lambda included: included * 1.0, told_all):
        with pytest.raises(ParameterError, match=r"step_differences\(\) requires outputs of at least two steps"):
            audit(subject(draw, statistics=[step_differences()]), runs=50)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: FixedThreshold("a", len, threshold="a"), "threshold must be"),
        (lambda: FixedThreshold("a", len, threshold=float("nan")), "threshold must be"),
        (lambda: FixedThreshold("a", len, 1.0, lower="a"), "lower must be"),
        (lambda: FixedThreshold("a", None), "score .* must be a function"),
        (lambda: FixedThreshold(1, len), "name must be a string"),
        (lambda: SelectedThreshold("a", 3), "learned.* must be a function"),
        (
            lambda: audit(subject(told_all, statistics=[SelectedThreshold("a", lambda first: 3)]), runs=50),
            "learned must return",
        ),
        (lambda: of_mechanism("x"), "mechanism must be one that adds noise"),
        (lambda: low_order_bits("a", 1.0), "without must be"),
    ],
    ids=["threshold", "nan", "lower", "score", "name", "learned", "what is learnt", "mechanism", "values"],
)
def test_bad_statistics_and_subjects_are_named(made, words):
    with pytest.raises(ParameterError, match=words):
        made()


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
