# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One sampled Gaussian step on the x-line: weight, loss, and both continued off the real axis.

With v = sigma^2, n(x) the N(0, v) density and l(x) = log(1 - q + q e^{(2x-1)/(2v)}), the moment generating function of
the loss is an integral of f(x; s) over the real line, analytic for |Im x| < pi v:

=========  ================  ===================================
direction  loss L(x)         f(x; s)
=========  ================  ===================================
remove     l(x)              n e^{(s+1) l(x)} window(x)
add        -l(x)             n e^{-s l(x)} window(x)
replace    l(x) - l(-x)      n e^{(s+1) l(x) - s l(-x)} window(x)
=========  ================  ===================================

The window is a product of normal distribution functions that restricts a step smoothly: `edge` cuts the far right (its
mass is accounted in closed form), `split` keeps one side of a border (near.py).
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_ndtr

from dperm.accounting.laws.law import Array
from dperm.accounting.laws.sampling import sampled_loss
from dperm.accounting.laws.subsampled_gaussian import SubsampledGaussianLoss
from dperm.privacy.adjacency import Direction

LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class SmoothWindow:
    """Phi(sign (x - place) / width): a smooth border at ``place``, open to the right for sign = +1."""

    place: float
    width: float
    sign: float

    def log(self, x: Array) -> Array:
        """Its logarithm at real x."""
        return np.asarray(log_ndtr(self.sign * (x - self.place) / self.width))

    def log_bound(self, x: Array, y: Array) -> Array:
        """Bound on log |Phi| at x + iy: min(e^{b^2/2} Phi(u), Phi(u) + n(u) b e^{b^2/2}), u real, b imaginary part.

        Both from Phi(u + ib) = Phi(u) + i int_0^b n(u + ir) dr and |n(z + ib)| = n(z) e^{b^2/2}.
        """
        u, b = self.sign * (x - self.place) / self.width, np.abs(y) / self.width
        log_phi = log_ndtr(u)
        grown = log_phi + b * b / 2
        second = np.logaddexp(log_phi, -u * u / 2 - LOG_SQRT_2PI + np.log(np.maximum(b, 1e-300)) + b * b / 2)
        return np.asarray(np.minimum(grown, second))


@dataclass(frozen=True)
class ContourStep:
    """A law with its windows and the range [low, high] of x on which it is summed.

    ``stopped``: the measure itself ends at ``high``, and what lies beyond is accounted elsewhere.
    """

    law: SubsampledGaussianLoss
    windows: tuple[SmoothWindow, ...]
    low: float
    high: float
    stopped: bool = False

    @property
    def v(self) -> float:
        """Noise variance."""
        return self.law.sigma**2

    @property
    def finest(self) -> float:
        """Smallest length on which the weight varies."""
        return min([self.law.sigma / 2, self.v] + [window.width / 2 for window in self.windows])

    def windowed(self, window: SmoothWindow, low: float, high: float) -> "ContourStep":
        """The same step with one more border, summed over the part of its range inside [low, high]."""
        return replace(self, windows=(*self.windows, window), low=max(low, self.low), high=min(high, self.high))

    def loss(self, x: Array) -> Array:
        """L(x)."""
        return self.law.loss(x)

    def log_weight(self, x: Array, loss: Array) -> Array:
        """Log of f(x; 0), the P-density times the windows; ``loss`` = L(x) saves a logarithm."""
        out = -x * x / (2 * self.v) - math.log(self.law.sigma) - LOG_SQRT_2PI
        if self.law.direction is Direction.REMOVE:
            out = out + loss
        elif self.law.direction is Direction.REPLACE:
            out = out + sampled_loss((2 * x - 1) / (2 * self.v), self.law.rate)
        for window in self.windows:
            out = out + window.log(x)
        return np.asarray(out)

    def slope(self, x: Array) -> tuple[Array, Array]:
        """V |L'(x)| and v^2 |L'(x)|', from the posterior p(x) = v l'(x) that the record was in the sample."""
        p = posterior(x, self.law.rate, self.v)
        if self.law.direction is not Direction.REPLACE:
            return p, p * (1 - p)
        mirror = posterior(-x, self.law.rate, self.v)
        return p + mirror, p * (1 - p) - mirror * (1 - mirror)

    def off_axis(self, x: Array, y: Array, c: float) -> tuple[Array, Array]:
        """(bound on log |f(x+iy; c)|, Im L(x+iy) >= 0) for 0 <= y < pi v; the add direction is read at x - iy."""
        log_abs = -(x * x - y * y) / (2 * self.v) - math.log(self.law.sigma) - LOG_SQRT_2PI
        for window in self.windows:
            log_abs = log_abs + window.log_bound(x, y)
        real, angle = off_axis_ratio(x, y, self.law.rate, self.v)
        if self.law.direction is Direction.ADD:
            return log_abs - c * real, angle
        if self.law.direction is Direction.REMOVE:
            return log_abs + (c + 1) * real, angle
        mirror, mirror_angle = off_axis_ratio(-x, y, self.law.rate, self.v)
        return log_abs + (c + 1) * real - c * mirror, angle + mirror_angle


def off_axis_ratio(x: Array, y: Array, rate: float, v: float) -> tuple[Array, Array]:
    """Real and imaginary part of l(x + iy), in real arithmetic (y may have more rows than x)."""
    a = (2 * x - 1) / (2 * v)
    m = np.maximum(a, 0.0)
    rest, part = (1 - rate) * np.exp(-m), rate * np.exp(a - m)
    re, im = rest + part * np.cos(y / v), part * np.sin(y / v)
    return m + 0.5 * np.log(re * re + im * im), np.arctan2(im, re)


def posterior(x: Array, rate: float, v: float) -> Array:
    """p(x) = q e^a / (1 - q + q e^a), a = (2x-1)/(2v)."""
    a = (2 * x - 1) / (2 * v) + math.log(rate)
    return np.asarray(np.exp(a - np.logaddexp(a, math.log1p(-rate))))
