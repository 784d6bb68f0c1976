# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Measures on a lattice, tilted: the P-mass at loss l is e^{log_scale} w e^{-c l}, with weights w that sum to 1."""

import math
from dataclasses import dataclass

import numpy as np

from dperm.accounting.laws.law import Array


@dataclass(frozen=True)
class Measure:
    """Weights at the losses start + spacing * j."""

    start: float
    spacing: float
    weights: Array
    log_scale: float

    def log_mgf(self, c: float, other: float) -> float:
        """Log E e^{other L} of the law that was tilted by c."""
        e = np.arange(len(self.weights)) * ((other - c) * self.spacing)
        top = max(float(e[-1]), 0.0)
        mean = float(self.weights @ np.exp(e - top))
        return self.log_scale + (other - c) * self.start + top + math.log(mean)


def tilt(start: float, spacing: float, masses: Array, c: float) -> Measure:
    """The measure with these P-masses."""
    with np.errstate(divide="ignore"):
        e = np.log(masses) + c * spacing * np.arange(len(masses))
    top = float(e.max())
    weights = np.exp(e - top)
    total = float(weights.sum())
    return Measure(start, spacing, weights / total, top + math.log(total) + c * start)
