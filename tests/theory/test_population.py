# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T57: expected excess population risk with explicit constants: golden, rounded up, best Lambda, and never exceeded."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.errors import AdjacencyError, AssumptionError, ParameterError
from dperm.privacy.gaussian_profile import delta_bracket, mu_for
from dperm.theory import ExcessRisk, LearningProblem, objective_excess_risk, output_excess_risk
from dperm.theory.noise_norm import replaced_mu

TEN = LearningProblem(dim=10)
REPLACE = {"epsilon": 1.0, "adjacency": "replace_one"}
BOTH = [output_excess_risk, objective_excess_risk]
GOALS = [(delta, adjacency) for delta in (0.0, 1e-5) for adjacency in ("replace_one", "add_remove")]


@pytest.mark.parametrize(
    ("n", "pure", "gauss", "objective"),
    [
        (
            10_000,
            (0.022327853888154687, 0.021224585278689173),
            (0.022844015784198115, 0.021510526218336067),
            (0.020110244206599952, 0.02010997149143223),
        ),
        (
            100_000,
            (0.006583442317950509, 0.00645654408921449),
            (0.006647360954033615, 0.006489877199305206),
            (0.006328038368001196, 0.006328035617761249),
        ),
        (
            1_000_000,
            (0.0020269527584338746, 0.0020135659565778366),
            (0.002033925981269278, 0.002017104433166305),
            (0.002000110051842329, 0.002000110024475578),
        ),
    ],
)
def test_bounds_are_golden(n, pure, gauss, objective):  # T57: golden utility_*, (lambda, bound)
    for risk, (lam, bound) in (
        (output_excess_risk(TEN, n, **REPLACE), pure),
        (output_excess_risk(TEN, n, delta=1e-5, **REPLACE), gauss),
        (objective_excess_risk(TEN, n, **REPLACE), objective),
    ):
        assert risk.bound == pytest.approx(bound, rel=1e-9)
        assert risk.regularization / n == pytest.approx(lam, rel=1e-4)
        assert risk.bound == pytest.approx(risk.bias + risk.stability + risk.noise, rel=1e-12)


def test_bounds_at_a_given_lambda_are_golden():  # T57: golden t56_t57_sim, lambda = .05
    problem = LearningProblem(dim=5, reference_norm=3.0)
    output = output_excess_risk(problem, 400, regularization=20.0, **REPLACE)
    assert output.bound == pytest.approx(0.36250000000000004, rel=1e-9)
    assert (output.bias, output.stability, output.noise) == pytest.approx((0.225, 0.1, 0.0375), rel=1e-9)
    objective = objective_excess_risk(problem, 400, regularization=20.0, **REPLACE)
    assert objective.bound == pytest.approx(0.33268986839502207, rel=1e-9)
    assert (objective.regularization, output.regularization) == (20.0, 20.0)


def as_printed(method, problem, n, lam, *, epsilon, delta, adjacency) -> mp.mpf:
    """T57 in 40 digits, mean scale."""
    with mp.workdps(40):
        k, d = (2 if adjacency == "replace_one" else 1), mp.mpf(problem.dim)
        slope, c, lam = mp.mpf(problem.lipschitz), mp.mpf(problem.smoothness), mp.mpf(lam)
        first = lam / 2 * mp.mpf(problem.reference_norm) ** 2 + 2 * slope**2 / (lam * n)
        if method is output_excess_risk:
            size = k * slope / (n * lam)
            noise = d * (d + 1) * (size / epsilon) ** 2 if delta == 0 else d * (size / mu_for(epsilon, delta)) ** 2
            return first + c / 2 * noise
        left = mp.mpf(epsilon) - mp.log1p(c / (n * lam))
        if delta == 0:
            noise = d * (d + 1) * (k * slope / left) ** 2
        else:
            mu = mu_for(float(left), delta) if k == 1 else replaced_mu(float(left), delta)
            noise = d * (slope / mu) ** 2
        return first + noise / (2 * lam * n**2)


@pytest.mark.parametrize("method", BOTH)
@given(
    st.integers(1, 500),
    st.integers(2, 10**8),
    st.floats(0.05, 10),
    st.sampled_from(GOALS),
    st.tuples(st.floats(0.1, 10), st.floats(0.01, 10), st.floats(0.1, 10)),
)
@settings(max_examples=40)
def test_bounds_are_rounded_up(method, dim, n, epsilon, goal, constants):  # T57
    problem = LearningProblem(dim, *constants)
    arguments = {"epsilon": epsilon, "delta": goal[0], "adjacency": goal[1]}
    strength = 3 * problem.smoothness / math.expm1(epsilon)
    risk = method(problem, n, regularization=strength, **arguments)
    truth = as_printed(method, problem, n, mp.mpf(strength) / n, **arguments)
    # with delta > 0 the reference itself takes mu at a rounded epsilon
    assert truth * (1 - mp.mpf(1e-12 if goal[0] else 0)) <= risk.bound <= truth * (1 + mp.mpf(1e-9))


@pytest.mark.parametrize("method", BOTH)
@given(st.integers(1, 300), st.integers(2, 10**7), st.floats(0.02, 10), st.sampled_from(GOALS), st.floats(-3, 3))
@settings(max_examples=25)
def test_no_other_regularization_is_better(method, dim, n, epsilon, goal, shift):  # T57
    problem = LearningProblem(dim, reference_norm=2.0)
    arguments = {"epsilon": epsilon, "delta": goal[0], "adjacency": goal[1]}
    best = method(problem, n, **arguments)
    assert method(problem, n, regularization=best.regularization, **arguments) == best
    for factor in (0.9, 0.99, 1.01, 1.1, 10**shift):
        try:
            other = method(problem, n, regularization=factor * best.regularization, **arguments)
        except AssumptionError:  # the determinant would take all of epsilon
            continue
        assert best.bound <= other.bound * (1 + 1e-9)


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_more_privacy_or_fewer_records_cost_more(method, delta):  # T57
    def bound(n=5000, epsilon=1.0, adjacency="replace_one"):
        return method(TEN, n, epsilon=epsilon, delta=delta, adjacency=adjacency).bound

    assert bound() < bound(epsilon=0.5) < bound(epsilon=0.1)
    assert bound() < bound(n=2500)
    assert bound(adjacency="add_remove") < bound()


def test_objective_perturbation_approaches_its_closed_form():  # T57: R0 sqrt(4 L^2/n + E||b||^2/n^2)
    n, d = 10_000, 10
    closed = math.sqrt(4 / n + d * (d + 1) * 4 / n**2)
    logistic = objective_excess_risk(TEN, n, unclipped_logistic=True, **REPLACE)
    assert logistic.bound == pytest.approx(closed, rel=1e-12)  # T36b: Lambda = 201 >= 2 R^2/eps = 2
    assert closed < objective_excess_risk(TEN, n, **REPLACE).bound < closed * 1.0001


def test_unclipped_logistic_pays_nothing_only_above_its_threshold():  # T36b: Lambda >= 2 R^2/eps = 4
    arguments = {"epsilon": 0.5, "adjacency": "replace_one"}
    for strength, free in ((4.001, True), (3.999, False)):
        with_it = objective_excess_risk(TEN, 100, regularization=strength, unclipped_logistic=True, **arguments)
        without = objective_excess_risk(TEN, 100, regularization=strength, **arguments)
        assert (with_it.bound < without.bound) is free
    with pytest.raises(AssumptionError, match=r"unclipped_logistic=True is proved for pure guarantees \(T36b\)"):
        objective_excess_risk(TEN, 100, delta=1e-5, unclipped_logistic=True, **REPLACE)


def test_a_lambda_that_leaves_nothing_is_refused():  # T36a: log(1 + c/Lambda) >= eps
    with pytest.raises(AssumptionError, match=r"got regularization=0\.1 with epsilon=1\.0. Choose one above 0\.145494"):
        objective_excess_risk(TEN, 100, regularization=0.1, **REPLACE)
    assert math.isfinite(objective_excess_risk(TEN, 100, regularization=0.1456, **REPLACE).bound)


@given(st.floats(0, 20), st.floats(1e-14, 0.9))
@settings(max_examples=60)
def test_gaussian_noise_under_replace_one_meets_its_delta_and_no_less(epsilon, delta):  # T41(b)
    m = replaced_mu(epsilon, delta)
    spent = [sum(w * delta_bracket(epsilon, s * x)[1] for w, s in ((1, 2), (2, 1))) for x in (m, m * (1 + 1e-9))]
    assert spent[0] <= delta < spent[1]


def test_gaussian_noise_under_replace_one_is_golden():  # T41(b), T43a: sigma 7.80913 for c = .04879, delta = 1e-5
    assert 1 / replaced_mu(1 - math.log1p(0.05), 1e-5) == pytest.approx(7.80913, rel=1e-6)


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("epsilon", [1e-10, 1e10])
@pytest.mark.parametrize(("delta", "adjacency"), GOALS)
def test_extremes_give_numbers(method, epsilon, delta, adjacency):
    for problem in (
        LearningProblem(1, 1e-30, 1e-30, 1e-30),
        LearningProblem(2**53, 1e30, 1e30, 1e30),
        LearningProblem(3, 1e-30, 1e30, 1e30),
        LearningProblem(3, 1e30, 1e-30, 1e-30),
    ):
        for n in (1, 2**53):
            risk = method(problem, n, epsilon=epsilon, delta=delta, adjacency=adjacency)
            assert isinstance(risk, ExcessRisk) and 0 < risk.bound < math.inf


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("n", 0),
        ("n", 2.5),
        ("epsilon", 0.0),
        ("epsilon", math.inf),
        ("delta", 1.0),
        ("delta", -1e-9),
        ("regularization", 0.0),
    ],
)
def test_nonsense_is_refused_by_name(method, name, bad):
    with pytest.raises(ParameterError, match=rf"^{name} must be .*got {bad}"):
        method(**{"problem": TEN, "n": 100, **REPLACE, name: bad})
    with pytest.raises(AdjacencyError, match="there is no default"):
        method(TEN, 100, epsilon=1.0, adjacency="both")


@pytest.mark.parametrize("name", ["dim", "lipschitz", "smoothness", "reference_norm"])
@pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, "1", None, True])
def test_constants_of_a_problem_are_checked_by_name(name, bad):
    with pytest.raises(ParameterError, match=rf"^{name} must be .*got {bad!r}"):
        LearningProblem(**{"dim": 3, name: bad})


def solve(rows, strength, linear):
    """Regularised logistic regression in sum scale, by Newton's method."""
    theta = np.zeros(rows.shape[1])
    for _ in range(25):
        p = 1 / (1 + np.exp(rows @ theta))
        hessian = (rows.T * (p * (1 - p))) @ rows + strength * np.eye(len(theta))
        theta = theta - np.linalg.solve(hessian, -(rows.T @ p) + strength * theta + linear)
    return theta


def gamma_norm(generator, dim, scale):
    direction = generator.normal(size=dim)
    return direction / np.linalg.norm(direction) * generator.gamma(dim, scale)


def test_no_excess_is_above_the_bound():  # T57, T58: the simulation of golden t56_t57_sim, .056/.052 against .36/.33
    generator = np.random.default_rng(7)
    d, n, strength = 5, 400, 20.0
    truth = np.array([3.0, 0, 0, 0, 0])
    left = 1 - math.log1p(0.25 / strength)

    def sample(count):
        rows = generator.normal(size=(count, d))
        rows /= np.linalg.norm(rows, axis=1)[:, np.newaxis]
        labels = np.where(generator.uniform(size=count) < 1 / (1 + np.exp(-rows @ truth)), 1.0, -1.0)
        return rows * labels[:, np.newaxis]

    test = sample(40_000)
    risk = lambda theta: np.logaddexp(0, -test @ theta).mean()  # noqa: E731
    output, objective = [], []
    for _ in range(60):
        rows = sample(n)
        output.append(risk(solve(rows, strength, 0.0) + gamma_norm(generator, d, 2 / strength)) - risk(truth))
        objective.append(risk(solve(rows, strength, gamma_norm(generator, d, 2 / left))) - risk(truth))
    assert 0.02 < np.mean(output) < 0.10 < 0.3625
    assert 0.02 < np.mean(objective) < 0.10 < 0.3327
    problem = LearningProblem(dim=5, reference_norm=3.0)
    assert np.mean(output) <= output_excess_risk(problem, n, regularization=strength, **REPLACE).bound
    assert np.mean(objective) <= objective_excess_risk(problem, n, regularization=strength, **REPLACE).bound


def _noise_is_enough(module) -> None:
    problem, goal = LearningProblem(dim=10), module.Goal.of(1.0, 0.0, "replace_one")
    assert module.output_noise_square(problem, 5.0, goal) >= 110 * (2 / 5.0) ** 2
    assert module.objective_noise_square(problem, goal, 0.5) >= 110 * (2 / 0.5) ** 2
    assert module.epsilon_left(problem, 0.5, goal, unclipped_logistic=False) <= 1 - math.log(1.5)
    m = module.replaced_mu(1.0, 1e-5)
    assert delta_bracket(1.0, 2 * m)[0] + 2 * delta_bracket(1.0, m)[0] <= 1e-5
    assert module.free_regularization(problem, goal) >= 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return gradients_exchanged(self.adjacency)", "return 1"),
        ("dim * (dim + 1) * scale", "dim * dim * scale"),
        ("lowered(goal.epsilon - charge, 2) if charge < goal.epsilon else 0.0", "goal.epsilon"),
        ("2 * delta_bracket(epsilon, m)[1], 4)", "0.0 * delta_bracket(epsilon, m)[1], 4)"),
        ("raised(goal.gradients * square / goal.epsilon", "raised(square / goal.epsilon"),
    ],
)
def test_unsafe_mutants_are_killed(assert_killed, old, new):  # T57, T36a, T36b, T41
    assert_killed(_noise_is_enough, "dperm.theory.noise_norm", old, new)


def _free_from_the_larger_of_both(module) -> None:
    """k max(L^2, 4c)/eps at epsilon 1/2, from above and below: for a loss that is steeper, and for one more curved."""
    for adjacency, k in (("replace_one", 2), ("add_remove", 1)):
        goal = module.Goal.of(0.5, 0.0, adjacency)
        for steepness, curvature, square in ((3.0, 0.25, 9.0), (1.0, 2.0, 8.0), (1.0, 0.25, 1.0)):
            problem = LearningProblem(10, lipschitz=steepness, smoothness=curvature)
            found = module.free_regularization(problem, goal)
            assert 2 * k * square <= found <= 2 * k * square * (1 + 1e-12)


@pytest.mark.parametrize("new", ["problem.lipschitz * problem.lipschitz", "4 * problem.smoothness"])
def test_unclipped_logistic_is_free_from_the_larger_of_l_squared_and_4c(assert_killed, new):  # T36b
    old = "max(problem.lipschitz * problem.lipschitz, 4 * problem.smoothness)"
    assert_killed(_free_from_the_larger_of_both, "dperm.theory.noise_norm", old, new)
