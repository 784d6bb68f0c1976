# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sensitivity of the sum of gradients, and of exact and approximate minimizers (T30, T31, T36a, T43, T45)."""

from fractions import Fraction

from dperm.erm.spec import ProblemSpec
from dperm.mechanisms.goal import quotient_up
from dperm.privacy import Adjacency
from dperm.privacy.rounding import round_up


def gradient_sensitivity(spec: ProblemSpec, adjacency: Adjacency) -> float:
    """Return Delta_g, the L2 sensitivity of the sum of the records' gradients at fixed coefficients theta.

    Theorem (T36a, T45).
        The gradient of each record has norm at most L. So the sum changes by at most L if one record is added or
        removed, and by at most 2L if one record is replaced.

    Parameters
    ----------
    spec
        Public constants of the problem. L is `ProblemSpec.lipschitz`, which takes class weights and clipping into
        account.
    adjacency
        Neighbouring relation of the guarantee: `Adjacency.ADD_REMOVE` or `Adjacency.REPLACE_ONE`.

    Returns
    -------
    float
        L under add/remove, 2L under replace-one. L is rounded up, and doubling L is exact in floating point.

    Notes
    -----
    *Guarantees.* The bound holds for every pair of neighbouring data sets and every theta. Linear losses attain the
    bound.

    ===================  ================================================================
    edge case            result
    ===================  ================================================================
    unbounded gradients  `ProblemSpec.lipschitz` raises ParameterError unless clip is set
    empty data set       covered: the sum is 0
    class weights        L includes the largest weight
    rounding of the sum  not included; see `dperm.erm.rounding.gradient_error`
    ===================  ================================================================
    """
    return spec.lipschitz if adjacency is Adjacency.ADD_REMOVE else 2 * spec.lipschitz


def output_sensitivity(spec: ProblemSpec, adjacency: Adjacency) -> float:
    """Return the L2 sensitivity of the exact minimizer of the regularized sum of losses, rounded up.

    Theorem T30 [Chaudhuri, Monteleoni & Sarwate 2011, Cor 8; restated for the sum of the losses].
        Let each loss be convex and L-Lipschitz in the coefficients theta, and let the regularizer
        (Lambda/2) ||theta||^2 include every coefficient. Then the minimizers for neighbouring data sets differ by at
        most 2L/Lambda in L2 norm if a record is replaced, and by at most L/Lambda if a record is added or removed.

    Parameters
    ----------
    spec
        Public constants of the problem, including Lambda (`ProblemSpec.regularization`) and L
        (`ProblemSpec.lipschitz`).
    adjacency
        Neighbouring relation of the guarantee: `Adjacency.ADD_REMOVE` or `Adjacency.REPLACE_ONE`.

    Returns
    -------
    float
        2L/Lambda under replace-one, L/Lambda under add/remove.

    Raises
    ------
    ParameterError
        If Lambda is not set, or the loss has no Lipschitz constant.

    Notes
    -----
    *Guarantees.* The bound holds for every pair of neighbouring data sets. Linear losses attain the constants and
    logistic losses approach them, so no smaller constant is valid. The intercept is the coefficient of a constant
    column and is regularized like every other coefficient (T54, T55). Therefore L is the Lipschitz constant for rows
    that include the constant column.

    ==================  ========================================================
    edge case           result
    ==================  ========================================================
    Lambda = None or 0  ParameterError: without regularization there is no bound
    empty data set      covered: its minimizer is 0
    kink in the loss    covered by T30
    inexact solver      not included; see `minimizer_error` (T31)
    ==================  ========================================================
    """
    return round_up(Fraction(gradient_sensitivity(spec, adjacency)) / Fraction(spec.strength))


def minimizer_error(spec: ProblemSpec, tolerance: float) -> float:
    """Return a bound on the distance between a computed point and the exact minimizer, rounded up.

    Theorem T31.
        Let J(theta) be the sum (not the mean) of the losses plus (Lambda/2) ||theta||^2. J is Lambda-strongly convex,
        so the computed point theta satisfies ||theta - argmin J|| <= ||grad J(theta)||/Lambda <= tolerance/Lambda.

    Parameters
    ----------
    spec
        Public constants of the problem, including the regularization strength Lambda.
    tolerance
        Bound on the norm of the gradient of J at the computed point, at least 0; 0 for an exact solver.

    Returns
    -------
    float
        The bound tolerance/Lambda.

    Raises
    ------
    ParameterError
        If Lambda is not set.

    Notes
    -----
    *Guarantees.* The solver must certify the tolerance for every data set, as `dperm.erm.minimize.minimize` does. Pass
    the bound to an additive mechanism as ``numerical_error``; the mechanism adds twice the bound to the sensitivity.
    """
    return quotient_up(tolerance, spec.strength)


def approximate_minimizer_sensitivity(spec: ProblemSpec, tolerance: float, *, rounding: float) -> float:
    """Return a bound on the distance between two approximations of the same minimizer, rounded up.

    Theorem T43 [Iyengar et al. 2019; the factor 2 is missing in their code, E33].
        Let J(theta) be the sum of the losses plus (Lambda/2) ||theta||^2. Let b be the noise vector of objective
        perturbation, and let b~ be its rounded value, with ||b~ - b|| <= e. Let theta* minimize J + b'theta exactly,
        and let the computed point theta~ satisfy ||grad J(theta~) + b~|| <= tau. Then ||theta~ - theta*|| <=
        tau'/Lambda with tau' = tau + e. Therefore, the release of theta~ plus noise is the composition of the exact
        mechanism, which releases theta*, with an additive mechanism of sensitivity 2 tau'/Lambda.
    Proof: b = -grad J(theta*), so theta~ is a function of the data and of theta*. Given theta*, the point theta~ lies
    in a ball of radius tau'/Lambda around theta*, for any data. Two such points are at most 2 tau'/Lambda apart.

    Parameters
    ----------
    spec
        Public constants of the problem, including the regularization strength Lambda.
    tolerance
        Bound tau on the norm of the gradient of J + b~'theta, at least 0, certified by the solver for every data set.
    rounding
        Bound e on the norm of the rounding error of b, at least 0. For example, e = sqrt(d) g/2 if the d coordinates of
        b are rounded to a grid with step g.

    Returns
    -------
    float
        The sensitivity 2 (tau + e)/Lambda.

    Raises
    ------
    ParameterError
        If Lambda is not set.

    Notes
    -----
    *Guarantees.* The bound is the same under add/remove and replace-one. It is not doubled for a replaced record.

    =============  =================================================
    edge case      result
    =============  =================================================
    tolerance = 0  2e/Lambda: only the rounding of b contributes
    rounding = 0   2 tau/Lambda: the bound for b without rounding
    Lambda = None  ParameterError
    =============  =================================================
    """
    return round_up(2 * (Fraction(tolerance) + Fraction(rounding)) / Fraction(spec.strength))
