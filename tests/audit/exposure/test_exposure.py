# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exposure (A10): exact, sampled and extrapolated, on models of which the truth is known."""

import itertools
import json
import math
import re

import numpy as np
import pytest
from scipy.special import log_ndtr

from dperm.audit.exposure import (
    CHANCE,
    SecretSpace,
    all_log_probabilities,
    exact_exposure,
    exposure_among,
    extrapolated_exposure,
    sampled_exposure,
    train,
)
from dperm.audit.exposure.exposure import SkewNormal, fit_skew_normal
from dperm.errors import AssumptionError, ParameterError

DIGITS = tuple(range(10))
SIX = SecretSpace((3,), (DIGITS,) * 6)


class Chain:
    """A Markov chain: the next symbol depends on the last one alone."""

    def __init__(self, seed=0, symbols=10, *, flat=False):
        weights = (
            np.ones((symbols, symbols)) if flat else np.random.default_rng(seed).gamma(2.0, size=(symbols, symbols))
        )
        self.logs = np.log(weights / weights.sum(axis=1, keepdims=True))
        self.rows = 0

    def log_probabilities(self, contexts):
        self.rows += len(contexts)
        return self.logs[contexts[:, -1]]

    def whole(self, sequences):
        return self.logs[sequences[:, :-1], sequences[:, 1:]].sum(axis=1)


def test_the_whole_space_is_scored_as_by_hand():
    space, chain = SecretSpace((2, 3), ((0, 1), (4, 2, 9), (7, 5))), Chain()
    by_hand = [
        sum(chain.logs[a, b] for a, b in itertools.pairwise((3, *secret)))
        for secret in itertools.product(*space.choices)
    ]
    assert all_log_probabilities(chain, space) == pytest.approx(by_hand, abs=1e-12)
    assert [space.place(secret) for secret in itertools.product(*space.choices)] == list(range(12))
    assert space.secrets(np.arange(12)).tolist() == [list(secret) for secret in itertools.product(*space.choices)]


def test_a_million_codes_take_111111_contexts():
    chain = Chain()
    assert len(all_log_probabilities(chain, SIX)) == 10**6
    assert chain.rows == SIX.contexts == 111_111


def test_a_function_that_scores_sequences_gives_the_same_as_the_tree():
    space, chain = SecretSpace((3,), (DIGITS,) * 4), Chain(1)
    assert all_log_probabilities(chain.whole, space) == pytest.approx(all_log_probabilities(chain, space), abs=1e-12)
    assert exact_exposure(chain.whole, space, (1, 2, 3, 4)) == pytest.approx(exact_exposure(chain, space, (1, 2, 3, 4)))


def test_the_likeliest_secret_has_all_bits_and_the_least_likely_none():
    scores = all_log_probabilities(Chain(2), SIX)
    best, worst = (exposure_among(scores, int(place)) for place in (scores.argmax(), scores.argmin()))
    assert best.bits == best.most == pytest.approx(math.log2(10**6))
    assert worst.bits == pytest.approx(0, abs=1e-5)


def test_exposures_of_all_secrets_are_those_of_ranks():
    scores = np.log(np.arange(1.0, 9.0))
    found = [exposure_among(scores, place).bits for place in range(8)]
    assert found == pytest.approx([3 - math.log2(rank) for rank in range(8, 0, -1)])
    many = np.arange(10**4) * 1.0
    assert np.mean([exposure_among(many, place).bits for place in range(0, 10**4, 7)]) == pytest.approx(
        CHANCE, abs=0.01
    )


def test_a_model_that_knows_nothing_exposes_nothing():
    """All candidates are equal: rank 1 for the secret would be 20 bits of nothing."""
    assert exact_exposure(Chain(flat=True), SIX, (1, 2, 3, 4, 5, 6)).bits == pytest.approx(1, abs=1e-5)
    assert sampled_exposure(Chain(flat=True), SIX, (1, 2, 3, 4, 5, 6), seed=1).bits == pytest.approx(1, abs=1e-3)


def test_ties_would_be_20_bits_without_the_middle_rank(assert_killed):
    def check(module):
        assert module.exposure_among(np.zeros(1000), 5).bits < 2

    assert_killed(check, "dperm.audit.exposure.exposure", "(equal - less) / 2", "0")


@pytest.mark.parametrize("secret", [(0, 1, 2, 3, 4, 5), (9, 9, 9, 9, 9, 9), (7, 0, 7, 0, 7, 0)], ids=str)
def test_a_sample_agrees_with_enumeration(secret):
    chain = Chain(3)
    exact, sample = exact_exposure(chain, SIX, secret), sampled_exposure(chain, SIX, secret, confidence=0.9999, seed=4)
    assert sample.interval[0] <= exact.bits <= sample.interval[1]
    assert sample.interval[0] <= sample.bits <= sample.interval[1]
    assert sample.log_probability == pytest.approx(exact.log_probability)
    assert 0 <= sample.bits <= math.log2(10_000)


def test_intervals_of_samples_miss_as_rarely_as_they_say():
    chain, secret = Chain(3), (0, 1, 2, 3, 4, 5)
    exact = exact_exposure(chain, SIX, secret).bits
    found = [
        sampled_exposure(chain, SIX, secret, samples=400, confidence=0.9, seed=seed).interval for seed in range(200)
    ]
    assert sum(not low <= exact <= high for low, high in found) <= 37  # 10 % of 200, and four deviations


def test_extrapolation_agrees_with_enumeration_and_reports_its_fit():
    chain = Chain(3, 10)
    scores = all_log_probabilities(chain, SIX)
    order = np.argsort(-scores)
    for rank in (10, 1000, 100_000):
        secret = tuple(SIX.secrets(order[rank : rank + 1])[0])
        found = extrapolated_exposure(chain, SIX, secret, seed=5)
        assert found.bits == pytest.approx(math.log2(10**6 / rank), abs=0.2 + 0.15 * math.log2(10**6 / rank))
        assert found.fit > 1e-3


def test_a_law_that_does_not_fit_is_reported():
    def two_heaps(sequences):
        return np.where(sequences[:, 1] < 5, -50.0, -1.0) + sequences[:, 2] * 0.01

    assert extrapolated_exposure(two_heaps, SIX, (1, 2, 3, 4, 5, 6), seed=5).fit < 1e-6


def test_extrapolation_reaches_beyond_the_space():
    def planted(sequences):
        return np.where((sequences[:, 1:] == 7).all(axis=1), -1.0, -20 - sequences.sum(axis=1) * 0.1)

    found = extrapolated_exposure(planted, SIX, (7,) * 6, seed=1)
    assert SIX.bits < found.bits < math.inf


# The skew-normal law


@pytest.mark.parametrize("shape", [0.0, -3.0, 0.7, 5.0], ids=str)
@pytest.mark.parametrize("z", [-4.0, -1.0, 0.0, 0.5, 3.0], ids=str)
def test_its_distribution_function_is_scipys_where_that_is_exact(shape, z):
    from scipy import stats

    expected = stats.skewnorm.cdf(10 + 2 * z, shape, 10, 2)
    if expected > 1e-9:
        assert math.exp(SkewNormal(shape, 10.0, 2.0).log_cdf(10 + 2 * z)) == pytest.approx(
            expected, rel=1e-6, abs=1e-10
        )


@pytest.mark.parametrize("z", [-200.0, -38.0, -5.0, 0.0, 8.0], ids=str)
def test_its_logarithm_does_not_underflow(z):
    assert SkewNormal(0.0, 0.0, 1.0).log_cdf(z) == pytest.approx(float(log_ndtr(z)), rel=1e-8, abs=1e-9)
    assert SkewNormal(-1.0, 0.0, 1.0).log_cdf(z) == pytest.approx(
        float(np.log1p(-np.exp(2 * log_ndtr(-z))) if z > -5 else log_ndtr(z) + math.log(2)), rel=1e-6, abs=1e-8
    )  # a = -1 is the smaller of two normal numbers


def test_the_fit_finds_the_law_again():
    from scipy import stats

    law, p_value = fit_skew_normal(stats.skewnorm.rvs(3, 10, 2, size=4000, random_state=1))
    assert (law.shape, law.location, law.scale) == pytest.approx((3, 10, 2), rel=0.15)
    assert p_value > 0.05


# Bad input


def test_progress_ends_at_1():
    seen = []
    exact_exposure(Chain(), SIX, (0,) * 6, progress=seen.append)
    assert seen[-1] == 1 and seen == sorted(seen) and len(set(seen)) == len(seen)
    del seen[:]
    exact_exposure(Chain().whole, SIX, (0,) * 6, progress=seen.append)
    assert seen[-1] == 1 and seen == sorted(seen)


def test_results_are_plain_data():
    found = exact_exposure(Chain(), SIX, (0,) * 6)
    assert json.loads(json.dumps(found.as_dict()))["method"] == "exact"
    assert "of 19.9 bits (exact, 1,000,000 candidates)" in str(found)


def nan_scores(sequences):
    return np.full(len(sequences), np.nan)


class Short:
    def log_probabilities(self, contexts):
        return np.zeros(3)


class Narrow:
    def log_probabilities(self, contexts):
        return np.zeros((len(contexts), 3))


def test_a_space_has_more_positions_than_arrays_have_dimensions():
    space = SecretSpace((0,), ((5,),) * 40 + ((1, 2), (3, 4, 5)) * 20)
    places = space.draw(5, seed=1)
    secrets = space.secrets(places)
    assert secrets.shape == (5, 80) and [space.place(tuple(row)) for row in secrets.tolist()] == places.tolist()
    small = SecretSpace((), ((1, 2), (3, 4, 5)))
    assert small.secrets(np.arange(6)).tolist() == [[1, 3], [1, 4], [1, 5], [2, 3], [2, 4], [2, 5]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: exact_exposure(Chain(), SIX, (1, 2)), "secret must have one of the choices at each of the 6"),
        (lambda: exact_exposure(Chain(), SIX, (1, 2, 3, 4, 5, 77)), "secret must have one of the choices"),
        (lambda: exact_exposure(7, SIX, (0,) * 6), "model must have log_probabilities"),
        (lambda: exact_exposure(Chain, SIX, (0,) * 6), "model must have log_probabilities"),
        (lambda: exact_exposure(nan_scores, SIX, (0,) * 6), "got NaN"),
        (lambda: exact_exposure(Short(), SIX, (0,) * 6), "log_probabilities returns must be a matrix"),
        (lambda: exact_exposure(Narrow(), SIX, (0,) * 6), "symbols known to the model, 0 to 2, got 9"),
        (lambda: sampled_exposure(Narrow(), SIX, (9,) * 6), "symbols known to the model, 0 to 2"),
        (lambda: exact_exposure(Chain(), SIX, None), "secret must have one of the choices"),
        (lambda: SecretSpace((0,), ((1, 2),) * 80), "at most 2^63 secrets, got 2^80.0"),
        (lambda: SecretSpace((0,), 5), "choices must be a tuple"),
        (lambda: exposure_among([], 0), "scores must contain"),
        (lambda: exposure_among([1.0, np.nan, 2.0], 0), "scores must be a list of numbers, got NaN"),
        (lambda: exposure_among([1.0, np.inf], 0), "scores must be logarithms of probabilities"),
        (lambda: train(None), "lines must be a sequence of strings"),
        (lambda: sampled_exposure(lambda rows: np.zeros(3), SIX, (0,) * 6), "one log probability for each sequence"),
        (lambda: all_log_probabilities(Chain(), SecretSpace((), (DIGITS,) * 9)), "at most 100,000,000 secrets"),
        (lambda: sampled_exposure(Chain(), SIX, (0,) * 6, samples=10), "samples must be a whole number from 100"),
        (lambda: sampled_exposure(Chain(), SIX, (0,) * 6, confidence=1.0), "confidence must be"),
        (lambda: SecretSpace((1,), ()), "choices must contain"),
        (lambda: SecretSpace((1,), ((1, 1),)), "choices must contain"),
        (lambda: SecretSpace((-1,), ((1, 2),)), "prefix must be a whole number from 0"),
        (lambda: SecretSpace("ab", ((1, 2),)), "prefix must contain symbols"),
        (lambda: exposure_among(np.zeros(5), 5), "place must be"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(ParameterError, match=re.escape(words)):
        call()


def test_no_law_is_fitted_to_equal_scores():
    with pytest.raises(AssumptionError, match="Use exact_exposure"):
        extrapolated_exposure(Chain(flat=True), SIX, (0,) * 6)
