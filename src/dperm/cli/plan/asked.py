# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""From options to what the planner takes; what is refused is called as it is typed."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from dperm.cli.plan.given import Given
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.cli.plan.columns import Columns
    from dperm.planner import Shape, Trials
    from dperm.privacy import ApproxDP, PureDP

LARGEST_EPSILON = 500.0
"""The largest that a fit takes."""


def guarantee(epsilon: float, delta: float, adjacency: str) -> "PureDP | ApproxDP":
    """What is to be promised; pure for delta 0."""
    from dperm import checks
    from dperm.privacy import ApproxDP, PureDP

    size, small = checks.positive("--epsilon", epsilon), checks.small_delta("--delta", delta)
    if size > LARGEST_EPSILON:
        raise ParameterError(f"--epsilon must be at most {LARGEST_EPSILON:g}, got {size:g}: that promises nothing.")
    return ApproxDP(size, small, adjacency) if small > 0 else PureDP(size, adjacency)


def goal_of(given: Given) -> "PureDP | ApproxDP":
    """What is to be promised, with the defaults of a fit that is charged to nothing."""
    from dperm.cli.charging import delta_of, relation_of

    promise = given.promise
    return guarantee(promise.size, delta_of(None, promise.delta), relation_of(None, promise.adjacency))


def shape_of(given: Given, n: int | None, columns: "Columns") -> "Shape":
    """The public numbers that data are made up by; what was left out has the default of `Shape`."""
    from dperm.planner import Shape

    declared = given.declared
    optional = {"balance": declared.balance, "baseline": declared.baseline, "feature_norm": columns.feature_norm}
    assert n is not None
    return Shape(n, columns.dim, **{name: value for name, value in optional.items() if value is not None})


def warn_as_a_fit(goal: "PureDP | ApproxDP", n: int, dim: int) -> None:
    """Whatever a fit of so many records would warn of, as it would: a delta above 1/n, noise that drowns them.

    Under add_remove a fit does not know n, and says nothing; here n is a public guess.
    """
    from dperm.privacy import ApproxDP
    from dperm.sklearn import PrivateLogisticRegression

    delta = goal.delta if isinstance(goal, ApproxDP) else 0.0
    model = PrivateLogisticRegression(
        epsilon=goal.epsilon, delta=delta, adjacency=goal.adjacency, feature_norm=1.0, n=n, classes=(0, 1)
    )
    model.plan(dim=dim)


def trials_of(given: Given, progress: Callable[[float], None] = lambda share: None) -> "Trials":
    """How often to try, from which seed."""
    from dataclasses import replace

    from dperm.planner import Trials

    usual = Trials.quick() if given.question.quick else Trials()
    return replace(usual, seed=given.question.seed or 0, progress=progress)


def methods_of(given: Given) -> tuple[str, ...]:
    """Those to try: the one that was asked for, or all."""
    from dperm.planner import METHODS
    from dperm.planner.expectation import checked_method

    method = given.promise.method
    return METHODS if method is None else (checked_method(method),)
