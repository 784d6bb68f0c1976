# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Interface of a step for the lattice engine: less than a whole `LossLaw`."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dperm.accounting.laws.law import Array

BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.int64]


class StepLaw(Protocol):
    """Law of the privacy loss of one step under P, given that it is finite. Every `LossLaw` is one."""

    def support(self, tail: float) -> tuple[float, float]:
        """[low, high] with P(L > high) <= tail and P(L < low) <= tail (atoms inside)."""

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Return (loss, P-mass) of every atom."""

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """P- and Q-mass of the continuous part between consecutive (increasing) borders of L."""
