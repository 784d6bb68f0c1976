# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Searches over settings: event, law of the released outcome, and what a failed trial and a tie do (T84, T93)."""

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest
from finite_selection import FinitePair, generating_function, largest_delta
from scipy.stats import chi2

from dperm import ApproxDP
from dperm.accounting import Approximate, BestOf, Gaussian, ParallelParts, Runs, account
from dperm.errors import AssumptionError, ParameterError
from dperm.noise import NotPrivateBits
from dperm.pipeline import SearchPlan
from dperm.pipeline import search as module
from dperm.pipeline.search import WHOLE, covering_runs, training_event
from dperm.privacy import Adjacency
from dperm.sensitivity import graded_sums_sensitivity

ADD, REPLACE = "add_remove", "replace_one"


def gaussian_training(place, share):
    """A training with Gaussian noise that meets its share, with a small difference between settings."""
    return Gaussian((1 + place / 100) * math.sqrt(2 * math.log(1.25 / share.delta)) / share.epsilon)


def settings(count):
    return [{"clip": (place + 1) / 10} for place in range(count)]


@dataclass(frozen=True)
class NoNoise:
    """Scores as they are, so that the law of the released outcome can be enumerated."""

    def noisy(self, sums, stream):
        return sums


def plan_of(count, runs=None, adjacency=ADD, score=None):
    found = SearchPlan.for_goal(
        settings(count), ApproxDP(1.0, 1e-5, adjacency), event_of=lambda place, share: Gaussian(20.0), runs=runs
    )
    return found if score is None else replace(found, score=score)


# --- the event ---


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_the_event_of_a_search_meets_its_goal_and_nearly_spends_it(adjacency):
    goal = ApproxDP(1.0, 1e-5, adjacency)
    for count in (2, 3):
        plan = SearchPlan.for_goal(settings(count), goal, event_of=gaussian_training)
        trainings, scores = plan.event.events
        for part in (trainings, scores):
            assert 0.97 < account(part, adjacency).epsilon(1e-5) <= 1.0
        assert account(plan.event, adjacency).delta(1.0) <= 1e-5
        if count == 2:
            assert trainings == plan.trial_events[0] + plan.trial_events[1]
            assert scores == plan.score.event
        else:
            assert trainings == BestOf(plan.trial_events[0], plan.runs)  # it dominates the others
            assert scores == BestOf(plan.score.event, plan.runs)


def test_noise_of_the_scores_agrees_with_the_table_of_choices():
    """golden/pipeline.json, choice_table: the largest mu of one trial at (1, 1e-5), and the mean number of trials."""
    for count, mu, mean in ((3, 0.16756272560641025, 11.555372596065872), (5, 0.15180505208691059, 20.72332572669797)):
        plan = plan_of(count)
        assert covering_runs(count).mean == pytest.approx(mean, rel=1e-8)
        assert 0.998 * mu < 1 / plan.score.standard_deviation < 1.01 * mu
        assert plan.runs.block(0.0, 1 / count) == pytest.approx(0.9, abs=1e-8)
    both = plan_of(2)
    assert math.sqrt(2) / both.score.standard_deviation / math.sqrt(2) == pytest.approx(0.189540734544478, rel=1e-6)


def test_dominated_events_of_settings_are_left_out():
    runs = Runs.geometric(mean=5)
    assert training_event([Gaussian(3.0)] * 4, runs) == BestOf(Gaussian(3.0), runs)
    assert training_event([Gaussian(4.0), Gaussian(3.0), Gaussian(5.0)], runs) == BestOf(Gaussian(3.0), runs)
    crossing = (Gaussian(3.0), Approximate(0.5, 1e-6, ADD))
    assert training_event([*crossing, Gaussian(4.0)], runs) == BestOf(ParallelParts(crossing), runs)
    assert training_event([*crossing, Gaussian(4.0)], None) == Gaussian(3.0) + crossing[1] + Gaussian(4.0)


def test_a_mixture_of_settings_is_below_the_bound_and_above_that_of_one_trial():
    """T93 by enumeration: three settings with two models each, and every order of the six outcomes."""
    rng = np.random.default_rng(5)
    runs, epsilons = Runs.negative_binomial(eta=2.0, gamma=0.2), (0.0, 0.2, 0.4, 0.8)
    for sizes in (np.full(3, 0.4), rng.uniform(0.1, 0.6, 3), rng.uniform(0.1, 0.6, 3)):
        ups = [1 / (1 + math.exp(-size)) for size in sizes]
        p, q = (np.ravel([(u / 3, (1 - u) / 3) for u in law]) for law in (ups, [1 - u for u in ups]))
        truth = largest_delta(p, q, runs, epsilons)
        trials = tuple(FinitePair((u, 1 - u), (1 - u, u)) for u in ups)
        bounds, alone = (
            [account(event, REPLACE).delta(epsilon) for epsilon in epsilons]
            for event in (training_event(trials, runs), ParallelParts(trials))
        )
        assert (truth <= np.array(bounds) * (1 + 1e-9)).all()
        assert (truth > np.array(alone)).any()
        assert sum(abs(p - q)) / 2 <= alone[0] * (1 + 1e-9)  # a trial that names its setting


def test_a_changed_part_costs_the_selection_of_that_part_alone():
    """T93: trials with a model from one part and a score from the other; a neighbour changes one of both parts."""
    runs, epsilons = Runs.geometric(mean=4), np.linspace(0.0, 1.2, 7)
    better, worse = (0.6, 0.4), (0.4, 0.6)

    def law(models, scores):
        return np.outer(models, scores).ravel()

    one = BestOf(FinitePair(better, worse), runs)
    bounds = np.array([account(ParallelParts((one, one)), REPLACE).delta(epsilon) for epsilon in epsilons])
    here = law(better, better)
    for there in (law(worse, better), law(better, worse)):
        assert (largest_delta(here, there, runs, epsilons) <= bounds * (1 + 1e-9)).all()
    both = largest_delta(here, law(worse, worse), runs, epsilons)
    assert (both > bounds * 1.01).any()  # a split that lets a record change both parts is not covered


def test_sensitivity_of_the_scores_is_attained_by_the_worst_records_and_by_no_others():
    grades = np.linspace(0.0, 1.0, 21)
    for models in (1, 2):
        for adjacency in (Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE):
            found = graded_sums_sensitivity(models, adjacency)
            vectors = np.stack([grades, 1 - grades], axis=1)
            moves = vectors if adjacency is Adjacency.ADD_REMOVE else (vectors[:, None] - vectors[None]).reshape(-1, 2)
            worst = math.sqrt(models) * np.linalg.norm(moves, axis=1).max()
            assert worst <= found <= worst * (1 + 1e-12)


# --- the law of the released outcome ---


def law_of_the_winner(runs, ranks):
    """P(place): each trial draws a place uniformly; the best rank wins, equal ranks share evenly."""
    ranks, count = np.array(ranks), len(ranks)
    found = np.zeros(count)
    for rank in set(ranks.tolist()):
        tied = ranks == rank
        up = generating_function(runs, (ranks <= rank).mean()) - generating_function(runs, (ranks < rank).mean())
        found[tied] = up / tied.sum()
    return found


@pytest.mark.parametrize("broken", [False, True])
def test_the_winner_has_the_law_of_the_best_of_independent_trials(broken):
    """A trial that raises is an outcome with the lowest score; equal scores share evenly."""
    runs, ranks = Runs.negative_binomial(eta=2.0, gamma=0.45), [1, 3, 3, 2]
    plan, stream, draws = plan_of(4, runs=runs, score=NoNoise()), NotPrivateBits(11).stream(), 3000

    def train(place):
        if broken and place == 1:
            raise ValueError(place)
        return place

    def grade(model):
        return np.full(4, ranks[model] * WHOLE // 4)

    counts = np.zeros(4)
    for _ in range(draws):
        outcome = plan.draw(train, grade, stream)
        counts[outcome.place] += 1
        assert (outcome.model is None) == (broken and outcome.place == 1)
    expected = draws * law_of_the_winner(runs, [1, 0, 3, 2] if broken else ranks)
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-6, 3)


def test_two_settings_are_both_trained_and_ties_are_random():
    plan, stream, trained, winners = plan_of(2, score=NoNoise()), NotPrivateBits(3).stream(), [], []
    for _ in range(200):
        outcome = plan.draw(lambda place: trained.append(place) or place, lambda model: np.full(3, WHOLE), stream)
        winners.append(outcome.place)
    assert trained == [0, 1] * 200
    assert 60 < sum(winners) < 140
    assert plan.draw(lambda place: place, lambda model: np.full(3, model * WHOLE), stream).place == 1


def test_no_warning_and_no_attribute_tells_the_number_of_trials(monkeypatch):
    monkeypatch.setattr(module, "draw_runs", lambda runs, stream: 137)
    plan = plan_of(3, runs=Runs.geometric(mean=5), score=NoNoise())

    def train(place):
        warnings.warn(f"trial with {place}", UserWarning, stacklevel=1)
        return place

    before = set(vars(plan))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcome = plan.draw(train, lambda model: np.full(5, WHOLE), NotPrivateBits(1).stream())
    assert not caught
    assert set(vars(plan)) == before
    assert "137" not in repr([*vars(plan).values(), *vars(outcome).values()])


def test_only_failed_trials_release_no_model():
    plan = plan_of(3, runs=Runs.geometric(mean=2))
    outcome = plan.draw(lambda place: 1 / 0, lambda model: np.zeros(2), NotPrivateBits(1).stream())
    assert outcome.model is None
    assert outcome.rank == -math.inf


# --- splits, plans, errors ---


def test_a_split_of_a_public_number_of_records_has_public_sizes():
    plan = replace(plan_of(2, adjacency=REPLACE), n=1000)
    one, other = (plan.split(1000, NotPrivateBits(seed).stream()) for seed in (1, 2))
    for split in (one, other):
        assert (len(split.training), len(split.evaluation)) == (850, 150) == (plan.training_records, 150)
        assert sorted([*split.training, *split.evaluation]) == list(range(1000))
    assert set(one.evaluation) != set(other.evaluation)
    coins = plan_of(2).split(1000, NotPrivateBits(1).stream())
    assert len(coins.evaluation) != 150  # one coin for each record


def test_the_plan_tells_the_price_of_the_choice():
    plan = plan_of(3, runs=Runs.geometric(mean=5))
    text = str(plan)
    assert f"epsilon = {plan.trial_epsilon:.3g} instead of 1" in text
    assert "A fit without a search" in text


@pytest.mark.parametrize("wrong", [[{"clip": 0.5}], [{"clip": 0.5}, {"clip": 0.5}], [{}] * 1001])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ParameterError, match="settings"):
        SearchPlan.for_goal(wrong, ApproxDP(1.0, 1e-5, ADD), event_of=gaussian_training)


def test_a_search_without_room_for_a_training_is_refused():
    with pytest.raises(AssumptionError, match="no budget for a training"):
        SearchPlan.for_goal(settings(2), ApproxDP(1.0, 1e-5, ADD), event_of=lambda place, share: Gaussian(0.5))
