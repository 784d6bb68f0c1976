# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The methods side by side (T57, T48a; T56a, T48): the same numbers as their calculators, in order, best first."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from dperm.errors import AdjacencyError, ParameterError
from dperm.privacy.gaussian_profile import mu_for
from dperm.theory import (
    LearningProblem,
    best_method,
    compare_methods,
    gradient_empirical_risk,
    gradient_excess_risk,
    gradient_sample_size,
    objective_empirical_risk,
    objective_excess_risk,
    objective_sample_size,
    output_empirical_risk,
    output_excess_risk,
    output_sample_size,
    smallest_sample,
)

TEN = LearningProblem(dim=10)
RISKS = ["population", "empirical"]
GOALS = [(delta, adjacency) for delta in (0.0, 1e-5) for adjacency in ("replace_one", "add_remove")]
CALCULATORS = {
    "population": {
        "output": output_excess_risk,
        "objective": objective_excess_risk,
        "gradient": gradient_excess_risk,
    },
    "empirical": {
        "output": output_empirical_risk,
        "objective": objective_empirical_risk,
        "gradient": gradient_empirical_risk,
    },
}
SIZES = {"output": output_sample_size, "objective": objective_sample_size, "gradient": gradient_sample_size}


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize(("delta", "adjacency"), GOALS)
@pytest.mark.parametrize("n", [50, 10**6])
def test_the_bounds_are_those_of_the_calculators(risk, delta, adjacency, n):  # T57, T48a, T56a, T48
    goal = {"epsilon": 0.7, "delta": delta, "adjacency": adjacency}
    found = compare_methods(TEN, n, risk=risk, **goal)
    assert [each.bound for each in found] == sorted(each.bound for each in found)
    assert {each.method for each in found} == {"output", "objective"} | ({"gradient"} if delta else set())
    for each in found:
        calculator, laws = CALCULATORS[risk][each.method], {0.0 if each.method != "gradient" else delta, delta}
        expected = min((calculator(TEN, n, **{**goal, "delta": law}) for law in laws), key=lambda one: one.bound)
        assert each.bound == expected.bound
        assert each.regularization == getattr(expected, "regularization", None)
        assert each.steps == getattr(expected, "steps", None)
        assert each.says_nothing is (each.bound >= 1)
    assert best_method(TEN, n, risk=risk, **goal) == found[0]


def test_without_delta_gradient_perturbation_is_left_out():  # T48 has no pure version
    pure = compare_methods(TEN, 1000, epsilon=1.0, adjacency="replace_one")
    assert sorted(each.method for each in pure) == ["objective", "output"]
    assert smallest_sample(TEN, 0.1, epsilon=1.0, adjacency="replace_one").each == (("objective", 491), ("output", 579))


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_what_is_pure_is_never_worse_than_what_is_approximate(risk, adjacency):  # T1
    """A pure guarantee implies the other one: a smaller promise never needs more records, nor has a larger bound."""
    for dim in (1, 3, 10, 40):
        problem = LearningProblem(dim)
        goals = [{"epsilon": 0.3, "delta": delta, "adjacency": adjacency, "risk": risk} for delta in (0.0, 1e-6)]
        pure, weak = ({each.method: each.bound for each in compare_methods(problem, 5000, **goal)} for goal in goals)
        assert all(weak[method] <= pure[method] for method in pure)
        pure, weak = (dict(smallest_sample(problem, 0.05, **goal).each) for goal in goals)
        assert all(weak[method] <= pure[method] for method in pure)


MANY = LearningProblem(dim=100)
"""So many coefficients that Gaussian noise is smaller."""


@pytest.mark.parametrize(("delta", "adjacency"), GOALS)
def test_noise_is_a_standard_deviation_per_coordinate(delta, adjacency):  # T7, T6, T36a, T40, T45
    k = 2 if adjacency == "replace_one" else 1
    found = {each.method: each for each in compare_methods(MANY, 4000, epsilon=1.0, delta=delta, adjacency=adjacency)}
    output, objective = found["output"], found["objective"]
    size = k / output.regularization
    expected = size * math.sqrt(101) if delta == 0 else size / mu_for(1.0, delta)
    assert output.noise == pytest.approx(expected, rel=1e-9)
    left = 1 - math.log1p(0.25 / objective.regularization)
    expected = k * math.sqrt(101) / left if delta == 0 else k / mu_for(left, delta)
    assert objective.noise == pytest.approx(expected, rel=1e-4)  # T41(b) asks for a little more
    law = "gamma-norm" if delta == 0 else "Gaussian"
    assert (output.noise_kind, objective.noise_kind) == (
        f"{law}, on the coefficients",
        f"{law}, on the gradient of the summed objective",
    )
    if delta:
        steps = found["gradient"].steps
        assert found["gradient"].noise == pytest.approx(k * math.sqrt(steps) / (4000 * mu_for(1.0, delta)), rel=1e-9)
        assert found["gradient"].noise_kind == "Gaussian, on the mean gradient of every step"


@pytest.mark.parametrize(
    ("delta", "adjacency", "tags"),
    [
        (0.0, "replace_one", {"output": ("T57", "T30", "T7"), "objective": ("T57", "T36a")}),
        (
            1e-5,
            "replace_one",
            {"output": ("T57", "T30", "T6"), "objective": ("T57", "T41"), "gradient": ("T48a", "T45")},
        ),
        (
            1e-5,
            "add_remove",
            {"output": ("T57", "T30", "T6"), "objective": ("T57", "T40"), "gradient": ("T48a", "T45")},
        ),
    ],
)
def test_every_bound_says_what_it_rests_on(delta, adjacency, tags):
    goal = {"epsilon": 1.0, "delta": delta, "adjacency": adjacency}
    assert {each.method: each.tags for each in compare_methods(MANY, 100, **goal)} == tags
    for each in compare_methods(MANY, 100, risk="empirical", **goal):
        assert each.tags == ("T48" if each.method == "gradient" else "T56a", *tags[each.method][1:])


def test_a_bound_that_says_nothing_says_so():  # L R0 is what theta = 0 has
    problem = LearningProblem(dim=100, lipschitz=2.0, reference_norm=3.0)
    found = compare_methods(problem, 100, epsilon=0.1, delta=1e-6, adjacency="replace_one")
    assert all(each.says_nothing and each.bound >= 6.0 for each in found)
    assert not best_method(problem, 10**7, epsilon=0.1, delta=1e-6, adjacency="replace_one").says_nothing


@pytest.mark.parametrize("reach", [1e-9, 0.1, 1.0, 7.0, 1e3])
def test_logistic_loss_leaves_less_at_zero(reach):
    """On records of one margin the excess of 0 is attained: ln 2 - ln(1 + e^-reach)."""
    plain, logistic = (LearningProblem(3, lipschitz=reach, logistic=known) for known in (False, True))
    assert plain.zero_excess == pytest.approx(reach, rel=1e-12)
    with mpmath.workdps(50):
        truth = mpmath.log(2) - mpmath.log(1 + mpmath.exp(-mpmath.mpf(reach)))
    assert truth <= logistic.zero_excess <= truth * (1 + 1e-12)


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize(("delta", "adjacency"), GOALS)
@pytest.mark.parametrize("excess", [0.3, 0.02])
def test_the_smallest_sample_is_the_smallest(risk, delta, adjacency, excess):  # T57, T48a, T56a, T48
    goal = {"epsilon": 0.5, "delta": delta, "adjacency": adjacency, "risk": risk}
    sample = smallest_sample(TEN, excess, **goal)
    assert sample.best == best_method(TEN, sample.n, **goal)
    assert sample.best.bound <= excess < best_method(TEN, sample.n - 1, **goal).bound
    assert sample.each == tuple(sorted(sample.each, key=lambda pair: pair[1]))
    assert sample.each[0] == (sample.best.method, sample.n)
    for method, n in sample.each:
        laws = {0.0 if method != "gradient" else delta, delta}
        assert n == min(SIZES[method](TEN, excess, **{**goal, "delta": law}) for law in laws)
    assert len(sample.each) == (3 if delta else 2)


def test_objective_perturbation_is_best_with_many_records_and_gradient_where_losses_bend():  # T56a, T48
    goal = {"epsilon": 1.0, "delta": 1e-5, "adjacency": "replace_one", "risk": "empirical"}
    assert best_method(TEN, 10**5, **goal).method == "objective"
    assert best_method(LearningProblem(10, smoothness=1e9), 10**5, **goal).method == "gradient"


def test_a_method_out_of_reach_is_left_out_of_the_list():
    bent = LearningProblem(10, smoothness=1e30)
    sample = smallest_sample(bent, 0.5, epsilon=1.0, delta=1e-5, adjacency="replace_one")
    assert [method for method, _ in sample.each] == ["gradient"]
    with pytest.raises(ParameterError, match=r"excess must be reachable with at most 2\^53 records"):
        smallest_sample(bent, 0.5, epsilon=1.0, adjacency="replace_one")


@pytest.mark.parametrize("function", [compare_methods, best_method, smallest_sample])
def test_nonsense_is_refused_by_name(function):
    second = "excess" if function is smallest_sample else "n"
    good = {"problem": TEN, second: 100, "epsilon": 1.0, "adjacency": "replace_one"}
    for name, bad in [("problem", 3), (second, 0), ("epsilon", 0.0), ("delta", 1.0), ("risk", "both"), ("risk", None)]:
        with pytest.raises(ParameterError, match=rf"^{name} must be .*got {bad!r}"):
            function(**{**good, name: bad})
    with pytest.raises(AdjacencyError, match="there is no default"):
        function(**{**good, "adjacency": None})


def test_counts_of_numpy_are_taken():
    plain, counted = (
        compare_methods(TEN, n, epsilon=1.0, delta=1e-5, adjacency="add_remove") for n in (500, np.int64(500))
    )
    assert plain == counted


def test_bounds_fall_with_records_and_epsilon():  # T57, T48a, T56a, T48
    for risk, adjacency in itertools.product(RISKS, ("replace_one", "add_remove")):

        def bounds(n, epsilon, risk=risk, adjacency=adjacency):
            found = compare_methods(TEN, n, epsilon=epsilon, delta=1e-6, adjacency=adjacency, risk=risk)
            return {each.method: each.bound for each in found}

        base, more, less = bounds(10**5, 1.0), bounds(10**6, 1.0), bounds(10**5, 0.5)
        assert all(more[method] < base[method] < less[method] for method in base)
