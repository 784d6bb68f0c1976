# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The estimators that are tried, and what their plans say about noise."""

import warnings
from typing import TYPE_CHECKING, Any

from dperm.checks import shown
from dperm.errors import DpermWarning, ParameterError
from dperm.planner.rows import Sample
from dperm.planner.shape import Shape
from dperm.planner.sizes import Goal
from dperm.privacy import Adjacency, ApproxDP, PureDP

if TYPE_CHECKING:
    from dperm.methods.plan import Plan

TRIED = ("auto", "objective", "output", "gradient", "sgd", "bolt_on", "posterior")


def checked_method(method: object) -> str:
    """A method whose trials are known to end soon."""
    if method not in TRIED:
        raise ParameterError(argument="method", rule=f"must be one of {', '.join(TRIED)}", got=shown(method))
    return str(method)


def checked_goal(goal: object) -> Goal:
    """An epsilon, perhaps with a delta, that an estimator takes."""
    if not isinstance(goal, PureDP | ApproxDP) or not 0 < goal.epsilon <= 500:
        raise ParameterError(
            f'goal must be ApproxDP(1.0, 1e-6, "replace_one") or PureDP(1.0, "add_remove") or alike, with an epsilon '
            f"in (0, 500], got {shown(goal)}."
        )
    return goal


def estimator(shape: Shape, goal: Goal, method: str, seed: int | None = None) -> Any:
    """Logistic regression with its defaults.

    Under add_remove the number of rows is private. The shape's n is public, and is declared to the estimator.
    """
    from dperm.sklearn import PrivateLogisticRegression

    return PrivateLogisticRegression(
        epsilon=goal.epsilon,
        delta=goal.delta if isinstance(goal, ApproxDP) else 0.0,
        adjacency=goal.adjacency,
        method=method,
        feature_norm=shape.feature_norm,
        classes=(0, 1),
        n=_declared_rows(shape, goal),
        random_state=seed,
    )


def plan_of(shape: Shape, goal: Goal, method: str) -> "Plan":
    """Plan of the estimator, as its fit runs it.

    Raises
    ------
    AssumptionError, AdjacencyError, ConversionError
        If the method cannot give this guarantee.
    """
    model = estimator(shape, goal, method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DpermWarning)
        plan: Plan = model.plan(n=shape.n, dim=shape.dim)
    return plan


def _declared_rows(shape: Shape, goal: Goal) -> int | None:
    """``n`` of the estimator: under replace_one a fit takes the number of rows itself."""
    return shape.n if goal.adjacency is Adjacency.ADD_REMOVE else None


def accuracy(sample: Sample, shape: Shape, goal: Goal, *, method: str, seed: int) -> float:
    """Of one fit with noise that follows from a seed: NOT PRIVATE, of made-up rows."""
    model = estimator(shape, goal, method, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DpermWarning)
        model.fit(sample.X, sample.y)
    return sample.accuracy(model.predict(sample.X_test))


def noise_of(plan: "Plan") -> float | None:
    """Standard deviation of the noise in each coordinate; None where no noise is added."""
    numbers = plan.numbers
    for place, name in (("step_noise", "noise_scale"), ("output_noise", "noise_standard_deviation")):
        found = numbers.get(place)
        if isinstance(found, dict) and "objective_noise_standard_deviation" not in numbers:
            return float(found[name])
    deviation = numbers.get("objective_noise_standard_deviation")
    return None if deviation is None else float(str(deviation))
