# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
r"""One sample of a posterior: how private it is, and how much the likelihood has to be tempered (T49 to T52a).

The density is proportional to exp(-tau sum_i l_i(theta) - r(theta)), l_i = -log p(x_i; theta): ``temperature`` is tau,
the power of the likelihood, and tau = 1 is the posterior itself (erratum E21: the source prints exp(-tau sum log p)).
Temperatures are rounded down, mu, delta and inflation up.
"""

import math
from fractions import Fraction

from dperm import checks
from dperm.errors import AdjacencyError, AssumptionError
from dperm.privacy import Adjacency
from dperm.privacy.rounding import lowered, raised, round_down, round_up
from dperm.theory.results import constant, privacy

INEXACT_SLOPE = Fraction(13, 5)
LARGEST_INEXACTNESS = 1e-2


def posterior_mu(temperature: float, lipschitz: float = 1.0, *, strength: float, adjacency: Adjacency | str) -> float:
    """The mu for which one sample of a strongly log-concave posterior is mu-GDP.

    Theorem T50 [Gopi, Lee & Liu 2022].
        l_i convex and L-Lipschitz, r m-strongly convex: mu = 2 tau L/sqrt(m) under replace-one, tau L/sqrt(m) under
        add/remove. Linear losses with r = (m/2)||theta||^2 attain it.

    Parameters
    ----------
    temperature
        tau.
    lipschitz
        L, the largest gradient norm of one record's loss.
    strength
        m, the strong convexity of r; Lambda for a ridge penalty.
    adjacency
        Of the guarantee.
    """
    tau, slope = constant("temperature", temperature), constant("lipschitz", lipschitz)
    return raised(_gradients(adjacency) * tau * slope / math.sqrt(constant("strength", strength)), 8)


def posterior_temperature(mu: float, lipschitz: float = 1.0, *, strength: float, adjacency: Adjacency | str) -> float:
    """The largest tau at which one sample is mu-GDP (T50): mu sqrt(m)/(2L) under replace-one, mu sqrt(m)/L otherwise.

    For (epsilon, delta) give the mu of T6, ``dperm.privacy.gaussian_profile.mu_for(epsilon, delta)``.
    """
    mu, slope = constant("mu", mu), constant("lipschitz", lipschitz)
    return lowered(mu * math.sqrt(constant("strength", strength)) / (_gradients(adjacency) * slope), 8)


def minami_temperature(
    epsilon: float, delta: float, *, strength: float, adjacency: Adjacency | str, lipschitz: float = 1.0
) -> float:
    """The tau of Minami and others for (epsilon, delta)-DP under replace-one: (eps/2L) sqrt(m/(1 + 2 ln(1/delta))).

    Theorem T51 [Minami, Arai, Sato & Nakagawa 2016], for epsilon <= 1: beyond, it need not suffice (at epsilon = 10
    and delta = 1e-5 linear losses exceed it). Smaller than that of T50: for epsilon = 1, delta = 1e-5, m = L = 1 a
    sample is (0.7415, 1e-5)-DP. Erratum E22: the source asks for Lipschitz losses only; they have to be convex as well.
    """
    _stated_by_minami(epsilon, adjacency)
    epsilon, slope = privacy("epsilon", epsilon), constant("lipschitz", lipschitz)
    tail = 1 - 2 * math.log(checks.positive_delta("delta", delta))
    return lowered(epsilon / (2 * slope) * math.sqrt(constant("strength", strength) / tail), 16)


def bounded_posterior_temperature(
    bound: float, epsilon: float, *, adjacency: Adjacency | str, nonnegative: bool = False
) -> float:
    """The tau at which one sample is pure epsilon-DP if the log-likelihood of a record is bounded.

    Theorem T49.
        -B <= log p(x; theta) <= B: a sample is 4 B tau-DP under replace-one, 2 B tau-DP under add/remove.
        If 0 <= -log p <= B, a range of B and not 2B: 2 B tau and B tau.

    Parameters
    ----------
    bound
        B.
    epsilon, adjacency
        Of the guarantee.
    nonnegative
        Whether 0 <= -log p <= B.
    """
    spread = Fraction(constant("bound", bound)) * (1 if checks.truth("nonnegative", nonnegative) else 2)
    return round_down(Fraction(privacy("epsilon", epsilon)) / (_gradients(adjacency) * spread))


def posterior_inflation(temperature: float) -> float:
    """The asymptotic variance of one tempered sample over that of the best estimate (T49): 1 + 1/tau.

    The mean of the tempered posterior varies as the estimate does; a sample around it, 1/tau times as much again.
    """
    return round_up(1 + 1 / Fraction(constant("temperature", temperature)))


def sampler_delta(epsilon: float, delta: float, *, zeta: float) -> float:
    """The delta of a sampler within total variation zeta of an (epsilon, delta)-DP target, for every data set.

    Theorem T52: delta + (1 + e^epsilon) zeta, at most 1. For every data set means proved, not diagnosed on one run.
    """
    epsilon, delta = checks.nonnegative("epsilon", epsilon), checks.small_delta("delta", delta)
    zeta = checks.probability("zeta", zeta)
    extra = (1 + math.exp(min(epsilon, 700.0))) * zeta
    return min(1.0, raised(delta + extra))


def inexact_mu(mu: float, k: float) -> float:
    """The mu of a sampler whose density is within factors e^-k and e^k of a mu-GDP target's, for every data set.

    Theorem T52a. For k <= 0.01 the sampler is (mu + 2.6 k)-GDP. The densities are the normalised ones: if an acceptance
    probability is known within e^-j and e^j, k = 2j.
    """
    mu = checks.nonnegative("mu", mu)
    k = checks.between("k", k, 0.0, LARGEST_INEXACTNESS, "T52a is proved up to there.")
    return round_up(Fraction(mu) + INEXACT_SLOPE * Fraction(k))


def _stated_by_minami(epsilon: float, adjacency: Adjacency | str) -> None:
    if Adjacency.of(adjacency) is not Adjacency.REPLACE_ONE:
        raise AdjacencyError(
            'the temperature of T51 is stated for adjacency="replace_one", got "add_remove". Use posterior_temperature '
            "(T50)."
        )
    if privacy("epsilon", epsilon) > 1:
        raise AssumptionError(
            f"the temperature of T51 suffices for epsilon <= 1, got epsilon={epsilon!r}. Use posterior_temperature, "
            f"which holds for every epsilon (T50)."
        )


def _gradients(adjacency: Adjacency | str) -> int:
    """How many records' losses the logarithms of neighbouring densities differ by."""
    return 2 if Adjacency.of(adjacency) is Adjacency.REPLACE_ONE else 1
