# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The Mills ratio M(z) = int_0^inf e^{-zu - u^2/2} du = Phi(-z)/phi(z), real and complex.

For Re z >= 0: |M(z)| <= M(Re z), and |M(z)| <= 2/|z| (by parts once: 1 at the end, and the integral of u e^{-u^2/2}).
-M'(z) = int_0^inf u e^{-zu - u^2/2} du, so |M'(z)| <= 1 there. Moment generating functions made of it are sums that
cancel, so their logarithms are taken with the error of the sum.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import wofz

from dperm.accounting.laws.law import Array, ComplexArray
from dperm.privacy.rounding import ULP

SQRT_HALF_PI = math.sqrt(math.pi / 2)
LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
FADDEEVA = 1e-12
"""Relative accuracy of `wofz`, which its authors state as 1e-13 in either part, with a margin."""


def complex_mills(z: ComplexArray) -> ComplexArray:
    """M at Re z >= 0, right to FADDEEVA, relative."""
    return np.asarray(SQRT_HALF_PI * wofz(1j * math.sqrt(0.5) * z), dtype=np.complex128)


Term = tuple[ComplexArray, ComplexArray, Array]
"""factor, exponent, error of the factor: stands for factor e^exponent."""


def log_sum(terms: Sequence[Term]) -> tuple[ComplexArray, Array]:
    """Log of the sum of terms, and a bound on its error: rounding of every exponent, and of the factors."""
    top = np.max([exponent.real for _, exponent, _ in terms], axis=0)
    total, error = np.zeros(len(top), complex), np.zeros(len(top))
    for factor, exponent, wrong in terms:
        size = np.exp(exponent.real - top)
        total = total + factor * np.exp(exponent - top)
        error = error + size * (wrong + ULP * np.abs(factor) * (16 + 8 * np.abs(exponent)))
    return log_with_error(top, total, error)


def log_with_error(log_scale: Array, total: ComplexArray, error: Array) -> tuple[ComplexArray, Array]:
    """Log of ``total``, known up to ``error``, times a scale; and its error, the rounding of the scale included.

    A total that its own error hides is replaced by four times that error: a logarithm of nothing would claim too much.
    """
    hidden = np.abs(total) < 4 * error
    safe = np.where(hidden, 4 * error + 1e-300, total)
    relative = (np.where(hidden, np.abs(total - safe), 0.0) + error) / np.abs(safe)
    return np.asarray(log_scale + np.log(safe), dtype=np.complex128), np.asarray(
        1.5 * relative + 8 * ULP * (1 + np.abs(log_scale))
    )
