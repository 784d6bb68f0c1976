# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How many rows until privacy costs little, by trials on made-up tables."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import isotonic_regression

from dperm import checks
from dperm.errors import ParameterError
from dperm.planner.curves import Point
from dperm.planner.expectation import Expected, expected_accuracy
from dperm.planner.models import checked_goal
from dperm.planner.plain import signal_of
from dperm.planner.sentences import columns_in_words, guarantee_in_words
from dperm.planner.shape import MOST_ROWS, Shape
from dperm.planner.signal import Signal
from dperm.planner.sizes import LARGEST_EPSILON, Goal, replaced
from dperm.planner.trials import Trials
from dperm.presentation.facts import Fact

_FEWEST = 20
_PER_COLUMN = 10
_IN_A_ROW = 2
_MORE = 6


@dataclass(frozen=True)
class RecordsByTrial:
    """How many rows until the expected accuracy is near that of a model without privacy.

    Attributes
    ----------
    loss
        How near.
    n
        The least number of rows, to about a fifth; None if 10^9 are too few, or trials cannot tell.
    points
        What was tried, by number of rows.
    floor
        What is lost with next to no noise on the smaller tables that stood for larger ones where it mattered; None if
        there were none. Larger tables do not lose that, so that trials cannot tell about a loss that is not far above.
    """

    shape: Shape
    goal: Goal
    loss: float
    n: int | None
    points: tuple[Point, ...]
    floor: Expected | None = None

    @property
    def cannot_tell(self) -> bool:
        """Whether tables that can be tried are too small for the question."""
        return self.floor is not None and abs(self.floor.loss) > self.loss / 2

    @property
    def fact(self) -> Fact:
        """Number of rows, or the reason why trials cannot tell it."""
        if self.cannot_tell and self.floor is not None:
            return Fact(
                "records.cannot-tell",
                "Trials cannot tell how many rows are needed for a cost of at most {loss:g}: tables of {rows:,} rows, "
                "which stand for larger ones, differ by {difference:.2g} from a model without privacy even with next "
                "to no noise. Ask for a larger loss, or for a proved number ({@target_excess}).",
                {"loss": self.loss, "rows": self.floor.simulated_at, "difference": abs(self.floor.loss)},
            )
        return Fact(
            "records.by-trial",
            "{rows} rows with {columns} are needed for {guarantee} to cost at most {loss:g} of accuracy, by trials on "
            "made-up tables.",
            {
                "rows": f"{self._about} {self.n:,}" if self.n is not None else f"More than {MOST_ROWS:,}",
                "columns": columns_in_words(self.shape),
                "guarantee": guarantee_in_words(self.goal),
                "loss": self.loss,
            },
        )

    @property
    def sentence(self) -> str:
        """The fact as a sentence for Python users."""
        return str(self.fact)

    @property
    def _about(self) -> str:
        """The fewest rows that were tried may be more than enough."""
        return "No more than" if self.n == self.points[0].at else "About"

    def as_dict(self) -> dict[str, object]:
        """Plain data, for JSON."""
        tried = [{"at": point.at, **point.expected.as_dict()} for point in self.points]
        facts = {"loss": self.loss, "n": self.n, "cannot_tell": self.cannot_tell}
        return {**facts, "points": tried, "sentence": self.sentence}


def records_for_accuracy(
    shape: Shape, goal: Goal, *, loss: float = 0.01, method: str = "auto", trials: Trials | None = None
) -> RecordsByTrial:
    """The least number of rows at which privacy costs at most ``loss`` of accuracy, on made-up tables.

    Both accuracies are those of tables with so many rows, at least ten for each column: with fewer, a model without
    privacy learns little either. The classes are as easy as they are at ``shape.n``. Numbers are doubled or halved from
    there until two in a row are on the other side; the cost of privacy, smoothed so that it never rises with n, is
    then interpolated.
    """
    asked = _Asked(shape, checked_goal(goal), method, trials or Trials())
    target = _checked_loss(loss, shape)
    points = asked.tried_around(target)
    asked.trials.progress(1.0)
    n = _crossing(points, target)
    deciding = points[-1] if n is None else next(point for point in points if point.at >= n)
    floor = asked.floor(deciding.expected) if deciding.expected.simulated_at < deciding.at else None
    found = RecordsByTrial(shape, asked.goal, target, n, points, floor)
    return replace(found, n=None) if found.cannot_tell else found


def _checked_loss(loss: float, shape: Shape) -> float:
    """A loss that is less than what guessing the larger class loses."""
    target, most = checks.between("loss", loss, 1e-4, 0.5), signal_of(shape).best - shape.majority
    if target >= most:
        raise ParameterError(
            argument="loss",
            rule=f"must be below {most:.3g}",
            got=f"{target:g}",
            remedy="Always guessing the larger class loses no more accuracy against the best model, and needs no rows.",
        )
    return target


@dataclass(frozen=True)
class _Asked:
    shape: Shape
    goal: Goal
    method: str
    trials: Trials

    @property
    def fewest(self) -> int:
        return max(_FEWEST, _PER_COLUMN * self.shape.dim)

    def tried_around(self, loss: float) -> tuple[Point, ...]:
        """Points on both sides of ``loss``, as far as there are any, by number of rows."""
        signal, start = signal_of(self.shape), min(max(self.shape.n, self.fewest), MOST_ROWS)
        found = {start: self.point(start, signal, loss)}
        for step in (2.0, 0.5):
            n, settled = start, int(_is_beyond(found[start], loss, step))
            while settled < _IN_A_ROW and n != (MOST_ROWS if step > 1 else self.fewest):
                n = min(max(round(n * step), self.fewest), MOST_ROWS)
                found[n] = self.point(n, signal, loss)
                self.trials.progress(len(found) / (len(found) + _IN_A_ROW))
                settled = settled + 1 if _is_beyond(found[n], loss, step) else 0
        return tuple(found[n] for n in sorted(found))

    def point(self, n: int, signal: Signal, loss: float) -> Point:
        """What to expect of n rows, from more trials where the first do not tell on which side of ``loss`` that is."""
        found = self.expected(n, signal, self.trials.repeats)
        if found.low < found.without_privacy - loss < found.high:
            found = self.expected(n, signal, _MORE * self.trials.repeats)
        return Point(n, found)

    def floor(self, tried: Expected) -> Expected:
        """What is lost with next to no noise on tables of the same size."""
        there, trials = replace(self.shape, n=tried.simulated_at), Trials(self.trials.repeats, self.trials.seed)
        goal, signal = replaced(self.goal, LARGEST_EPSILON), signal_of(self.shape)
        return expected_accuracy(there, goal, method=self.method, trials=trials, signal=signal)

    def expected(self, n: int, signal: Signal, repeats: int) -> Expected:
        """From so many trials."""
        there, trials = replace(self.shape, n=n), Trials(repeats, self.trials.seed)
        return expected_accuracy(there, self.goal, method=self.method, trials=trials, signal=signal)


def _is_beyond(point: Point, loss: float, step: float) -> bool:
    """On the side that steps in this direction lead to."""
    return (point.expected.loss <= loss) == (step > 1)


def _crossing(points: tuple[Point, ...], loss: float) -> int | None:
    """Where the smoothed cost falls to ``loss``, to two digits; None if it does not."""
    cost = isotonic_regression([point.expected.loss for point in points], increasing=False).x
    enough = int(np.argmax(cost <= loss))
    if cost[enough] > loss:
        return None
    if enough == 0:
        return int(points[0].at)
    before, after = (math.log(points[place].at) for place in (enough - 1, enough))
    share = (cost[enough - 1] - loss) / (cost[enough - 1] - cost[enough])
    return int(float(f"{math.exp(before + share * (after - before)):.2g}"))
