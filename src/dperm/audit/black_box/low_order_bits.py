# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The low-order bits of a sum tell its summands (Mironov 2012): two ways to look at them (A12)."""

import numpy as np
from numpy.typing import ArrayLike

from dperm.audit.arrays import numbers
from dperm.audit.black_box.statistics import Fixed
from dperm.noise.arrays import Floats

NO_BIT = 1100.0
"""The exponent that stands for the lowest bit of 0: above all doubles."""


def low_order_bits(without: ArrayLike, included: ArrayLike, *, share: float = 1.0) -> Fixed:
    """Whether an output w can be a sum s + noise, s being the noiseless output without or with the record (A12).

    A sum of doubles often has fl(fl(w - s) + s) = w, the other sum often not. So the guess is "out" if w fails this
    for the s with the record alone, "in" if it fails for the s without it alone; else there is none. Nothing is chosen:
    the rule is fixed in advance. It sees the size of the output, too: doubles near the farther s are coarser, and a
    correct mechanism shows a bound above 0, as it may, below its claim. Only a bound above the claim is a leak. Raw
    Laplace noise at s = 0 and 1 fails in a fifth of the runs without the record, and
    in none with it. Noise on a grid gives nothing away beyond its claim.
    """
    values = [numbers(*given, dims=None).ravel() for given in (("without", without), ("included", included))]

    def score(outputs: Floats) -> Floats:
        flat = outputs.reshape(len(outputs), -1)
        odd_out, odd_in = (is_odd(flat, value) for value in values)
        return np.select([odd_in & ~odd_out, odd_out & ~odd_in], [-1.0, 1.0], np.nan)

    return Fixed("low-order bits", score, 1.0, share)


def is_odd(outputs: Floats, value: Floats) -> "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]":
    """Which rows hold an entry that changes when the value is taken off and put back."""
    return np.asarray(((outputs - value) + value != outputs).any(axis=1))


def lowest_bits(outputs: Floats) -> Floats:
    """The exponent of the lowest bit that is set in any entry of a row."""
    flat = outputs.reshape(len(outputs), -1)
    fractions, exponents = np.frexp(flat)
    whole = np.ldexp(np.abs(fractions), 53).astype(np.int64)
    lowest = np.log2(np.where(whole == 0, 1, whole & -whole)) + exponents - 53
    return np.asarray(np.where(whole == 0, NO_BIT, lowest).min(axis=1))
