# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Every method plans from public constants alone, for every loss, goal and adjacency it is proved for (T31, T54)."""

import json
import math
import pickle

import pytest

from dperm import GDP, RDP, ZCDP, ApproxDP, PureDP
from dperm.accounting import MemoryBudget, account, event_to_json
from dperm.accounting.event import Event
from dperm.erm.losses import Hinge, HuberHinge, Logistic, SmoothedHinge
from dperm.erm.rounding import attainable_tolerance
from dperm.mechanisms.run import ReleaseFacts
from dperm.methods import GradientPerturbation, Method, ObjectivePerturbation, OutputPerturbation, choose
from dperm.methods.plan import MOST_ROWS, row_limit, solver_tolerance
from dperm.sensitivity.objective import OUTPUT_SHARE

ADJACENCIES = ("add_remove", "replace_one")
SMOOTH = (Logistic(), HuberHinge(0.5), SmoothedHinge(0.5))
PURE = (lambda a: PureDP(0.1, a), lambda a: PureDP(2.0, a), lambda a: ApproxDP(1.0, 0.0, a))
APPROX = (lambda a: ApproxDP(0.1, 1e-6, a), lambda a: ApproxDP(1.0, 1e-5, a), lambda a: ApproxDP(8.0, 1e-9, a))
GAUSSIAN = (lambda a: GDP(0.5, a), lambda a: ZCDP(0.1, a), lambda a: RDP([(2.0, 0.1), (10.0, 0.6)], a))
METHODS = {
    ObjectivePerturbation("auto"): (SMOOTH, PURE + APPROX),
    ObjectivePerturbation("gaussian"): (SMOOTH, APPROX),
    ObjectivePerturbation("gamma_norm"): (SMOOTH, PURE + APPROX),
    OutputPerturbation("auto"): (SMOOTH, PURE + APPROX + GAUSSIAN),
    OutputPerturbation("gaussian"): (SMOOTH, APPROX + GAUSSIAN),
    OutputPerturbation("gamma_norm"): (SMOOTH, PURE + APPROX),
    OutputPerturbation("laplace"): (SMOOTH, PURE + APPROX),
    GradientPerturbation(): ((*SMOOTH, Hinge()), APPROX + GAUSSIAN),
}
CASES = [
    pytest.param(method, loss, make(adjacency), id=f"{method}-{loss.name}-{make(adjacency)}")
    for method, (losses, goals) in METHODS.items()
    for loss in losses
    for make in goals
    for adjacency in ADJACENCIES
]


def exactly(goal) -> MemoryBudget:
    return MemoryBudget(goal, blocks=1 if isinstance(goal, ApproxDP) else None)


@pytest.mark.parametrize(("method", "loss", "goal"), CASES)
def test_a_plan_says_all_before_data_are_read_and_a_budget_of_the_goal_covers_it(method, loss, goal, spec):
    given = spec(loss)
    plan = method.plan(given, goal)
    assert isinstance(method, Method)
    assert isinstance(plan.event, Event)
    assert isinstance(plan.facts, ReleaseFacts)
    assert plan.goal == plan.facts.goal == goal
    assert plan.why
    assert all(str(reason).endswith(".") for reason in plan.why)
    assert json.loads(json.dumps(plan.describe(), allow_nan=False))["method"] == plan.method
    assert {"T31", "T45"} & set(plan.theorems)
    assert "T54" in plan.theorems
    exactly(goal).check(plan.event)


@pytest.mark.parametrize(
    ("method", "loss", "goal"),
    [case for case in CASES if case.values[1] == Logistic() and isinstance(case.values[2], PureDP | ApproxDP)],
)
def test_the_composed_noise_is_within_the_goal_and_close_to_it(method, loss, goal, spec):
    """T43: the closed form leaves over what the blur was given, and no more."""
    delta = goal.delta if isinstance(goal, ApproxDP) else 0.0
    plan = method.plan(spec(loss), goal)
    found = account(plan.event, goal.adjacency).epsilon(delta)
    assert 0.985 * goal.epsilon <= found <= goal.epsilon


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("epsilon", [0.01, 20.0, 300.0])
@pytest.mark.parametrize("share", [1.02, 10.0])
def test_that_holds_at_the_ends_and_with_little_regularization(adjacency, epsilon, share, spec):
    """T43a: close to the smallest admissible Lambda the determinant takes nearly all of epsilon."""
    goal = ApproxDP(epsilon, 1e-6, adjacency)
    least = spec(HuberHinge(0.5)).smoothness / math.expm1((1 - OUTPUT_SHARE) * epsilon)
    given = spec(HuberHinge(0.5), regularization=max(share * least, 1e-30))
    plan = ObjectivePerturbation("gaussian").plan(given, goal)
    assert 0.985 * epsilon <= account(plan.event, adjacency).epsilon(1e-6) <= epsilon


@pytest.mark.parametrize("method", [ObjectivePerturbation(), OutputPerturbation()], ids=["objective", "output"])
def test_a_given_regularization_is_kept_and_a_missing_one_is_chosen(method, spec):
    goal = ApproxDP(1.0, 1e-5, "replace_one")
    assert method.plan(spec(regularization=7.0), goal).spec.strength == 7.0
    chosen = method.plan(spec(), goal)
    assert chosen.spec.strength > 0
    assert any("Lambda" in sentence and "C =" in sentence for sentence in map(str, chosen.why))


def test_gradient_perturbation_needs_no_regularization(spec):
    plan = GradientPerturbation().plan(spec(), ApproxDP(1.0, 1e-5, "replace_one"))
    assert plan.spec.regularization is None
    assert plan.tolerance is None
    assert plan.output_noise is None


@pytest.mark.parametrize(("n", "rows"), [(None, 2**22), (10, 2**20), (100_000, 1_600_000), (2**40, 2**44)])
def test_the_limit_on_rows_is_public(n, rows):
    assert row_limit(n) == rows


def test_plans_list_the_public_numbers(spec):
    plan = ObjectivePerturbation().plan(spec(HuberHinge(0.25), clip=0.5, weight=3.0), PureDP(1.0, "add_remove"))
    told = plan.describe()
    assert told["loss"] == "huber_hinge"
    assert told["loss_width"] == 0.25
    assert told["clip"] == 0.5
    assert told["weight"] == 3.0
    assert told["lipschitz"] == pytest.approx(1.5)
    assert told["smoothness"] == pytest.approx(3 * plan.spec.radius**2 * 2)
    assert told["regularization"] == plan.spec.strength
    assert told["n"] == plan.spec.n
    assert told["dim"] == plan.spec.dim
    assert told["most_rows"] == plan.most_rows == 2**20
    assert told["tolerance"] == plan.tolerance
    assert told["determinant_loss"] == pytest.approx(math.log1p(plan.spec.smoothness / plan.spec.strength))
    assert told["output_noise"]["noise_scale"] == plan.output_noise.scale
    assert GradientPerturbation().plan(spec(Hinge()), GDP(1.0, "add_remove")).describe()["smoothness"] is None


@pytest.mark.parametrize("n", [None, 100, 10**7])
def test_the_tolerance_is_attainable_and_small(n, spec):
    """T31: fixed by the plan, never below what is attainable."""
    given = spec(n=n, regularization=10.0)
    for linear in (0.0, 1e3):
        tolerance = solver_tolerance(given, linear=linear)
        assert tolerance >= attainable_tolerance(given, row_limit(n), linear)
        assert 1e-6 * given.lipschitz <= tolerance <= 2e-5 * given.lipschitz
    assert solver_tolerance(spec(n=100, regularization=10.0)) == 1e-6 * given.lipschitz
    many = spec(n=10**11, regularization=1e-3)
    assert solver_tolerance(many) == attainable_tolerance(many, row_limit(10**11)) > 2e-5 * given.lipschitz
    assert MOST_ROWS == row_limit(None)


def test_plans_compare_and_events_survive_json(spec):
    goal = ApproxDP(1.0, 1e-5, "replace_one")
    for method in (ObjectivePerturbation(), OutputPerturbation(), GradientPerturbation()):
        plan = method.plan(spec(), goal)
        assert plan == method.plan(spec(), goal)
        assert "dperm_event" in event_to_json(plan.event)
        assert tuple(map(str, plan.because("First.").why)) == ("First.", *map(str, plan.why))


def test_reasons_are_facts_with_codes_and_plain_values(spec):
    goal = ApproxDP(1.0, 1e-5, "replace_one")
    for method in (ObjectivePerturbation(), OutputPerturbation(), GradientPerturbation()):
        plan = method.plan(spec(), goal).because("A note of one's own.")
        assert plan.why[0].code == "note" and f"noise.{plan.method}" in [reason.code for reason in plan.why]
        assert all(json.loads(json.dumps(reason.as_dict(), allow_nan=False)) for reason in plan.why)
        assert hash(plan) == hash(pickle.loads(pickle.dumps(plan)))
        assert pickle.loads(pickle.dumps(plan)).why == plan.why


def test_arguments_in_reasons_are_spelled_by_the_front_end(spec):
    plan = choose(spec(n=5000), ApproxDP(1.0, 1e-5, "replace_one"))
    (clipped,) = (reason for reason in plan.why if reason.code == "clip.default")
    assert "Set clip=1.0 for" in str(clipped)
    assert "Set --clip 1.0 for" in clipped.describe(lambda name, value: f"--{name} {value}")
