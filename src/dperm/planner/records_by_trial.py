# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How many rows until privacy costs little, by trials on made-up tables."""

from dataclasses import dataclass, replace

from dperm import checks
from dperm.planner.curves import Point
from dperm.planner.expectation import expected_accuracy
from dperm.planner.models import checked_goal
from dperm.planner.plain import signal_of
from dperm.planner.sentences import guarantee_in_words
from dperm.planner.shape import MOST_ROWS, Shape
from dperm.planner.sizes import Goal
from dperm.planner.trials import Trials

FINE = 1.1
"""Numbers of rows are told apart up to this factor."""
_FEWEST = 20
_PER_COLUMN = 10
_STEP = 4


@dataclass(frozen=True)
class RecordsByTrial:
    """How many rows until the expected accuracy is near that of a model without privacy.

    Attributes
    ----------
    loss
        How near.
    n
        The least number of rows, to about a tenth; None if 10^9 are too few.
    points
        What was tried, by number of rows.
    """

    shape: Shape
    goal: Goal
    loss: float
    n: int | None
    points: tuple[Point, ...]

    @property
    def sentence(self) -> str:
        """In words."""
        many = f"About {self.n:,} rows" if self.n is not None else f"More than {MOST_ROWS:,} rows"
        return (
            f"{many} with {self.shape.dim:,} columns are needed for {guarantee_in_words(self.goal)} to cost at most "
            f"{self.loss:g} of accuracy, by trials on made-up tables."
        )

    def as_dict(self) -> dict[str, object]:
        """Plain data, for JSON."""
        tried = [{"at": point.at, **point.expected.as_dict()} for point in self.points]
        return {"loss": self.loss, "n": self.n, "points": tried, "sentence": self.sentence}


def records_for_accuracy(
    shape: Shape, goal: Goal, *, loss: float = 0.01, method: str = "auto", trials: Trials | None = None
) -> RecordsByTrial:
    """The least number of rows at which privacy costs at most ``loss`` of accuracy, on made-up tables.

    Both accuracies are those of tables with so many rows, at least ten for each column: with fewer, a model without
    privacy learns little either. The classes are as easy as they are at ``shape.n``. That the cost of privacy falls
    with n is true up to the error of the trials; bisection takes it to be true.
    """
    goal, trials = checked_goal(goal), trials or Trials()
    search = _Search(shape, goal, method, trials, checks.between("loss", loss, 1e-4, 0.5))
    low, high = search.bracket()
    while high is not None and high > FINE * low:
        middle = round((low * high) ** 0.5)
        low, high = (low, middle) if search.reached(middle) else (middle, high)
    trials.progress(1.0)
    return RecordsByTrial(shape, goal, search.loss, high, search.points)


class _Search:
    """What was tried so far, and whether it was near enough."""

    def __init__(self, shape: Shape, goal: Goal, method: str, trials: Trials, loss: float) -> None:
        self.shape, self.goal, self.method, self.trials, self.loss = shape, goal, method, trials, loss
        self.signal = signal_of(shape)
        self.fewest = max(_FEWEST, _PER_COLUMN * shape.dim)
        self._tried: dict[int, Point] = {}

    @property
    def points(self) -> tuple[Point, ...]:
        """By number of rows."""
        return tuple(self._tried[n] for n in sorted(self._tried))

    def reached(self, n: int) -> bool:
        """Whether privacy costs little with so many rows."""
        if n not in self._tried:
            there, silent = replace(self.shape, n=n), Trials(self.trials.repeats, self.trials.seed)
            found = expected_accuracy(there, self.goal, method=self.method, trials=silent, signal=self.signal)
            self._tried[n] = Point(n, found)
            self.trials.progress(len(self._tried) / (len(self._tried) + 4))
        return self._tried[n].expected.loss <= self.loss

    def bracket(self) -> tuple[int, int | None]:
        """Numbers that are too few, and enough; the fewest twice where they are enough, None if none is."""
        n = max(self.shape.n, self.fewest)
        if not self.reached(n):
            return self._upwards(n)
        while n > self.fewest:
            fewer = max(n // _STEP, self.fewest)
            if not self.reached(fewer):
                return fewer, n
            n = fewer
        return n, n

    def _upwards(self, n: int) -> tuple[int, int | None]:
        while n < MOST_ROWS:
            more = min(n * _STEP, MOST_ROWS)
            if self.reached(more):
                return n, more
            n = more
        return n, None
