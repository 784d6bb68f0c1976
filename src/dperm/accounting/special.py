# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Numerically stable special functions shared by the accountant's modules."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def log_kappa(c: Array) -> Array:
    """Return log kappa(c), the Chernoff constant max over u >= 0 of (1 - e^-u) e^{-cu} = c^c/(1+c)^{c+1}, c > 0.

    Written with log1p: c log c - (c+1) log(1+c) loses all digits for large c.
    """
    return np.asarray(-c * np.log1p(1 / c) - np.log1p(c))


def log_expm1(x: Array) -> Array:
    """Return log(e^x - 1). At x = 0 the result is a very large negative number instead of -infinity.

    Parameters
    ----------
    x
        Numbers >= 0.

    Returns
    -------
    ndarray
        One logarithm per entry.
    """
    return np.asarray(x + np.log(np.maximum(-np.expm1(-x), 1e-320)))
