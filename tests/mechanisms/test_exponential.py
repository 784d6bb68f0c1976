# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The exponential mechanism and permute-and-flip (T8): both laws in 40 digits, on adversarial neighbours, two-sided."""

import itertools
import json

import mpmath as mp
import numpy as np
import pytest
from scipy.special import chdtrc

from dperm.accounting import MemoryBudget, Pure
from dperm.accounting.budget import State
from dperm.errors import AdjacencyError, BudgetError, ConversionError, DataError, NotPrivateWarning, ParameterError
from dperm.mechanisms.exponential import ExponentialMechanism, score_span
from dperm.noise import NotPrivateBits
from dperm.privacy import GDP, ZCDP, ApproxDP, PureDP

ADD, ONE = "add_remove", "replace_one"
SELECTIONS = ("exponential", "permute_and_flip")
every_selection = pytest.mark.parametrize("selection", SELECTIONS)
SCORES = [0.0, 3.0, 2.9, -1.0, 1.5]

pytestmark = pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")


@pytest.fixture(autouse=True)
def enough_digits():
    with mp.workdps(40):
        yield


def exponential_pmf(scores, rate):
    weights = [mp.exp(mp.mpf(rate) * (mp.mpf(u) - mp.mpf(max(scores)))) for u in scores]
    return [weight / mp.fsum(weights) for weight in weights]


def permute_and_flip_pmf(scores, rate):
    """By enumeration of the definition: all orders, each candidate accepted with its coin."""
    coins = [mp.exp(mp.mpf(rate) * (mp.mpf(u) - mp.mpf(max(scores)))) for u in scores]
    out, orders = [mp.mpf(0)] * len(scores), list(itertools.permutations(range(len(scores))))
    for order in orders:
        reached = mp.mpf(1)
        for h in order:
            out[h] += reached * coins[h] / len(orders)
            reached *= 1 - coins[h]
    return out


PMF = {"exponential": exponential_pmf, "permute_and_flip": permute_and_flip_pmf}


def loss(pmf, rate, scores, moves):
    """The largest log-ratio between the laws of neighbours, less what 40 digits get wrong."""
    first, second = pmf(scores, rate), pmf([u + move for u, move in zip(scores, moves, strict=True)], rate)
    return max(abs(mp.log(p / q)) for p, q in zip(first, second, strict=True)) * (1 - mp.mpf("1e-30"))


def largest_loss(pmf, rate, ends):
    """Over the corners of all moves with ends [a, b], and scores with one candidate far behind, ties and gaps."""
    cases = [[-20.0, 0.0, 0.0], [0.0, 0.0, 0.0], [-3.0, -1.0, 0.5], [-30.0, -40.0, 0.0]]
    return max(loss(pmf, rate, scores, moves) for scores in cases for moves in itertools.product(ends, repeat=3))


def drawn(mechanism, scores, size, seed=8):
    bits = NotPrivateBits(seed)
    return [mechanism.release(scores, bits=bits).value for _ in range(size)]


def chi_square(indices, probabilities):
    expected = np.array([float(p) for p in probabilities]) * len(indices)
    observed = np.bincount(indices, minlength=len(expected))
    assert expected.min() > 10
    return chdtrc(len(expected) - 1, ((observed - expected) ** 2 / expected).sum())


# The law


@every_selection
def test_releases_have_the_law_of_t8(selection):
    mechanism = ExponentialMechanism.calibrate(1.0, PureDP(2.0, ADD), candidates=5, selection=selection)
    assert chi_square(drawn(mechanism, SCORES, 20_000), PMF[selection](SCORES, mechanism.rate)) > 1e-4


@pytest.mark.slow
@every_selection
def test_many_releases_have_the_law_of_t8(selection):
    mechanism = ExponentialMechanism.calibrate(1.0, PureDP(2.0, ADD), candidates=5, selection=selection)
    assert chi_square(drawn(mechanism, SCORES, 300_000, 9), PMF[selection](SCORES, mechanism.rate)) > 1e-4


def test_permute_and_flip_is_the_largest_score_with_exponential_noise():
    """The identity on which its privacy rests: P(h) = E P(X_h > max of the others - u_h), by quadrature."""
    scores, rate = [0.0, 1.0, 0.4], 0.8
    for h, expected in enumerate(permute_and_flip_pmf(scores, rate)):
        others = [u for j, u in enumerate(scores) if j != h]

        def density(x, h=h, others=others):
            wins = mp.fprod(1 - mp.exp(-rate * max(0, scores[h] + x - u)) for u in others)
            return rate * mp.exp(-rate * x) * wins

        breaks = sorted({0.0, *(max(0.0, u - scores[h]) for u in others), 10.0, 60.0, 120.0})
        assert abs(mp.quad(density, breaks) - expected) < 1e-12


def test_permute_and_flip_is_never_worse_in_expectation():
    random = np.random.default_rng(1)
    for _ in range(20):
        scores = (random.random(4) * 5).tolist()
        means = [mp.fdot(PMF[selection](scores, 0.7), scores) for selection in SELECTIONS]
        assert means[1] >= means[0]


# Privacy


@every_selection
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("adjacency", [ADD, ONE])
def test_the_loss_is_at_most_the_event_s_epsilon_and_comes_close_to_it(selection, epsilon, adjacency):
    """T8, two-sided: every score moves by -Delta or Delta."""
    mechanism = ExponentialMechanism.calibrate(0.5, PureDP(epsilon, adjacency), candidates=3, selection=selection)
    found = largest_loss(PMF[selection], mechanism.rate, (-0.5, 0.5))
    assert found <= mechanism.event.epsilon <= epsilon
    assert found >= 0.75 * epsilon


@every_selection
def test_monotone_scores_need_no_factor_two(selection):
    """T8, two-sided: a record that is added moves every score by 0 to Delta."""
    mechanism = ExponentialMechanism.calibrate(0.5, PureDP(1.0, ADD), candidates=3, monotone=True, selection=selection)
    assert mechanism.rate == 2.0
    for ends in ((0.0, 0.5), (-0.5, 0.0)):
        found = largest_loss(PMF[selection], mechanism.rate, ends)
        assert 0.75 <= found <= mechanism.event.epsilon <= 1.0


@every_selection
@pytest.mark.parametrize("monotone", [False, True])
def test_a_numerical_error_widens_the_moves_at_both_ends(selection, monotone):
    """T8: exact scores move by [-Delta, Delta] or [0, Delta], computed ones by 2 tau more at either end."""
    mechanism = ExponentialMechanism.calibrate(
        0.5, PureDP(1.0, ADD), candidates=3, monotone=monotone, numerical_error=0.125, selection=selection
    )
    low = 0.0 if monotone else -0.5
    found = largest_loss(PMF[selection], mechanism.rate, (low - 0.25, 0.5 + 0.25))
    assert 0.75 <= found <= mechanism.event.epsilon <= 1.0


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "error"), [(1 / 3, 0.7, 0.0), (3.1, 1e-6, 0.01), (1e-9, 20.0, 1e-12)]
)
def test_the_rate_is_rounded_down_and_the_event_up(sensitivity, epsilon, error, monotone):
    """r (b - a) <= event <= goal, and nothing is wasted; the accountant agrees."""
    mechanism = ExponentialMechanism.calibrate(
        sensitivity, PureDP(epsilon, ADD), candidates=2, monotone=monotone, numerical_error=error
    )
    exact = mp.mpf(mechanism.rate) * ((1 if monotone else 2) * mp.mpf(sensitivity) + 4 * mp.mpf(error))
    assert exact <= mechanism.event.epsilon <= epsilon
    assert exact >= epsilon * (1 - mp.mpf(2) ** -51)
    MemoryBudget(PureDP(epsilon, ADD)).check(mechanism.event)
    assert mechanism.event == Pure(mechanism.event.epsilon, ADD)


def test_an_approximate_goal_is_met_by_its_epsilon():
    """T1: epsilon-DP is (epsilon, delta)-DP."""
    pure, approximate = PureDP(1.0, ONE), ApproxDP(1.0, 1e-6, ONE)
    assert (
        ExponentialMechanism.calibrate(1.0, approximate, candidates=2).rate
        == ExponentialMechanism.calibrate(1.0, pure, candidates=2).rate
        == 0.5
    )


@every_selection
def test_the_error_bound_holds_and_is_not_idle(selection):
    """T8's utility, two-sided on one best candidate and 99 just beyond the bound."""
    mechanism = ExponentialMechanism.calibrate(0.1, PureDP(1.0, ONE), candidates=100, selection=selection)
    gap = mechanism.error_bound(0.05)
    assert gap == pytest.approx(0.2 * (np.log(100) + np.log(20)), rel=1e-14)
    coin = mp.exp(-mechanism.rate * mp.mpf(gap))
    if selection == "exponential":
        missed = 99 * coin / (1 + 99 * coin)
    else:  # 99 E[1/(2 + heads of the 98 others)] coin
        heads = [mp.binomial(98, n) * coin**n * (1 - coin) ** (98 - n) for n in range(99)]
        missed = 99 * coin * mp.fsum(p / (2 + n) for n, p in enumerate(heads))
    assert missed <= 0.05
    assert missed >= 0.75 * (0.05 if selection == "exponential" else 0.025)


def test_the_error_bound_for_exact_scores_pays_for_their_error():
    mechanism = ExponentialMechanism.calibrate(1.0, PureDP(1.0, ONE), candidates=1, numerical_error=0.25)
    assert mechanism.error_bound(1.0) == pytest.approx(0.5)


# What is released


def test_the_value_is_an_index_or_a_candidate():
    scores = [1.0, 900.0, 3.0]
    for candidates, expected in ((3, 1), (["a", "b", "c"], "b"), (np.array([0.1, 0.2, 0.4]), 0.2)):
        mechanism = ExponentialMechanism.calibrate(1.0, PureDP(1.0, ADD), candidates=candidates)
        released = mechanism.release(scores)
        assert released.value == expected
        assert released.record.is_private
    assert type(ExponentialMechanism.calibrate(1.0, PureDP(1.0, ADD), candidates=3).release(scores).value) is int


@every_selection
def test_scores_of_any_size_are_compared_exactly_and_silently(selection):
    """A difference that overflows, differences that no double holds, and ties (T10)."""
    for scores, expected in (([1e308, -1e308, 0.0], {0}), ([2.0**53, 0.5, 0.0], {0}), ([5.0, 5.0, -1e300], {0, 1})):
        mechanism = ExponentialMechanism.calibrate(1.0, PureDP(1.0, ADD), candidates=3, selection=selection)
        assert {mechanism.release(scores).value for _ in range(40)} == expected


def test_a_release_carries_its_guarantee_its_event_and_its_facts():
    goal = PureDP(1.0, ADD)
    mechanism = ExponentialMechanism.calibrate(1.0, goal, candidates=5, monotone=True, selection="permute_and_flip")
    with pytest.warns(NotPrivateWarning):
        released = mechanism.release(SCORES, bits=NotPrivateBits(3))
    assert released.guarantee == goal and released.event == Pure(1.0, ADD)
    record = json.loads(released.record.to_json())
    assert record["public"] == {
        "mechanism": "exponential",
        "selection": "permute_and_flip",
        "sensitivity": 1.0,
        "monotone": True,
        "numerical_error": 0.0,
        "candidates": 5,
        "rate": 1.0,
    }
    assert {"T8", "T10", "T13"} <= set(record["theorems"])
    assert record["seeded"] and record["grade"] == "exact" and record["noise"].startswith("permute-and-flip choice")
    assert released.profile.epsilon(0.0) == 1.0


def test_releases_from_a_fixed_seed_stay_what_they_are():
    goal = PureDP(2.0, ADD)
    found = {
        name: drawn(ExponentialMechanism.calibrate(1.0, goal, candidates=5, selection=name), SCORES, 12, 4)
        for name in SELECTIONS
    }
    assert found == {
        "exponential": [2, 1, 1, 2, 1, 1, 1, 1, 0, 1, 2, 2],
        "permute_and_flip": [1, 1, 4, 1, 1, 1, 2, 1, 0, 1, 4, 1],
    }


def test_the_budget_is_charged_once_the_release_exists():
    budget = MemoryBudget(PureDP(1.5, ADD))
    mechanism = ExponentialMechanism.calibrate(1.0, PureDP(1.0, ADD), candidates=5)
    mechanism.release(SCORES, budget)
    (entry,) = budget.entries
    assert entry.state is State.COMMITTED and entry.cost == (("epsilon", 1.0),)


# Refusals


class Unread:
    """Scores that must not be read."""

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("the scores were read")


def test_an_empty_budget_refuses_before_the_scores_are_read(no_bits):
    budget = MemoryBudget(PureDP(0.5, ADD))
    mechanism = ExponentialMechanism.calibrate(1.0, PureDP(1.0, ADD), candidates=5)
    with pytest.raises(BudgetError):
        mechanism.release(Unread(), budget, bits=no_bits)
    assert budget.entries == ()


BAD = {
    "NaN": [1.0, float("nan"), 77.0],
    "infinite": [1.0, float("-inf"), 77.0],
    "too few": [77.0, 1.0],
    "too many": [77.0, 1.0, 2.0, 3.0],
    "empty": [],
    "a number": 77.0,
    "a column": [[77.0], [1.0], [2.0]],
    "strings": ["77", "1", "2"],
    "complex": [77j, 1, 2],
    "ragged": [[77.0], [1.0, 2.0], 3.0],
    "huge integers": [2**60, 77, 1],
    "nothing": None,
}


@pytest.mark.parametrize("scores", BAD.values(), ids=BAD)
def test_bad_scores_are_refused_without_a_word_about_them_a_charge_or_a_draw(scores, no_bits):
    budget = MemoryBudget(PureDP(5.0, ADD))
    mechanism = ExponentialMechanism.calibrate(1.0, PureDP(1.0, ADD), candidates=3)
    with pytest.raises(DataError, match=r"^scores must be") as caught:
        mechanism.release(scores, budget, bits=no_bits)
    assert "77" not in str(caught.value) and caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert budget.entries == ()


@pytest.mark.parametrize("sensitivity", [0.0, -1.0, float("nan"), float("inf"), "1", None, True])
def test_a_sensitivity_that_makes_no_sense_is_refused(sensitivity):
    with pytest.raises(ParameterError, match="sensitivity must be"):
        ExponentialMechanism.calibrate(sensitivity, PureDP(1.0, ADD), candidates=3)


@pytest.mark.parametrize("error", [-1.0, float("nan"), float("inf")])
def test_a_numerical_error_that_makes_no_sense_is_refused(error):
    with pytest.raises(ParameterError, match="numerical_error must be"):
        ExponentialMechanism.calibrate(1.0, PureDP(1.0, ADD), candidates=3, numerical_error=error)


@pytest.mark.parametrize("goal", [PureDP(0.0, ADD), ApproxDP(0.0, 1e-6, ONE), 1.0, None])
def test_a_goal_that_leaves_nothing_to_spend_is_refused(goal):
    with pytest.raises(ParameterError, match="goal must"):
        ExponentialMechanism.calibrate(1.0, goal, candidates=3)


@pytest.mark.parametrize("goal", [ZCDP(0.5, ADD), GDP(1.0, ADD)])
def test_a_goal_that_no_theorem_reaches_is_refused(goal):
    with pytest.raises(ConversionError, match="ExponentialMechanism is calibrated to"):
        ExponentialMechanism.calibrate(1.0, goal, candidates=3)


@pytest.mark.parametrize("candidates", [0, -1, 2.0, True, "abc", [], {1, 2}, None])
def test_candidates_that_make_no_sense_are_refused(candidates):
    with pytest.raises(ParameterError, match="candidates must be"):
        ExponentialMechanism.calibrate(1.0, PureDP(1.0, ADD), candidates=candidates)


def test_extreme_ratios_other_selections_and_probabilities_are_refused():
    goal = PureDP(1.0, ADD)
    with pytest.raises(ParameterError, match="Scale the scores"):
        ExponentialMechanism.calibrate(1e300, goal, candidates=2)
    with pytest.raises(ParameterError, match="selection must be"):
        ExponentialMechanism.calibrate(1.0, goal, candidates=2, selection="gumbel")
    with pytest.raises(ParameterError, match="monotone must be"):
        ExponentialMechanism.calibrate(1.0, goal, candidates=2, monotone="yes")
    with pytest.raises(ParameterError, match="probability must be"):
        ExponentialMechanism.calibrate(1.0, goal, candidates=2).error_bound(0.0)
    with pytest.raises(ParameterError, match="bits must be"):
        ExponentialMechanism.calibrate(1.0, goal, candidates=2).release([1.0, 2.0], bits=7)


def test_monotone_scores_are_accepted_under_add_remove_only():
    """T8: under replace-one scores that grow with every record move both ways."""
    with pytest.raises(AdjacencyError, match="monotone=True requires a goal"):
        ExponentialMechanism.calibrate(1.0, PureDP(1.0, ONE), candidates=3, monotone=True)


# Mutants


def check_span(module):
    """Against the truth for three adversarial moves, without and with errors."""
    for monotone, error, ends in ((False, 0.0, (-1, 1)), (True, 0.0, (0, 1)), (True, 0.25, (-0.5, 1.5))):
        rate = float(1 / module.score_span(1.0, monotone=monotone, numerical_error=error))
        assert largest_loss(exponential_pmf, rate, ends) <= 1


def check_monotone(module):
    with mp.workdps(30):
        try:
            mechanism = module.ExponentialMechanism.calibrate(1.0, PureDP(1.0, ONE), candidates=3, monotone=True)
        except AdjacencyError:
            return
        assert largest_loss(exponential_pmf, mechanism.rate, (-1.0, 1.0)) <= 1


MUTANTS = {
    "the factor 2 dropped": (check_span, "ends = 1 if monotone else 2", "ends = 1"),
    "errors at one end only": (check_span, "4 * Fraction(numerical_error)", "2 * Fraction(numerical_error)"),
    "monotone under replace-one": (check_monotone, "if self.monotone and checked", "if not self.monotone and checked"),
}


@pytest.mark.parametrize(("check", "old", "new"), MUTANTS.values(), ids=MUTANTS)
def test_unsafe_mutants_of_the_exponential_mechanism_die(check, old, new, assert_killed):
    """T8."""
    assert_killed(check, "dperm.mechanisms.exponential", old, new)


def test_the_span_is_exact():
    assert score_span(0.1, monotone=False, numerical_error=0.0) == 2 * score_span(
        0.1, monotone=True, numerical_error=0.0
    )
