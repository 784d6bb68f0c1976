# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What method="auto" stands for: from public constants alone, with the reason."""

import math

from dperm.data.targets import Kind
from dperm.erm.residual_losses import Squared
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError
from dperm.methods.constants import is_pure
from dperm.methods.gradient import GradientPerturbation
from dperm.methods.objective import ObjectivePerturbation
from dperm.methods.output import OutputPerturbation
from dperm.methods.perturbation import smallest_perturbation
from dperm.methods.plan import Method
from dperm.methods.rules import noise_scale
from dperm.methods.sampled_gradient import SampledGradient
from dperm.methods.sufficient import SufficientStatistics
from dperm.noise.gamma_norm import MOST_DIM
from dperm.privacy import ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee

Chosen = tuple[Method, tuple[str, ...]]
FULL_PASS = 2**26
"""Products of n and the number of coefficients up to which descent takes all records in every step."""


def automatic(spec: ProblemSpec, goal: AnyGuarantee) -> Chosen:
    """The method, and why.

    In this order:

    - a kinked loss: descent along noisy gradients (T42), which needs delta > 0 and a public n;
    - several scores (softmax) with delta > 0 and a public n: DP-SGD (T46), whose clipped gradients need a third of the
      noise; on the data sets that were looked at it was well ahead of objective perturbation up to epsilon = 4, level
      with it at 8, and quicker on large ones;
    - a goal in GDP, ZCDP or RDP: sufficient statistics for the squared loss, else gradient perturbation, or output
      perturbation where n is not public;
    - a pure goal: objective perturbation, or output perturbation where Lambda was given too small for it;
    - delta > 0: objective perturbation, unless Lambda was given so small that the determinant raises the noise by more
      than sqrt(2) (averaged gradient descent has sqrt(2) sigma0/h in a direction of curvature h, where objective
      perturbation has sigma/(h + Lambda)): then as for a goal in GDP.

    For smooth losses of one score no shape calls for another method as long as n is public: Lambda was too small for
    wide tables (`dperm.methods.rules`), not the method wrong. docs/choosing-a-method.md has the regret against the best
    method in hindsight, and where n is not public.

    Descent takes a sample of the records in each step, DP-SGD, where n times the number of coefficients exceeds 2^26.
    """
    if not math.isfinite(spec.smoothness):
        return _for_kink(spec, goal)
    if spec.outputs > 1 and spec.n is not None and isinstance(goal, ApproxDP) and not is_pure(goal):
        return SampledGradient(), (
            f"DP-SGD was chosen: with {spec.outputs} scores its clipped gradients need less noise than objective "
            f"perturbation (T46, T53a).",
        )
    if not isinstance(goal, PureDP | ApproxDP):
        return _without_objective(spec, goal, f"objective perturbation has no {type(goal).__name__} guarantee")
    return _pure(spec, goal) if is_pure(goal) else _approximate(spec, goal)


def _for_kink(spec: ProblemSpec, goal: AnyGuarantee) -> Chosen:
    if is_pure(goal) or spec.n is None:
        missing = ("delta > 0",) * is_pure(goal) + ("a public n",) * (spec.n is None)
        smooth = ', or use the smooth loss="huber_hinge"' if spec.loss.labels is Kind.SIGN else ""
        raise AssumptionError(
            f"the kinked loss {spec.loss.name!r} can only be learnt by gradient perturbation, DP-SGD or posterior "
            f"sampling (T42), which need delta > 0 and a public n, got goal={goal!r} and n={spec.n}. Give "
            f"{' and '.join(missing)}{smooth}."
        )
    reason = f"{spec.loss.name} has a kink, which objective perturbation does not allow (T42) and no certificate covers"
    return _descent(spec, goal, reason)


def _pure(spec: ProblemSpec, goal: AnyGuarantee) -> Chosen:
    if spec.dim > MOST_DIM:
        return OutputPerturbation(), (f"Output perturbation was chosen: dim={spec.dim} is beyond gamma-norm noise.",)
    if spec.regularization is not None and math.isinf(_noise_ratio(spec, goal)):
        return OutputPerturbation(), (
            f"Output perturbation was chosen: Lambda = {spec.strength:.3g} is too small for objective perturbation, "
            f"whose determinant would cost more than epsilon (T43a).",
        )
    return ObjectivePerturbation(), (_on_objective(spec, goal),)


def _approximate(spec: ProblemSpec, goal: AnyGuarantee) -> Chosen:
    if spec.regularization is None:
        return ObjectivePerturbation(), (_on_objective(spec, goal),)
    ratio = _noise_ratio(spec, goal)
    if ratio <= math.sqrt(2) or (spec.n is None and math.isfinite(ratio)):
        return ObjectivePerturbation(), (_on_objective(spec, goal),)
    known = f"by a factor {ratio:.3g}" if math.isfinite(ratio) else "beyond any bound"
    reason = (
        f"Lambda = {spec.strength:.3g} is so small that the determinant would raise the noise of objective "
        f"perturbation {known} (T43a)"
    )
    return _without_objective(spec, goal, reason)


def _on_objective(spec: ProblemSpec, goal: AnyGuarantee) -> str:
    """Why objective perturbation."""
    if spec.outputs > 1:
        missing = ("delta = 0",) * is_pure(goal) + ("n was not declared",) * (spec.n is None)
        return (
            f"Objective perturbation was chosen: DP-SGD, the choice for {spec.outputs} scores, needs delta > 0 and a "
            f"public n, and here {' and '.join(missing)}."
        )
    undeclared = spec.regularization is None and spec.n is None
    rule = " n was not declared, so the choice of Lambda does not use it." if undeclared else ""
    return (
        f"Objective perturbation was chosen: the loss is a smooth function of one score, and then noise in the "
        f"objective moves the coefficients least.{rule}"
    )


def _without_objective(spec: ProblemSpec, goal: AnyGuarantee, reason: str) -> Chosen:
    if isinstance(spec.loss, Squared):
        return SufficientStatistics(), (f"Sufficient statistics were chosen: {reason}.",)
    if spec.n is None:
        return OutputPerturbation(), (f"Output perturbation was chosen: {reason}, and n is not public.",)
    return _descent(spec, goal, reason)


def _descent(spec: ProblemSpec, goal: AnyGuarantee, reason: str) -> Chosen:
    """On all records, or on samples of them where that takes long."""
    if (spec.n or 0) * spec.dim > FULL_PASS and isinstance(goal, ApproxDP):
        return SampledGradient(), (f"DP-SGD was chosen: {reason}, and full passes over n={spec.n} records take long.",)
    return GradientPerturbation(), (f"Gradient perturbation was chosen: {reason}.",)


def _noise_ratio(spec: ProblemSpec, goal: AnyGuarantee) -> float:
    """The noise of objective perturbation over sigma0; infinite where it is impossible."""
    try:
        return smallest_perturbation(spec, goal).term.deviation / noise_scale(spec, goal)
    except AssumptionError:
        return math.inf
