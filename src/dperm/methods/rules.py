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

from dperm.data.targets import Kind
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


def least_strength(spec: ProblemSpec) -> float:
    """The Lambda below which no rule goes, w R^2/50: what is left of regularisation when noise no longer asks for any.

    On unit rows it is C = 50. Without it a large epsilon would ask for no regularisation at all, which n records
    rarely bear.
    """
    return spec.weight * spec.radius**2 / 50


def objective_regularization(spec: ProblemSpec, goal: AnyGuarantee) -> Choice:
    """Lambda for objective perturbation.

    The noise b moves a direction by sigma / (h + Lambda), so the cost h (Lambda^2 t^2 + sigma^2) / (2 (h + Lambda)^2)
    has its supremum over h at h = Lambda, and summed over d directions it is (Lambda^2 R0^2 + d sigma^2) / (8 Lambda):
    least at Lambda = sigma sqrt(d) / R0, with no n in it; R0 = sqrt(d) / R gives R sigma0, for noise that drowns all
    but the steepest directions. With less Gaussian noise more of them are steep and Lambda may be smaller: it is
    multiplied by min(1, epsilon^-0.3 / 2). Several scores share the noise of one gradient, and the best Lambda was four
    times as large, at most 2 R sigma0. Where n is public, Lambda is at most a multiple of the optimum
    4 d sigma^2 / (n s^2 R^2) of a problem whose directions are all alike, s^2 R^2 being 1/2 (pure noise) or 1/4 of the
    largest weight. The constants were fixed after a look at Adult, KDD Cup 99, MNIST and a dozen synthetic data sets
    (benchmarks/convex.py).
    """
    epsilon, _ = epsilon_and_delta(goal, "objective")
    sigma, floor = noise_scale(spec, goal), determinant_floor(spec, epsilon)
    pure = prefers_gamma_norm(spec, goal)
    counted = (8 if pure else 16) * spec.dim * sigma**2 / (spec.n * spec.weight) if spec.n else math.inf
    share = min(1.0, epsilon**-0.3 / 2) if not pure or spec.n is None else 1.0
    share = share if spec.outputs == 1 else min(4 * share, 2.0)
    wanted = min(spec.radius * sigma * share, counted)
    reason = (
        f"so that {determinant_share(epsilon):.0%} of epsilon pay for the determinant"
        if floor > wanted
        else f"from noise of deviation {sigma:.3g} on the sum of gradients"
    )
    return _strength(max(wanted, floor, least_strength(spec)), reason)


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
        unit, share = ("a margin", 0.5) if spec.loss.labels is not Kind.NUMBER else ("half the labels' range", 0.05)
        return _strength(spec.radius * sigma / share, f"for noise of {share:g} in units of {unit}, n not being public")
    value = (2 * spec.n * spec.smoothness / spec.dim) ** (1 / 3) * (spec.radius * sigma) ** (2 / 3)
    return _strength(value, f"from n={spec.n} and noise of deviation {sigma:.3g} on the sum of gradients")


def _strength(value: float, reason: str) -> Choice:
    value = min(max(value, 1e-30), 1e30)
    return Choice(value, f"Lambda = {value:.3g} (C = {1 / value:.3g}) was chosen {reason}.")


def is_drowned(spec: ProblemSpec, goal: AnyGuarantee) -> bool:
    """Whether the noise on the sum of gradients is too much for n records.

    For classes, at least half the longest possible sum, n L. For regressions, an eighth of n min(L, w R/4): labels in
    [-1, 1] are some quarter away from what a model says at first. Of 432 synthetic regressions (2 to 30 features, noise
    of a tenth or half of the variance, medians of five fits) none had R^2 < 0 below that; four of five had above, and
    all of those for a quantile.
    """
    if spec.n is None:
        return False
    noise = noise_scale(spec, goal) * math.sqrt(spec.dim)
    if spec.loss.labels is Kind.NUMBER:
        return noise >= spec.n * min(spec.lipschitz, spec.weight * spec.radius / 4) / 8
    return noise >= spec.n * spec.lipschitz / 2
