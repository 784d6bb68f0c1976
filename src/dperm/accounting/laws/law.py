# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Interface between a privacy loss and the engines.

One ordered pair (P, Q) of output laws has the privacy loss L = log(dP/dQ) under P (T2). A composition adds independent
losses (T15, T23), so an accountant needs only the law of one step's L. It uses three views: the exact profile of a
single step, masses between borders of L (lattice engine), and the moment generating function E_P e^{sL} (contour
engine).
"""

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dperm.accounting.laws.subsampled_gaussian import SubsampledGaussianLoss

Array = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]


class Parts(Protocol):
    """Visitor collecting laws by kind for an engine, so no engine inspects types."""

    @property
    def tail(self) -> float:
        """P-mass per step a law may cut off at the top; the engine adds it to delta."""

    def gaussian(self, variance: float) -> None:
        """Add a loss N(variance/2, variance)."""

    def smooth(self, law: "SubsampledGaussianLoss", count: int) -> None:
        """Add ``count`` steps of a loss that is an analytic function of Gaussian noise."""

    def closed(self, law: "ClosedLaw", count: int) -> None:
        """Add ``count`` steps of a loss whose moment generating function is computed directly."""


class LossLaw(Protocol):
    """Privacy loss distribution of one ordered pair, under P. Frozen and hashable: equal ones are merged."""

    @property
    def infinity(self) -> float:
        """P-mass at L = +infinity; all other members describe the law given L < infinity."""

    @property
    def ceiling(self) -> float:
        """Largest finite loss (its supremum), rounded up: the pure epsilon of one step, given L < infinity."""

    @property
    def resolution(self) -> float:
        """Relative accuracy of its losses: where it ends, a profile can change by all its size within this distance."""

    def delta(self, epsilon: float) -> float:
        """Exact profile of one step, E_P(1 - e^{epsilon - L})_+, epsilon >= 0.

        Right to about 1e-12 relative at an epsilon that is off by at most ``resolution``, relative to the ceiling.
        """

    def log_delta(self, epsilon: float) -> float:
        """Logarithm of the profile of one step given L < infinity, with the same accuracy.

        It does not underflow: -infinity means that no finite loss exceeds ``epsilon``.
        """

    def support(self, tail: float) -> tuple[float, float]:
        """[low, high] with P(L > high) <= tail and P(L < low) <= tail (atoms inside)."""

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Return (loss, P-mass) of every atom."""

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """P- and Q-mass of the continuous part between consecutive (increasing) borders of L."""

    def place(self, count: int, parts: Parts) -> None:
        """Call the one method of ``parts`` matching the kind of this law."""


class ClosedLaw(LossLaw, Protocol):
    """A law, usually with atoms, whose moment generating function is computed directly on the complex line."""

    def log_mgf(self, s: ComplexArray) -> tuple[ComplexArray, Array]:
        """Log of E_P e^{sL} on a line s = c + ikd, k = 0, 1, ... (any branch), and a bound on its absolute error."""

    def size(self, c: float, t: float) -> int:
        """Number of terms that `log_mgf` sums at every point with Re s = c, |Im s| <= t."""

    def log_mgf_real(self, c: Array) -> Array:
        """Log of E_P e^{cL} for real c (also negative), to search accuracy 1e-9."""

    def modulus(self, c: float, t: float) -> float:
        """Bound on sup over t' >= t of |E_P e^{(c + it')L}| / E_P e^{cL}."""
