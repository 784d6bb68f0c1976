# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Demonstration of membership inference with LiRA (A9)."""

from collections.abc import Callable
from functools import partial

import numpy as np

from dperm.audit.demo.result import Cell, DemoAttack, ResultTable
from dperm.audit.membership import MembershipResult, Roc, lira_on_scores, paired_coins, shadow_logistic
from dperm.audit.membership.roc import rate_name
from dperm.data.arrays import Floats, Mask
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.erm.losses import Logistic
from dperm.erm.spec import ProblemSpec
from dperm.methods import ObjectivePerturbation
from dperm.noise.simulation import generator
from dperm.presentation.facts import Fact
from dperm.privacy import PureDP

RECORDS, COLUMNS, MODELS = 300, 100, 64
REGULARIZATION = 25.0
"""Lambda of all models; objective perturbation at epsilon 1 needs 15 for rows of this norm (T43a)."""
FLIPPED = 0.2
"""Share of random labels; a model can only memorize them."""
POINTS = 200
LOW_RATE = 0.01
Progress = Callable[[float], None] | None


def membership(goal: PureDP, seed: int | None = None, progress: Progress = None) -> DemoAttack:
    """Attack logistic regressions with LiRA, fitted exactly and by objective perturbation on the same halves."""
    x, signs = made_up_records(seed)
    mask = paired_coins(RECORDS, MODELS, adjacency=goal.adjacency, seed=seed)
    exact = shadow_logistic(x, signs, mask, C=1 / REGULARIZATION, dtype="float64")
    private = private_models(x, signs, mask, goal=goal, progress=progress)
    scores = [signs[:, np.newaxis] * (x @ models) for models in (exact, private)]
    without, with_noise = (lira_on_scores(each, mask, adjacency=goal.adjacency) for each in scores)
    return _result(without, with_noise, goal)


def made_up_records(seed: int | None = None) -> tuple[Floats, Floats]:
    """Return columns of -1 and +1, and a class that depends on them except for a share of random labels."""
    coins = generator(seed, "records of the demo")
    x = coins.choice([-1.0, 1.0], (RECORDS, COLUMNS))
    signs = np.where(x @ coins.normal(size=COLUMNS) > 0, 1.0, -1.0)
    return x, np.where(coins.random(RECORDS) < FLIPPED, -signs, signs)


def private_models(x: Floats, signs: Floats, mask: Mask, *, goal: PureDP, progress: Progress = None) -> Floats:
    """Return coefficients (columns x models); each model has its own noise."""
    space = FeatureSpace(COLUMNS, norm=COLUMNS**0.5, intercept=False)
    spec = ProblemSpec(Logistic(), space.radius, space.size, RECORDS // 2, REGULARIZATION)
    plan, models = ObjectivePerturbation().plan(spec, goal), np.empty((COLUMNS, mask.shape[1]))
    for place, member in enumerate(mask.T):
        read = partial(enforce, x[member], signs[member], space, Classes((-1.0, 1.0)))
        models[:, place] = plan.run(read).value
        if progress is not None:
            progress((place + 1) / mask.shape[1])
    return models


def _result(exact: MembershipResult, private: MembershipResult, goal: PureDP) -> DemoAttack:
    ceiling = private.ceilings(goal)["AUC"]
    conclusion = Fact(
        "demo.membership",
        "LiRA separates members from non-members with an AUC of {exact:.2f} without DP and of {private:.2f} with "
        "epsilon = {epsilon:g}, which allows at most {ceiling:.2f}; guessing has 0.50.",
        {"exact": exact.roc.auc, "private": private.roc.auc, "epsilon": goal.epsilon, "ceiling": ceiling},
    )
    rocs = {"without DP": exact.roc, "with DP": private.roc}
    low = rate_name(LOW_RATE)
    ceilings = private.roc.ceilings(goal, (LOW_RATE,))
    rows: tuple[tuple[Cell, ...], ...] = (
        *((name, roc.auc, roc.tpr_at(LOW_RATE)) for name, roc in rocs.items()),
        ("by guessing", 0.5, LOW_RATE),
        (f"at most, by epsilon = {goal.epsilon:g}", ceilings["AUC"], ceilings[low]),
    )
    table = ResultTable(("models", "AUC", rate_name(LOW_RATE)), rows)
    return DemoAttack("Membership inference", conclusion, table, {name: _curve(roc) for name, roc in rocs.items()})


def _curve(roc: Roc) -> tuple[list[float], list[float]]:
    """Return points of the curve, evenly spread over its corners."""
    false, true = roc.curve
    places = np.unique(np.linspace(0, len(false) - 1, POINTS).astype(int))
    return false[places].tolist(), true[places].tolist()
