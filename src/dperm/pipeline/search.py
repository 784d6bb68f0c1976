# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plan of a search over settings: training runs, noisy scores on other records, and the choice as one release (T93)."""

import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from dperm.accounting import account
from dperm.accounting.best_of import BestOf
from dperm.accounting.dominance import dominates
from dperm.accounting.event import Event
from dperm.accounting.parallel import ParallelParts
from dperm.accounting.runs import NegativeBinomialRuns, Runs
from dperm.checks import shown
from dperm.errors import AssumptionError, ParameterError
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.mechanisms.goal import gaussian_mu
from dperm.mechanisms.run import ReleaseFacts
from dperm.mechanisms.selection import draw_runs
from dperm.noise.bits import Stream
from dperm.noise.choice import integer_below
from dperm.pipeline.holdout import RecordSplit
from dperm.presentation.facts import Fact
from dperm.presentation.spelling import arg
from dperm.privacy import GDP, Adjacency, ApproxDP
from dperm.privacy.rounding import lowered
from dperm.sensitivity.selection import graded_sums_sensitivity

Grades = NDArray[np.int64]
VALIDATION = 0.15
"""Default share of the records on which models are scored."""
MOST_VALIDATION = 0.5
FRACTION = 20
"""Binary digits of a grade. Sums of grades are exact doubles below 2^33 records."""
WHOLE = 2**FRACTION
"""Grade of a perfect prediction."""
COVERAGE = 0.9
"""Probability with which the best of the settings is among the trials (T84)."""
ETA = 2.0
"""Shape of the law of the number of trials: the fewest training runs at nearly the least privacy loss (T84)."""
COMPOSED = 2
"""Largest number of settings that are all trained, by composition (T84)."""
MOST_SETTINGS = 1000
DELTA_SHARE = 0.5
"""Share of delta that all training runs together spend on average."""
SMALLEST, LARGEST = 1e-3, 1.0
"""Range of the epsilon of one training run, as shares of the epsilon of the search."""
GROWTH, PRECISION, ROUGH = 1.5, 2e-3, 1e-2
SHRINK = 0.97
SEARCHING = "search"
"""Name of the only recorded stage."""


@dataclass(frozen=True)
class SearchOutcome:
    """Result of one trial: setting, model, and noisy sums of grades. A failed trial has no model.

    Attributes
    ----------
    place
        Place of the setting.
    model
        Trained model; None if the training or the scoring failed.
    good, bad
        Noisy sums of the grades g and of 1 - g over the validation records, in records.
    """

    place: int
    model: Any
    good: float = 0.0
    bad: float = 0.0

    @property
    def rank(self) -> float:
        """Number by which outcomes are compared; lowest for a failed trial."""
        return -math.inf if self.model is None else self.good - self.bad

    @property
    def grade(self) -> float:
        """Estimate of the mean grade, in [0, 1]; 0.5 if the noise hides the number of validation records."""
        total = self.good + self.bad
        return min(max(self.good / total, 0.0), 1.0) if total > 0 else 0.5


@dataclass(frozen=True, kw_only=True)
class SearchPlan:
    """Plan of a search over a finite list of settings, made from public numbers (T93).

    A secret split gives each record to training or to validation. Every trial trains with one setting on the training
    records, and scores the model with noise on the validation records. If there are two settings, one model is
    trained with each, and the training runs are composed. If there are three or more, there is a secret random number
    of independent trials. Each draws its setting uniformly, and the outcome with the best score is released (T80).

    Attributes
    ----------
    goal
        Guarantee of the whole search.
    settings
        Settings, as parameters by name.
    trial_goal
        Guarantee of each training run by itself.
    trial_events
        Event of a training run with each setting.
    runs
        Law of the number of trials; None if every setting is trained once.
    score
        Gaussian noise of the sums of grades.
    validation
        Share of the records on which models are scored.
    n
        Public number of records; None if it is private.
    """

    goal: ApproxDP
    settings: tuple[Mapping[str, object], ...]
    trial_goal: ApproxDP
    trial_events: tuple[Event, ...]
    runs: Runs | None
    score: GaussianMechanism
    validation: float = VALIDATION
    n: int | None = None

    @classmethod
    def for_goal(
        cls,
        settings: Sequence[Mapping[str, object]],
        goal: ApproxDP,
        *,
        event_of: Callable[[int, ApproxDP], Event],
        runs: Runs | None = None,
        validation: float = VALIDATION,
        n: int | None = None,
    ) -> "SearchPlan":
        """Return the plan in which each training run has the largest epsilon that meets ``goal``.

        Parameters
        ----------
        settings
            At least two different settings.
        goal
            Guarantee of the whole search, with delta > 0.
        event_of
            Function from the place of a setting and the guarantee of a training run to its event.
        runs
            Law of the number of trials; None chooses it by the number of settings.
        validation
            Share of the records on which models are scored.
        n
            Public number of records.

        Raises
        ------
        AssumptionError
            If not even the smallest epsilon of a training run meets ``goal``.
        """
        known = checked_settings(settings)
        if runs is not None and not isinstance(runs, Runs):
            rule = "must be None or a distribution of the number of trials"
            raise ParameterError(
                argument="runs", rule=rule, got=shown(runs), remedy="Choose Runs.geometric(mean=10), for example."
            )
        if runs is None and len(known) > COMPOSED:
            runs = covering_runs(len(known))
        trials = len(known) if runs is None else runs.mean
        delta = lowered(DELTA_SHARE * goal.delta / max(trials, 1.0))

        def events(epsilon: float) -> tuple[Event, ...]:
            share = ApproxDP(epsilon, delta, goal.adjacency)
            return tuple(event_of(place, share) for place in range(len(known)))

        with warnings.catch_warnings(action="ignore"):  # those of the plans that are tried; the last plans warn below
            epsilon = _largest_epsilon(goal, events, lambda found: training_event(found, runs))
        return cls(
            goal=goal,
            settings=known,
            trial_goal=ApproxDP(epsilon, delta, goal.adjacency),
            trial_events=events(epsilon),
            runs=runs,
            score=_score_noise(goal, len(known), runs),
            validation=validation,
            n=n,
        )

    @cached_property
    def learning_event(self) -> Event:
        """Event of everything that reads the training records."""
        return training_event(self.trial_events, self.runs)

    @cached_property
    def event(self) -> Event:
        """Event of the search: a neighbour changes the training records or the validation records only (T71, T93)."""
        scored = self.score.event if self.runs is None else BestOf(self.score.event, self.runs)
        return ParallelParts((self.learning_event, scored))

    @property
    def training_records(self) -> int | None:
        """Number of training records under replace_one, expected number for a declared n; None if n is private."""
        return None if self.n is None else self.training_size(self.n, self.validation)

    @staticmethod
    def training_size(n: int, validation: float) -> int:
        """Return the number of training records among ``n``, at least 1.

        Parameters
        ----------
        n
            Number of records.
        validation
            Share of the records on which models are scored.
        """
        return max(n - validation_records(n, validation), 1)

    @property
    def trials(self) -> float:
        """Mean number of training runs."""
        return len(self.settings) if self.runs is None else self.runs.mean

    @cached_property
    def trial_epsilon(self) -> float:
        """Largest epsilon of one training run by itself, at the delta of the goal."""
        profiles = (account(event, self.goal.adjacency) for event in dict.fromkeys(self.trial_events))
        return max(profile.epsilon(self.goal.delta) for profile in profiles)

    @property
    def why(self) -> tuple[Fact, ...]:
        """Consequences of the search, from public numbers."""
        if self.runs is None:
            law = Fact(
                "search.composition",
                "One model is trained with each of the two settings, and the training runs are composed (T84).",
            )
        else:
            law = Fact(
                "search.runs",
                "A secret number of trials, {mean:.3g} on average, draw their settings independently. The best of the "
                "{settings} settings is drawn with probability {coverage:.2g} (T80, T84).",
                {"mean": self.runs.mean, "settings": len(self.settings), "coverage": self._coverage},
            )
        return (
            Fact(
                "search.price",
                "Each training run by itself has epsilon = {trial:.3g} instead of {whole:g} at delta = {delta:g}: the "
                "difference is the price of the search (T93).",
                {"trial": self.trial_epsilon, "whole": self.goal.epsilon, "delta": self.goal.delta},
            ),
            law,
            Fact(
                "search.score",
                "Models are scored on a share of {share:g} of the records, which no training run reads. The scores "
                "have Gaussian noise of standard deviation {deviation:.3g} records and add nothing to the privacy cost "
                "(T71).",
                {"deviation": self.score.standard_deviation, "share": self.validation},
            ),
            Fact(
                "search.advice",
                "A fit without a search, with all records and the whole epsilon, is often as good: on the Adult data "
                "the default settings were better than every search (T84).",
            ),
        )

    @property
    def _coverage(self) -> float:
        assert self.runs is not None
        return float(self.runs.block(0.0, 1 / len(self.settings)))

    @property
    def public(self) -> dict[str, object]:
        """Public numbers of the search. The number of trials of a run is not among them."""
        return {
            "settings": [dict(setting) for setting in self.settings],
            "runs": None if self.runs is None else self.runs.fields(),
            "mean_trials": self.trials,
            "validation": self.validation,
            "trial_epsilon": self.trial_goal.epsilon,
            "trial_delta": self.trial_goal.delta,
            "score_noise_standard_deviation": self.score.standard_deviation,
        }

    @property
    def facts(self) -> ReleaseFacts:
        """Facts of the release known before data are read."""
        return ReleaseFacts(
            goal=self.goal,
            event=self.event,
            noise=f"training: the noise of its plan; scores: {self.score.law.words}",
            theorems=("T71", "T84", "T93", *(() if self.runs is None else ("T80",)), *self.score.theorems),
            public={SEARCHING: _plain(self.public)},
        )

    def split(self, count: int, stream: Stream) -> RecordSplit:
        """Return training and validation records, chosen by secret randomness that no record influences (T93).

        Under add/remove, each record has its own coin flip (T71). Under replace-one, the number of records is public,
        and so are the sizes of both parts.

        Parameters
        ----------
        count
            Number of records.
        stream
            Random bits, which nobody else reads.
        """
        if self.goal.adjacency is Adjacency.ADD_REMOVE:
            return RecordSplit.by_coins(count, holdout=self.validation, stream=stream)
        return RecordSplit.of_size(count, evaluation=validation_records(count, self.validation), stream=stream)

    def draw(self, train: Callable[[int], Any], grade: Callable[[Any], Grades], stream: Stream) -> SearchOutcome:
        """Return the outcome with the best noisy score. Nothing else about the trials leaves this function.

        Parameters
        ----------
        train
            Function that trains on the training records with the setting at a place. It uses fresh randomness, and its
            event is that of the plan.
        grade
            Function from a model to the grades of the validation records, whole numbers from 0 to `WHOLE`.
        stream
            Random bits.

        Notes
        -----
        **Guarantees.** The law of the outcome depends on the data through the laws of single trials only (T80, T93).
        The number of trials is drawn first. Settings are drawn independently of all outcomes. Ties are broken by
        independent random bits. A trial that raises an error is an outcome with the lowest score.
        """
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):  # a count of warnings would show K
            if self.runs is None:
                return self._best_of_all(train, grade, stream)
            return self._best_of_random(self.runs, train, grade, stream)

    def _best_of_all(
        self, train: Callable[[int], Any], grade: Callable[[Any], Grades], stream: Stream
    ) -> SearchOutcome:
        """Return the best outcome of all settings, whose scores get noise as one vector."""
        found = [_attempt(train, grade, place) for place in range(len(self.settings))]
        sums = np.array([total for _, totals in found for total in totals])
        noisy = self.score.noisy(sums, stream).reshape(-1, 2).tolist()
        best = _Best(stream)
        for place, ((model, _), (good, bad)) in enumerate(zip(found, noisy, strict=True)):
            best.add(SearchOutcome(place, model, good, bad))
        return best.outcome

    def _best_of_random(
        self, runs: Runs, train: Callable[[int], Any], grade: Callable[[Any], Grades], stream: Stream
    ) -> SearchOutcome:
        """Return the best outcome of a random number of independent trials (T80)."""
        best = _Best(stream)
        for _ in range(draw_runs(runs, stream)):
            place = integer_below(len(self.settings), stream)
            model, sums = _attempt(train, grade, place)
            good, bad = self.score.noisy(np.array(sums), stream).tolist()
            best.add(SearchOutcome(place, model, good, bad))
        return best.outcome

    def __str__(self) -> str:
        """Return the guarantee and the consequences, one per line."""
        return "\n".join([f"Plan for {self.goal}:", *(f"- {reason}" for reason in self.why)])


class _Best:
    """Best outcome so far. Ties are broken by random bits: each of several best outcomes has the same chance."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self._ties = stream, 0
        self.outcome = SearchOutcome(0, None)

    def add(self, other: SearchOutcome) -> None:
        """Compare with one more outcome."""
        if not self._ties or other.rank > self.outcome.rank:
            self.outcome, self._ties = other, 1
        elif other.rank == self.outcome.rank:
            self._ties += 1
            if integer_below(self._ties, self._stream) == 0:
                self.outcome = other


def _attempt(
    train: Callable[[int], Any], grade: Callable[[Any], Grades], place: int
) -> tuple[Any, tuple[float, float]]:
    """Return the model with its exact sums of grades, or no model: an error is an outcome, not a message."""
    try:
        model = train(place)
        grades = np.clip(np.asarray(grade(model), dtype=np.int64), 0, WHOLE)
        good, records = int(grades.sum()), len(grades)
        return model, (good / WHOLE, (records * WHOLE - good) / WHOLE)
    except EventMismatchError:
        raise
    except Exception:  # whether it is raised may depend on the data
        return None, (0.0, 0.0)


class EventMismatchError(RuntimeError):
    """Training whose event is not that of the plan: a bug, found from public numbers."""


def checked_settings(settings: Sequence[Mapping[str, object]]) -> tuple[Mapping[str, object], ...]:
    """Return at least two different settings."""
    known = tuple(dict(setting) for setting in settings)
    if not COMPOSED <= len(known) <= MOST_SETTINGS:
        raise ParameterError(
            argument="settings",
            rule=f"must give from {COMPOSED} to {MOST_SETTINGS} settings",
            got=str(len(known)),
            remedy="A single setting needs no search: fit the estimator with it.",
        )
    if any(known[place] in known[:place] for place in range(1, len(known))):
        raise ParameterError(argument="settings", rule="must all differ")
    return known


@lru_cache(maxsize=64)
def covering_runs(settings: int) -> Runs:
    """Return the law with which one of several equally likely settings is among the trials with `COVERAGE` (T84).

    A setting of probability 1/J is missed by all trials with probability f(1 - 1/J), with f the generating function.
    """

    def missing(log_gamma: float) -> float:
        return float(NegativeBinomialRuns(ETA, math.exp(log_gamma)).block(0.0, 1 / settings)) - COVERAGE

    found = math.exp(brentq(missing, math.log(1e-5), -1e-6, xtol=1e-13))
    return NegativeBinomialRuns(ETA, found * (1 - 1e-9))


def training_event(events: Sequence[Event], runs: Runs | None) -> Event:
    """Return the event of all training runs: their composition, or the best of trials with random settings (T93).

    A trial with a random setting is a mixture whose outcome names the setting. Its profile is at most the largest
    profile of the settings; `ParallelParts` has this profile. An event that another one dominates is left out.
    """
    if runs is None:
        return reduce(add, events)
    largest = undominated(events)
    return BestOf(largest[0] if len(largest) == 1 else ParallelParts(largest), runs)


def undominated(events: Sequence[Event]) -> tuple[Event, ...]:
    """Return the events that no other one is known to dominate; of equal events, one."""
    largest: list[Event] = []
    for event in dict.fromkeys(events):
        if not any(dominates(other, event) for other in largest):
            largest = [*(other for other in largest if not dominates(event, other)), event]
    return tuple(largest)


def validation_records(n: int, share: float) -> int:
    """Return the number of validation records among a public number of records."""
    return math.floor(n * share)


def _score_noise(goal: ApproxDP, settings: int, runs: Runs | None) -> GaussianMechanism:
    """Return the noise of the scores, which spend the whole goal on the validation records."""
    if runs is None:
        sensitivity = graded_sums_sensitivity(settings, goal.adjacency)
        return GaussianMechanism.calibrate(sensitivity, goal, dim=2 * settings)
    return GaussianMechanism.calibrate(
        graded_sums_sensitivity(1, goal.adjacency), GDP(_largest_mu(goal, runs), goal.adjacency), dim=2
    )


@lru_cache(maxsize=64)
def _largest_mu(goal: ApproxDP, runs: Runs) -> float:
    """Return the largest mu of Gaussian scores, of all trials together, that meets ``goal`` (T80)."""

    def excess(mu: float) -> float:
        mechanism = GaussianMechanism.calibrate(
            graded_sums_sensitivity(1, goal.adjacency), GDP(mu, goal.adjacency), dim=2
        )
        return _log_excess(goal, BestOf(mechanism.event, runs))

    return _largest(excess, gaussian_mu(goal) / 2, gaussian_mu(goal))


def _largest_epsilon(
    goal: ApproxDP, events: Callable[[float], tuple[Event, ...]], whole: Callable[[Sequence[Event]], Event]
) -> float:
    """Return the largest epsilon of one training run for which all runs together meet ``goal``.

    The search uses the setting with the largest loss alone. The result holds for all settings together.
    """
    start = goal.epsilon / 3
    first = events(start)
    costs = {event: _log_excess(goal, whole([event] * len(first))) for event in undominated(first)}
    worst = first.index(max(costs, key=lambda event: costs[event]))
    same = len(set(first)) == 1

    def excess(epsilon: float) -> float:
        found = events(epsilon)
        return _log_excess(goal, whole(found if same else [found[worst]] * len(found)))

    epsilon = _largest(excess, start, LARGEST * goal.epsilon)

    def excess_of_all(epsilon: float) -> float:
        return _log_excess(goal, whole(events(epsilon)))

    if same or excess_of_all(epsilon) <= 0:
        return epsilon
    return _largest(excess_of_all, SHRINK * epsilon, epsilon, precision=ROUGH)


def _log_excess(goal: ApproxDP, event: Event) -> float:
    """Return the logarithm of delta of an event at the epsilon of the goal, relative to that of the goal."""
    delta = account(event, goal.adjacency).delta(goal.epsilon)
    return math.log(max(delta, 1e-300) / goal.delta)


def _largest(excess: Callable[[float], float], start: float, most: float, *, precision: float = PRECISION) -> float:
    """Return nearly the largest number with ``excess`` at most 0, one at which it was computed."""
    known: dict[float, float] = {}

    def at(number: float) -> float:
        if number not in known:
            known[number] = excess(number)
        return known[number]

    low = high = start
    while at(low) > 0:
        high, low = low, low / GROWTH
        if low < SMALLEST * start:
            raise _no_budget()
    while high < most and at(high) <= 0:
        low, high = high, min(high * GROWTH, most)
    if at(high) > 0:
        brentq(at, low, high, xtol=precision * low, maxiter=30)
    return max(number for number, found in known.items() if found <= 0)


def _no_budget() -> AssumptionError:
    return AssumptionError(
        "the search leaves no budget for a training run: many settings share one guarantee.",
        remedy=f"Search over fewer settings, or give a larger {arg('epsilon')} or {arg('delta')}.",
    )


def _plain(public: Mapping[str, object]) -> Any:
    """Return public numbers as JSON-serialisable data; text replaces a setting that JSON cannot hold."""
    return json.loads(json.dumps(public, default=repr))
