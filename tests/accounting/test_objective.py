# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""`PerturbedObjective`: golden numbers, composition, curves, costs and calibration (T37-T41, T43, T43a).

Reference values: golden numbers of the specification (objpert_bounds_example, kst, rkw_mc_*, rdp_mono_example).
"""

import json
import math

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from dperm.accounting import (
    Gaussian,
    Laplace,
    MemoryBudget,
    PerturbedObjective,
    Poisson,
    WithoutReplacement,
    account,
    calibrate,
    event_from_json,
    event_to_json,
)
from dperm.accounting.composition import Composition
from dperm.accounting.contour import engine as contour
from dperm.accounting.lattice import engine as lattice
from dperm.accounting.objective import determinant_loss, objective_delta, objective_noise_multiplier
from dperm.accounting.rdp import DEFAULT_ORDERS, rdp_epsilon
from dperm.errors import AssumptionError, BudgetError, ConversionError, EventFormatError, ParameterError
from dperm.privacy import GDP, RDP, ZCDP, Adjacency, ApproxDP, PureDP
from dperm.privacy.adjacency import Direction
from dperm.privacy.gaussian_profile import mu_for

ADD, REPLACE = "add_remove", "replace_one"
EXAMPLE = (5.0, 0.25 / 10)  # sigma/L and beta/Lambda
KINDS = [(ADD, True), (ADD, False), (REPLACE, True), (REPLACE, False)]
every_kind = pytest.mark.parametrize(("adjacency", "monotone"), KINDS)


@pytest.mark.parametrize(
    ("adjacency", "monotone", "epsilon", "golden", "accuracy"),
    [
        (ADD, True, 1.0, 3.335940211315556e-08, 1e-9),
        (ADD, False, 1.0, 6.671880422631112e-08, 1e-9),
        (REPLACE, True, 1.0, 0.0015522819197338143, 1e-9),
        (REPLACE, False, 1.0, 2 * 0.0015522152009295879, 1e-9),
        (ADD, True, 0.03, 0.07723489639005938, 1e-9),
    ],
)
def test_delta_is_golden(adjacency, monotone, epsilon, golden, accuracy):
    """T39, T40, T41: objpert_bounds_example (L = 1, sigma = 5, beta = 1/4, Lambda = 10); (c) is twice the collinear."""
    assert objective_delta(epsilon, *EXAMPLE, adjacency, monotone) == pytest.approx(golden, rel=accuracy)
    low, high = account(PerturbedObjective(*EXAMPLE, monotone), adjacency).delta_bracket(epsilon)
    assert low <= golden * (1 + accuracy) and golden * (1 - accuracy) <= high and high - low <= 1e-10 * high


def test_delta_agrees_with_a_simulation_of_the_bound():
    """T39: rkw_mc_1.0 (sigma = 2, beta = 1/4, Lambda = 1)."""
    found = objective_delta(1.0, 2.0, 0.25, ADD, monotone=False)
    assert found == pytest.approx(0.037332175555473385, rel=1e-9)
    assert found == pytest.approx(0.03724575411522799, rel=4e-3)


@pytest.mark.parametrize(
    ("noise", "curvature", "epsilon", "golden"),
    [(*EXAMPLE, 0.03, 0.1540414828772753), (2.0, 0.25, 0.1, 0.4544212561046407)],
)
def test_below_the_smallest_loss_t39_is_golden_and_the_event_better(noise, curvature, epsilon, golden):
    """T39: objpert_bounds_example and rkw_mc_0.1, where delta = 1 - e^eps E e^{-U}; T14 leaves less, in both orders."""
    event = PerturbedObjective(noise, curvature, monotone=False)
    moment = float(event.bound(Adjacency(ADD)).log_mgf_real(np.array([-1.0]))[0])
    assert -math.expm1(epsilon + moment) == pytest.approx(golden, rel=1e-9)
    assert 0.7 * golden < account(event, ADD).delta(epsilon) < golden


def test_the_determinant_costs_log_of_one_plus_curvature_rounded_up():
    """T37: objpert_bounds_example's c, not the paper's -log(1 - beta/Lambda) = 0.0253178."""
    assert determinant_loss(0.025) == pytest.approx(0.0246926125903715, rel=1e-14)
    assert determinant_loss(0.0) == 0.0
    for curvature in (1e-18, 1e-3, 0.7, 50.0, 1e90):
        value = determinant_loss(curvature)
        assert math.log1p(curvature) < value <= math.log1p(curvature) * (1 + 1e-15) + 1e-300


def test_without_a_determinant_t40_is_the_gaussian_mechanism():
    """T40, T6, T19: both orders have the Gaussian profile, so the fit composes like the Gaussian mechanism."""
    for count in (1, 2, 7):
        found, gaussian = (account(event * count, ADD) for event in (PerturbedObjective(2.0, 0.0), Gaussian(2.0)))
        for epsilon in (0.0, 0.3, 2.0):
            low, high = found.delta_bracket(epsilon)
            assert low <= gaussian.delta(epsilon) * (1 + 1e-9) and gaussian.delta(epsilon) <= high * (1 + 1e-9)


def test_adding_is_accounted_as_removing():
    """T37: adding costs less; one law serves both, so that both orders are covered."""
    event = PerturbedObjective(2.0, 0.5, monotone=False)
    assert event.law(Direction.REMOVE) == event.law(Direction.ADD) != event.law(Direction.REPLACE)


@every_kind
def test_the_tags_name_the_theorem(adjacency, monotone):
    tags = account(PerturbedObjective(*EXAMPLE, monotone), adjacency).tags
    wanted = {(ADD, True): "T40", (ADD, False): "T39", (REPLACE, True): "T41", (REPLACE, False): "T41"}
    assert wanted[adjacency, monotone] in tags and "T37" in tags


def shape(event, adjacency):
    """(mean, deviation, start in deviations, weight) of the normal law that U is above its start (T39, T40, T41 c)."""
    m, c = 1 / event.noise_multiplier, math.log1p(event.curvature)
    if adjacency == REPLACE:
        return c + 2 * m * m, 2 * m, max(1.2 - 0.47 * 2 * m, 0.0), 2.0
    return (c + m * m / 2, m, -m / 2, 1.0) if event.monotone else (c + m * m / 2, m, 0.0, 2.0)


def bounding_loss(event, adjacency, low=-math.inf):
    """Values above ``low`` and probabilities of U on fine panels, from its definition."""
    mean, deviation, start, factor = shape(event, adjacency)
    x, w = np.polynomial.legendre.leggauss(12)
    edges = max((low - mean) / deviation, start) + np.linspace(0.0, 12.0, 61)
    z = (edges[:-1, None] + np.diff(edges)[:, None] / 2 * (1 + x)).ravel()
    weight = (np.diff(edges)[:, None] / 2 * w).ravel()
    return mean + deviation * z, factor * weight * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def mirrored_loss(event, adjacency):
    """Values and probabilities of the loss: U above the edge where P + Q = 1, its mirror image, atoms for the rest."""

    def surplus(low):
        loss, mass = bounding_loss(event, adjacency, low)
        return float(mass @ (1 + np.exp(-loss))) - 1

    mean, deviation, start, _ = shape(event, adjacency)
    edge, high = mean + deviation * start, 30.0
    if surplus(edge) > 0:
        for _ in range(60):
            middle = (edge + high) / 2
            edge, high = (middle, high) if surplus(middle) > 0 else (edge, middle)
    loss, mass = bounding_loss(event, adjacency, edge)
    atom = -surplus(edge) / (1 + math.exp(-edge))
    ends = np.array([edge, -edge]), np.array([atom, atom * math.exp(-edge)])
    return np.concatenate([loss, -loss, ends[0]]), np.concatenate([mass, mass * np.exp(-loss), ends[1]])


def gaussian_delta(epsilon, mu):
    """T6 at every real epsilon."""
    return ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)


CONVOLVED = [(ADD, True), (ADD, False), (REPLACE, False)]


@pytest.mark.parametrize(("adjacency", "monotone"), CONVOLVED)
@pytest.mark.parametrize(("noise", "curvature", "other"), [(2.0, 0.1, 4.0), (1.0, 0.5, 0.7), (8.0, 0.01, 30.0)])
def test_composed_with_a_gaussian_it_is_the_convolution(adjacency, monotone, noise, curvature, other):
    """T15: E delta_GDP(eps - L; mu), by quadrature over L; T43 needs it, whose output noise hides a tolerance."""
    event = PerturbedObjective(noise, curvature, monotone)
    loss, mass = mirrored_loss(event, adjacency)
    profile = account(event + Gaussian(other), adjacency)
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        exact = float(mass @ gaussian_delta(epsilon - loss, (2 if adjacency == REPLACE else 1) / other))
        low, high = profile.delta_bracket(epsilon)
        assert low <= exact * (1 + 1e-9) + 1e-15 and exact * (1 - 1e-9) - 1e-15 <= high
        assert high - low <= 1e-6 * high


@pytest.mark.parametrize(("adjacency", "monotone"), CONVOLVED)
def test_composed_with_itself_it_is_the_convolution(adjacency, monotone):
    """T15, without any Gaussian beside: atoms stay atoms."""
    event = PerturbedObjective(2.0, 0.2, monotone)
    loss, mass = mirrored_loss(event, adjacency)
    sums, weights = np.add.outer(loss, loss), np.multiply.outer(mass, mass)
    for epsilon in (0.5, 1.5):
        exact = float((weights * -np.expm1(np.minimum(epsilon - sums, 0.0))).sum())
        low, high = account(event * 2, adjacency).delta_bracket(epsilon)
        assert low * (1 - 1e-4) <= exact <= high * (1 + 1e-4)  # the quadrature has a kink
        assert high - low <= 1e-6 * high


EVENTS = st.builds(
    PerturbedObjective,
    st.floats(math.log(0.7), math.log(20.0)).map(math.exp),
    st.floats(math.log(0.003), math.log(3.0)).map(math.exp),
    st.booleans(),
)


@given(EVENTS, EVENTS, st.integers(1, 4), st.floats(-20, -1), st.sampled_from(list(Direction)))
@settings(max_examples=4, phases=(Phase.explicit, Phase.reuse, Phase.generate))
def test_contour_and_lattice_overlap(first, second, count, log_delta, direction):
    """T28, T39-T41: two engines that share nothing but the laws, also below the edge."""
    composed = Composition.of([(first.law(direction), count), (second.law(direction), 1)])
    delta = math.exp(log_delta)
    one, other = contour.epsilon_bracket(composed, delta), lattice.epsilon_bracket(composed, delta)
    assert max(one[0], other[0]) <= min(one[1], other[1])
    for epsilon in (0.0, other[1]):
        one, other_ = contour.delta_bracket(composed, epsilon), lattice.delta_bracket(composed, epsilon)
        assert max(one[0], other_[0]) <= min(one[1], other_[1]) * (1 + 1e-12)


@every_kind
def test_the_renyi_curve_is_the_moment_of_the_bounding_loss(adjacency, monotone):
    """T16: D_alpha <= ln E e^{(alpha-1)U} / (alpha-1), by quadrature where U has a density of its own."""
    event = PerturbedObjective(2.0, 0.3, monotone)
    curve = event.rdp(np.array([1.01, 2.0, 7.5]), Adjacency(adjacency))
    m, c = 1 / 2.0, math.log(1.3)
    if (adjacency, monotone) == (REPLACE, True):
        w = np.linspace(0.0, 12.0, 200_001)
        tail = np.minimum(ndtr(m - w / (2 * m)) + 2 * ndtr(m / 2 - w / m), 1.0)
        loss, mass = c + (w[1:] + w[:-1]) / 2, -np.diff(tail)
    else:
        loss, mass = bounding_loss(event, adjacency)
        mean, deviation, start, _ = shape(event, adjacency)
        loss, mass = np.append(loss, mean + deviation * start), np.append(mass, 1 - mass.sum())  # T40's, T41 c's atom
    for order, found in zip((1.01, 2.0, 7.5), curve, strict=True):
        exact = math.log(float(mass @ np.exp((order - 1) * loss))) / (order - 1)
        assert found == pytest.approx(exact, rel=1e-6) and found >= exact * (1 - 1e-7)


def test_the_renyi_curve_is_golden():
    """T39, T40: objpert_bounds_example and rdp_mono_example."""
    monotone, other = (
        PerturbedObjective(*EXAMPLE, kind).rdp(np.array([10.0]), Adjacency(ADD)) for kind in (True, False)
    )
    assert monotone[0] == pytest.approx(0.22983289917394215, rel=1e-9)
    assert other[0] == pytest.approx(0.29764322110747554, rel=1e-9)


@every_kind
def test_the_renyi_epsilon_is_above_the_exact_one(adjacency, monotone):
    event = PerturbedObjective(3.0, 0.1, monotone)
    curve = event.rdp(DEFAULT_ORDERS, Adjacency(adjacency))
    exact = account(event, adjacency).epsilon(1e-5)
    assert exact <= rdp_epsilon(curve, 1e-5) <= 1.3 * exact
    assert np.all(np.diff(curve) >= 0)


@every_kind
def test_an_approximate_budget_charges_the_accountants_epsilon(adjacency, monotone):
    event = PerturbedObjective(*EXAMPLE, monotone)
    budget = MemoryBudget(ApproxDP(2.0, 2e-5, adjacency), blocks=2)
    budget.reserve(event)
    assert budget.spent["epsilon"] == pytest.approx(account(event, adjacency).epsilon(1e-5), rel=1e-12)


def test_a_renyi_budget_charges_the_curve():
    event, limit = PerturbedObjective(*EXAMPLE), RDP([(10.0, 0.5)], ADD)
    budget = MemoryBudget(limit)
    budget.reserve(event)
    assert budget.spent["tau(10.0)"] == pytest.approx(0.22983289917394215, rel=1e-9)
    with pytest.raises(BudgetError):
        budget.reserve(event * 2)


@every_kind
@pytest.mark.parametrize("limit", [GDP, ZCDP, PureDP])
def test_other_budgets_refuse_it_because_no_theorem_gives_a_cost(adjacency, monotone, limit):
    with pytest.raises(ConversionError, match="no theorem gives one"):
        MemoryBudget(limit(1.0, adjacency)).reserve(PerturbedObjective(*EXAMPLE, monotone))


def test_its_pure_epsilon_is_infinite():
    assert account(PerturbedObjective(*EXAMPLE), ADD).epsilon(0.0) == math.inf


@pytest.mark.parametrize(
    ("adjacency", "monotone", "curvature", "golden"),
    [
        (ADD, True, 0.5, 5.999662673551357),
        (ADD, False, 0.5, 6.265678537852788),
        (ADD, True, 0.05, 3.9045641514675298),
        (REPLACE, True, 0.05, 7.809128303074834),
        (REPLACE, False, 0.5, 2 * 6.265678537852788),
    ],
)
def test_the_noise_multiplier_is_golden(adjacency, monotone, curvature, golden):
    """T43a: kst (epsilon = 1, delta = 1e-5, beta = 1/4, Lambda = 0.5 and 5); T41 (c) needs twice T39's noise."""
    found = objective_noise_multiplier(1.0, 1e-5, curvature, adjacency, monotone)
    assert golden * (1 - 1e-12) <= found <= golden * (1 + 1e-9)


def test_the_noise_of_kifer_smith_and_thakurta_is_far_more_than_needed():
    """T38: sigma^2 = L^2 (8 ln(2/delta) + 4 epsilon)/epsilon^2 at Lambda = 2 beta/epsilon, true delta 4.3e-11."""
    sigma = math.sqrt(8 * math.log(2 / 1e-5) + 4)
    assert sigma == pytest.approx(10.08209210254704, rel=1e-12)
    assert objective_delta(1.0, sigma, 0.5, ADD, monotone=False) == pytest.approx(4.327110197486985e-11, rel=1e-8)


@given(
    st.sampled_from(KINDS),
    st.floats(math.log(0.05), math.log(20.0)).map(math.exp),
    st.floats(math.log(1e-12), math.log(0.9)).map(math.exp),
    st.floats(0.0, 0.97),
)
@settings(max_examples=60)
def test_calibrated_noise_is_certified_and_not_wasteful(kind, epsilon, delta, share):
    """T43a: the accountant's own epsilon is at most the target, a budget of just that takes it, and 1e-6 less fails."""
    curvature = math.expm1(share * epsilon)
    noise = objective_noise_multiplier(epsilon, delta, curvature, *kind)
    if not 1e-2 <= noise * (1 - 1e-6) <= noise <= 1e10:
        return
    adjacency, monotone = kind
    event = PerturbedObjective(noise, curvature, monotone)
    assert account(event, adjacency).epsilon(delta) <= epsilon
    assert objective_delta(epsilon, noise, curvature, *kind) <= delta
    assert objective_delta(epsilon, noise * (1 - 1e-6), curvature, *kind) > delta
    MemoryBudget(ApproxDP(epsilon, delta, adjacency), blocks=1).check(event)


def test_for_t40_the_inverse_is_that_of_the_gaussian_mechanism():
    """T43a, T6."""
    for epsilon, delta, curvature in ((1.0, 1e-5, 0.05), (3.0, 1e-9, 5.0), (0.2, 0.3, 0.01)):
        exact = 1 / mu_for(epsilon - math.log1p(curvature), delta)
        assert objective_noise_multiplier(epsilon, delta, curvature, ADD) == pytest.approx(exact, rel=1e-9)


def test_the_searching_calibration_finds_the_same_noise():
    found = calibrate(lambda noise: PerturbedObjective(noise, 0.05), epsilon=1.0, delta=1e-5, adjacency=REPLACE)
    assert found == pytest.approx(objective_noise_multiplier(1.0, 1e-5, 0.05, REPLACE), rel=1e-5)


@every_kind
@pytest.mark.parametrize("curvature", [math.expm1(1.0), 2.5, 1e90])
def test_a_determinant_that_uses_up_epsilon_is_refused_with_the_smallest_strength(adjacency, monotone, curvature):
    """T43a."""
    with pytest.raises(AssumptionError) as error:
        objective_noise_multiplier(1.0, 1e-5, curvature, adjacency, monotone)
    message = str(error.value)
    assert "curvature = beta/Lambda < e^epsilon - 1 = 1.71828" in message and "Lambda = beta/(e^epsilon - 1)" in message
    assert f"{curvature / math.expm1(1.0):.6g} times the present one" in message


def test_just_below_that_curvature_there_is_a_noise():
    assert objective_noise_multiplier(1.0, 1e-5, math.expm1(1.0) * (1 - 1e-9), ADD) > 1e3


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"noise_multiplier": 0.0}, "noise_multiplier"),
        ({"noise_multiplier": 1e-3}, "noise_multiplier"),
        ({"noise_multiplier": math.nan}, "noise_multiplier"),
        ({"noise_multiplier": True}, "noise_multiplier"),
        ({"curvature": -1e-9}, "curvature"),
        ({"curvature": math.inf}, "curvature"),
        ({"curvature": "0.1"}, "curvature"),
        ({"monotone": 1}, "monotone"),
        ({"monotone": "false"}, "monotone"),
        ({"monotone": None}, "monotone"),
    ],
)
def test_nonsense_is_refused_by_name(change, name):
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        PerturbedObjective(**{"noise_multiplier": 1.0, "curvature": 0.1, **change})
    if name != "noise_multiplier":
        with pytest.raises(ParameterError, match=f"^{name} must be"):
            objective_noise_multiplier(**{"epsilon": 1.0, "delta": 1e-5, "curvature": 0.1, "adjacency": ADD, **change})


def test_numpy_scalars_are_accepted_and_become_plain():
    event = PerturbedObjective(np.float64(2.0), np.float32(0.5), np.True_)
    assert event == PerturbedObjective(2.0, 0.5) and type(event.monotone) is bool and type(event.curvature) is float


@given(EVENTS)
@settings(max_examples=10)
def test_it_survives_json(event):
    assert event_from_json(event_to_json(event * 3 + Laplace(2.0))) == event * 3 + Laplace(2.0)
    assert json.loads(event_to_json(event)) == {
        "dperm_event": 1,
        "type": "perturbed_objective",
        "noise_multiplier": event.noise_multiplier,
        "curvature": event.curvature,
        "monotone": event.monotone,
    }


@pytest.mark.parametrize("fields", [{}, {"monotone": 1}, {"curvature": 0.1, "monotone": "true"}, {"lambda": 2}])
def test_a_stored_event_with_other_fields_is_refused(fields):
    text = json.dumps({"dperm_event": 1, "type": "perturbed_objective", "noise_multiplier": 1.0, **fields})
    with pytest.raises(EventFormatError, match="perturbed_objective"):
        event_from_json(text)


@pytest.mark.parametrize("sampler", [Poisson, WithoutReplacement])
def test_no_sampler_takes_it(sampler):
    """The theorems of sampling are proved for other events (T21, T22, T24)."""
    with pytest.raises(ParameterError, match="samples for one Gaussian"):
        sampler(PerturbedObjective(1.0, 0.1), rate=0.1)


MUTANTS = {
    "c rounded down": ("return raised(math.log1p(", "return lowered(math.log1p("),
    "noise without c": ("lowered(epsilon - determinant_loss(curvature), 2)", "epsilon"),
    "T40's inverse whatever the loss": ("exact = monotone and", "exact ="),
}


@pytest.mark.parametrize(("old", "new"), MUTANTS.values(), ids=MUTANTS)
def test_an_unsafe_calibration_is_caught(assert_killed, old, new):
    def check(module):
        assert module.determinant_loss(0.3) >= math.log1p(0.3)
        for adjacency, monotone in KINDS:
            try:
                noise = module.objective_noise_multiplier(1.0, 1e-5, 0.5, adjacency, monotone)
            except AssumptionError:  # the certificate caught it
                raise AssertionError from None
            assert objective_delta(1.0, noise, 0.5, adjacency, monotone) <= 1e-5

    assert_killed(check, "dperm.accounting.objective_noise", old, new)
