# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Learning one of finitely many public hypotheses by the exponential mechanism (T8, T49, T59)."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dperm.accounting.event import Event
from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.data.space import FeatureSpace
from dperm.data.targets import LabelKind, Targets
from dperm.erm.loss import Loss
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, ParameterError
from dperm.mechanisms.exponential import ExponentialMechanism
from dperm.mechanisms.goal import quotient_down
from dperm.methods.plan import Plan, row_limit
from dperm.noise.bits import Stream
from dperm.noise.choice import exponential_choice
from dperm.privacy import Adjacency
from dperm.privacy.digest import digest
from dperm.privacy.guarantee import AnyGuarantee

SCORES = ("errors", "loss")
MOST_HYPOTHESES = 2**22
TALL, WIDE = 256, 128
"""Rows and hypotheses at a time: their scores stay in a processor's cache."""
WEIGHT_DIGITS = 2.0**20
"""Weights, over the largest one, are rounded down to 20 binary digits: then sums of errors are exact."""
FAILURE = 0.05


class Costs(ABC):
    """What a record costs each hypothesis, in units of the most that one can cost: a number in [0, 1]."""

    @property
    @abstractmethod
    def range(self) -> float:
        """The unit, for a record of weight 1."""

    @abstractmethod
    def error(self, rows: int) -> float:
        """Bound on the error of a computed sum over so many rows, in these units."""

    @abstractmethod
    def of(self, scores: Floats, targets: Targets) -> Floats:
        """The costs of some records: a row for each, a column for each hypothesis."""


@dataclass(frozen=True)
class Errors(Costs):
    """1 where the sign of the score is not that of the target; a score of 0 predicts the negative class (T61)."""

    range: ClassVar[float] = 1.0

    def error(self, rows: int) -> float:
        """Sums of whole numbers are exact."""
        return 0.0

    def of(self, scores: Floats, targets: Targets) -> Floats:
        """0 or 1."""
        return np.asarray((scores > 0) != (targets > 0)[:, np.newaxis], dtype=np.float64)


@dataclass(frozen=True)
class Losses(Costs):
    """The loss above the least, over the range that it has at scores of at most ``longest`` in size (T49)."""

    loss: Loss
    longest: float

    @cached_property
    def least(self) -> float:
        """The loss where the score has the right sign and is as large as it can be."""
        return self._at(1.0)

    @cached_property
    def range(self) -> float:
        """B, the largest loss less the least; losses of margins fall."""
        return self._at(-1.0) - self.least

    def error(self, rows: int) -> float:
        """2^-44 for each: 2^8 are summed at a time, and the values are good to 2^-49, wherever a row stands."""
        return rows * 2.0**-44

    def of(self, scores: Floats, targets: Targets) -> Floats:
        """Cut to [0, 1], so that rounding cannot leave it."""
        found = self.loss.losses(scores, np.broadcast_to(targets[:, np.newaxis], scores.shape))
        return np.clip((found - self.least) / self.range, 0.0, 1.0)

    def _at(self, sign: float) -> float:
        return float(self.loss.losses(np.array([self.longest]), np.array([sign]))[0])


@dataclass(frozen=True, eq=False)
class FiniteClass:
    """One of finitely many public hypotheses, better ones with larger probability: pure differential privacy.

    P(h) is proportional to e^{-r U(h)} with U(h) the sum over the records of what they cost h (T8). Let each record add
    between 0 and Delta to every U(h). Under add/remove all U(h) then move in an interval of width Delta, since all move
    one way, and r = epsilon/Delta; under replace-one the width is 2 Delta, and r = epsilon/(2 Delta). The choice is
    drawn exactly. With probability 1 - beta, U of the choice is within ln(H/beta)/r of the least (T59).

    - *errors*: the 0-1 loss of the sign of x'theta, times the class weight: Delta = w (T61).
    - *loss*: the loss of the problem, which has a range B because rows and hypotheses are bounded: Delta = w B, so this
      is one sample of a posterior at the temperature r, uniform on the class beforehand (T49).

    What a record costs is a function of this record alone, to the last bit: scores are summed column by column, which
    is the same operation for each row wherever it stands, and not by a matrix product. Regularisation and clip of a
    problem play no part.

    Parameters
    ----------
    hypotheses
        Public coefficients, a row for each hypothesis, in the bounded space (`dperm.data.space.FeatureSpace`), the
        constant column's last; `FeatureSpace.theta` makes them from those in the user's units. They must not be taken
        from the data.
    score
        "errors" or "loss".

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.erm.losses import Logistic
    >>> from dperm.erm.spec import ProblemSpec
    >>> from dperm.methods.finite import FiniteClass
    >>> spec = ProblemSpec(Logistic(), radius=1.0, dim=2, n=1000)
    >>> plan = FiniteClass([[1, 0], [0, 1], [-1, 0], [0, -1]]).plan(spec, PureDP(0.5, "add_remove"))
    >>> plan.mechanism.rate  # per error; half of that under replace_one
    0.5

    Hypotheses in your units are converted by the space of the features: here, is an age above 18, 40 or 65?

    >>> from dperm.data.space import FeatureSpace
    >>> space = FeatureSpace(1, bounds=((0, 100),))
    >>> FiniteClass([space.theta([1.0], -age) for age in (18, 40, 65)]).hypotheses.tolist()
    [[50.0, 32.0], [50.0, 10.0], [50.0, -15.0]]
    """

    hypotheses: ArrayLike
    score: str = "errors"

    def __post_init__(self) -> None:
        """Check both."""
        object.__setattr__(self, "hypotheses", _coefficients(self.hypotheses))
        if self.score not in SCORES:
            raise ParameterError(f'score must be "errors" or "loss", got {shown(self.score)}.')

    def plan(self, spec: ProblemSpec, goal: AnyGuarantee) -> "FinitePlan":
        """How decisive the choice may be."""
        hypotheses = np.asarray(self.hypotheses)
        _require_two_classes(spec)
        if hypotheses.shape[1] != spec.dim:
            raise ParameterError(
                f"hypotheses must have {spec.dim} columns, one for each coefficient of the problem, got "
                f"{hypotheses.shape[1]}. The intercept's is the last."
            )
        costs = _costs(self.score, spec, hypotheses)
        mechanism = ExponentialMechanism.calibrate(
            1.0,
            goal,
            candidates=len(hypotheses),
            monotone=goal.adjacency is Adjacency.ADD_REMOVE,
            numerical_error=costs.error(row_limit(spec.n)),
        )
        spec, beyond = replace(spec, regularization=None, clip=None), mechanism.error_bound(FAILURE)
        why = (
            f"One of {len(hypotheses)} hypotheses is chosen, with probability proportional to e^-(r U), U the sum of "
            f"{_in_words(self.score)} and r = {mechanism.rate / (spec.weight * costs.range):.3g}. Except with "
            f"probability {FAILURE:.0%}, U is at most {spec.weight * costs.range * beyond:.3g} above the least (T59)."
        )
        return FinitePlan(spec, goal, (why,), None, None, hypotheses, costs, mechanism)


@dataclass(frozen=True, eq=False)
class FinitePlan(Plan):
    """A plan of `FiniteClass`: ``mechanism`` chooses by costs in units of the most that a record may cost."""

    hypotheses: Floats
    costs: Costs
    mechanism: ExponentialMechanism

    method: ClassVar[str] = "finite"

    @cached_property
    def event(self) -> Event:
        """That of the choice."""
        return self.mechanism.event

    @property
    def theorems(self) -> tuple[str, ...]:
        """The choice, and what bounds its scores."""
        return ("T59", "T49" if isinstance(self.costs, Losses) else "T61", "T54", *self.mechanism.facts.theorems)

    @property
    def noise(self) -> str:
        """None is added."""
        return f"in the choice among {len(self.hypotheses)} public hypotheses: {self.mechanism.facts.noise}"

    @property
    def numbers(self) -> dict[str, object]:
        """The class, what a record may cost, and the rate per unit of loss or error."""
        most = self.spec.weight * self.costs.range
        return {
            "score": "loss" if isinstance(self.costs, Losses) else "errors",
            "hypotheses": len(self.hypotheses),
            "hypotheses_digest": digest(self.hypotheses),
            "largest_cost": most,
            "rate": quotient_down(self.mechanism.rate, most),
            "choice": dict(self.mechanism.facts.public),
        }

    @property
    def longest(self) -> float:
        """The longest hypothesis."""
        return math.sqrt(self.spec.dim) * float(np.abs(self.hypotheses).max())

    def learn(self, data: BoundedData, stream: Stream) -> Floats:
        """The coefficients of one hypothesis."""
        place = exponential_choice(self.total_costs(data), self.mechanism.rate, stream)
        return np.array(self.hypotheses[place])

    def total_costs(self, data: BoundedData) -> Floats:
        """U of each hypothesis, over the most that one record may add to it; private.

        What each addition rounds off is kept apart (Knuth), so that the number of additions hardly matters.
        """
        total, rest = np.zeros(len(self.hypotheses)), np.zeros(len(self.hypotheses))
        for start in range(0, data.rows, TALL):
            more = self._costs_of(data, slice(start, min(start + TALL, data.rows)))
            after = total + more
            added = after - total
            rest += (total - (after - added)) + (more - added)
            total = after
        return total + rest

    def _costs_of(self, data: BoundedData, rows: slice) -> Floats:
        targets, weights = data.target.targets(data.codes[rows])
        shares = np.floor(weights / self.spec.weight * WEIGHT_DIGITS) / WEIGHT_DIGITS
        x = rows_at(data, rows)
        return np.concatenate([shares @ self.costs.of(row_scores(x, part), targets) for part in self._parts])

    @cached_property
    def _parts(self) -> list[Floats]:
        """The hypotheses in columns, some at a time."""
        starts = range(0, len(self.hypotheses), WIDE)
        return [np.ascontiguousarray(self.hypotheses[start : start + WIDE].T) for start in starts]


def rows_at(data: BoundedData, rows: slice) -> Floats:
    """Bounded rows with their constant, each a function of the row alone: norms taken block by block might not be."""
    bad = None if data.bad is None else data.bad[rows]
    x = data.source.scaled(rows.start, rows.stop, bad)
    x = bounded_rows(x if isinstance(x, np.ndarray) else x.toarray(), data.space)
    constants = np.full((len(x), data.space.size - data.space.dim), data.space.constant)
    return np.hstack([x, constants])


def row_scores(x: Floats, columns: Floats) -> Floats:
    """The inner products of the rows with hypotheses in ``columns``, by operations on one entry of each row at a time.

    Numpy rounds these the same way for every row: a score does not depend on the rows beside it.
    """
    scores, products = np.zeros((len(x), columns.shape[1])), np.empty((len(x), columns.shape[1]))
    for entries, coefficients in zip(x.T, columns, strict=True):
        np.multiply(entries[:, np.newaxis], coefficients, out=products)
        scores += products
    return scores


def bounded_rows(x: Floats, space: FeatureSpace) -> Floats:
    """The rows, those that are too long at the norm of the space.

    A row is measured after division by the power of 2 of its largest entry: no square overflows.
    """
    if space.norm is None:
        return x
    largest = np.abs(x).max(axis=1)
    exponents = np.frexp(largest)[1]
    small = np.ldexp(x, -exponents[:, np.newaxis])
    squares = np.zeros(len(x))
    for place in range(x.shape[1]):
        squares += small[:, place] * small[:, place]
    lengths = np.sqrt(squares)
    with np.errstate(over="ignore", divide="ignore"):
        is_long = np.ldexp(lengths, exponents) > space.norm
        shares = space.norm / lengths
    return np.where(is_long[:, np.newaxis], small * np.where(is_long, shares, 0.0)[:, np.newaxis], x)


def _coefficients(hypotheses: ArrayLike) -> Floats:
    """A copy that nobody writes to, if it is a table of finite numbers."""
    rule = "hypotheses must be a table of finite real numbers, a row of coefficients for each hypothesis"
    try:
        given = np.asarray(hypotheses)
    except (TypeError, ValueError):  # rows of several lengths
        raise ParameterError(f"{rule}, got {shown(hypotheses)}.") from None
    if given.dtype.kind not in "iuf":
        raise ParameterError(f"{rule}, got {shown(hypotheses)}.")
    array = np.array(given, dtype=np.float64, order="C")
    if array.ndim != 2 or not 1 <= len(array) <= MOST_HYPOTHESES or not np.abs(array).max(initial=0.0) <= 1e100:
        raise ParameterError(f"{rule}, at least one and at most {MOST_HYPOTHESES:,}, none above 1e100 in size.")
    array.flags.writeable = False
    return array


def _costs(score: str, spec: ProblemSpec, hypotheses: Floats) -> Costs:
    if score == "errors":
        return Errors()
    longest = spec.radius * float(np.sqrt((hypotheses * hypotheses).sum(axis=1)).max())
    costs = Losses(spec.loss, longest)
    if not 0 < costs.range < math.inf:
        raise ParameterError(
            f'hypotheses must not all be 0 for score="loss", nor so long that the loss overflows: the loss of a record '
            f"ranges over {costs.range:g} at scores of at most {longest:g}."
        )
    return costs


def _require_two_classes(spec: ProblemSpec) -> None:
    if spec.loss.labels is not LabelKind.SIGN:
        kind = "of a regression" if spec.loss.labels is LabelKind.NUMBER else f"of {spec.outputs} classes"
        raise AssumptionError(
            f"FiniteClass supports classifiers of two classes (T59), with the logistic loss or a hinge, got the loss "
            f'{spec.loss.name!r} {kind}. Use method="auto" for it.'
        )


def _in_words(score: str) -> str:
    return "the weights of its errors" if score == "errors" else "its losses"
