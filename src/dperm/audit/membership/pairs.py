# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Random membership of records in shadow models."""

import numpy as np

from dperm import checks
from dperm.data.arrays import Mask
from dperm.errors import ParameterError
from dperm.noise.simulation import generator
from dperm.privacy.adjacency import Adjacency

LEAST_MODELS = 6
"""Fewest models: without the target's pair, two values remain for each mean and variance."""


def paired_coins(
    records: int, models: int, *, adjacency: Adjacency | str = "add_remove", seed: int | None = None
) -> Mask:
    """Assign records (rows) to the training sets of models (columns) at random, in complementary pairs (A9).

    Column 2j + 1 is the complement of column 2j. Each record is therefore in the training sets of exactly half of the
    models, so its effect on a model can be estimated.

    Under add_remove, the entries of a column are independent fair coin flips, as a one-run audit requires (A6).

    Under replace_one, every model is trained on exactly half of the records. If a random training set contains a given
    record, and this record is replaced by a random record outside the set, the result is a random training set without
    the given record. Since hockey-stick divergences are jointly convex, a guarantee under replace_one therefore also
    bounds the attack on each record. However, the entries of a column are dependent, so they do not permit a one-run
    audit.

    Parameters
    ----------
    records
        Number of records, at least 2; it must be even under replace_one.
    models
        Number of models; an even number, at least 6.
    adjacency
        Neighbouring relation of the attacked guarantee, "add_remove" or "replace_one".
    seed
        Seed of the coin flips; None draws a seed from the operating system.

    Returns
    -------
    ndarray
        Boolean array of shape (records, models): whether each record is in the training set of each model.

    Raises
    ------
    ParameterError
        If ``records`` or ``models`` is too small, ``models`` is odd, or ``records`` is odd under replace_one.
    """
    records, models = checks.count("records", records, least=2), even_model_count("models", models)
    coins = generator(seed, "halves of shadow models, in pairs")
    if Adjacency.of(adjacency) is Adjacency.ADD_REMOVE:
        first = coins.random((records, models // 2)) < 0.5
    else:
        if records % 2:
            raise ParameterError(
                argument="records",
                rule='must be even for adjacency="replace_one"',
                got=str(records),
                remedy="Leave one record out.",
            )
        halves = np.repeat([[True], [False]], records // 2, axis=0)
        first = coins.permuted(np.broadcast_to(halves, (records, models // 2)), axis=0)
    return np.stack([first, ~first], axis=2).reshape(records, models)


def even_model_count(name: str, models: int) -> int:
    """Return ``models``; raise ``ParameterError`` unless it is even and at least 6."""
    models = checks.count(name, models, least=LEAST_MODELS)
    if models % 2:
        raise ParameterError(
            argument=name, rule="must be even", got=str(models), remedy="Models are trained in complementary pairs."
        )
    return models


def check_pairs(mask: Mask) -> None:
    """Raise ``ParameterError`` unless columns 2j and 2j + 1 of the mask are complements."""
    even_model_count("the number of columns of mask", mask.shape[1])
    if not np.array_equal(mask[:, ::2], ~mask[:, 1::2]):
        raise ParameterError(
            argument="mask",
            rule="must have complementary columns 2j and 2j + 1, so that each record is in half of the models",
            remedy="Use paired_coins.",
        )
