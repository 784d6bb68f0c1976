# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Number of records that a goal needs: by proof for an excess risk, and by trials for an accuracy."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import isotonic_regression

from dperm import checks
from dperm.errors import ParameterError
from dperm.planner.curves import AccuracyPoint
from dperm.planner.expectation import ExpectedAccuracy, checked_goal, expected_accuracy
from dperm.planner.outlook import describe_columns, describe_guarantee
from dperm.planner.shape import MOST_ROWS, Shape
from dperm.planner.simulated_data import Signal, signal_of
from dperm.planner.trials import LARGEST_EPSILON, Goal, Trials, with_epsilon
from dperm.presentation.facts import Fact
from dperm.privacy import ApproxDP
from dperm.theory import MethodBound, smallest_sample

_FEWEST = 20
_PER_COLUMN = 10
_IN_A_ROW = 2
_MORE = 6


@dataclass(frozen=True)
class RecordsByProof:
    """Number of records that provably suffice for a target excess risk (T57, T48a).

    Attributes
    ----------
    target_excess
        Requested bound on the expected excess risk.
    n
        Smallest number of records at which a proved bound is at most ``target_excess``.
    best
        Method that needs the fewest records, with its bound for ``n`` records.
    each
        Pairs of a method name and the number of records that the method needs, in increasing order of this number.
        Methods that need more than 2^53 records are left out.
    """

    target_excess: float
    n: int
    best: MethodBound
    each: tuple[tuple[str, int], ...]

    @property
    def fact(self) -> Fact:
        """The result as a fact with a code, a sentence template and values."""
        return Fact(
            "records.proved",
            "{n:,} records suffice for an expected excess risk of at most {target_excess:g} with {method} "
            "perturbation. This is proved for independent records from any distribution with norms within the bounds. "
            "The bound is one-sided: fewer records usually suffice.",
            {"n": self.n, "target_excess": self.target_excess, "method": self.best.method},
        )

    @property
    def sentence(self) -> str:
        """The `fact` as English text; names of options are written as Python arguments, not as command-line options."""
        return str(self.fact)

    def as_dict(self) -> dict[str, object]:
        """Return the result as plain data for JSON."""
        needed = [{"method": method, "n": n} for method, n in self.each]
        numbers = {"target_excess": self.target_excess, "n": self.n, "method": self.best.method}
        return {**numbers, "bound": self.best.bound, "each": needed, "sentence": self.sentence}


def records_for(
    target_excess: float, dim: int, goal: Goal, *, reference_norm: float = 1.0, feature_norm: float = 1.0
) -> RecordsByProof:
    """Return the smallest number of records at which a proved bound is at most ``target_excess`` (T57, T48a).

    Parameters
    ----------
    target_excess
        Requested bound on the expected excess risk, greater than 0.
    dim
        Number of columns.
    goal
        Privacy guarantee of the fit.
    reference_norm
        Norm R0, greater than 0. The excess risk is relative to the best coefficients with norm at most R0.
    feature_norm
        Public bound on the norm of each row.

    Returns
    -------
    RecordsByProof
        Number of records, with the bound and its method.

    Raises
    ------
    ParameterError
        If 2^53 records do not suffice, or if the model with all coefficients zero, which needs no data, already meets
        ``target_excess``.
    """
    goal, target = checked_goal(goal), checks.positive("target_excess", target_excess)
    problem = Shape(2, dim, feature_norm=feature_norm).problem(checks.positive("reference_norm", reference_norm))
    if target >= problem.zero_excess:
        raise ParameterError(
            argument="target_excess",
            rule=f"must be below {problem.zero_excess:.3g}",
            got=f"{target:g}",
            remedy=f"Coefficients of 0 have an excess of at most {problem.zero_excess:.3g} over the best ones of norm "
            f"at most {reference_norm:g}, without any data.",
        )
    delta = goal.delta if isinstance(goal, ApproxDP) else 0.0
    found = smallest_sample(problem, target, epsilon=goal.epsilon, delta=delta, adjacency=goal.adjacency)
    return RecordsByProof(target, found.n, found.best, tuple(found.each))


@dataclass(frozen=True)
class RecordsByTrial:
    """Number of records at which the expected accuracy is close to that of a model without privacy.

    Attributes
    ----------
    shape, goal
        Public description of the table, and the privacy guarantee.
    loss
        Largest acceptable accuracy loss due to privacy.
    n
        Smallest number of records at which the accuracy loss is at most ``loss``, accurate to about 20 %. None if 10^9
        records are too few, or if the trials are inconclusive.
    points
        Expected accuracy at each number of records that was tried, in increasing order.
    floor
        Expected accuracy with almost no noise, if the table that determined ``n`` was too large to simulate and smaller
        tables were used in its place; otherwise None. The accuracy loss ``floor.loss`` is due to the smaller size, not
        to privacy. The trials are inconclusive if its absolute value exceeds half of ``loss``.
    """

    shape: Shape
    goal: Goal
    loss: float
    n: int | None
    points: tuple[AccuracyPoint, ...]
    floor: ExpectedAccuracy | None = None

    @property
    def cannot_tell(self) -> bool:
        """Whether the largest tables that can be simulated are too small to determine ``n``."""
        return self.floor is not None and abs(self.floor.loss) > self.loss / 2

    @property
    def fact(self) -> Fact:
        """The result as a fact with a code, a sentence template and values."""
        if self.cannot_tell and self.floor is not None:
            return Fact(
                "records.cannot_tell",
                "Trials cannot tell how many records are needed for a cost of at most {loss:g}. Tables of {rows:,} "
                "records, which stand in for larger ones, differ by {floor:.2g} from a model without privacy even "
                "with almost no noise. Choose a larger {@loss}, or request a proved number with {@target_excess}.",
                {"loss": self.loss, "rows": self.floor.simulated_at, "floor": abs(self.floor.loss)},
            )
        number = f"{self._about} {{n:,}} records" if self.n is not None else "More than {n:,} records"
        return Fact(
            "records.by_trial",
            f"{number} with {{columns}} are needed so that privacy ({{guarantee}}) costs at most {{loss:g}} in "
            f"accuracy, "
            f"according to trials on synthetic tables.",
            {
                "n": MOST_ROWS if self.n is None else self.n,
                "columns": describe_columns(self.shape),
                "guarantee": describe_guarantee(self.goal),
                "loss": self.loss,
            },
        )

    @property
    def sentence(self) -> str:
        """The `fact` as English text; names of options are written as Python arguments, not as command-line options."""
        return str(self.fact)

    @property
    def _about(self) -> str:
        """Qualifier of the number: the fewest tried records may be more than enough."""
        return "No more than" if self.n == self.points[0].at else "About"

    def as_dict(self) -> dict[str, object]:
        """Return the result as plain data for JSON."""
        tried = [{"at": point.at, **point.expected.as_dict()} for point in self.points]
        numbers = {"loss": self.loss, "n": self.n, "cannot_tell": self.cannot_tell}
        return {**numbers, "points": tried, "sentence": self.sentence}


def records_for_accuracy(
    shape: Shape, goal: Goal, *, loss: float = 0.01, method: str = "auto", trials: Trials | None = None
) -> RecordsByTrial:
    """Return the smallest number of simulated records at which privacy lowers the accuracy by at most ``loss``.

    The accuracies with and without privacy are compared on tables with the same number of records, at least ten per
    column. With fewer records, even a model without privacy learns little. At every size, the classes are as hard to
    separate as in a table of ``shape.n`` records.

    The search doubles the number of records until the accuracy loss is at most ``loss`` at two consecutive sizes, and
    halves it until the accuracy loss exceeds ``loss`` at two consecutive sizes. The measured losses are then smoothed
    so that they never increase with the number of records, and the result is interpolated from the smoothed losses.

    Parameters
    ----------
    shape, goal
        Public description of the table, and the privacy guarantee. The search starts at ``shape.n`` records.
    loss
        Largest acceptable accuracy loss due to privacy, in [1e-4, 0.5].
    method
        Method of the estimator: "auto", "objective", "output", "gradient", "sgd", "bolt_on" or "posterior".
    trials
        Number and seed of the trials; None for ten trials with seed 0.

    Returns
    -------
    RecordsByTrial
        Number of records, and the results of the trials.

    Raises
    ------
    AssumptionError, AdjacencyError, ConversionError
        If the method cannot give this guarantee.
    ParameterError
        If ``loss`` is not in [1e-4, 0.5], or if the best possible model is at most ``loss`` more accurate than always
        guessing the larger class.
    """
    search = _Search(shape, checked_goal(goal), method, trials or Trials())
    target = _checked_loss(loss, shape)
    points = search.points_around(target)
    search.trials.progress(1.0)
    n = _crossing(points, target)
    deciding = points[-1] if n is None else next(point for point in points if point.at >= n)
    floor = search.floor(deciding.expected) if deciding.expected.simulated_at < deciding.at else None
    found = RecordsByTrial(shape, search.goal, loss=target, n=n, points=points, floor=floor)
    return replace(found, n=None) if found.cannot_tell else found


def _checked_loss(loss: float, shape: Shape) -> float:
    target, most = checks.between("loss", loss, 1e-4, 0.5), signal_of(shape).best - shape.majority
    if target >= most:
        raise ParameterError(
            argument="loss",
            rule=f"must be below {most:.3g}",
            got=f"{target:g}",
            remedy="Always guessing the larger class loses no more accuracy against the best model, and needs no "
            "records.",
        )
    return target


@dataclass(frozen=True)
class _Search:
    shape: Shape
    goal: Goal
    method: str
    trials: Trials

    @property
    def fewest(self) -> int:
        return max(_FEWEST, _PER_COLUMN * self.shape.dim)

    def points_around(self, loss: float) -> tuple[AccuracyPoint, ...]:
        """Return trials on both sides of ``loss``, if possible, by number of rows."""
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

    def point(self, n: int, signal: Signal, loss: float) -> AccuracyPoint:
        """Return the expectation for n rows, with more trials if the first ones leave the side of ``loss`` open."""
        found = self.expected(n, signal, self.trials.repeats)
        if found.low < found.without_privacy - loss < found.high:
            found = self.expected(n, signal, _MORE * self.trials.repeats)
        return AccuracyPoint(n, found)

    def floor(self, tried: ExpectedAccuracy) -> ExpectedAccuracy:
        """Return the expectation with almost no noise on tables of the same size."""
        there, trials = replace(self.shape, n=tried.simulated_at), Trials(self.trials.repeats, self.trials.seed)
        goal, signal = with_epsilon(self.goal, LARGEST_EPSILON), signal_of(self.shape)
        return expected_accuracy(there, goal, method=self.method, trials=trials, signal=signal)

    def expected(self, n: int, signal: Signal, repeats: int) -> ExpectedAccuracy:
        there, trials = replace(self.shape, n=n), Trials(repeats, self.trials.seed)
        return expected_accuracy(there, self.goal, method=self.method, trials=trials, signal=signal)


def _is_beyond(point: AccuracyPoint, loss: float, step: float) -> bool:
    """Return whether the point is on the side of ``loss`` that steps in this direction lead to."""
    return (point.expected.loss <= loss) == (step > 1)


def _crossing(points: tuple[AccuracyPoint, ...], loss: float) -> int | None:
    """Return the number of rows, to two digits, at which the smoothed cost falls to ``loss``; None if it does not."""
    cost = isotonic_regression([point.expected.loss for point in points], increasing=False).x
    enough = int(np.argmax(cost <= loss))
    if cost[enough] > loss:
        return None
    if enough == 0:
        return int(points[0].at)
    before, after = (math.log(points[place].at) for place in (enough - 1, enough))
    share = (cost[enough - 1] - loss) / (cost[enough - 1] - cost[enough])
    return int(float(f"{math.exp(before + share * (after - before)):.2g}"))
