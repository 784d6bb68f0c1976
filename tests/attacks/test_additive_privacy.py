# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The exact privacy loss of additive models with one feature, at neighbours whose codes are as long as possible.

The plan is that of the estimator, and the rows are its encoded records with the constant of the intercept. In two
dimensions the density of the release is known exactly (T35-T41), as in `test_objective_privacy`. The loss is compared
with the claim from above and from below.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from exact_objective import Exact, Row, Rows, deltas, largest_loss

from dperm.data import Categorical
from dperm.data.additive_encoder import AdditiveEncoder
from dperm.data.bounded import enforce
from dperm.methods import ObjectivePerturbation
from dperm.sklearn import PrivateAdditiveClassifier, PrivateAdditiveRegressor

TERMS = {"sex": Categorical(["f", "m"])}
BOTH = pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
N = 25
GAUSSIAN = ObjectivePerturbation("gaussian")  # with so few features gamma-norm noise is smaller
WITHIN = 1 + 5e-3  # of the quadrature in two dimensions


def classifier(adjacency: str, **changes: Any) -> PrivateAdditiveClassifier:
    return PrivateAdditiveClassifier(terms=TERMS, classes=(-1, 1), adjacency=adjacency, **changes)


def regressor(adjacency: str, **changes: Any) -> PrivateAdditiveRegressor:
    return PrivateAdditiveRegressor(terms=TERMS, label_range=(-1, 1), adjacency=adjacency, **changes)


def planned(model: Any) -> Any:
    return model.plan(N if model.adjacency == "replace_one" else None)


def row_of(model: Any, sex: str, label: float, count: int = 1, *, factor: float = 1.0) -> Row:
    """Return a record as the fit sees it: encoded, scaled down to norm 1 if it is longer, with the constant."""
    space, labels = model._space(1, None), model._planned_labels()
    rows = factor * AdditiveEncoder(TERMS).transform({"sex": [sex]})
    found = enforce(rows, np.array([label]), space, labels.target)
    rows_on_grid = found.in_memory()
    feature = float(rows_on_grid.cells[0, 0]) * rows_on_grid.grid.unit
    return (feature, space.constant), label, count


def neighbours(model: Any) -> list[tuple[Rows, Rows]]:
    """Pairs in both directions: the other records are few on one side, or many on both sides."""
    found = []
    one, two = row_of(model, "m", 1), row_of(model, "m", -1)
    for rest in ((row_of(model, "f", 1, N - 1),), (row_of(model, "m", 1, 12), row_of(model, "f", -1, 12))):
        other = (two, *rest) if model.adjacency == "replace_one" else rest
        found += [((one, *rest), other), (other, (one, *rest))]
    return found


def largest_share(model: Any) -> float:
    """Return the largest exact delta over the claimed one, over all neighbours."""
    plan = planned(model)
    exact, goal = Exact(plan.spec, plan.linear_term, (1.0, 1.0)), plan.goal
    shares = []
    for rows, others in neighbours(model):
        (found,) = deltas(exact, rows, others, [goal.epsilon])
        shares.append(found / goal.delta)
    return max(shares)


def largest_pure_share(model: Any) -> float:
    """Return the largest exact loss over the epsilon that the plan leaves for the objective."""
    plan = planned(model)
    exact = Exact(plan.spec, plan.linear_term, (1.0, 1.0))
    left = plan.goal.epsilon - plan.output_noise.goal.epsilon
    return max(largest_loss(exact, rows, others) for rows, others in neighbours(model)) / left


@BOTH
def test_the_exact_delta_is_below_the_claim_under_the_default_lambda(adjacency):
    assert 0 < largest_share(classifier(adjacency, delta=1e-3, method=GAUSSIAN)) <= WITHIN


@BOTH
@pytest.mark.parametrize(("make", "low", "high"), [(classifier, 0.85, WITHIN), (regressor, 0.42, 0.55)])
def test_the_exact_delta_is_near_the_claim_where_the_determinant_costs_nothing(make, low, high, adjacency):
    """For slopes of either sign, as of the squared loss, the claim has a factor of 2 that is never reached (T41)."""
    assert low <= largest_share(make(adjacency, delta=1e-3, method=GAUSSIAN, C=1e-3)) <= high


@BOTH
@pytest.mark.parametrize("make", [classifier, regressor])
def test_the_exact_pure_loss_is_below_epsilon_and_near_it(make, adjacency):
    assert 0.95 <= largest_pure_share(make(adjacency, delta=0.0, C=1e-2)) <= 1 + 1e-9


@BOTH
def test_a_longer_code_is_scaled_down_before_the_fit(adjacency):
    """The fit does not rely on the encoder: rows of a code with norm 3 have norm 1."""
    model = classifier(adjacency)
    assert row_of(model, "m", 1, factor=3.0)[0] == pytest.approx(row_of(model, "m", 1)[0], rel=1e-6)


@BOTH
def test_these_neighbours_detect_a_plan_for_shorter_rows(adjacency):
    """Noise for rows of norm 1 / 1.5 breaks the claim at the same neighbours."""
    model = classifier(adjacency, delta=1e-3, method=GAUSSIAN, C=1e-3)
    plan = planned(model)
    short = replace(plan.linear_term, scale=plan.linear_term.scale / 1.5)
    exact = Exact(plan.spec, short, (1.0, 1.0))
    found = max(deltas(exact, rows, others, [plan.goal.epsilon])[0] for rows, others in neighbours(model))
    assert found > 1.2 * plan.goal.delta
