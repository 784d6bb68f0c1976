# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Expected accuracy of the estimators: trials of their own code on simulated tables."""

import math
import warnings
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from scipy.special import stdtrit

from dperm.checks import shown
from dperm.errors import DpermWarning, ParameterError
from dperm.planner.shape import Shape
from dperm.planner.simulated_data import Signal, SimulatedTable, draw, plain_accuracies, signal_of
from dperm.planner.trials import Goal, Trials, is_rough, repeats_for, require_trials, scaled_goal, simulated_rows
from dperm.privacy import Adjacency, ApproxDP, PureDP

if TYPE_CHECKING:
    from dperm.methods.plan import Plan

TRIED = ("auto", "objective", "output", "gradient", "sgd", "bolt_on", "posterior")
"""Methods whose trials end in a few seconds."""
LEVEL = 0.95


def checked_method(method: object) -> str:
    """Return the name of a method that can be tried.

    Raises
    ------
    ParameterError
        If the method is unknown.
    """
    if method not in TRIED:
        raise ParameterError(argument="method", rule=f"must be one of {', '.join(TRIED)}", got=shown(method))
    return str(method)


def checked_goal(goal: object) -> Goal:
    """Return a guarantee with an epsilon in (0, 500] that an estimator accepts.

    Raises
    ------
    ParameterError
        For any other value.
    """
    if not isinstance(goal, PureDP | ApproxDP) or not 0 < goal.epsilon <= 500:
        raise ParameterError(
            argument="goal",
            rule="must be an ApproxDP or PureDP guarantee with an epsilon in (0, 500]",
            got=shown(goal),
            remedy='Choose ApproxDP(1.0, 1e-6, "replace_one"), for example.',
        )
    return goal


def estimator(shape: Shape, goal: Goal, method: str, seed: int | None = None) -> Any:
    """Return logistic regression with its defaults.

    Under add_remove the number of rows is private. The shape's n is public, and is declared to the estimator.
    """
    from dperm.sklearn import PrivateLogisticRegression

    return PrivateLogisticRegression(
        epsilon=goal.epsilon,
        delta=goal.delta if isinstance(goal, ApproxDP) else 0.0,
        adjacency=goal.adjacency,
        method=method,
        feature_norm=shape.feature_norm,
        classes=(0, 1),
        n=_declared_rows(shape, goal),
        random_state=seed,
    )


def _declared_rows(shape: Shape, goal: Goal) -> int | None:
    """Return ``n`` of the estimator: under replace_one a fit takes the number of rows from the data."""
    return shape.n if goal.adjacency is Adjacency.ADD_REMOVE else None


def plan_of(shape: Shape, goal: Goal, method: str) -> "Plan":
    """Return the plan of the estimator, as its fit runs it.

    Raises
    ------
    AssumptionError, AdjacencyError, ConversionError
        If the method cannot give this guarantee.
    """
    model = estimator(shape, goal, method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DpermWarning)
        plan: Plan = model.plan(n=shape.n, dim=shape.dim)
    return plan


def noise_of(plan: "Plan") -> float | None:
    """Return the standard deviation of the noise in each coordinate; None for a plan without noise."""
    numbers = plan.numbers
    for place, name in (("step_noise", "noise_scale"), ("output_noise", "noise_standard_deviation")):
        found = numbers.get(place)
        if isinstance(found, dict) and "objective_noise_standard_deviation" not in numbers:
            return float(found[name])
    deviation = numbers.get("objective_noise_standard_deviation")
    return None if deviation is None else float(str(deviation))


def accuracy(table: SimulatedTable, shape: Shape, goal: Goal, *, method: str, seed: int) -> float:
    """Return the accuracy of one fit with seeded noise to a simulated table. NOT PRIVATE."""
    model = estimator(shape, goal, method, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DpermWarning)
        model.fit(table.X, table.y)
    return table.accuracy(model.predict(table.X_test))


@dataclass(frozen=True)
class ExpectedAccuracy:
    """Accuracy on test records, estimated by trials on simulated tables.

    The estimate gives no guarantee for other tables.

    Attributes
    ----------
    method, used
        Requested method, and the method that the plan chose.
    mean
        Mean accuracy over tables and noise.
    low, high
        Ends of a 95 % confidence interval for the mean, from Student's t distribution. The interval does not account
        for the difference between real and simulated tables.
    spread
        Standard deviation of the accuracy of a single fit.
    without_privacy
        Mean accuracy of a model without noise on the same tables.
    majority
        Accuracy of always guessing the larger class.
    repeats
        Number of trials.
    simulated_at
        Number of records of each simulated table. Large tables are represented by smaller ones with a larger epsilon.
    seed
        Seed of the tables and of the noise.
    rough
        Whether the tables have so few records per column that the estimate of the accuracy is too low
        (`dperm.planner.trials`).
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
        """Cost of privacy: the accuracy without privacy minus the mean accuracy with privacy."""
        return self.without_privacy - self.mean

    def as_dict(self) -> dict[str, object]:
        """Return all attributes and the loss as plain data."""
        return {**asdict(self), "loss": self.loss}


def expected_accuracy(
    shape: Shape, goal: Goal, *, method: str = "auto", trials: Trials | None = None, signal: Signal | None = None
) -> ExpectedAccuracy:
    """Return the expected accuracy of `PrivateLogisticRegression` with default settings, on simulated tables.

    The tables have the given shape. The noise has the same distribution as in a private fit, but it is drawn from a
    seed. The trials are therefore NOT PRIVATE, but the simulated tables contain no real records.

    Parameters
    ----------
    shape, goal
        Public description of the table, and the privacy guarantee.
    method
        Method of the estimator: "auto", "objective", "output", "gradient", "sgd", "bolt_on" or "posterior".
    trials
        Number and seed of the trials; None for ten trials with seed 0.
    signal
        Distribution of the log odds of the classes (`dperm.planner.simulated_data.Signal`), which determines how well
        the classes can be separated. None computes the signal from ``shape``. Pass the same signal to compare shapes
        with different n.

    Returns
    -------
    ExpectedAccuracy
        Mean accuracy with its confidence interval, and the accuracy without privacy.

    Raises
    ------
    AssumptionError, AdjacencyError, ConversionError
        If the method cannot give this guarantee.
    ParameterError
        If the method is unknown, the epsilon of ``goal`` is not in (0, 500], or the shape is too large for trials.

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
    return ExpectedAccuracy(
        method=method,
        used=used,
        mean=fmean(scores),
        low=low,
        high=high,
        spread=stdev(scores),
        without_privacy=fmean(plain),
        majority=shape.majority,
        repeats=len(scores),
        simulated_at=size.n,
        seed=trials.seed,
        rough=is_rough(shape, size.n),
    )


def _scores(size: Shape, goal: Goal, *, method: str, used: str, trials: Trials, signal: Signal) -> list[float]:
    repeats, scores = repeats_for(size, used, trials), []
    for place in range(repeats):
        table = draw(size, signal, trials.number("table", place))
        scores.append(accuracy(table, size, goal, method=method, seed=trials.number("noise", place)))
        trials.progress((place + 1) / repeats)
    return scores


def _interval(scores: list[float]) -> tuple[float, float]:
    half = float(stdtrit(len(scores) - 1, (1 + LEVEL) / 2)) * stdev(scores) / math.sqrt(len(scores))
    mean = fmean(scores)
    return max(0.0, mean - half), min(1.0, mean + half)
