# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Finite scale mixture of Gaussians for e^-r between two radii, with a proved error (T7).

In the standard deviation s = e^(y/2),

    e^-r = integral of g_r(y) e^-r dy,   g_r(y) = s / sqrt(2 pi) * exp(-(s - r/s)^2 / 2),

and a sum over nodes y_j with steps a_j replaces the integral. The nodes are evenly spaced up to the rounding of s_j to
26 bits, and the steps correct for this rounding. docs/theory/gaussian-mixture.md has the proofs, in its sections
"Quadrature" and "Omitted atoms".
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcinv

from dperm.noise.arrays import Floats
from dperm.privacy.rounding import ULP, raised

Waves = NDArray[np.complex128]

DEVIATION_BITS = 26
"""Significant bits of a deviation: its product with a scale of at most 27 bits is exact in floating point."""
OCTAVE = 2 * math.log(2)
"""Period of the nodes in y = 2 log s, one doubling of s; a narrower window is its own period."""
OMITTED = 2.0**-43
"""Target for the relative error of omitting the atoms on one side."""
KERNEL = 2.0**-24
"""Fourier transform of g at the highest corrected frequency; beyond, it multiplies 2^-26."""
PASSES = 4
"""Number of corrections of the steps. In 10^9 dimensions each gains a factor of 10^3, in fewer dimensions more."""
SAFETY = 1 + 1e-9
"""Allowance for the rounding of sums of positive terms, each of relative error below 1e-12."""


@dataclass(frozen=True, eq=False)
class MixtureAtoms:
    """Deviations s_j, ascending, steps a_j, and the bound ``error`` on |sum_j a_j g_r(y_j) - 1|."""

    deviations: Floats
    steps: Floats
    error: float


def atoms_between(inner: float, outer: float) -> MixtureAtoms:
    """Return atoms of relative error at most ``error`` for all radii from ``inner`` to ``outer``.

    The error is computed from the resulting atoms. The constants of this module affect its size, never its validity.
    """
    least, largest = _window(inner, outer)
    step = _step(outer)
    width = 2 * math.log(largest / least) + step
    period = min(width, OCTAVE)
    base, phases = _nodes(least, period, math.ceil(period / step))
    waves = np.exp(2j * np.pi * (np.outer(np.arange(len(base)), phases) % 1.0))
    steps = _corrected(waves, period)
    deviations = _repeated(base, math.ceil(width / period), largest)
    error = _quadrature_error(outer, waves, steps, period)
    error += _crowding(steps, phases, period) * _omitted(inner, outer, deviations)
    return MixtureAtoms(deviations, np.resize(steps, len(deviations)), raised(error * SAFETY))


def _window(inner: float, outer: float) -> tuple[float, float]:
    """Return the smallest and the largest deviation: both solve |s - r/s| = z at their end, for small erfc(z/sqrt 2).

    For one or two dimensions the inner radius is so small that the factor s of the other bound is smaller.
    """
    z = math.sqrt(2) * float(erfcinv(OMITTED))
    least = 2 * inner / (z + math.sqrt(z * z + 4 * inner))
    return max(least, OMITTED), (z + math.sqrt(z * z + 4 * outer)) / 2


def _step(outer: float) -> float:
    """Return the step h at which the kernel at frequency pi/h equals `KERNEL`."""

    def decay(angle: Floats) -> Floats:
        return -_log_kernel(outer, angle, _frequency(outer, angle))

    angle = _angle(decay, np.array([-math.log(KERNEL)]))
    return math.pi / float(_frequency(outer, angle)[0])


def _nodes(least: float, period: float, count: int) -> tuple[Floats, Floats]:
    """Return the deviations of one period, rounded to `DEVIATION_BITS`, and their phases from 0 to 1."""
    mantissas, exponents = np.frexp(least * np.exp(np.arange(count) * (period / count / 2)))
    whole = np.rint(np.ldexp(mantissas, DEVIATION_BITS))
    base = np.asarray(np.ldexp(whole, exponents - DEVIATION_BITS), dtype=np.float64)
    return base, 2 * np.log1p((base - base[0]) / base[0]) / period


def _repeated(base: Floats, octaves: int, largest: float) -> Floats:
    """Repeat the nodes of the first octave in every further one up to ``largest``; doubling is exact."""
    deviations = np.concatenate([base * 2.0**octave for octave in range(octaves)])
    return deviations[: int(np.searchsorted(deviations, largest)) + 1]


def _corrected(waves: Waves, period: float) -> Floats:
    """Return steps for which the low harmonics sum_j a_j e^(2 pi i n phase_j), 0 < |n| < count/2, vanish.

    The waves are orthogonal up to the rounding of the nodes, so one pass leaves about the square of the rounding.
    """
    count = len(waves)
    low = waves[: (count + 1) // 2]
    steps = np.full(count, period / count)
    for _ in range(PASSES):
        defects = low @ steps
        defects[0] = (defects[0] - period) / 2  # n and -n are both counted below, 0 is one harmonic
        steps = steps - 2 * (defects.conj() @ low).real / count
    return steps


def _quadrature_error(outer: float, waves: Waves, steps: Floats, period: float) -> float:
    """Return a bound on the error of the infinite periodic sum at any radius up to ``outer`` (section "Quadrature").

    |A_0/L - 1| + 2 sum_n |A_n|/L kernel(2 pi n/L); a geometric series bounds the harmonics beyond the last one.
    """
    count = len(waves)
    n = np.arange(1, count + 1)
    frequencies: Floats = 2 * np.pi / period * n.astype(np.float64)
    angles = _angle(lambda angle: _frequency(outer, angle), frequencies)
    kernel = np.exp(_log_kernel(outer, angles, frequencies))
    # A phase has 6 rounding errors, its product with n one more (2 pi n * 7 < 48 n), a sum of `count` terms `count`.
    slack = (48.0 * np.arange(count) + count + 16) * ULP
    defects = waves @ steps / period
    defects[0] -= 1
    size = np.abs(defects) + slack
    beyond = kernel[-1] / -np.expm1(-2 * np.pi * angles[-1] / period)
    return float(size[0] + 2 * size[1:] @ kernel[:-1] + 2 * (1 + size[0]) * beyond)


def _crowding(steps: Floats, phases: Floats, period: float) -> float:
    """Return the largest step in units of the smallest node distance; 1 up to rounding."""
    return float(steps.max() / (np.diff(phases, append=1.0).min() * period))


def _omitted(inner: float, outer: float, deviations: Floats) -> float:
    """Return the integrals of g beyond the window, largest at the ends of the radii (section "Omitted atoms")."""
    least, largest = float(deviations[0]), float(deviations[-1])
    x = max(0.0, inner / least - least)
    small = min(math.erfc(x / math.sqrt(2)) / 2, math.sqrt(2 / math.pi) * least * math.exp(-x * x / 2))
    return small + math.erfc((largest - outer / largest) / math.sqrt(2))


def _log_kernel(outer: float, angle: Floats, frequency: Floats) -> Floats:
    """Return log (cos t)^(-1/2) e^(r (1 - cos t) - w t), a bound on the transform of g_r at w for every t."""
    return np.asarray(2 * outer * np.sin(angle / 2) ** 2 - np.log(np.cos(angle)) / 2 - frequency * angle)


def _frequency(outer: float, angle: Floats) -> Floats:
    """Return the frequency for which ``angle`` gives the smallest kernel."""
    return np.asarray(np.tan(angle) / 2 + outer * np.sin(angle))


def _angle(rising: Callable[[Floats], Floats], levels: Floats) -> Floats:
    """Return angles in (0, pi/2) where ``rising`` is close to the given levels; every angle gives a valid bound."""
    low, high = np.zeros_like(levels), np.full_like(levels, math.pi / 2)
    for _ in range(60):
        middle = (low + high) / 2
        below = rising(middle) < levels
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low
