# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How large the noise is that the mechanisms announce (T5, T5a, T6, T7, T7a), against what they draw."""

import math

import numpy as np
import pytest

from dperm import GDP, ApproxDP, PureDP, account, explain
from dperm.accounting import event_from_json
from dperm.errors import DataError, NotPrivateWarning, ParameterError
from dperm.mechanisms import (
    DiscreteLaplaceMechanism,
    GammaNormMechanism,
    GaussianMechanism,
    GaussianMixtureMechanism,
    LaplaceMechanism,
)
from dperm.mechanisms.releases import Count, Covariance, Histogram, Mean, Sum
from dperm.noise import NotPrivateBits

DRAWS = 20_000
MECHANISMS = [
    GaussianMechanism.calibrate(1.0, GDP(0.5, "add_remove"), dim=DRAWS),
    LaplaceMechanism.calibrate(1.0, PureDP(0.5, "add_remove"), dim=DRAWS),
    DiscreteLaplaceMechanism.calibrate(1, PureDP(0.5, "add_remove"), dim=DRAWS),
    DiscreteLaplaceMechanism.calibrate(1, PureDP(3.0, "add_remove"), dim=DRAWS),
]


@pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.name}-{m.scale:g}")
def test_deviations_and_bounds_are_those_of_the_noise(mechanism):
    noise = mechanism.release(np.zeros(DRAWS), bits=NotPrivateBits(8)).value
    assert np.std(noise) == pytest.approx(mechanism.standard_deviation, rel=0.03)
    for probability in (0.5, 0.1, 0.01):
        exceeded = np.mean(np.abs(noise) > mechanism.error_bound(probability))
        slack = 5 * math.sqrt(probability / DRAWS)
        assert exceeded <= probability + slack
        if not mechanism.integers:
            assert exceeded >= probability - slack


@pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")
@pytest.mark.parametrize("dim", [1, 3, 20])
@pytest.mark.parametrize("kind", [GammaNormMechanism, GaussianMixtureMechanism])
def test_gamma_norm_deviates_and_exceeds_as_announced(kind, dim):
    """T7: sqrt(d + 1) b in one coordinate; T7a gives its law."""
    mechanism = kind.calibrate(1.0, ApproxDP(0.5, 1e-9, "add_remove"), dim=dim)
    bits = NotPrivateBits(9)
    first = np.array([mechanism.release(np.zeros(dim), bits=bits).value[0] for _ in range(4000)])
    assert np.std(first) == pytest.approx(mechanism.standard_deviation, rel=0.08)
    for probability in (0.5, 0.05):
        exceeded = np.mean(np.abs(first) > mechanism.error_bound(probability))
        assert exceeded == pytest.approx(probability, abs=5 * math.sqrt(probability / 4000))


def test_gamma_norm_in_one_dimension_has_the_bound_of_laplace():
    gamma = GammaNormMechanism.calibrate(1.0, PureDP(1.0, "add_remove"))
    for probability in (0.5, 0.1, 0.01):
        assert gamma.error_bound(probability) == pytest.approx(-math.log(probability), rel=2e-2)


@pytest.mark.parametrize("probability", [0.0, 1.0, -1.0, 2.0, math.nan, "0.05", None])
@pytest.mark.parametrize("mechanism", MECHANISMS[:3], ids=lambda m: m.name)
def test_a_probability_is_between_0_and_1(mechanism, probability):
    with pytest.raises(ParameterError, match="probability must be"):
        mechanism.error_bound(probability)


def test_standard_errors_are_in_units_of_the_released_value():
    goal = PureDP(1.0, "replace_one")
    assert Count(goal).standard_error == pytest.approx(math.sqrt(2))
    assert Sum(goal, bounds=(0, 10)).standard_error == pytest.approx(10 * math.sqrt(2), rel=1e-5)
    assert Mean(goal, bounds=(0, 10), n=100).standard_error == pytest.approx(0.1 * math.sqrt(2), rel=1e-5)
    assert Mean(PureDP(1.0, "add_remove"), bounds=(0, 10)).standard_error is None
    assert Histogram(goal, edges=[0, 1, 2, 3, 4]).standard_error == pytest.approx(2 * math.sqrt(2))
    errors = Covariance(GDP(1.0, "replace_one"), norm=1.0, dim=2, n=100).standard_error
    assert errors[0, 0] == pytest.approx(math.sqrt(2) / 100, rel=1e-5)
    assert errors[0, 1] == pytest.approx(1 / 100, rel=1e-3)
    assert Covariance(GDP(1.0, "add_remove"), norm=1.0, dim=2).standard_error is None


@pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")
def test_the_standard_error_of_a_mean_is_seen_in_its_releases():
    mean = Mean(PureDP(0.5, "replace_one"), bounds=(0, 10), n=4)
    bits = NotPrivateBits(10)
    values = [mean.release([1, 2, 3, 4], bits=bits).value for _ in range(4000)]
    assert np.mean(values) == pytest.approx(2.5, abs=0.5)
    assert np.std(values) == pytest.approx(mean.standard_error, rel=0.1)


def test_the_record_of_a_mean_says_that_the_noise_is_on_the_sum():
    public = Mean(PureDP(1.0, "replace_one"), bounds=(0, 10), n=2).release([1, 2]).record.public
    assert public["release"] == "mean"
    assert public["noise_on_the_sum"]["noise_scale"] == pytest.approx(10, rel=1e-5)
    assert "noise_scale" not in public


def test_a_release_and_its_record_can_be_explained_and_accounted_again():
    release = GaussianMechanism.calibrate(1.0, ApproxDP(1.0, 1e-5, "replace_one")).release(3.0)
    assert explain(release).advantage <= explain(release.record).advantage
    assert explain(release.record) == explain(release.guarantee)
    event = event_from_json(release.record.to_json())
    assert event == release.event
    assert account(event + event, "replace_one").epsilon(1e-5) > 1.0


def test_a_masked_array_is_refused(no_bits):
    data = np.ma.array([1.0, 1e6], mask=[False, True])
    with pytest.raises(DataError, match="must not be masked"):
        Sum(PureDP(1.0, "add_remove"), bounds=(0, 10)).release(data, bits=no_bits)


@pytest.mark.parametrize("data", [[1, 2], ["a", None], ["a", float("nan")], [("a",)]])
def test_items_of_a_kind_that_no_category_has_are_refused(data, no_bits):
    with pytest.raises(DataError, match="same kind as the categories"):
        Histogram(PureDP(1.0, "add_remove"), categories=["a", "b"]).release(data, bits=no_bits)


@pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")
def test_items_of_the_right_kind_that_are_no_category_are_counted_nowhere():
    histogram = Histogram(PureDP(50.0, "add_remove"), categories=["a", "b"])
    assert histogram.release(["a", "c", "b", "c"], bits=NotPrivateBits(1)).value.tolist() == [1, 1]


@pytest.mark.parametrize(
    "call",
    [
        lambda data: Mean(data, bounds=(0, 1)),
        lambda data: Mean(PureDP(1.0, "add_remove"), bounds=data),
        lambda data: Count(PureDP(1.0, "add_remove")).release([True], budget=data),
        lambda data: Count(PureDP(1.0, "add_remove")).release([True], bits=data),
        lambda data: GaussianMechanism.calibrate(data, GDP(1.0, "add_remove")),
        lambda data: account(data, "add_remove"),
        lambda data: explain(data),
    ],
)
@pytest.mark.parametrize("data", [np.array([41.5, 77.25, 63.0]), [41.5, 77.25, 63.0]], ids=["array", "list"])
def test_data_in_the_wrong_place_are_not_repeated_by_the_message(call, data):
    with pytest.raises(ParameterError) as caught:
        call(data)
    assert "77.25" not in str(caught.value)
    assert "an object of type" in str(caught.value) or "pair" in str(caught.value)


def test_a_seed_warning_points_at_the_caller():
    with pytest.warns(NotPrivateWarning) as caught:
        GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove")).release(1.0, bits=NotPrivateBits(1))
    assert caught[0].filename == __file__
