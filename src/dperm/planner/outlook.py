# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""All methods side by side: noise, what is proved, and what to expect."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property

from dperm import checks
from dperm.errors import AdjacencyError, AssumptionError, ConversionError, DpermError
from dperm.planner.expectation import Expected, expected_accuracy
from dperm.planner.models import checked_goal, checked_method, noise_of, plan_of
from dperm.planner.sentences import outlook_facts
from dperm.planner.shape import Shape
from dperm.planner.sizes import Goal, require_trials
from dperm.planner.trials import Trials
from dperm.presentation.facts import Fact
from dperm.privacy import ApproxDP
from dperm.privacy.guarantee import guarantee_as_dict
from dperm.theory import MethodBound, compare_methods

METHODS = ("auto", "objective", "output", "gradient", "sgd")


@dataclass(frozen=True)
class MethodOutlook:
    """One method.

    Attributes
    ----------
    method, used
        As asked for, and what the plan took; ``used`` is empty where the method does not apply.
    noise
        Standard deviation in each coordinate, by the plan; None where none is added.
    noise_kind
        Its law, and where it is added.
    proved
        The bound on the expected excess risk, where one is known. It is about the unclipped problem at the
        regularisation, or number of steps, that makes the bound least, and not about the defaults.
    expected
        What trials had; None where none were made.
    refusal
        Error of the plan where the method does not apply; None where it does.
    """

    method: str
    used: str = ""
    noise: float | None = None
    noise_kind: str = ""
    proved: MethodBound | None = None
    expected: Expected | None = None
    refusal: DpermError | None = None

    @property
    def refused(self) -> str:
        """Message of ``refusal``; empty without one."""
        return "" if self.refusal is None else str(self.refusal)

    def as_dict(self) -> dict[str, object]:
        """Plain data."""
        own = {name: getattr(self, name) for name in ("method", "used", "noise", "noise_kind", "refused")}
        return {
            **own,
            "proved": None if self.proved is None else _finite(asdict(self.proved)),
            "expected": None if self.expected is None else self.expected.as_dict(),
        }


@dataclass(frozen=True)
class Outlook:
    """What to expect of each method.

    Attributes
    ----------
    shape, goal
        What was asked.
    rows
        One for each method, in the order asked for.
    reference_norm
        R0: the bounds are relative to the best coefficients of this norm.
    """

    shape: Shape
    goal: Goal
    rows: tuple[MethodOutlook, ...]
    reference_norm: float

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Results, then assumptions, as facts."""
        return outlook_facts(self)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The facts as sentences for Python users."""
        return tuple(map(str, self.facts))

    def row(self, method: str) -> MethodOutlook:
        """That of one method."""
        return next(row for row in self.rows if row.method == method)

    def as_dict(self) -> dict[str, object]:
        """Plain data, for JSON."""
        return {
            "shape": self.shape.as_dict(),
            "goal": guarantee_as_dict(self.goal),
            "reference_norm": self.reference_norm,
            "methods": [row.as_dict() for row in self.rows],
            "sentences": list(self.sentences),
        }


def outlook(
    shape: Shape,
    goal: Goal,
    *,
    methods: Sequence[str] = METHODS,
    reference_norm: float = 1.0,
    trials: Trials | None = None,
    simulate: bool = True,
) -> Outlook:
    """Noise, proved bound and expected accuracy of each method, from public numbers alone.

    Parameters
    ----------
    shape, goal
        Public numbers, and the guarantee.
    methods
        Names, as the estimator takes them.
    reference_norm
        R0: what the bounds are relative to.
    trials
        How many, and from which seed.
    simulate
        False leaves the trials out: noise and bounds only, at once.
    """
    asked = _Asked(shape, checked_goal(goal), checks.positive("reference_norm", reference_norm))
    if simulate:
        require_trials(shape)
    names, trials = [checked_method(method) for method in methods], trials or Trials()
    rows: dict[str, MethodOutlook] = {}
    for place, name in enumerate(names):
        row = asked.row(name)
        if simulate and not row.refused:
            row = replace(row, expected=asked.expected(row, rows, trials.part(place, len(names))))
        rows[name] = row
        trials.progress((place + 1) / len(names))
    return Outlook(shape, asked.goal, tuple(rows.values()), asked.norm)


@dataclass(frozen=True)
class _Asked:
    shape: Shape
    goal: Goal
    norm: float

    @cached_property
    def bounds(self) -> dict[str, MethodBound]:
        """What is proved, by method (T57, T48a)."""
        delta = self.goal.delta if isinstance(self.goal, ApproxDP) else 0.0
        found = compare_methods(
            self.shape.problem(self.norm),
            self.shape.n,
            epsilon=self.goal.epsilon,
            delta=delta,
            adjacency=self.goal.adjacency,
        )
        return {bound.method: bound for bound in found}

    def row(self, method: str) -> MethodOutlook:
        """Without trials."""
        try:
            plan = plan_of(self.shape, self.goal, method)
        except (AssumptionError, AdjacencyError, ConversionError) as error:
            return MethodOutlook(method, refusal=error)
        return MethodOutlook(method, plan.method, noise_of(plan), plan.noise, self.bounds.get(plan.method))

    def expected(self, row: MethodOutlook, known: dict[str, MethodOutlook], trials: Trials) -> Expected:
        """By trials, unless the same method was tried already under another name."""
        for other in known.values():
            if other.used == row.used and other.expected is not None:
                return replace(other.expected, method=row.method)
        return expected_accuracy(self.shape, self.goal, method=row.method, trials=trials)


def _finite(facts: dict[str, object]) -> dict[str, object]:
    """None for what no JSON number is."""
    return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in facts.items()}
