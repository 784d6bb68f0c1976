# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Two tests of low-order bits, revealing the summands of a floating-point sum (Mironov 2012, A12)."""

import numpy as np
from numpy.typing import ArrayLike

from dperm.audit.arrays import numbers
from dperm.audit.black_box.statistics import Fixed
from dperm.noise.arrays import Floats

NO_BIT = 1100.0
"""Exponent representing the lowest bit of 0, above those of all doubles."""


def low_order_bits(without: ArrayLike, included: ArrayLike, *, share: float = 1.0) -> Fixed:
    """Return a test whether an output w can be a sum s + noise, s the noiseless output of either side (A12).

    A sum of doubles often satisfies fl(fl(w - s) + s) = w; a sum with another s often does not. The guess is "out" if w
    fails only for the s with the record, and "in" if w fails only for the s without it. Otherwise there is no guess.
    The rule is fixed in advance. It also reacts to the size of the output: doubles near the farther s are coarser. A
    correct mechanism may therefore show a bound above 0, but below its claim. Only a bound above the claim is a leak.
    Raw Laplace noise at s = 0 and 1 fails in a fifth of the runs without the record, and in none with it. Noise on a
    grid reveals nothing beyond its claim.

    Parameters
    ----------
    without, included
        Noiseless output without and with the record.
    share
        Weight in the division of alpha.

    Returns
    -------
    Fixed
        Statistic for `audit`.
    """
    values = [numbers(*given, dims=None).ravel() for given in (("without", without), ("included", included))]

    def score(outputs: Floats) -> Floats:
        flat = outputs.reshape(len(outputs), -1)
        odd_out, odd_in = (is_odd(flat, value) for value in values)
        return np.select([odd_in & ~odd_out, odd_out & ~odd_in], [-1.0, 1.0], np.nan)

    return Fixed("low-order bits", score, 1.0, share)


def is_odd(outputs: Floats, value: Floats) -> "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]":
    """Return a mask of rows with an entry changed by subtracting and adding back ``value``."""
    return np.asarray(((outputs - value) + value != outputs).any(axis=1))


def lowest_bits(outputs: Floats) -> Floats:
    """Return the exponent of the lowest set bit over the entries of each row."""
    flat = outputs.reshape(len(outputs), -1)
    fractions, exponents = np.frexp(flat)
    whole = np.ldexp(np.abs(fractions), 53).astype(np.int64)
    lowest = np.log2(np.where(whole == 0, 1, whole & -whole)) + exponents - 53
    return np.asarray(np.where(whole == 0, NO_BIT, lowest).min(axis=1))
