# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""LiRA's statistic for all targets at once is the one that a loop over targets finds."""

import numpy as np
import pytest

from dperm import ParameterError
from dperm.audit.membership import Roc, paired_coins
from dperm.audit.membership.likelihood_ratio import ratios_against, ratios_of_each


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


def test_scores_that_never_vary_give_numbers():
    mask = paired_coins(20, 8, seed=0)
    assert np.isfinite(ratios_of_each(np.ones(mask.shape), mask, pooled=False)).all()
    assert np.isfinite(ratios_of_each(np.zeros(mask.shape), mask, pooled=False)).all()


def test_what_is_no_attack_is_refused():
    scores, mask = example()
    with pytest.raises(ParameterError, match="complementary columns"):
        ratios_of_each(scores, np.roll(mask, 1, axis=1))
    with pytest.raises(ParameterError, match="one shape"):
        ratios_of_each(scores[1:], mask)
    with pytest.raises(ParameterError, match="must be finite"):
        ratios_of_each(np.where(mask, np.nan, scores), mask)
    with pytest.raises(ParameterError, match="one finite score for each record"):
        ratios_against(scores[1:, 0], scores, mask)
    with pytest.raises(ParameterError, match="two models at least"):
        ratios_against(scores[:, 0], scores, np.ones_like(mask))
