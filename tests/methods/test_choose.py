# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Which method, without data, and what is said about it (T42, T43a, T44)."""

import math
import warnings
from dataclasses import replace

import pytest

from dperm import GDP, ZCDP, ApproxDP, PureDP
from dperm.accounting import account
from dperm.erm.losses import Hinge, HuberHinge, Logistic, SmoothedHinge
from dperm.erm.residual_losses import Huber, Pinball, Squared
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, DpermWarning, ParameterError
from dperm.mechanisms.goal import gaussian_mu
from dperm.methods import GradientPerturbation, ObjectivePerturbation, OutputPerturbation, choose

LOUD = pytest.mark.filterwarnings("ignore:the noise :dperm.errors.DpermWarning")
"""For plans of which only the method counts: noise on coefficients, or on sums of few records, is announced."""
ADJACENCIES = ("add_remove", "replace_one")
BIG = 10**6


def problem(loss=None, **changes) -> ProblemSpec:
    return ProblemSpec(loss or Logistic(), **{"radius": 1.0, "dim": 50, "n": BIG, **changes})


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("n", [None, BIG])
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.5), SmoothedHinge(0.5)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_smooth_loss_gets_objective_perturbation(adjacency, n, loss, delta):
    plan = choose(problem(loss, n=n), ApproxDP(1.0, delta, adjacency))
    assert plan.method == "objective"
    assert str(plan.why[0]).startswith("Objective perturbation was chosen")


def test_the_reason_for_objective_perturbation_is_true_of_the_problem():
    goal = ApproxDP(1.0, 1e-6, "add_remove")
    assert "Lambda" not in str(choose(problem(), goal).why[0])
    assert "n was not declared, so the choice of Lambda does not use it" in str(choose(problem(n=None), goal).why[0])
    assert "Lambda" not in str(choose(problem(regularization=1e4), goal).why[0])
    softmax = choose(problem(Softmax(3), dim=51, n=None), goal)
    assert softmax.method == "objective" and "one score" not in str(softmax.why[0])
    assert str(softmax.why[0]).endswith(
        "the choice for 3 classes, needs delta > 0 and a public n, but n was not declared."
    )
    assert str(choose(problem(Softmax(3), dim=51), PureDP(1.0, "add_remove")).why[0]).endswith("but delta = 0.")


@LOUD
@pytest.mark.parametrize("method", ["auto", "gradient"])
def test_wide_tables_are_not_praised_and_ask_for_a_check(method):
    goal, sentence = ApproxDP(1.0, 1e-6, "replace_one"), "Check its score on public or held-out data"
    wide = " ".join(map(str, choose(problem(dim=2000, n=300), goal, method).why))
    assert "With 2000 coefficients and 300 records" in wide and sentence in wide and "wide tables too" not in wide
    assert sentence in " ".join(map(str, choose(problem(dim=50, n=100), goal, method).why))
    for narrow in (problem(dim=50, n=101), problem(dim=50), problem(Softmax(3), dim=90, n=100)):
        assert sentence not in " ".join(map(str, choose(narrow, goal, method).why))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_a_kink_gets_gradient_perturbation_or_a_refusal(adjacency):
    """T42."""
    plan = choose(problem(Hinge()), ApproxDP(1.0, 1e-6, adjacency))
    assert plan.method == "gradient"
    assert "kink" in str(plan.why[0])
    with pytest.raises(AssumptionError, match=r'DP-SGD or posterior.*Set delta > 0, or use the smooth loss="huber_h'):
        choose(problem(Hinge()), PureDP(1.0, adjacency))
    with pytest.raises(AssumptionError, match=r"and n=None\. Set a public n, or use .*huber_hinge"):
        choose(problem(Hinge(), n=None), ApproxDP(1.0, 1e-6, adjacency))
    with pytest.raises(AssumptionError, match=r"Set delta > 0 and a public n\.$"):
        choose(problem(Pinball(0.3), n=None), PureDP(1.0, adjacency))


@pytest.mark.parametrize("method", ["objective", "output", "bolt_on", "sufficient"])
def test_what_is_said_to_help_with_a_kink_does(method):
    """The remedies are learnt: descent for both losses, the other loss for a hinge."""
    goal = ApproxDP(1.0, 1e-6, "replace_one")
    for loss, other in ((Pinball(0.3), None), (Hinge(), HuberHinge(0.5))):
        with pytest.raises(AssumptionError) as refusal:
            choose(problem(loss), goal, method)
        said = str(refusal.value)
        assert all(f'method="{name}"' in said and choose(problem(loss), goal, name) for name in ("gradient", "sgd"))
        assert 'method="objective"' not in said and "PrivateHuberRegressor" not in said
        assert ("huber_hinge" in said) == (other is not None and method != "sufficient")
    assert choose(problem(HuberHinge(0.5)), goal).method == "objective"


@LOUD
def test_a_clip_that_is_not_used_is_said_to_be_unused():
    goal, reason = ApproxDP(1.0, 1e-6, "replace_one"), "The value of clip is not used: this method does not clip gradi"
    assert str(choose(replace(REGRESSION, clip=0.7), goal, "sufficient").why[0]).startswith(reason)
    for plan in (choose(REGRESSION, goal, "sufficient"), choose(replace(REGRESSION, clip=0.7), goal)):
        assert not any(sentence.startswith(reason) for sentence in map(str, plan.why))


@LOUD
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_too_little_regularization_gets_another_method(adjacency):
    """T43a: beta/(e^epsilon - 1) = .58 R^2 for this loss at epsilon = 1."""
    tight, loose = 0.1, 50.0
    loss, approx, pure = HuberHinge(0.5), ApproxDP(1.0, 1e-6, adjacency), PureDP(1.0, adjacency)
    assert choose(problem(loss, regularization=loose), approx).method == "objective"
    assert choose(problem(loss, regularization=loose), pure).method == "objective"
    assert choose(problem(loss, regularization=tight), approx).method == "gradient"
    assert choose(problem(loss, regularization=tight), pure).method == "output"
    assert choose(problem(loss, regularization=tight, n=None), approx).method == "output"
    assert "Lambda = 0.1 is" in str(choose(problem(loss, regularization=tight), approx).why[0])
    assert "T43a" in str(choose(problem(loss, regularization=tight), pure).why[0])


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_a_dear_determinant_gets_gradient_perturbation_where_n_is_public(adjacency):
    """c = log(2) of epsilon = 1 leaves .3: three times the noise."""
    goal = ApproxDP(1.0, 1e-6, adjacency)
    assert choose(problem(HuberHinge(0.5), regularization=1.0), goal).method == "gradient"
    assert choose(problem(HuberHinge(0.5), regularization=1.0, n=None), goal).method == "objective"
    assert choose(problem(HuberHinge(0.5), regularization=1.0), PureDP(1.0, adjacency)).method == "objective"


@pytest.mark.parametrize("goal", [GDP(0.5, "add_remove"), ZCDP(0.1, "replace_one")])
def test_goals_without_an_objective_perturbation_get_another_method(goal):
    assert choose(problem(), goal).method == "gradient"
    assert choose(problem(n=None), goal).method == "output"


def test_very_many_coefficients_and_a_pure_goal_get_output_perturbation():
    with pytest.warns(DpermWarning, match="outweighs"):
        assert choose(problem(dim=2**20 + 1), PureDP(1.0, "add_remove")).method == "output"


@pytest.mark.parametrize(
    ("name", "method"),
    [("objective", ObjectivePerturbation()), ("output", OutputPerturbation()), ("gradient", GradientPerturbation())],
)
def test_names_stand_for_methods(name, method):
    goal = ApproxDP(1.0, 1e-6, "replace_one")
    plan = choose(problem(), goal, name)
    assert plan.method == name
    assert choose(problem(), goal, method) == plan
    assert "was chosen" not in str(plan.why[0]).split(":")[0]


def test_parameters_of_a_method_object_are_kept():
    plan = choose(problem(), ApproxDP(1.0, 1e-6, "replace_one"), GradientPerturbation(steps=3))
    assert plan.descent.steps == 3
    noisy = choose(problem(), PureDP(1.0, "add_remove"), OutputPerturbation("laplace"))
    assert noisy.mechanism.name == "laplace"


@pytest.mark.parametrize("method", ["langevin", None, 3, ObjectivePerturbation])
def test_an_unknown_method_is_refused(method):
    with pytest.raises(ParameterError, match=r"method must be one of auto, .* or a method object of .*, got"):
        choose(problem(), PureDP(1.0, "add_remove"), method)


def test_algorithm_2_of_2008_is_refused_by_name():
    """T35."""
    with pytest.raises(AssumptionError, match=r"1\.2285"):
        choose(problem(), PureDP(1.0, "add_remove"), "nips08")


@pytest.mark.parametrize("method", ["auto", "objective", "output", "gradient"])
def test_the_logistic_loss_is_clipped_at_half_the_radius_unless_told_otherwise(method):
    """T44."""
    goal = ApproxDP(1.0, 1e-6, "replace_one")
    plan = choose(problem(radius=3.0), goal, method)
    assert plan.spec.clip == 1.5
    assert plan.spec.lipschitz == pytest.approx(1.5)
    assert any(
        "clipped to norm 1.5 (0.5 times the largest gradient norm, T44)" in sentence for sentence in map(str, plan.why)
    )
    assert choose(problem(radius=3.0, clip=3.0), goal, method).spec.clip == 3.0
    assert choose(problem(HuberHinge(0.5), radius=3.0), goal, method).spec.clip is None


def test_hopeless_noise_is_announced_with_public_numbers_only():
    goal = PureDP(0.1, "replace_one")
    with pytest.warns(DpermWarning, match=r"PureDP\(epsilon=0.1.*500 records with 50 coefficients.*a delta > 0"):
        choose(problem(n=500), goal)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        choose(problem(n=100_000), goal)
        choose(problem(n=None), goal)


@pytest.mark.parametrize("loss", [Squared(), Huber(0.5), Huber(0.05), Pinball(0.3)], ids=repr)
def test_regressions_are_announced_to_be_hopeless_earlier(loss):
    """From D sigma0 = .4 n min(L, R/4) on, where D = .6 (1 + ln d)^2."""
    goal, share = ApproxDP(1.0, 1e-6, "add_remove"), min(loss.slope, 0.25)
    slope = min(loss.slope, 0.25 if loss == Squared() else math.inf)
    limit = 0.6 * (1 + math.log(50)) ** 2 * slope / (0.4 * share * gaussian_mu(goal))
    with pytest.warns(DpermWarning, match="predictions hardly better than a constant, or worse"):
        choose(problem(loss, n=int(0.99 * limit)), goal, "gradient")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        choose(problem(loss, n=int(1.01 * limit)), goal, "gradient")


def test_advice_fits_the_goal():
    with pytest.warns(DpermWarning, match="more records") as told:
        choose(problem(n=50), ApproxDP(0.1, 1e-6, "replace_one"))
    assert "a delta > 0" not in str(told[0].message)


def test_a_delta_above_one_in_n_is_announced():
    with pytest.warns(DpermWarning, match=r"delta=0.001 is above 1/n for n=2000"):
        choose(problem(n=2000), ApproxDP(1.0, 1e-3, "replace_one"))


@pytest.mark.parametrize("epsilon", [8.0, 50.0, 400.0])
def test_a_large_epsilon_leaves_some_regularization(epsilon):
    """Lambda does not go to 0 with the noise: n records rarely bear that."""
    plan = choose(problem(n=400), ApproxDP(epsilon, 1e-6, "replace_one"))
    assert plan.spec.strength >= plan.spec.radius**2 / 50 * (1 - 1e-12)


def test_why_says_that_pure_noise_was_less():
    for method in ("objective", "output"):
        few = choose(problem(dim=3, n=10_000), ApproxDP(1.0, 1e-6, "replace_one"), method)
        many = choose(problem(dim=300, n=10_000), ApproxDP(1.0, 1e-6, "replace_one"), method)
        assert any("also holds with delta = 0" in reason for reason in map(str, few.why))
        assert not any("also holds with delta = 0" in reason for reason in map(str, many.why))


def test_a_plan_prints_its_reasons_and_numbers():
    plan = choose(problem(n=10_000), ApproxDP(1.0, 1e-6, "replace_one"))
    told = str(plan)
    assert all(str(reason) in told for reason in plan.why)
    assert f"regularization = {plan.spec.regularization}" in told


def test_the_warning_begins_where_noise_is_twice_the_gradients_of_one_direction():
    """D sigma0 = .6 (1 + ln 50)^2 2L sqrt(51)/.1 = 2067.7 L against 2 n L."""
    goal = PureDP(0.1, "replace_one")
    with pytest.warns(DpermWarning, match="outweighs"):
        choose(problem(n=1033), goal)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        choose(problem(n=1034), goal)


@pytest.mark.parametrize("goal", [None, 1.0, PureDP(0.0, "add_remove")])
def test_a_goal_that_is_none_is_refused(goal):
    with pytest.raises(ParameterError, match="goal must"):
        choose(problem(), goal)


REGRESSION = ProblemSpec(Squared(), radius=1.0, dim=5, n=10_000)
SEVERAL = ProblemSpec(Softmax(3), radius=1.0, dim=15, n=10_000)


@LOUD
@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
@pytest.mark.parametrize(
    ("spec", "goal", "method"),
    [
        (REGRESSION, (1.0, 1e-6), "objective"),
        (REGRESSION, (1.0, 0.0), "objective"),
        (replace(REGRESSION, n=None), (1.0, 1e-6), "objective"),
        (replace(REGRESSION, regularization=1e-3), (1.0, 1e-6), "sufficient"),
        (replace(REGRESSION, regularization=1e-3), (1.0, 0.0), "output"),
        (replace(REGRESSION, loss=Huber(0.3)), (1.0, 1e-6), "objective"),
        (replace(REGRESSION, loss=Huber(0.3), regularization=1e-3), (1.0, 1e-6), "gradient"),
        (replace(REGRESSION, loss=Pinball(0.3)), (1.0, 1e-6), "gradient"),
        (replace(REGRESSION, loss=Pinball(0.3), n=20_000_000), (1.0, 1e-9), "sgd"),
        (SEVERAL, (1.0, 1e-6), "sgd"),
        (SEVERAL, (1.0, 0.0), "objective"),
        (replace(SEVERAL, n=None), (1.0, 1e-6), "objective"),
        (replace(SEVERAL, regularization=1e-3), (1.0, 0.0), "output"),
    ],
)
def test_every_loss_and_goal_has_a_method(spec, goal, method, adjacency):
    epsilon, delta = goal
    asked = ApproxDP(epsilon, delta, adjacency) if delta else PureDP(epsilon, adjacency)
    plan = choose(spec, asked)
    assert plan.method == method
    assert "was chosen" in str(plan.why[0]) or "were chosen" in str(plan.why[0])
    assert account(plan.event, adjacency).delta(epsilon * (1 + 1e-12)) <= delta * (1 + 1e-9)


def test_a_goal_in_gdp_is_met_by_sufficient_statistics_or_descent():
    assert choose(replace(REGRESSION, n=None), GDP(0.5, "add_remove")).method == "sufficient"
    assert choose(SEVERAL, GDP(0.5, "add_remove")).method == "gradient"


@LOUD
@pytest.mark.parametrize("name", ["objective", "output", "gradient", "sgd", "bolt_on", "sufficient", "posterior"])
def test_every_name_stands_for_the_method_of_that_name(name):
    spec = replace(REGRESSION, n=200, dim=2, regularization=30.0)
    assert choose(spec, ApproxDP(1.0, 1e-6, "replace_one"), name).method == name


@LOUD
def test_gradients_are_clipped_where_nothing_was_said_and_the_reasons_say_where():
    goal = ApproxDP(1.0, 1e-6, "replace_one")
    plan = choose(replace(REGRESSION, radius=2.0), goal)
    assert plan.spec.clip == 0.5
    assert any("clipped to norm 0.5" in sentence and "Huber" in sentence for sentence in map(str, plan.why))
    assert choose(SEVERAL, goal).spec.clip == 0.5
    assert choose(SEVERAL, goal, "objective").spec.clip is None
    assert choose(REGRESSION, goal, "sufficient").spec.clip is None
    assert choose(replace(REGRESSION, clip=0.7), goal).spec.clip == 0.7
