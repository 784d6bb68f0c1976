# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Comparison of all methods before a fit: noise, proved bound and expected accuracy, as numbers and facts."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property

from dperm import checks
from dperm.errors import AdjacencyError, AssumptionError, ConversionError, DpermError
from dperm.planner.expectation import (
    ExpectedAccuracy,
    checked_goal,
    checked_method,
    expected_accuracy,
    noise_of,
    plan_of,
)
from dperm.planner.shape import Shape
from dperm.planner.simulated_data import REMOVED
from dperm.planner.trials import Goal, Trials, require_trials
from dperm.presentation.facts import Fact
from dperm.presentation.numbers import format_number
from dperm.presentation.phrases import count_of
from dperm.privacy import ApproxDP
from dperm.privacy.guarantee import guarantee_as_dict
from dperm.theory import MethodBound, compare_methods

METHODS = ("auto", "objective", "output", "gradient", "sgd")
"""Methods that `outlook` compares by default."""
ONE_SIDED = Fact(
    "outlook.one_sided",
    "A proved bound is one-sided: the excess risk is at most this large, and usually far smaller. It applies to the "
    "problem without clipping, at the regularization or number of steps with the smallest bound, and not to the "
    "default settings of the estimators.",
)
MADE_UP = Fact(
    "outlook.made_up",
    "Expected accuracies come from trials on synthetic tables: no data were read, and the noise of the trials is not "
    "private.",
)


@dataclass(frozen=True)
class MethodOutlook:
    """Noise, proved bound and expected accuracy of one method.

    Attributes
    ----------
    method, used
        Requested method, and the method that the plan chose. ``used`` is empty if the requested method does not apply.
    noise
        Standard deviation of the noise in each coordinate; None for a method without additive noise.
    noise_kind
        Distribution of the noise, and the quantity to which it is added.
    noise_family
        Description of the noise without its rounding grid.
    proved
        Proved bound on the expected excess risk; None if no bound is known. The bound applies to the problem without
        clipping, with the regularization or the number of steps that minimizes the bound. The bound does not apply to
        the default settings of the estimator.
    expected
        Expected accuracy from the trials; None without trials.
    refusal
        Error raised during planning if the method does not apply; None if the method applies.
    """

    method: str
    used: str = ""
    noise: float | None = None
    noise_kind: str = ""
    noise_family: str = ""
    proved: MethodBound | None = None
    expected: ExpectedAccuracy | None = None
    refusal: DpermError | None = None

    @property
    def refused(self) -> str:
        """Message of ``refusal``; empty if the method applies."""
        return "" if self.refusal is None else str(self.refusal)

    def as_dict(self) -> dict[str, object]:
        """Return the attributes as plain data, with None for infinite numbers."""
        own = {name: getattr(self, name) for name in ("method", "used", "noise", "noise_kind", "refused")}
        return {
            **own,
            "proved": None if self.proved is None else _finite(asdict(self.proved)),
            "expected": None if self.expected is None else self.expected.as_dict(),
        }


@dataclass(frozen=True)
class Outlook:
    """Comparison of several methods for one table.

    Attributes
    ----------
    shape, goal
        Public description of the table, and the privacy guarantee.
    rows
        One entry per method, in the requested order.
    reference_norm
        Norm R0. The bounds limit the excess risk over the best coefficients with norm at most R0.
    """

    shape: Shape
    goal: Goal
    rows: tuple[MethodOutlook, ...]
    reference_norm: float

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Findings and their assumptions, each with a code, a sentence template and values."""
        return _outlook_facts(self)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The `facts` as English sentences.

        Names of options are written as Python arguments, not as command-line options.
        """
        return tuple(map(str, self.facts))

    def row(self, method: str) -> MethodOutlook:
        """Return the entry of one requested method.

        Parameters
        ----------
        method
            Name of a requested method.

        Returns
        -------
        MethodOutlook
            The entry.
        """
        return next(row for row in self.rows if row.method == method)

    def as_dict(self) -> dict[str, object]:
        """Return the comparison as plain data for JSON."""
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
    """Compare several methods by noise, proved bound and expected accuracy, from public numbers alone.

    Parameters
    ----------
    shape, goal
        Public description of the table, and the privacy guarantee.
    methods
        Names of the methods to compare: "auto", "objective", "output", "gradient", "sgd", "bolt_on" or "posterior".
    reference_norm
        Norm R0, greater than 0. The bounds limit the excess risk over the best coefficients with norm at most R0.
    trials
        Number and seed of the trials; None for ten trials with seed 0.
    simulate
        Whether to run the trials. With False, the result contains only the noise and the bounds.

    Returns
    -------
    Outlook
        One entry per method. For a method that does not apply, ``refused`` gives the reason.

    Raises
    ------
    ParameterError
        If a method is unknown, ``reference_norm`` is not positive, or the shape is too large for trials.

    Examples
    --------
    >>> from dperm import ApproxDP
    >>> from dperm.planner import Shape, outlook
    >>> found = outlook(Shape(5000, 5), ApproxDP(1.0, 1e-6, "replace_one"), methods=["output"], simulate=False)
    >>> found.row("output").used
    'output'
    """
    request = _Request(shape, checked_goal(goal), checks.positive("reference_norm", reference_norm))
    if simulate:
        require_trials(shape)
    names, trials = [checked_method(method) for method in methods], trials or Trials()
    rows: dict[str, MethodOutlook] = {}
    for place, name in enumerate(names):
        row = request.row(name)
        if simulate and not row.refused:
            row = replace(row, expected=request.expected(row, rows, trials.part(place, len(names))))
        rows[name] = row
        trials.progress((place + 1) / len(names))
    return Outlook(shape, request.goal, tuple(rows.values()), request.norm)


@dataclass(frozen=True)
class _Request:
    shape: Shape
    goal: Goal
    norm: float

    @cached_property
    def bounds(self) -> dict[str, MethodBound]:
        """Proved bounds by method (T57, T48a)."""
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
        """Return noise and bound of a method, without trials."""
        try:
            plan = plan_of(self.shape, self.goal, method)
        except (AssumptionError, AdjacencyError, ConversionError) as error:
            return MethodOutlook(method, refusal=error)
        return MethodOutlook(
            method,
            plan.method,
            noise=noise_of(plan),
            noise_kind=plan.noise,
            noise_family=plan.noise_family,
            proved=self.bounds.get(plan.method),
        )

    def expected(self, row: MethodOutlook, known: dict[str, MethodOutlook], trials: Trials) -> ExpectedAccuracy:
        """Run the trials, unless the same method was tried under another name."""
        for other in known.values():
            if other.used == row.used and other.expected is not None:
                return replace(other.expected, method=row.method)
        return expected_accuracy(self.shape, self.goal, method=row.method, trials=trials)


def _finite(facts: dict[str, object]) -> dict[str, object]:
    """Return the facts with None in place of infinite numbers, which JSON lacks."""
    return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in facts.items()}


def describe_guarantee(goal: Goal) -> str:
    """Return a guarantee as text, such as "epsilon 1, delta 1e-6 under replace_one"."""
    delta = f", delta {format_number(goal.delta)}" if isinstance(goal, ApproxDP) and goal.delta > 0 else " (pure)"
    return f"epsilon {format_number(goal.epsilon)}{delta} under {goal.adjacency.value}"


def describe_columns(shape: Shape) -> str:
    """Return the number of columns as text, such as "1 column" or "2,000 columns"."""
    return count_of(shape.dim, "column")


def shown_loss(expected: ExpectedAccuracy) -> float:
    """Return the cost of privacy as the difference of the two accuracies, each rounded to three digits."""
    return round(round(expected.without_privacy, 3) - round(expected.mean, 3), 3)


def _outlook_facts(found: Outlook) -> tuple[Fact, ...]:
    """Return the findings, then their assumptions."""
    tried = [row for row in found.rows if row.expected is not None]
    facts = [_expected_fact(found, tried[0])] if tried else []
    facts += _ranking_facts(tried) if len(tried) > 1 else []
    facts += [_signal_fact(found.shape)] if tried else []
    facts += [_bound_fact(found), ONE_SIDED]
    return tuple([*facts, MADE_UP] if tried else facts)


def _expected_fact(found: Outlook, row: MethodOutlook) -> Fact:
    expected = row.expected
    assert expected is not None
    lost = shown_loss(expected)
    chosen = " ({used} perturbation)" if row.used != row.method else ""
    plain = "the {without_privacy:.3f} of a model without privacy"
    against = f"{{loss:.3f}} below {plain}" if lost > 0 else f"not below {plain}"
    if expected.mean <= expected.majority + 0.005:
        guessing = ", and no better than always guessing the larger class ({majority:.3f})"
    else:
        guessing = "; always guessing the larger class gives {majority:.3f}"
    template = (
        "With {n:,} records, {columns} and {guarantee}, expect an accuracy of about {accuracy:.3f} with "
        f'{{@method:"{{method}}"}}{chosen}: {against}{guessing}.'
    )
    if expected.simulated_at != found.shape.n:
        template += (
            " The trials used {simulated_at:,} records and a larger epsilon, so that the noise has the same weight."
        )
    if expected.simulated_at != found.shape.n and expected.rough:
        template += " This is few for so many columns: the expectation is too low, by up to 0.04."
    values = {
        "n": found.shape.n,
        "columns": describe_columns(found.shape),
        "guarantee": describe_guarantee(found.goal),
        "method": row.method,
        "used": row.used,
        "accuracy": expected.mean,
        "loss": lost,
        "without_privacy": expected.without_privacy,
        "majority": expected.majority,
        "simulated_at": expected.simulated_at,
    }
    return Fact("outlook.expected", template, values)


def _ranking_facts(rows: list[MethodOutlook]) -> list[Fact]:
    """Return the methods in order of the cost of privacy; their trials may use tables of different sizes."""
    tried = {row.method: row.expected for row in rows if row.expected is not None}
    named = sorted((name for name in tried if name != "auto"), key=lambda name: tried[name].loss)
    costs = ", ".join(f"{name} {shown_loss(tried[name]):.3f}" for name in named)
    first, last = (tried[name] for name in (named[0], named[-1]))
    alike = " These trials cannot tell them apart." if _smallest_loss(last) <= _largest_loss(first) else ""
    values = {"costs": costs, "losses": {name: tried[name].loss for name in named}}
    facts = [Fact("outlook.costs", f"Cost of privacy in accuracy, by method: {{costs}}.{alike}", values)]
    chosen = tried.get("auto")
    if chosen is not None and _smallest_loss(chosen) > _largest_loss(first):
        facts.append(
            Fact(
                "outlook.better_method",
                '{@method:"{method}"} is expected to be better by about {gain:.2g} here than the choice of "auto". '
                "This is an expectation from trials on synthetic tables, not a proof.",
                {"method": named[0], "gain": chosen.loss - first.loss},
            )
        )
    return facts


def _smallest_loss(expected: ExpectedAccuracy) -> float:
    return expected.without_privacy - expected.high


def _largest_loss(expected: ExpectedAccuracy) -> float:
    return expected.without_privacy - expected.low


def _signal_fact(shape: Shape) -> Fact:
    if shape.baseline is not None:
        template = "The synthetic classes are as easy to separate as the declared baseline of {baseline:g} implies."
        return Fact("outlook.declared_baseline", template, {"baseline": shape.baseline})
    return Fact(
        "outlook.assumed_signal",
        "How well the classes can be separated is unknown: the best model is assumed to avoid {removed:.0%} of the "
        "errors made by always guessing the larger class. Give {@baseline} if the accuracy without privacy is known.",
        {"removed": REMOVED},
    )


def _bound_fact(found: Outlook) -> Fact:
    bounds = [row.proved for row in found.rows if row.proved is not None]
    if not bounds:
        return Fact("outlook.no_bound", "There is no proved bound for these methods.")
    best = min(bounds, key=lambda bound: bound.bound)
    values = {"method": best.method, "bound": best.bound, "norm": found.reference_norm}
    relative = "relative to the best coefficients of norm at most {norm:g}"
    if best.says_nothing:
        return Fact(
            "outlook.vacuous_bound",
            f"The proved bounds are vacuous here: the smallest is {{bound!u:3}} {relative}.",
            values,
        )
    template = f"Proved for {{method}} perturbation: an expected excess risk of at most {{bound!u:3}} {relative}."
    return Fact("outlook.proved_bound", template, values)
