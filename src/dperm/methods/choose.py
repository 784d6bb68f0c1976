# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Choice of the training method from public constants alone, with the reasons for the choice."""

import math
import warnings
from collections.abc import Callable

from dperm.checks import shown
from dperm.data.targets import LabelKind
from dperm.erm.residual_losses import Squared
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, ParameterError
from dperm.mechanisms.goal import checked_goal
from dperm.methods.bolt_on import BoltOn
from dperm.methods.conditions import is_pure
from dperm.methods.defaults import (
    Rule,
    default_clip,
    descent_clip,
    objective_regularization,
    reference_noise,
    with_default_regularization,
)
from dperm.methods.gradient import GradientPerturbation
from dperm.methods.literature import nips08_algorithm_2
from dperm.methods.noise_warning import delta_warning, noise_warning
from dperm.methods.objective import ObjectivePerturbation, smallest_perturbation
from dperm.methods.output import OutputPerturbation
from dperm.methods.plan import Method, Plan
from dperm.methods.posterior import PosteriorSampling
from dperm.methods.sampled_gradient import SampledGradient
from dperm.methods.sufficient import SufficientStatistics
from dperm.noise.gamma_norm import MOST_DIM
from dperm.presentation.facts import Fact
from dperm.presentation.spelling import arg
from dperm.presentation.user_line import level_of_user
from dperm.privacy import ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee

Chosen = tuple[Method, tuple[Fact, ...]]
_NAMES = {
    "objective": "Objective perturbation was",
    "output": "Output perturbation was",
    "gradient": "Gradient perturbation was",
    "sgd": "DP-SGD was",
    "sufficient": "Sufficient statistics were",
}
FULL_PASS = 2**26
"""Largest product of n and the number of coefficients for descent on all records."""
BY_NAME: dict[str, Callable[[], Method]] = {
    "objective": ObjectivePerturbation,
    "output": OutputPerturbation,
    "gradient": GradientPerturbation,
    "sgd": SampledGradient,
    "bolt_on": BoltOn,
    "sufficient": SufficientStatistics,
    "posterior": PosteriorSampling,
}
NAMES = ("auto", *BY_NAME)
WIDE = 0.5
"""Coefficients of a score per record above which `Plan.why` recommends a check of the score."""


def choose(
    spec: ProblemSpec, goal: AnyGuarantee, method: str | Method = "auto", *, rule: Rule = objective_regularization
) -> Plan:
    """Return the plan of a training method, with defaults for unset options.

    The attribute ``why`` of the plan contains the reasons for the choices. If ``spec.clip`` is None, gradients are
    clipped to a default norm for those losses for which clipping improves accuracy (T44, `dperm.methods.defaults`).

    Parameters
    ----------
    spec
        Public constants of the problem.
    goal
        Guarantee to meet.
    method
        "objective", "output", "gradient", "sgd", "bolt_on", "sufficient", "posterior", or a method object. "auto"
        chooses a method that suits ``spec`` and ``goal``.
    rule
        Rule for an unset Lambda of objective perturbation, a function of `dperm.methods.defaults`.

    Returns
    -------
    Plan
        Plan that meets ``goal``.

    Raises
    ------
    ParameterError
        If ``method`` is neither a known name nor a method object.

    Warns
    -----
    DpermWarning
        If the noise dominates the information in n records (`dperm.methods.noise_warning`), or if delta exceeds 1/n.

    Examples
    --------
    >>> from dperm import ApproxDP
    >>> from dperm.erm.losses import Logistic
    >>> from dperm.erm.spec import ProblemSpec
    >>> from dperm.methods import choose
    >>> plan = choose(ProblemSpec(Logistic(), radius=1.0, dim=50), ApproxDP(1.0, 1e-6, "add_remove"))
    >>> plan.method, plan.spec.clip
    ('objective', 0.5)
    """
    goal = checked_goal(goal)
    chosen, reason = _method(spec.clipped(default_clip(spec)), goal, method)
    by_descent = isinstance(chosen, GradientPerturbation | SampledGradient)
    clipped = spec.clipped(descent_clip(spec) if by_descent else default_clip(spec))
    named: tuple[Fact, ...] = ()
    if isinstance(chosen, ObjectivePerturbation) and rule is not objective_regularization:
        clipped, found = with_default_regularization(clipped, goal, rule)
        named = tuple(found)
    plan = chosen.plan(clipped, goal)
    plan = plan.because(*reason, *_on_clipping(spec, plan.spec), *_on_width(plan), *named)
    _warn(plan, clipped)
    return plan


def _method(spec: ProblemSpec, goal: AnyGuarantee, method: object) -> Chosen:
    """Return the method object for a name, and the reason if it was chosen automatically."""
    if method == "auto":
        return automatic(spec, goal)
    if method == "nips08":
        nips08_algorithm_2()
    if isinstance(method, str) and method in BY_NAME:
        return BY_NAME[method](), ()
    if isinstance(method, Method) and not isinstance(method, type):
        return method, ()
    raise ParameterError(
        argument="method",
        rule=f"must be one of {', '.join(NAMES)}, or a method object of dperm.methods",
        got=shown(method),
        remedy=f"Write {method.__name__}() for one of its objects." if isinstance(method, type) else "",
    )


def _on_width(plan: Plan) -> tuple[Fact, ...]:
    """Return advice for tables with about as many coefficients as records, where private learning may fail."""
    spec = plan.spec
    if spec.n is None or plan.method == "finite" or spec.width < WIDE * spec.n:
        return ()
    each = " for each class" if spec.outputs > 1 else ""
    template = (
        f"With {{coefficients}} coefficients{each} and {{n}} records, a private model learns well only if few "
        "directions of X matter. Check its score on public or held-out data before you rely on the model."
    )
    return (Fact("width.large", template, {"coefficients": spec.width, "n": spec.n}),)


def _on_clipping(before: ProblemSpec, after: ProblemSpec) -> tuple[Fact, ...]:
    if after.clip is None and before.clip is not None:
        return (Fact("clip.unused", "The value of {@clip} is not used: this method does not clip gradients.", {}),)
    if after.clip is None or after.clip == before.clip:
        return ()
    effects = {
        LabelKind.NUMBER: "larger residuals do not increase the gradient beyond this norm, as in the Huber loss.",
        LabelKind.SIGN: "this halves the noise, but makes predicted probabilities overconfident. Set {@clip:1.0} for "
        "calibrated probabilities.",
    }
    effect = effects.get(after.loss.labels, "this reduces the noise.")
    largest = "largest gradient norm" if after.loss.labels is LabelKind.SIGN else "bound on the norm of a row"
    template = f"Gradients are clipped to norm {{clip:.3g}} ({{share:.2g}} times the {largest}, T44): {effect}"
    return (Fact("clip.default", template, {"clip": after.clip, "share": after.clip / after.radius}),)


def _warn(plan: Plan, clipped: ProblemSpec) -> None:
    for warning in (delta_warning(plan.goal, plan.spec.n), noise_warning(plan, clipped)):
        if warning is not None:
            warnings.warn(warning, stacklevel=level_of_user())


def automatic(spec: ProblemSpec, goal: AnyGuarantee) -> Chosen:
    """Return the method for ``method="auto"`` with the reason.

    In this order:

    - A kinked loss: descent along noisy gradients (T42), which needs delta > 0 and a public n.
    - Several scores (softmax) with delta > 0 and a public n: DP-SGD (T46), whose clipped gradients need a third of the
      noise. On the data sets studied it was well ahead of objective perturbation up to epsilon = 4, level at 8, and
      faster on large ones.
    - A goal in GDP, ZCDP or RDP: sufficient statistics for the squared loss, otherwise gradient perturbation, or output
      perturbation without a public n.
    - A pure goal: objective perturbation, or output perturbation if the given Lambda is too small for it.
    - delta > 0: objective perturbation, unless the given Lambda is so small that the determinant raises the noise by
      more than sqrt(2). Averaged gradient descent has sqrt(2) sigma0/h in a direction of curvature h, objective
      perturbation sigma/(h + Lambda). Then the choice is the same as for a goal in GDP.

    For smooth losses of one score no table shape calls for another method as long as n is public; wide tables need a
    larger Lambda (`dperm.methods.defaults`), not another method. docs/choosing-a-method.md has the regret against the
    best method in hindsight, and the case without a public n.

    Descent takes a sample of the records in each step, DP-SGD, where n times the number of coefficients exceeds 2^26.
    """
    if not math.isfinite(spec.smoothness):
        return _for_kink(spec, goal)
    if spec.outputs > 1 and spec.n is not None and isinstance(goal, ApproxDP) and not is_pure(goal):
        cause = "with {scores} classes, its clipped gradients need less noise than objective perturbation (T46, T53a)."
        return SampledGradient(), (_chosen("sgd", cause, scores=spec.outputs),)
    if not isinstance(goal, PureDP | ApproxDP):
        return _without_objective(
            spec, goal, "objective perturbation has no {guarantee} guarantee", guarantee=type(goal).__name__
        )
    return _pure(spec, goal) if is_pure(goal) else _approximate(spec, goal)


def _for_kink(spec: ProblemSpec, goal: AnyGuarantee) -> Chosen:
    if is_pure(goal) or spec.n is None:
        missing = ("delta > 0",) * is_pure(goal) + ("a public n",) * (spec.n is None)
        smooth = ', or use the smooth loss="huber_hinge"' if spec.loss.labels is LabelKind.SIGN else ""
        raise AssumptionError(
            f"the kinked loss {spec.loss.name!r} needs gradient perturbation, DP-SGD or posterior sampling (T42), with "
            f"delta > 0 and a public n, got goal={goal!r} and {arg('n', repr(spec.n))}.",
            remedy=f"Set {' and '.join(missing)}{smooth}.",
        )
    cause = (
        "the {loss} loss has a kink, so objective perturbation is not private (T42) and output perturbation has no "
        "certified minimizer (T31)"
    )
    return _descent(spec, goal, cause, loss=spec.loss.name)


def _pure(spec: ProblemSpec, goal: AnyGuarantee) -> Chosen:
    if spec.dim > MOST_DIM:
        cause = "{dim} coefficients are too many for gamma-norm noise."
        return OutputPerturbation(), (_chosen("output", cause, dim=spec.dim),)
    if spec.regularization is not None and math.isinf(_noise_ratio(spec, goal)):
        cause = (
            "Lambda = {strength:.3g} is too small for objective perturbation: the determinant would leave too little "
            "of epsilon for the noise (T43a)."
        )
        return OutputPerturbation(), (_chosen("output", cause, strength=spec.strength),)
    return ObjectivePerturbation(), (_on_objective(spec, goal),)


def _approximate(spec: ProblemSpec, goal: AnyGuarantee) -> Chosen:
    if spec.regularization is None:
        return ObjectivePerturbation(), (_on_objective(spec, goal),)
    ratio = _noise_ratio(spec, goal)
    if ratio <= math.sqrt(2) or (spec.n is None and math.isfinite(ratio)):
        return ObjectivePerturbation(), (_on_objective(spec, goal),)
    values: dict[str, object] = {"strength": spec.strength}
    effect = "leave too little of epsilon for the noise of objective perturbation"
    if math.isfinite(ratio):
        effect, values["factor"] = "raise the noise of objective perturbation by a factor of {factor:.3g}", ratio
    cause = f"Lambda = {{strength:.3g}} is so small that the determinant would {effect} (T43a)"
    return _without_objective(spec, goal, cause, **values)


def _chosen(method: str, cause: str, **values: object) -> Fact:
    """Return the reason of an automatic choice: the method's name, then ``cause``, the rest of the sentence."""
    return Fact("method.auto", f"{_NAMES[method]} chosen: {cause}", {"method": method, **values})


def _on_objective(spec: ProblemSpec, goal: AnyGuarantee) -> Fact:
    if spec.outputs > 1:
        missing = ("delta = 0",) * is_pure(goal) + ("{@n} was not declared",) * (spec.n is None)
        cause = (
            f"DP-SGD, the choice for {{scores}} classes, needs delta > 0 and a public n, but {' and '.join(missing)}."
        )
        return _chosen("objective", cause, scores=spec.outputs)
    undeclared = spec.regularization is None and spec.n is None
    rule = " {@n} was not declared, so the choice of Lambda does not use it." if undeclared else ""
    cause = (
        f"for a smooth loss of a linear model, objective perturbation usually changes the coefficients less than the "
        f"other methods do.{rule}"
    )
    return _chosen("objective", cause)


def _without_objective(spec: ProblemSpec, goal: AnyGuarantee, cause: str, **values: object) -> Chosen:
    if isinstance(spec.loss, Squared):
        return SufficientStatistics(), (_chosen("sufficient", f"{cause}.", **values),)
    if spec.n is None:
        return OutputPerturbation(), (_chosen("output", f"{cause}, and {{@n}} was not declared.", **values),)
    return _descent(spec, goal, cause, **values)


def _descent(spec: ProblemSpec, goal: AnyGuarantee, cause: str, **values: object) -> Chosen:
    """Choose descent on all records, or on samples of them where full passes take too long."""
    if (spec.n or 0) * spec.dim > FULL_PASS and isinstance(goal, ApproxDP):
        cause = f"{cause}, and full passes over {{@n:{{n}}}} records take too long."
        return SampledGradient(), (_chosen("sgd", cause, n=spec.n, **values),)
    return GradientPerturbation(), (_chosen("gradient", f"{cause}.", **values),)


def _noise_ratio(spec: ProblemSpec, goal: AnyGuarantee) -> float:
    """Return the noise of objective perturbation over sigma0; infinite where it is impossible."""
    try:
        return smallest_perturbation(spec, goal).term.deviation / reference_noise(spec, goal)
    except AssumptionError:
        return math.inf
