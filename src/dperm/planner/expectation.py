# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What accuracy to expect: the estimators themselves, tried on made-up tables."""

import math
from dataclasses import asdict, dataclass
from statistics import fmean, stdev

from scipy.special import stdtrit

from dperm.planner.models import accuracy, checked_goal, checked_method, plan_of
from dperm.planner.plain import plain_accuracies, signal_of
from dperm.planner.rows import draw
from dperm.planner.shape import Shape
from dperm.planner.signal import Signal
from dperm.planner.sizes import Goal, is_rough, repeats_for, require_trials, scaled_goal, simulated_rows
from dperm.planner.trials import Trials

LEVEL = 0.95


@dataclass(frozen=True)
class Expected:
    """Accuracy on rows that were not learnt from, as trials on made-up tables had it: no guarantee for other tables.

    Attributes
    ----------
    method, used
        What was asked for, and what the plan took.
    mean
        Over tables and noise.
    low, high
        The ends of a 95 % interval for that mean, by Student's law. That real tables differ from made-up ones is not
        in it.
    spread
        Standard deviation of a single fit.
    without_privacy
        Mean of a model without noise on the same tables.
    majority
        What guessing the larger class reaches.
    repeats
        Trials that were made.
    simulated_at
        Rows of the tables; fewer than asked for where trials would take long, with an epsilon that makes up for it.
    seed
        Of tables and noise.
    rough
        Whether those tables have so few rows for each column that the expectation is too low (`dperm.planner.sizes`).
    """

    method: str
    used: str
    mean: float
    low: float
    high: float
    spread: float
    without_privacy: float
    majority: float
    repeats: int
    simulated_at: int
    seed: int
    rough: bool = False

    @property
    def loss(self) -> float:
        """What privacy costs."""
        return self.without_privacy - self.mean

    def as_dict(self) -> dict[str, object]:
        """Plain data."""
        return {**asdict(self), "loss": self.loss}


def expected_accuracy(
    shape: Shape, goal: Goal, *, method: str = "auto", trials: Trials | None = None, signal: Signal | None = None
) -> Expected:
    """The accuracy that `PrivateLogisticRegression` with its defaults has on made-up tables of this shape.

    The noise is that of the estimator, exact, but follows from a seed: NOT PRIVATE, and of nobody's data.

    Parameters
    ----------
    shape, goal
        Public numbers, and the guarantee.
    method
        As the estimator takes it, by name.
    trials
        How many, and from which seed.
    signal
        How easy the classes are; None takes that of ``shape``. Given, it is the same for shapes of different n.

    Raises
    ------
    AssumptionError, AdjacencyError, ConversionError
        If the method cannot give this guarantee.
    ParameterError
        If the shape is too wide and too long for trials.

    Examples
    --------
    >>> from dperm import ApproxDP
    >>> from dperm.planner import Shape, Trials, expected_accuracy
    >>> found = expected_accuracy(Shape(5000, 5), ApproxDP(1.0, 1e-6, "replace_one"), trials=Trials(4))
    >>> found.used, found.majority < found.mean < found.without_privacy < 0.8
    ('objective', True)
    """
    goal, method, trials = checked_goal(goal), checked_method(method), trials or Trials()
    require_trials(shape)
    used = plan_of(shape, goal, method).method
    signal = signal_of(shape) if signal is None else signal
    size = simulated_rows(shape, used)
    scores = _scores(size, scaled_goal(goal, shape.n / size.n), method=method, used=used, trials=trials, signal=signal)
    plain = plain_accuracies(size, signal, trials.seed, min(len(scores), repeats_for(size, "plain", trials)))
    low, high = _interval(scores)
    mean, majority = fmean(scores), shape.majority
    return Expected(
        method=method,
        used=used,
        mean=mean,
        low=low,
        high=high,
        spread=stdev(scores),
        without_privacy=fmean(plain),
        majority=majority,
        repeats=len(scores),
        simulated_at=size.n,
        seed=trials.seed,
        rough=is_rough(shape, size.n),
    )


def _scores(size: Shape, goal: Goal, *, method: str, used: str, trials: Trials, signal: Signal) -> list[float]:
    repeats, scores = repeats_for(size, used, trials), []
    for place in range(repeats):
        sample = draw(size, signal, trials.number("table", place))
        scores.append(accuracy(sample, size, goal, method=method, seed=trials.number("noise", place)))
        trials.progress((place + 1) / repeats)
    return scores


def _interval(scores: list[float]) -> tuple[float, float]:
    half = float(stdtrit(len(scores) - 1, (1 + LEVEL) / 2)) * stdev(scores) / math.sqrt(len(scores))
    mean = fmean(scores)
    return max(0.0, mean - half), min(1.0, mean + half)
