# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Connect-the-dots: a lattice law that dominates a law (T28).

A cell [a, a + h] of losses with masses (P, Q) sends x = (P - e^a Q)/(1 - e^{-h}) of its P-mass to a + h and P - x to
a: both P and Q are preserved. At the lattice points H_alpha is unchanged, between them the new profile is the chord
of the convex old one: H_alpha rises for every alpha, so the composition does (T23). The moment E e^{cL} of mass in
the cell rises by at most c(c+1) h^2/8, relative. The last cell may be infinite: [a, infinity) sends e^a Q to a and the
rest of P to +infinity.
"""

import math

import numpy as np

from dperm.accounting.lattice.step import StepLaw
from dperm.accounting.laws.law import Array


def high_share(p: Array, q: Array, low: Array, width: Array | float) -> Array:
    """P-mass that each cell sends to its upper end; all of it where Q has underflowed."""
    scaled = np.where(q > 0, q * np.exp(np.minimum(low, 690.0)), 0.0)
    return np.clip((p - scaled) / -np.expm1(-width), 0.0, p)


def split_far(law: StepLaw, last: float, high: float) -> tuple[float, float]:
    """P-mass that the density between ``last`` and ``high`` sends to ``last`` and to +infinity."""
    if not high > last:
        return 0.0, 0.0
    p, q = (float(part[0]) for part in law.masses(np.array([last, high])))
    kept = min(p, q * math.exp(last)) if last < 690 else 0.0
    return kept, p - kept
