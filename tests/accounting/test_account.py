# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""`account`: the table of events and adjacencies, its refusals, and where epsilon is infinite, zero or pure.

Expected values are the theorems' formulas in 40-digit arithmetic, or plain sums over outputs.
"""

import math

import mpmath as mp
import numpy as np
import pytest

from dperm.accounting import (
    Approximate,
    Gaussian,
    Laplace,
    Poisson,
    Pure,
    RandomizedResponse,
    ReplaceOneOnly,
    WithoutReplacement,
    account,
)
from dperm.errors import AdjacencyError
from dperm.privacy import ApproxDP, replace_one_from_add_remove
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.group import replace_one_profile

ADD, REPLACE = "add_remove", "replace_one"
EPSILONS = (0.0, 0.03, 0.2, 0.45)


@pytest.fixture(scope="module", autouse=True)
def forty_digits():
    with mp.workdps(40):
        yield


def gaussian(mu):
    """T6."""
    m = mp.mpf(mu)
    return lambda e: mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


def laplace(top):
    """T5."""
    return lambda e: max(1 - mp.exp((e - mp.mpf(top)) / 2), 0)


def response(epsilon, delta=0.0):
    """T13, T14 with one mechanism."""
    t, d = mp.exp(mp.mpf(epsilon)), mp.mpf(delta)
    return lambda e: d + (1 - d) * max(t - mp.exp(e), 0) / (1 + t)


def sampled(base, rate):
    """T21: the mixture of the base pair's first law and its second, against the second."""
    q = mp.mpf(rate)
    return lambda e: q * base(mp.log1p(mp.expm1(e) / q))


def amplified(epsilon, rate):
    return mp.log1p(mp.mpf(rate) * mp.expm1(mp.mpf(epsilon)))


def t4(base):
    """T4 with k = 2: delta_r(2 e) = delta(e)(1 + e^e)."""
    return lambda e: base(mp.mpf(e) / 2) * (1 + mp.exp(mp.mpf(e) / 2))


def opposite_records(rate, sigma):
    """T25's pair: (1-q) N(0) + q N(1) against (1-q) N(0) + q N(-1), by the place where the likelihood ratio is e^e."""
    q, v = mp.mpf(rate), mp.mpf(sigma) ** 2
    ratio = lambda x, sign: 1 - q + q * mp.exp((2 * sign * x - 1) / (2 * v))  # noqa: E731

    def above(x, sign):
        return (1 - q) * mp.ncdf(-x / sigma) + q * mp.ncdf((sign - x) / sigma)

    def delta(e):
        x = mp.findroot(lambda x: mp.log(ratio(x, 1) / ratio(x, -1)) - e, v * e + mp.mpf("0.1"))
        return above(x, 1) - mp.exp(e) * above(x, -1)

    return delta


TABLE = [
    (Gaussian(2.0), ADD, gaussian(0.5), "T6"),
    (Gaussian(2.0), REPLACE, gaussian(1.0), "T6"),
    (Laplace(2.0), ADD, laplace(0.5), "T5"),
    (Laplace(2.0), REPLACE, laplace(1.0), "T5"),
    (ReplaceOneOnly(Gaussian(2.0)), REPLACE, gaussian(1.0), "T6"),
    (ReplaceOneOnly(Laplace(2.0)), REPLACE, laplace(1.0), "T5"),
    (Poisson(Gaussian(1.0), rate=0.1), ADD, sampled(gaussian(1), 0.1), "T22"),
    (Poisson(Gaussian(1.0), rate=0.1), REPLACE, opposite_records(0.1, 1.0), "T25"),
    (Poisson(Laplace(1.0), rate=0.4), ADD, sampled(laplace(1), 0.4), "T22"),
    (Poisson(Laplace(1.0), rate=0.4), REPLACE, t4(sampled(laplace(1), 0.4)), "T4"),
    (WithoutReplacement(Gaussian(2.0), rate=0.1), REPLACE, sampled(gaussian(1), 0.1), "T24"),
    (WithoutReplacement(Laplace(2.0), rate=0.4), REPLACE, sampled(laplace(1), 0.4), "T24"),
    (Pure(0.5, ADD), ADD, response(0.5), "T13"),
    (Pure(0.5, ADD), REPLACE, response(1.0), "T4"),
    (Pure(0.5, REPLACE), REPLACE, response(0.5), "T13"),
    (Approximate(0.5, 0.01, ADD), ADD, response(0.5, 0.01), "T14"),
    (Approximate(0.5, 0.01, ADD), REPLACE, response(1.0, mp.mpf(0.01) * (1 + mp.exp(mp.mpf(0.5)))), "T4"),
    (Approximate(0.5, 0.01, REPLACE), REPLACE, response(0.5, 0.01), "T14"),
    (RandomizedResponse(0.5), REPLACE, response(0.5), "T9"),
    (RandomizedResponse(0.5, 4), REPLACE, lambda e: max(mp.exp(0.5) - mp.exp(e), 0) / (mp.exp(0.5) + 3), "T9"),
    (Poisson(Pure(1.0, ADD), rate=0.4), ADD, response(amplified(1.0, 0.4)), "T21"),
    (Poisson(Pure(1.0, ADD), rate=0.4), REPLACE, t4(response(amplified(1.0, 0.4))), "T4"),
    (Poisson(Approximate(1.0, 0.01, ADD), rate=0.4), ADD, response(amplified(1.0, 0.4), 0.004), "T21"),
    (WithoutReplacement(Pure(1.0, REPLACE), rate=0.4), REPLACE, response(amplified(1.0, 0.4)), "T21"),
    (
        WithoutReplacement(Approximate(1.0, 0.01, REPLACE), rate=0.4),
        REPLACE,
        response(amplified(1.0, 0.4), 0.004),
        "T21",
    ),
]
every_row = pytest.mark.parametrize(
    ("event", "adjacency", "delta", "tag"), TABLE, ids=[f"{r[0]}-{r[1]}" for r in TABLE]
)


@every_row
def test_the_table_of_events_and_adjacencies(event, adjacency, delta, tag):
    """architecture.md: one row per event and adjacency, one step of each against its theorem."""
    profile = account(event, adjacency)
    assert profile.adjacency is Adjacency.of(adjacency)
    for epsilon in EPSILONS:
        low, high = profile.delta_bracket(epsilon)
        exact = delta(mp.mpf(epsilon))
        assert low <= exact * (1 + mp.mpf("1e-15")) and exact <= high * (1 + mp.mpf("1e-15"))
        assert high - low <= 1e-9 * high
        assert profile.delta(epsilon) == high
    assert tag in event.tags(Adjacency.of(adjacency))


@every_row
def test_epsilon_is_the_inverse_of_delta(event, adjacency, delta, tag):
    """Both ends: the profile comes down to delta between them."""
    profile = account(event, adjacency)
    for target in (1e-9, 1e-3, 0.02, 0.1):
        low, high = profile.epsilon_bracket(target)
        assert 0 <= low <= high and profile.epsilon(target) == high
        if math.isinf(low):
            assert delta(mp.mpf(50)) >= target
            continue
        assert high - low <= 1e-6 * high
        assert delta(mp.mpf(high)) <= target * (1 + mp.mpf("1e-15"))
        assert low == 0 or delta(mp.mpf(low) * (1 - mp.mpf("1e-12"))) >= target


REFUSALS = [
    (WithoutReplacement(Gaussian(1.0), rate=0.1), ADD, "Use Poisson sampling"),
    (WithoutReplacement(Laplace(1.0), rate=0.1), ADD, "Use Poisson sampling"),
    (WithoutReplacement(Pure(1.0, REPLACE), rate=0.1), ADD, "Use Poisson sampling"),
    (RandomizedResponse(1.0), ADD, 'Account it under "replace_one"'),
    (RandomizedResponse(1.0, 5), ADD, 'Account it under "replace_one"'),
    (ReplaceOneOnly(Gaussian(1.0)), ADD, 'Account it under "replace_one"'),
    (ReplaceOneOnly(Laplace(1.0)), ADD, "and use the plain Laplace"),
    (Pure(1.0, REPLACE), ADD, "or declare an add_remove guarantee"),
    (Approximate(1.0, 1e-6, REPLACE), ADD, "or declare an add_remove guarantee"),
    (Poisson(Pure(1.0, REPLACE), rate=0.1), ADD, 'Declare the base under "add_remove"'),
    (Poisson(Pure(1.0, REPLACE), rate=0.1), REPLACE, "or use WithoutReplacement"),
    (Poisson(Approximate(1.0, 1e-6, REPLACE), rate=0.1), REPLACE, "or use WithoutReplacement"),
    (WithoutReplacement(Pure(1.0, ADD), rate=0.1), REPLACE, 'Declare the base under "replace_one"'),
    (WithoutReplacement(Approximate(1.0, 1e-6, ADD), rate=0.1), REPLACE, 'Declare the base under "replace_one"'),
]


@pytest.mark.parametrize(("event", "adjacency", "remedy"), REFUSALS, ids=[f"{r[0]}-{r[1]}" for r in REFUSALS])
def test_what_is_not_proved_is_refused_with_a_remedy(event, adjacency, remedy):
    """T21's mixed cases, T9, T4: refused alone, repeated and inside a composition."""
    for whole in (event, event * 10, Gaussian(1.0) + event * 2):
        with pytest.raises(AdjacencyError) as caught:
            account(whole, adjacency)
        assert remedy in str(caught.value)
        assert "T" in str(caught.value)


@pytest.mark.parametrize(
    "other",
    [
        RandomizedResponse(1.0),
        ReplaceOneOnly(Gaussian(1.0)),
        WithoutReplacement(Gaussian(1.0), rate=0.1),
        Pure(1.0, REPLACE),
    ],
    ids=str,
)
def test_a_composition_that_only_t4_could_read_is_refused_with_a_remedy_that_helps(other):
    """Poisson(Laplace) has no replace-one pair: with a replace-one event beside it, nothing is proved of the two.

    The message must not send the user to the adjacency that was asked for.
    """
    with pytest.raises(AdjacencyError) as caught:
        account(Poisson(Laplace(1.0), rate=0.1) + other, REPLACE)
    message = str(caught.value)
    assert message.startswith(f"{other} is proved under replace_one only") and "T4" in message
    assert "Account them apart" in message and 'Account it under "replace_one"' not in message


def test_poisson_laplace_is_read_through_add_remove_as_a_whole():
    """T4 after composition, not before: the composed add/remove profile is converted once."""
    event = Poisson(Laplace(2.0), rate=0.2) * 3 + Gaussian(4.0)
    found, expected = account(event, REPLACE), replace_one_profile(account(event, ADD))
    assert found.adjacency is Adjacency.REPLACE_ONE and "T4" in found.tags
    assert found.epsilon_answer(1e-4).engine == "group" and "T4" in found.delta_answer(0.8).why
    assert found.delta_bracket(0.8) == expected.delta_bracket(0.8)
    assert found.epsilon_bracket(1e-4) == expected.epsilon_bracket(1e-4)


@pytest.mark.parametrize("count", [1, 7])
def test_declared_guarantees_are_converted_one_by_one(count):
    """T4: (2 eps, delta (1 + e^eps)) per mechanism, as `replace_one_from_add_remove` says, then T14."""
    converted = replace_one_from_add_remove(ApproxDP(0.2, 1e-4, ADD))
    found = account(Approximate(0.2, 1e-4, ADD) * count, REPLACE)
    same = account(Approximate(converted.epsilon, converted.delta, REPLACE) * count, REPLACE)
    assert found.delta(0.3) == pytest.approx(same.delta(0.3), rel=1e-13)
    assert found.epsilon(0.01) == pytest.approx(same.epsilon(0.01), rel=1e-12)


@pytest.mark.parametrize(
    ("event", "adjacency"),
    [
        *((base, a) for base in (Gaussian(1.7), Laplace(1.7)) for a in (ADD, REPLACE)),
        (Pure(0.7, ADD), ADD),
        (Pure(0.7, ADD), REPLACE),
        (Approximate(0.7, 1e-3, ADD), REPLACE),
    ],
    ids=str,
)
def test_poisson_sampling_at_rate_one_is_the_event_itself(event, adjacency):
    everyone = account(Poisson(event, rate=1) * 2, adjacency)
    assert everyone.directions == account(event * 2, adjacency).directions
    assert everyone.epsilon_bracket(1e-2) == account(event * 2, adjacency).epsilon_bracket(1e-2)


@pytest.mark.parametrize(
    "event", [Gaussian(1.7), Laplace(1.7), Pure(0.7, REPLACE), Approximate(0.7, 0.1, REPLACE)], ids=str
)
def test_sampling_everyone_without_replacement_is_the_event_itself(event):
    everyone = account(WithoutReplacement(event, rate=1.0), REPLACE)
    assert everyone.directions == account(event, REPLACE).directions


@pytest.mark.parametrize("rate", [1 - 1e-9, 1 - 1e-12])
def test_sampling_almost_everyone_is_almost_the_event(rate):
    for sampler in (Poisson, WithoutReplacement):
        assert account(sampler(Gaussian(1.0), rate=rate), REPLACE).delta(0.3) == pytest.approx(
            account(Gaussian(1.0), REPLACE).delta(0.3), rel=1e-8
        )


PURE = [
    (Laplace(3.0) * 5, ADD, mp.mpf(5) / 3),
    (Laplace(3.0) * 5, REPLACE, mp.mpf(10) / 3),
    (Laplace(7.0) * 99_999 + Pure(0.1, ADD), ADD, mp.mpf(99_999) / 7 + mp.mpf(0.1)),
    (Pure(0.3, ADD) * 4, REPLACE, 8 * mp.mpf(0.3)),
    (RandomizedResponse(0.3, 5) * 4, REPLACE, 4 * mp.mpf(0.3)),
    (Poisson(Laplace(1.3), rate=0.3) * 7, ADD, 7 * amplified(1 / mp.mpf(1.3), 0.3)),
    (Poisson(Laplace(1.3), rate=0.3) * 7, REPLACE, 14 * amplified(1 / mp.mpf(1.3), 0.3)),
    (WithoutReplacement(Laplace(1.3), rate=0.3) * 7, REPLACE, 7 * amplified(2 / mp.mpf(1.3), 0.3)),
    (Poisson(Pure(1.0, ADD), rate=0.3), ADD, amplified(1.0, 0.3)),
]


@pytest.mark.parametrize(("event", "adjacency", "exact"), PURE, ids=[f"{r[0]}-{r[1]}" for r in PURE])
def test_at_delta_zero_epsilon_is_the_sum_of_the_largest_losses(event, adjacency, exact):
    """T11 with delta = 0, which no other composition theorem can beat; never rounded down."""
    low, high = account(event, adjacency).epsilon_bracket(0.0)
    assert low <= exact <= high <= exact * (1 + mp.mpf("1e-12"))


@pytest.mark.parametrize("numerator", range(1, 60, 7))
def test_the_pure_epsilon_is_never_rounded_down(numerator):
    for denominator in (3, 7, 11, 13, 49, 99):
        multiplier = denominator / numerator
        for count in (1, 3, 1009):
            exact = 2 * mp.mpf(count) / mp.mpf(multiplier)
            assert account(Laplace(multiplier) * count, REPLACE).epsilon(0.0) >= exact


@pytest.mark.parametrize(
    "event",
    [Gaussian(1.0), Laplace(1.0) + Gaussian(100.0), Poisson(Gaussian(1.0), rate=0.1), Approximate(0.1, 1e-9, ADD)],
)
def test_what_is_not_pure_has_no_epsilon_at_delta_zero(event):
    for adjacency in (ADD, REPLACE):
        assert account(event, adjacency).epsilon_bracket(0.0) == (math.inf, math.inf)


@pytest.mark.parametrize("count", [1, 10, 1000])
def test_epsilon_is_infinite_only_below_the_events_own_deltas(count):
    """T14: 1 - (1 - delta)^k is spent whatever epsilon is, and not a digit more."""
    own, profile = 1e-4, account(Approximate(0.1, 1e-4, ADD) * count, ADD)
    spent = float(-mp.expm1(count * mp.log1p(-mp.mpf(own))))
    assert profile.epsilon_bracket(spent * 0.999999) == (math.inf, math.inf)
    low, high = profile.epsilon_bracket(spent * 1.000001)
    assert 0 < low <= high < math.inf
    assert profile.delta(1e6) == pytest.approx(spent, rel=1e-12) and profile.delta(1e6) >= spent * (1 - 1e-15)


@pytest.mark.parametrize(
    "event",
    [Gaussian(1e-2), Laplace(1e-2), Pure(500.0, ADD), Approximate(50.0, 0.3, ADD), Approximate(1.0, 0.9, ADD)],
    ids=str,
)
def test_delta_is_a_probability(event):
    """T4's delta (1 + e^eps) reaches 1 for the last two: then nothing is promised, and that is said by delta = 1."""
    for adjacency in (ADD, REPLACE):
        profile = account(event, adjacency)
        for epsilon in (0.0, 1.0, 100.0):
            low, high = profile.delta_bracket(epsilon)
            assert 0.0 <= low <= high <= 1.0


@pytest.mark.parametrize(
    ("event", "exact"),
    [
        *((Laplace(b), lambda e, b=b: laplace(1 / mp.mpf(b))(e)) for b in (3.0, 7.0, 0.37)),
        *((Poisson(Laplace(1.3), rate=q), lambda e, q=q: sampled(laplace(1 / mp.mpf(1.3)), q)(e)) for q in (0.01, 0.7)),
    ],
    ids=lambda value: str(value) if not callable(value) else "",
)
@pytest.mark.parametrize("below", [1e-3, 1e-6, 1e-9, 1e-12])
def test_one_bounded_step_is_bracketed_up_to_its_largest_loss(event, exact, below):
    """T5, T22: near the largest loss delta is what is left of a cancellation, and the bracket must know."""
    profile = account(event, ADD)
    epsilon = profile.epsilon(0.0) * (1 - below)
    low, high = profile.delta_bracket(epsilon)
    assert low <= exact(mp.mpf(epsilon)) <= high


def test_adding_a_record_can_be_the_worse_direction():
    """T22: Laplace noise, q = .7, T = 2, eps = .2183: add .27737, remove .24885; the larger one counts."""
    rate, scale, count = 0.7, 1.0, 1451
    borders = np.concatenate([[-np.inf], np.linspace(-14.0, 15.0, count), [np.inf]])
    cdf = lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)) / 2, 1 - np.exp(-np.maximum(x, 0)) / 2)  # noqa: E731
    plain = np.diff(cdf(borders / scale))
    mixed = (1 - rate) * plain + rate * np.diff(cdf((borders - 1) / scale))
    p, q = np.multiply.outer(plain, plain), np.multiply.outer(mixed, mixed)
    add = np.maximum(p - math.exp(0.2183) * q, 0.0).sum()  # cells: never above the truth (T3)
    remove = np.maximum(q - math.exp(0.2183) * p, 0.0).sum()
    assert add == pytest.approx(0.27737, abs=2e-5) and remove == pytest.approx(0.24885, abs=2e-5)
    low, high = account(Poisson(Laplace(scale), rate=rate) * 2, ADD).delta_bracket(0.2183)
    assert add <= high and low <= 0.27738
