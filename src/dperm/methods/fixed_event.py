# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Training with an accounting event that is fixed before the problem is known (T70)."""

from dperm.accounting.event import Event
from dperm.checks import shown
from dperm.erm.loss import Loss
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, ParameterError
from dperm.methods.choose import BY_NAME
from dperm.methods.declared_event import EventMethod
from dperm.methods.defaults import default_clip, descent_clip
from dperm.methods.gradient import GradientPerturbation
from dperm.methods.plan import Method, Plan
from dperm.methods.sampled_gradient import SampledGradient
from dperm.presentation.spelling import quoted_arg
from dperm.privacy.guarantee import AnyGuarantee


def declare_event(
    goal: AnyGuarantee,
    loss: Loss,
    *,
    method: str | Method = "objective",
    clip: float | None = None,
    n: int | None = None,
) -> Event:
    """Return an accounting event for a training run that meets ``goal``, before the number of features is known (T70).

    Parameters
    ----------
    goal
        Guarantee of the training run alone, without other stages. Every method accepts ApproxDP with delta > 0.
    loss
        Loss of the problem. For more than two classes, `Softmax` with an upper bound on the number of classes.
    method
        "objective", "output", "gradient", "sgd" or "sufficient", or a method object.
    clip
        Clipping norm of the gradients divided by the bound on the norm of a row; None for the default of the method.
    n
        Public number of records; None if it is not declared.

    Returns
    -------
    Event
        Event to compose with the events of other stages.

    Raises
    ------
    AssumptionError
        If the method does not support declared events.
    ConversionError
        If the noise of the method cannot satisfy ``goal``.
    ParameterError
        If the method is unknown, or an argument is out of range.

    Examples
    --------
    >>> from dperm import ApproxDP
    >>> from dperm.erm.losses import Logistic
    >>> from dperm.erm.spec import ProblemSpec
    >>> from dperm.methods import declare_event, plan_from_event
    >>> goal = ApproxDP(1.0, 1e-5, "add_remove")
    >>> event = declare_event(goal, Logistic())  # before data
    >>> plan = plan_from_event(ProblemSpec(Logistic(), radius=3.0, dim=57), event, goal)  # 57 was discovered
    >>> plan.event == event
    True
    """
    return _event_method(method).declare_event(goal, loss, clip=clip, n=n)


def plan_from_event(spec: ProblemSpec, event: Event, goal: AnyGuarantee, *, method: str | Method = "objective") -> Plan:
    """Return a plan with exactly the declared event, for a problem that became known later (T70).

    If ``spec.clip`` is None, the default clipping norm of the method applies.

    Parameters
    ----------
    spec
        Constants of the problem; they may depend on earlier releases.
    event
        Result of `declare_event` for the same method.
    goal
        Goal that was passed to `declare_event`, the guarantee of the training run alone.
    method
        Method that was passed to `declare_event`.

    Returns
    -------
    Plan
        The plan.

    Raises
    ------
    AssumptionError
        If the method does not support declared events, or the event does not cover the problem.
    ParameterError
        If the event belongs to a different method or does not meet ``goal``, or if the method is unknown.
    """
    chosen = _event_method(method)
    by_descent = isinstance(chosen, GradientPerturbation | SampledGradient)
    clip = descent_clip(spec) if by_descent else default_clip(spec)
    return chosen.plan_from_event(spec.clipped(clip), event, goal)


def _event_method(method: object) -> EventMethod:
    """Return the method object, if it plans from a fixed event."""
    found = BY_NAME[method]() if isinstance(method, str) and method in BY_NAME else method
    if isinstance(found, type) or not isinstance(found, Method):
        raise ParameterError(
            argument="method",
            rule=f"must be one of {', '.join(_capable())}, or a method object of dperm.methods",
            got=shown(method),
        )
    if not (isinstance(found, EventMethod) and getattr(found, "plans_from_event", False)):
        raise AssumptionError(
            f"{type(found).__name__} has no plan from a fixed event (T70): dperm calibrates its noise together with "
            f"the constants of the problem.",
            remedy=f"Use one of {', '.join(quoted_arg('method', name) for name in _capable())}.",
        )
    return found


def _capable() -> tuple[str, ...]:
    """Return the names of the methods that plan from a fixed event."""
    return tuple(name for name, kind in BY_NAME.items() if getattr(kind, "plans_from_event", False))
