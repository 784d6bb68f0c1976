# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Which method, without data: from public constants alone, with the reasons."""

import warnings
from collections.abc import Callable

from dperm.checks import shown
from dperm.data.targets import LabelKind
from dperm.erm.spec import ProblemSpec
from dperm.errors import DpermWarning, ParameterError
from dperm.mechanisms.goal import checked_goal
from dperm.methods.automatic import Chosen, automatic
from dperm.methods.bolt_on import BoltOn
from dperm.methods.gradient import GradientPerturbation
from dperm.methods.noise_ratio import noise_warning
from dperm.methods.objective import ObjectivePerturbation
from dperm.methods.output import OutputPerturbation
from dperm.methods.plan import Method, Plan
from dperm.methods.posterior import PosteriorSampling
from dperm.methods.published import nips08_algorithm_2
from dperm.methods.rules import default_clip, descent_clip
from dperm.methods.sampled_gradient import SampledGradient
from dperm.methods.sufficient import SufficientStatistics
from dperm.privacy import ApproxDP
from dperm.privacy.guarantee import AnyGuarantee

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
"""Coefficients of a score per record from which `Plan.why` asks for a check of the score."""


def choose(spec: ProblemSpec, goal: AnyGuarantee, method: str | Method = "auto") -> Plan:
    """The plan of ``method`` for ``spec``, with what was left open decided by rules, and the reasons in ``why``.

    "auto" is `dperm.methods.automatic.automatic`.

    Where no clip was given, gradients are clipped where a rule says so (T44, `dperm.methods.rules`).

    Parameters
    ----------
    spec
        Public constants of the problem.
    goal
        The guarantee.
    method
        "auto", "objective", "output", "gradient", "sgd", "bolt_on", "sufficient" or "posterior", or a method object.

    Warns
    -----
    DpermWarning
        If the noise is so large that n records say hardly more than a constant, by `dperm.methods.noise_ratio`; if
        delta is above 1/n.

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
    plan = chosen.plan(clipped, goal)
    plan = plan.because(*reason, *_on_clipping(spec, plan.spec), *_on_width(plan))
    _warn(plan, clipped)
    return plan


def _method(spec: ProblemSpec, goal: AnyGuarantee, method: object) -> Chosen:
    """The object that the name stands for, and why, where it was chosen."""
    if method == "auto":
        return automatic(spec, goal)
    if method == "nips08":
        nips08_algorithm_2()
    if isinstance(method, str) and method in BY_NAME:
        return BY_NAME[method](), ()
    if isinstance(method, Method) and not isinstance(method, type):
        return method, ()
    remedy = f" Write {method.__name__}() for one of its objects." if isinstance(method, type) else ""
    raise ParameterError(
        f"method must be one of {', '.join(NAMES)}, or a method object of dperm.methods, got {shown(method)}.{remedy}"
    )


def _on_width(plan: Plan) -> tuple[str, ...]:
    """What to check where there are about as many coefficients as records; private learning then may fail."""
    spec = plan.spec
    if spec.n is None or plan.method == "finite" or spec.width < WIDE * spec.n:
        return ()
    each = " for each score" if spec.outputs > 1 else ""
    return (
        f"With {spec.width} coefficients{each} and {spec.n} records this learns well only if few directions of X "
        f"matter. Check the score on public or held-out data before you rely on it.",
    )


def _on_clipping(before: ProblemSpec, after: ProblemSpec) -> tuple[str, ...]:
    if after.clip is None and before.clip is not None:
        return ("The clip that was given is not used: this method clips no gradients.",)
    if after.clip is None or after.clip == before.clip:
        return ()
    share = f"Gradients are clipped at {after.clip:.3g}, {after.clip / after.radius:.2g} of the radius (T44)"
    match after.loss.labels:
        case LabelKind.NUMBER:
            return (f"{share}: residuals beyond that pull no harder, as in Huber's loss.",)
        case LabelKind.SIGN:
            effect = "that halves the noise, and makes predicted probabilities overconfident"
            return (f"{share}: {effect}. Give clip=1.0 for probabilities that mean what they say.",)
    return (f"{share}: that lessens the noise.",)


def _warn(plan: Plan, clipped: ProblemSpec) -> None:
    if isinstance(plan.goal, ApproxDP) and plan.spec.n is not None and plan.goal.delta > 1 / plan.spec.n:
        warnings.warn(
            f"delta={plan.goal.delta:g} is above 1/n for n={plan.spec.n}: publishing a record at random would be "
            f"as private. Give a delta well below 1/n.",
            DpermWarning,
            stacklevel=5,
        )
    told = noise_warning(plan, clipped)
    if told is not None:
        warnings.warn(told, DpermWarning, stacklevel=5)
