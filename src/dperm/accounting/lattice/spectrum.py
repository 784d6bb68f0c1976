# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Convolution powers on the circle Z/n, with a bound on what rounding does to them.

If each phi_i is known to e_i in every entry and |phi_i| <= 1, then (mean value theorem)

    |prod (phi_i + d_i)^{T_i} - prod phi_i^{T_i}| <= M sum_i T_i e_i/(|phi_i| + e_i),   M = prod (|phi_i| + e_i)^{T_i},

and an entry of the inverse transform is off by at most the mean of that over all frequencies, plus its own rounding.
Summed over the frequencies that live, this is far below the crude T e: for large T only a few do.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from dperm.accounting.lattice.measure import Measure
from dperm.accounting.lattice.rounding import MASS, PRODUCT, transform_error
from dperm.accounting.laws.law import Array

ComplexArray = NDArray[np.complex128]
DEAD = -75.0  # log modulus of a frequency that is left out


@dataclass(frozen=True)
class LatticeCircle:
    """The law of the tilted sum modulo n * spacing, index 0 at loss ``start``, each entry right to ``noise``."""

    start: float
    spacing: float
    weights: Array
    log_scale: float
    noise: float


def convolve(measures: Sequence[tuple[Measure, int]], length: int) -> LatticeCircle:
    """All the measures, each as often as it occurs; they share their spacing."""
    error = transform_error(length) + MASS
    transforms = [fft.rfft(fold(m.weights, length)) for m, _ in measures]
    log_size, rate = np.zeros(length // 2 + 1), np.zeros(length // 2 + 1)
    for phi, (_, count) in zip(transforms, measures, strict=True):
        size = np.abs(phi) + error
        log_size += count * np.log(size)
        rate += count * (error / size + PRODUCT)
    live = np.flatnonzero(log_size > DEAD)
    spectrum = np.zeros(length // 2 + 1, dtype=np.complex128)
    product = np.ones(len(live), dtype=np.complex128)
    for phi, (_, count) in zip(transforms, measures, strict=True):
        product *= _power(phi[live], count)
    spectrum[live] = product
    size = np.exp(log_size[live])
    noise = 2 * float(size @ (rate[live] + transform_error(length))) / length + 2 * math.exp(DEAD)
    start = sum(count * m.start for m, count in measures)
    log_scale = sum(count * m.log_scale for m, count in measures)
    return LatticeCircle(start, measures[0][0].spacing, fft.irfft(spectrum, length), log_scale, noise)


def fold(weights: Array, length: int) -> Array:
    """Return the weights folded modulo ``length``, padded if shorter."""
    if len(weights) <= length:
        return np.pad(weights, (0, length - len(weights)))
    return np.asarray(np.pad(weights, (0, -len(weights) % length)).reshape(-1, length).sum(axis=0))


def _power(base: ComplexArray, exponent: int) -> ComplexArray:
    """base^exponent by squaring: faster than log and exp, and no branch to choose."""
    out = np.ones_like(base)
    while True:
        if exponent & 1:
            out = out * base
        exponent >>= 1
        if not exponent:
            return out
        base = base * base
