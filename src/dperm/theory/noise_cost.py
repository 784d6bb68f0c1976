# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What noise costs in empirical risk: inequalities that hold for every draw (T56), and the length of a draw (T58)."""

import math

from dperm import checks
from dperm.privacy.rounding import raised
from dperm.theory.results import constant


def output_noise_cost(noise_norm: float, *, n: int, regularization: float, smoothness: float) -> float:
    """How much a perturbed minimiser loses: a bound on F(theta + eta) - F(theta), rounded up.

    Theorem T56 (mean scale, lambda = Lambda/n).
        F = (1/n) sum l_i + (lambda/2) ||theta||^2 with c-smooth losses, theta its minimiser, eta any vector:
            F(theta + eta) - F(theta) <= ((c + lambda)/2) ||eta||^2.

    ``regularization`` is Lambda, in sum scale; ``noise_norm`` is ||eta||.
    """
    length, n = checks.between("noise_norm", noise_norm, 0.0, 1e60), checks.count("n", n)
    strength = constant("regularization", regularization) / n
    return raised((constant("smoothness", smoothness) + strength) / 2 * length * length, 64)


def objective_noise_cost(noise_norm: float, *, n: int, regularization: float) -> float:
    """How much the minimiser of a perturbed objective loses: a bound on F(theta_b) - F(theta), rounded up.

    Theorem T56 (mean scale, lambda = Lambda/n).
        theta_b minimises F(theta) + b'theta/n, F lambda-strongly convex:
            F(theta_b) - F(theta) <= ||b||^2/(2 lambda n^2) = ||b||^2/(2 Lambda n).

    Attained by linear losses. Erratum E32: with ||b|| <= (2/eps') d log(d/p) this is 2 d^2 log^2(d/p)/(lambda n^2
    eps'^2); the printed lemma has 8 for 2, and eps for the smaller eps' of T36a.

    ``regularization`` is Lambda, in sum scale; ``noise_norm`` is ||b||, where b'theta is added to the sum.
    """
    length, n = checks.between("noise_norm", noise_norm, 0.0, 1e60), checks.count("n", n)
    return raised(length * length / (2 * n * constant("regularization", regularization)), 64)


def gaussian_norm_bound(dim: int, sigma: float, *, failure: float) -> float:
    """A length that N(0, sigma^2 I_d) exceeds with probability at most ``failure``, rounded up.

    Statement T58: sigma (sqrt(d) + sqrt(2 ln(1/p))), because the norm is 1-Lipschitz with mean at most sigma sqrt(d).

    Errata E18, E23: Bellet has d log(d/p) here, which belongs to gamma-norm noise; where the square of this is needed,
    Wang has sigma sqrt(d) sqrt(2 log(1/p)).
    """
    dim, sigma = checks.count("dim", dim), constant("sigma", sigma)
    share = checks.positive_delta("failure", failure)
    return raised(sigma * (math.sqrt(dim) + math.sqrt(-2 * math.log(share))), 64)
