# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Laplace (T5), Gaussian (T6) and gamma-norm (T7) mechanisms: calibration, order of a release, record (T10)."""

import json
import math
import pickle
import threading
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dperm import GDP, RDP, ZCDP, ApproxDP, PureDP, Record, account
from dperm.accounting import Gaussian, Laplace, MemoryBudget, Pure, ReplaceOneOnly
from dperm.accounting.event import Event
from dperm.errors import (
    AssumptionError,
    BudgetError,
    ConversionError,
    DataError,
    NotPrivateWarning,
    ParameterError,
)
from dperm.mechanisms import (
    DiscreteLaplaceMechanism,
    GammaNormMechanism,
    GaussianMechanism,
    GaussianMixtureMechanism,
    LaplaceMechanism,
)
from dperm.noise import NotPrivateBits
from dperm.privacy.digest import digest

ADJACENCIES = ("add_remove", "replace_one")
GOALS = {
    GaussianMechanism: (
        lambda a: ApproxDP(1.0, 1e-5, a),
        lambda a: ApproxDP(0.01, 1e-9, a),
        lambda a: ApproxDP(20.0, 1e-3, a),
        lambda a: GDP(0.7, a),
        lambda a: ZCDP(0.3, a),
        lambda a: RDP([(2.0, 0.3), (16.0, 1.1)], a),
    ),
    LaplaceMechanism: (
        lambda a: PureDP(0.3, a),
        lambda a: PureDP(7.0, a),
        lambda a: ApproxDP(1.0, 1e-5, a),
        lambda a: ApproxDP(1.0, 0.0, a),
    ),
    DiscreteLaplaceMechanism: (lambda a: PureDP(0.3, a), lambda a: ApproxDP(2.0, 1e-5, a)),
    GammaNormMechanism: (lambda a: PureDP(0.3, a), lambda a: ApproxDP(2.0, 1e-5, a)),
    GaussianMixtureMechanism: (lambda a: ApproxDP(0.3, 1e-12, a), lambda a: ApproxDP(2.0, 1e-5, a)),
}
CASES = [
    pytest.param(kind, make(adjacency), id=f"{kind.__name__}-{make(adjacency)}")
    for kind, goals in GOALS.items()
    for make in goals
    for adjacency in ADJACENCIES
]
KINDS = [pytest.param(kind, goals[0]("add_remove"), id=kind.__name__) for kind, goals in GOALS.items()]


def exactly(goal) -> MemoryBudget:
    return MemoryBudget(goal, blocks=1 if isinstance(goal, ApproxDP) else None)


@pytest.mark.parametrize(("kind", "goal"), CASES)
def test_a_budget_of_exactly_the_goal_pays_for_exactly_one_release(kind, goal):
    mechanism = kind.calibrate(1, goal, dim=3)
    budget = exactly(goal)
    release = mechanism.release([0, 1, 2], budget)
    assert release.guarantee == goal
    assert release.event == mechanism.event
    assert release.value.shape == (3,)
    (entry,) = budget.entries
    assert entry.digest == digest(release.value)
    with pytest.raises(BudgetError):
        mechanism.release([0, 1, 2], budget)


@pytest.mark.parametrize(("kind", "goal"), [case for case in CASES if isinstance(case.values[1], ApproxDP | PureDP)])
def test_the_profile_is_within_an_approximate_goal_and_not_far_below_it(kind, goal):
    delta = getattr(goal, "delta", 0.0)
    profile = kind.calibrate(1, goal, dim=3).facts.profile
    found = profile.epsilon(delta)
    assert found <= goal.epsilon
    if kind in (GaussianMechanism, LaplaceMechanism) or delta == 0:
        assert found >= goal.epsilon * (1 - 1e-9)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("dim", [1, 7, 10_000])
def test_gaussian_noise_is_what_t6_asks_for_and_hardly_more(dim, adjacency):
    mechanism = GaussianMechanism.calibrate(2.0, ApproxDP(1.0, 1e-5, adjacency), dim=dim)
    least = 2.0 * 3.7306316348
    assert least <= mechanism.scale <= least * (1 + 1e-6)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_laplace_noise_is_what_t5_asks_for_and_hardly_more(adjacency):
    mechanism = LaplaceMechanism.calibrate(2.0, PureDP(0.5, adjacency), dim=100)
    assert 4.0 < mechanism.scale <= 4.0 * (1 + 1e-6)


def test_a_delta_buys_laplace_noise_the_difference_of_t5():
    with_delta = LaplaceMechanism.calibrate(1.0, ApproxDP(0.5, 0.1, "add_remove"))
    assert with_delta.scale == pytest.approx(1 / (0.5 - 2 * math.log(0.9)), rel=1e-6)


@pytest.mark.parametrize("kind", [GaussianMechanism, LaplaceMechanism])
def test_the_event_is_relative_to_one_record_and_a_replace_one_sensitivity_says_nothing_else(kind):
    plain = {GaussianMechanism: Gaussian, LaplaceMechanism: Laplace}[kind]
    goal = {GaussianMechanism: GDP, LaplaceMechanism: PureDP}[kind]
    added = kind.calibrate(1.0, goal(1.0, "add_remove")).event
    replaced = kind.calibrate(1.0, goal(1.0, "replace_one")).event
    assert isinstance(added, plain)
    assert added.noise_multiplier == pytest.approx(1.0)
    assert isinstance(replaced, ReplaceOneOnly)
    assert replaced.event.noise_multiplier == pytest.approx(2.0)


@pytest.mark.parametrize("kind", [GaussianMechanism, LaplaceMechanism, GammaNormMechanism])
@pytest.mark.parametrize("error", [0.0, 0.01, 3.0])
def test_scale_over_sensitivity_after_rounding_is_never_overstated(kind, error):
    """The multiplier times Delta' = Delta + d^(1/p) g + 2 tau, in rationals, is at most the noise's scale (T10b)."""
    goal = GDP(0.3, "add_remove") if kind is GaussianMechanism else PureDP(0.3, "add_remove")
    mechanism = kind.calibrate(1.0, goal, dim=49, numerical_error=error)
    step = Fraction(mechanism.calibration.grid.step)
    moved = 1 + 2 * Fraction(error) + step * (49 if kind is LaplaceMechanism else 7)
    scale = Fraction(mechanism.scale)
    if isinstance(mechanism.event, Pure):
        assert Fraction(mechanism.event.epsilon) >= moved / scale
        assert mechanism.event.epsilon <= goal.epsilon
    else:
        assert Fraction(mechanism.event.noise_multiplier) * moved <= scale
    assert float(scale) <= float(moved) / 0.3 * (1 + 1e-12)


@pytest.mark.parametrize("dim", [1, 4, 100])
def test_laplace_for_an_l2_sensitivity_pays_sqrt_d(dim):
    mechanism = LaplaceMechanism.calibrate_l2(0.5, PureDP(1.0, "add_remove"), dim=dim)
    assert mechanism.scale == pytest.approx(0.5 * math.sqrt(dim), rel=1e-6)
    assert mechanism.sensitivity >= 0.5 * math.sqrt(dim)


def test_sizes_of_the_noise():
    """T5: sqrt(2) b; T6: sigma; T7: E||x||^2 = d (d + 1) b^2."""
    bits = NotPrivateBits(11)
    with pytest.warns(NotPrivateWarning):
        laplace = LaplaceMechanism.calibrate(1.0, PureDP(1.0, "add_remove"), dim=40_000).release(
            np.zeros(40_000), bits=bits
        )
    with pytest.warns(NotPrivateWarning):
        gaussian = GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove"), dim=40_000).release(
            np.zeros(40_000), bits=bits
        )
    with pytest.warns(NotPrivateWarning):
        gamma = GammaNormMechanism.calibrate(1.0, PureDP(1.0, "add_remove"), dim=2000).release(
            np.zeros(2000), bits=bits
        )
    assert np.std(laplace.value) == pytest.approx(40_001 * 2**-40 + math.sqrt(2), rel=0.03)
    assert np.std(gaussian.value) == pytest.approx(1.0, rel=0.02)
    assert np.linalg.norm(gamma.value) == pytest.approx(math.sqrt(2000 * 2001), rel=0.1)


@pytest.mark.parametrize(("kind", "goal"), KINDS)
@pytest.mark.parametrize(
    "value",
    [
        [1.0, math.nan, 2.0],
        [1.0, math.inf, 2.0],
        [1.0, 2.0],
        [],
        1.0,
        ["a", "b", "c"],
        [1.0, None, 2.0],
        [[1.0], [1.0, 2.0]],
        [1j, 2, 3],
        [10**400, 1, 2],
        [2**53 + 1, 1, 2],
        np.array([2**63, 1, 2], dtype=np.uint64),
        np.ones(3, dtype=np.longdouble),
    ],
    ids=str,
)
def test_bad_values_raise_before_any_noise_and_any_charge_and_say_nothing(kind, goal, value, no_bits):
    budget = exactly(goal)
    with pytest.raises(DataError) as caught:
        kind.calibrate(1, goal, dim=3).release(value, budget, bits=no_bits)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert budget.entries == ()
    message = str(caught.value)
    assert message.startswith("value must be")
    for shown in ("nan", "inf", "400", "9007199254740993", "None", "(2,)", "(0,)", "1j"):
        assert shown not in message.replace("infinities", "").replace("NaN", "")


@pytest.mark.parametrize("sensitivity", [0, -1.0, math.nan, math.inf, "1", None, True])
@pytest.mark.parametrize(("kind", "goal"), KINDS)
def test_a_sensitivity_must_be_positive(kind, goal, sensitivity):
    with pytest.raises(ParameterError, match="sensitivity must be"):
        kind.calibrate(sensitivity, goal)


@pytest.mark.parametrize("goal", [PureDP(0.0, "add_remove"), ApproxDP(0.0, 1e-5, "add_remove"), GDP(0.0, "add_remove")])
@pytest.mark.parametrize("kind", list(GOALS))
def test_a_goal_must_leave_something_to_spend(kind, goal):
    with pytest.raises((ParameterError, ConversionError), match="goal"):
        kind.calibrate(1, goal)


@pytest.mark.parametrize("goal", [1.0, None, "PureDP", Laplace(1.0)])
@pytest.mark.parametrize("kind", list(GOALS))
def test_a_goal_is_a_guarantee(kind, goal):
    with pytest.raises(ParameterError, match="goal must be a guarantee"):
        kind.calibrate(1, goal)


def test_goals_that_no_theorem_reaches_are_refused():
    with pytest.raises(ConversionError, match="never has a pure guarantee"):
        GaussianMechanism.calibrate(1.0, PureDP(1.0, "add_remove"))
    with pytest.raises(ConversionError, match="never has a pure guarantee"):
        GaussianMechanism.calibrate(1.0, ApproxDP(1.0, 0.0, "add_remove"))
    for kind in (LaplaceMechanism, GammaNormMechanism, DiscreteLaplaceMechanism):
        with pytest.raises(ConversionError, match="only GaussianMechanism has GDP goals"):
            kind.calibrate(1, GDP(1.0, "add_remove"))


@pytest.mark.parametrize("dim", [0, -1, 1.5, "3", True])
def test_dim_is_a_positive_count(dim):
    with pytest.raises(ParameterError, match="dim must be"):
        GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove"), dim=dim)


@pytest.mark.parametrize("error", [-1.0, math.nan, math.inf])
def test_numerical_error_is_not_negative(error):
    with pytest.raises(ParameterError, match="numerical_error must be"):
        GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove"), numerical_error=error)


@pytest.mark.parametrize("goal", [GDP(1e-12, "add_remove"), GDP(1e4, "add_remove")])
def test_noise_beyond_the_accountants_range_is_refused_in_the_users_words(goal):
    with pytest.raises(ParameterError, match="goal requires noise"):
        GaussianMechanism.calibrate(1.0, goal)


def test_sensitivities_of_any_magnitude_are_calibrated():
    for sensitivity in (1e-200, 1e-9, 1e9, 1e200):
        mechanism = GaussianMechanism.calibrate(sensitivity, GDP(1.0, "add_remove"), dim=4)
        assert sensitivity <= mechanism.scale <= sensitivity * (1 + 1e-6)
        assert np.isfinite(mechanism.release(np.full(4, sensitivity)).value).all()
    for sensitivity in (1e-300, 1e300):
        with pytest.raises(ParameterError, match="sensitivity and goal require noise of scale"):
            GaussianMechanism.calibrate(sensitivity, GDP(1.0, "add_remove"))


def test_a_value_of_any_size_passes_unclamped():
    mechanism = LaplaceMechanism.calibrate(1.0, PureDP(1.0, "add_remove"))
    assert mechanism.release(1e15).value == pytest.approx(1e15, abs=100)
    assert mechanism.release(-1e300).value == -1e300


def test_the_shape_of_the_value_is_the_shape_of_the_release():
    mechanism = GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove"), dim=6)
    assert mechanism.release(np.ones((2, 3))).value.shape == (2, 3)
    assert isinstance(GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove")).release(3).value, float)
    assert GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove")).release([3]).value.shape == (1,)


def test_the_value_is_left_as_it_was():
    value = np.arange(3.0)
    GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove"), dim=3).release(value)
    assert value.tolist() == [0.0, 1.0, 2.0]


def test_discrete_laplace_gives_integers_for_integers_and_refuses_others(no_bits):
    mechanism = DiscreteLaplaceMechanism.calibrate(2, PureDP(0.1, "add_remove"), dim=50)
    value = mechanism.release(np.arange(50)).value
    assert (value == np.rint(value)).all()
    with pytest.raises(DataError, match="whole numbers"):
        mechanism.release(np.full(50, 0.5), bits=no_bits)
    with pytest.raises(ParameterError, match="sensitivity must be a whole number"):
        DiscreteLaplaceMechanism.calibrate(1.5, PureDP(0.1, "add_remove"))
    with pytest.raises(ParameterError, match="epsilon at most 16"):
        DiscreteLaplaceMechanism.calibrate(1, PureDP(17.0, "add_remove"))


def test_discrete_laplace_is_not_accounted_as_laplace():
    """T5a: its total variation at shift 1 exceeds that of Laplace noise, so only the pure event is true of it."""
    scale = 1.0
    own = math.tanh(1 / (2 * scale))
    assert own > account(Laplace(scale), "add_remove").delta(0.0) > own * 0.8
    mechanism = DiscreteLaplaceMechanism.calibrate(1, PureDP(1.0, "add_remove"))
    assert mechanism.event == Pure(1.0, "add_remove")
    assert mechanism.facts.profile.delta(0.0) >= own * (1 - 1e-12)


@pytest.mark.parametrize("dim", [1, 2, 10, 1000])
def test_the_mixture_is_never_pure_and_its_record_says_by_how_much(dim):
    """T10e: eta and tau are numbers in the record, and delta is positive in the event."""
    mechanism = GaussianMixtureMechanism.calibrate(1.0, ApproxDP(1.0, 1e-12, "add_remove"), dim=dim)
    record = mechanism.release(np.zeros(dim)).record
    assert record.eta == mechanism.mixture.eta > 0
    assert record.tau == mechanism.mixture.tau > 0
    assert 0 < mechanism.event.delta <= 1e-12
    assert mechanism.event.epsilon <= 1.0
    assert 1.0 < mechanism.scale < 1 + 1e-4
    for goal in (PureDP(1.0, "add_remove"), ApproxDP(1.0, 0.0, "add_remove"), GDP(1.0, "add_remove")):
        with pytest.raises(ConversionError, match="must be ApproxDP with delta > 0"):
            GaussianMixtureMechanism.calibrate(1.0, goal, dim=dim)


def test_products_of_scales_and_deviations_of_the_mixture_are_exact():
    mechanism = GaussianMixtureMechanism.calibrate(0.7, ApproxDP(1.3, 1e-12, "add_remove"), dim=20)
    for deviation in mechanism.mixture.deviations.tolist():
        assert Fraction(deviation) * Fraction(mechanism.scale) == Fraction(deviation * mechanism.scale)


def test_the_mixture_has_the_size_of_gamma_norm_noise():
    """T7: E||x||^2 = d (d + 1) b^2."""
    mechanism = GaussianMixtureMechanism.calibrate(1.0, ApproxDP(1.0, 1e-9, "add_remove"), dim=4)
    bits = NotPrivateBits(3)
    with pytest.warns(NotPrivateWarning):
        squares = [np.sum(mechanism.release(np.zeros(4), bits=bits).value ** 2) for _ in range(4000)]
    assert np.mean(squares) == pytest.approx(20.0, rel=0.1)


def test_gamma_norm_has_a_largest_dimension():
    with pytest.raises(ParameterError, match="calibrate_l2"):
        GammaNormMechanism.calibrate(1.0, PureDP(1.0, "add_remove"), dim=2**20 + 1)


def test_the_record_names_every_public_fact_and_no_other():
    record = GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove"), dim=2).release([3.0, 4.0]).record
    assert record.grade == "exact"
    assert record.noise.startswith(
        "Gaussian noise, drawn exactly from the distribution rounded to multiples of 2^-40; random bits: AES-256-CTR"
    )
    assert (record.eta, record.tau, record.seeded, record.is_private) == (0.0, 0.0, False, True)
    assert set(record.public) == {
        "mechanism",
        "sensitivity",
        "sensitivity_norm",
        "numerical_error",
        "dim",
        "noise_scale",
        "noise_standard_deviation",
        "grid",
    }
    assert {"T6", "T10"} <= set(record.theorems)
    assert Record.from_json(record.to_json()) == record
    assert set(record.versions) == {"dperm", "numpy", "python"}


def test_the_fast_grade_is_named_and_described_as_what_it_is():
    mechanism = GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove"), dim=5, grade="fast")
    record = mechanism.release(np.zeros(5)).record
    assert record.grade == "fast"
    assert "low-order bits may leak" in record.noise
    with pytest.raises(ParameterError, match='grade must be "exact" or "fast"'):
        GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove"), grade="quick")
    assert replace(mechanism, grade="fast").release(np.zeros(5)).record.grade == "fast"


@pytest.mark.parametrize(("kind", "goal"), KINDS)
def test_a_seed_makes_a_release_reproducible_loud_and_not_private(kind, goal):
    mechanism = kind.calibrate(1, goal, dim=3)
    with pytest.warns(NotPrivateWarning, match="NOT PRIVATE"):
        first = mechanism.release([1, 2, 3], bits=NotPrivateBits(5))
    with pytest.warns(NotPrivateWarning):
        second = mechanism.release([1, 2, 3], bits=NotPrivateBits(5))
    assert first.value.tolist() == second.value.tolist()
    assert first.record.seeded
    assert not first.record.is_private
    assert "NOT PRIVATE" in first.record.noise
    assert json.loads(first.record.to_json())["seeded"] is True


@pytest.mark.parametrize("bits", [5, "seed", np.random.default_rng(0), object()])
def test_a_seed_is_accepted_nowhere_else(bits):
    mechanism = GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove"))
    with pytest.raises(ParameterError, match="NotPrivateBits"):
        mechanism.release(1.0, bits=bits)


def test_two_releases_are_never_the_same():
    mechanism = GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove"), dim=4)
    values = [tuple(mechanism.release(np.zeros(4)).value) for _ in range(50)]
    assert len(set(values)) == 50


def test_the_budget_is_asked_before_the_value_is_read(no_bits):
    class Unread:
        def __array__(self, *_, **__):
            raise AssertionError("the value was read")

    budget = MemoryBudget(GDP(0.5, "add_remove"))
    with pytest.raises(BudgetError):
        GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove")).release(Unread(), budget, bits=no_bits)
    with pytest.raises(ParameterError, match="budget must be a budget"):
        GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove")).release(Unread(), 3.0, bits=no_bits)


def test_an_add_remove_budget_refuses_a_replace_one_release(no_bits):
    budget = MemoryBudget(GDP(100.0, "add_remove"))
    with pytest.raises(ValueError, match="replace_one"):
        GaussianMechanism.calibrate(1.0, GDP(1.0, "replace_one")).release(1.0, budget, bits=no_bits)
    assert budget.entries == ()


def test_without_randomness_nothing_is_released_or_charged(monkeypatch):
    def empty(_):
        raise OSError("no randomness")

    budget = MemoryBudget(GDP(1.0, "add_remove"))
    mechanism = GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove"))
    monkeypatch.setattr("os.urandom", empty)
    with pytest.raises(OSError, match="no randomness"):
        mechanism.release(1.0, budget)
    assert budget.entries == ()


def test_a_failure_after_the_reservation_burns_it(monkeypatch):
    def failing(*_):
        raise RuntimeError

    budget = MemoryBudget(GDP(1.0, "add_remove"))
    mechanism = GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove"))
    monkeypatch.setattr("dperm.mechanisms.gaussian.rounded_gaussian", failing)
    with pytest.raises(RuntimeError):
        mechanism.release(1.0, budget)
    (entry,) = budget.entries
    assert entry.state == "burned"


def test_eight_threads_share_one_mechanism():
    mechanism = GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove"), dim=100)
    found: list[tuple[float, ...]] = []

    def work():
        for _ in range(50):
            found.append(tuple(mechanism.release(np.zeros(100)).value))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(set(found)) == 400


@pytest.mark.parametrize(("kind", "goal"), KINDS)
def test_a_mechanism_is_a_value(kind, goal):
    mechanism = kind.calibrate(1, goal, dim=2)
    assert kind.calibrate(1, goal, dim=2) == mechanism
    copy = pickle.loads(pickle.dumps(mechanism))
    assert copy == mechanism
    assert copy.event == mechanism.event
    assert isinstance(copy.event, Event)
    with pytest.raises(AttributeError):
        mechanism.sensitivity = 0.1
    assert replace(mechanism, sensitivity=2).scale > mechanism.scale


def what_is_added_to_a_sensitivity_is_paid_for(module):
    statistic = module.ValueSensitivity(1.0, 100, module.Norm.L2, 0.5)
    found = module.calibration(statistic, 0.5)
    assert Fraction(found.scale) * Fraction(1, 2) >= 2 + 10 * Fraction(found.grid.step)


def multipliers_are_rounded_down(module):
    for scale in (1.1, 3.3, 7.7):
        found = module.Calibration(scale, module.Grid(-40), 0.3)
        event = module.noise_event(Gaussian, found, module.Adjacency.ADD_REMOVE)
        assert Fraction(event.noise_multiplier) * Fraction(0.3) <= Fraction(scale)


def a_replaced_record_counts_twice_and_only_there(module):
    found = module.Calibration(1.0, module.Grid(-40), 1.0)
    event = module.noise_event(Gaussian, found, module.Adjacency.REPLACE_ONE)
    assert event == ReplaceOneOnly(Gaussian(2.0))


@pytest.mark.parametrize(
    ("check", "old", "new"),
    [
        (
            what_is_added_to_a_sensitivity_is_paid_for,
            "quotient_up(moved, loss)",
            "quotient_up(statistic.sensitivity, loss)",
        ),
        (what_is_added_to_a_sensitivity_is_paid_for, "moved = statistic.on(grid)", "moved = statistic.sensitivity"),
        (multipliers_are_rounded_down, "quotient_down(scale, sensitivity)", "quotient_up(scale, sensitivity)"),
        (
            a_replaced_record_counts_twice_and_only_there,
            "ReplaceOneOnly(kind(_multiplier(2 * found.scale",
            "(kind(_multiplier(2 * found.scale",
        ),
        (a_replaced_record_counts_twice_and_only_there, "_multiplier(2 * found.scale", "_multiplier(4 * found.scale"),
    ],
)
def test_an_unsafe_mutant_of_the_calibration_is_killed(check, old, new, assert_killed):
    assert_killed(check, "dperm.mechanisms.calibration", old, new)


def test_a_scale_that_cannot_be_certified_is_refused():
    from dperm.mechanisms.calibration import Calibration, raise_until_certified
    from dperm.noise.grid import Grid

    with pytest.raises(AssumptionError, match="certified"):
        raise_until_certified(Calibration(1.0, Grid(-40), 1.0), lambda found: False)
