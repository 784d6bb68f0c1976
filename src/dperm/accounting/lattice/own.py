# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The composition of one law on its own lattice, inside a window that holds all but a sliver of the tilted mass."""

import math

import numpy as np
from scipy import fft

from dperm.accounting.lattice.measure import Measure
from dperm.accounting.lattice.spectrum import convolve
from dperm.accounting.laws.law import Array

SLIVERS = (1e-13, 1e-11, 1e-9, 1e-7)  # mass that may be left out on each side: more, if the window gets too long
MOST_POINTS = 2**17
FACTORS = (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5)


def composed(measure: Measure, count: int) -> tuple[Measure, float]:
    """Return the ``count``-fold convolution, and a bound on the total variation error of the result."""
    if count == 1:
        return measure, 0.0
    for sliver in SLIVERS:
        low, high = window(measure, count, sliver)
        if high - low < MOST_POINTS:
            break
    length = fft.next_fast_len(high - low + 1, real=True)
    circle = convolve([(measure, count)], length)
    weights = np.maximum(np.roll(circle.weights, -low), 0.0)[: high - low + 1]
    start = circle.start + low * measure.spacing
    return Measure(start, measure.spacing, weights, circle.log_scale), 4 * sliver + length * circle.noise


def longer(measure: Measure, count: int) -> float:
    """How many times longer than MOST_POINTS the composition would be."""
    if count == 1:
        return 0.0
    low, high = window(measure, count, SLIVERS[-1])
    return (high - low) / MOST_POINTS


def window(measure: Measure, count: int, sliver: float) -> tuple[int, int]:
    """Lattice indices outside of which the tilted sum has mass at most ``sliver`` on each side (Chernoff)."""
    steps = np.arange(len(measure.weights), dtype=np.float64)
    mean = float(measure.weights @ steps)
    variance = float(measure.weights @ (steps - mean) ** 2)
    t = min(math.sqrt(-2 * math.log(sliver) / (count * variance + 1e-300)), 30.0)
    below, above = (
        min(_reach(measure.weights, steps - mean, count, sign * t * factor, sliver) for factor in FACTORS)
        for sign in (-1, 1)
    )
    low, high = math.floor(count * mean - below), math.ceil(count * mean + above)
    return max(low, 0), min(high, count * (len(steps) - 1))


def _reach(weights: Array, steps: Array, count: int, t: float, sliver: float) -> float:
    """How far from the mean a Chernoff bound with t leaves ``sliver``."""
    e = t * steps
    top = float(e.max())
    return (count * (top + math.log(float(weights @ np.exp(e - top)))) - math.log(sliver)) / abs(t)
