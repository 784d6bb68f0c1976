# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sums over the x-line at real c, to search accuracy: where to put the contour, not what it yields."""

import math
from dataclasses import dataclass

import numpy as np

from dperm.accounting.contour.step import ContourStep
from dperm.accounting.laws.law import Array


@dataclass(frozen=True)
class StepTable:
    """Losses and log-weights of one step on fixed nodes."""

    loss: Array
    log_weight: Array
    stopped: bool

    @classmethod
    def of(cls, step: ContourStep, fineness: float = 1.0) -> "StepTable":
        """Nodes fine enough for about eight digits (``fineness`` times more on demand)."""
        h = step.finest / fineness
        x = np.append(np.arange(step.low, step.high, h), step.high)
        loss = step.loss(x)
        return cls(loss, step.log_weight(x, loss) + math.log(h), step.stopped)

    def log_mass(self, c: Array, *, checked: bool = True) -> Array:
        """Log of E e^{cL} over the windowed step; infinity where the nodes do not reach far enough for this c."""
        top, weight = self._tilted(c)
        mass = top + np.log(weight.sum(axis=1))
        return np.asarray(np.where(self._open(weight), np.inf, mass) if checked else mass)

    def cumulants(self, c: Array) -> tuple[Array, Array, Array]:
        """Log E e^{cL} and its first two derivatives."""
        top, weight = self._tilted(c)
        mass = weight.sum(axis=1)
        mean = (weight @ self.loss) / mass
        spread = (weight @ (self.loss * self.loss)) / mass - mean * mean
        return np.where(self._open(weight), np.inf, top + np.log(mass)), mean, np.maximum(spread, 1e-300)

    def _tilted(self, c: Array) -> tuple[Array, Array]:
        exponent = np.multiply.outer(c, self.loss)
        exponent += self.log_weight
        top = exponent.max(axis=1)
        exponent -= top[:, None]
        return top, np.exp(exponent)

    def _open(self, weight: Array) -> Array:
        """True where the weight has not fallen by e^-20 at the ends of the nodes (at a stop it need not)."""
        right = 0.0 if self.stopped else weight[:, -1]
        return np.asarray(np.maximum(weight[:, 0], right) > 2e-9)
