# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Choice among finitely many public hypotheses by the exponential mechanism (T8, T49, T59)."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dperm.accounting.event import Event
from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.data.grid_rows import GridRows, RowGrid
from dperm.data.passes import Place, Sums
from dperm.data.targets import LabelKind, Target, Targets
from dperm.erm.exact_sums import Integers, ScoreSlices, cut, doubles_of, halves
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
SHARE_DIGITS = 20
"""Binary digits of a weight relative to the largest one, rounded down."""
COST_DIGITS, COST_SLICES = 23, 2
"""Binary digits and number of the slices of a cost: sums over a block have 23 + 20 + 8 digits, so they are exact."""
SCORE_ACCURACY = 50
"""Binary digits of coefficients beyond the largest one of their hypothesis."""
FAILURE = 0.05
"""Probability with which the stated bound on the excess may fail."""
_COSTS = {"errors": "the weights of its errors", "loss": "its losses"}


class Costs(ABC):
    """Cost of a record for each hypothesis, in units of the largest possible cost: a number in [0, 1]."""

    @property
    @abstractmethod
    def range(self) -> float:
        """Largest cost of a record of weight 1, the unit of all costs."""

    @property
    @abstractmethod
    def digits(self) -> int:
        """Binary digits of a slice of a cost."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of slices of a cost."""

    @abstractmethod
    def error(self, rows: int) -> float:
        """Return a bound on the error of a computed sum over ``rows`` rows, in units of the largest cost."""

    @abstractmethod
    def of(self, scores: Floats, targets: Targets) -> Floats:
        """Return the costs of some records: a row per record, a column per hypothesis."""

    @abstractmethod
    def slices(self, scores: Floats, targets: Targets) -> Floats:
        """Return the costs in slices of integers, each of ``digits`` binary digits: one table after another."""

    def total(self, sums: Integers) -> Floats:
        """Return sums of slices times integer weights, in `halves`, as sums of costs."""
        *others, whole = doubles_of(sums)
        for part in reversed(others):
            whole = whole * 2.0**-self.digits + part
        return np.asarray(whole * 2.0 ** -(self.digits + SHARE_DIGITS))


@dataclass(frozen=True)
class ErrorCosts(Costs):
    """Cost 1 where the sign of the score differs from the target; a score of 0 predicts the negative class (T61)."""

    range: ClassVar[float] = 1.0
    digits: ClassVar[int] = 0
    count: ClassVar[int] = 1

    def error(self, rows: int) -> float:
        """Return 0: sums of whole numbers are exact, and so is the sign of a score, on every machine."""
        return 0.0

    def of(self, scores: Floats, targets: Targets) -> Floats:
        """Return 1 for each error and 0 elsewhere."""
        return np.asarray((scores > 0) != (targets > 0)[:, np.newaxis], dtype=np.float64)

    def slices(self, scores: Floats, targets: Targets) -> Floats:
        """Return the costs themselves: they are integers."""
        return self.of(scores, targets)[np.newaxis]


@dataclass(frozen=True)
class LossCosts(Costs):
    """Loss above its least value, divided by its range at scores of at most ``longest`` in size (T49)."""

    loss: Loss
    longest: float

    digits: ClassVar[int] = COST_DIGITS
    count: ClassVar[int] = COST_SLICES

    @cached_property
    def least(self) -> float:
        """Loss at the largest score of the correct sign."""
        return self._at(1.0)

    @cached_property
    def range(self) -> float:
        """Range B, the largest loss minus the least; losses of margins decrease."""
        return self._at(-1.0) - self.least

    def error(self, rows: int) -> float:
        """Return about 2^-45 for each row, and more where losses are large compared with their range.

        The sum of the costs, each rounded to a multiple of 2^-46, is exact (T203). On another kind of processor, or at
        another place, a loss may differ in its last bits: by 2^-49 of the largest loss. Its rounded cost then moves by
        as much and 2^-46. Putting the sum together adds 2^-51.
        """
        return rows * (2.0**-45 + 2.0**-48 * self._at(-1.0) / self.range)

    def of(self, scores: Floats, targets: Targets) -> Floats:
        """Return the scaled losses, cut to [0, 1] against rounding."""
        found = self.loss.losses(scores, np.broadcast_to(targets[:, np.newaxis], scores.shape))
        return np.clip((found - self.least) / self.range, 0.0, 1.0)

    def slices(self, scores: Floats, targets: Targets) -> Floats:
        """Return two slices of each cost, rounded to a multiple of 2^-46 in [0, 1]."""
        return cut(self.of(scores, targets), 0, digits=self.digits, count=self.count)

    def _at(self, sign: float) -> float:
        return float(self.loss.losses(np.array([self.longest]), np.array([sign]))[0])


@dataclass(frozen=True, eq=False, repr=False)
class CostKernel:
    """Sums of the records' costs of all hypotheses, as exact integers (T201, T203).

    A score is a function of the row and the hypothesis alone: coefficients are cut into slices, and products of a slice
    with a row are exact. A cost is rounded by itself, and the rounded costs are summed exactly. So the sums do not
    depend on the row groups, their order, or the rows beside a record.

    Attributes
    ----------
    grid
        Public grid of the rows.
    target
        Public shape of the labels.
    costs
        Cost of a record.
    hypotheses
        Coefficients, one row for each hypothesis.
    weight
        Largest weight of a record, the unit of weights.
    """

    grid: RowGrid
    target: Target
    costs: Costs
    hypotheses: Floats
    weight: float

    def __call__(self, rows: GridRows, place: Place) -> Sums:
        """Return the integers of the sums, in `halves`: axes half, slice and hypothesis."""
        blocks = [(block, *self._targets_and_shares(block)) for block in rows.blocks(TALL)]
        sums = [self._part(blocks, self.hypotheses[at : at + WIDE]) for at in range(0, len(self.hypotheses), WIDE)]
        return Sums(costs=np.concatenate(sums, axis=2))

    def _targets_and_shares(self, block: GridRows) -> tuple[Targets, Floats]:
        """Return targets, and weights relative to the largest one as integers of 20 digits."""
        targets, weights = self.target.targets(block.codes)
        return targets, np.asarray(np.floor(weights / self.weight * 2.0**SHARE_DIGITS))

    def _part(self, blocks: list[tuple[GridRows, Targets, Floats]], hypotheses: Floats) -> Integers:
        columns = HypothesisColumns(self.grid, hypotheses)
        found = np.zeros((2, self.costs.count, len(hypotheses)), np.int64)
        for block, targets, shares in blocks:
            found += halves(shares @ self.costs.slices(columns.scores(block.cells), targets))
        return found


class HypothesisColumns:
    """Some hypotheses in columns, cut into slices for exact products with rows of a grid (T201).

    Each hypothesis has a unit of its own, so that a short one beside a long one keeps its digits.
    """

    def __init__(self, grid: RowGrid, hypotheses: Floats) -> None:
        exponents = np.frexp(np.abs(hypotheses).max(axis=1))[1]
        shape = ScoreSlices.of(hypotheses.shape[1], grid.space.radius / grid.step, accuracy=SCORE_ACCURACY)
        parts = cut(np.ldexp(hypotheses, -exponents[:, np.newaxis]), 0, digits=shape.digits, count=shape.count)
        sizes = np.ldexp(1.0, -shape.digits * np.arange(1, shape.count + 1))
        scaled = parts * sizes[:, np.newaxis, np.newaxis]  # (slices, hypotheses, coefficients)
        self._columns = np.ascontiguousarray(scaled.reshape(-1, hypotheses.shape[1]).T)
        self._units = np.ldexp(grid.unit, exponents)
        self._constant, self._dim, self._count = float(grid.constant), grid.space.dim, shape.count

    def scores(self, cells: Any) -> Floats:
        """Return x'theta for rows with integer entries: a row per record, a column per hypothesis."""
        parts = self._products(cells).reshape(cells.shape[0], self._count, len(self._units))
        scores = parts[:, -1]
        for place in range(self._count - 2, -1, -1):
            scores = scores + parts[:, place]
        return np.asarray(scores * self._units)

    def _products(self, cells: Any) -> Floats:
        """Return the exact products with all slices, the constant column included."""
        if isinstance(cells, np.ndarray):
            table = np.full((len(cells), len(self._columns)), self._constant)
            table[:, : self._dim] = cells
            return np.asarray(table @ self._columns)
        products = cells.astype(np.float64) @ self._columns[: self._dim]
        return np.asarray(products + self._constant * self._columns[self._dim :].sum(axis=0))


@dataclass(frozen=True, eq=False)
class FiniteClass:
    """Selection of one of finitely many public hypotheses, with pure differential privacy.

    Hypothesis h is selected with probability proportional to e^(-r U(h)), where r is the rate and U(h) is the total
    cost of h over all records (T8). Each record adds between 0 and Delta to every U(h). Between neighbouring data sets
    under add/remove, all U(h) change in the same direction, by at most Delta, and r is epsilon/Delta. Under
    replace-one, the changes lie in an interval of width 2 Delta, and r is epsilon/(2 Delta). The draw is exact. With H
    hypotheses, the total cost of the selected
    hypothesis exceeds the smallest total cost by more than ln(H/p)/r with probability at most p, for every p (T59).

    The cost of a record x for coefficients theta is one of the following, multiplied by the weight of the record's
    class. The largest class weight is w.

    - *errors*: the 0-1 loss of the sign of x'theta, with Delta = w (T61).
    - *loss*: the loss of the problem, with Delta = w B. The range B of the loss is finite because rows and hypotheses
      are bounded. The selection is one sample of a posterior with inverse temperature r and a uniform prior on the
      hypotheses (T49).

    The computed cost of a record does not depend on other records, not even in its last bit, because each cost is
    rounded separately and the rounded costs are summed exactly (T201, T203). Each entry of a row is rounded to 24
    binary digits (T200). If a hypothesis compares a column with a threshold, choose a threshold between the possible
    values of the column, not equal to one of them. The regularization and the clipping of the problem are ignored.

    Parameters
    ----------
    hypotheses
        Public coefficients, one row for each hypothesis, for features scaled as in `dperm.data.space.FeatureSpace`. The
        coefficient of the constant column comes last. `FeatureSpace.theta` converts coefficients from the user's units.
        The hypotheses must not be derived from the private data.
    score
        Cost of a record: "errors" or "loss", as described above.

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

    `FeatureSpace.theta` converts hypotheses from your units. Here, the three hypotheses predict the positive class for
    ages in years above 18, 40 and 65.

    >>> from dperm.data.space import FeatureSpace
    >>> space = FeatureSpace(1, bounds=((0, 100),))
    >>> FiniteClass([space.theta([1.0], -age) for age in (18.5, 40.5, 65.5)]).hypotheses.tolist()
    [[50.0, 31.5], [50.0, 9.5], [50.0, -15.5]]
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
        """Return a plan with the largest rate r that meets ``goal``.

        Parameters
        ----------
        spec
            Public constants of the problem.
        goal
            Guarantee to meet.

        Returns
        -------
        FinitePlan
            Plan that meets ``goal``.

        Raises
        ------
        AssumptionError
            If a condition of the method's theorem does not hold. The message states a remedy.
        ParameterError
            If the hypotheses do not have ``spec.dim`` coefficients.
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
            numerical_error=costs.error(row_limit(spec.n, goal.adjacency)),
        )
        spec, beyond = replace(spec, regularization=None, clip=None), mechanism.error_bound(FAILURE)
        why = Fact(
            "noise.finite",
            "One of {hypotheses} hypotheses is chosen with probability proportional to e^-(r U), where U is the sum of "
            f"{_COSTS[self.score]} and r = {{rate:.3g}}. The U of the chosen hypothesis exceeds the smallest U by more "
            "than {excess:.3g} with probability at most {failure:.0%} (T59).",
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
    """Plan of `FiniteClass`. For ``mechanism``, the unit of costs is the largest possible cost of a record."""

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
        """Return U of each hypothesis over the largest cost of one record, from one exact pass; private."""
        kernel = CostKernel(data.grid, data.target, self.costs, self.hypotheses, self.spec.weight)
        sums: Sums = data.sums(kernel)
        return self.costs.total(sums["costs"])


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
