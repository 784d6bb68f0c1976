# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Published calibrations, for comparison and teaching; no method of dperm uses them.

Each is rounded to nearest, as in a computation by hand.
"""

import math
from typing import NoReturn

from dperm import checks
from dperm.checks import shown
from dperm.errors import AssumptionError
from dperm.privacy import Adjacency
from dperm.privacy.gaussian_profile import mu_for
from dperm.sensitivity.arguments import records_exchanged


def nips08_algorithm_2(*arguments: object) -> NoReturn:
    """Refuse objective perturbation of Chaudhuri & Monteleoni 2008 as printed, which is not private (T35, E3).

    Its proof compares the densities of b and omits the Jacobian determinant of the map from b to theta. For D one
    record x = 1 and D' one record x = 0, Lambda = n lambda = .1 and epsilon = .1, the privacy loss is 1.2285, twelve
    times the claim.

    Raises
    ------
    AssumptionError
        Always.
    """
    raise AssumptionError(
        "Algorithm 2 of Chaudhuri & Monteleoni 2008 is not epsilon-DP as printed: the determinant is missing from its "
        "proof (T35). With Lambda = 0.1 and epsilon = 0.1 claimed, the privacy loss is at least 1.2285. Use "
        'method="objective", which charges log(1 + beta/Lambda) for it (T36a), or jmlr11 for the published correction.'
    )


def jmlr11(n: int, regularization_mean: float, epsilon: float, curvature: float) -> tuple[float, float]:
    """Return (epsilon', Delta) of Algorithm 2 of Chaudhuri, Monteleoni & Sarwate 2011: replace-one, mean scale.

    Theorem T36.
        epsilon' = epsilon - log(1 + 2c/(n lambda) + c^2/(n lambda)^2) and Delta = 0 if this is positive; otherwise
        Delta = c/(n (e^{epsilon/4} - 1)) - lambda and epsilon' = epsilon/2. With b of density ~ e^{-epsilon' ||b||/2}
        and (Delta/2) ||theta||^2 added to the mean objective, the minimiser is epsilon-DP for ||x|| <= 1.

    T36a needs half of this logarithm and covers add/remove. dperm uses T36a.

    Parameters
    ----------
    n
        Number of records.
    regularization_mean
        lambda = Lambda/n.
    epsilon
        Target of the guarantee.
    curvature
        c >= f'', 1/4 for the logistic loss.
    """
    n, lam = checks.count("n", n), checks.positive("regularization_mean", regularization_mean)
    epsilon, c = checks.positive("epsilon", epsilon), checks.positive("curvature", curvature)
    left = epsilon - 2 * math.log1p(c / (n * lam))
    if left > 0:
        return left, 0.0
    return epsilon / 2, c / (n * math.expm1(epsilon / 4)) - lam


def kifer_smith_thakurta(
    epsilon: float, delta: float, *, lipschitz: float, smoothness: float, adjacency: Adjacency | str = "add_remove"
) -> tuple[float, float]:
    """Return (Lambda, sigma) of Kifer, Smith & Thakurta 2012 for linear models, in sum scale.

    Theorem T38.
        With Lambda >= 2 beta/epsilon and b ~ N(0, sigma^2 I), sigma^2 = L^2 (8 ln(2/delta) + 4 epsilon)/epsilon^2, the
        perturbed minimiser is (epsilon, delta)-DP under add/remove; under replace-one with 2L for L.

    At epsilon = 1, delta = 1e-5, beta = 1/4 and L = 1 sigma is 10.082, where T40 needs 6.000.
    """
    epsilon, delta = checks.positive("epsilon", epsilon), checks.positive_delta("delta", delta)
    moved = checks.positive("lipschitz", lipschitz) * records_exchanged(adjacency)
    sigma = moved * math.sqrt(8 * math.log(2 / delta) + 4 * epsilon) / epsilon
    return 2 * checks.positive("smoothness", smoothness) / epsilon, sigma


def dpgd_sigma(epsilon: float, delta: float, *, steps: int, n: int, lipschitz: float) -> float:
    """Return the noise of gradient descent on the mean gradient, replace-one: 2 L sqrt(T) / (n mu(epsilon, delta)).

    Theorem T45. Every step has sensitivity 2L/n, so T of them are exactly mu-GDP with mu = 2 L sqrt(T)/(n sigma).
    """
    steps, n = checks.count("steps", steps), checks.count("n", n)
    return 2 * checks.positive("lipschitz", lipschitz) * math.sqrt(steps) / (n * mu_for(epsilon, delta))


def dpgd_slide_sigma(epsilon: float, delta: float, *, steps: int, n: int, lipschitz: float) -> float:
    """Return the lecture's noise by advanced composition: 8 L sqrt(T) log(1.25 (T + 1)/delta) / (n epsilon).

    Theorem T45. Valid for epsilon < 1 if each step has delta/(T + 1), and so epsilon/sqrt(8 T ln((T + 1)/delta)). The
    slide has ln(1/delta) there (E12). For n = 1e4, T = 100, epsilon = .5, delta = 1e-5 it is 18.6 times `dpgd_sigma`.
    """
    epsilon, delta = checks.positive("epsilon", epsilon), checks.positive_delta("delta", delta)
    steps, n = checks.count("steps", steps), checks.count("n", n)
    if epsilon >= 1:
        raise AssumptionError(
            f"the lecture's formula (T45) rests on theorems for epsilon < 1, got {shown(epsilon)}. Use dpgd_sigma, "
            f"which is exact for every epsilon."
        )
    logs = math.log(1.25 * (steps + 1) / delta)
    return 8 * checks.positive("lipschitz", lipschitz) * math.sqrt(steps) * logs / (epsilon * n)
