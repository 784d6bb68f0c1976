# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Every published bound exceeds the true epsilon with at most the probability it states; an unpaid one does not.

Exactly, over all outcomes of small audits at the worst case that the theorem allows; and, slow, by simulation on no
information, on Laplace and on Gaussian noise.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy.special import expit, logit, ndtr
from scipy.stats import binom

from dperm.audit.coins import coins
from dperm.audit.guesses import approximate_from_guesses, gaussian_from_guesses, pure_from_guesses
from dperm.audit.intervals import clopper_pearson_lower
from dperm.audit.one_run import one_run
from dperm.audit.one_run_tradeoff import gaussian_one_run
from dperm.audit.ranking import ranked_guesses
from dperm.audit.rates import from_rates, gaussian_from_rates
from dperm.audit.thresholds import (
    APPROXIMATE_GUESSES,
    GAUSSIAN_GUESSES,
    GAUSSIAN_RATES,
    PURE_GUESSES,
    RATES,
    fixed_threshold,
    split_threshold,
    union_threshold,
)
from dperm.privacy import gaussian_profile

ALPHA, DELTA = 0.05, 0.01


def gaussian_truth(mu: float, delta: float = DELTA) -> float:
    return gaussian_profile.epsilon_bracket(mu, delta)[1]


def missed(bound: Callable[[int], float], trials: int, probability: float, truth: float) -> float:
    """The probability that the bound of Bin(trials, probability) right guesses exceeds the truth."""
    counts = np.arange(trials + 1)
    above = np.array([bound(int(v)) > truth for v in counts])
    return float(binom.pmf(counts, trials, probability)[above].sum())


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0, 4.0])
def test_exactly_for_randomized_response(epsilon):
    """Its guesses are right with the probability that pure DP allows."""
    misses = missed(lambda v: pure_from_guesses(v, 300).epsilon, 300, expit(epsilon), epsilon)
    assert ALPHA / 5 < misses <= ALPHA
    for m, delta in ((40, 0.0), (80, 1e-4)):
        assert missed(lambda v, m=m, d=delta: one_run(v, 40, m, delta=d).epsilon, 40, expit(epsilon), epsilon) <= ALPHA


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("delta", [0.01, 0.2])
def test_exactly_for_the_worst_pair_of_approximate_dp(epsilon, delta):
    accuracy = (math.exp(epsilon) + delta) / (1 + math.exp(epsilon))
    misses = missed(lambda v: approximate_from_guesses(v, 300, delta=delta).epsilon, 300, accuracy, epsilon)
    assert ALPHA / 5 < misses <= ALPHA
    assert missed(lambda v: one_run(v, 40, 40, delta=delta).epsilon, 40, accuracy, epsilon) <= ALPHA


@pytest.mark.parametrize("mu", [0.0, 0.3, 1.0, 3.0])
def test_exactly_for_two_gaussians_guessed_in_every_run(mu):
    misses = missed(lambda v: gaussian_from_guesses(v, 300, delta=DELTA).epsilon, 300, ndtr(mu / 2), gaussian_truth(mu))
    assert ALPHA / 5 < misses <= ALPHA or (mu == 0.0 and misses <= ALPHA)
    one = missed(lambda v: gaussian_one_run(v, 200, 200, delta=DELTA).epsilon, 200, ndtr(mu / 2), gaussian_truth(mu))
    assert one <= ALPHA


def missed_rates(bound: Callable[..., float], n: int, rates: tuple[float, float], truth: float) -> float:
    above = np.array([[bound(tp, n, fp, n) > truth for fp in range(n + 1)] for tp in range(n + 1)])
    tpr, fpr = (binom.pmf(np.arange(n + 1), n, rate) for rate in rates)
    return float(tpr @ above @ fpr)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.1)])
def test_exactly_for_two_rates_at_the_kink_of_the_trade_off(epsilon, delta):
    fpr = (1 - delta) / (1 + math.exp(epsilon))
    bound = cache(lambda tp, n1, fp, n0: from_rates(tp, n1, fp, n0, delta=delta).epsilon)
    assert missed_rates(bound, 20, (1 - fpr, fpr), epsilon) <= ALPHA
    assert missed_rates(bound, 20, (delta + math.exp(epsilon) * 0.05, 0.05), epsilon) <= ALPHA


@pytest.mark.parametrize(("mu", "level"), [(0.0, 0.5), (1.0, 0.3), (1.0, 0.05)])
def test_exactly_for_two_rates_of_two_gaussians(mu, level):
    tpr = 1 - gaussian_profile.false_negative_rate(level, mu)
    bound = cache(lambda tp, n1, fp, n0: gaussian_from_rates(tp, n1, fp, n0, delta=DELTA).epsilon)
    assert missed_rates(bound, 20, (tpr, level), gaussian_truth(mu)) <= ALPHA


def allowed(repeats: int) -> int:
    """As many misses as a bound at its level has with all but one in a million."""
    return int(binom.ppf(1 - 1e-6, repeats, ALPHA))


def unpaid(scores: np.ndarray, included: np.ndarray) -> np.ndarray:
    """WRONG, on purpose: per repeat, the best single binomial over all thresholds, each at the level of one."""
    highest_first = np.take_along_axis(included, np.argsort(-scores, axis=1), axis=1)
    right, guesses = np.cumsum(highest_first, axis=1), np.arange(1, scores.shape[1] + 1)
    return logit(clopper_pearson_lower(right, guesses, ALPHA)).max(axis=1)


def test_the_best_threshold_without_payment_violates_coverage():
    """The check can fail: without information the unpaid bound is above 0 far too often, and the paid one is not."""
    repeats, runs, rng = 300, 200, np.random.default_rng(11)
    scores, included = rng.normal(size=(repeats, runs)), rng.integers(0, 2, (repeats, runs)).astype(bool)
    assert np.count_nonzero(unpaid(scores, included) > 0) > 1.5 * allowed(repeats)
    grid = [0.3, 1.0, 1.5]
    paid = [
        union_threshold(s, i, grid, delta=0.0, rule=PURE_GUESSES).epsilon for s, i in zip(scores, included, strict=True)
    ]
    assert np.count_nonzero(paid) <= allowed(repeats)


def noise(name: str, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.laplace(size=shape) if name == "laplace" else rng.normal(size=shape)


def simulated(name: str, size: float, shape: tuple[int, int], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores around 0 of (repeats, runs), and their coins."""
    rng = np.random.default_rng(seed)
    included = rng.integers(0, 2, shape).astype(bool)
    return size * (included - 0.5) + noise(name, rng, shape), included


def truth_of(name: str, size: float, delta: float) -> float:
    """Laplace noise of scale 1 has the profile 1 - exp((eps - size)/2)."""
    if name == "laplace":
        return max(0.0, size + 2 * math.log1p(-delta))
    return gaussian_truth(size, delta) if size > 0 else 0.0


CASES = {
    "null": ("gaussian", 0.0),
    "laplace": ("laplace", 1.0),
    "gaussian": ("gaussian", 1.0),
    "strong": ("gaussian", 3.0),
}
FOR_ALL = (RATES, APPROXIMATE_GUESSES)
FOR_GAUSSIANS = (GAUSSIAN_RATES, GAUSSIAN_GUESSES)
GRID = (0.1, 0.3, 0.6, 1.0, 1.5)


def audits() -> list[object]:
    found = []
    for case, (name, _) in CASES.items():
        rules = [(rule, DELTA) for rule in (*FOR_ALL, *(FOR_GAUSSIANS if name == "gaussian" else ()))]
        if case in ("null", "laplace"):
            rules += [(RATES, 0.0), (PURE_GUESSES, 0.0)]
        found += [pytest.param(case, rule, delta, id=f"{case}-{rule.name}-{delta:g}") for rule, delta in rules]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("way", ["fixed", "union", "split"])
@pytest.mark.parametrize(("case", "rule", "delta"), audits())
def test_every_way_to_a_threshold_covers(way, case, rule, delta):
    name, size = CASES[case]
    repeats = 1500
    scores, included = simulated(name, size, (repeats, 800), seed=20)
    ways = {
        "fixed": lambda s, i: fixed_threshold(s, i, 0.4, delta=delta, rule=rule),
        "union": lambda s, i: union_threshold(s, i, GRID, delta=delta, rule=rule),
        "split": lambda s, i: split_threshold(s, i, delta=delta, share=0.3, rule=rule),
    }
    truth = truth_of(name, size, delta)
    misses = sum(ways[way](s, i).epsilon > truth for s, i in zip(scores, included, strict=True))
    assert misses <= allowed(repeats)


@pytest.mark.slow
@pytest.mark.parametrize(("ins", "outs"), [(30, 30), (100, 0), (250, 250)])
@pytest.mark.parametrize("case", CASES)
def test_one_run_covers(case, ins, outs):
    name, size = CASES[case]
    repeats, m = 4000, 500
    plain = cache(lambda v, delta: one_run(v, ins + outs, m, delta=delta).epsilon)
    curved = cache(lambda v: gaussian_one_run(v, ins + outs, m, delta=DELTA).epsilon)
    rng = np.random.default_rng(21)
    right = []
    for seed in range(repeats):
        drawn = coins(m, seed)
        scores = size * drawn.included + noise(name, rng, (m,))
        right.append(ranked_guesses(scores, drawn, guesses_in=ins, guesses_out=outs))
    for delta in (DELTA, 1e-4, 1e-6):
        assert sum(plain(v, delta) > truth_of(name, size, delta) for v in right) <= allowed(repeats)
    if name == "laplace":
        assert sum(plain(v, 0.0) > size for v in right) <= allowed(repeats)
    else:
        assert sum(curved(v) > truth_of(name, size, DELTA) for v in right) <= allowed(repeats)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.03, 0.001])
def test_one_run_covers_a_mechanism_that_fails_all_at_once(delta):
    """With probability delta every coin is revealed: (0, delta)-DP; and each alone with probability delta."""
    repeats, m, rng = 4000, 200, np.random.default_rng(22)
    found = cache(lambda v: one_run(v, m, m, delta=delta).epsilon)
    chance = rng.binomial(m, 0.5, repeats)
    together = np.where(rng.random(repeats) < delta, m, chance)
    alone = rng.binomial(m, 0.5 + delta / 2, repeats)
    assert sum(found(int(v)) > 0 for v in together) <= allowed(repeats)
    assert sum(found(int(v)) > 0 for v in alone) <= allowed(repeats)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_rates_and_guesses_cover_at_many_runs(case):
    """Ten thousand repeats of counts at a threshold in the middle and in the tail."""
    name, size = CASES[case]
    repeats, n, rng = 10_000, 2000, np.random.default_rng(23)
    for threshold in (size / 2, size / 2 + 1.5):
        above = ndtr(size - threshold), ndtr(-threshold)
        if name == "laplace":
            above = tuple(0.5 * math.exp(-x) if x > 0 else 1 - 0.5 * math.exp(x) for x in (threshold - size, threshold))
        tps, fps = rng.binomial(n, above[0], repeats), rng.binomial(n, above[1], repeats)
        bounds = [lambda tp, fp: from_rates(tp, n, fp, n, delta=DELTA).epsilon]
        if name == "gaussian":
            bounds.append(lambda tp, fp: gaussian_from_rates(tp, n, fp, n, delta=DELTA).epsilon)
        for bound in map(cache, bounds):
            misses = sum(bound(int(tp), int(fp)) > truth_of(name, size, DELTA) for tp, fp in zip(tps, fps, strict=True))
            assert misses <= allowed(repeats)
