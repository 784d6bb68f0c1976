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
        live = np.flatnonzero(self.weights)
        e = np.log(self.weights[live]) + (other - c) * self.spacing * live
        top = float(e.max())
        return self.log_scale + (other - c) * self.start + top + math.log(float(np.exp(e - top).sum()))


def tilt(start: float, spacing: float, masses: Array, c: float) -> Measure:
    """The measure with these P-masses. Exponents are taken from the heaviest point, so that they round well there."""
    steps = np.arange(len(masses))
    with np.errstate(divide="ignore"):
        logs = np.log(masses)
    top = int((logs + c * spacing * steps).argmax())
    weights = np.exp(logs - logs[top] + c * spacing * (steps - top))
    total = float(weights.sum())
    return Measure(start, spacing, weights / total, float(logs[top]) + c * (start + spacing * top) + math.log(total))
