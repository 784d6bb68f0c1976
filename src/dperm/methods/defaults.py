# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Default clip and regularisation strength Lambda, from public constants alone.

Defaults affect utility; no guarantee rests on them. They follow from a quadratic model. Along a direction in which the
loss of all records has curvature h and its minimiser lies at t, regularisation moves the solution by Lambda t / (h +
Lambda), and noise of deviation s moves it by s. The cost is h/2 times the square of the move.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from dperm.data.targets import LabelKind
from dperm.erm.losses import Logistic
from dperm.erm.residual_losses import Squared
from dperm.erm.spec import ProblemSpec
from dperm.mechanisms.goal import gaussian_mu
from dperm.methods.conditions import epsilon_and_delta, is_pure
from dperm.presentation.facts import Fact
from dperm.privacy import Adjacency, ApproxDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.sensitivity.minimizer import gradient_sensitivity


@dataclass(frozen=True)
class Choice:
    """Chosen value of Lambda with the reason for it."""

    value: float
    why: Fact


UNKNOWN_PER_COEFFICIENT = 85
UNKNOWN_RECORDS = 20_000
"""Assumed records per coefficient, and in total at most, where n is not public."""
WIDE = 10
"""Records per coefficient below which a classification table is wide."""

Rule = Callable[[ProblemSpec, AnyGuarantee], Choice]


def with_default_regularization(spec: ProblemSpec, goal: AnyGuarantee, rule: Rule) -> tuple[ProblemSpec, list[Fact]]:
    """Return the problem with the user's Lambda or the one of ``rule``, and the reason if it was chosen."""
    if spec.regularization is not None:
        return spec, []
    choice = rule(spec, goal)
    return spec.with_regularization(choice.value), [choice.why]


def default_clip(spec: ProblemSpec) -> float | None:
    """Return the given clip, or the default: R/2 for the logistic loss, R/4 for the squared loss, else None (T44).

    Gradients of the logistic loss at theta = 0 have exactly this length for rows of norm R. Clipping there halves the
    noise and leaves the smoothness. Halving the slope of a hinge would only rescale it.

    The squared loss needs a clip. The default cuts residuals at an eighth of the label range for rows of the largest
    norm; this range is several deviations wide.
    """
    if spec.clip is not None:
        return spec.clip
    match spec.loss:
        case Logistic():
            return spec.radius / 2
        case Squared():
            return spec.radius / 4
    return None


def descent_clip(spec: ProblemSpec) -> float | None:
    """Return `default_clip`, but R/2 for the softmax loss: descent needs no convexity, only a bound (T46)."""
    return spec.radius / 2 if spec.clip is None and spec.outputs > 1 else default_clip(spec)


def reference_noise(spec: ProblemSpec, goal: AnyGuarantee) -> float:
    """Return sigma0, the least standard deviation per coordinate of the noise for one release of the sum of gradients.

    It is Delta_g / mu for Gaussian noise (T6) and sqrt(d + 1) Delta_g / epsilon for pure noise (T7).
    """
    moved = gradient_sensitivity(spec, goal.adjacency)
    if prefers_gamma_norm(spec, goal):
        return math.sqrt(spec.dim + 1) * moved / epsilon_and_delta(goal, "output")[0]
    return moved / gaussian_mu(goal)


def prefers_gamma_norm(spec: ProblemSpec, goal: AnyGuarantee) -> bool:
    """Return whether pure noise is smaller or the only one that meets ``goal``: d + 1 < (epsilon / mu)^2 (T6, T7)."""
    if is_pure(goal):
        return True
    return isinstance(goal, ApproxDP) and spec.dim + 1 < (goal.epsilon / gaussian_mu(goal)) ** 2


def determinant_share(epsilon: float) -> float:
    """Return the largest share of epsilon for the determinant of objective perturbation under a default Lambda."""
    return 0.15 + 0.1 * min(epsilon, 1.0)


def determinant_floor(spec: ProblemSpec, epsilon: float) -> float:
    """Return the Lambda at which the determinant, k log(1 + bend/Lambda), takes this share (T37, T43a, T53a)."""
    return spec.bend / math.expm1(min(determinant_share(epsilon) * epsilon / spec.loss.rank, 700.0))


def assumed_records(spec: ProblemSpec) -> int:
    """Return n; without a declared n, 85 records for each coefficient and at most 20,000."""
    return spec.n if spec.n is not None else min(UNKNOWN_PER_COEFFICIENT * spec.dim, UNKNOWN_RECORDS)


def noise_load(spec: ProblemSpec, goal: AnyGuarantee) -> float:
    """Return the noise on the sum of gradients relative to n records in d directions: rho = d sigma0 / (n w R).

    About .02 for 30,000 records with 100 coefficients at epsilon = 1, and 1 for 1000 records with 1000 coefficients at
    epsilon = 5, delta = 1e-6.
    """
    load = spec.dim * reference_noise(spec, goal) / (assumed_records(spec) * spec.weight * spec.radius)
    return min(load, 1e30)


def noise_strength(spec: ProblemSpec, goal: AnyGuarantee) -> float:
    """Return the Lambda for the noise: the larger of `usual_strength` and `wide_strength`, for numbers the latter."""
    wide = wide_strength(spec, goal)
    return wide if spec.loss.labels is LabelKind.NUMBER else max(usual_strength(spec, goal), wide)


def usual_strength(spec: ProblemSpec, goal: AnyGuarantee) -> float:
    """Return R sigma0 min(1, epsilon^-0.3 / 2) for many records per coefficient; R sigma0 for gamma-norm noise.

    R sigma0 is the optimum of `wide_strength` where all d directions are used. With less Gaussian noise more directions
    are steep and Lambda may be smaller. The factor was fixed on Adult, KDD Cup 99, MNIST and a dozen synthetic data
    sets (benchmarks/convex.py).
    """
    epsilon, _ = epsilon_and_delta(goal, "objective")
    gamma = spec.n is not None and prefers_gamma_norm(spec, goal)
    return spec.radius * reference_noise(spec, goal) * (1.0 if gamma else min(1.0, epsilon**-0.3 / 2))


def wide_strength(spec: ProblemSpec, goal: AnyGuarantee) -> float:
    """Return Lambda = c R sigma0 rho^0.3, with c = 1.5 for classes and 8 for numbers.

    The noise b moves a direction by sigma / (h + Lambda), so the cost h (Lambda^2 t^2 + sigma^2) / (2 (h + Lambda)^2)
    has its supremum over h at h = Lambda. Summed over d directions it is (Lambda^2 R0^2 + d sigma^2) / (8 Lambda),
    least at Lambda = sigma sqrt(d) / R0. With R0 = sqrt(k) / R for the k <= d directions in use, it is R sigma
    sqrt(d/k). More noise and fewer records leave fewer directions: sqrt(d/k) is c rho^0.3 (`noise_load`).

    The power and both constants are empirical, fixed on the development tables of benchmarks/auto_choice.py: two laws
    of rows, d/n from .005 to 5, epsilon from .2 to 50, Gaussian and gamma-norm noise. Labels in [-1, 1] are matched by
    coefficients a few times smaller than margins, hence the larger c. For classes the gain on those tables begins at
    one coefficient for ten records; with fewer coefficients the law falls like the square of their share.
    """
    numbers = spec.loss.labels is LabelKind.NUMBER
    share = 1.0 if numbers else min(1.0, WIDE * spec.width / assumed_records(spec)) ** 2
    law = (8.0 if numbers else 1.5) * spec.radius * reference_noise(spec, goal) * math.pow(noise_load(spec, goal), 0.3)
    return share * law


def least_strength(spec: ProblemSpec) -> float:
    """Return the smallest default Lambda: w R^2 (1/50 + c min(1, d/n)), with c = .13 for classes and .9 for numbers.

    On unit rows this is C = 50 for n much larger than d. Without it a large epsilon would remove all regularisation.
    Few data sets bear this, and none with fewer than d records. The constants are empirical, as in `wide_strength`.
    """
    constant = 0.9 if spec.loss.labels is LabelKind.NUMBER else 0.13
    crowded = min(1.0, spec.width / assumed_records(spec))
    return spec.weight * spec.radius**2 * (0.02 + constant * crowded)


def objective_regularization(spec: ProblemSpec, goal: AnyGuarantee) -> Choice:
    """Return Lambda for objective perturbation: `noise_strength`, at least `least_strength` and `determinant_floor`.

    Several scores share the noise of one gradient, and the best Lambda was four times as large, up to 2 R sigma0. With
    a public n, Lambda is at most a multiple of 4 d sigma^2 / (n s^2 R^2), the optimum for equal directions. Here s^2
    R^2 is 1/2 (pure noise), 1/4 or 1/16 (numbers) of the largest weight.
    """
    epsilon, _ = epsilon_and_delta(goal, "objective")
    sigma, floor, least = reference_noise(spec, goal), determinant_floor(spec, epsilon), least_strength(spec)
    wanted = noise_strength(spec, goal)
    sized = wanted > usual_strength(spec, goal) or spec.loss.labels is LabelKind.NUMBER  # by d and n, not noise alone
    if spec.outputs > 1:
        wanted = max(wanted, min(4 * wanted, 2 * spec.radius * sigma))
    if spec.n is not None:
        alike = 64 if spec.loss.labels is LabelKind.NUMBER else 8 if prefers_gamma_norm(spec, goal) else 16
        capped = alike * spec.dim * sigma**2 / (spec.n * spec.weight)
        sized, wanted = sized or capped < wanted, min(wanted, capped)
    if floor >= max(wanted, least):
        cause = (
            "so that {share:.0%} of epsilon is spent on the Jacobian determinant of the map from the noise to the "
            "coefficients, since this determinant also depends on the data"
        )
        return chosen_strength(floor, "determinant", cause, share=determinant_share(epsilon))
    size = "{dim} coefficients" if spec.n is None else "{dim} coefficients and {@n:{n}}"
    if least >= wanted:
        cause = f"for {size}; it is the smallest default at any noise level"
        return chosen_strength(least, "dimension", cause, dim=spec.dim, n=spec.n)
    cause = (
        "for a noise level of {noise:.3g}, the smallest standard deviation with which the sum of gradients could be "
        "released once under this guarantee"
    )
    return chosen_strength(
        wanted, "noise", f"{cause}, with {size}" if sized else cause, noise=sigma, dim=spec.dim, n=spec.n
    )


SHARES_OF_NUMBERS = (1.0, 1 / 3), (4.0, 1 / 4)
"""Pairs (epsilon, share) for the determinant in additive regressions; log-linear between, constant beyond."""
LEAST_OF_NUMBERS = 1 / 50
"""Smallest default Lambda of additive regressions, in units of w R^2."""
LOUD = 0.5
"""Noise load from which additive regressions need as much regularization as linear ones."""
FACTORS_OF_CLASSES = (0.1, 1.0), (0.5, 1.5)
"""Pairs (epsilon, factor) on the default Lambda of additive classifiers; log-linear between, constant beyond."""


def additive_regularization(spec: ProblemSpec, goal: AnyGuarantee) -> Choice:
    r"""Return Lambda of additive models for objective perturbation.

    For classes it is Lambda of `objective_regularization` times a factor, which grows from 1 at epsilon <= 0.1 to 1.5
    at epsilon >= 0.5, linearly in log epsilon. For numbers it is

    .. math:: \Lambda = \max\Bigl(\frac{k \beta}{e^{s\epsilon} - 1},\ R \sigma_0 \min(1, \epsilon^{-0.3}/2),\
              \frac{w R^2}{50}\Bigr),

    where beta is the smoothness of the loss of one record, sigma0 is `reference_noise`, and k is 2 under replace_one
    and 1 under add_remove. The share s is 1/3 for epsilon <= 1 and 1/4 for epsilon >= 4. Under add_remove, the
    determinant costs s epsilon at most; linear models spend 16 to 25 % on it. The optimal Lambda is proportional to the
    noise (see `wide_strength`), and a replaced record doubles the noise; hence k.

    The terms of an additive model are smooth and use few of their features, so the rule for numbers does not depend on
    the number d of features. That holds while the noise is small. For gamma-norm noise, whose length grows with d, and
    for a `noise_load` above 1/2, Lambda is at least that of `objective_regularization`.

    The rule for numbers was fixed on three tables of 500 to 15,000 records with d from 66 to 265, under both
    adjacencies; the factor for classes on two tables of 18,000 and 33,000 records (benchmarks/additive.py).
    """
    epsilon, _ = epsilon_and_delta(goal, "objective")
    if spec.loss.labels is not LabelKind.NUMBER:
        factor = additive_factor(epsilon)
        usual = objective_regularization(spec, goal).value
        cause = "as {factor:.2g} times the default of linear classifiers, since the terms of additive models overlap"
        return chosen_strength(factor * usual, "additive", cause, factor=factor)
    moved = 2 if goal.adjacency is Adjacency.REPLACE_ONE else 1
    share = _log_linear(epsilon, SHARES_OF_NUMBERS)
    determinant = moved * spec.bend / math.expm1(min(share * epsilon / spec.loss.rank, 700.0))
    noise, least = usual_strength(spec, goal), LEAST_OF_NUMBERS * spec.weight * spec.radius**2
    if prefers_gamma_norm(spec, goal) or noise_load(spec, goal) > LOUD:
        linear = objective_regularization(spec, goal)
        if linear.value > max(determinant, noise, least):
            return linear
    if determinant >= max(noise, least):
        spent = spec.loss.rank * math.log1p(spec.bend / determinant) / epsilon
        return chosen_strength(
            determinant,
            "determinant",
            "so that {share:.0%} of epsilon is spent on the Jacobian determinant",
            share=spent,
        )
    if least >= noise:
        return chosen_strength(least, "least", "as the smallest default at any noise level")
    cause = (
        "for a noise level of {noise:.3g}, the smallest standard deviation with which the sum of gradients could be "
        "released once under this guarantee"
    )
    return chosen_strength(noise, "noise", cause, noise=reference_noise(spec, goal))


def additive_factor(epsilon: float) -> float:
    """Return the factor on Lambda of additive classifiers: 1 to epsilon = 0.1, 1.5 from 0.5 on, log-linear between."""
    return _log_linear(epsilon, FACTORS_OF_CLASSES)


def _log_linear(epsilon: float, ends: tuple[tuple[float, float], tuple[float, float]]) -> float:
    """Return the value between two pairs (epsilon, value), linear in log epsilon and constant beyond them."""
    (low, first), (high, last) = ends
    place = (math.log(epsilon) - math.log(low)) / (math.log(high) - math.log(low))
    return first + (last - first) * min(max(place, 0.0), 1.0)


def descent_strength(spec: ProblemSpec, goal: AnyGuarantee) -> float:
    """Return the Lambda = n/H equivalent to a descent of horizon H: R sigma0 / 2, more where noise or d/n is large.

    A descent with its last half averaged regularises like a Lambda half as large again, so it is two thirds of the
    Lambda of objective perturbation. The user's Lambda counts if it is larger.
    """
    usual = spec.radius * reference_noise(spec, goal) / 2
    wanted = max(wide_strength(spec, goal), least_strength(spec)) * 2 / 3
    return max(usual, wanted, spec.regularization or 0.0)


def output_regularization(spec: ProblemSpec, goal: AnyGuarantee) -> Choice:
    """Return Lambda for output perturbation.

    Noise of deviation sigma0 / Lambda on every coefficient costs tr(H) sigma0^2 / (2 Lambda^2), tr(H) <= n beta. The
    regularisation costs at most Lambda R0^2 / 8 (the supremum over h of h Lambda^2 t^2 / (2 (h + Lambda)^2), summed).
    The sum is least at Lambda^3 = 8 n beta sigma0^2 / R0^2; with R0 = 2 sqrt(d) / R it is 2 n beta R^2 sigma0^2 / d.
    This is the trade-off of T57 without its stability term, which is far too pessimistic for choosing Lambda.

    Without a public n, Lambda = 2 R sigma0: noise of half a unit in the margin of the longest row. For labels in [-1,
    1] it is ten times as much, noise of a twentieth of a unit. Data with equal directions prefer more at small epsilon;
    up to ten times as much was better there.
    """
    sigma = reference_noise(spec, goal)
    if spec.n is None:
        unit, share = (
            ("the margin of the longest row", 0.5)
            if spec.loss.labels is not LabelKind.NUMBER
            else ("the prediction for the longest row, in units of half the label range,", 0.05)
        )
        cause = "so that the noise in {unit} has a standard deviation of about {share:g}; {@n} is not declared"
        return chosen_strength(spec.radius * sigma / share, "noise", cause, share=share, unit=unit)
    value = (2 * spec.n * spec.smoothness / spec.dim) ** (1 / 3) * (spec.radius * sigma) ** (2 / 3)
    cause = (
        "for {@n:{n}} and a noise level of {noise:.3g}, the smallest standard deviation with which the sum of "
        "gradients could be released once under this guarantee"
    )
    return chosen_strength(value, "balanced", cause, n=spec.n, noise=sigma)


def chosen_strength(value: float, code: str, cause: str, **values: object) -> Choice:
    """Return Lambda, cut to [1e-30, 1e30], with the reason "regularization.<code>"."""
    value = min(max(value, 1e-30), 1e30)
    template = f"Lambda = {{value:.3g}} (C = {{C:.3g}}) was chosen {cause}."
    return Choice(value, Fact(f"regularization.{code}", template, {"value": value, "C": 1 / value, **values}))
