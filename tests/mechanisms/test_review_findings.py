# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a hostile reading of the mechanisms found, kept as tests (T5, T10)."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dperm import GDP, ZCDP, PureDP
from dperm.accounting import MemoryBudget
from dperm.errors import DataError, ParameterError
from dperm.mechanisms import (
    DiscreteLaplaceMechanism,
    ExponentialMechanism,
    GammaNormMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    RandomizedResponseMechanism,
)
from dperm.mechanisms.releases import Count, Histogram, Mean, Quantile, Sum
from dperm.noise import NotPrivateBits, SystemBits

PURE = PureDP(1.0, "add_remove")


@pytest.mark.parametrize(
    "value",
    [
        [2**63 + 1024, -1],
        [2**60 + 128, 0.5],
        (2**53 + 1, 1.0),
        [-(2**53) - 1, 0.5],
        [np.int64(2**60), 0.5],
        [np.array(2**60 + 128), 0.5],
        [[np.array(2**60 + 128)], [0.5]],
        ([2**60 + 128], (0.5,)),
    ],
    ids=str,
)
def test_no_integer_is_rounded_on_its_way_to_a_double(value, no_bits):
    """numpy makes doubles of mixed lists: 2^63 + 1024 and 2^63 + 1025, neighbours, would be 2048 apart."""
    with pytest.raises(DataError, match="at most 2\\^53"):
        DiscreteLaplaceMechanism.calibrate(1, PURE, dim=2).release(value, bits=no_bits)


def test_large_doubles_are_not_mistaken_for_integers():
    assert LaplaceMechanism.calibrate(1.0, PURE, dim=2).release([2.0**60, 0.5]).value[0] == pytest.approx(2.0**60)


def test_how_an_answer_is_read_does_not_depend_on_the_other_records():
    survey = RandomizedResponseMechanism.calibrate(PureDP(1.0, "replace_one"), categories=[1, 2**53, 2**53 + 1])
    assert survey._indices("values", [2**53 + 1, 1]).tolist() == [2, 0]
    with pytest.raises(DataError, match="declared categories"):
        survey._indices("values", [2**53 + 1, 1.0])


@pytest.mark.parametrize("sensitivity", [1e-200, 1e-46, 1.0, 1e38, 1e200])
def test_the_fast_grade_adds_noise_at_every_scale(sensitivity):
    """In single precision the product would be 0, or infinite."""
    mechanism = GaussianMechanism.calibrate(sensitivity, GDP(1.0, "add_remove"), dim=100, grade="fast")
    values = mechanism.release(np.zeros(100)).value
    assert len(set(values.tolist())) > 90
    assert np.isfinite(values).all()
    assert np.std(values / mechanism.scale) == pytest.approx(1.0, rel=0.5)


@pytest.mark.parametrize("kind", [Histogram, RandomizedResponseMechanism])
def test_one_long_string_does_not_make_every_record_long(kind):
    """As an array of strings, a hundred thousand records would take as many times the longest."""
    goal = PureDP(1.0, "replace_one")
    release = kind(goal, categories=["a", "b"])
    data = ["a"] * 100_000 + ["x" * 10**7]
    if kind is Histogram:
        assert release.release(data).value.shape == (2,)
    else:
        with pytest.raises(DataError, match="declared categories"):
            release.release(data)


def test_the_message_about_memory_does_not_tell_how_many_records_there_are(monkeypatch, no_bits):
    def full(*_, **__):
        raise MemoryError("Unable to allocate an array with shape (100001,)")

    monkeypatch.setattr("dperm.mechanisms.releases.records.real_array", full)
    with pytest.raises(DataError, match="do not fit into memory") as caught:
        Mean(PURE, bounds=(0, 1)).release([1.0], bits=no_bits)
    assert "100001" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("kind", [LaplaceMechanism, GaussianMechanism, GammaNormMechanism])
@pytest.mark.parametrize("error", [1e6, 1e30, 1e200])
def test_an_error_far_above_the_sensitivity_is_calibrated_or_refused_but_never_charged_in_vain(kind, error):
    goal = GDP(1.0, "add_remove") if kind is GaussianMechanism else PURE
    budget = MemoryBudget(goal)
    mechanism = kind.calibrate(1.0, goal, numerical_error=error)
    assert mechanism.scale >= 2 * error
    mechanism.release(0.0, budget)
    assert budget.entries[0].state == "committed"


def test_what_cannot_be_drawn_is_refused_when_the_mechanism_is_made():
    with pytest.raises(ParameterError, match="at most 2\\^52"):
        DiscreteLaplaceMechanism.calibrate(2**53, PureDP(1e-3, "add_remove"))
    with pytest.raises(ParameterError, match="noise of scale"):
        LaplaceMechanism.calibrate(1.0, PURE, numerical_error=1e308)


class Declared:
    """Bits whose maker says that they are private."""

    is_private = True

    def stream(self):
        return SystemBits().stream()


def test_a_record_says_of_the_bits_only_what_is_known():
    mechanism = GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove"))
    assert "AES-256-CTR" in mechanism.release(1.0).record.noise
    noise = mechanism.release(1.0, bits=Declared()).record.noise
    assert "AES" not in noise
    assert "Declared, which its maker declares private" in noise


def test_a_seed_cannot_be_declared_private():
    bits = NotPrivateBits(3)
    with pytest.raises(AttributeError):
        bits.is_private = True


def test_sensitivities_and_errors_are_rounded_up():
    third = Fraction(1, 3)
    assert Fraction(LaplaceMechanism.calibrate(third, PURE).statistic.sensitivity) >= third
    assert LaplaceMechanism.calibrate(2**53 + 1, PURE).statistic.sensitivity > 2**53 + 1
    found = LaplaceMechanism.calibrate(1.0, PURE, numerical_error=third).statistic
    assert Fraction(found.numerical_error) >= third
    assert Fraction(ExponentialMechanism.calibrate(third, PURE, candidates=3).sensitivity) >= third


@pytest.mark.parametrize(
    "run",
    [
        lambda: Quantile(PURE, 0.5, bounds=(0, 1)).release([5e-324, 0.5]),
        lambda: Sum(PURE, bounds=(0, 1)).release([5e-324, 1e300]),
        lambda: Sum(GDP(1.0, "add_remove"), norm=1.0, dim=2).release([[5e-324, 1e300]]),
        lambda: LaplaceMechanism.calibrate(2.0**300, PURE).release(5e-324, MemoryBudget(PURE)),
        lambda: GaussianMechanism.calibrate(2.0**300, GDP(1.0, "add_remove"), grade="fast").release(1e308),
        lambda: ExponentialMechanism.calibrate(1.0, PURE, candidates=2).release([-1e308, 1e308]),
    ],
)
def test_the_users_numpy_settings_let_no_data_raise(run):
    with np.errstate(all="raise"):
        run()


def test_a_value_that_changes_after_the_check_is_not_looked_at_again():
    value = np.array([2.0])

    class Meddling(Declared):
        def stream(self):
            value[0] = 5.3
            return super().stream()

    mechanism = DiscreteLaplaceMechanism.calibrate(1, PURE, dim=1)
    assert mechanism.release(value, bits=Meddling()).value[0].is_integer()


class Secretive:
    """Data that raise with a value in the message."""

    def __array__(self, *_, **__):
        raise RuntimeError("secret 42")

    def __hash__(self):
        raise TypeError("secret 43")

    def __eq__(self, other):
        raise ValueError("secret 44")


@pytest.mark.parametrize(
    "run",
    [
        lambda data: LaplaceMechanism.calibrate(1.0, PURE).release(data),
        lambda data: Sum(PURE, bounds=(0, 1)).release(data),
        lambda data: Count(PURE).release([data]),
        lambda data: Histogram(PURE, categories=["a", "b"]).release(data),
        lambda data: Histogram(PURE, categories=["a", "b"]).release(["a", data]),
        lambda data: RandomizedResponseMechanism.calibrate(PureDP(1.0, "replace_one"), categories=["a", "b"]).release(
            [data]
        ),
    ],
)
def test_what_data_raise_is_not_passed_on(run):
    with pytest.raises(DataError) as caught:
        run(Secretive())
    chain = f"{caught.value} {caught.value.__context__} {caught.value.__cause__}"
    assert "secret" not in chain


def test_categories_may_be_tuples():
    histogram = Histogram(PureDP(50.0, "add_remove"), categories=[("a", 1), ("b", 2)])
    value = histogram.release([("a", 1), ("a", 1), ("b", 2)]).value
    assert np.abs(value - [2, 1]).max() <= 1


def test_that_there_is_a_record_is_listed_as_assumed():
    for release in (Count(PURE).release([True]), Quantile(PURE, 0.5, bounds=(0, 1)).release([0.5])):
        assert release.record.public["records"] == "at least one"
    assert math.isfinite(release.value)


@pytest.mark.parametrize(("dim", "epsilon"), [(1000, 1e-13), (2**20, 1e-10), (2**16, 2e-12)])
def test_noise_that_the_grid_cannot_hold_is_refused_before_any_charge(dim, epsilon):
    with pytest.raises(ParameterError, match="rounding outweighs the sensitivity"):
        GammaNormMechanism.calibrate(1.0, PureDP(epsilon, "add_remove"), dim=dim)


@pytest.mark.parametrize("goal", [ZCDP(5e-324, "add_remove"), GDP(1e-300, "add_remove"), PureDP(5e-324, "add_remove")])
def test_tiny_goals_are_refused_in_the_users_words(goal):
    with pytest.raises(ParameterError, match="goal"):
        Sum(goal, bounds=(0, 1))


class Wordless:
    """A candidate that cannot be written."""

    def __repr__(self):
        raise ValueError("no words")


@pytest.mark.parametrize(
    "candidates",
    [
        np.array([["2020", "2021"], ["2021", "2022"]], dtype="M8[Y]"),
        np.array([[1, None], ["a", 2]], dtype=object),
        [Wordless(), Wordless()],
        np.array([["a", "b"], ["c", "d"]]),
        [np.zeros(0), np.zeros(0)],
    ],
    ids=["dates", "objects", "wordless", "strings", "empty"],
)
def test_every_candidate_can_be_committed(candidates):
    budget = MemoryBudget(PURE)
    ExponentialMechanism.calibrate(1.0, PURE, candidates=candidates).release([0.0, 1.0], budget)
    assert budget.entries[0].state == "committed"


@pytest.mark.parametrize(
    "run",
    [
        lambda: Histogram(PURE, categories=["a", "b"]).release(np.ma.array(["a", "b"], mask=[0, 1])),
        lambda: RandomizedResponseMechanism.calibrate(PureDP(1.0, "replace_one"), categories=["a", "b"]).release(
            np.ma.array(["a", "b"], mask=[0, 1])
        ),
        lambda: Sum(PURE, norm=1.0, dim=2).release([np.ma.array([1.0, 2.0], mask=[0, 1]), [1.0, 1.0]]),
    ],
)
def test_no_mask_is_dropped(run):
    with pytest.raises(DataError, match="must not be masked"):
        run()


class Unequal(str):
    """A string that cannot be compared."""

    __slots__ = ()

    def __eq__(self, other):
        raise ValueError("secret b")

    def __hash__(self):
        return hash("a")


@pytest.mark.parametrize("item", [Unequal("a"), Decimal("sNaN"), np.datetime64("NaT"), float("nan")], ids=repr)
def test_items_that_cannot_be_compared_are_refused_without_their_words(item):
    runs = [
        lambda: Histogram(PURE, categories=["a", "b"]).release([item]),
        lambda: RandomizedResponseMechanism.calibrate(PureDP(1.0, "replace_one"), categories=["a", "b"]).release(
            [item]
        ),
    ]
    for run in runs:
        with pytest.raises(DataError) as caught:
            run()
        assert "secret" not in f"{caught.value}{caught.value.__context__}"


@pytest.mark.parametrize("bits", [SystemBits, NotPrivateBits])
def test_a_class_is_no_source_of_bits(bits):
    with pytest.raises(ParameterError, match="bits must be"):
        Count(PURE).release([True], bits=bits)


def test_dates_are_categories_in_lists_and_in_arrays():
    days = np.array(["2026-01-01", "2026-01-02"], dtype="M8[D]")
    histogram = Histogram(PureDP(50.0, "add_remove"), categories=days)
    for data in (days, list(days)):
        assert np.abs(histogram.release(data).value - 1).max() <= 1


@pytest.mark.parametrize("probability", [0.5, 1e-3, 1e-6, 1e-9])
def test_the_bound_of_gamma_norm_noise_holds_far_out(probability):
    """T7a: in one dimension it is the Laplace law, b log(1/p)."""
    bound = GammaNormMechanism.calibrate(1.0, PURE).error_bound(probability)
    assert bound == pytest.approx(-math.log(probability), rel=1e-4)
