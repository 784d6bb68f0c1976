# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""`ReplaceOneOnly`: the loss of its noise under replace-one, and nothing at all under add/remove (T4, T5, T6).

True values are T6 and T5 in 50-digit arithmetic, for a statistic with replace-one sensitivity D and noise sigma.
"""

import json

import mpmath as mp
import numpy as np
import pytest

import dperm
from dperm.accounting import (
    Approximate,
    Gaussian,
    Laplace,
    MemoryBudget,
    Poisson,
    Pure,
    RandomizedResponse,
    ReplaceOneOnly,
    WithoutReplacement,
    account,
    calibrate,
    event_from_json,
    event_to_json,
)
from dperm.errors import AdjacencyError, BudgetError, ConversionError, EventFormatError, ParameterError
from dperm.privacy import GDP, RDP, ZCDP, ApproxDP, PureDP
from dperm.privacy.adjacency import Adjacency, Direction

ADD, ONE = "add_remove", "replace_one"
NOISE = [Gaussian(1.7), Gaussian(0.3), Laplace(1.7), Laplace(0.4)]
every_noise = pytest.mark.parametrize("noise", NOISE, ids=str)


def t6(epsilon, mu):
    """delta(epsilon) of mu-GDP."""
    e, m = mp.mpf(epsilon), mp.mpf(mu)
    return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize(("sensitivity", "sigma"), [(1e-3, 1e-2), (0.25, 0.5), (3.0, 1.0), (2.0, 7.0)])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
def test_epsilon_is_that_of_t6_with_mu_the_replace_one_sensitivity_over_sigma(sensitivity, sigma, delta):
    """Two-sided: delta at the reported epsilon is within its target, and just below that epsilon it is not."""
    found = account(ReplaceOneOnly(Gaussian(2 * sigma / sensitivity)), ONE).epsilon(delta)
    with mp.workdps(50):
        mu = mp.mpf(sensitivity) / mp.mpf(sigma)
        exact = mp.findroot(lambda e: mp.log(t6(e, mu)) - mp.log(delta), found)
        rounding = mp.mpf("4e-16")  # the caller's own 2 * sigma / sensitivity rounds to nearest
        assert exact * (1 - rounding) <= found <= exact * (1 + mp.mpf("1e-9"))
        assert t6(found * (1 - 1e-9), mu) > delta


@pytest.mark.parametrize(("sensitivity", "scale"), [(0.5, 0.5), (1.0, 4.0)])
def test_laplace_noise_has_the_pure_epsilon_of_the_replace_one_sensitivity(sensitivity, scale):
    """T5, all numbers exact in binary."""
    epsilon = sensitivity / scale
    low, high = account(ReplaceOneOnly(Laplace(2 * scale / sensitivity)), ONE).epsilon_bracket(0.0)
    assert low <= epsilon <= high <= epsilon * (1 + 1e-15)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_bare_event_would_be_false_under_add_remove(epsilon):
    """Why the mark exists: the mean of n = 4 values in [0, 1] has D = 1/n, and removing the only 1 moves it by 1/n too.

    The bare event would claim mu = D/(2 sigma) (T6), half of what an attacker sees.
    """
    n, sigma = 4, 0.25
    shift = np.mean([1, 0, 0, 0]) - np.mean([0, 0, 0])
    truth = t6(epsilon, shift / sigma)
    bare = Gaussian(2 * sigma / (1 / n))
    assert account(bare, ADD).delta(epsilon) < 0.5 * truth
    with pytest.raises(AdjacencyError):
        account(ReplaceOneOnly(bare), ADD)


@every_noise
@pytest.mark.parametrize("build", [lambda e: e, lambda e: e * 7, lambda e: e * 3 + Gaussian(2.0), lambda e: e + e * 2])
def test_under_replace_one_it_is_the_noise_itself(noise, build):
    """The same laws are composed, so the same engine gives the same digits."""
    marked, plain = account(build(ReplaceOneOnly(noise)), ONE), account(build(noise), ONE)
    assert marked.directions == plain.directions
    assert marked.epsilon_answer(1e-6) == plain.epsilon_answer(1e-6)
    assert marked.delta_answer(0.5) == plain.delta_answer(0.5)
    assert marked.tags == plain.tags


def test_marked_gaussians_are_one_gaussian_with_the_others():
    """T19: a closed form whatever the mixture and the count."""
    event = ReplaceOneOnly(Gaussian(30.0)) * 10**6 + Gaussian(40.0) * 10 + ReplaceOneOnly(Gaussian(5.0))
    profile = account(event, ONE)
    assert profile.epsilon_answer(1e-6).engine == "closed"
    assert len(profile.directions[0].steps) == 1


def test_it_composes_with_what_is_sampled():
    step = WithoutReplacement(Gaussian(2.0), rate=0.1) * 20
    marked, plain = (account(step + noise, ONE) for noise in (ReplaceOneOnly(Gaussian(5.0)), Gaussian(5.0)))
    assert marked.epsilon_bracket(1e-5) == plain.epsilon_bracket(1e-5)


@every_noise
def test_its_renyi_curve_is_that_of_the_noise(noise):
    """T16."""
    orders, one = np.array([1.5, 2.0, 8.0, 64.0]), Adjacency.REPLACE_ONE
    assert np.array_equal(ReplaceOneOnly(noise).rdp(orders, one), noise.rdp(orders, one))


def test_noise_is_calibrated_through_it():
    """T6: sigma/D = 3.7306316 at (1, 1e-5), a published golden value, so the multiplier is twice that."""
    found = calibrate(lambda m: ReplaceOneOnly(Gaussian(m)), epsilon=1.0, delta=1e-5, adjacency=ONE)
    assert 3.7306316 <= found / 2 <= 3.7306316 * (1 + 1e-6)


def test_it_is_exported_by_accounting_and_not_at_the_top():
    assert dperm.accounting.ReplaceOneOnly is ReplaceOneOnly
    assert "ReplaceOneOnly" not in dperm.__all__


# ---- what it refuses


def is_refused(call, *arguments):
    try:
        call(*arguments)
    except AdjacencyError as error:
        return "replace_one" in str(error)
    return False


def add_remove_is_refused_at_every_door(module):
    """T4: nothing is proved about data sets of different size."""
    for noise in (Gaussian(1.0), Laplace(1.0)):
        event = module.ReplaceOneOnly(noise)
        assert event.reading(Adjacency.REPLACE_ONE) is Adjacency.REPLACE_ONE
        assert event.law(Direction.REPLACE) == noise.law(Direction.REPLACE)
        assert is_refused(event.reading, Adjacency.ADD_REMOVE)
        assert is_refused(event.law, Direction.ADD) and is_refused(event.law, Direction.REMOVE)
        assert is_refused(event.rdp, np.array([2.0]), Adjacency.ADD_REMOVE)
        assert is_refused(event.tags, Adjacency.ADD_REMOVE)
        assert is_refused(account, event, ADD) and is_refused(account, Gaussian(2.0) + event * 3, ADD)


def budgets(adjacency):
    """One budget of each currency."""
    return [
        MemoryBudget(PureDP(20.0, adjacency)),
        MemoryBudget(ApproxDP(90.0, 1e-6, adjacency), blocks=2),
        MemoryBudget(ZCDP(200.0, adjacency)),
        MemoryBudget(GDP(20.0, adjacency)),
        MemoryBudget(RDP([(2.0, 200.0), (8.0, 800.0)], adjacency)),
    ]


def every_currency_refuses_add_remove(module):
    """Prices are read off the noise itself, so nothing but `reading` stands before mu = 1/sigma."""
    event = module.ReplaceOneOnly(Gaussian(9.0))
    for budget in budgets(ADD):
        assert is_refused(budget.check, event)


MUTANTS = [
    (add_remove_is_refused_at_every_door, "if adjacency is Adjacency.ADD_REMOVE:", "if False:"),
    (every_currency_refuses_add_remove, "if adjacency is Adjacency.ADD_REMOVE:", "if False:"),
    (add_remove_is_refused_at_every_door, "if direction is not Direction.REPLACE:", "if False:"),
    (add_remove_is_refused_at_every_door, "if direction is not Direction.REPLACE:", "if direction is Direction.ADD:"),
    (add_remove_is_refused_at_every_door, "self.event.law(direction)", "self.event.law(Direction.REMOVE)"),
    (
        add_remove_is_refused_at_every_door,
        "self.event.rdp(orders, self.reading(adjacency))",
        "self.event.rdp(orders, adjacency)",
    ),
]


@pytest.mark.parametrize(("check", "old", "new"), MUTANTS)
def test_an_unsafe_mutant_is_killed(check, old, new, assert_killed):
    assert_killed(check, "dperm.accounting.replace_only", old, new)


def test_the_refusal_says_what_was_asked_what_is_true_and_what_to_do():
    with pytest.raises(AdjacencyError) as caught:
        account(ReplaceOneOnly(Gaussian(3.0)) * 5, ADD)
    message = str(caught.value)
    assert message.startswith("ReplaceOneOnly(event=Gaussian(noise_multiplier=3.0))") and '"add_remove"' in message
    assert 'proved for adjacency="replace_one" only' in message and "(T4)" in message
    assert 'Account it under "replace_one"' in message and "plain Gaussian" in message
    assert "\n" not in message


NOT_NOISE = [
    Pure(1.0, ONE),
    Pure(1.0, ADD),
    Approximate(1.0, 1e-6, ONE),
    RandomizedResponse(1.0),
    ReplaceOneOnly(Gaussian(1.0)),
    Poisson(Gaussian(1.0), rate=0.1),
    WithoutReplacement(Laplace(1.0), rate=0.1),
    Gaussian(1.0) * 2,
    Gaussian(1.0) + Laplace(1.0),
    Gaussian,
    1.0,
    "gaussian",
    None,
]


@pytest.mark.parametrize("event", NOT_NOISE, ids=str)
def test_only_plain_noise_is_marked(event):
    with pytest.raises(ParameterError) as caught:
        ReplaceOneOnly(event)
    message = str(caught.value)
    assert message.startswith("event must be one Gaussian or Laplace event") and f"got {event!r}." in message
    assert 'Pure or Approximate under "replace_one"' in message and "ReplaceOneOnly(Gaussian(1.0)) * 10" in message


@every_noise
@pytest.mark.parametrize(("sampler", "remedy"), [(Poisson, "added or removed"), (WithoutReplacement, "mark is not")])
@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_it_is_not_sampled(noise, sampler, remedy, rate):
    """T22, T25 need the other sensitivity; T24 needs no mark. Poisson must not invite to drop the mark."""
    with pytest.raises(ParameterError) as caught:
        sampler(ReplaceOneOnly(noise), rate=rate)
    message = str(caught.value)
    assert message.startswith(f"{sampler.__name__} cannot sample for ReplaceOneOnly(") and remedy in message


# ---- stored


@every_noise
def test_it_survives_the_round_trip_through_json(noise):
    event = ReplaceOneOnly(noise) * 12 + noise
    again = event_from_json(event_to_json(event))
    assert again == event and hash(again) == hash(event)
    assert event_to_json(again) == event_to_json(event)


def test_its_format_is_pinned():
    """What was written once is read for ever: this text must never change."""
    assert json.loads(event_to_json(ReplaceOneOnly(Laplace(2.0)))) == {
        "dperm_event": 1,
        "type": "replace_one_only",
        "event": {"type": "laplace", "noise_multiplier": 2.0},
    }


def test_a_stored_mark_around_something_else_is_refused():
    inner = json.loads(event_to_json(Pure(1.0, ONE)))
    del inner["dperm_event"]
    with pytest.raises(EventFormatError, match="'replace_one_only' event is not valid: event must be one Gaussian"):
        event_from_json(json.dumps({"dperm_event": 1, "type": "replace_one_only", "event": inner}))


# ---- charged


@every_noise
def test_a_budget_charges_what_the_noise_costs_in_every_currency(noise):
    """T11, T16, T18, T19: to the last bit, exact quotients included; a Gaussian has no pure cost either way."""
    marked = ReplaceOneOnly(noise)
    for one, other in zip(budgets(ONE), budgets(ONE), strict=True):
        if isinstance(one.limit, PureDP) and isinstance(noise, Gaussian):
            with pytest.raises(ConversionError, match="Nothing was charged"):
                one.reserve(marked * 2)
            continue
        one.reserve(marked * 2).commit("digest")
        other.reserve(noise * 2).commit("digest")
        assert one.spent == other.spent and one.remaining == other.remaining
        assert event_from_json(one.entries[0].event) == marked * 2


def test_costs_are_exact_and_a_limit_can_be_met_to_the_last_bit():
    """mu^2 = (2/3)^2 and epsilon = 2/3 are no doubles: quotients are rounded once, up (T5, T19)."""
    with mp.workdps(50):
        budget = MemoryBudget(GDP(9.0, ONE))
        budget.reserve(ReplaceOneOnly(Gaussian(3.0)))
        assert mp.mpf(4) / 9 <= budget.spent["mu_squared"] <= mp.mpf(4) / 9 * (1 + mp.mpf(2) ** -52)
    budget = MemoryBudget(PureDP(1.0, ONE))
    budget.reserve(ReplaceOneOnly(Laplace(2.0)))
    assert budget.spent == {"epsilon": 1.0}
    with pytest.raises(BudgetError):
        budget.reserve(ReplaceOneOnly(Laplace(2.0)))


@every_noise
def test_an_add_remove_budget_refuses_it_and_charges_nothing(noise):
    for budget in budgets(ADD):
        for event in (ReplaceOneOnly(noise), ReplaceOneOnly(noise) * 3, Laplace(9.0) + ReplaceOneOnly(noise)):
            for door in (budget.check, budget.reserve):
                assert is_refused(door, event)
        assert budget.entries == () and set(budget.spent.values()) == {0.0}
