# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The lattice engine: the Fourier accountant (T28) from both sides, for one direction of a composition.

The composition's profile delta(eps) = E_P (1 - e^{eps - L})_+ (T2, T15) is bracketed by those of two compositions whose
losses lie on a lattice:

* above: connect-the-dots (upper.py) raises H_alpha of every step for every alpha, so it raises the
  composition's (T23). What is cut off at the top is kept as mass at infinity.
* below: merged cells (lower.py, collapse.py) are post-processing (T3) of every step. What is cut off at the top is
  one event F, which adds at least P(F) - e^eps Q(F).

Both cost second order in the spacing. A lattice fits the atoms of its law; laws with atoms at incommensurable
distances are composed on lattices of their own and moved to a common one, once (own.py, regrid.py). Sums of lattice
losses are convolution powers. They are taken by fast Fourier transform on a circle (spectrum.py) after tilting the law
by e^{cL}, which brings the losses that decide delta(eps) to the front, so that delta = 1e-18 is read as well as
delta = 0.1 (measure.py, readout.py). coarse.py and plan.py choose c, the circle and the spacings; engine.py puts one
refinement together, solve.py inverts the profile, engine.py repeats until the bracket is narrow.

What is proved: the two inequalities of the steps, their composition, the aliases of the circle, the windows of own
lattices, the Chernoff bound, and that every end returned satisfies its inequality (it is evaluated there). They hold
for every c, spacing, window and border, so the search for good ones needs no proof.
What is allowance: floating-point rounding, by the constants of rounding.py, and the accuracy of the laws' masses.
"""

from dperm.accounting.lattice.engine import delta_bracket, epsilon_bracket

__all__ = ["delta_bracket", "epsilon_bracket"]
