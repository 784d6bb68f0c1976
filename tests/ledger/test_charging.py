# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What an account may be charged, by each rule: up to its limit, in whole units, and no more."""

import itertools
import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dperm import ApproxDP, Gaussian, Laplace, Poisson, Pure, PureDP
from dperm.accounting.filters import price
from dperm.accounting.memory_budget import MemoryBudget
from dperm.accounting.serialize import event_to_json
from dperm.errors import AdjacencyError, BudgetError, ConversionError, ParameterError
from dperm.ledger import Ledger, units, verify
from dperm.privacy import GDP, RDP, ZCDP

ADD = "add_remove"
RULES = {
    "pure": (PureDP(1.0, ADD), {}, Laplace(4.0), 4),
    "basic": (ApproxDP(1.0, 1e-6, ADD), {"blocks": 500}, Gaussian(50.0), 10),
    "blocks": (ApproxDP(1.0, 1e-6, ADD), {"blocks": 3}, Gaussian(50.0), 3),
    "advanced": (ApproxDP(1.0, 1e-6, ADD), {"blocks": 500, "composition": "advanced"}, Gaussian(20.0), 18),
    "zcdp": (ZCDP(0.5, ADD), {}, Gaussian(2.0), 4),
    "rdp": (RDP([(8.0, 4.0)], ADD), {}, Gaussian(2.0), 4),
    "gdp": (GDP(1.0, ADD), {}, Gaussian(2.0), 4),
}


def charge_all(budget, event):
    """How many releases of the event fit."""
    for count in itertools.count():
        try:
            budget.reserve(event)
        except BudgetError:
            return count


@pytest.mark.parametrize("name", RULES)
def test_a_budget_is_charged_to_the_brim_and_then_refuses(open_at, location, name):
    limit, declared, event, most = RULES[name]
    ledger = open_at(limit, **declared)
    assert charge_all(ledger, event) == most == charge_all(MemoryBudget(limit, **declared), event)
    with pytest.raises(BudgetError, match="Nothing was charged"):
        ledger.check(event)
    assert len(ledger.bookings()) == most
    assert all(spent <= ledger.capacity[name] for name, spent in ledger.spent.items())
    assert ledger.limit == limit
    assert verify(location, prices=True).problems == ()


@pytest.mark.parametrize("name", RULES)
def test_the_meters_are_those_of_a_budget_in_memory_up_to_a_unit_each(open_file, name):
    limit, declared, event, _ = RULES[name]
    ledger, memory = open_file(limit, **declared), MemoryBudget(limit, **declared)
    for budget in (ledger, memory, ledger, memory):
        budget.reserve(event)
    for currency, spent in memory.spent.items():
        assert spent <= ledger.spent[currency] <= spent * (1 + 2**-40)
    assert ledger.capacity == pytest.approx(memory.capacity, rel=1e-9)


def test_a_refusal_says_what_was_asked_what_remains_and_what_to_do(open_at):
    ledger = open_at(PureDP(1.0, ADD))
    ledger.reserve(Pure(0.75, ADD))
    said = r"costs epsilon=0\.5, but only epsilon=0\.25 of the limit of 1\.0 remains in account 'main'\. Nothing was"
    with pytest.raises(BudgetError, match=said):
        ledger.reserve(Pure(0.5, ADD))
    ledger.reserve(Pure(0.25, ADD))
    assert ledger.remaining == PureDP(0.0, ADD)


def test_a_refusal_has_few_digits_rounded_to_the_safe_side(open_at):
    ledger = open_at(PureDP(1.0, ADD))
    ledger.reserve(Pure(1 / 3, ADD))
    with pytest.raises(BudgetError, match=r"costs epsilon=0\.7143, but only epsilon=0\.6666 of .*Request a smaller"):
        ledger.reserve(Pure(5 / 7, ADD))


def test_rounding_and_blocks_have_remedies_of_their_own(open_file):
    ledger = open_file(PureDP(1.0, ADD), account="a")
    for _ in range(9):
        ledger.reserve(Pure(0.1, ADD))
    with pytest.raises(BudgetError, match="over by a rounding error"):
        ledger.reserve(Pure(0.1, ADD))
    ledger = open_file(ApproxDP(1.0, 1e-6, ADD), account="b", blocks=1)
    ledger.reserve(Pure(0.1, ADD))
    with pytest.raises(BudgetError, match="Every declared block is used"):
        ledger.reserve(Pure(0.1, ADD))


def test_an_event_without_a_price_is_refused_and_nothing_is_charged(open_at):
    ledger = open_at(PureDP(1.0, ADD))
    before = ledger.entries()
    with pytest.raises(ConversionError):
        ledger.reserve(Gaussian(1.0))
    with pytest.raises(AdjacencyError):
        ledger.reserve(Pure(0.1, "replace_one"))
    with pytest.raises(ParameterError, match="event must be an event"):
        ledger.reserve("Laplace")
    assert ledger.entries() == before


@pytest.mark.parametrize("budget", ["ledger", "memory"])
def test_a_training_is_one_entry_and_cheaper_than_its_steps(open_file, budget):
    limit, step = ApproxDP(3.0, 1e-5, ADD), Poisson(Gaussian(1.0), rate=0.01)
    budget = open_file(limit, blocks=2) if budget == "ledger" else MemoryBudget(limit, blocks=2)
    budget.reserve(step * 1000)
    assert round(budget.spent["epsilon"], 3) == 1.919


def test_the_books_keep_the_event_the_facts_and_the_cost(open_at):
    ledger = open_at(PureDP(1.0, ADD))
    facts = {"noise": "Laplace \ud800\0", "numbers": [1, 2.5, None, True], 7: "key"}
    ledger.reserve(Laplace(4.0), facts=facts).commit("sha256:1")
    (booking,) = ledger.bookings()
    assert booking.event == json.loads(event_to_json(Laplace(4.0)))
    assert booking.facts == {"noise": "Laplace \ud800\0", "numbers": [1, 2.5, None, True], "7": "key"}
    assert (booking.cost, booking.state, booking.digest, booking.reason) == (
        {"epsilon": 0.25},
        "committed",
        "sha256:1",
        None,
    )
    assert booking.at.endswith("+00:00")
    assert verify(ledger.location, prices=True).ok


@pytest.mark.parametrize("facts", [{"a": float("nan")}, {"a": object()}, {"a": float("inf")}, ["a"]])
def test_facts_are_json_and_are_refused_before_anything_is_charged(open_file, facts):
    ledger = open_file(PureDP(1.0, ADD))
    with pytest.raises(ParameterError, match="facts must be a mapping of JSON values"):
        ledger.reserve(Laplace(4.0), facts=facts)
    assert ledger.bookings() == ()


LIMITS = st.one_of(
    st.floats(1e-9, 1e6).map(lambda x: (PureDP(x, ADD), None, "basic")),
    st.floats(1e-9, 1e6).map(lambda x: (ZCDP(x, ADD), None, "basic")),
    st.floats(1e-4, 1e3).map(lambda x: (GDP(x, ADD), None, "basic")),
    st.floats(1e-9, 1e3).map(lambda x: (RDP([(4.0, x)], ADD), None, "basic")),
    st.tuples(
        st.floats(1e-3, 10), st.floats(1e-300, 0.1), st.integers(1, 10**6), st.sampled_from(["basic", "advanced"])
    ).map(lambda x: (ApproxDP(x[0], x[1], ADD), x[2], x[3])),
)


@given(limit=LIMITS, size=st.floats(1e-15, 500))
def test_a_cost_is_never_below_its_price_and_sums_never_above_the_limit(limit, size):
    """In exact fractions: as many charges as the units allow are within the limit."""
    rule = units.rule_of(*limit)
    asked = price(rule, Pure(size, ADD))
    cost, capacity = units.cost_units(rule, asked), units.capacity_units(rule)
    for name, number, most in zip(rule.names, asked, rule.capacity, strict=True):
        assert units.amount(rule, name, cost[name]) >= Fraction(number)
        assert units.amount(rule, name, cost[name] - 1) < Fraction(number)
        assert units.amount(rule, name, capacity[name]) <= most
        assert units.amount(rule, name, capacity[name] + 1) > most
    if "delta" in cost:
        assert cost["delta"] == 1, "delta is counted in shares, one for each release"
        assert capacity["delta"] >= limit[1], "as many as there are blocks"


@given(size=st.floats(1e-9, 1e3))
def test_a_limit_that_is_a_double_covers_one_release_of_its_size(size):
    """Whatever its digits: what was opened with epsilon 0.1 covers a release of epsilon 0.1."""
    rule = units.rule_of(PureDP(size, ADD), None, "basic")
    assert units.cost_units(rule, (size,)) == units.capacity_units(rule)


def test_units_are_whole_numbers_in_the_books(open_at):
    ledger = open_at(ApproxDP(1.0, 1e-6, ADD), blocks=10)
    ledger.reserve(Gaussian(50.0))
    (line,) = [line for line in ledger.entries() if line.cost]
    exact, _ = price(ledger.account_facts.rule, Gaussian(50.0))
    unit = Fraction(1, 2**ledger.account_facts.exponent)
    assert line.cost == {"epsilon": -(-Fraction(exact) // unit), "delta": 1}
    assert Ledger(ledger.location).spent["delta"] == 1e-7
    assert list(ledger.spent) == list(ledger.capacity) == ["epsilon", "delta"], "in the order of the rule"


@given(size=st.floats(1e-300, 4e6))
def test_a_limit_is_a_whole_number_of_units(size):
    rule = units.rule_of(PureDP(size, ADD), None, "basic")
    capacity = units.capacity_units(rule)["epsilon"]
    assert units.amount(rule, "epsilon", capacity) == Fraction(size)
    assert 2**52 <= capacity < 2**57


@pytest.mark.parametrize("size", [0.1, 0.3, 1e-3, 1.7])
def test_a_release_of_the_size_of_the_limit_fits(open_file, size):
    ledger = open_file(PureDP(size, ADD))
    ledger.reserve(Pure(size, ADD))
    assert ledger.spent == {"epsilon": size}


def test_three_releases_of_a_third_of_the_limit_fit(open_file):
    ledger = open_file(PureDP(3.0, ADD))
    for _ in range(3):
        ledger.reserve(Pure(1.0, ADD))
    assert ledger.remaining == PureDP(0.0, ADD)
