# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plan, then run: a plan is made from public constants and holds all that the proof needs; data enter in `Plan.run`."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Protocol, Self, runtime_checkable

from dperm.accounting.budget import Budget
from dperm.accounting.event import Event
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData, too_many_rows
from dperm.erm.rounding import attainable, gradient_error, longest
from dperm.erm.spec import ProblemSpec
from dperm.errors import DataError, ParameterError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.run import ReleaseFacts, release
from dperm.methods.constants import problem_facts
from dperm.noise.bits import Bits, Stream
from dperm.privacy import Adjacency, Release
from dperm.privacy.guarantee import AnyGuarantee

RELATIVE_TOLERANCES = (1e-6, 2e-5)
"""Solvers stop when the gradient is this share of one record's largest gradient."""
USUAL_ROWS = 2**17
USUAL_MARGIN = 100.0
MOST_ROWS = 2**22
"""Rows that are allowed where n is private and was not declared."""
FEWEST_MOST_ROWS = 2**20
LARGEST_COEFFICIENT = 2.0**500
"""Largest coefficient, step or mean gradient that a plan allows: its square is a double."""
LARGEST_SCORE = 2.0**900
FAR = 200.0
"""Standard deviations of noise in one entry that are exceeded with probability below 2^-200: Gaussian noise exceeds
them with e^-20000, Laplace noise with e^-282, gamma-norm noise with less than 2^-200 (`linear_term.GammaNormTerm`)."""


@runtime_checkable
class Method(Protocol):
    """A way to learn privately."""

    def plan(self, spec: ProblemSpec, goal: AnyGuarantee) -> "Plan":
        """What would be done to meet ``goal``, from public constants alone.

        Raises
        ------
        AssumptionError
            If a condition of the method's theorem does not hold; the message says what would.
        """


@dataclass(frozen=True)
class Plan(ABC):
    """Everything that is decided before data are read: the problem, the noise, the tolerance, what is spent.

    Attributes
    ----------
    spec
        The problem with everything decided: its regularisation and clipping are those that are used.
    goal
        The guarantee that is met.
    why
        Sentences: what was chosen, and from which public numbers.
    tolerance
        The norm of the gradient at which the solver stops, certified; None where nothing is solved.
    output_noise
        The noise that is added to the coefficients themselves; None if there is none.
    row_bound
        The method's own public limit on the number of rows, where its proof needs one; None for the usual one.
    """

    spec: ProblemSpec
    goal: AnyGuarantee
    why: tuple[str, ...]
    tolerance: float | None
    output_noise: AdditiveMechanism | None
    row_bound: int | None = field(default=None, kw_only=True)

    method: ClassVar[str]

    def __post_init__(self) -> None:
        """Work everything out, before any data is seen."""
        self.facts  # noqa: B018  # everything follows from the parameters
        require_finite(self)

    @cached_property
    @abstractmethod
    def event(self) -> Event:
        """What one run spends."""

    @property
    @abstractmethod
    def theorems(self) -> tuple[str, ...]:
        """Tags of the theorems that the guarantee rests on, besides those of the event."""

    @property
    @abstractmethod
    def noise(self) -> str:
        """The law of the noise, in words."""

    @property
    @abstractmethod
    def numbers(self) -> dict[str, object]:
        """The method's own public numbers."""

    @property
    @abstractmethod
    def longest(self) -> float:
        """Bound on the norm of the released coefficients, exceeded with probability below 2^-190."""

    @property
    def intermediate(self) -> dict[str, float]:
        """Bounds on the method's own intermediate numbers, by their name in an error message."""
        return {}

    @abstractmethod
    def learn(self, data: BoundedData, stream: Stream) -> Floats:
        """The coefficients that are released. **The only place where data meet noise**; `run` calls it, charged."""

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets are neighbours."""
        return self.goal.adjacency

    @property
    def most_rows(self) -> int:
        """Public limit on the number of rows: rounding errors are bounded for so many."""
        return row_limit(self.spec.n) if self.row_bound is None else self.row_bound

    @cached_property
    def facts(self) -> ReleaseFacts:
        """What is known of a run beforehand."""
        public = {"method": self.method, **problem_facts(self.spec), "most_rows": self.most_rows, **self.numbers}
        return ReleaseFacts(goal=self.goal, event=self.event, noise=self.noise, theorems=self.theorems, public=public)

    def __str__(self) -> str:
        """The reasons, then the public numbers, a line each."""
        reasons = [f"- {reason}" for reason in self.why]
        numbers = [f"  {name} = {value}" for name, value in self.describe().items() if not isinstance(value, dict)]
        return "\n".join([f"Plan for {self.goal}:", *reasons, *numbers])

    def describe(self) -> dict[str, object]:
        """The public numbers of the plan, as they will stand in the record of a run."""
        return dict(self.facts.public)

    def because(self, *reasons: str) -> Self:
        """The same plan with these reasons in front of its own."""
        return replace(self, why=(*reasons, *self.why))

    def run(
        self, read: Callable[[], BoundedData], budget: Budget | None = None, *, bits: Bits | None = None
    ) -> Release[Floats]:
        """Learn from what ``read`` returns: coefficients in the bounded space, the constant column's last.

        The order is that of every release: check the budget, read the data, reserve, solve and draw, commit.

        Parameters
        ----------
        read
            Reads the data and enforces their public bounds (`dperm.data.bounded.enforce`).
        budget
            What the run is charged to.
        bits
            Where randomness comes from; ``NotPrivateBits(seed)`` makes the run reproducible and NOT PRIVATE.

        Raises
        ------
        DataError
            If the data break a rule; before anything is charged or drawn.
        BudgetError
            If ``budget`` does not cover the event; nothing is charged.
        """
        return release(self.facts, lambda: self._checked(read()), self.learn, budget=budget, bits=bits)

    def _checked(self, data: BoundedData) -> BoundedData:
        """The data, if they keep what was planned with."""
        low, high = data.target.weights_range
        if not (data.space.radius <= self.spec.radius and 0 < low <= high <= self.spec.weight):
            raise ParameterError(
                f"radius and class weights of the data must be at most those of the plan, {self.spec.radius:.6g} and "
                f"{self.spec.weight:.6g}, got {data.space.radius:.6g} and {high:.6g}. Plan again."
            )
        if data.target.kind is not self.spec.loss.labels or data.target.outputs != self.spec.outputs:
            raise ParameterError(
                f"the labels must be of the kind that the loss {self.spec.loss.name!r} was planned for."
            )
        if data.space.size != self.spec.width:
            raise DataError(f"X must have the columns of the plan, which was made for {self.spec.dim} coefficients.")
        if data.rows > self.most_rows:
            raise too_many_rows(self.most_rows)
        if self.adjacency is Adjacency.REPLACE_ONE and data.rows != (self.spec.n or data.rows):
            raise DataError(f"n={self.spec.n} was declared, but X has a different number of rows.")
        return data


def require_finite(plan: Plan) -> None:
    """Refuse a plan whose run could overflow: a release that is NaN or infinite would be charged for nothing.

    Raises
    ------
    ParameterError
        If a public bound on a coefficient, a score or an intermediate number is beyond the range of doubles with room
        to spare, or a number of the plan is not finite.
    """
    spec, longest = plan.spec, plan.longest
    sizes = {
        "coefficients": longest / LARGEST_COEFFICIENT,
        "scores": longest * spec.radius / LARGEST_SCORE,
        **{name: size / LARGEST_COEFFICIENT for name, size in plan.intermediate.items()},
    }
    for name, size in sizes.items():
        if not size <= 1:
            raise extreme_arguments(spec, f"{name} could overflow")
    if not all(math.isfinite(value) for value in _floats(plan.describe())):
        raise extreme_arguments(spec, "a number of the plan is not finite")


def extreme_arguments(spec: ProblemSpec, problem: str) -> ParameterError:
    """The error for public arguments that doubles cannot hold together."""
    given = [
        f"feature_norm or bounds (radius {spec.radius:.3g})",
        *([] if spec.regularization is None else [f"C (Lambda = 1/C = {spec.regularization:.3g})"]),
        *([] if spec.clip is None else [f"clip ({spec.clip:.3g})"]),
        *([] if spec.weight == 1 else [f"class_weight ({spec.weight:.3g})"]),
    ]
    return ParameterError(
        f"{', '.join(given)} and the goal are too extreme together: {problem}. Rescale the features, so that "
        f"feature_norm is near 1, and leave C and clip to the plan."
    )


def noise_norm(mechanism: AdditiveMechanism | None, dim: int) -> float:
    """Bound on the norm of the noise on ``dim`` coefficients, exceeded with probability below 2^-190; 0 for None."""
    return 0.0 if mechanism is None else FAR * math.sqrt(dim) * mechanism.standard_deviation


def _floats(value: object) -> Iterator[float]:
    """Every float in plain data."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _floats(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _floats(item)


def row_limit(n: int | None) -> int:
    """Rows for which a plan's error bounds hold: 16 n and at least 2^20, or 2^22 where n is not known.

    Under add/remove a declared n is never compared with the data; the limit leaves room for a rough one.
    """
    return MOST_ROWS if n is None else max(FEWEST_MOST_ROWS, 16 * n)


def solver_tolerance(spec: ProblemSpec, *, linear: float = 0.0) -> float:
    """The gradient norm that every solve is certified to reach (T31), from public constants: the noise may use it.

    At least 1e-6 L; more, up to 2e-5 L, where doubles need it to certify n rows at coefficients of a usual size. Beyond
    that the solver turns to extended precision. Never less than what is attainable for as many rows as are allowed. The
    noise that hides the tolerance is the same in all directions, also in those in which the data leave little of any
    other noise: hence so small. ``linear`` bounds the norm of the linear term.
    """
    rows = spec.n or USUAL_ROWS
    length = min(longest(spec, rows, linear), USUAL_MARGIN / spec.radius)
    in_doubles = 2 * gradient_error(spec, rows, length, linear)
    least, most = (share * spec.lipschitz for share in RELATIVE_TOLERANCES)
    return max(least, min(in_doubles, most), attainable(spec, row_limit(spec.n), linear))
