# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Randomised response (T9): the law of the answers, what they cost, and what can be estimated from them."""

import json

import mpmath as mp
import numpy as np
import pytest
from scipy.special import chdtrc

from dperm.accounting import MemoryBudget, RandomizedResponse
from dperm.accounting.budget import State
from dperm.errors import AdjacencyError, BudgetError, ConversionError, DataError, NotPrivateWarning, ParameterError
from dperm.mechanisms.randomized_response import RandomizedResponseMechanism
from dperm.noise import NotPrivateBits
from dperm.privacy import GDP, ApproxDP, PureDP

ADD, ONE = "add_remove", "replace_one"
GOAL = PureDP(1.0, ONE)

pytestmark = pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")


def pmf(epsilon, size, value):
    with mp.workdps(40):
        total = mp.exp(mp.mpf(epsilon)) + size - 1
        return np.array([float((mp.exp(mp.mpf(epsilon)) if j == value else 1) / total) for j in range(size)])


def answers(mechanism, values, seed=11):
    return mechanism.release(values, bits=NotPrivateBits(seed)).value


def chi_square(found, probabilities):
    expected = probabilities * len(found)
    observed = np.bincount(found, minlength=len(probabilities))
    return chdtrc(len(expected) - 1, ((observed - expected) ** 2 / expected).sum())


# The law


@pytest.mark.parametrize("size", [2, 3, 20])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_answers_have_the_law_of_t9(epsilon, size):
    mechanism = RandomizedResponseMechanism.calibrate(PureDP(epsilon, ONE), categories=size)
    for value in {0, size - 1}:
        found = answers(mechanism, np.full(50_000, value))
        assert chi_square(found, pmf(epsilon, size, value)) > 1e-4


@pytest.mark.slow
def test_four_million_answers_have_the_law_of_t9():
    mechanism = RandomizedResponseMechanism.calibrate(GOAL, categories=5)
    assert chi_square(answers(mechanism, np.full(4_000_000, 2), 12), pmf(1.0, 5, 2)) > 1e-4


@pytest.mark.parametrize("size", [2, 7])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_loss_of_one_answer_is_epsilon_and_no_more(epsilon, size):
    """T9, two-sided: the largest log-ratio between two values, from the probabilities that the mechanism states."""
    mechanism = RandomizedResponseMechanism.calibrate(PureDP(epsilon, ONE), categories=size)
    p, q = mechanism.keep_probability, mechanism.other_probability
    assert p + (size - 1) * q == pytest.approx(1, rel=1e-15)
    assert np.log(p / q) == pytest.approx(epsilon, rel=1e-14)
    assert p == pytest.approx(pmf(epsilon, size, 0)[0], rel=1e-15)


def test_answers_of_different_records_are_independent():
    mechanism = RandomizedResponseMechanism.calibrate(GOAL, categories=2)
    found = answers(mechanism, np.zeros(40_000, dtype=int)).reshape(-1, 2)
    p = pmf(1.0, 2, 0)
    assert chi_square(2 * found[:, 0] + found[:, 1], np.outer(p, p).ravel()) > 1e-4


def test_labels_come_back_as_labels():
    for categories in (["no", "yes", "perhaps"], [10, -3, 7], [False, True], np.array(["a", "b"])):
        mechanism = RandomizedResponseMechanism.calibrate(PureDP(0.1, ONE), categories=categories)
        values = [categories[0]] * 200 + [categories[1]] * 200
        found = answers(mechanism, values)
        assert isinstance(found, np.ndarray) and found.shape == (400,)
        assert set(found.tolist()) == set(np.asarray(categories).tolist())
    kept = RandomizedResponseMechanism.calibrate(PureDP(200.0, ONE), categories=["no", "yes"])
    assert answers(kept, ["no", "yes", "yes"]).tolist() == ["no", "yes", "yes"]


def test_labels_and_their_indices_are_treated_alike():
    named = RandomizedResponseMechanism.calibrate(GOAL, categories=["a", "b", "c"])
    plain = RandomizedResponseMechanism.calibrate(GOAL, categories=3)
    values = np.arange(300) % 3
    assert answers(named, np.array(["a", "b", "c"])[values]).tolist() == [
        "abc"[index] for index in answers(plain, values)
    ]


# The event


def test_the_event_is_one_randomised_response_however_many_answer():
    """T9: replacing a record changes one answer; the budget of one epsilon is spent exactly."""
    mechanism = RandomizedResponseMechanism.calibrate(GOAL, categories=4)
    budget = MemoryBudget(GOAL)
    with pytest.warns(NotPrivateWarning):
        released = mechanism.release([0, 1, 2, 3, 3], budget, bits=NotPrivateBits(1))
    assert released.event == mechanism.event == RandomizedResponse(1.0, values=4)
    (entry,) = budget.entries
    assert entry.state is State.COMMITTED and entry.cost == (("epsilon", 1.0),)
    assert released.profile.epsilon(0.0) == 1.0
    record = json.loads(released.record.to_json())
    assert record["seeded"] and {"T9", "T10"} <= set(record["theorems"])
    assert record["public"]["categories"] == 4
    with pytest.raises(BudgetError):
        mechanism.release([0, 1], budget)


@pytest.mark.parametrize("size", [2, 3, 1000])
@pytest.mark.parametrize("goal", [PureDP(0.7, ONE), ApproxDP(0.7, 1e-6, ONE)])
def test_the_goal_covers_the_event(goal, size):
    mechanism = RandomizedResponseMechanism.calibrate(goal, categories=size)
    MemoryBudget(goal, blocks=1 if isinstance(goal, ApproxDP) else None).check(mechanism.event)


# Estimates


def test_estimates_are_unbiased_and_their_standard_errors_are_right():
    """T9: over 400 releases of the same 500 values; the means within 4.5 deviations, the variances within 25 %."""
    mechanism = RandomizedResponseMechanism.calibrate(GOAL, categories=["a", "b", "c"])
    values = ["a"] * 300 + ["b"] * 200
    bits, truth = NotPrivateBits(5), np.array([0.6, 0.4, 0.0])
    released = [mechanism.release(values, bits=bits).value for _ in range(400)]
    found = np.array([mechanism.estimate(each) for each in released])
    errors = np.array([mechanism.standard_error(each) for each in released])
    p, q = mechanism.keep_probability, mechanism.other_probability
    deviation = np.sqrt((truth * p * (1 - p) + (1 - truth) * q * (1 - q)) / 500) / (p - q)
    assert (np.abs(found.mean(axis=0) - truth) < 4.5 * deviation / np.sqrt(400)).all()
    assert found.var(axis=0) == pytest.approx(deviation**2, rel=0.25)
    assert (errors**2).mean(axis=0) == pytest.approx(deviation**2, rel=0.02)
    assert found.sum(axis=1) == pytest.approx(1)


def test_the_estimate_solves_the_equation_of_t9_exactly():
    """Shares that are as expected give the proportions back, whatever k and epsilon."""
    mechanism = RandomizedResponseMechanism.calibrate(PureDP(float(np.log(2)), ONE), categories=3)  # p = 1/2, q = 1/4
    assert mechanism.estimate([0] * 8 + [1] * 4 + [2] * 4) == pytest.approx([1, 0, 0], abs=1e-12)
    assert mechanism.estimate([0] * 4 + [1] * 3 + [2] * 1) == pytest.approx([1, 0.5, -0.5])


def test_estimates_outside_zero_and_one_are_not_cut_off():
    mechanism = RandomizedResponseMechanism.calibrate(GOAL, categories=2)
    assert mechanism.estimate([1, 1, 1])[1] > 1 and mechanism.estimate([1, 1, 1])[0] < 0


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 30.0, 400.0])
def test_a_standard_error_is_never_imaginary(epsilon):
    mechanism = RandomizedResponseMechanism.calibrate(PureDP(epsilon, ONE), categories=3)
    for given in ([0], [0, 1, 2], [2] * 50):
        assert np.isfinite(mechanism.standard_error(given)).all()


def test_for_two_values_the_estimate_is_the_one_that_t9_states():
    mechanism = RandomizedResponseMechanism.calibrate(PureDP(0.5, ONE), categories=2)
    p = 1 / (1 + np.exp(-0.5))
    assert mechanism.estimate([1] * 30 + [0] * 70)[1] == pytest.approx((0.3 - (1 - p)) / (2 * p - 1))


def test_answers_from_a_fixed_seed_stay_what_they_are():
    mechanism = RandomizedResponseMechanism.calibrate(GOAL, categories=["a", "b", "c"])
    assert "".join(answers(mechanism, ["a", "b", "c"] * 8, 2)) == "bacbbacccaaacbccbccbcabb"


# Refusals


class Unread:
    """Values that must not be read."""

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("the values were read")


def test_an_empty_budget_refuses_before_the_values_are_read(no_bits):
    budget = MemoryBudget(PureDP(0.5, ONE))
    with pytest.raises(BudgetError):
        RandomizedResponseMechanism.calibrate(GOAL, categories=3).release(Unread(), budget, bits=no_bits)
    assert budget.entries == ()


BAD_NUMBERS = {
    "NaN": [0.0, float("nan")],
    "infinite": [0.0, float("inf")],
    "too large": [0, 77],
    "negative": [0, -1],
    "between": [0.5, 1.0],
    "empty": [],
    "one number": 1,
    "a column": [[0], [1]],
    "strings": ["77", "1"],
    "nothing": None,
}
BAD_LABELS = {
    "another label": ["no", "77"],
    "no label": ["no", None],
    "a number": ["no", 77.0],
    "NaN": [float("nan"), float("nan")],
    "empty": [],
    "one label": "no",
    "a column": [["no"], ["yes"]],
    "ragged": [["no"], ["no", "yes"]],
    "nothing": None,
}
BAD = [(3, bad) for bad in BAD_NUMBERS.values()] + [(["no", "yes"], bad) for bad in BAD_LABELS.values()]
NAMES = [f"number: {name}" for name in BAD_NUMBERS] + [f"label: {name}" for name in BAD_LABELS]


@pytest.mark.parametrize(("categories", "values"), BAD, ids=NAMES)
def test_bad_values_are_refused_without_a_word_about_them_a_charge_or_a_draw(categories, values, no_bits):
    budget = MemoryBudget(PureDP(5.0, ONE))
    mechanism = RandomizedResponseMechanism.calibrate(GOAL, categories=categories)
    with pytest.raises(DataError, match=r"^values must (be|hold)") as caught:
        mechanism.release(values, budget, bits=no_bits)
    assert "77" not in str(caught.value) and caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert budget.entries == ()
    with pytest.raises(DataError, match=r"^answers must (be|hold)"):
        mechanism.estimate(values)


@pytest.mark.parametrize(
    "categories",
    [
        1,
        0,
        2.0,
        True,
        "ab",
        [],
        ["a"],
        ["a", "a"],
        ["a", 1],
        [1, True],
        [1.0, 2.0],
        [[1], [2]],
        {1, 2},
        None,
        ["a", "a\0"],
        [1, 2**70],
    ],
    ids=repr,
)
def test_categories_that_make_no_sense_are_refused(categories):
    with pytest.raises(ParameterError, match="categories must be"):
        RandomizedResponseMechanism.calibrate(GOAL, categories=categories)


@pytest.mark.parametrize("goal", [PureDP(0.0, ONE), 1.0, None])
def test_a_goal_that_leaves_nothing_to_spend_is_refused(goal):
    with pytest.raises(ParameterError, match="goal must"):
        RandomizedResponseMechanism.calibrate(goal, categories=2)


def test_a_goal_under_add_remove_is_refused():
    """T9: the presence of the answer is visible."""
    with pytest.raises(AdjacencyError, match="replace_one"):
        RandomizedResponseMechanism.calibrate(PureDP(1.0, ADD), categories=2)


def test_a_goal_that_no_theorem_reaches_is_refused():
    with pytest.raises(ConversionError):
        RandomizedResponseMechanism.calibrate(GDP(1.0, ONE), categories=2)


# Mutants


def check_law(module):
    """A thousandth of the p-value that the suite asks for, on 50,000 answers."""
    mechanism = module.RandomizedResponseMechanism.calibrate(GOAL, categories=4)
    assert chi_square(answers(mechanism, np.full(50_000, 1)), pmf(1.0, 4, 1)) > 1e-7


def check_estimate(module):
    mechanism = module.RandomizedResponseMechanism.calibrate(PureDP(float(np.log(2)), ONE), categories=3)
    assert mechanism.estimate([0] * 8 + [1] * 4 + [2] * 4) == pytest.approx([1, 0, 0], abs=1e-12)


MUTANTS = {
    "k + 1 values for k": (
        check_law,
        "keep_coins(self.event.epsilon, self.size,",
        "keep_coins(self.event.epsilon, self.size + 1,",
    ),
    "the other value may be the own one": (check_law, "shift = 1 + uniform", "shift = uniform"),
    "e^eps / (e^eps + k) in estimates": (check_estimate, "(self.size - 1) * math.exp", "self.size * math.exp"),
}


@pytest.mark.parametrize(("check", "old", "new"), MUTANTS.values(), ids=MUTANTS)
def test_unsafe_mutants_of_randomised_response_die(check, old, new, assert_killed):
    """T9."""
    assert_killed(check, "dperm.mechanisms.randomized_response", old, new)
