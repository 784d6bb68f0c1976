# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Who is in which model: the coins of membership attacks."""

import numpy as np

from dperm import checks
from dperm.data.arrays import Mask
from dperm.errors import ParameterError
from dperm.noise.simulation import generator
from dperm.privacy.adjacency import Adjacency

LEAST_MODELS = 6
"""Without the target's pair, two values are left for each mean and variance."""


def paired_coins(
    records: int, models: int, *, adjacency: Adjacency | str = "add_remove", seed: int | None = None
) -> Mask:
    """Which of ``records`` (rows) are in which of ``models`` (columns); columns 2j and 2j + 1 are complements (A9).

    So each record is in exactly half of the models, and what it does to a model can be estimated for each one.

    Under add_remove the coins of a column are independent and fair: a column is the design of a one-run audit (A6).
    Under replace_one every model has half of the records: "in" and "out" then differ in one record replaced, averaged
    over the others, and its guarantee bounds the attack on each record (hockey-stick divergences are jointly convex);
    but the coins of one column depend on each other.
    """
    records, models = checks.count("records", records, least=2), even("models", models)
    coins = generator(seed, "halves of shadow models, in pairs")
    if Adjacency.of(adjacency) is Adjacency.ADD_REMOVE:
        first = coins.random((records, models // 2)) < 0.5
    else:
        if records % 2:
            raise ParameterError(f'records must be even for adjacency="replace_one", got {records}. Leave one out.')
        halves = np.repeat([[True], [False]], records // 2, axis=0)
        first = coins.permuted(np.broadcast_to(halves, (records, models // 2)), axis=0)
    return np.stack([first, ~first], axis=2).reshape(records, models)


def even(name: str, models: int) -> int:
    """``models``, if it is an even number that leaves something to estimate from."""
    models = checks.count(name, models, least=LEAST_MODELS)
    if models % 2:
        raise ParameterError(f"{name} must be even, got {models}: models are trained in complementary pairs.")
    return models


def check_pairs(mask: Mask) -> None:
    """Refuse a mask whose columns 2j and 2j + 1 are not complements of each other."""
    even("the number of columns of mask", mask.shape[1])
    if not np.array_equal(mask[:, ::2], ~mask[:, 1::2]):
        raise ParameterError(
            "mask must have complementary columns 2j and 2j + 1, so that each record is in half of the models. Use "
            "paired_coins."
        )
