# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Orders of magnitude: rates that are known up to a constant (T48, T58).

Constants are set to 1 and logarithms are dropped. For bounds, use the functions for T48 and T57. The lectures are
identified in docs/errata.md.
"""

import math

from dperm import checks
from dperm.errors import AssumptionError
from dperm.theory.results import OrderOnly, constant, positive_epsilon


def gradient_risk_order(
    n: int, dim: int, *, epsilon: float, lipschitz: float = 1.0, diameter: float = 1.0
) -> OrderOnly:
    """Return the order of magnitude of the excess empirical risk of DP gradient descent, without constants.

    By T48, the order is L D sqrt(d)/(eps n), capped at L D. Up to logarithms, no (eps, delta)-DP algorithm has a
    smaller order [Bassily, Smith & Thakurta 2014].

    Parameters
    ----------
    n
        Number of records.
    dim
        Number d of coefficients.
    epsilon
        Epsilon of the guarantee, positive.
    lipschitz
        Lipschitz constant L of one record's loss.
    diameter
        Diameter D of the set of coefficients.

    Returns
    -------
    OrderOnly
        Value and formula of the order, which is not a bound.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    most = constant("lipschitz", lipschitz) * constant("diameter", diameter)
    return OrderOnly(min(most, most * _ratio(n, dim, epsilon)), "L D sqrt(d)/(eps n)")


def output_risk_order(
    n: int,
    dim: int,
    *,
    epsilon: float,
    lipschitz: float = 1.0,
    diameter: float = 1.0,
    smoothness: float = math.inf,
) -> OrderOnly:
    """Return the order of magnitude of the excess empirical risk of output perturbation, capped at L D.

    By T48, the order is L D r^(1/2) with r = sqrt(d)/(eps n) for Lipschitz losses that are not smooth. With beta-smooth
    losses, noise z on the coefficients costs beta ||z||^2/2 instead of L ||z||. At the best regularization strength,
    the order is then D^(4/3) beta^(1/3) L^(2/3) r^(2/3), or L D r^(2/3) for beta = L/D. The function returns the
    smaller of the two orders.

    Parameters
    ----------
    n
        Number of records.
    dim
        Number d of coefficients.
    epsilon
        Epsilon of the guarantee, positive.
    lipschitz
        Lipschitz constant L of one record's loss.
    diameter
        Diameter D of the set of coefficients.
    smoothness
        Smoothness constant beta of one record's loss; infinite for losses that are not smooth.

    Returns
    -------
    OrderOnly
        Value and formula of the order, which is not a bound.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    slope, width = constant("lipschitz", lipschitz), constant("diameter", diameter)
    ratio = _ratio(n, dim, epsilon)
    rough = OrderOnly(min(slope * width, slope * width * math.sqrt(ratio)), "L D (sqrt(d)/(eps n))^(1/2)")
    if smoothness == math.inf:
        return rough
    beta = constant("smoothness", smoothness)
    smooth = width * (width * beta) ** (1 / 3) * (slope * ratio) ** (2 / 3)
    if smooth >= rough.value:
        return rough
    return OrderOnly(smooth, "D^(4/3) beta^(1/3) L^(2/3) (sqrt(d)/(eps n))^(2/3)")


def objective_risk_order(
    n: int, dim: int, *, epsilon: float, smoothness: float, lipschitz: float = 1.0, diameter: float = 1.0
) -> OrderOnly:
    """Return the order of magnitude of the excess empirical risk of objective perturbation, capped at L D.

    By T48, the order is max(L D sqrt(d), beta D^2)/(eps n). Erratum E30: Razaviyayn's lecture (see docs/errata.md)
    gives only the first term of the maximum, for strongly convex objectives, and does not assume smoothness. However,
    the loss must be smooth, and the regularization strength Lambda must be at least of the order of beta/eps. The
    second term is the cost of this Lambda.

    Parameters
    ----------
    n
        Number of records.
    dim
        Number d of coefficients.
    epsilon
        Epsilon of the guarantee, positive.
    smoothness
        Smoothness constant beta of one record's loss.
    lipschitz
        Lipschitz constant L of one record's loss.
    diameter
        Diameter D of the set of coefficients.

    Returns
    -------
    OrderOnly
        Value and formula of the order, which is not a bound.

    Raises
    ------
    AssumptionError
        If the smoothness constant is infinite, as for a loss that is not smooth (T42).
    ParameterError
        If an argument is out of range.
    """
    if smoothness == math.inf:
        raise AssumptionError(
            "objective perturbation needs a finite smoothness, got inf: with a kink it is not private (T42).",
            remedy="Smooth the kink, or use gradient perturbation.",
        )
    slope, width, beta = (
        constant("lipschitz", lipschitz),
        constant("diameter", diameter),
        constant("smoothness", smoothness),
    )
    per_record = max(slope * width * math.sqrt(checks.count("dim", dim)), beta * width * width)
    value = per_record / (positive_epsilon("epsilon", epsilon) * checks.count("n", n))
    return OrderOnly(min(slope * width, value), "max(L D sqrt(d), beta D^2)/(eps n)")


def objective_sample_order(excess: float, dim: int, *, epsilon: float, reference_norm: float = 1.0) -> OrderOnly:
    """Return the order of magnitude, without constants, of the number of records that objective perturbation needs.

    The order is max(R0^2/g^2, R0 d/(eps g)). This is Monteleoni's Theorem 4 (T58, source in docs/errata.md) for an
    excess population risk of g and the logistic loss with Lipschitz constant 1. The source does not specify the
    constant factor.
    ``objective_sample_size_closed_form`` gives a bound with explicit constants.

    Parameters
    ----------
    excess
        Target g for the excess population risk (of the mean loss, not of the sum), positive.
    dim
        Number d of coefficients.
    epsilon
        Epsilon of the guarantee, positive.
    reference_norm
        Norm R0 of the reference coefficients.

    Returns
    -------
    OrderOnly
        Value and formula of the order, which is not a bound.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    plain, noise, _ = _sample_terms(excess, dim, epsilon, reference_norm)
    return OrderOnly(max(plain, noise), "max(R0^2/g^2, R0 d/(eps g))")


def output_sample_order(excess: float, dim: int, *, epsilon: float, reference_norm: float = 1.0) -> OrderOnly:
    """Return the order of magnitude, without constants, of the number of records that output perturbation needs (T58).

    The order is max(R0^2/g^2, R0 d/(eps g), R0^2 d/(eps g^(3/2))). This is Monteleoni's Theorem 5, with the assumptions
    of ``objective_sample_order``. ``output_sample_size`` gives a bound with explicit constants.

    Parameters
    ----------
    excess
        Target g for the excess population risk (of the mean loss, not of the sum), positive.
    dim
        Number d of coefficients.
    epsilon
        Epsilon of the guarantee, positive.
    reference_norm
        Norm R0 of the reference coefficients.

    Returns
    -------
    OrderOnly
        Value and formula of the order, which is not a bound.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    value = max(_sample_terms(excess, dim, epsilon, reference_norm))
    return OrderOnly(value, "max(R0^2/g^2, R0 d/(eps g), R0^2 d/(eps g^(3/2)))")


def gaussian_output_sample_order(
    excess: float, dim: int, *, epsilon: float, delta: float, failure: float, reference_norm: float = 1.0
) -> OrderOnly:
    """Return the order of magnitude of the number of records that Gaussian output perturbation needs.

    With this number of records, up to constants, the excess risk is at most g with probability at least 1 - 2p.

    By Bellet's theorem (T58, source in docs/errata.md), the order is
    max(R0^2 log(1/p)/g^2, q R0/(eps g), q R0^2/(eps g^(3/2))) with q = (sqrt(d) + sqrt(2 log(1/p))) sqrt(log(1/delta)).
    The first and second derivatives of the loss with respect to the score must be at most 1 in absolute value.

    Erratum E18: Bellet prints d log(d/p) instead of sqrt(d) + sqrt(2 log(1/p)). The printed factor applies to
    gamma-norm noise, whereas the algorithm adds Gaussian noise.

    Parameters
    ----------
    excess
        Target g for the excess population risk (of the mean loss, not of the sum), positive.
    dim
        Number d of coefficients.
    epsilon
        Epsilon of the guarantee, positive.
    delta
        Delta of the guarantee, in (0, 1).
    failure
        Parameter p in (0, 1); the excess risk exceeds g with probability at most 2p.
    reference_norm
        Norm R0 of the reference coefficients.

    Returns
    -------
    OrderOnly
        Value and formula of the order, which is not a bound.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    plain, noise, squared = _sample_terms(excess, 1, epsilon, reference_norm)
    log_failure = -math.log(checks.positive_delta("failure", failure))
    length = math.sqrt(checks.count("dim", dim)) + math.sqrt(2 * log_failure)
    length *= math.sqrt(-math.log(checks.positive_delta("delta", delta)))
    value = max(plain * log_failure, noise * length, squared * length)
    return OrderOnly(value, "max(R0^2 log(1/p)/g^2, q R0/(eps g), q R0^2/(eps g^(3/2)))")


def _ratio(n: int, dim: int, epsilon: float) -> float:
    return math.sqrt(checks.count("dim", dim)) / (positive_epsilon("epsilon", epsilon) * checks.count("n", n))


def _sample_terms(excess: float, dim: int, epsilon: float, reference_norm: float) -> tuple[float, float, float]:
    """Return R0^2/g^2, R0 d/(eps g) and R0^2 d/(eps g^(3/2))."""
    target, length = constant("excess", excess), constant("reference_norm", reference_norm)
    size = checks.count("dim", dim) / positive_epsilon("epsilon", epsilon)
    ratio = length / target
    return ratio * ratio, size * ratio, size * ratio * length / math.sqrt(target)
