# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The composition of one law on its own lattice, inside a window that holds all but a sliver of the tilted mass."""

import math

import numpy as np
from scipy import fft

from dperm.accounting.lattice.measure import Measure
from dperm.accounting.lattice.spectrum import convolve
from dperm.accounting.laws.law import Array

SLIVER = 1e-13


def composed(measure: Measure, count: int) -> tuple[Measure, float]:
    """The ``count``-fold convolution, and a bound on the total variation between it and what is returned."""
    if count == 1:
        return measure, 0.0
    low, high = window(measure, count)
    length = fft.next_fast_len(high - low + 1, real=True)
    circle = convolve([(measure, count)], length)
    weights = np.maximum(np.roll(circle.weights, -low), 0.0)[: high - low + 1]
    start = circle.start + low * measure.spacing
    return Measure(start, measure.spacing, weights, circle.log_scale), 4 * SLIVER + length * circle.noise


def window(measure: Measure, count: int) -> tuple[int, int]:
    """Lattice indices outside of which the tilted sum has mass at most SLIVER on each side (Chernoff)."""
    steps = np.arange(len(measure.weights), dtype=np.float64)
    mean = float(measure.weights @ steps)
    variance = float(measure.weights @ (steps - mean) ** 2)
    t = min(math.sqrt(-2 * math.log(SLIVER) / (count * variance + 1e-300)), 30.0)
    reach = [_reach(measure.weights, steps - mean, count, side * t) for side in (-1, 1)]
    low, high = math.floor(count * mean - reach[0]), math.ceil(count * mean + reach[1])
    return max(low, 0), min(high, count * (len(steps) - 1))


def _reach(weights: Array, steps: Array, count: int, t: float) -> float:
    """How far from the mean a Chernoff bound with t leaves SLIVER."""
    e = t * steps
    top = float(e.max())
    return (count * (top + math.log(float(weights @ np.exp(e - top)))) - math.log(SLIVER)) / abs(t)
