# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Composition of one law on a lattice of its own, and the change to the common lattice.

A law whose atoms lie at incommensurable distances is composed on a lattice that fits its atoms, inside a window that
contains all but a sliver of the tilted mass. The result moves to the common lattice once, from above (every point is
split between its two neighbours, P and Q preserved) or from below (points near one lattice value are merged). The error
is the error of one step, whatever the count.
"""

import math

import numpy as np
from scipy import fft

from dperm.accounting.lattice.measure import Measure
from dperm.accounting.lattice.spectrum import convolve
from dperm.accounting.lattice.steps import IndexArray
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


SPARSE = 0.5  # points further apart than this share of the new spacing are not merged but moved down
THIN = 1e-14  # tilted mass of a cell that is put one point lower, whatever its merged loss


def split_up(measure: Measure, spacing: float, c: float, length: int) -> Measure:
    """Connect-the-dots on the new lattice, which starts at the same loss.

    A law with more than ``length`` points is folded onto the circle of that length, on which it is convolved.
    """
    index, beyond = _positions(measure, spacing)
    up = np.expm1(-beyond) / math.expm1(-spacing)
    raised = _gathered(measure, index, beyond=beyond, up=up, spacing=spacing, power=c, length=length)
    return _normalised(measure, measure.start, spacing, raised)


def merge_down(measure: Measure, spacing: float, c: float, length: int) -> Measure:
    """Merged cells on the new lattice, shifted down until no merged loss lies below its lattice value.

    Points that are moved, not merged, are folded as in `split_up`.
    """
    index, beyond = _positions(measure, spacing)
    if measure.spacing > SPARSE * spacing:
        fallen = _gathered(
            measure, index, beyond=beyond, up=np.zeros_like(beyond), spacing=spacing, power=c, length=length
        )
        return _normalised(measure, measure.start, spacing, fallen)
    # a point stands for the interval of length measure.spacing around it, which the cell border may cut
    up = np.clip((beyond - spacing / 2) / measure.spacing + 0.5, 0.0, 1.0)
    p, q = (_gathered(measure, index, beyond=beyond, up=up, spacing=spacing, power=power) for power in (c, c + 1))
    live = (p > 0) & (q > 0)
    below = np.log(np.where(live, q, 1.0)) - np.log(np.where(live, p, 1.0))  # lattice value minus merged loss
    thin = p < THIN
    sag = float(np.max(below, where=~thin, initial=0.0))
    weights = np.where(thin, 0.0, p)
    weights[:-1] += np.where(thin, p, 0.0)[1:] * math.exp(-c * spacing)  # no merged loss is a whole step too low
    return _normalised(measure, measure.start - sag, spacing, weights, shift=-c * sag)


def _gathered(
    measure: Measure, index: IndexArray, beyond: Array, up: Array, spacing: float, power: float, length: int = 2**62
) -> Array:
    """Every point's mass on its two neighbours, a share ``up`` on the upper one, times e^{power (new - old loss)}."""
    low = measure.weights * (1 - up) * np.exp(-power * beyond)
    high = measure.weights * up * np.exp(power * (spacing - beyond))
    points = min(int(index[-1]) + 2, length)
    lower, upper = index % points, (index + 1) % points
    return np.asarray(np.bincount(lower, low, points) + np.bincount(upper, high, points), dtype=np.float64)


def _positions(measure: Measure, spacing: float) -> tuple[IndexArray, Array]:
    """Index of the new lattice point at or below each old one, and the distance beyond it."""
    place = np.arange(len(measure.weights)) * measure.spacing
    index = np.floor(place / spacing).astype(np.int64)
    return index, np.clip(place - index * spacing, 0.0, spacing)


def _normalised(measure: Measure, start: float, spacing: float, weights: Array, shift: float = 0.0) -> Measure:
    total = float(weights.sum())
    return Measure(start, spacing, weights / total, measure.log_scale + shift + math.log(total))
