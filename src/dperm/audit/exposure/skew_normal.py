# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The skew-normal law, with a logarithm of its distribution function that does not underflow."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, logsumexp

from dperm.noise.arrays import Floats

NODES = 4001
NEAREST = 1e-12
"""What is left out next to the end of the integral."""


@dataclass(frozen=True)
class SkewNormal:
    """Density (2/s) phi(z) Phi(a z), z = (x - location)/s."""

    shape: float
    location: float
    scale: float

    def log_cdf(self, x: float) -> float:
        """Log of the probability of values up to x.

        The integral of 2 phi(t) Phi(a t) over t = z - e^u, by the trapezoidal rule in u and in logarithms: scipy's own
        is -inf from some 30 deviations on, where well-remembered secrets are.
        """
        z = (x - self.location) / self.scale
        u = np.linspace(math.log(NEAREST), math.log(50.0 + abs(z)), NODES)
        t = z - np.exp(u)
        logs = math.log(2) - t * t / 2 - math.log(2 * math.pi) / 2 + log_ndtr(self.shape * t) + u
        return min(float(logsumexp(logs) + math.log(u[1] - u[0])), 0.0)


def fitted(values: Floats) -> tuple[SkewNormal, float]:
    """The law of largest likelihood, and the Kolmogorov-Smirnov p-value of these values under it."""
    from scipy import stats

    shape, location, scale = stats.skewnorm.fit(values)
    p_value = stats.kstest(values, stats.skewnorm(shape, location, scale).cdf).pvalue
    return SkewNormal(float(shape), float(location), float(scale)), float(p_value)
