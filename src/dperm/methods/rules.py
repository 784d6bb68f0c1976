# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Rules for what the user left open, from public constants alone: clipping, and the strength Lambda.

They are about usefulness; no guarantee rests on them. The model behind them is a quadratic: along a direction in which
the loss of all records has curvature h and its minimiser lies at t, regularisation moves the solution by
Lambda t / (h + Lambda), and noise of deviation s moves it by s. What that costs is h/2 times the square.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from dperm.data.targets import LabelKind
from dperm.erm.losses import Logistic
from dperm.erm.residual_losses import Squared
from dperm.erm.spec import ProblemSpec
from dperm.mechanisms.goal import gaussian_mu
from dperm.methods.constants import epsilon_and_delta, gradient_sensitivity, is_pure
from dperm.privacy import ApproxDP
from dperm.privacy.guarantee import AnyGuarantee


@dataclass(frozen=True)
class Choice:
    """A number that was chosen, and the reason."""

    value: float
    why: str


UNKNOWN_PER_COEFFICIENT = 85
UNKNOWN_RECORDS = 20_000
"""Records that rules for Lambda assume where n is not public: so many for each coefficient, and at most so many."""
WIDE = 10
"""A table for classification is wide from one coefficient for so many records on."""

Rule = Callable[[ProblemSpec, AnyGuarantee], Choice]


def regularized(spec: ProblemSpec, goal: AnyGuarantee, rule: Rule) -> tuple[ProblemSpec, list[str]]:
    """The problem with a Lambda, the user's or that of ``rule``, and the reason if it was chosen."""
    if spec.regularization is not None:
        return spec, []
    choice = rule(spec, goal)
    return spec.with_regularization(choice.value), [choice.why]


def default_clip(spec: ProblemSpec) -> float | None:
    """Half the radius for the logistic loss, a quarter for the squared one (T44), where nothing was said.

    Gradients of the logistic loss at theta = 0 have exactly that length; clipping there halves the noise and leaves
    the smoothness. Halving the slope of a hinge only rescales it. The squared loss has to be clipped somewhere: at
    residuals of an eighth of the labels' range, for rows of the largest norm; that range is several deviations wide.
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
    """The same, and half the radius for the softmax loss: descent needs no convexity, only a bound (T46)."""
    return spec.radius / 2 if spec.clip is None and spec.outputs > 1 else default_clip(spec)


def noise_scale(spec: ProblemSpec, goal: AnyGuarantee) -> float:
    """The deviation, sigma0, in each coordinate, of the least noise that one release of the sum of gradients needs.

    Delta_g / mu for Gaussian noise (T6); sqrt(d + 1) Delta_g / epsilon for pure noise (T7).
    """
    moved = gradient_sensitivity(spec, goal.adjacency)
    if prefers_gamma_norm(spec, goal):
        return math.sqrt(spec.dim + 1) * moved / epsilon_and_delta(goal, "output")[0]
    return moved / gaussian_mu(goal)


def prefers_gamma_norm(spec: ProblemSpec, goal: AnyGuarantee) -> bool:
    """Whether pure noise is the smaller, or the only one that meets ``goal``: d + 1 < (epsilon / mu)^2 (T6, T7)."""
    if is_pure(goal):
        return True
    return isinstance(goal, ApproxDP) and spec.dim + 1 < (goal.epsilon / gaussian_mu(goal)) ** 2


def determinant_share(epsilon: float) -> float:
    """Of epsilon, what the determinant of objective perturbation takes at most where Lambda is chosen by rule."""
    return 0.15 + 0.1 * min(epsilon, 1.0)


def determinant_floor(spec: ProblemSpec, epsilon: float) -> float:
    """The Lambda at which the determinant takes that share of epsilon, k log(1 + bend/Lambda) (T37, T43a, T53a)."""
    return spec.bend / math.expm1(min(determinant_share(epsilon) * epsilon / spec.loss.rank, 700.0))


def assumed_records(spec: ProblemSpec) -> int:
    """n; where it is not public, 85 records for each coefficient and at most 20,000."""
    return spec.n if spec.n is not None else min(UNKNOWN_PER_COEFFICIENT * spec.dim, UNKNOWN_RECORDS)


def noise_load(spec: ProblemSpec, goal: AnyGuarantee) -> float:
    """The noise on the sum of gradients relative to n records spread over d directions: rho = d sigma0 / (n w R).

    About .02 for 30,000 records with 100 coefficients at epsilon = 1, and 1 for 1000 records with 1000 coefficients at
    epsilon = 5, delta = 1e-6.
    """
    load = spec.dim * noise_scale(spec, goal) / (assumed_records(spec) * spec.weight * spec.radius)
    return min(load, 1e30)


def noise_strength(spec: ProblemSpec, goal: AnyGuarantee) -> float:
    """The Lambda that noise calls for: `usual_strength` for classes, and `wide_strength` where that is more.

    For numbers it is `wide_strength` alone.
    """
    wide = wide_strength(spec, goal)
    return wide if spec.loss.labels is LabelKind.NUMBER else max(usual_strength(spec, goal), wide)


def usual_strength(spec: ProblemSpec, goal: AnyGuarantee) -> float:
    """R sigma0 min(1, epsilon^-0.3 / 2) for many records of each coefficient; R sigma0 for gamma-norm noise.

    R sigma0 is the optimum of `wide_strength` where all d directions are used. With less Gaussian noise more of them
    are steep and Lambda may be smaller. The factor was fixed after a look at Adult, KDD Cup 99, MNIST and a dozen
    synthetic data sets (benchmarks/convex.py).
    """
    epsilon, _ = epsilon_and_delta(goal, "objective")
    gamma = spec.n is not None and prefers_gamma_norm(spec, goal)
    return spec.radius * noise_scale(spec, goal) * (1.0 if gamma else min(1.0, epsilon**-0.3 / 2))


def wide_strength(spec: ProblemSpec, goal: AnyGuarantee) -> float:
    """Lambda = c R sigma0 rho^0.3, with c = 1.5 for classes and 8 for numbers.

    The noise b moves a direction by sigma / (h + Lambda), so the cost h (Lambda^2 t^2 + sigma^2) / (2 (h + Lambda)^2)
    has its supremum over h at h = Lambda, and summed over d directions it is (Lambda^2 R0^2 + d sigma^2) / (8 Lambda):
    least at Lambda = sigma sqrt(d) / R0. With R0 = sqrt(k) / R for the k <= d directions that the model uses, it is
    R sigma sqrt(d/k). More noise and fewer records leave fewer of them: sqrt(d/k) is c rho^0.3 (`noise_load`).

    The power and both constants are empirical: fixed on the development tables of benchmarks/auto_choice.py, two laws
    of rows, d/n from .005 to 5, epsilon from .2 to 50, Gaussian and gamma-norm noise. Labels in [-1, 1] are matched by
    coefficients a few times smaller than margins are, hence the larger c. For classes the gain on those tables begins
    at one coefficient for ten records; with fewer coefficients the law falls like the square of their share.
    """
    numbers = spec.loss.labels is LabelKind.NUMBER
    share = 1.0 if numbers else min(1.0, WIDE * spec.width / assumed_records(spec)) ** 2
    law = (8.0 if numbers else 1.5) * spec.radius * noise_scale(spec, goal) * math.pow(noise_load(spec, goal), 0.3)
    return share * law


def least_strength(spec: ProblemSpec) -> float:
    """The Lambda below which no rule goes, whatever the noise: w R^2 (1/50 + c min(1, d/n)), c = .13 or .9 for numbers.

    On unit rows it is C = 50 for n much larger than d. Without it a large epsilon would ask for no regularisation at
    all, which n records rarely bear, and fewer than d never. The constants are empirical, as in `noise_strength`.
    """
    constant = 0.9 if spec.loss.labels is LabelKind.NUMBER else 0.13
    crowded = min(1.0, spec.width / assumed_records(spec))
    return spec.weight * spec.radius**2 * (0.02 + constant * crowded)


def objective_regularization(spec: ProblemSpec, goal: AnyGuarantee) -> Choice:
    """Lambda for objective perturbation: `noise_strength`, at least `least_strength` and `determinant_floor`.

    Several scores share the noise of one gradient, and the best Lambda was four times as large, up to 2 R sigma0.
    Where n is public, Lambda is at most a multiple of the optimum 4 d sigma^2 / (n s^2 R^2) of a problem whose
    directions are all alike, s^2 R^2 being 1/2 (pure noise), 1/4 or 1/16 (numbers) of the largest weight.
    """
    epsilon, _ = epsilon_and_delta(goal, "objective")
    sigma, floor, least = noise_scale(spec, goal), determinant_floor(spec, epsilon), least_strength(spec)
    wanted = noise_strength(spec, goal)
    if spec.outputs > 1:
        wanted = max(wanted, min(4 * wanted, 2 * spec.radius * sigma))
    if spec.n is not None:
        alike = 64 if spec.loss.labels is LabelKind.NUMBER else 8 if prefers_gamma_norm(spec, goal) else 16
        wanted = min(wanted, alike * spec.dim * sigma**2 / (spec.n * spec.weight))
    if floor >= max(wanted, least):
        share = f"{determinant_share(epsilon):.0%}"
        return _strength(floor, f"so that {share} of epsilon is spent on the Jacobian determinant")
    if least >= wanted:
        return _strength(least, f"for {spec.dim} coefficients, however little the noise")
    return _strength(wanted, f"from noise of deviation {sigma:.3g} on the sum of gradients and {spec.dim} coefficients")


def descent_strength(spec: ProblemSpec, goal: AnyGuarantee) -> float:
    """The Lambda = n/H that a descent of horizon H stands in for: R sigma0 / 2, and more where noise or d/n is large.

    A descent whose last half is averaged regularises like a Lambda half as large again, so two thirds of what objective
    perturbation takes. The user's Lambda counts if it is larger.
    """
    usual = spec.radius * noise_scale(spec, goal) / 2
    wanted = max(wide_strength(spec, goal), least_strength(spec)) * 2 / 3
    return max(usual, wanted, spec.regularization or 0.0)


def output_regularization(spec: ProblemSpec, goal: AnyGuarantee) -> Choice:
    """Lambda for output perturbation.

    Noise of deviation sigma0 / Lambda on every coefficient costs tr(H) sigma0^2 / (2 Lambda^2), tr(H) <= n beta; the
    regularisation costs at most Lambda R0^2 / 8 (the supremum over h of h Lambda^2 t^2 / (2 (h + Lambda)^2), summed).
    The sum is least at Lambda^3 = 8 n beta sigma0^2 / R0^2; with R0 = 2 sqrt(d) / R it is 2 n beta R^2 sigma0^2 / d.
    This is T57's trade-off without its stability term, which is far too pessimistic for choosing Lambda. Where n is not
    public, Lambda = 2 R sigma0: noise of half a unit in the longest row's margin; for labels in [-1, 1] ten times as
    much, a twentieth of a unit. Data whose directions are all alike want more at small epsilon: up to ten times as much
    was better there.
    """
    sigma = noise_scale(spec, goal)
    if spec.n is None:
        unit, share = (
            ("half the labels' range", 0.05) if spec.loss.labels is LabelKind.NUMBER else ("a margin", 0.5)
        )
        return _strength(spec.radius * sigma / share, f"for noise of {share:g} in units of {unit}, n not being public")
    value = (2 * spec.n * spec.smoothness / spec.dim) ** (1 / 3) * (spec.radius * sigma) ** (2 / 3)
    return _strength(value, f"from n={spec.n} and noise of deviation {sigma:.3g} on the sum of gradients")


def _strength(value: float, reason: str) -> Choice:
    value = min(max(value, 1e-30), 1e30)
    return Choice(value, f"Lambda = {value:.3g} (C = {1 / value:.3g}) was chosen {reason}.")
