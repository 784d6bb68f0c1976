# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Privacy cost and noise scale of objective perturbation (T36a to T43a, T53a).

Objective perturbation adds a random linear term b'theta to the objective, minimizes the sum, and adds noise to the
minimizing coefficients. Epsilon has three parts. One percent is spent on the noise on the coefficients. The Jacobian
determinant of the map from b to the minimizer takes c = k log(1 + bend/Lambda). Here k is the rank of a record's
Hessian, bend is a bound on the mean of the nonzero eigenvalues of this Hessian, and Lambda is the regularization
strength. For a loss of one score, k = 1 and bend is the smoothness beta. The rest of epsilon is spent on the random
linear term.
"""

import math
from fractions import Fraction

from scipy.special import ndtri

from dperm.accounting.objective import determinant_loss
from dperm.accounting.softmax import softmax_determinant_loss
from dperm.erm.losses import Logistic
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError
from dperm.mechanisms.goal import quotient_up
from dperm.presentation.spelling import arg, quoted_arg
from dperm.privacy import Adjacency
from dperm.privacy.rounding import lowered, round_up
from dperm.sensitivity.arguments import records_exchanged
from dperm.sensitivity.minimizer import gradient_sensitivity

OUTPUT_SHARE = 0.01
"""Share of epsilon for the noise on the coefficients."""
TAIL_SHARE = 1e-3
"""Share of delta for the tail of the noise on the coefficients."""


def gamma_norm_scale(spec: ProblemSpec, adjacency: Adjacency, epsilon: float) -> float:
    """Return the scale s = Delta_g/epsilon of the gamma-norm noise of objective perturbation, rounded up.

    The noise vector b has a density proportional to e^(-||b||/s), and Delta_g is `gradient_sensitivity`.

    Theorem T36a.
        Let theta be the exact minimizer of J + b'theta, where J is the regularized objective. The noise b contributes
        at most epsilon to the privacy loss of theta. The Jacobian determinant of the map from b to theta contributes at
        most `determinant_charge` in addition.

    Parameters
    ----------
    spec
        Public constants of the problem.
    adjacency
        Neighbouring relation of the guarantee: `Adjacency.ADD_REMOVE` or `Adjacency.REPLACE_ONE`.
    epsilon
        Part of the epsilon of the guarantee that is available for b, greater than 0.

    Returns
    -------
    float
        Scale s of b.
    """
    return quotient_up(gradient_sensitivity(spec, adjacency), epsilon)


def gaussian_scale(spec: ProblemSpec, noise_multiplier: float) -> float:
    """Return the standard deviation of the Gaussian noise of objective perturbation, rounded up (T39, T40, T41, T53a).

    The standard deviation is the noise multiplier times L = ``spec.lipschitz``, the largest gradient norm of one
    record's loss. The factor is L under both add/remove and replace-one, because the theorems themselves account for a
    replaced record.

    Parameters
    ----------
    spec
        Public constants of the problem.
    noise_multiplier
        Noise multiplier: standard deviation divided by L.

    Returns
    -------
    float
        Standard deviation of each coordinate of the noise vector.
    """
    return round_up(Fraction(noise_multiplier) * Fraction(spec.lipschitz))


def relative_curvature(spec: ProblemSpec) -> float:
    """Return a bound on the mean of the nonzero eigenvalues of one record's Hessian, divided by Lambda, rounded up.

    Lambda is the regularization strength. If the loss of a record depends on one score (not on one score per class),
    the result is beta/Lambda with beta = ``spec.smoothness``. The loss must be smooth.

    Parameters
    ----------
    spec
        Public constants of the problem.

    Returns
    -------
    float
        The ratio, rounded up.
    """
    return quotient_up(spec.bend, spec.strength)


def determinant_charge(spec: ProblemSpec) -> float:
    """Return the privacy loss of the Jacobian determinant of the map from b to theta, rounded up.

    Here b is the noise vector of objective perturbation, and theta is the minimizer of the perturbed objective.

    Theorem T37 (T53a for several scores).
        One record changes the logarithm of the determinant by at most c = k log(1 + bend/Lambda). Here k is the rank of
        one record's Hessian: 1 for a loss of one score, and K - 1 for the softmax loss of K classes. The constant bend
        is `ProblemSpec.bend`, a bound on the mean of the k nonzero eigenvalues. Lambda is the regularization strength.

    Parameters
    ----------
    spec
        Public constants of the problem.

    Returns
    -------
    float
        Privacy loss c of the determinant.

    Notes
    -----
    *Guarantees.* The bound holds for smooth losses, under both add/remove and replace-one. It does not apply to a loss
    with a kink (T42). The function then raises OverflowError, because `ProblemSpec.bend` is infinite.
    """
    curvature = relative_curvature(spec)
    return determinant_loss(curvature) if spec.outputs == 1 else softmax_determinant_loss(curvature, spec.outputs)


def require_determinant_charge(spec: ProblemSpec, epsilon: float) -> float:
    """Return `determinant_charge`, after checking that it is below ``epsilon`` (T37, T43a, T53a).

    Objective perturbation adds a random linear term b'theta to the objective, and releases the minimizer theta. The
    privacy loss of theta has two parts: that of the noise vector b, and that of the Jacobian determinant of the map
    from b to theta. Both must fit into ``epsilon``.

    Parameters
    ----------
    spec
        Public constants of the problem.
    epsilon
        Epsilon available for the determinant and the linear term together.

    Returns
    -------
    float
        Privacy loss c of the determinant.

    Raises
    ------
    AssumptionError
        If the determinant would cost ``epsilon`` or more. The message states how large the regularization strength
        Lambda must be.
    """
    charge = determinant_charge(spec)
    if charge < epsilon:
        return charge
    least = spec.bend / math.expm1(min(epsilon / spec.loss.rank, 700.0)) * (1 + 1e-9)
    times = "" if spec.loss.rank == 1 else f"{spec.loss.rank} "
    raise AssumptionError(
        f"objective perturbation needs {times}log(1 + beta/Lambda) < {epsilon:.6g}, its part of epsilon (T43a), got "
        f"{charge:.6g} from beta={spec.bend:.6g} and Lambda={spec.strength:.6g}.",
        remedy=f"Choose Lambda > {least:.6g}, that is C < {1 / least:.6g}, or {arg('C', 'None')} to let the "
        f"plan choose; or "
        f"use {quoted_arg('method', 'gradient')} (delta > 0) or {quoted_arg('method', 'output')}.",
    )


def determinant_is_free(spec: ProblemSpec, epsilon: float, adjacency: Adjacency) -> bool:
    """Return whether the Jacobian determinant adds nothing to the privacy loss of gamma-norm noise.

    The determinant is that of the map from the noise vector b of objective perturbation to the minimizer
    (`determinant_charge`).

    Theorem T36b.
        Let the loss f be the unclipped logistic loss, with rows of norm at most R and weights of at most w. Let the
        regularization strength Lambda be at least w R^2/epsilon (add/remove) or 2 w R^2/epsilon (replace-one). Then
        objective perturbation with a noise vector b of density proportional to e^{-epsilon ||b||/Delta_g} is
        epsilon-DP, where Delta_g is `gradient_sensitivity`.
    Proof: let s = abs(f') be the slope of the loss at the score of a record. Then f'' = s (1 - s), so the record adds
    at most epsilon s to the privacy loss through b, and at most epsilon s (1 - s) through the determinant. The sum is
    at most epsilon, since 2s - s^2 <= 1. Under replace-one, each of the two records adds half as much.

    Parameters
    ----------
    spec
        Public constants of the problem.
    epsilon
        Epsilon available for the determinant and the linear term together.
    adjacency
        Neighbouring relation of the guarantee: `Adjacency.ADD_REMOVE` or `Adjacency.REPLACE_ONE`.

    Returns
    -------
    bool
        True if the theorem applies. The determinant then adds nothing to the privacy loss.

    Notes
    -----
    ===============================  ==========================================
    edge case                        result
    ===============================  ==========================================
    clipped loss (T44)               False
    subclass of Logistic             False: the loss of the subclass may differ
    Lambda equal to its lower bound  True
    ===============================  ==========================================
    """
    if spec.is_clipped or type(spec.loss) is not Logistic:
        return False
    return spec.strength >= records_exchanged(adjacency) * quotient_up(4 * spec.smoothness, epsilon)


def coefficient_noise_mu(epsilon: float, delta: float) -> float:
    """Return the mu of the Gaussian noise that objective perturbation adds to the coefficients, rounded down (T43).

    Here mu is the sensitivity divided by the standard deviation of the noise.

    The result is the largest mu with mu^2/2 + mu t <= z. Here z is one percent of epsilon, t = -Phi^-1(delta/1000), and
    Phi is the standard normal distribution function. The privacy loss Z of this noise has the distribution
    N(mu^2/2, mu^2) (T6), so P(Z > z) = Phi(-(z - mu^2/2)/mu) <= delta/1000.

    Parameters
    ----------
    epsilon
        Epsilon of the guarantee, greater than 0.
    delta
        Delta of the guarantee, in (0, 1).

    Returns
    -------
    float
        mu, rounded down.
    """
    tail = -float(ndtri(TAIL_SHARE * delta))
    room = OUTPUT_SHARE * epsilon
    return lowered(2 * room / (tail + math.sqrt(tail**2 + 2 * room)), 256)


def objective_share(epsilon: float, delta: float) -> tuple[float, float]:
    """Return the part of (epsilon, delta) that is available to objective perturbation with an exact minimizer (T43).

    Objective perturbation is the composition of the exact mechanism, which releases the exact minimizer of the
    perturbed objective, with noise on the coefficients. Let U be the privacy loss of the exact mechanism (T40, T41), Z
    the privacy loss of the noise on the coefficients, and (x)_+ = max(x, 0). For the composition and any z,
    delta(epsilon) is at most E (1 - e^{epsilon - U - Z})_+ <= P(Z > z) + E (1 - e^{(epsilon - z) - U})_+. The
    inequality holds because the first integrand is at most the second one where Z <= z, and at most 1 elsewhere. With z
    and P(Z > z) from `coefficient_noise_mu`, the exact mechanism receives epsilon - z and delta (1 - 1/1000). The noise
    on the coefficients receives the rest.

    Parameters
    ----------
    epsilon
        Epsilon of the guarantee.
    delta
        Delta of the guarantee.

    Returns
    -------
    tuple[float, float]
        Epsilon and delta of the exact mechanism, both rounded down.
    """
    return lowered(epsilon * (1 - OUTPUT_SHARE)), lowered(delta * (1 - TAIL_SHARE))
