# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""No lot, coin or made-up record depends on another, though all have the same seed."""

import hashlib

import numpy as np
import pytest

from dperm import PureDP
from dperm.audit.coins import coins
from dperm.audit.demo.membership import MODELS, RECORDS, made_up_records
from dperm.audit.exposure.text import code_space
from dperm.audit.membership import Roc, paired_coins
from dperm.audit.one_run import from_scores
from dperm.audit.ranking import ascending_order
from dperm.noise.simulation import generator

SEEDS = range(8)
CLAIM = PureDP(1.0, "add_remove")


def users(seed: int, size: int) -> dict[str, np.ndarray]:
    """Coins that somebody may have made of a seed, in the order in which ties would go by them."""
    return {
        "random": np.random.default_rng(seed).random(size) > 0.5,
        "integers": np.random.default_rng(seed).integers(0, 2, size) == 1,
        "permuted": np.random.default_rng(seed).permutation(size) >= size // 2,
    }


@pytest.mark.parametrize("kind", ["random", "integers", "permuted"])
@pytest.mark.parametrize("trials", ["one_run", "independent"])
def test_scores_that_say_nothing_show_nothing_whatever_seed_the_coins_have(kind, trials):
    for seed in SEEDS:
        roc = Roc.of(np.zeros(1000), users(seed, 1000)[kind], trials=trials)
        assert not roc.finding(CLAIM).violation


@pytest.mark.parametrize("kind", ["random", "integers", "permuted"])
def test_ties_of_canaries_go_by_a_lot_of_their_own(kind):
    for seed in SEEDS:
        bound = from_scores(np.zeros(1000), users(seed, 1000)[kind], guesses_in=200, guesses_out=200, delta=0.0)
        assert bound.epsilon < 0.5


def test_an_order_has_ties_by_lot_and_nothing_else():
    scores = np.repeat([2.0, 1.0, -np.inf, np.inf], 25)
    order = ascending_order(scores)
    assert (np.diff(scores[order][25:75]) >= 0).all() and sorted(order) == list(range(100))
    assert (np.diff(order[:25]) < 0).any() and (np.diff(order[:25]) > 0).any()
    assert (ascending_order(scores) == order).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_subject_with_the_seed_of_the_coins_keeps_its_epsilon(seed):
    """Randomised response that keeps the truth with probability 3/4: epsilon = log 3."""
    canaries = coins(2000, seed)
    flipped = np.random.default_rng(seed).integers(0, 4, 2000) == 0
    told = (canaries.included ^ flipped).astype(float)
    for guesses_in in (0, 400):
        bound = from_scores(told, canaries, guesses_in=guesses_in, guesses_out=400, delta=0.0)
        assert bound.epsilon <= np.log(3)


def agreement(one: np.ndarray, other: np.ndarray) -> float:
    """The distance of the share of equal bits from one half, in standard deviations."""
    size = min(one.size, other.size)
    return abs(np.mean(one.ravel()[:size] == other.ravel()[:size]) - 0.5) * 2 * size**0.5


@pytest.mark.parametrize("seed", SEEDS)
def test_coins_of_shadow_models_do_not_follow_from_numbers_of_the_same_seed(seed):
    first = paired_coins(RECORDS, MODELS, seed=seed)[:, ::2]
    same = np.random.default_rng(seed)
    assert agreement(first, same.random(first.shape) < 0.5) < 5
    assert agreement(first[:, 0], coins(RECORDS, seed).included) < 5


@pytest.mark.parametrize("seed", SEEDS)
def test_the_demonstration_has_coins_that_are_not_its_data(seed):
    x, _ = made_up_records(seed)
    first = paired_coins(RECORDS, MODELS, seed=seed)[:, ::2].ravel()
    for step in (1, 2):
        assert agreement(first, x.ravel()[::step] > 0) < 5
        assert agreement(first, x.ravel()[1::step] > 0) < 5


def test_purposes_and_seeds_have_streams_of_their_own():
    drawn = {(seed, of): generator(seed, of).integers(2**60) for seed in range(3) for of in ("", "a", "b")}
    assert len(set(drawn.values())) == len(drawn)
    digest = hashlib.sha256(b"dperm NOT PRIVATE seed=2 purpose=a").digest()
    assert drawn[2, "a"] == np.random.default_rng(int.from_bytes(digest)).integers(2**60)
    assert drawn[2, ""] == np.random.default_rng(2).integers(2**60)
    assert generator(None, "a").integers(2**60) != generator(None, "a").integers(2**60)


def test_secrets_do_not_follow_from_numbers_of_the_same_seed():
    space = code_space()
    same = np.random.default_rng(3).integers(0, space.size, 50)
    assert not np.intersect1d(space.draw(50, 3), same).size
