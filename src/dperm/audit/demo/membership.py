# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Third part: who was in the training data (LiRA, A9)."""

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
from dperm.privacy import PureDP

RECORDS, COLUMNS, MODELS = 300, 100, 64
REGULARIZATION = 25.0
"""Lambda, of the models with and without noise: objective perturbation at epsilon 1 needs 15 for such rows (T43a)."""
FLIPPED = 0.2
"""Share of the labels that do not follow from the columns: a model can only learn them by heart."""
POINTS = 200
LOW_RATE = 0.01
Progress = Callable[[float], None] | None


def membership(goal: PureDP, seed: int | None = None, progress: Progress = None) -> DemoAttack:
    """LiRA against logistic regressions, fitted exactly and by objective perturbation, on the same halves."""
    x, signs = made_up_records(seed)
    mask = paired_coins(RECORDS, MODELS, adjacency=goal.adjacency, seed=seed)
    exact = shadow_logistic(x, signs, mask, C=1 / REGULARIZATION, dtype="float64")
    private = private_models(x, signs, mask, goal=goal, progress=progress)
    scores = [signs[:, np.newaxis] * (x @ models) for models in (exact, private)]
    without, with_noise = (lira_on_scores(each, mask, adjacency=goal.adjacency) for each in scores)
    return _part(without, with_noise, goal)


def made_up_records(seed: int | None = None) -> tuple[Floats, Floats]:
    """Columns of -1 and +1, and a class that follows from them but for some."""
    coins = generator(seed, "records of the demo")
    x = coins.choice([-1.0, 1.0], (RECORDS, COLUMNS))
    signs = np.where(x @ coins.normal(size=COLUMNS) > 0, 1.0, -1.0)
    return x, np.where(coins.random(RECORDS) < FLIPPED, -signs, signs)


def private_models(x: Floats, signs: Floats, mask: Mask, *, goal: PureDP, progress: Progress = None) -> Floats:
    """Coefficients (columns x models), each model with noise of its own."""
    space = FeatureSpace(COLUMNS, norm=COLUMNS**0.5, intercept=False)
    spec = ProblemSpec(Logistic(), space.radius, space.size, RECORDS // 2, REGULARIZATION)
    plan, models = ObjectivePerturbation().plan(spec, goal), np.empty((COLUMNS, mask.shape[1]))
    for place, member in enumerate(mask.T):
        read = partial(enforce, x[member], signs[member], space, Classes((-1.0, 1.0)))
        models[:, place] = plan.run(read).value
        if progress is not None:
            progress((place + 1) / mask.shape[1])
    return models


def _part(exact: MembershipResult, private: MembershipResult, goal: PureDP) -> DemoAttack:
    ceiling = private.ceilings(goal)["AUC"]
    sentence = (
        f"LiRA tells members from others with an AUC of {exact.roc.auc:.2f} without DP and of {private.roc.auc:.2f} "
        f"with epsilon = {goal.epsilon:g}, which allows {ceiling:.2f} at most; guessing has 0.50."
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
    return DemoAttack("Membership inference", sentence, table, {name: _curve(roc) for name, roc in rocs.items()})


def _curve(roc: Roc) -> tuple[list[float], list[float]]:
    """Points of the curve, evenly spread over its corners."""
    false, true = roc.curve
    places = np.unique(np.linspace(0, len(false) - 1, POINTS).astype(int))
    return false[places].tolist(), true[places].tolist()
