# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plans of private training runs, made from public constants alone. `Plan.run` executes a plan on the data."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Protocol, Self, runtime_checkable

from dperm.accounting.budget import Budget
from dperm.accounting.dominance import dominates
from dperm.accounting.event import Event
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData, too_many_rows
from dperm.erm.rounding import attainable_tolerance
from dperm.erm.spec import ProblemSpec
from dperm.errors import DataError, ParameterError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.run import ReleaseFacts, release
from dperm.noise.bits import Bits, Stream
from dperm.presentation.facts import Fact
from dperm.presentation.glossary import method_description
from dperm.presentation.notebook import plan_card
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency, Release
from dperm.privacy.guarantee import AnyGuarantee, guarantee_as_dict

RELATIVE_TOLERANCE = 1e-6
"""Smallest tolerance of a solver, relative to the largest gradient of a record."""
MOST_ROWS = 2**22
"""Largest number of rows without a declared n."""
FEWEST_MOST_ROWS = 2**20
LARGEST_COEFFICIENT = 2.0**500
"""Largest admissible coefficient, step or mean gradient; its square is a finite double."""
LARGEST_SCORE = 2.0**900
FAR = 200.0
"""Number of standard deviations exceeded by noise in one entry with probability below 2^-200: e^-20000 for Gaussian
noise, e^-282 for Laplace noise, below 2^-200 for gamma-norm noise (`linear_term.GammaNormTerm`)."""


@runtime_checkable
class Method(Protocol):
    """Protocol of the training methods. `plan` makes all decisions before data are read."""

    def plan(self, spec: ProblemSpec, goal: AnyGuarantee) -> "Plan":
        """Return a plan that meets ``goal``, computed from public constants alone.

        Parameters
        ----------
        spec
            Public constants of the problem.
        goal
            Target privacy guarantee of the run.

        Returns
        -------
        Plan
            The plan.

        Raises
        ------
        AssumptionError
            If a condition of the method's theorem does not hold. The message states a remedy.
        """


@dataclass(frozen=True)
class Plan(ABC):
    """Plan of a private training run: all decisions made before data are read.

    The decisions concern the problem, the noise, the tolerance of the solver and the privacy cost.

    Attributes
    ----------
    spec
        Public constants of the problem, including the chosen regularisation and clipping.
    goal
        Privacy guarantee of a run.
    why
        Reasons for the choices, with the public numbers that led to them; ``str(reason)`` returns a reason as text.
    tolerance
        Gradient norm at or below which the solver stops; the solver certifies this bound. None if the method has no
        solver.
    output_noise
        Mechanism that adds noise to the coefficients; None if the method adds no noise to them.
    row_bound
        Public limit on the number of rows, as required by the method's proof; None for the default limit.
    declared
        Accounting event declared before the problem was known (T70); None if the plan was made from a goal alone.
    """

    spec: ProblemSpec
    goal: AnyGuarantee
    why: tuple[Fact, ...] = field(hash=False)
    tolerance: float | None
    output_noise: AdditiveMechanism | None
    row_bound: int | None = field(default=None, kw_only=True)
    declared: Event | None = field(default=None, kw_only=True)

    method: ClassVar[str]
    rows_in_memory: ClassVar[str] = ""
    """Reason why the method needs all rows in the memory of one process; empty if it does not."""

    def __post_init__(self) -> None:
        """Compute everything before any data are read; reasons given as text become facts."""
        object.__setattr__(self, "why", tuple(map(_as_fact, self.why)))
        self.facts  # noqa: B018  # everything follows from the parameters
        require_finite(self)

    @cached_property
    @abstractmethod
    def event(self) -> Event:
        """Accounting event of one run."""

    def stated_event(self, own: Event) -> Event:
        """Return the declared event if there is one, and otherwise ``own``, the event of the plan's own noise.

        Raises
        ------
        RuntimeError
            If the declared event does not dominate ``own``. This error indicates a bug in the method.
        """
        if self.declared is None:
            return own
        if not dominates(self.declared, own):
            raise RuntimeError(f"the declared event {self.declared!r} does not dominate the planned {own!r} (T70)")
        return self.declared

    @property
    @abstractmethod
    def theorems(self) -> tuple[str, ...]:
        """Tags of the theorems behind the guarantee, in addition to those of the event."""

    @property
    @abstractmethod
    def noise(self) -> str:
        """Noise and its distribution as a phrase, such as "Gaussian noise on the coefficients"."""

    @property
    def noise_family(self) -> str:
        """Description of the noise without its rounding grid."""
        return self.noise

    @property
    @abstractmethod
    def numbers(self) -> dict[str, object]:
        """Public numbers specific to the method, as plain data."""

    @property
    @abstractmethod
    def longest(self) -> float:
        """Bound on the norm of the released coefficients, exceeded with probability below 2^-190."""

    @property
    def intermediate(self) -> dict[str, float]:
        """Bounds on intermediate results of a run, keyed by the names that error messages use."""
        return {}

    @abstractmethod
    def learn(self, data: BoundedData, stream: Stream) -> Floats:
        """Return the coefficients to release.

        **Only this method combines private data with noise.** `run` calls it after the budget has been charged.

        Parameters
        ----------
        data
            Data within the public bounds of the plan.
        stream
            Stream of random bits.

        Returns
        -------
        ndarray
            Coefficients for the scaled features of `dperm.data.space.FeatureSpace`, with the intercept last.
        """

    @property
    def adjacency(self) -> Adjacency:
        """Neighbouring relation of the goal."""
        return self.goal.adjacency

    @property
    def most_rows(self) -> int:
        """Public limit on the number of rows. The bounds on rounding errors hold up to this number."""
        if self.row_bound is not None:
            return self.row_bound
        return row_limit(self.spec.n, self.adjacency if self.declared is None else None)

    @cached_property
    def facts(self) -> ReleaseFacts:
        """Facts known before a run: goal, event, noise, theorems and public numbers."""
        public = {"method": self.method, **problem_facts(self.spec), "most_rows": self.most_rows, **self.numbers}
        return ReleaseFacts(goal=self.goal, event=self.event, noise=self.noise, theorems=self.theorems, public=public)

    def __str__(self) -> str:
        """Return the reasons, then the public numbers, one per line."""
        reasons = [f"- {reason}" for reason in self.why]
        numbers = [f"  {name} = {value}" for name, value in self.describe().items() if not isinstance(value, dict)]
        return "\n".join([f"Plan for {self.goal}:", *reasons, *numbers])

    def _repr_html_(self) -> str:
        """Return goal, method, reasons and public numbers for notebooks."""
        rows = [("method", method_description(self.method)), ("noise", self.noise)]
        return plan_card("Plan", guarantee_as_dict(self.goal), rows, self.why, self.describe())

    def describe(self) -> dict[str, object]:
        """Return the public numbers of the plan, as stored in the record of a run."""
        return dict(self.facts.public)

    def because(self, *reasons: Fact | str) -> Self:
        """Return a copy of the plan with additional reasons, placed before its own.

        Parameters
        ----------
        *reasons
            Reasons, as `Fact` objects or sentences.

        Returns
        -------
        Plan
            The plan with the additional reasons.
        """
        return replace(self, why=(*map(_as_fact, reasons), *self.why))

    def run(
        self, read: Callable[[], BoundedData], budget: Budget | None = None, *, bits: Bits | None = None
    ) -> Release[Floats]:
        """Train on the data and return the coefficients as a release.

        The coefficients apply to the scaled features of `dperm.data.space.FeatureSpace`, with the intercept last. Every
        run takes the same steps: check the budget, read the data, reserve the charge, compute the noisy coefficients,
        and commit the charge.

        Parameters
        ----------
        read
            Function that reads the data and enforces their public bounds (`dperm.data.bounded.enforce`).
        budget
            Budget to charge; None charges nothing.
        bits
            Source of randomness; None uses the operating system. ``NotPrivateBits(seed)`` makes the run reproducible
            and NOT PRIVATE.

        Returns
        -------
        Release
            Coefficients, with their guarantee, privacy profile, accounting event and record.

        Raises
        ------
        DataError
            If the data are invalid. Nothing has been charged or drawn.
        BudgetError
            If ``budget`` does not cover the event. Nothing is charged.
        ParameterError
            If the radius or the class weights of the data exceed those of the plan, or if the labels are not of the
            kind required by the loss.

        Notes
        -----
        *Guarantees.* The release meets ``goal`` for every data set within the public bounds. The budget is charged
        before the first draw of noise. If a later step fails, the charge is not refunded.

        ===================  ==========================================================
        edge case            result
        ===================  ==========================================================
        empty data           an ordinary release under add/remove
        more than most_rows  DataError before the charge
        n differs from spec  DataError under replace-one; not compared under add/remove
        ===================  ==========================================================
        """
        return release(self.facts, lambda: self._checked(read()), self.learn, budget=budget, bits=bits)

    def _checked(self, data: BoundedData) -> BoundedData:
        """Return the data if they satisfy the public bounds of the plan."""
        low, high = data.target.weights_range
        if not (data.space.radius <= self.spec.radius and 0 < low <= high <= self.spec.weight):
            raise ParameterError(
                f"radius and class weights of the data must be at most those of the plan, {self.spec.radius:.6g} and "
                f"{self.spec.weight:.6g}, got {data.space.radius:.6g} and {high:.6g}.",
                remedy="Plan again.",
            )
        if data.target.kind is not self.spec.loss.labels or data.target.outputs != self.spec.outputs:
            raise ParameterError(f"the labels must be of the kind planned for the loss {self.spec.loss.name!r}.")
        if data.space.size != self.spec.width:
            raise DataError(f"X must have the columns of the plan for {self.spec.dim} coefficients.")
        if self.rows_in_memory:
            data.require_memory(self.method, self.rows_in_memory)
        if self.adjacency is Adjacency.REPLACE_ONE and data.rows != (self.spec.n or data.rows):
            raise DataError(f"{arg('n', self.spec.n)} was declared, but X has a different number of rows.")
        if data.rows > self.most_rows:
            raise too_many_rows(self.most_rows)
        return data


def require_finite(plan: Plan) -> None:
    """Refuse a plan whose run could overflow. A NaN or infinite release would be charged for nothing.

    Raises
    ------
    ParameterError
        If a public bound on a coefficient, a score or an intermediate number leaves too little room in double
        precision, or if a number of the plan is not finite.
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
    """Return the error for public arguments too extreme for doubles."""
    given = [
        f"{arg('feature_norm')} or {arg('bounds')} (radius {spec.radius:.3g})",
        *([] if spec.regularization is None else [f"{arg('C')} (Lambda = 1/C = {spec.regularization:.3g})"]),
        *([] if spec.clip is None else [f"{arg('clip')} ({spec.clip:.3g})"]),
        *([] if spec.weight == 1 else [f"{arg('class_weight')} ({spec.weight:.3g})"]),
    ]
    return ParameterError(
        f"{', '.join(given)} and the goal are too extreme together: {problem}.",
        remedy=f"Rescale the features to a {arg('feature_norm')} near 1, and leave {arg('C')} and {arg('clip')} "
        f"to the plan.",
    )


def problem_facts(spec: ProblemSpec) -> dict[str, object]:
    """Return the public constants of the problem, as stored in a record."""
    return {
        "loss": spec.loss.name,
        **{f"loss_{name}": value for name, value in vars(spec.loss).items()},
        "regularization": spec.regularization,
        "clip": spec.clip,
        "weight": spec.weight,
        "lipschitz": None if spec.clip is None and math.isinf(spec.loss.slope) else spec.lipschitz,
        "smoothness": spec.smoothness if math.isfinite(spec.smoothness) else None,
        "radius": spec.radius,
        "dim": spec.dim,
        "n": spec.n,
    }


def noise_norm(mechanism: AdditiveMechanism | None, dim: int) -> float:
    """Return a bound on the norm of the noise, exceeded with probability below 2^-190; 0 for None.

    ``dim`` is the number of coefficients.
    """
    return 0.0 if mechanism is None else FAR * math.sqrt(dim) * mechanism.standard_deviation


def _as_fact(reason: Fact | str) -> Fact:
    """Return a reason as a fact; plain text gets the code "note"."""
    return reason if isinstance(reason, Fact) else Fact("note", "{text}", {"text": str(reason)})


def _floats(value: object) -> Iterator[float]:
    """Yield every float in nested plain data."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _floats(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _floats(item)


def row_limit(n: int | None, adjacency: Adjacency | None = None) -> int:
    """Return the number of rows covered by a plan's error bounds.

    Under replace-one it is n itself, because a run compares n with the data. Under add/remove a declared n is never
    compared with the data, so the limit leaves room for a rough n: 16 n and at least 2^20, or 2^22 without a declared
    n. Pass no adjacency for a noisy n.
    """
    if n is not None and adjacency is Adjacency.REPLACE_ONE:
        return n
    return MOST_ROWS if n is None else max(FEWEST_MOST_ROWS, 16 * n)


def solver_tolerance(spec: ProblemSpec, *, linear: float = 0.0, adjacency: Adjacency | None = None) -> float:
    """Return the gradient norm certified by every solve (T31), from public constants, so the noise may depend on it.

    It is at least 1e-6 L, and never below the attainable tolerance for the allowed number of rows (T202), which exceeds
    1e-6 L beyond some 10^7 rows, or for coefficients of an extreme size.

    The noise for the tolerance is the same in all directions, also in those with little other noise. This is why the
    tolerance is so small. ``linear`` bounds the norm of the linear term. ``adjacency`` is that of a run that compares n
    with the data, and None otherwise.
    """
    return max(RELATIVE_TOLERANCE * spec.lipschitz, attainable_tolerance(spec, row_limit(spec.n, adjacency), linear))
