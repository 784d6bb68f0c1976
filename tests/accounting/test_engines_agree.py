# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Two engines that share nothing but the laws, and a third library: all brackets overlap (T15, T22, T25, T28)."""

import math

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dperm.accounting import Gaussian, Laplace, Poisson, Pure, account
from dperm.accounting.composition import Composition
from dperm.accounting.contour import engine as contour
from dperm.accounting.event import Event
from dperm.accounting.lattice import engine as lattice
from dperm.privacy.adjacency import Adjacency, Direction

SLOW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def log_floats(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(math.exp)


sampled = st.builds(
    lambda sigma, rate, count: Poisson(Gaussian(sigma), rate) * count,
    log_floats(0.5, 5),
    log_floats(1e-3, 0.5),
    st.integers(1, 300),
)
plain = st.builds(lambda sigma, count: Gaussian(sigma) * count, log_floats(3, 50), st.integers(1, 10))
laplace = st.builds(lambda scale, count: Laplace(scale) * count, log_floats(3, 50), st.integers(1, 30))
pure = st.builds(lambda epsilon: Pure(epsilon, "add_remove"), log_floats(0.01, 0.5))
mixtures = st.builds(
    lambda first, rest: sum(rest, first), sampled, st.lists(st.one_of(plain, laplace, pure), max_size=2)
)


def composition(event: Event, direction: Direction) -> Composition:
    return Composition.of((single.law(direction), count) for single, count in event.singles())


@SLOW
@given(event=mixtures, log_delta=st.floats(-25, -3), direction=st.sampled_from(list(Direction)))
def test_contour_and_lattice_overlap(event: Event, log_delta: float, direction: Direction) -> None:
    composed, delta = composition(event, direction), math.exp(log_delta)
    first, second = contour.epsilon_bracket(composed, delta), lattice.epsilon_bracket(composed, delta)
    assert max(first[0], second[0]) <= min(first[1], second[1])


@SLOW
@given(event=mixtures, epsilon=log_floats(0.05, 5), direction=st.sampled_from(list(Direction)))
def test_contour_and_lattice_overlap_in_delta(event: Event, epsilon: float, direction: Direction) -> None:
    composed = composition(event, direction)
    first, second = contour.delta_bracket(composed, epsilon), lattice.delta_bracket(composed, epsilon)
    assert max(first[0], second[0]) <= min(first[1], second[1])


def peer_epsilon(parts: list[tuple[float, float, int]], adjacency: str, delta: float) -> float:
    """dp-accounting's PLD accountant, default grid."""
    from dp_accounting import dp_event, privacy_accountant
    from dp_accounting.pld import pld_privacy_accountant

    names = {"add_remove": "ADD_OR_REMOVE_ONE", "replace_one": "REPLACE_ONE"}
    peer = pld_privacy_accountant.PLDAccountant(privacy_accountant.NeighboringRelation[names[adjacency]])
    for rate, sigma, count in parts:
        peer.compose(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(sigma)), count)
    return float(peer.get_epsilon(delta))


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    parts=st.lists(st.tuples(log_floats(1e-3, 0.1), log_floats(0.7, 3), st.integers(10, 1000)), min_size=1, max_size=2),
    log_delta=st.floats(math.log(1e-9), math.log(1e-3)),
    adjacency=st.sampled_from(["add_remove", "replace_one"]),
)
def test_dp_accounting_agrees_up_to_its_discretisation(
    parts: list[tuple[float, float, int]], log_delta: float, adjacency: str
) -> None:
    """Its grid of 1e-4 is pessimistic: never below ours by more than its own truncation, above by little."""
    event = sum(
        (Poisson(Gaussian(s), q) * n for q, s, n in parts[1:]),
        Poisson(Gaussian(parts[0][1]), parts[0][0]) * parts[0][2],
    )
    low, high = account(event, adjacency).epsilon_bracket(math.exp(log_delta))
    assume(high > 0.2)
    peer = peer_epsilon(parts, adjacency, math.exp(log_delta))
    assert low <= peer * (1 + 1e-6)
    assert peer <= high * 1.01 + 0.01


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-15])
def test_fifty_different_events_are_merged_and_bracketed(adjacency: str, delta: float) -> None:
    event: Event = Gaussian(30.0)
    for index in range(50):
        event = event + Poisson(Gaussian(1.0 + 0.02 * (index % 7)), 0.01) * 20
    profile = account(event, adjacency)
    assert len(profile.directions[0].steps) == 8
    low, high = profile.epsilon_bracket(delta)
    assert 0 < high - low <= 1e-6 * high


def test_failures_of_peers_are_not_ours() -> None:
    """Where other accountants raise, hang or return infinity (delta ~ 1e-18, eps ~ .002, eps ~ 7)."""
    tiny = account(Poisson(Gaussian(4.0), 3.3e-4) * 10_000, "add_remove").epsilon_bracket(1.1e-18)
    assert tiny[0] <= 0.067213614106 <= tiny[1]
    small = account(Poisson(Gaussian(4.0), 1e-4) * 1000, "add_remove").epsilon_bracket(1e-6)
    assert small[0] <= 0.0021548534789 <= small[1]
    assert account(Poisson(Gaussian(0.6), 1e-3) * 100_000, "add_remove").epsilon(1e-6) < 6.9608439
    assert account(Gaussian(2.0), Adjacency.REPLACE_ONE).epsilon(1e-5) > account(Gaussian(2.0), "add_remove").epsilon(
        1e-5
    )
