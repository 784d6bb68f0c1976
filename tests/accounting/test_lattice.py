# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The lattice engine against closed forms, golden values, quadrature and itself (T2, T13, T15, T19, T22-T25, T28)."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dperm.accounting.composition import Composition
from dperm.accounting.lattice import delta_bracket, epsilon_bracket
from dperm.accounting.laws.atomic import AtomicLoss, randomized_response_loss, response_loss
from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.accounting.laws.laplace import LaplaceLoss
from dperm.accounting.laws.law import LossLaw
from dperm.accounting.laws.mixture import MixtureKind, MixtureLoss
from dperm.accounting.laws.subsampled_gaussian import SubsampledGaussianLoss
from dperm.privacy.adjacency import Direction

LAWS = [
    pytest.param(LaplaceLoss(1.0), id="laplace"),
    pytest.param(GaussianLoss(0.8), id="gaussian"),
    pytest.param(response_loss(0.5), id="pure"),
    pytest.param(randomized_response_loss(1.0, 5), id="randomized response, 5 values"),
    pytest.param(MixtureLoss(LaplaceLoss(1.0), 0.1, MixtureKind.REMOVE), id="sampled laplace, remove"),
    pytest.param(MixtureLoss(LaplaceLoss(1.0), 0.1, MixtureKind.ADD), id="sampled laplace, add"),
    pytest.param(MixtureLoss(LaplaceLoss(4.0), 0.003, MixtureKind.REMOVE), id="rarely sampled laplace"),
    pytest.param(MixtureLoss(LaplaceLoss(1.0), 0.2, MixtureKind.SPLICE), id="spliced laplace"),
    pytest.param(MixtureLoss(GaussianLoss(1.0), 0.1, MixtureKind.SPLICE), id="spliced gaussian"),
    pytest.param(SubsampledGaussianLoss(0.05, 1.0, Direction.REMOVE), id="sampled gaussian, remove"),
    pytest.param(SubsampledGaussianLoss(0.05, 1.0, Direction.ADD), id="sampled gaussian, add"),
    pytest.param(SubsampledGaussianLoss(0.05, 1.0, Direction.REPLACE), id="sampled gaussian, replace"),
    pytest.param(SubsampledGaussianLoss(1e-4, 0.6, Direction.REMOVE), id="rarely sampled gaussian"),
]


SAMPLED = SubsampledGaussianLoss(0.01, 1.0, Direction.REMOVE)
SAMPLED_LAPLACE = MixtureLoss(LaplaceLoss(1.0), 0.1, MixtureKind.REMOVE)
SPLICE = MixtureLoss(GaussianLoss(1.0), 0.1, MixtureKind.SPLICE)


def composed(*steps: tuple[LossLaw, int]) -> Composition:
    return Composition.of(steps)


def width(bracket: tuple[float, float]) -> float:
    return (bracket[1] - bracket[0]) / bracket[1] if bracket[1] else 0.0


# Sources: golden/accounting.csv (contour with 45-digit checks, exact binomials, earlier lattices at both ends), T24.
GOLDEN = [
    pytest.param([(LaplaceLoss(0.1), 100)], 1e-5, 4.22034723, 4.22034738, id="l02 laplace"),
    pytest.param([(response_loss(0.1), 1000)], 1e-6, 19.3446714461, 19.3446714499, id="k02 pure"),
    pytest.param([(SAMPLED_LAPLACE, 100)], 1e-5, 4.152300791566, 4.152300791592, id="x01 sampled laplace"),
    pytest.param([(SPLICE, 10)], 1e-5, 2.9252585, 2.9252595, id="T24 splice"),
    pytest.param([(SAMPLED, 1)], 1e-6, 0.3639478393, 0.3639478401, id="s08 one step"),
    pytest.param([(SAMPLED, 1000)], 1e-5, 1.828236666, 1.828236668, id="s01 T22"),
    pytest.param(
        [(GaussianLoss(math.sqrt(2.5)), 1), (LaplaceLoss(0.1), 50), (SAMPLED, 1000)],
        1e-5,
        8.64759635,
        8.64759636,
        id="h01 mixture",
    ),
]


@pytest.mark.parametrize(("steps", "delta", "lower", "upper"), GOLDEN)
def test_golden_brackets_are_met_and_narrow(
    steps: list[tuple[LossLaw, int]], delta: float, lower: float, upper: float
) -> None:
    bracket = epsilon_bracket(composed(*steps), delta)
    assert bracket[0] <= upper and bracket[1] >= lower
    assert width(bracket) <= 1e-6


def test_adding_a_record_is_the_smaller_direction_of_the_golden_sampled_laplace() -> None:
    """T22: x01 is the maximum over both directions."""
    add = epsilon_bracket(composed((MixtureLoss(LaplaceLoss(1.0), 0.1, MixtureKind.ADD), 100)), 1e-5)
    assert add[1] < 4.1523 and width(add) <= 1e-6


def test_profile_of_the_splice_is_the_one_of_t24() -> None:
    """T24: q = .1, m0 = 1, ten steps."""
    splice = composed((SPLICE, 10))
    for epsilon, value in ((1.0, 0.00900472), (2.0, 2.91043e-4)):
        low, high = delta_bracket(splice, epsilon)
        assert low <= value * (1 + 1e-5) and high >= value * (1 - 1e-5) and high - low <= 1e-6 * high


@pytest.mark.parametrize("law", LAWS)
def test_one_step_is_the_closed_form(law: LossLaw) -> None:
    """T2, T22, T24, T25: the engine knows nothing of ``law.delta``."""
    whole = law.delta(0.0)
    for share in (0.3, 1e-3, 1e-9):
        delta = share * whole
        low, high = epsilon_bracket(composed((law, 1)), delta)
        assert law.delta(high) <= delta * (1 + 1e-10) and law.delta(low) >= delta * (1 - 1e-10)
        assert width((low, high)) <= 1e-6
        bottom, top = delta_bracket(composed((law, 1)), high, 1e-5)
        assert bottom * (1 - 1e-10) <= law.delta(high) <= top * (1 + 1e-10)


def other_order(law: LossLaw) -> LossLaw:
    """The pair (Q, P)."""
    if isinstance(law, MixtureLoss) and law.kind is not MixtureKind.SPLICE:
        return MixtureLoss(
            law.base, law.rate, MixtureKind.ADD if law.kind is MixtureKind.REMOVE else MixtureKind.REMOVE
        )
    if isinstance(law, SubsampledGaussianLoss) and law.direction is not Direction.REPLACE:
        opposite = Direction.ADD if law.direction is Direction.REMOVE else Direction.REMOVE
        return SubsampledGaussianLoss(law.rate, law.sigma, opposite)
    return law


def two_steps(law: LossLaw, epsilon: float) -> tuple[float, float]:
    """Bracket of E delta(epsilon - L): the inner profile rises with L, so a step function on cells bounds it (T15)."""

    def profile(e: float) -> float:
        return law.delta(e) if e >= 0 else -math.expm1(e) + math.exp(e) * other_order(law).delta(-e)

    low, high = law.support(1e-20)
    away = (high - low) * np.concatenate([np.linspace(0, 1, 1500), np.geomspace(1e-9, 1, 1500)])
    borders = np.unique(np.clip(np.concatenate([low + away, high - away, away, -away]), low, high))
    p = law.masses(borders)[0]
    inner = np.array([profile(epsilon - x) for x in borders])
    atoms = math.fsum(mass * profile(epsilon - loss) for loss, mass in law.atoms())
    return atoms + float(p @ inner[:-1]), atoms + float(p @ inner[1:]) + 2e-20


@pytest.mark.parametrize("law", LAWS)
def test_two_steps_are_a_convolution(law: LossLaw) -> None:
    """T15, T23: against a quadrature that shares only the law's masses with the engine."""
    low, high = epsilon_bracket(composed((law, 2)), 0.05 * law.delta(0.0))
    below, above = two_steps(law, (low + high) / 2)
    bracket = delta_bracket(composed((law, 2)), (low + high) / 2)
    assert bracket[0] <= above and bracket[1] >= below
    assert above - below < 0.05 * above and width(bracket) <= 2e-6


def binomial_delta(epsilon: float, loss: float, count: int) -> mpmath.mpf:
    """T13: the exact profile of ``count`` pure steps, 50 digits."""
    with mpmath.workdps(50):
        high = 1 / (1 + mpmath.exp(-mpmath.mpf(loss)))
        total = mpmath.mpf(0)
        for k in range(count + 1):
            above = (count - 2 * k) * mpmath.mpf(loss) - mpmath.mpf(epsilon)
            if above > 0:
                total += mpmath.binomial(count, k) * high ** (count - k) * (1 - high) ** k * -mpmath.expm1(-above)
        return total


@pytest.mark.parametrize(("loss", "count"), [(0.01, 3), (0.1, 100), (1.0, 30), (3.0, 7), (0.3, 700)])
@pytest.mark.parametrize("delta", [1e-18, 1e-9, 1e-3, 0.4])
def test_pure_steps_are_exact_binomials(loss: float, count: int, delta: float) -> None:
    """T13: atoms on the lattice cost nothing, at any delta."""
    low, high = epsilon_bracket(composed((response_loss(loss), count)), delta)
    assert binomial_delta(high, loss, count) <= delta
    assert low == 0 or binomial_delta(low, loss, count) >= delta
    assert width((low, high)) <= 1e-9 or high < 1e-9 * loss


def test_gaussian_steps_are_one_gaussian() -> None:
    """T19, also where a single step's Q would underflow (mean loss 5000)."""
    for mu in (0.01, 1.0, 100.0):
        for delta in (1e-15, 1e-5, 0.3):
            low, high = epsilon_bracket(composed((GaussianLoss(mu), 1)), delta, 1e-5)
            law = GaussianLoss(mu)
            assert law.delta(high) <= delta * (1 + 1e-10) and (low == 0 or law.delta(low) >= delta * (1 - 1e-10))
            assert width((low, high)) <= 2e-5


@pytest.mark.parametrize("top", [1e-4, 0.1, 2.0])
@pytest.mark.parametrize("count", [2, 5, 50, 2000])
def test_laplace_brackets_are_narrow_for_every_count(top: float, count: int) -> None:
    for delta in (1e-15, 1e-4):
        low, high = epsilon_bracket(composed((LaplaceLoss(top), count)), delta)
        assert 0 <= low <= high <= count * top * (1 + 1e-11)
        assert width((low, high)) <= 1e-6


def test_a_million_steps() -> None:
    bracket = epsilon_bracket(composed((LaplaceLoss(1e-4), 10**6)), 1e-6)
    assert width(bracket) <= 1e-6 and 0.3968 < bracket[0] < 0.3969


def test_incommensurable_scales_share_a_lattice_or_are_moved_to_one() -> None:
    """Two and three scales: a coarse and a fine bracket overlap, and the fine one is narrow."""
    for steps in (
        [(LaplaceLoss(0.1), 50), (LaplaceLoss(math.pi / 20), 20)],
        [(LaplaceLoss(0.1), 50), (LaplaceLoss(1 / math.e), 3), (LaplaceLoss(math.sqrt(0.05)), 200)],
        [(LaplaceLoss(0.7), 4), (response_loss(math.sqrt(0.02)), 300), (SAMPLED_LAPLACE, 40)],
    ):
        fine, rough = epsilon_bracket(composed(*steps), 1e-5), epsilon_bracket(composed(*steps), 1e-5, 1e-3)
        assert rough[0] <= fine[1] and fine[0] <= rough[1] and width(fine) <= 1e-5


@pytest.mark.parametrize(
    ("law", "count", "delta"),
    [
        (SubsampledGaussianLoss(1e-3, 0.7, Direction.REMOVE), 2, 1e-6),
        (SubsampledGaussianLoss(1e-5, 0.6, Direction.REMOVE), 100, 1e-8),
        (SubsampledGaussianLoss(1e-4, 1.0, Direction.REMOVE), 2, 1e-12),
        (SubsampledGaussianLoss(2e-3, 0.7, Direction.REPLACE), 3, 8e-6),
        (SubsampledGaussianLoss(1e-4, 0.6, Direction.ADD), 6, 1e-16),
        (MixtureLoss(GaussianLoss(3.0), 1e-4, MixtureKind.SPLICE), 80, 4e-9),
    ],
)
def test_almost_surely_nothing_is_sampled(law: LossLaw, count: int, delta: float) -> None:
    """T22, T24, T25 with q T << 1: nearly an atom at 0, where the contour does not close."""
    fine, rough = epsilon_bracket(composed((law, count)), delta), epsilon_bracket(composed((law, count)), delta, 1e-3)
    assert rough[0] <= fine[1] and fine[0] <= rough[1] and width(fine) <= 1e-6
    one = delta_bracket(composed((law, 1)), fine[0])
    assert one[0] <= delta  # dropping steps is post-processing (T3)


def test_epsilon_is_zero_when_delta_at_zero_is_small_enough() -> None:
    for steps in ([(LaplaceLoss(0.01), 3)], [(SubsampledGaussianLoss(0.01, 1.0, Direction.REMOVE), 5)]):
        at_zero = delta_bracket(composed(*steps), 0.0)
        assert width(at_zero) <= 1e-6
        assert epsilon_bracket(composed(*steps), at_zero[1] * (1 + 1e-5)) == (0.0, 0.0)
        assert epsilon_bracket(composed(*steps), at_zero[0] * (1 - 1e-3))[0] > 0


def test_degenerate_questions_have_answers() -> None:
    nothing, pure = Composition(()), composed((response_loss(0.0), 5))
    laplace = composed((LaplaceLoss(1.0), 3))
    assert epsilon_bracket(nothing, 0.1) == delta_bracket(nothing, 0.0) == (0.0, 0.0)
    assert epsilon_bracket(pure, 1e-9)[1] <= 1e-9 and delta_bracket(pure, 0.0)[1] <= 1e-9
    assert epsilon_bracket(laplace, 1.0) == (0.0, 0.0)
    assert delta_bracket(laplace, 3.1) == (0.0, 0.0)
    assert epsilon_bracket(laplace, 1e-310)[1] == pytest.approx(3.0)
    assert epsilon_bracket(composed((GaussianLoss(1.0), 1)), 1e-310) == (0.0, math.inf)


def test_mass_at_infinity_is_left_to_the_caller() -> None:
    with_mass, without = AtomicLoss((-1.0, 1.0), response_loss(1.0).weights, 0.1), response_loss(1.0)
    assert epsilon_bracket(composed((with_mass, 9)), 1e-4) == epsilon_bracket(composed((without, 9)), 1e-4)


rates = st.floats(-4, -0.1).map(lambda x: 10**x)
scales = st.floats(-2, 0.7).map(lambda x: 10**x)
laws = st.one_of(
    st.builds(LaplaceLoss, scales),
    st.builds(response_loss, scales),
    st.builds(randomized_response_loss, scales, st.integers(3, 20)),
    st.builds(MixtureLoss, st.builds(LaplaceLoss, scales), rates, st.sampled_from(MixtureKind)),
    st.builds(MixtureLoss, st.builds(GaussianLoss, scales), rates, st.just(MixtureKind.SPLICE)),
    st.builds(SubsampledGaussianLoss, rates, scales.map(lambda x: 1 / x), st.sampled_from(Direction)),
)
counts = st.floats(0, 2.5).map(lambda x: round(10**x))


@settings(max_examples=20)
@given(steps=st.lists(st.tuples(laws, counts), min_size=1, max_size=2), power=st.floats(-17, -0.5))
def test_random_compositions_have_consistent_brackets(steps: list[tuple[LossLaw, int]], power: float) -> None:
    """Never a NaN or an exception; brackets on different lattices overlap; epsilon and delta invert each other."""
    composition, delta = composed(*steps), 10**power
    low, high = epsilon_bracket(composition, delta, 1e-5)
    other = epsilon_bracket(composition, delta, 1e-3)
    assert 0 <= low <= high < math.inf
    assert other[0] <= high and low <= other[1] and width((low, high)) <= 1e-2
    assume(high > 0)
    bracket = delta_bracket(composition, high, 1e-3)
    assert 0 <= bracket[0] <= delta and bracket[0] <= bracket[1] <= 1
    if low > 0:
        assert delta_bracket(composition, low, 1e-3)[1] >= delta


@pytest.mark.parametrize(("scale", "rate", "count", "delta"), [(10.0, 1.0, 100, 1e-5), (1.0, 0.1, 20, 1e-6)])
def test_dp_accounting_agrees_up_to_its_grid(scale: float, rate: float, count: int, delta: float) -> None:
    """T28: its pessimistic and its optimistic value, dp-accounting 0.6, interval 1e-4, Laplace, both directions."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    ends = []
    for pessimistic in (False, True):
        one = pld.from_laplace_mechanism(
            scale,
            sampling_prob=rate,
            value_discretization_interval=1e-4,
            pessimistic_estimate=pessimistic,
            use_connect_dots=pessimistic,
        )
        ends.append(one.self_compose(count).get_epsilon_for_delta(delta))
    base = LaplaceLoss(1 / scale)
    directions = (
        [base] if rate == 1 else [MixtureLoss(base, rate, kind) for kind in (MixtureKind.REMOVE, MixtureKind.ADD)]
    )
    brackets = [epsilon_bracket(composed((law, count)), delta) for law in directions]
    low, high = max(b[0] for b in brackets), max(b[1] for b in brackets)
    assert ends[0] <= high and ends[1] >= low
    assert abs(ends[1] - high) <= 1e-5 * high
