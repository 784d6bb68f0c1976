# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Choice among finitely many public hypotheses by the exponential mechanism (T8, T49, T59)."""

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
from dperm.presentation.facts import Fact
from dperm.presentation.spelling import quoted_arg
from dperm.privacy import Adjacency
from dperm.privacy.digest import digest
from dperm.privacy.guarantee import AnyGuarantee

SCORES = ("errors", "loss")
MOST_HYPOTHESES = 2**22
TALL, WIDE = 256, 128
"""Rows and hypotheses of a block, whose scores fit into a processor's cache."""
WEIGHT_DIGITS = 2.0**20
"""Weights relative to the largest are rounded down to 20 binary digits, so that sums of errors are exact."""
FAILURE = 0.05
"""Probability with which the stated bound on the excess may fail."""
_COSTS = {"errors": "the weights of its errors", "loss": "its losses"}


class Costs(ABC):
    """Cost of a record for each hypothesis, in units of the largest possible cost: a number in [0, 1]."""

    @property
    @abstractmethod
    def range(self) -> float:
        """Largest cost of a record of weight 1, the unit of all costs."""

    @abstractmethod
    def error(self, rows: int) -> float:
        """Return a bound on the error of a computed sum over ``rows`` rows, in units of the largest cost."""

    @abstractmethod
    def of(self, scores: Floats, targets: Targets) -> Floats:
        """Return the costs of some records: a row per record, a column per hypothesis."""


@dataclass(frozen=True)
class ErrorCosts(Costs):
    """Cost 1 where the sign of the score differs from the target; a score of 0 predicts the negative class (T61)."""

    range: ClassVar[float] = 1.0

    def error(self, rows: int) -> float:
        """Return 0: sums of whole numbers are exact."""
        return 0.0

    def of(self, scores: Floats, targets: Targets) -> Floats:
        """Return 1 for each error and 0 elsewhere."""
        return np.asarray((scores > 0) != (targets > 0)[:, np.newaxis], dtype=np.float64)


@dataclass(frozen=True)
class LossCosts(Costs):
    """Loss above its least value, divided by its range at scores of at most ``longest`` in size (T49)."""

    loss: Loss
    longest: float

    @cached_property
    def least(self) -> float:
        """Loss at the largest score of the correct sign."""
        return self._at(1.0)

    @cached_property
    def range(self) -> float:
        """Range B, the largest loss minus the least; losses of margins decrease."""
        return self._at(-1.0) - self.least

    def error(self, rows: int) -> float:
        """Return 2^-44 for each row.

        2^8 rows are summed at a time, and values have errors of 2^-49, wherever a row stands.
        """
        return rows * 2.0**-44

    def of(self, scores: Floats, targets: Targets) -> Floats:
        """Return the scaled losses, cut to [0, 1] against rounding."""
        found = self.loss.losses(scores, np.broadcast_to(targets[:, np.newaxis], scores.shape))
        return np.clip((found - self.least) / self.range, 0.0, 1.0)

    def _at(self, sign: float) -> float:
        return float(self.loss.losses(np.array([self.longest]), np.array([sign]))[0])


@dataclass(frozen=True, eq=False)
class FiniteClass:
    """Selection of one of finitely many public hypotheses, with pure differential privacy.

    P(h) is proportional to e^{-r U(h)}, where U(h) is the total cost of h over all records (T8). Each record adds
    between 0 and Delta to every U(h). Under add/remove all U(h) change in the same direction, by at most Delta, and r =
    epsilon/Delta. Under replace-one the changes lie in an interval of width 2 Delta, and r = epsilon/(2 Delta). The
    draw is exact. With probability 1 - beta, the total cost of the selected hypothesis is within ln(H/beta)/r of the
    smallest (T59).

    - *errors*: the 0-1 loss of the sign of x'theta, times the class weight: Delta = w (T61).
    - *loss*: the loss of the problem, whose range B is finite because rows and hypotheses are bounded: Delta = w B. The
      selection is one sample of a posterior with inverse temperature r and a uniform prior on the class (T49).

    The cost of a record depends on this record alone, to the last bit. Scores are therefore summed column by column. A
    matrix product is not used, because its rounding can depend on the position of a row. The regularization and the
    clipping of ``spec`` are ignored.

    Parameters
    ----------
    hypotheses
        Public coefficients, one row for each hypothesis, in the bounded space (`dperm.data.space.FeatureSpace`); the
        coefficient of the constant column comes last. `FeatureSpace.theta` converts coefficients in the user's units.
        The hypotheses must not be taken from the data.
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
    >>> plan.mechanism.rate  # per error; half as much under replace_one
    0.5

    `FeatureSpace.theta` converts hypotheses in your units. Here, each hypothesis classifies by whether an age is above
    18, 40 or 65.

    >>> from dperm.data.space import FeatureSpace
    >>> space = FeatureSpace(1, bounds=((0, 100),))
    >>> FiniteClass([space.theta([1.0], -age) for age in (18, 40, 65)]).hypotheses.tolist()
    [[50.0, 32.0], [50.0, 10.0], [50.0, -15.0]]
    """

    hypotheses: ArrayLike
    score: str = "errors"

    plans_from_event: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Copy and check the hypotheses; check the score."""
        object.__setattr__(self, "hypotheses", _coefficients(self.hypotheses))
        if self.score not in SCORES:
            raise ParameterError(argument="score", rule='must be "errors" or "loss"', got=shown(self.score))

    def plan(self, spec: ProblemSpec, goal: AnyGuarantee) -> "FinitePlan":
        """Return a plan with the largest rate that meets ``goal``.

        Parameters
        ----------
        spec
            Public constants of the problem.
        goal
            Guarantee to meet.

        Returns
        -------
        FinitePlan
            The plan.

        Raises
        ------
        AssumptionError
            If a condition of the method's theorem does not hold. The message states a remedy.
        ParameterError
            If the hypotheses do not fit the problem.
        """
        hypotheses = np.asarray(self.hypotheses)
        _require_two_classes(spec)
        if hypotheses.shape[1] != spec.dim:
            raise ParameterError(
                argument="hypotheses",
                rule=f"must have {spec.dim} columns, one for each coefficient of the problem",
                got=str(hypotheses.shape[1]),
                remedy="The last column belongs to the intercept.",
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
        why = Fact(
            "noise.finite",
            "One of {hypotheses} hypotheses is chosen with probability proportional to e^-(r U), with U the sum of "
            f"{_COSTS[self.score]} and r = {{rate:.3g}}. Except with probability {{failure:.0%}}, U is at most "
            "{excess:.3g} above the least (T59).",
            {
                "hypotheses": len(hypotheses),
                "rate": mechanism.rate / (spec.weight * costs.range),
                "failure": FAILURE,
                "excess": spec.weight * costs.range * beyond,
            },
        )
        return FinitePlan(
            spec,
            goal,
            why=(why,),
            tolerance=None,
            output_noise=None,
            hypotheses=hypotheses,
            costs=costs,
            mechanism=mechanism,
        )


@dataclass(frozen=True, eq=False)
class FinitePlan(Plan):
    """Plan of `FiniteClass`; ``mechanism`` chooses by costs in units of the largest cost of a record."""

    hypotheses: Floats
    costs: Costs
    mechanism: ExponentialMechanism

    method: ClassVar[str] = "finite"

    @cached_property
    def event(self) -> Event:
        """Event of the exponential mechanism."""
        return self.mechanism.event

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags for the choice and for the bound on its scores."""
        return ("T59", "T49" if isinstance(self.costs, LossCosts) else "T61", "T54", *self.mechanism.facts.theorems)

    @property
    def noise(self) -> str:
        """Distribution of the choice; no noise is added."""
        return f"in the choice among {len(self.hypotheses)} public hypotheses: {self.mechanism.facts.noise}"

    @property
    def numbers(self) -> dict[str, object]:
        """Number and digest of the hypotheses, largest cost of a record, and rate per unit of loss or error."""
        most = self.spec.weight * self.costs.range
        return {
            "score": "loss" if isinstance(self.costs, LossCosts) else "errors",
            "hypotheses": len(self.hypotheses),
            "hypotheses_digest": digest(self.hypotheses),
            "largest_cost": most,
            "rate": quotient_down(self.mechanism.rate, most),
            "choice": dict(self.mechanism.facts.public),
        }

    @property
    def longest(self) -> float:
        """Bound on the norm of the longest hypothesis."""
        return math.sqrt(self.spec.dim) * float(np.abs(self.hypotheses).max())

    def learn(self, data: BoundedData, stream: Stream) -> Floats:
        """Return the coefficients of the chosen hypothesis."""
        place = exponential_choice(self.total_costs(data), self.mechanism.rate, stream)
        return np.array(self.hypotheses[place])

    def total_costs(self, data: BoundedData) -> Floats:
        """Return U of each hypothesis over the largest cost of one record; private.

        The rounding error of each addition is accumulated separately (Knuth), so the number of additions hardly
        matters.
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
        """Hypotheses in columns, in blocks of 128."""
        starts = range(0, len(self.hypotheses), WIDE)
        return [np.ascontiguousarray(self.hypotheses[start : start + WIDE].T) for start in starts]


def rows_at(data: BoundedData, rows: slice) -> Floats:
    """Return bounded rows with their constant, each a function of the row alone; norms taken in blocks might not be."""
    bad = None if data.bad is None else data.bad[rows]
    x = data.source.scaled(rows.start, rows.stop, bad)
    x = bounded_rows(x if isinstance(x, np.ndarray) else x.toarray(), data.space)
    constants = np.full((len(x), data.space.size - data.space.dim), data.space.constant)
    return np.hstack([x, constants])


def row_scores(x: Floats, columns: Floats) -> Floats:
    """Return the inner products of the rows with hypotheses in ``columns``, one entry of each row at a time.

    Numpy rounds these operations the same way for every row, so a score does not depend on neighbouring rows.
    """
    scores, products = np.zeros((len(x), columns.shape[1])), np.empty((len(x), columns.shape[1]))
    for entries, coefficients in zip(x.T, columns, strict=True):
        np.multiply(entries[:, np.newaxis], coefficients, out=products)
        scores += products
    return scores


def bounded_rows(x: Floats, space: FeatureSpace) -> Floats:
    """Return the rows, with long rows shortened to the norm of the space.

    A row is measured after division by the power of 2 of its largest entry, so no square overflows.
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
    """Return a read-only copy, if the argument is a table of finite numbers."""
    rule = "must be a table of finite real numbers, a row of coefficients for each hypothesis"
    try:
        given = np.asarray(hypotheses)
    except (TypeError, ValueError):  # rows of several lengths
        raise ParameterError(argument="hypotheses", rule=rule, got=shown(hypotheses)) from None
    if given.dtype.kind not in "iuf":
        raise ParameterError(argument="hypotheses", rule=rule, got=shown(hypotheses))
    array = np.array(given, dtype=np.float64, order="C")
    if array.ndim != 2 or not 1 <= len(array) <= MOST_HYPOTHESES or not np.abs(array).max(initial=0.0) <= 1e100:
        limits = f"at least one and at most {MOST_HYPOTHESES:,}, none above 1e100 in size"
        raise ParameterError(argument="hypotheses", rule=f"{rule}, {limits}")
    array.flags.writeable = False
    return array


def _costs(score: str, spec: ProblemSpec, hypotheses: Floats) -> Costs:
    if score == "errors":
        return ErrorCosts()
    longest = spec.radius * float(np.sqrt((hypotheses * hypotheses).sum(axis=1)).max())
    costs = LossCosts(spec.loss, longest)
    if not 0 < costs.range < math.inf:
        raise ParameterError(
            argument="hypotheses",
            rule=f"must not all be 0 for {quoted_arg('score', 'loss')}, nor so long that the loss overflows",
            remedy=f"The loss of a record ranges over {costs.range:g} at scores of at most {longest:g}.",
        )
    return costs


def _require_two_classes(spec: ProblemSpec) -> None:
    if spec.loss.labels is not LabelKind.SIGN:
        kind = "of a regression" if spec.loss.labels is LabelKind.NUMBER else f"of {spec.outputs} classes"
        raise AssumptionError(
            f"FiniteClass supports classifiers of two classes (T59), with the logistic loss or a hinge, got the loss "
            f"{spec.loss.name!r} {kind}.",
            remedy=f"Use {quoted_arg('method', 'auto')} for it.",
        )
