# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Deltas below the smallest double: an upper end is 0 only where no loss exceeds epsilon.

SingleStep steps are compared with 60-digit arithmetic (T5, T6, T22, T24, T25) on both sides of underflow.
"""

import math
from collections.abc import Callable

import mpmath as mp
import pytest

from dperm.accounting import (
    Approximate,
    Gaussian,
    Laplace,
    PerturbedObjective,
    PerturbedSoftmax,
    Poisson,
    Pure,
    RandomizedResponse,
    WithoutReplacement,
    account,
)
from dperm.accounting.closed import SingleStep
from dperm.accounting.event import Event
from dperm.accounting.theorems import poisson_gaussian_delta, without_replacement_gaussian_delta
from dperm.privacy import GDP, RDP, ZCDP, ApproxDP, PureDP
from dperm.privacy.group import group_profile, replace_one_profile

LEAST = 5e-324
BOTH = ("add_remove", "replace_one")
EPSILONS = (0.5, 3.0, 20.0, 30.0, 33.5, 40.0, 60.0, 300.0, 650.0, 800.0, 5000.0)
RATES = (1e-6, 0.01, 0.5, 1 - 1e-9)
Real = mp.mpf


def gaussian_delta(epsilon: Real, mu: Real) -> Real:
    """T6 at every real epsilon."""
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def sampled(base: Callable[[Real], Real], rate: Real, epsilon: Real) -> Real:
    """T22 (remove) and T24: rate * base(log(1 + (e^epsilon - 1)/rate))."""
    return rate * base(mp.log1p(mp.expm1(epsilon) / rate))


def sampled_added(base: Callable[[Real], Real], rate: Real, epsilon: Real) -> Real:
    """T22 (add): 0 from epsilon = -log(1 - rate) on, else c * base(log(1 + (e^epsilon - 1)/c))."""
    c = 1 - (1 - rate) * mp.exp(epsilon)
    return sampled(base, c, epsilon) if c > 0 else mp.mpf(0)


def poisson_replaced(sigma: Real, rate: Real, epsilon: Real) -> Real:
    """T25: (1-q) N(0) + q N(1) against (1-q) N(0) + q N(-1), at the output whose loss is epsilon."""
    v, a = sigma**2, mp.exp(epsilon)
    k = rate * mp.exp(-1 / (2 * v))
    half = (a - 1) * (1 - rate) / (2 * k)
    x = v * mp.log(half + mp.sqrt(half**2 + a))
    tails = [mp.ncdf((mean - x) / sigma) for mean in (-1, 0, 1)]
    return (1 - rate) * tails[1] + rate * tails[2] - a * ((1 - rate) * tails[1] + rate * tails[0])


def laplace_delta(epsilon: Real, top: Real) -> Real:
    """T5."""
    return -mp.expm1((epsilon - top) / 2) if epsilon < top else mp.mpf(0)


def truth(event: Event, adjacency: str, epsilon: float) -> Real:
    """Delta of one step under the adjacency."""
    e, replaced = mp.mpf(epsilon), adjacency == "replace_one"
    if isinstance(event, Poisson):
        sigma, q = mp.mpf(event.event.noise_multiplier), mp.mpf(event.rate)
        if replaced:
            return poisson_replaced(sigma, q, e)
        base = _base(event.event, 1)
        return max(sampled(base, q, e), sampled_added(base, q, e))
    if isinstance(event, WithoutReplacement):
        return sampled(_base(event.event, 2), mp.mpf(event.rate), e)
    return _base(event, 2 if replaced else 1)(e)


def _base(event: Event, moved: int) -> Callable[[Real], Real]:
    mu = moved / mp.mpf(event.noise_multiplier)
    return lambda e: gaussian_delta(e, mu) if isinstance(event, Gaussian) else laplace_delta(e, mu)


def single_steps() -> list[tuple[Event, str]]:
    out: list[tuple[Event, str]] = []
    for sigma in (0.2, 1.0, 50.0):
        bases = (Gaussian(sigma), Laplace(sigma))
        out += [(base, adjacency) for base in bases for adjacency in BOTH]
        for q in RATES:
            out += [(Poisson(bases[0], q), adjacency) for adjacency in BOTH]
            out += [(Poisson(bases[1], q), "add_remove")]
            out += [(WithoutReplacement(base, q), "replace_one") for base in bases]
    return out


def test_single_steps_bracket_the_truth_on_both_sides_of_underflow() -> None:
    tiny = 0
    with mp.workdps(60):
        for event, adjacency in single_steps():
            profile = account(event, adjacency)
            for epsilon in EPSILONS:
                low, high = profile.delta_bracket(epsilon)
                exact = truth(event, adjacency, epsilon)
                with mp.workdps(60 + _digits(exact)):
                    exact = truth(event, adjacency, epsilon)
                assert mp.mpf(low) <= exact * (1 + mp.mpf(10) ** -40) <= mp.mpf(high), (event, adjacency, epsilon)
                if 0 < exact < LEAST:
                    tiny += 1
                    assert (low, high) == (0.0, LEAST), (event, adjacency, epsilon)
    assert tiny > 100  # the grid reaches the deltas that 0.8.0 reported as 0


def _digits(value: Real) -> int:
    """Digits that the difference of two nearly equal numbers may lose."""
    return 40 if value <= 0 else min(int(abs(mp.log10(value))) // 10, 400)


def zoo(adjacency: str) -> list[Event]:
    """Every kind of event, alone, repeated and mixed."""
    one = [
        Gaussian(1.0),
        Laplace(0.01),
        Pure(3.0, adjacency),
        Approximate(3.0, 1e-320, adjacency),
        Poisson(Gaussian(1.0), 0.01),
        Poisson(Laplace(0.01), 0.01),
        PerturbedObjective(noise_multiplier=5.0, curvature=0.01),
        PerturbedSoftmax(noise_multiplier=5.0, curvature=0.01, classes=3),
    ]
    if adjacency == "replace_one":
        one += [RandomizedResponse(2.0, 5), WithoutReplacement(Gaussian(1.0), 0.01)]
        one += [WithoutReplacement(Laplace(0.01), 0.01)]
    few = [one[4] * 3, one[5] * 2, one[4] * 2 + Gaussian(3.0), one[0] * 5, Pure(1e-3, adjacency) * 10_000]
    return [*one, *few, *((one[-2] * 2,) if adjacency == "replace_one" else (Poisson(Laplace(0.5), 0.1) * 20,))]


@pytest.mark.parametrize("adjacency", BOTH)
def test_an_upper_end_of_0_means_that_no_loss_is_larger(adjacency: str) -> None:
    for event in zoo(adjacency):
        profile = account(event, adjacency)
        pure = profile.epsilon(0.0)
        for epsilon in (5.0, 90.0, 500.0, 2000.0):
            low, high = profile.delta_bracket(epsilon)
            assert low <= high, (event, epsilon)
            if epsilon < pure * (1 - 1e-12):
                assert high > 0, (event, epsilon)
            elif epsilon > pure * (1 + 1e-12):
                assert high == 0, (event, epsilon)


def test_group_readings_guarantees_and_conversions_keep_tiny_deltas() -> None:
    step = account(Poisson(Gaussian(1.0), 0.01), "add_remove")
    for profile in (replace_one_profile(step), group_profile(step, 5)):
        assert all(profile.delta(epsilon) > 0 for epsilon in (100.0, 400.0, 3000.0))
    for guarantee in (GDP(1.0, "add_remove"), ZCDP(0.5, "add_remove"), RDP([(2.0, 1e-3)], "add_remove")):
        assert guarantee.profile().delta(5000.0) > 0
    for bounded in (PureDP(2.0, "add_remove"), ApproxDP(2.0, 0.0, "add_remove")):
        assert bounded.profile().delta(math.nextafter(2.0, 0.0)) > 0
        assert bounded.profile().delta(2.0) == 0
    assert poisson_gaussian_delta(60.0, 1.0, rate=0.01, direction="remove") == LEAST
    assert without_replacement_gaussian_delta(300.0, 1.0, rate=0.01) == LEAST


def test_lower_ends_do_not_count_masses_that_were_rounded_up_from_nothing() -> None:
    """10^6 pure steps of .001: at epsilon 50 delta is about 1e-540, and every atom's mass underflows."""
    low, high = account(Pure(1e-3, "add_remove") * 10**6, "add_remove").delta_bracket(50.0)
    assert low == 0 < high


def test_epsilon_at_the_smallest_deltas_is_bracketed() -> None:
    for event in (Poisson(Gaussian(1.0), 0.01), Poisson(Gaussian(1.0), 0.01) * 3, Laplace(1.0) * 3):
        profile = account(event, "add_remove")
        for delta in (1e-280, 1e-300, 1e-310, LEAST):
            low, high = profile.epsilon_bracket(delta)
            assert low <= high, (event, delta)
            assert high < math.inf or delta == LEAST, (event, delta)
            assert profile.delta_bracket(low * (1 - 1e-9))[1] >= delta or low == 0
            assert high == math.inf or profile.delta_bracket(high * (1 + 1e-9))[0] <= delta


def test_a_single_step_at_the_edge_of_doubles_is_not_rounded_down() -> None:
    """Around 5e-324 a relative margin is lost in rounding: the ends move by whole units."""
    single = SingleStep(account(Poisson(Gaussian(1.0), 0.6), "replace_one").directions[0].steps[0][0])
    with mp.workdps(80):
        for step in range(40):
            epsilon = 38.0 + 0.02 * step
            low, high = single.bracket(epsilon)
            assert mp.mpf(low) <= poisson_replaced(mp.mpf(1), mp.mpf(0.6), mp.mpf(epsilon)) <= mp.mpf(high)
