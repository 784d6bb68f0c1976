# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Coins are fair and independent, and lists that cannot be such coins are refused."""

import numpy as np
import pytest

from dperm.audit.coins import Canaries, coins, fair_coins, inclusions
from dperm.errors import AssumptionError, ParameterError


def test_coins_follow_from_the_seed_and_cannot_be_changed():
    drawn = coins(1000, seed=7)
    assert (drawn.included == coins(1000, seed=7).included).all()
    assert (drawn.included != coins(1000, seed=8).included).any()
    assert drawn == Canaries(1000, 7)
    with pytest.raises(ValueError, match="read-only"):
        drawn.included[0] = True


def test_without_a_seed_the_coins_are_new_each_time():
    assert coins(1000) != coins(1000)


def test_coins_are_fair_and_their_number_varies():
    numbers = np.array([coins(400, seed).included.sum() for seed in range(400)])
    assert abs(numbers.mean() - 200) < 5 * 10 / 20
    assert 7 < numbers.std() < 13  # stratified halves would have none


def test_drawn_coins_pass_the_check():
    for seed in range(200):
        assert fair_coins(coins(200, seed), 200).sum() > 0


@pytest.mark.parametrize(
    ("included", "word"),
    [
        ([1, 0, 2], "one boolean"),
        ([[True, False]], "one boolean"),
        ([0.5, 0.2], "one boolean"),
        ([True, False, True, True], "one entry per score"),
        ([[True], [True, False]], "lists of equal length"),
        ("TFT", "one boolean"),
        ([True] * 3, "both True and False"),
        ([False] * 3, "both True and False"),
    ],
    ids=["integers", "matrix", "numbers", "length", "ragged", "text", "all in", "all out"],
)
def test_what_is_no_list_of_coins_is_refused(included, word):
    with pytest.raises(ParameterError, match=word):
        inclusions(included, 3)
    with pytest.raises(ParameterError, match=word):
        fair_coins(included, 3)


def half(count: int) -> np.ndarray:
    return np.arange(count) < count // 2


def pairs(count: int) -> np.ndarray:
    first = np.random.default_rng(0).integers(0, 2, count // 2).astype(bool)
    return np.stack([first, ~first], axis=1).ravel()


@pytest.mark.parametrize(
    "included",
    [half(100), half(100)[::-1], np.arange(100) % 2 == 0, pairs(400), np.arange(100) % 4 < 2, np.arange(96) % 16 < 8],
    ids=["members first", "members last", "alternating", "one of each pair", "two and two", "eight and eight"],
)
def test_dependent_coins_are_refused_where_they_show(included):
    with pytest.raises(AssumptionError, match="independent coins"):
        fair_coins(included, len(included))
    assert inclusions(included, len(included)).sum() == len(included) // 2  # enough for bounds from two rates


def test_unfair_coins_are_refused():
    included = np.random.default_rng(0).random(1000) < 0.2
    with pytest.raises(AssumptionError, match="fair coins"):
        fair_coins(included, 1000)


@pytest.mark.parametrize(("count", "seed"), [(0, 1), (10, -1), (2.5, 1)], ids=["none", "seed", "half"])
def test_numbers_of_canaries_are_checked(count, seed):
    with pytest.raises(ParameterError):
        Canaries(count, seed)
