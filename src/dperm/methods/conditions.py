# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Conditions on goals and losses, shared by several methods."""

from dperm.data.targets import LabelKind
from dperm.erm.loss import Loss
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, ConversionError
from dperm.mechanisms.goal import checked_goal
from dperm.presentation.spelling import arg, quoted_arg
from dperm.privacy import ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee


def require_gradient_of_loss(spec: ProblemSpec, method: str) -> None:
    """Refuse a clip whose gradients belong to no convex function: then there is nothing to minimise (T44)."""
    if spec.outputs > 1 and spec.is_clipped:
        raise AssumptionError(
            f"{method} perturbation minimises a convex function, but clipped gradients of the loss {spec.loss.name!r} "
            f"belong to none (T44 is about one score), got {arg('clip', format(spec.clip, '.6g'))} below the "
            f"longest gradient "
            f"{spec.radius * spec.loss.slope:.6g}.",
            remedy=f"Leave {arg('clip')} out, or use {quoted_arg('method', 'gradient')} or "
            f"{quoted_arg('method', 'sgd')}.",
        )


def smooth_alternatives(loss: Loss) -> str:
    """Return the remedy for a kinked loss and a method for smooth losses only."""
    descent = (
        f"{quoted_arg('method', 'gradient')} or {quoted_arg('method', 'sgd')}, which need delta > 0 and a public n"
    )
    if loss.labels is LabelKind.SIGN:
        return f'Use the smooth loss="huber_hinge", or {descent}.'
    return f"No smooth loss learns a quantile: use {descent}."


def is_pure(goal: AnyGuarantee) -> bool:
    """Return whether the goal has delta = 0."""
    return isinstance(goal, PureDP) or (isinstance(goal, ApproxDP) and goal.delta == 0)


def epsilon_and_delta(goal: AnyGuarantee, method: str) -> tuple[float, float]:
    """Return epsilon and delta of a PureDP or ApproxDP goal; ``method`` can be calibrated to no other guarantee."""
    goal = checked_goal(goal)
    if isinstance(goal, PureDP):
        return goal.epsilon, 0.0
    if isinstance(goal, ApproxDP):
        return goal.epsilon, goal.delta
    raise ConversionError(
        f"{method} perturbation is calibrated to PureDP(epsilon, adjacency) or ApproxDP(epsilon, delta, adjacency), "
        f"got goal={goal!r}.",
        remedy=f"For {type(goal).__name__} goals use {quoted_arg('method', 'gradient')} or "
        f"{quoted_arg('method', 'output')}.",
    )
