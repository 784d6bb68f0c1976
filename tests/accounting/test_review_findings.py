# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a hostile reading of the first version found, kept as tests."""

import mpmath
import pytest

from dperm.accounting import Approximate, Gaussian, Laplace, Poisson, Pure, account, event_from_json
from dperm.accounting.event import Composed, Event, Repeated
from dperm.errors import EventFormatError, ParameterError

ADD, ONE = "add_remove", "replace_one"


def gaussian_delta(mu: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("excess", [1e-4, 1e-6, 1e-8])
def test_both_ends_hold_where_failures_nearly_use_up_delta(excess: float) -> None:
    """T14: the target left for the finite losses is rounded to its own side for either end."""
    event = Approximate(0.0, 1e-5, ADD) * 2 + Gaussian(1.0)
    delta = (1 - (1 - 1e-5) ** 2) * (1 + excess)
    low, high = account(event, ADD).epsilon_bracket(delta)
    with mpmath.workdps(40):
        lost = 1 - (1 - mpmath.mpf(1e-5)) ** 2
        target = (mpmath.mpf(delta) - lost) / (1 - lost)
        assert gaussian_delta(mpmath.mpf(1), mpmath.mpf(low)) >= target
        assert gaussian_delta(mpmath.mpf(1), mpmath.mpf(high)) <= target


def test_many_small_gaussians_are_not_lost_in_the_sum() -> None:
    """T19: variances are added exactly and mu is rounded to its own side for either end."""
    event = Composed.of(Gaussian(1.0), *[Gaussian(1e8)] * 20_000)
    low, high = account(event, ADD).delta_bracket(4.0)
    with mpmath.workdps(40):
        truth = gaussian_delta(mpmath.sqrt(1 + 20_000 * mpmath.mpf(1e-16)), mpmath.mpf(4))
        assert low <= truth <= high


@pytest.mark.parametrize("epsilon", [996436.8160322668, 996000.5, 990000.25])
def test_the_rounding_of_a_large_mu_is_allowed_for(epsilon: float) -> None:
    """T6: delta sees an error of mu multiplied by its exponent."""
    low, high = account(Gaussian(0.013) * 333, ADD).delta_bracket(epsilon)
    with mpmath.workdps(60):
        truth = gaussian_delta(mpmath.sqrt(333) / mpmath.mpf(0.013), mpmath.mpf(epsilon))
        assert low <= truth <= high


def test_an_amplified_failure_is_rounded_up() -> None:
    """T21: q delta as a product of doubles may lie below the product of the numbers."""
    assert account(Poisson(Approximate(1.0, 0.3, ADD), 0.1), ADD).epsilon(0.1 * 0.3) == float("inf")


def test_nothing_is_promised_where_t4_says_nothing() -> None:
    """T4: delta (1 + e^eps) >= 1. D -> a, D' -> a fair coin, D'' -> b is (0, 1/2)-DP under add/remove."""
    profile = account(Approximate(0.0, 0.5, ADD), ONE)
    assert profile.epsilon(1 - 2**-53) == float("inf")
    assert profile.delta_bracket(5.0) == (1.0, 1.0)


def test_counts_are_limited_however_they_are_nested() -> None:
    event = (Poisson(Gaussian(1.0), 0.01) * 10**9 + Gaussian(1e10)) * 10**9
    with pytest.raises(ParameterError, match="1,000,000,000 steps in all"):
        account(event, ADD)


def test_deep_nesting_is_refused_in_words() -> None:
    event: Event = Gaussian(1.0)
    for _ in range(1200):
        event = (event + Gaussian(1.0)) * 2
    with pytest.raises(ParameterError, match="nested too deeply"):
        account(event, ADD)


@pytest.mark.parametrize("make", [lambda: Composed((1,)), lambda: Repeated(3, 2)])  # type: ignore[arg-type]
def test_only_events_make_events(make: object) -> None:
    with pytest.raises(ParameterError, match="made of events"):
        make()  # type: ignore[operator]


def test_a_stored_event_names_every_field_once() -> None:
    text = '{"dperm_event": 1, "type": "gaussian", "noise_multiplier": 1.0, "noise_multiplier": 2.0}'
    with pytest.raises(EventFormatError, match="twice"):
        event_from_json(text)


@pytest.mark.parametrize("event", [Pure(1.0, "add_remove"), Laplace(1.0) * 3, Pure(0.3, "add_remove") * 5])
@pytest.mark.parametrize("delta", [1e-300, 1e-16, 1e-14, 1e-6])
def test_no_delta_makes_epsilon_larger_than_without(event, delta):
    profile = account(event, "add_remove")
    lower, upper = profile.epsilon_bracket(delta)
    assert lower <= upper <= profile.epsilon(0.0)
