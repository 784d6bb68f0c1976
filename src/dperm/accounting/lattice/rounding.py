# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The floating-point allowances of the lattice engine; everything else in the package is an inequality.

ULP is half the distance from 1 to the next double. The allowances are models, several times what is expected:

* a cell's mass and a table of exponentials are right to MASS, relative;
* the loss at which a step's mass sits is right to PLACE times (1 + largest loss): masses of a cell of width h that
  are off by u send a share u/h of themselves one cell too far, which is a shift of the loss by u;
* every entry of a Fourier transform of length n is off by at most STAGE log2(n) times the sum of the moduli of its
  inputs: Cooley-Tukey with radices 2, 3, 5, 7, 11 adds them along trees of that depth, each node with a rounded
  complex product and sum;
* a complex product is off by PRODUCT, relative.
"""

import math

from dperm.privacy.rounding import ULP

MASS = 256 * ULP
PLACE = 64 * ULP
STAGE = 8 * ULP
PRODUCT = 4 * ULP
UNDERFLOW = 1e-290  # a mass below has lost digits, or all of them


def transform_error(length: int) -> float:
    """Absolute error of an entry of a transform whose inputs' moduli sum to 1."""
    return STAGE * math.log2(length + 1)


def bounded_exp(exponent: float) -> float:
    """e^exponent, infinite rather than an overflow error."""
    return math.exp(exponent) if exponent < 709 else math.inf
