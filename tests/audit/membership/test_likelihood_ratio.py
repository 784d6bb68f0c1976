# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""LiRA's statistic for all targets at once is the one that a loop over targets finds."""

import numpy as np
import pytest

from dperm import ParameterError, PureDP
from dperm.audit.membership import Roc, lira_on_scores, paired_coins
from dperm.audit.membership.likelihood_ratio import moments_of_other_pairs, ratios_against, ratios_of_each


def log_normal(x, mean, variance):
    return -0.5 * np.log(variance) - (x - mean) ** 2 / (2 * variance)


def one_by_one(scores, mask, *, pooled):
    found = np.empty(scores.shape)
    for k in range(scores.shape[1]):
        others = [j for j in range(scores.shape[1]) if j // 2 != k // 2]
        phi, bits = scores[:, others], mask[:, others]
        means = [np.array([row[b == bit].mean() for row, b in zip(phi, bits, strict=True)]) for bit in (True, False)]
        spread = [
            np.array([row[b == bit].var(ddof=1) for row, b in zip(phi, bits, strict=True)]) for bit in (True, False)
        ]
        spread = [np.full(len(scores), each.mean()) if pooled else each for each in spread]
        found[:, k] = log_normal(scores[:, k], means[0], spread[0]) - log_normal(scores[:, k], means[1], spread[1])
    return found


def example(records=30, models=12, shift=1000.0):
    rng = np.random.default_rng(0)
    mask = paired_coins(records, models, seed=1)
    return shift + rng.normal(size=mask.shape) + 0.7 * mask, mask


@pytest.mark.parametrize("pooled", [False, True], ids=["own", "pooled"])
def test_leaving_pairs_out_of_sums_is_leaving_them_out(pooled):
    scores, mask = example()
    assert ratios_of_each(scores, mask, pooled=pooled) == pytest.approx(
        one_by_one(scores, mask, pooled=pooled), abs=1e-7
    )


def test_few_models_share_a_variance_and_many_do_not():
    few, many = example(models=12), example(models=64)
    assert (ratios_of_each(*few) == ratios_of_each(*few, pooled=True)).all()
    assert (ratios_of_each(*many) == ratios_of_each(*many, pooled=False)).all()


def test_a_target_of_its_own_is_judged_by_all_models():
    scores, mask = example(models=12)
    inside, outside = scores[:, 2:], mask[:, 2:]
    assert ratios_against(scores[:, 0], inside, outside, pooled=False) == pytest.approx(
        ratios_of_each(scores, mask, pooled=False)[:, 0]
    )


def test_a_score_that_says_nothing_has_an_area_of_one_half():
    """The target is in no moment: with it, its own score would pull the mean towards itself."""
    rng = np.random.default_rng(2)
    mask = paired_coins(4000, 8, seed=3)
    ratios = ratios_of_each(rng.normal(size=mask.shape), mask)
    low, high = Roc.of(ratios[:, 0], mask[:, 0]).auc_interval(0.999)
    assert low <= 0.5 <= high


@pytest.mark.parametrize("pooled", [False, True], ids=["own", "pooled"])
@pytest.mark.parametrize("pair", [0, 2, 5])
def test_moments_of_a_pair_do_not_know_its_scores_nor_its_coins(pair, pooled):
    """To the last bit: whatever is left of them in a rounding tells the coin, once it is divided by a tiny variance."""
    scores, mask = example(models=12, shift=0.1)
    own, rng = slice(2 * pair, 2 * pair + 2), np.random.default_rng(9)
    other_scores, other_mask = scores.copy(), mask.copy()
    other_scores[:, own] = 1e9 * rng.normal(size=(len(scores), 2))
    other_mask[:, own] = ~mask[:, own]
    before = moments_of_other_pairs(scores, mask, pooled=pooled)
    after = moments_of_other_pairs(other_scores, other_mask, pooled=pooled)
    for one, other in zip(before, after, strict=True):
        assert one.mean[pair].tobytes() == other.mean[pair].tobytes()
        assert one.variance[pair].tobytes() == other.variance[pair].tobytes()
        assert (one.mean != other.mean).any(), "of the other pairs it does matter"


def silent(kind, models):
    """Scores of models that have not seen the records."""
    mask, scores, rng = paired_coins(1000, models, seed=1), np.full((1000, models), 0.1), np.random.default_rng(7)
    if kind == "constant":
        scores[:, 0], scores[:, 1] = 0.3, 0.7
    elif kind == "huge":
        scores = rng.normal(size=mask.shape)
        scores[:, 0] = 1e12
    elif kind == "coarse":
        scores = np.round(rng.normal(size=mask.shape) * 3) * 0.1
    else:
        scores = np.tile(np.where(rng.random(models) < 0.85, 0.1, rng.choice([0.1, 0.3, 0.7], models)), (1000, 1))
    return scores, mask


@pytest.mark.parametrize("models", [6, 8, 64])
@pytest.mark.parametrize("kind", ["constant", "huge", "coarse", "rare"])
def test_scores_that_depend_on_no_record_are_no_violation(kind, models):
    assert not lira_on_scores(*silent(kind, models)).finding(PureDP(0.5, "add_remove")).violation


def test_scores_that_never_vary_give_numbers():
    mask = paired_coins(20, 8, seed=0)
    assert np.isfinite(ratios_of_each(np.ones(mask.shape), mask, pooled=False)).all()
    assert np.isfinite(ratios_of_each(np.zeros(mask.shape), mask, pooled=False)).all()
    alone = np.where(np.arange(8) == 0, 1e50, 0.0) * np.ones(mask.shape)
    assert np.isfinite(ratios_of_each(alone, mask, pooled=False)).all()


def test_what_is_no_attack_is_refused():
    scores, mask = example()
    with pytest.raises(ParameterError, match="complementary columns"):
        ratios_of_each(scores, np.roll(mask, 1, axis=1))
    with pytest.raises(ParameterError, match="shape of mask"):
        ratios_of_each(scores[1:], mask)
    with pytest.raises(ParameterError, match="scores must be a matrix of finite numbers, got NaN"):
        ratios_of_each(np.where(mask, np.nan, scores), mask)
    with pytest.raises(ParameterError, match="one finite score for each of 30 records"):
        ratios_against(scores[1:, 0], scores, mask)
    with pytest.raises(ParameterError, match="at least two models"):
        ratios_against(scores[:, 0], scores, np.ones_like(mask))
    with pytest.raises(ParameterError, match=r"scores must be at most 1e.50 in absolute value"):
        ratios_of_each(1e60 * scores, mask)
    with pytest.raises(ParameterError, match="mask must be a matrix of True and False"):
        ratios_of_each(scores, mask.astype(int))
