# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""`calibrate`: on the safe side of the target, and no further from it than it says."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.accounting import (
    Approximate,
    Gaussian,
    Laplace,
    Poisson,
    Pure,
    RandomizedResponse,
    WithoutReplacement,
    account,
    calibrate,
)
from dperm.errors import AdjacencyError, AssumptionError, ParameterError

ADD, REPLACE = "add_remove", "replace_one"
STEP = Poisson(Gaussian(1.0), rate=0.01)

FALLING = {
    "gaussian": (Gaussian, 1e-5),
    "laplace": (Laplace, 1e-3),
    "pure-laplace": (Laplace, 0.0),
    "dp-sgd": (lambda s: Poisson(Gaussian(s), rate=0.01) * 1000, 1e-5),
    "mixed": (lambda s: Poisson(Gaussian(s), rate=0.02) * 300 + Gaussian(5 * s) * 3, 1e-6),
    "sampled-laplace": (lambda b: Poisson(Laplace(b), rate=0.2), 1e-5),
}
RISING = {
    "rate": (lambda q: Poisson(Gaussian(1.0), rate=q) * 1000, 1e-5, (1e-6, 1.0)),
    "strength": (lambda e: Pure(e, ADD) * 20, 1e-5, (1e-4, 10.0)),
    "failure": (lambda d: Approximate(0.09, d, ADD) * 5, 1e-5, (1e-12, 0.5)),
}
both_adjacencies = pytest.mark.parametrize("adjacency", [ADD, REPLACE])


def ends(family, parameter, delta, adjacency):
    return account(family(parameter), adjacency).epsilon_bracket(delta)


@both_adjacencies
@pytest.mark.parametrize(("family", "delta"), FALLING.values(), ids=FALLING.keys())
def test_noise_is_the_least_that_meets_the_target(family, delta, adjacency):
    """Certified at what is returned; certainly too little 1e-6 below it."""
    found = calibrate(family, epsilon=1.0, delta=delta, adjacency=adjacency)
    assert ends(family, found, delta, adjacency)[1] <= 1.0
    assert ends(family, found * (1 - 1e-6), delta, adjacency)[0] > 1.0


@both_adjacencies
@pytest.mark.parametrize(("family", "delta", "bounds"), RISING.values(), ids=RISING.keys())
def test_a_rate_or_a_strength_is_the_most_that_meets_the_target(family, delta, bounds, adjacency):
    found = calibrate(family, epsilon=1.0, delta=delta, adjacency=adjacency, bounds=bounds)
    assert ends(family, found, delta, adjacency)[1] <= 1.0
    assert ends(family, found * (1 + 1e-6), delta, adjacency)[0] > 1.0


@both_adjacencies
def test_atoms_are_met_within_the_width_of_their_brackets(adjacency):
    """The lattice's brackets of ten Laplace noises are some 1e-6 wide; the parameter is no further off."""
    family = lambda b: Laplace(b) * 10  # noqa: E731
    found = calibrate(family, epsilon=1.0, delta=1e-5, adjacency=adjacency)
    assert ends(family, found, 1e-5, adjacency)[1] <= 1.0
    assert ends(family, found * (1 - 1e-5), 1e-5, adjacency)[0] > 1.0


@pytest.mark.parametrize(
    ("family", "adjacency"),
    [
        (lambda k: STEP * int(k), ADD),
        (lambda k: Gaussian(10.0) * int(k), ADD),
        (lambda k: Gaussian(20.0) * int(k), REPLACE),
        (lambda k: Pure(0.01, ADD) * int(k), ADD),
    ],
    ids=["dp-sgd", "gaussian", "gaussian-replace", "pure"],
)
def test_a_number_of_steps_is_the_largest_that_meets_the_target(family, adjacency):
    found = calibrate(family, epsilon=1.0, delta=1e-5, adjacency=adjacency, bounds=(1, 1e6))
    steps = int(found)
    assert ends(family, steps, 1e-5, adjacency)[1] <= 1.0
    assert ends(family, steps + 1, 1e-5, adjacency)[0] > 1.0


def test_the_golden_noise_multiplier_of_the_gaussian():
    """T6: sigma / Delta = 3.7306316 at (1, 1e-5), rounded up; twice that when records are replaced."""
    assert calibrate(Gaussian, epsilon=1.0, delta=1e-5, adjacency=ADD) == pytest.approx(3.7306316, rel=1e-6)
    assert calibrate(Gaussian, epsilon=1.0, delta=1e-5, adjacency=REPLACE) == pytest.approx(2 * 3.7306316, rel=1e-6)


def test_sampling_without_replacement_is_calibrated_under_replace_one():
    """T24."""
    family = lambda s: WithoutReplacement(Gaussian(s), rate=0.1)  # noqa: E731
    found = calibrate(family, epsilon=0.5, delta=1e-6, adjacency=REPLACE)
    assert ends(family, found, 1e-6, REPLACE)[1] <= 0.5 < ends(family, found * (1 - 1e-6), 1e-6, REPLACE)[0]


@given(
    epsilon=st.floats(min_value=math.log(0.05), max_value=math.log(20)).map(math.exp),
    delta=st.floats(min_value=math.log(1e-12), max_value=math.log(0.1)).map(math.exp),
    family=st.sampled_from([Gaussian, Laplace, lambda s: Gaussian(s) * 7, lambda s: Poisson(Gaussian(s), rate=0.3)]),
    adjacency=st.sampled_from([ADD, REPLACE]),
)
@settings(max_examples=40)
def test_random_targets_are_met_from_the_safe_side(epsilon, delta, family, adjacency):
    found = calibrate(family, epsilon=epsilon, delta=delta, adjacency=adjacency)
    assert ends(family, found, delta, adjacency)[1] <= epsilon
    assert ends(family, found * (1 - 1e-6), delta, adjacency)[0] > epsilon


def test_a_coarse_accuracy_is_still_safe():
    found = calibrate(Gaussian, epsilon=1.0, delta=1e-5, adjacency=ADD, relative=0.01)
    assert account(Gaussian(found), ADD).epsilon(1e-5) <= 1.0
    assert 3.7306 <= found <= 3.7306 * 1.02


UNREACHABLE = [
    (lambda s: Gaussian(s) + Pure(2.0, ADD), 1e-5, "no parameter"),
    (lambda s: Gaussian(s) + Approximate(0.1, 1e-3, ADD), 1e-5, "no parameter"),
    (Gaussian, 0.0, "no parameter"),
    (lambda s: Gaussian(1.0), 1e-5, "no parameter"),
    (lambda s: Gaussian(1e6), 1e-5, "every parameter"),
]


@pytest.mark.parametrize(("family", "delta", "word"), UNREACHABLE)
def test_a_target_out_of_reach_is_said_with_the_bounds_and_the_target(family, delta, word):
    with pytest.raises(AssumptionError) as caught:
        calibrate(family, epsilon=1.0, delta=delta, adjacency=ADD)
    message = str(caught.value)
    assert message.startswith(word) and "epsilon=1" in message and f"delta={delta:g}" in message
    assert "target" in message  # the remedy: other bounds, or another target


@pytest.mark.parametrize(("epsilon", "word", "end"), [(1e4, "every", "1"), (1e-3, "no", "2")])
def test_bounds_that_hold_no_crossing_are_named(epsilon, word, end):
    with pytest.raises(AssumptionError, match=rf"^{word} parameter .*{end}.* Widen bounds or change the target"):
        calibrate(Gaussian, epsilon=epsilon, delta=1e-5, adjacency=ADD, bounds=(1.0, 2.0))


@pytest.mark.parametrize(
    "bounds",
    [(0, 1), (1, 1), (2, 1), (-1, 2), (1, math.inf), (math.nan, 1), ("a", 2), (1,), (1, 2, 3), None, 5],
    ids=str,
)
def test_bounds_are_two_positive_numbers_in_order(bounds):
    with pytest.raises(ParameterError, match="bounds"):
        calibrate(Gaussian, epsilon=1.0, delta=1e-5, adjacency=ADD, bounds=bounds)


@pytest.mark.parametrize("relative", [0, -1e-6, math.nan, math.inf, "tight", None, True])
def test_the_accuracy_is_a_positive_number(relative):
    with pytest.raises(ParameterError, match="relative must be"):
        calibrate(Gaussian, epsilon=1.0, delta=1e-5, adjacency=ADD, relative=relative)


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, "1", None, True])
def test_the_target_epsilon_is_a_positive_number(epsilon):
    with pytest.raises(ParameterError, match=r"^epsilon must be a finite number > 0, got .*Give the epsilon"):
        calibrate(Gaussian, epsilon=epsilon, delta=1e-5, adjacency=ADD)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan, "0", None, False])
def test_the_target_delta_is_below_one(delta):
    with pytest.raises(ParameterError, match=r"^delta must be a number in"):
        calibrate(Gaussian, epsilon=1.0, delta=delta, adjacency=ADD)


@pytest.mark.parametrize("nonsense", [None, 1.0, "gaussian", Gaussian, [Gaussian(1.0)]])
def test_a_family_that_returns_no_event_is_told_so(nonsense):
    with pytest.raises(ParameterError, match="family must return an event, got") as caught:
        calibrate(lambda s: nonsense, epsilon=1.0, delta=1e-5, adjacency=ADD)
    assert repr(nonsense) in str(caught.value)


@pytest.mark.parametrize("family", [None, 1.0, Gaussian(1.0), "gaussian"], ids=str)
def test_a_family_is_a_function(family):
    with pytest.raises(ParameterError, match="family"):
        calibrate(family, epsilon=1.0, delta=1e-5, adjacency=ADD)


def test_a_family_that_refuses_a_parameter_within_bounds_is_quoted():
    """The default bounds go beyond 1, where there is no rate."""
    with pytest.raises(ParameterError, match=r"family failed at 1\.6.* within bounds: rate must be a number in"):
        calibrate(lambda q: STEP.__class__(Gaussian(1.0), rate=q), epsilon=0.01, delta=1e-5, adjacency=ADD)


def test_what_is_not_proved_is_refused_as_in_account():
    with pytest.raises(AdjacencyError, match="Use Poisson sampling"):
        calibrate(lambda s: WithoutReplacement(Gaussian(s), rate=0.1), epsilon=1.0, delta=1e-5, adjacency=ADD)
    with pytest.raises(AdjacencyError, match="replace_one"):
        calibrate(RandomizedResponse, epsilon=1.0, delta=1e-5, adjacency=ADD)
    with pytest.raises(AdjacencyError, match="no default"):
        calibrate(Gaussian, epsilon=1.0, delta=1e-5, adjacency="remove")
