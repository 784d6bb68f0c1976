# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Guesses from ranked scores of many canaries: "in" for the highest, "out" for the lowest, none in between.

Ties are broken in a fixed random order from its own stream (a hash of its purpose), independent of any seed shared with
the coin flips. Breaking ties by position is unsafe: concatenated lists of members and non-members would turn ties into
correct guesses.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dperm import checks
from dperm.audit.arrays import numbers
from dperm.audit.coins import Canaries, fair_coins
from dperm.data.arrays import Floats
from dperm.errors import AssumptionError, ParameterError
from dperm.noise.arrays import Integers
from dperm.noise.simulation import generator
from dperm.presentation.spelling import arg

_PURPOSE = "the lot that breaks ties of scores"


def ascending_order(scores: Floats) -> Integers:
    """Return the indices sorting the scores in ascending order; ties are broken independently of membership."""
    return np.lexsort((generator(0, _PURPOSE).random(len(scores)), scores))


def ranked_guesses(
    scores: NDArray[np.float64],
    included: Canaries | ArrayLike,
    *,
    guesses_in: int,
    guesses_out: int,
    independent: bool = True,
) -> int:
    """Return the number of correct guesses; a random order independent of ``included`` breaks ties."""
    if not checks.truth("independent", independent):
        raise AssumptionError(
            (
                f"{arg('independent', False)}, but every bound from one run requires independent fair coins: a "
                "stratified or paired choice of canaries reveals coins to the attacker."
            ),
            remedy="Draw them with dperm.audit.coins.coins(canaries).",
        )
    truths = fair_coins(included, len(scores))
    order = ascending_order(scores)
    highest, lowest = order[len(order) - guesses_in :], order[:guesses_out]
    return int(np.count_nonzero(truths[highest]) + np.count_nonzero(~truths[lowest]))


def total_guesses(guesses_in: int, guesses_out: int) -> int:
    """Return the total number of guesses, fixed in advance."""
    return checks.count("guesses_in", guesses_in, least=0) + checks.count("guesses_out", guesses_out, least=0)


def checked_scores(scores: ArrayLike, guesses: int) -> NDArray[np.float64]:
    """Return ``scores`` as an array without NaN; raise ``ParameterError`` for fewer scores than guesses."""
    values = numbers("scores", scores, finite=False, remedy="Give one number per canary: score each of them.")
    if len(values) < max(guesses, 1):
        raise ParameterError(
            f"{arg('guesses_in')} + {arg('guesses_out')} must not exceed the number of canaries, got {guesses} guesses "
            f"for {len(values)} canaries."
        )
    return values


def too_few_guesses(guesses: int, canaries: int, *, delta: float, confidence: float) -> ParameterError:
    """Return the error for an audit unable to show anything, even with all guesses correct."""
    return ParameterError(
        (
            f"{guesses} guesses on {canaries} canaries are too few at {arg('delta', format(delta, 'g'))} and "
            f"{arg('confidence', format(confidence, 'g'))}: even if all were right, no epsilon above 0 would follow."
        ),
        remedy="Use more canaries and guesses, or a smaller delta.",
    )
