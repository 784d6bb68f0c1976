# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Independent fair coin flips that decide which canaries are included in the training data.

A canary is a record added for an audit. The flips must be independent. If exactly half of the canaries are included by
design, the flips are dependent, because all other flips determine the last one. Bounds from correct guesses are then
not valid. Tests of the flips cannot detect this, because independent flips may also include exactly half. Therefore
`coins` draws the flips itself, and `Canaries` derives them from a seed.
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
    """Independent fair coin flips for ``count`` canaries, determined by the count and a seed.

    A canary is a record added for an audit. Its coin flip decides whether the training data include it.

    Attributes
    ----------
    count
        Number of canaries, at least 1.
    seed
        Seed of the coin flips, a whole number >= 0; keep it secret from the attacker.

    Examples
    --------
    >>> from dperm.audit.coins import Canaries
    >>> Canaries(count=1000, seed=0).included.shape
    (1000,)
    """

    count: int
    seed: int

    def __post_init__(self) -> None:
        """Check that ``count`` is positive and ``seed`` is not negative."""
        checks.count("count", self.count)
        checks.count("seed", self.seed, least=0)

    @cached_property
    def included(self) -> Truths:
        """Read-only boolean array: ``included[i]`` states whether canary i belongs to the training data."""
        coins = generator(self.seed, _PURPOSE).integers(0, 2, size=self.count).astype(np.bool_)
        coins.flags.writeable = False
        return coins


def coins(canaries: int, seed: int | None = None) -> Canaries:
    """Flip an independent fair coin for each canary, to decide whether the training data include it.

    Parameters
    ----------
    canaries
        Number of canaries (records added for an audit), at least 1.
    seed
        Seed of the coin flips, a whole number >= 0; None draws a seed from the operating system.

    Returns
    -------
    Canaries
        The coin flips. Train on the canaries with a True entry in ``included``, and pass this object to a function such
        as `dperm.audit.one_run.from_scores`.
    """
    return Canaries(canaries, int(generator().integers(2**53)) if seed is None else seed)


def inclusions(included: Canaries | ArrayLike, count: int) -> Truths:
    """Return ``included`` as a boolean array with one entry per score.

    Parameters
    ----------
    included
        Coin flips from `coins`, or a one-dimensional array of booleans or of integers 0 and 1.
    count
        Number of scores.

    Returns
    -------
    ndarray
        One boolean per score.

    Raises
    ------
    ParameterError
        If an entry is not 0 or 1, the length is not ``count``, or all entries are equal.
    """
    values = included.included if isinstance(included, Canaries) else as_array("included", included)
    if values.dtype.kind not in "biu" or values.ndim != 1 or not np.isin(values, (0, 1)).all():
        raise ParameterError(argument="included", rule="must be an array with one boolean (or 1 or 0) per score")
    if len(values) != count:
        raise ParameterError(
            argument="included", rule="must have one entry per score", got=f"{len(values)} for {count} scores"
        )
    if count and values.all() == values.any():
        raise ParameterError(argument="included", rule="must contain both True and False", got=f"{values[0]} only")
    return values.astype(np.bool_, copy=False)


def fair_coins(included: Canaries | ArrayLike, count: int) -> Truths:
    """Return ``included`` as `inclusions` does, but reject sequences that are too unlikely for fair coin flips.

    The function tests the number of True entries. For each distance 1, ..., 8, it also tests how many pairs of entries
    at this distance differ. For fair and independent coin flips, each of these numbers is binomial, and each test
    rejects with probability at most 1e-9. Long lists that are sorted, alternating or paired are rejected. A random half
    of the canaries is not detected, nor is most dependence at greater distances. The caller therefore remains
    responsible for independence.

    Parameters
    ----------
    included
        Coin flips from `coins`, or one boolean per score in the order of the flips.
    count
        Number of scores.

    Returns
    -------
    ndarray
        One boolean per score.

    Raises
    ------
    AssumptionError
        If a test rejects the sequence.
    ParameterError
        If ``included`` is invalid; see `inclusions`.
    """
    values = inclusions(included, count)
    ins = int(values.sum())
    if _surprising(ins, count):
        raise AssumptionError(
            argument="included", rule="must come from fair coins", got=f"{ins} of {count} True", remedy=_DRAW
        )
    for distance in range(1, min(_DISTANCES, count - 1) + 1):
        changes = int(np.count_nonzero(values[distance:] != values[:-distance]))
        if _surprising(changes, count - distance):
            raise AssumptionError(
                argument="included",
                rule="must come from independent coins in the order of the flips",
                got=f"{changes} changes in {count - distance} pairs at distance {distance}",
                remedy=f"The entries look sorted, paired or stratified. {_DRAW}",
            )
    return values


def _surprising(heads: int, flips: int) -> bool:
    """Whether a count of heads at least this extreme (two-sided) has probability below 1e-9."""
    few = min(heads, flips - heads)
    return 2 * float(bdtr(few, flips, 0.5)) < _FALSE_ALARM
