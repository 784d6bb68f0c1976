# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Expected accuracy as a function of the number of records and of epsilon."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from dperm.errors import ParameterError
from dperm.planner.expectation import ExpectedAccuracy, checked_goal, expected_accuracy, plan_of
from dperm.planner.shape import MOST_ROWS, Shape
from dperm.planner.simulated_data import signal_of
from dperm.planner.trials import Goal, Trials, with_epsilon
from dperm.presentation.phrases import count_of
from dperm.report.pictures import Curve, Picture

Number = TypeVar("Number", int, float)
_FACTORS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)
_FEWEST = 20
BANDS = "95 % confidence intervals of the means"


@dataclass(frozen=True)
class AccuracyPoint:
    """Expected accuracy at one number of records, or at one epsilon.

    Attributes
    ----------
    at
        Number of records, or epsilon.
    expected
        Expected accuracy at this number of records, or at this epsilon.
    """

    at: float
    expected: ExpectedAccuracy


@dataclass(frozen=True)
class Curves:
    """Expected accuracy as a function of the number of records, and as a function of epsilon.

    Attributes
    ----------
    shape, goal
        Public description of the table, and the privacy guarantee.
    points_n
        Expected accuracy at several numbers of records, for the epsilon of ``goal``.
    points_epsilon
        Expected accuracy at several epsilons, for ``shape.n`` records.
    """

    shape: Shape
    goal: Goal
    points_n: tuple[AccuracyPoint, ...]
    points_epsilon: tuple[AccuracyPoint, ...]

    @property
    def over_n(self) -> Picture:
        """Plot of the expected accuracy against the number of records, for the epsilon of ``goal``."""
        columns = count_of(self.shape.dim, "column")
        return _picture(f"epsilon {self.goal.epsilon:g}, {columns}", "number of records", self.points_n)

    @property
    def over_epsilon(self) -> Picture:
        """Plot of the expected accuracy against epsilon, for ``shape.n`` records."""
        columns = count_of(self.shape.dim, "column")
        return _picture(f"{self.shape.n:,} records, {columns}", "epsilon", self.points_epsilon)

    def as_dict(self) -> dict[str, object]:
        """Return the points of both curves as plain data for JSON."""
        return {"over_n": _plain(self.points_n), "over_epsilon": _plain(self.points_epsilon)}


def curves(
    shape: Shape,
    goal: Goal,
    *,
    method: str = "auto",
    trials: Trials | None = None,
    counts: Sequence[int] | None = None,
    epsilons: Sequence[float] | None = None,
) -> Curves:
    """Return the expected accuracy as a function of the number of records and of epsilon.

    The classes are equally hard to separate at every point of the curves. If ``shape.baseline`` is set, it is the
    accuracy without privacy for ``shape.n`` records.

    Parameters
    ----------
    shape, goal
        Public description of the table, and the privacy guarantee.
    method
        Method of the estimator: "auto", "objective", "output", "gradient", "sgd", "bolt_on" or "posterior".
    trials
        Number and seed of the trials; None for ten trials with seed 0.
    counts, epsilons
        Numbers of records for the first curve, and epsilons for the second. None uses up to seven values, from one
        tenth of ``shape.n`` (or of the epsilon of ``goal``) to ten times this number.

    Returns
    -------
    Curves
        Points of both curves.

    Raises
    ------
    AssumptionError, AdjacencyError, ConversionError
        If the method cannot give this guarantee.
    ParameterError
        If ``counts`` or ``epsilons`` is empty.
    """
    goal, trials, signal = checked_goal(goal), trials or Trials(), signal_of(shape)
    plan_of(shape, goal, method)
    requests = [(replace(shape, n=n), goal) for n in _counts(shape, counts)]
    requests += [(shape, with_epsilon(goal, epsilon)) for epsilon in _epsilons(goal, epsilons)]
    rows = len(_counts(shape, counts))
    found = [
        expected_accuracy(each, aim, method=method, trials=trials.part(place, len(requests)), signal=signal)
        for place, (each, aim) in enumerate(requests)
    ]
    points_n = tuple(AccuracyPoint(each.n, one) for (each, _), one in zip(requests[:rows], found[:rows], strict=True))
    points = tuple(AccuracyPoint(aim.epsilon, one) for (_, aim), one in zip(requests[rows:], found[rows:], strict=True))
    return Curves(shape, goal, points_n, points)


def _counts(shape: Shape, counts: Sequence[int] | None) -> list[int]:
    if counts is None:
        return sorted({min(max(round(shape.n * factor), _FEWEST), MOST_ROWS) for factor in _FACTORS})
    return _ascending("counts", counts)


def _epsilons(goal: Goal, epsilons: Sequence[float] | None) -> list[float]:
    if epsilons is None:
        return sorted({min(goal.epsilon * factor, 500.0) for factor in _FACTORS})
    return _ascending("epsilons", epsilons)


def _ascending(name: str, values: Sequence[Number]) -> list[Number]:
    if not values:
        raise ParameterError(
            argument=name,
            rule="must have at least one number",
            got="an empty list",
            remedy="Leave it out for a default.",
        )
    return sorted(set(values))


def _plain(points: tuple[AccuracyPoint, ...]) -> list[dict[str, object]]:
    return [{"at": point.at, **point.expected.as_dict()} for point in points]


def _picture(request: str, label: str, points: tuple[AccuracyPoint, ...]) -> Picture:
    x, each = tuple(point.at for point in points), [point.expected for point in points]
    private = Curve(
        "expected, private",
        x,
        tuple(one.mean for one in each),
        low=tuple(one.low for one in each),
        high=tuple(one.high for one in each),
    )
    plain = Curve("expected, without privacy", x, tuple(one.without_privacy for one in each))
    guess = Curve("guessing the larger class", x, tuple(one.majority for one in each), kind="published")
    title = f"Accuracy on synthetic data: {request}"
    return Picture(title, label, "accuracy", (private, plain, guess), x_log=True, bands=BANDS)
