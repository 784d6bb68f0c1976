# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
r"""Tempering powers of posterior samples, and guarantees of exact and inexact samplers (T49 to T52a).

The sampled density is proportional to exp(-tau sum_i l_i(theta) - r(theta)), where l_i = -log p(x_i; theta) is the loss
of record i and r is the regularizer. The argument ``temperature`` is tau, the power of the likelihood, which is an
inverse temperature. The posterior itself has tau = 1. Erratum E21: the source prints exp(-tau sum log p). All functions
round tau down, and mu and delta up.
"""

import math
from fractions import Fraction

from dperm import checks
from dperm.errors import AdjacencyError, AssumptionError
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency
from dperm.privacy.rounding import lowered, raised, round_down, round_up
from dperm.sensitivity.arguments import constant, positive_epsilon, records_exchanged

INEXACT_SLOPE = Fraction(13, 5)
"""Increase of mu per unit of k, the bound on the logarithm of the density ratio (T52a)."""
LARGEST_INEXACTNESS = 1e-2
"""Largest k for which T52a holds."""


def posterior_mu(temperature: float, lipschitz: float = 1.0, *, strength: float, adjacency: Adjacency | str) -> float:
    """Return the mu at which one sample of a strongly log-concave posterior is mu-GDP, rounded up.

    Theorem T50 [Gopi, Lee & Liu 2022].
        Let the density be proportional to exp(-tau sum_i l_i - r), where the loss l_i of each record (its negative
        log-likelihood) is convex and L-Lipschitz, and the regularizer r is m-strongly convex. Then one sample is
        mu-GDP (Gaussian differential privacy) with mu = 2 tau L/sqrt(m) under replace-one, and mu = tau L/sqrt(m) under
        add/remove. Linear losses with r(theta) = (m/2)||theta||^2 attain this mu.

    Parameters
    ----------
    temperature
        Inverse temperature tau, the power of the likelihood.
    lipschitz
        Lipschitz constant L, the largest gradient norm of one record's loss.
    strength
        Strong convexity m of r. For a ridge penalty (Lambda/2) ||theta||^2, m = Lambda.
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".

    Returns
    -------
    float
        mu, rounded up.

    Raises
    ------
    ParameterError
        If a number lies outside [1e-30, 1e30].

    Notes
    -----
    *Guarantees.* The theorem applies to an exact sample. For an approximate sampler, use `inexact_mu` or
    `sampler_delta`, with a bound on the sampling error that is proved for every data set.
    """
    tau, slope = constant("temperature", temperature), constant("lipschitz", lipschitz)
    return raised(records_exchanged(adjacency) * tau * slope / math.sqrt(constant("strength", strength)), 8)


def posterior_temperature(mu: float, lipschitz: float = 1.0, *, strength: float, adjacency: Adjacency | str) -> float:
    """Return the largest inverse temperature tau for which T50 proves that one sample is mu-GDP, rounded down.

    The result is mu sqrt(m)/(2L) under replace-one and mu sqrt(m)/L under add/remove, where m is ``strength`` and L is
    ``lipschitz``. The conditions are those of `posterior_mu`. For an (epsilon, delta) guarantee, pass the mu that
    ``dperm.privacy.gaussian_profile.mu_for(epsilon, delta)`` returns (T6).

    Parameters
    ----------
    mu
        Parameter mu of the mu-GDP guarantee (Gaussian differential privacy) to meet.
    lipschitz, strength, adjacency
        See `posterior_mu`.

    Returns
    -------
    float
        Inverse temperature tau, rounded down.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    mu, slope = constant("mu", mu), constant("lipschitz", lipschitz)
    return lowered(mu * math.sqrt(constant("strength", strength)) / (records_exchanged(adjacency) * slope), 8)


def tempered_objective_temperature(unit_temperature: float, strength: float) -> float:
    """Return the inverse temperature tau, rounded down, for a density proportional to exp(-tau J) (T50, T51).

    J is the regularized objective, so the power tau also applies to the regularizer. The regularizer of tau J is
    m-strongly convex with m = tau Lambda. T50 and T51 both give tau = t sqrt(m), where t is ``unit_temperature``. It
    follows that tau = t^2 Lambda.

    Parameters
    ----------
    unit_temperature
        Inverse temperature t that T50 or T51 gives for strong convexity m = 1.
    strength
        Strong convexity Lambda of the regularizer in J.

    Returns
    -------
    float
        Inverse temperature tau, rounded down.
    """
    return lowered(unit_temperature * unit_temperature * strength)


def minami_temperature(
    epsilon: float, delta: float, *, strength: float, adjacency: Adjacency | str, lipschitz: float = 1.0
) -> float:
    """Return the inverse temperature of Minami et al. for (epsilon, delta)-DP under replace-one, rounded down.

    Theorem T51 [Minami, Arai, Sato & Nakagawa 2016].
        For epsilon <= 1, tau = epsilon/(2 L) sqrt(m/(1 + 2 ln(1/delta))), where m is the strong convexity ``strength``
        and L is the Lipschitz constant.

    This tau is smaller than the tau of T50, so the sample is more private than required. For example, for epsilon = 1,
    delta = 1e-5 and m = L = 1, one sample with the tau of T51 is (0.7415, 1e-5)-DP. Erratum E22: the source requires
    only Lipschitz losses, but the losses must be convex as well.

    Parameters
    ----------
    epsilon, delta
        Target guarantee, with epsilon <= 1 and 0 < delta < 1.
    strength, lipschitz
        See `posterior_mu`.
    adjacency
        Must be "replace_one".

    Returns
    -------
    float
        Inverse temperature tau, rounded down.

    Raises
    ------
    AdjacencyError
        If ``adjacency`` is add/remove.
    AssumptionError
        If epsilon > 1, where the formula can fail: at epsilon = 10 and delta = 1e-5, the true delta for linear losses
        is 1.68e-5.
    ParameterError
        If an argument is out of range.
    """
    _check_minami_conditions(epsilon, adjacency)
    epsilon, slope = positive_epsilon("epsilon", epsilon), constant("lipschitz", lipschitz)
    tail = 1 - 2 * math.log(checks.positive_delta("delta", delta))
    return lowered(epsilon / (2 * slope) * math.sqrt(constant("strength", strength) / tail), 16)


def bounded_posterior_temperature(
    bound: float, epsilon: float, *, adjacency: Adjacency | str, nonnegative: bool = False
) -> float:
    """Return the inverse temperature at which one sample is epsilon-DP, for a bounded log-likelihood, rounded down.

    Theorem T49.
        If -B <= log p(x; theta) <= B for every record x and every theta, one sample is epsilon-DP with epsilon =
        4 B tau under replace-one and epsilon = 2 B tau under add/remove. If 0 <= -log p(x; theta) <= B, the range has
        width B instead of 2 B, and epsilon is half as large.

    Parameters
    ----------
    bound
        Bound B on the absolute value of the log-likelihood of one record.
    epsilon
        Epsilon of the guarantee to meet.
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".
    nonnegative
        Whether -log p(x; theta) lies in [0, B] instead of [-B, B].

    Returns
    -------
    float
        Inverse temperature tau, rounded down.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    spread = Fraction(constant("bound", bound)) * (1 if checks.truth("nonnegative", nonnegative) else 2)
    return round_down(Fraction(positive_epsilon("epsilon", epsilon)) / (records_exchanged(adjacency) * spread))


def sampler_delta(epsilon: float, delta: float, *, zeta: float) -> float:
    """Return the delta of a sampler within total variation distance zeta of an (epsilon, delta)-DP target, rounded up.

    Theorem T52.
        If the distance is at most zeta for every data set, the sampler is (epsilon, delta')-DP with delta' = delta +
        (1 + e^epsilon) zeta, capped at 1.

    Parameters
    ----------
    epsilon, delta
        Guarantee of an exact sample from the target.
    zeta
        Bound on the total variation distance, proved for every data set. A convergence diagnostic of one run is not
        sufficient.

    Returns
    -------
    float
        The delta of the sampler, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Notes
    -----
    =============  ==================
    edge case      result
    =============  ==================
    zeta = 0       delta, rounded up
    epsilon > 700  1, unless zeta = 0
    =============  ==================
    """
    epsilon, delta = checks.nonnegative("epsilon", epsilon), checks.small_delta("delta", delta)
    zeta = checks.probability("zeta", zeta)
    if epsilon > 700 and zeta > 0:  # an upper bound; e^epsilon may overflow
        return 1.0
    extra = (1 + math.exp(min(epsilon, 700.0))) * zeta
    return min(1.0, raised(delta + extra))


def inexact_mu(mu: float, k: float) -> float:
    """Return the mu (of Gaussian DP) of a sampler whose density is within a factor of e^k of that of a mu-GDP target.

    Theorem T52a.
        If the ratio of the density of the sampler to the density of the target lies in [e^-k, e^k] for every data set,
        and k <= 0.01, the sampler is (mu + 2.6 k)-GDP.

    For a rejection sampler, which accepts each proposal with a computed probability, let the ratio of this probability
    to the exact one lie in [e^-j, e^j]. Then use k = 2j, because both densities are normalized.

    Parameters
    ----------
    mu
        Parameter mu of the mu-GDP guarantee of an exact sample from the target, at least 0.
    k
        Bound on the logarithm of the density ratio, in [0, 0.01].

    Returns
    -------
    float
        mu of the inexact sampler, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    mu = checks.nonnegative("mu", mu)
    k = checks.between("k", k, 0.0, LARGEST_INEXACTNESS, "T52a is proved up to there.")
    return round_up(Fraction(mu) + INEXACT_SLOPE * Fraction(k))


def _check_minami_conditions(epsilon: float, adjacency: Adjacency | str) -> None:
    if records_exchanged(adjacency) == 1:
        raise AdjacencyError(
            'the temperature of T51 is stated for adjacency="replace_one", got "add_remove".',
            remedy="Use posterior_temperature (T50).",
        )
    if positive_epsilon("epsilon", epsilon) > 1:
        raise AssumptionError(
            f"the temperature of T51 suffices for epsilon <= 1, got {arg('epsilon', repr(epsilon))}.",
            remedy="Use posterior_temperature, which holds for every epsilon (T50).",
        )
