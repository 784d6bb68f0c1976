# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Measures on a lattice, tilted: the P-mass at loss l is e^{log_scale} w e^{-c l}, with weights w that sum to 1."""

import math
from dataclasses import dataclass

import numpy as np

from dperm.accounting.laws.law import Array


@dataclass(frozen=True)
class Measure:
    """Weights at the losses start + spacing * j; ``sag`` is how far every loss was moved up (lower laws only)."""

    start: float
    spacing: float
    weights: Array
    log_scale: float

    def mean(self) -> float:
        """Mean of loss - start."""
        return float(self.weights @ np.arange(len(self.weights))) * self.spacing

    def log_mean_exp(self, t: float) -> float:
        """Log of sum w e^{t (loss - start)}."""
        e = np.arange(len(self.weights)) * (t * self.spacing)
        top = float(e[-1]) if t > 0 else 0.0
        return top + math.log(float(self.weights @ np.exp(e - top)))


def tilt(start: float, spacing: float, masses: Array, c: float) -> Measure:
    """The measure with these P-masses."""
    with np.errstate(divide="ignore"):
        e = np.log(masses) + c * spacing * np.arange(len(masses))
    top = float(e.max())
    weights = np.exp(e - top)
    total = float(weights.sum())
    return Measure(start, spacing, weights / total, top + math.log(total) + c * start)
