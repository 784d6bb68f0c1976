# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The coins that decide which canaries are in the training set. They must be fair and independent.

Whoever splits canaries into two halves makes coins that depend on each other: knowing all others, an attacker knows the
last, and every bound that counts correct guesses is void. No test can tell a random half from coins that happened to
fall so; therefore `coins` draws them, and `Canaries` cannot hold any others.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr

from dperm import checks
from dperm.audit.arrays import as_array
from dperm.errors import AssumptionError, ParameterError
from dperm.noise.simulation import generator

Truths = NDArray[np.bool_]

_PURPOSE = "coins of canaries"
_FALSE_ALARM = 1e-9  # fair coins are refused with this probability, once for their number and once for each distance
_DISTANCES = 8
_DRAW = "Draw them with dperm.audit.coins.coins(canaries), and keep the order."


@dataclass(frozen=True)
class Canaries:
    """Independent fair coins for ``count`` canaries; two numbers tell them all.

    Attributes
    ----------
    count
        How many canaries there are.
    seed
        From which the coins follow: keep it from whoever makes the guesses.
    """

    count: int
    seed: int

    def __post_init__(self) -> None:
        """Check the numbers."""
        checks.count("count", self.count)
        checks.count("seed", self.seed, least=0)

    @cached_property
    def included(self) -> Truths:
        """Train with canary i iff ``included[i]``."""
        coins = generator(self.seed, _PURPOSE).integers(0, 2, size=self.count).astype(np.bool_)
        coins.flags.writeable = False
        return coins


def coins(canaries: int, seed: int | None = None) -> Canaries:
    """Flip a fair coin for each canary, each on its own; None takes a seed from the operating system."""
    return Canaries(canaries, int(generator().integers(2**53)) if seed is None else seed)


def inclusions(included: Canaries | ArrayLike, count: int) -> Truths:
    """``included`` as an array of truth values, one for each of ``count`` scores."""
    values = included.included if isinstance(included, Canaries) else as_array("included", included)
    if values.dtype.kind not in "biu" or values.ndim != 1 or not np.isin(values, (0, 1)).all():
        raise ParameterError("included must be one True or False (1 or 0) per score, as an array of booleans.")
    if len(values) != count:
        raise ParameterError(f"included must have one entry per score, got {len(values)} for {count} scores.")
    if count and values.all() == values.any():
        raise ParameterError(f"included must hold both True and False, got {values[0]} only: no coin was flipped.")
    return values.astype(np.bool_, copy=False)


def fair_coins(included: Canaries | ArrayLike, count: int) -> Truths:
    """The same, refused where fair and independent coins would fall so with a probability of 1e-9.

    Looked at are how many are True, and how often two at a distance of 1, ..., 8 differ, each of which is binomial: a
    sorted, an alternating or a paired list is no list of coins in the order in which they were flipped. A random half
    passes, as does every dependence at a greater distance: that coins are independent is for the user to see to.
    """
    values = inclusions(included, count)
    ins = int(values.sum())
    if _surprising(ins, count):
        raise AssumptionError(f"included must come from fair coins, got {ins} of {count} True. {_DRAW}")
    for distance in range(1, min(_DISTANCES, count - 1) + 1):
        changes = int(np.count_nonzero(values[distance:] != values[:-distance]))
        if _surprising(changes, count - distance):
            raise AssumptionError(
                f"included must come from independent coins in the order they were flipped, got {changes} changes in "
                f"{count - distance} pairs at distance {distance}: sorted, paired or stratified. {_DRAW}"
            )
    return values


def _surprising(heads: int, flips: int) -> bool:
    """Whether so many heads, or as far off on the other side, have a probability below 1e-9."""
    few = min(heads, flips - heads)
    return 2 * float(bdtr(few, flips, 0.5)) < _FALSE_ALARM
