# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""`PerturbedSoftmax`: golden numbers, composition, curves, costs and calibration (T53a, T43a)."""

import json
import math

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import ndtr

from dperm.accounting import (
    Gaussian,
    MemoryBudget,
    PerturbedObjective,
    PerturbedSoftmax,
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
from dperm.accounting.rdp import DEFAULT_ORDERS, rdp_epsilon
from dperm.accounting.softmax import softmax_delta, softmax_determinant_loss, softmax_noise_multiplier
from dperm.errors import AssumptionError, ConversionError, EventFormatError, ParameterError
from dperm.privacy import GDP, ZCDP, Adjacency, ApproxDP, PureDP
from dperm.privacy.adjacency import Direction

ADD, REPLACE = "add_remove", "replace_one"
both = pytest.mark.parametrize("adjacency", [ADD, REPLACE])


def gaussian_delta(epsilon, mu):
    """T6 at every real epsilon."""
    return ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)


def counted(event, adjacency):
    """T53a, its replacements sharpened: how many vertices, or pairs of vertices, at which distance over sigma."""
    m, v = 1 / event.noise_multiplier, event.classes - 1
    return [(v, m)] if adjacency == ADD else [(v, 2 * m), (v * (v - 1), math.sqrt(3) * m), (2 * v, m)]


def union(epsilon, event, adjacency):
    """The sum of the profiles, from c on."""
    x = epsilon - (event.classes - 1) * math.log1p(event.curvature)
    return sum(count * gaussian_delta(x, mu) for count, mu in counted(event, adjacency))


def printed(epsilon, event):
    """T53a under replace-one as it is printed: all pairs of vertices at the largest distance."""
    x, m, v = epsilon - (event.classes - 1) * math.log1p(event.curvature), 1 / event.noise_multiplier, event.classes - 1
    return v**2 * gaussian_delta(x, 2 * m) + 2 * v * gaussian_delta(x, m)


def tail(w, event, adjacency):
    """P(W > w)."""
    return np.minimum(sum(count * ndtr(mu / 2 - w / mu) for count, mu in counted(event, adjacency)), 1.0)


@pytest.mark.parametrize(("strength", "golden"), [(1.0, 0.5753641449035618), (3.0, 0.2107210313156526)])
def test_the_determinant_is_golden_and_rounded_up(strength, golden):
    """T53a: softmax_objpert_1.0_1.0 and softmax_objpert_3.0_2.0 (K = 3, R = 1)."""
    found = softmax_determinant_loss(1 / (3 * strength), 3)
    assert found == pytest.approx(golden, rel=1e-14)
    for curvature, classes in ((1e-18, 3), (0.1, 10), (40.0, 1000)):
        exact = (classes - 1) * math.log1p(curvature)
        assert exact < softmax_determinant_loss(curvature, classes) <= exact * (1 + 2e-15)
    assert softmax_determinant_loss(0.0, 3) == 0.0


@pytest.mark.parametrize(("classes", "golden", "sharp"), [(3, 11.4, 11.02), (10, 13.1, 12.02), (100, 15.5, 13.68)])
def test_the_noise_is_that_of_the_specification_sharpened(classes, golden, sharp):
    """T53a: sigma in units of R at epsilon - c = 1, delta = 1e-5 under replace_one."""
    curvature = math.expm1(0.5 / (classes - 1))
    as_printed = brentq(lambda noise: printed(1.5, PerturbedSoftmax(noise, curvature, classes)) - 1e-5, 2.0, 50.0)
    assert math.sqrt(2) * as_printed == pytest.approx(golden, abs=0.05)
    noise = softmax_noise_multiplier(1.5, 1e-5, curvature, classes, REPLACE)
    assert math.sqrt(2) * noise == pytest.approx(sharp, abs=0.005)
    assert union(1.5, PerturbedSoftmax(noise, curvature, classes), REPLACE) == pytest.approx(1e-5, rel=1e-8)


@given(
    st.floats(math.log(0.05), math.log(100.0)).map(math.exp),
    st.floats(math.log(1e-6), math.log(0.1)).map(math.exp),
    st.integers(3, 10**6),
    st.floats(0.0, 8.0),
)
@settings(max_examples=60)
def test_the_certificate_is_never_above_the_printed_bound(noise, curvature, classes, steps):
    """T53a: in steps of the largest distance from c on, where the printed form is stated."""
    event = PerturbedSoftmax(noise, curvature, classes)
    epsilon = softmax_determinant_loss(curvature, classes) + steps * 2 / noise
    found = softmax_delta(epsilon, noise, curvature, classes, REPLACE)
    assert found <= printed(epsilon, event) * (1 + 1e-9) + 1e-15


@both
@pytest.mark.parametrize("classes", [3, 10, 1000])
def test_delta_is_the_theorem_s_above_the_edge_and_less_below(adjacency, classes):
    event = PerturbedSoftmax(4.0, 0.4 / classes, classes)
    law = event.law(Direction.REPLACE if adjacency == REPLACE else Direction.REMOVE)
    c = softmax_determinant_loss(event.curvature, classes)
    for epsilon in (law.side.edge * (1 + 1e-12), law.side.edge + 0.5, law.side.edge + 2.0):
        exact = union(epsilon, event, adjacency)
        assert softmax_delta(epsilon, 4.0, event.curvature, classes, adjacency) == pytest.approx(exact, rel=1e-9)
        low, high = account(event, adjacency).delta_bracket(epsilon)
        assert low <= exact * (1 + 1e-9) and exact * (1 - 1e-9) <= high <= exact * (1 + 1e-8)
    below = (c + law.side.edge) / 2
    assert account(event, adjacency).delta(below) < union(below, event, adjacency) * (1 - 1e-3)


@both
def test_two_classes_more_cost_more(adjacency):
    """T53a: delta grows with the number of classes, and beyond one binary fit of the same noise (T40)."""
    found = [softmax_delta(1.0, 5.0, 0.01, classes, adjacency) for classes in (3, 4, 30)]
    binary = account(PerturbedObjective(5.0, 0.01), adjacency).delta(1.0)
    assert binary < found[0] < found[1] < found[2]


@both
@pytest.mark.parametrize(("noise", "classes", "other"), [(2.0, 3, 4.0), (6.0, 20, 0.9)])
def test_composed_with_a_gaussian_it_is_the_convolution(adjacency, noise, classes, other):
    """T15: E delta_GDP(eps - L; mu) over the mirrored loss; T43 needs it, whose output noise hides a tolerance."""
    event = PerturbedSoftmax(noise, 0.01, classes)
    loss, mass = mirrored_loss(event, adjacency)
    profile = account(event + Gaussian(other), adjacency)
    for epsilon in (0.3, 1.0, 2.5):
        exact = float(mass @ gaussian_delta(epsilon - loss, (2 if adjacency == REPLACE else 1) / other))
        low, high = profile.delta_bracket(epsilon)
        assert low <= exact * (1 + 1e-6) and exact * (1 - 1e-6) <= high
        assert high - low <= 1e-6 * high


def mirrored_loss(event, adjacency):
    """Cells of the loss: c + W above the edge where P + Q = 1, and its mirror image."""
    c, m = softmax_determinant_loss(event.curvature, event.classes), 1 / event.noise_multiplier
    w = np.linspace(0.0, 2 * m * m + 30 * m, 400_001)
    loss, mass = c + (w[1:] + w[:-1]) / 2, -np.diff(tail(w, event, adjacency))
    both_sides = np.cumsum((mass * (1 + np.exp(-loss)))[::-1])[::-1]
    inside = both_sides < 1
    first = int(np.argmax(inside)) - 1
    mass[first] *= (1 - both_sides[first + 1]) / (both_sides[first] - both_sides[first + 1])
    loss, mass = loss[first:], mass[first:]
    return np.concatenate([loss, -loss]), np.concatenate([mass, mass * np.exp(-loss)])


EVENTS = st.builds(
    PerturbedSoftmax,
    st.floats(math.log(1.5), math.log(40.0)).map(math.exp),
    st.floats(math.log(0.001), math.log(0.03)).map(math.exp),
    st.integers(3, 30),
)
GAUSSIANS = st.builds(Gaussian, st.floats(0.8, 20.0))


@given(EVENTS, GAUSSIANS, st.integers(1, 3), st.floats(-20, -1), st.sampled_from(list(Direction)))
@settings(max_examples=2, phases=(Phase.explicit, Phase.reuse, Phase.generate))
def test_contour_and_lattice_overlap(event, other, count, log_delta, direction):
    """T28, T53a: two engines that share nothing but the laws, beside a Gaussian event."""
    composed = Composition.of([(event.law(direction), count), (other.law(direction), 1)])
    delta = math.exp(log_delta)
    one, two = contour.epsilon_bracket(composed, delta), lattice.epsilon_bracket(composed, delta)
    assert max(one[0], two[0]) <= min(one[1], two[1])
    for epsilon in (0.0, two[1]):
        one, other_ = contour.delta_bracket(composed, epsilon), lattice.delta_bracket(composed, epsilon)
        assert max(one[0], other_[0]) <= min(one[1], other_[1]) * (1 + 1e-12)


@both
def test_the_renyi_curve_is_the_moment_of_the_bounding_loss(adjacency):
    """T16: D_alpha <= ln E e^{(alpha-1)U} / (alpha-1), by the cells of U."""
    event = PerturbedSoftmax(4.0, 0.02, 6)
    w = np.linspace(0.0, 8.0, 400_001)
    loss, mass = 5 * math.log1p(0.02) + (w[1:] + w[:-1]) / 2, -np.diff(tail(w, event, adjacency))
    for order in (1.01, 2.0, 7.5):
        (found,) = event.rdp(np.array([order]), Adjacency(adjacency))
        exact = math.log(float(mass @ np.exp((order - 1) * loss))) / (order - 1)
        assert found == pytest.approx(exact, rel=1e-6)
    curve = event.rdp(DEFAULT_ORDERS, Adjacency(adjacency))
    exact = account(event, adjacency).epsilon(1e-5)
    assert exact <= rdp_epsilon(curve, 1e-5) <= 1.3 * exact


@both
def test_budgets_charge_the_accountants_epsilon_or_refuse(adjacency):
    event = PerturbedSoftmax(15.0, 0.01, 5)
    budget = MemoryBudget(ApproxDP(2.0, 2e-5, adjacency), blocks=2)
    budget.reserve(event)
    assert budget.spent["epsilon"] == pytest.approx(account(event, adjacency).epsilon(1e-5), rel=1e-12)
    for limit in (GDP, ZCDP, PureDP):
        with pytest.raises(ConversionError, match="no theorem gives one"):
            MemoryBudget(limit(1.0, adjacency)).reserve(event)


@given(
    st.sampled_from([ADD, REPLACE]),
    st.floats(math.log(0.05), math.log(20.0)).map(math.exp),
    st.floats(math.log(1e-12), math.log(0.5)).map(math.exp),
    st.floats(0.0, 0.95),
    st.integers(3, 200),
)
@settings(max_examples=40)
def test_calibrated_noise_is_certified_and_not_wasteful(adjacency, epsilon, delta, share, classes):
    """T43a: the accountant's own epsilon is at most the target, a budget of just that takes it, and 1e-6 less fails."""
    curvature = math.expm1(share * epsilon / (classes - 1))
    noise = softmax_noise_multiplier(epsilon, delta, curvature, classes, adjacency)
    if not 1e-2 <= noise * (1 - 1e-6) <= noise <= 1e10:
        return
    assert account(PerturbedSoftmax(noise, curvature, classes), adjacency).epsilon(delta) <= epsilon
    assert softmax_delta(epsilon, noise, curvature, classes, adjacency) <= delta
    assert softmax_delta(epsilon, noise * (1 - 1e-6), curvature, classes, adjacency) > delta
    MemoryBudget(ApproxDP(epsilon, delta, adjacency), blocks=1).check(PerturbedSoftmax(noise, curvature, classes))


def test_the_searching_calibration_finds_the_same_noise():
    found = calibrate(lambda noise: PerturbedSoftmax(noise, 0.02, 5), epsilon=1.0, delta=1e-5, adjacency=ADD)
    assert found == pytest.approx(softmax_noise_multiplier(1.0, 1e-5, 0.02, 5, ADD), rel=1e-5)


@both
@pytest.mark.parametrize("curvature", [math.expm1(0.25), 1.0, 1e90])
def test_a_determinant_that_uses_up_epsilon_is_refused_with_the_smallest_strength(adjacency, curvature):
    """T43a: c < epsilon asks for curvature < e^{epsilon/(K-1)} - 1."""
    with pytest.raises(AssumptionError) as error:
        softmax_noise_multiplier(1.0, 1e-5, curvature, 5, adjacency)
    assert "e^(epsilon/(K-1)) - 1 = 0.284025" in str(error.value)
    assert f"more than {curvature / math.expm1(0.25):.6g} times the present one" in str(error.value)
    assert softmax_noise_multiplier(1.0, 1e-5, math.expm1(0.25) * (1 - 1e-9), 5, adjacency) > 1e3


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"noise_multiplier": 0.0}, "noise_multiplier"),
        ({"noise_multiplier": math.nan}, "noise_multiplier"),
        ({"curvature": -1e-9}, "curvature"),
        ({"curvature": math.inf}, "curvature"),
        ({"classes": 2}, "classes"),
        ({"classes": 3.0}, "classes"),
        ({"classes": True}, "classes"),
        ({"classes": 10**7}, "classes"),
    ],
)
def test_nonsense_is_refused_by_name(change, name):
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        PerturbedSoftmax(**{"noise_multiplier": 1.0, "curvature": 0.1, "classes": 3, **change})
    if name != "noise_multiplier":
        good = {"epsilon": 1.0, "delta": 1e-5, "curvature": 0.1, "classes": 3, "adjacency": ADD}
        with pytest.raises(ParameterError, match=f"^{name} must be"):
            softmax_noise_multiplier(**{**good, **change})


def test_two_classes_are_sent_to_the_other_event():
    with pytest.raises(ParameterError, match="use PerturbedObjective"):
        PerturbedSoftmax(1.0, 0.1, 2)


def test_numpy_scalars_are_accepted_and_become_plain():
    event = PerturbedSoftmax(np.float64(2.0), np.float32(0.5), np.int64(4))
    assert event == PerturbedSoftmax(2.0, 0.5, 4) and type(event.classes) is int and type(event.curvature) is float


@given(EVENTS)
@settings(max_examples=10)
def test_it_survives_json(event):
    assert event_from_json(event_to_json(event * 3 + Gaussian(2.0))) == event * 3 + Gaussian(2.0)
    assert json.loads(event_to_json(event)) == {
        "dperm_event": 1,
        "type": "perturbed_softmax",
        "noise_multiplier": event.noise_multiplier,
        "curvature": event.curvature,
        "classes": event.classes,
    }


@pytest.mark.parametrize(
    "fields", [{}, {"curvature": 0.1, "classes": 2}, {"curvature": 0.1, "classes": 3, "lambda": 2}]
)
def test_a_stored_event_with_other_fields_is_refused(fields):
    text = json.dumps({"dperm_event": 1, "type": "perturbed_softmax", "noise_multiplier": 1.0, **fields})
    with pytest.raises(EventFormatError, match="perturbed_softmax"):
        event_from_json(text)


@pytest.mark.parametrize("sampler", [Poisson, WithoutReplacement])
def test_no_sampler_takes_it(sampler):
    with pytest.raises(ParameterError, match="samples for one Gaussian"):
        sampler(PerturbedSoftmax(1.0, 0.1, 3), rate=0.1)


@both
def test_the_tags_name_the_theorem(adjacency):
    assert {"T37", "T53a"} <= set(account(PerturbedSoftmax(5.0, 0.1, 3), adjacency).tags)


MUTANTS = {
    "one vertex": ("1 / noise_multiplier, classes - 1\n", "1 / noise_multiplier, 1\n"),
    "half a gradient": ("1 / noise_multiplier, classes - 1\n", "0.5 / noise_multiplier, classes - 1\n"),
    "twice K in the determinant": (
        "(classes - 1) * math.log1p(curvature), 4",
        "(classes - 1) * math.log1p(curvature / 2), 4",
    ),
    "rank one": ("raised((classes - 1) * math", "raised(math"),
    "c rounded down": ("return raised((classes", "return lowered((classes"),
    "one record where two are exchanged": (
        "return vertex_pair_bound(c, mu, vertices)",
        "return vertex_bound(c, mu, vertices)",
    ),
}


@pytest.mark.parametrize(("old", "new"), MUTANTS.values(), ids=MUTANTS)
def test_an_unsafe_bound_is_caught_by_the_theorem(assert_killed, old, new):
    def check(module):
        assert module.softmax_determinant_loss(0.3, 4) >= 3 * math.log1p(0.3)
        for adjacency in (ADD, REPLACE):
            try:
                noise = module.softmax_noise_multiplier(1.0, 1e-5, 0.1, 4, adjacency)
            except AssumptionError:  # the certificate caught it
                raise AssertionError from None
            assert union(1.0, PerturbedSoftmax(noise, 0.1, 4), adjacency) <= 1e-5

    assert_killed(check, "dperm.accounting.softmax", old, new)
