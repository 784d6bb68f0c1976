# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Expected accuracy over the number of rows, and over epsilon."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from dperm.errors import ParameterError
from dperm.planner.expectation import Expected, expected_accuracy
from dperm.planner.models import checked_goal, plan_of
from dperm.planner.plain import signal_of
from dperm.planner.shape import MOST_ROWS, Shape
from dperm.planner.sizes import Goal, replaced
from dperm.planner.trials import Trials
from dperm.report.pictures import Curve, Picture

Number = TypeVar("Number", int, float)
_FACTORS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)
_FEWEST = 20
BANDS = "95 % intervals of the means"


@dataclass(frozen=True)
class Point:
    """What to expect at one place: so many rows, or such an epsilon."""

    at: float
    expected: Expected


@dataclass(frozen=True)
class Curves:
    """Expected accuracy around what was asked: the same classes, with other numbers of rows and other epsilons."""

    shape: Shape
    goal: Goal
    points_n: tuple[Point, ...]
    points_epsilon: tuple[Point, ...]

    @property
    def over_n(self) -> Picture:
        """At the epsilon that was asked for."""
        return _picture(f"epsilon {self.goal.epsilon:g}, {self.shape.dim} columns", "rows", self.points_n)

    @property
    def over_epsilon(self) -> Picture:
        """With the rows that were asked for."""
        return _picture(f"{self.shape.n:,} rows, {self.shape.dim} columns", "epsilon", self.points_epsilon)

    def as_dict(self) -> dict[str, object]:
        """Plain data, for JSON."""
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
    """Expected accuracy over n and over epsilon; None takes a tenth to ten times what was asked for.

    The classes stay as easy as they are at ``shape.n``: a declared baseline is that of so many rows.
    """
    goal, trials, signal = checked_goal(goal), trials or Trials(), signal_of(shape)
    plan_of(shape, goal, method)
    asked = [(replace(shape, n=n), goal) for n in _counts(shape, counts)]
    asked += [(shape, replaced(goal, epsilon)) for epsilon in _epsilons(goal, epsilons)]
    rows = len(_counts(shape, counts))
    found = [
        expected_accuracy(each, aim, method=method, trials=trials.part(place, len(asked)), signal=signal)
        for place, (each, aim) in enumerate(asked)
    ]
    points_n = tuple(Point(each.n, one) for (each, _), one in zip(asked[:rows], found[:rows], strict=True))
    points = tuple(Point(aim.epsilon, one) for (_, aim), one in zip(asked[rows:], found[rows:], strict=True))
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


def _plain(points: tuple[Point, ...]) -> list[dict[str, object]]:
    return [{"at": point.at, **point.expected.as_dict()} for point in points]


def _picture(what: str, label: str, points: tuple[Point, ...]) -> Picture:
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
    title = f"Accuracy on made-up data: {what}"
    return Picture(title, label, "accuracy", (private, plain, guess), x_log=True, bands=BANDS)
