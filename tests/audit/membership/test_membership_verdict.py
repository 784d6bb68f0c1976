# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""An attack contradicts a guarantee only where a paid-for bound does."""

import numpy as np
import pytest

from dperm import GDP, AdjacencyError, ApproxDP, AssumptionError, ParameterError, PureDP
from dperm.audit.membership import Roc
from dperm.audit.membership.verdict import RATES

CLAIM = ApproxDP(1.0, 1e-5, "add_remove")


def laplace_roc(epsilon: float, size: int, rng: np.random.Generator, *, ties: bool = False) -> Roc:
    """Of the Laplace mechanism, whose epsilon is known."""
    bits = rng.random(size) < 0.5
    scores = bits + rng.laplace(0, 1 / epsilon, size)
    return Roc.of(np.round(scores) if ties else scores, bits, trials="independent")


def coin_roc(leak: float, size: int, rng: np.random.Generator) -> Roc:
    """One run of randomised response: each coin is published with epsilon = ``leak``."""
    bits = rng.random(size) < 0.5
    told = bits ^ (rng.random(size) < 1 / (1 + np.exp(leak)))
    return Roc.of(told + 0.01 * rng.random(size), bits, trials="one_run")


@pytest.mark.parametrize("ties", [False, True], ids=["continuous", "tied"])
def test_a_true_claim_is_contradicted_as_seldom_as_promised(ties):
    rng = np.random.default_rng(5)
    alarms = sum(
        laplace_roc(1.0, 300, rng, ties=ties).exceeds(PureDP(1.0, "add_remove"), confidence=0.8) for _ in range(300)
    )
    assert alarms <= 0.2 * 300


def test_a_curve_above_the_ceiling_alone_is_no_violation():
    rng, crossed = np.random.default_rng(6), 0
    for _ in range(20):
        roc = laplace_roc(1.0, 200, rng)
        crossed += any(
            roc.tpr_at(x) > roc.ceilings(PureDP(1.0, "add_remove"), [x])[f"TPR at FPR {100 * x:g} %"] for x in RATES
        )
        assert not roc.exceeds(PureDP(1.0, "add_remove"))
    assert crossed > 3


def test_a_false_claim_is_contradicted_by_independent_trials():
    found = laplace_roc(3.0, 4000, np.random.default_rng(7)).finding(PureDP(1.0, "add_remove"))
    assert found.violation and 1.5 < found.bound.epsilon <= 3.0
    assert set(found.bounds) == {f"TPR at FPR {100 * rate:g} %" for rate in RATES}
    assert {bound.confidence for bound in found.bounds.values()} == {1 - 0.05 / len(RATES)}
    assert found.as_dict()["trials"] == "independent"


def test_one_run_with_independent_coins_contradicts_a_false_claim_and_not_a_true_one():
    rng = np.random.default_rng(8)
    assert coin_roc(3.0, 2000, rng).exceeds(CLAIM)
    assert (
        sum(coin_roc(1.0, 400, rng).exceeds(PureDP(1.0, "add_remove"), confidence=0.8) for _ in range(200)) <= 0.2 * 200
    )


def test_a_model_without_a_leak_shows_nothing():
    rng = np.random.default_rng(9)
    roc = Roc.of(rng.normal(size=2000), rng.random(2000) < 0.5, trials="one_run")
    assert roc.finding(PureDP(0.1, "add_remove")).bound.epsilon < 0.1


def test_dependent_scores_give_no_verdict():
    roc = Roc.of(np.arange(40.0), [True, False] * 20)
    with pytest.raises(AssumptionError, match=r'are dependent.*trials="one_run"'):
        roc.exceeds(CLAIM)


def test_coins_that_are_none_are_refused():
    halves = np.repeat([True, False], 100)
    with pytest.raises(AssumptionError, match="independent coins"):
        Roc.of(np.arange(200.0), halves, trials="one_run").exceeds(CLAIM)


def test_a_guarantee_without_a_delta_needs_one():
    roc = laplace_roc(1.0, 300, np.random.default_rng(10))
    with pytest.raises(ParameterError, match="delta is required: a GDP guarantee"):
        roc.exceeds(GDP(1.0, "add_remove"))
    assert not roc.exceeds(GDP(5.0, "add_remove"), delta=1e-5)


@pytest.mark.parametrize("trials", ["one_run", "independent"])
def test_a_record_that_is_in_or_out_says_nothing_of_one_that_is_replaced(trials):
    rng = np.random.default_rng(11)
    scores, bits = rng.normal(size=300), rng.random(300) < 0.5
    replaced = PureDP(1.0, "replace_one")
    for judge in (Roc.finding, Roc.exceeds, Roc.ceilings):
        with pytest.raises(AdjacencyError, match='coins under adjacency="add_remove", but the guarantee holds under'):
            judge(Roc.of(scores, bits, trials=trials), replaced)
        with pytest.raises(AdjacencyError):
            judge(Roc(scores, bits, Roc.of(scores, bits, trials=trials).trials), replaced)
        with pytest.raises(AdjacencyError):
            judge(Roc.of(scores, bits, trials=trials, adjacency="replace_one"), PureDP(1.0, "add_remove"))
    assert not Roc.of(scores, bits, trials=trials, adjacency="replace_one").exceeds(replaced)
    assert Roc.of(scores, bits).ceilings(replaced), "nobody knows the neighbours of dependent trials"


@pytest.mark.parametrize("claimed", ["abc", None, 1.0], ids=str)
def test_what_is_no_claim_is_refused(claimed):
    roc = laplace_roc(1.0, 300, np.random.default_rng(12))
    with pytest.raises(ParameterError, match="claimed must be the guarantee"):
        roc.finding(claimed, delta=1e-5)
