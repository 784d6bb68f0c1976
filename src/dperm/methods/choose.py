# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Which method, without data: from public constants alone, with the reasons."""

import math
import warnings

from dperm.checks import shown
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, DpermWarning, ParameterError
from dperm.mechanisms.goal import checked_goal
from dperm.methods.constants import is_pure
from dperm.methods.gradient import GradientPerturbation
from dperm.methods.objective import ObjectivePerturbation
from dperm.methods.output import OutputPerturbation
from dperm.methods.perturbation import smallest_perturbation
from dperm.methods.plan import Method, Plan
from dperm.methods.published import nips08_algorithm_2
from dperm.methods.rules import default_clip, is_drowned, noise_scale
from dperm.noise.gamma_norm import MOST_DIM
from dperm.privacy import ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee

NAMES = ("auto", "objective", "output", "gradient")


def choose(spec: ProblemSpec, goal: AnyGuarantee, method: str | Method = "auto") -> Plan:
    """The plan of ``method`` for ``spec``, with what was left open decided by rules, and the reasons in ``why``.

    "auto", in this order:

    - a kinked loss: gradient perturbation (T42), which needs delta > 0 and a public n;
    - a goal in GDP, ZCDP or RDP: gradient perturbation, or output perturbation where n is not public;
    - a pure goal: objective perturbation, or output perturbation where Lambda was given too small for it;
    - delta > 0: objective perturbation, unless Lambda was given so small that the determinant raises the noise by more
      than sqrt(2) (averaged gradient descent has sqrt(2) sigma0/h in a direction of curvature h, where objective
      perturbation has sigma/(h + Lambda)): then gradient perturbation; output perturbation where n is not public and
      objective perturbation is impossible.

    Where the logistic loss came without a clip, its gradients are clipped at half the radius (T44).

    Parameters
    ----------
    spec
        Public constants of the problem.
    goal
        The guarantee.
    method
        "auto", "objective", "output" or "gradient", or a method object.

    Warns
    -----
    DpermWarning
        If the noise is so large that nothing can be learnt from n records.

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
    clipped = spec.clipped(default_clip(spec))
    reasons = _on_clipping(spec, clipped)
    chosen, reason = _method(clipped, goal, method)
    plan = chosen.plan(clipped, goal).because(*reason, *reasons)
    _warn(plan)
    return plan


def _method(spec: ProblemSpec, goal: AnyGuarantee, method: object) -> tuple[Method, tuple[str, ...]]:
    """The object that the name stands for, and why, where it was chosen."""
    match method:
        case "auto":
            return _automatic(spec, goal)
        case "objective":
            return ObjectivePerturbation(), ()
        case "output":
            return OutputPerturbation(), ()
        case "gradient":
            return GradientPerturbation(), ()
        case "nips08":
            nips08_algorithm_2()
        case Method() if not isinstance(method, type):
            return method, ()
    remedy = f" Write {method.__name__}() for one of its objects." if isinstance(method, type) else ""
    raise ParameterError(
        f"method must be one of {', '.join(NAMES)}, or a method object of dperm.methods, got {shown(method)}.{remedy}"
    )


def _automatic(spec: ProblemSpec, goal: AnyGuarantee) -> tuple[Method, tuple[str, ...]]:
    if not math.isfinite(spec.smoothness):
        return _for_kink(spec, goal)
    if not isinstance(goal, PureDP | ApproxDP):
        return _without_objective(spec, f"objective perturbation has no {type(goal).__name__} guarantee")
    if is_pure(goal):
        return _pure(spec, goal)
    return _approximate(spec, goal)


def _for_kink(spec: ProblemSpec, goal: AnyGuarantee) -> tuple[Method, tuple[str, ...]]:
    if is_pure(goal) or spec.n is None:
        missing = "delta > 0" if is_pure(goal) else "a public n"
        raise AssumptionError(
            f"the kinked loss {spec.loss.name!r} can only be learnt by gradient perturbation, which needs {missing}, "
            f'got goal={goal!r} and n={spec.n}. Use loss="huber_hinge", which is smooth, or give {missing}.'
        )
    return GradientPerturbation(), (
        f"Gradient perturbation was chosen: {spec.loss.name} has a kink, which objective perturbation does not allow "
        f"(T42) and no certificate covers.",
    )


def _pure(spec: ProblemSpec, goal: AnyGuarantee) -> tuple[Method, tuple[str, ...]]:
    if spec.dim > MOST_DIM:
        return OutputPerturbation(), (f"Output perturbation was chosen: dim={spec.dim} is beyond gamma-norm noise.",)
    if spec.regularization is not None and math.isinf(_noise_ratio(spec, goal)):
        return OutputPerturbation(), (
            f"Output perturbation was chosen: Lambda = {spec.strength:.3g} is too small for objective perturbation, "
            f"whose determinant would cost more than epsilon (T43a).",
        )
    return ObjectivePerturbation(), (_SMOOTH,)


def _approximate(spec: ProblemSpec, goal: AnyGuarantee) -> tuple[Method, tuple[str, ...]]:
    if spec.regularization is None:
        return ObjectivePerturbation(), (_SMOOTH,)
    ratio = _noise_ratio(spec, goal)
    if ratio <= math.sqrt(2) or (spec.n is None and math.isfinite(ratio)):
        return ObjectivePerturbation(), (_SMOOTH,)
    known = f"by a factor {ratio:.3g}" if math.isfinite(ratio) else "beyond any bound"
    return _without_objective(
        spec,
        f"Lambda = {spec.strength:.3g} is so small that the determinant would raise the noise of objective "
        f"perturbation {known} (T43a)",
    )


def _without_objective(spec: ProblemSpec, reason: str) -> tuple[Method, tuple[str, ...]]:
    if spec.n is None:
        return OutputPerturbation(), (f"Output perturbation was chosen: {reason}, and n is not public.",)
    return GradientPerturbation(), (f"Gradient perturbation was chosen: {reason}.",)


def _noise_ratio(spec: ProblemSpec, goal: AnyGuarantee) -> float:
    """The noise of objective perturbation over sigma0; infinite where it is impossible."""
    try:
        return smallest_perturbation(spec, goal).term.deviation / noise_scale(spec, goal)
    except AssumptionError:
        return math.inf


def _on_clipping(before: ProblemSpec, after: ProblemSpec) -> tuple[str, ...]:
    if after.clip == before.clip:
        return ()
    return (
        f"Gradients are clipped at half the radius, {after.clip:.3g}: that halves the noise, and makes predicted "
        f"probabilities too sure of themselves (T44). Give clip=1.0 for probabilities that mean what they say.",
    )


def _warn(plan: Plan) -> None:
    if isinstance(plan.goal, ApproxDP) and plan.spec.n is not None and plan.goal.delta > 1 / plan.spec.n:
        warnings.warn(
            f"delta={plan.goal.delta:g} is above 1/n for n={plan.spec.n}: publishing a record at random would be "
            f"as private. Give a delta well below 1/n.",
            DpermWarning,
            stacklevel=5,
        )
    if is_drowned(plan.spec, plan.goal):
        warnings.warn(
            f"the noise that {plan.goal} asks for outweighs what {plan.spec.n} records with {plan.spec.dim} "
            f"coefficients can say: expect predictions no better than a guess. Give a larger epsilon, "
            f"{'a delta > 0, ' if is_pure(plan.goal) else ''}more records, or fewer features.",
            DpermWarning,
            stacklevel=5,
        )


_SMOOTH = (
    "Objective perturbation was chosen: the loss is a smooth function of the margin, and then noise in the objective "
    "moves the coefficients least."
)
