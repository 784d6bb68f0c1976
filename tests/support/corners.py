# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Random corners of the permitted ranges: every estimator, method and mechanism at extreme public arguments."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dperm import GDP, ZCDP, ApproxDP, PureDP
from dperm.errors import DpermError, DpermWarning
from dperm.mechanisms.exponential import ExponentialMechanism
from dperm.mechanisms.gamma_norm import GammaNormMechanism
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.mechanisms.laplace import DiscreteLaplaceMechanism, LaplaceMechanism
from dperm.mechanisms.randomized_response import RandomizedResponseMechanism
from dperm.mechanisms.releases import Count, Covariance, Histogram, Mean, Quantile, Sum, Threshold
from dperm.methods import Adam, AdamW, Momentum, SampledGradient
from dperm.methods.bolt_on import BoltOn
from dperm.methods.finite import FiniteClass
from dperm.methods.gradient import GradientPerturbation
from dperm.sklearn import (
    PrivateHuberRegressor,
    PrivateLinearRegression,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateQuantileRegressor,
)

Generator = np.random.Generator
ESTIMATORS = (
    PrivateLogisticRegression,
    PrivateLinearSVC,
    PrivateLinearRegression,
    PrivateHuberRegressor,
    PrivateQuantileRegressor,
)
ADJACENCIES = ("replace_one", "add_remove")


class CountingBudget:
    """A budget that covers everything, and counts what was charged."""

    def __init__(self) -> None:
        self.charges = 0

    def check(self, event: Any) -> None:
        """Cover it."""

    def reserve(self, event: Any, *, request_id: str | None = None, **options: Any) -> Any:
        """Count the charge."""
        self.charges += 1
        return _Reservation()


class _Reservation:
    state, repeated = "reserved", False
    receipt: ClassVar[dict[str, object]] = {}

    def commit(self, digest: str) -> None:
        """Close."""

    def burn(self, reason: str) -> None:
        """Close."""

    def record_stage(self, name: str, facts: Any) -> None:
        """Cost nothing."""


@dataclass(frozen=True)
class Outcome:
    """A corner that was tried: ``problem`` is empty if its release was finite, or refused before the charge."""

    corner: str
    refused: str = ""
    problem: str = ""


def outcome(corner: str, run: Callable[[CountingBudget], list[Any]]) -> Outcome:
    """Run a release, which returns all numbers that it makes known."""
    budget = CountingBudget()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", DpermWarning)
            numbers = run(budget)
    except DpermError as error:
        spent = f"refused after the charge: {error}" if budget.charges else ""
        return Outcome(corner, refused=str(error), problem=spent)
    except (ArithmeticError, Warning, ValueError, AssertionError) as error:
        return Outcome(corner, problem=f"{type(error).__name__} with {budget.charges} charges: {error}")
    finite = all(np.isfinite(np.asarray(found, dtype=np.float64)).all() for found in numbers)
    return Outcome(corner, problem="" if finite and budget.charges == 1 else f"{budget.charges} charges: {numbers}")


def model_corner(drawn: Generator) -> Outcome:
    """One fit of an estimator at extreme arguments, and its predictions for rows within the bounds."""
    kind = ESTIMATORS[drawn.integers(len(ESTIMATORS))]
    name = _method_name(kind, drawn)
    arguments = _common(drawn, usual=name in ("sgd", "auto", "posterior")) | _labels(kind, drawn)
    dim, rows = int(drawn.integers(1, 4)), int(drawn.integers(2, 12))
    arguments |= _bounds(drawn, dim)
    X, y = _rows(drawn, arguments, (rows, dim)), _targets(drawn, arguments, rows)

    def run(budget: CountingBudget) -> list[Any]:
        model = kind(**arguments, method=_method(drawn, name, dim + arguments["fit_intercept"]), ledger=budget).fit(
            X, y
        )
        inside = _inside(drawn, arguments, (4, dim))
        predicted = model.predict(inside) if "label_range" in arguments else model.decision_function(inside)
        return [model.coef_, model.intercept_, predicted]

    return outcome(f"{kind.__name__}({name}, {arguments})", run)


def mechanism_corner(drawn: Generator) -> Outcome:
    """One release of a mechanism or a statistic at extreme arguments."""
    makers = (_additive, _statistic, _choice)
    made = None

    def run(budget: CountingBudget) -> list[Any]:
        nonlocal made
        made = makers[drawn.integers(len(makers))](drawn)
        return [made[1](budget).value]

    found = outcome("", run)
    return Outcome(str(made[0]) if made else "refused when it was made", found.refused, found.problem)


def _magnitude(drawn: Generator, low: float, high: float) -> float:
    """An end of the range, one near it, 1, or anything between, by orders of magnitude."""
    lowest, highest = np.log10(low), np.log10(high)
    exponents = (lowest, highest, drawn.uniform(lowest, highest), 0.0, lowest + 1, highest - 1)
    return float(min(max(10.0 ** exponents[drawn.integers(len(exponents))], low), high))


def _goal(drawn: Generator) -> Any:
    epsilon, adjacency = _magnitude(drawn, 1e-12, 500.0), ADJACENCIES[drawn.integers(2)]
    delta = _delta(drawn)
    match drawn.integers(4):
        case 0:
            return GDP(_magnitude(drawn, 1e-9, 30.0), adjacency)
        case 1:
            return ZCDP(_magnitude(drawn, 1e-12, 500.0), adjacency)
    return ApproxDP(epsilon, delta, adjacency) if delta else PureDP(epsilon, adjacency)


def _delta(drawn: Generator) -> float:
    return float(drawn.choice([0.0, 1e-300, 1e-30, 1e-6, 0.1, 0.999]))


def _common(drawn: Generator, *, usual: bool) -> dict[str, Any]:
    """Arguments of all estimators. ``usual`` goals are for methods whose account of extreme ones takes seconds."""
    declared = drawn.random() < 0.8
    adjacency = ADJACENCIES[drawn.integers(2)]
    return {
        "epsilon": float(drawn.choice([0.5, 1.0, 8.0])) if usual else _magnitude(drawn, 1e-10, 500.0),
        "delta": float(drawn.choice([1e-6, 1e-6, 0.1])) if usual else _delta(drawn),
        "adjacency": adjacency,
        "C": None if drawn.random() < 0.3 else _magnitude(drawn, 1e-30, 1e30),
        "clip": None if drawn.random() < 0.5 else _magnitude(drawn, 1e-100, 1.0),
        "fit_intercept": bool(drawn.random() < 0.7),
        "n": int(_magnitude(drawn, 1, 2**53)) if declared and adjacency == "add_remove" else None,
    }


def _labels(kind: type, drawn: Generator) -> dict[str, Any]:
    if kind in (PrivateLogisticRegression, PrivateLinearSVC):
        several = kind is PrivateLogisticRegression and drawn.random() < 0.3
        weights = {0: _magnitude(drawn, 1e-30, 1e6), 1: _magnitude(drawn, 1e-30, 1e6)}
        given = {"classes": (0, 1, 2) if several else (0, 1)}
        given |= {"class_weight": weights} if drawn.random() < 0.4 else {}
        if kind is PrivateLinearSVC:
            given["loss"] = str(drawn.choice(["huber_hinge", "smoothed_hinge", "hinge"]))
            given["width"] = _magnitude(drawn, 1e-6, 1e6)
        return given
    given = {"label_range": _interval(drawn)}
    if kind is PrivateHuberRegressor and drawn.random() < 0.5:
        low, high = given["label_range"]
        given["kappa"] = _magnitude(drawn, 1e-6, 1e6) * (high - low) / 2
    if kind is PrivateQuantileRegressor:
        given["quantile"] = float(drawn.choice([1e-6, 0.5, 1 - 1e-6]))
    return given


def _interval(drawn: Generator) -> tuple[float, float]:
    width, center = _magnitude(drawn, 1e-99, 1e99), _magnitude(drawn, 1e-99, 9e99) * drawn.choice([-1, 0, 0, 1])
    low, high = center - width / 2, center + width / 2
    return (float(low), float(high)) if high > low else (0.0, width)


def _bounds(drawn: Generator, dim: int) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if drawn.random() < 0.6:
        given["feature_norm"] = _magnitude(drawn, 1e-100, 1e100)
    if not given or drawn.random() < 0.5:
        given["bounds"] = [_interval(drawn) for _ in range(dim)]
    return given


def _ends(arguments: dict[str, Any], dim: int) -> np.ndarray:
    """The largest row within the bounds, as a (2, dim) array of low and high."""
    if "bounds" in arguments:
        return np.array(arguments["bounds"]).T
    norm = arguments["feature_norm"] / dim**0.5
    return np.array([[-norm] * dim, [norm] * dim])


def _inside(drawn: Generator, arguments: dict[str, Any], shape: tuple[int, int]) -> np.ndarray:
    return np.asarray(np.where(drawn.random(shape) < 0.5, *_ends(arguments, shape[1])))


def _rows(drawn: Generator, arguments: dict[str, Any], shape: tuple[int, int]) -> np.ndarray:
    """Rows at their bounds, far beyond them, or next to zero."""
    kind, inside = drawn.integers(4), _inside(drawn, arguments, shape)
    if kind == 0:
        return np.asarray(np.sign(inside) * 1.7e308)
    return np.asarray(inside if kind < 3 else np.where(drawn.random(shape) < 0.5, inside, 5e-324))


def _targets(drawn: Generator, arguments: dict[str, Any], rows: int) -> np.ndarray:
    if "classes" in arguments:
        return np.asarray(drawn.integers(len(arguments["classes"]), size=rows))
    ends = np.array([*arguments["label_range"], 1.7e308, -1.7e308, 0.0])
    return np.asarray(drawn.choice(ends, rows))


def _method_name(kind: type, drawn: Generator) -> str:
    """A method that takes the loss of the estimator."""
    names = ["auto", "gradient", "sgd"]
    if kind is not PrivateQuantileRegressor:
        names += ["objective", "output", "bolt_on", "posterior"]
    if kind is PrivateLinearRegression:
        names += ["sufficient", "sufficient"]
    if kind in (PrivateLogisticRegression, PrivateLinearSVC):
        names.append("finite")
    return str(drawn.choice(names))


def _method(drawn: Generator, name: str, size: int) -> Any:
    """The method by its name, or with extreme settings of its own."""
    if name == "sgd":
        optimizers = (None, Momentum(0.1, 0.9), Adam(_magnitude(drawn, 1e-6, 1e3)), AdamW(0.1))
        optimizer = optimizers[drawn.integers(len(optimizers))]
        return SampledGradient(steps=int(drawn.integers(1, 12)), rate=0.5, optimizer=optimizer)
    if name == "finite":
        return FiniteClass((drawn.normal(size=(4, size)) * _magnitude(drawn, 1e-100, 1e100)).tolist())
    if name == "gradient" and drawn.random() < 0.5:
        return GradientPerturbation(steps=int(drawn.integers(1, 30)), step_size=_magnitude(drawn, 1e-100, 1e100))
    if name == "bolt_on" and drawn.random() < 0.3:
        return BoltOn(passes=3, step_size=_magnitude(drawn, 1e-100, 1e100))
    return name


def _additive(drawn: Generator) -> Any:
    kind = (LaplaceMechanism, DiscreteLaplaceMechanism, GaussianMechanism, GammaNormMechanism)[drawn.integers(4)]
    dim, sensitivity = int(drawn.integers(1, 5)), _magnitude(drawn, 5e-324, 1.7e308)
    if kind is DiscreteLaplaceMechanism:
        sensitivity = int(_magnitude(drawn, 1, 2**60))
    goal, error = _goal(drawn), 0.0 if drawn.random() < 0.6 else _magnitude(drawn, 5e-324, 1e300)
    options = {} if kind is DiscreteLaplaceMechanism else {"numerical_error": error}
    mechanism = kind.calibrate(sensitivity, goal, dim=dim, **options)
    value = drawn.choice([0.0, 1.0, -1.0, 1.7e308, -1.7e308, 5e-324, 2.0**52], dim)
    if kind is DiscreteLaplaceMechanism:
        value = drawn.choice([0.0, 1.0, 2.0**52, -(2.0**52)], dim)
    return mechanism, lambda budget: mechanism.release(value, budget)


def _statistic(drawn: Generator) -> Any:
    goal, rows = _goal(drawn), int(drawn.integers(1, 8))
    n = rows if goal.adjacency.value == "replace_one" else None
    bounds, norm = _wide(drawn), _magnitude(drawn, 2.0**-400, 2.0**400)
    numbers = drawn.choice([*bounds, 0.0, 1.7e308, -1.7e308], rows)
    made: Any
    match drawn.integers(5):
        case 0:
            made = Sum(goal, bounds=bounds)
        case 1:
            made = Mean(goal, bounds=bounds, n=n)
        case 2:
            made, numbers = Count(goal), numbers > 0
        case 3:
            made = Histogram(goal, edges=[bounds[0], bounds[0] / 2 + bounds[1] / 2, bounds[1]])
        case _:
            dim = int(drawn.integers(1, 4))
            table = np.resize(numbers, (rows, dim))
            if drawn.random() < 0.5:
                made, numbers = Sum(goal, norm=norm, dim=dim), table
            else:
                center = (drawn.choice([0.0, -1.0, 1.0], dim) * _magnitude(drawn, 1e-120, 2.0**400)).tolist()
                made = Covariance(goal, norm, dim=dim, n=n, center=center, psd=bool(drawn.random() < 0.5))
                numbers = table
    return made, lambda budget: made.release(numbers, budget)


def _wide(drawn: Generator) -> tuple[float, float]:
    width, side = _magnitude(drawn, 2.0**-400, 2.0**400), drawn.integers(3)
    return ((0.0, width), (-width, width), (-width, -width / 2))[side]


def _choice(drawn: Generator) -> Any:
    epsilon = _magnitude(drawn, 1e-12, 500.0)
    goal, rows, bounds = PureDP(epsilon, ADJACENCIES[drawn.integers(2)]), int(drawn.integers(1, 8)), _wide(drawn)
    numbers = drawn.choice([*bounds, 0.0, 1.7e308, -1.7e308], rows)
    made: Any
    match drawn.integers(4):
        case 0:
            made = Quantile(goal, float(drawn.choice([0.0, 1e-300, 0.5, 1.0])), bounds=bounds)
            return made, lambda budget: made.release(numbers, budget)
        case 1:
            made = Threshold(goal, bounds=bounds)
            labels = drawn.integers(2, size=rows)
            return made, lambda budget: _number(made.release(numbers, labels, budget))
        case 2:
            made = ExponentialMechanism.calibrate(_magnitude(drawn, 5e-324, 1.7e308), goal, candidates=3)
            scores = drawn.choice([0.0, 1.7e308, -1.7e308, 5e-324, 1.0], 3)
            return made, lambda budget: made.release(scores, budget)
    size = int(drawn.choice([2, 3, 2**31]))
    made = RandomizedResponseMechanism.calibrate(PureDP(epsilon, "replace_one"), categories=size)
    answers = drawn.integers(size, size=rows)

    def estimated(budget: CountingBudget) -> Any:
        released = made.release(answers, budget)
        assert size > 3 or np.isfinite(made.estimate(released.value)).all()
        return released

    return made, estimated


def _number(release: Any) -> Any:
    @dataclass(frozen=True)
    class Threshold:
        value: float

    return Threshold(release.value.threshold)
