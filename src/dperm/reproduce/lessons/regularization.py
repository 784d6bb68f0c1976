# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Excess risk against Lambda: too little regularization admits noise, too much shrinks the coefficients (T56a, E23).

The data are those of the lesson ``excess_risk``, with one number of records.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dperm.privacy import ApproxDP
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.categories import Categories, ladder
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, LessonTable, Outcome, guarantee_parameters
from dperm.reproduce.private_runs import RepeatedRuns
from dperm.theory import ExcessRisk, objective_empirical_risk, output_empirical_risk

GOAL = ApproxDP(1.0, 1e-5, "replace_one")
DIM, RATIO, RECORDS = 20, 0.55, 16_000
STRENGTHS, QUICK_STRENGTHS = np.geomspace(0.5, 2048, 25), np.geomspace(0.5, 2048, 9)
REPEATS, QUICK_REPEATS = 1000, 200
Method = Literal["output", "objective"]
METHODS: tuple[Method, ...] = ("output", "objective")


@dataclass(frozen=True)
class ExcessOverStrength:
    """Mean excess empirical risks at one Lambda and their bounds, by method."""

    strength: float
    measured: dict[Method, float]
    bounds: dict[Method, float]


def run(effort: Effort) -> Outcome:
    """Run both methods on deterministic data with simulated noise."""
    data = ladder(RECORDS * (1 - RATIO) * np.power(RATIO, np.arange(DIM)))
    runs = RepeatedRuns(data, GOAL, QUICK_REPEATS if effort.quick else REPEATS, effort.seed)
    strengths, found = QUICK_STRENGTHS if effort.quick else STRENGTHS, []
    for place, strength in enumerate(strengths):
        found.append(_at(runs, float(strength)))
        effort.progress((place + 1) / len(strengths))
    parameters: dict[str, Cell] = {
        **guarantee_parameters(GOAL),
        "records": int(data.n),
        "data": f"{DIM} categories, each {RATIO:g} times as frequent as the one before, three of four labels are 1",
        "excess of theta = 0": float(data.excess(np.zeros(DIM))),
        "seed": effort.seed,
    }
    advised = {method: _excess(runs, method, bound(data, method).regularization) for method in METHODS}
    return Outcome(parameters, _table(found), _picture(found), _checks(found, advised), _sentence(found, data))


def _at(runs: RepeatedRuns, strength: float) -> ExcessOverStrength:
    return ExcessOverStrength(
        strength,
        {method: _excess(runs, method, strength) for method in METHODS},
        {method: bound(runs.data, method, strength).bound for method in METHODS},
    )


def _excess(runs: RepeatedRuns, method: Method, strength: float) -> float:
    theta = runs.output(strength) if method == "output" else runs.objective(strength)
    return float(runs.data.excess(theta).mean())


def bound(data: Categories, method: Method, strength: float | None = None) -> ExcessRisk:
    """Return the proved bound at this Lambda, or at the best Lambda (T56a)."""
    risk = output_empirical_risk if method == "output" else objective_empirical_risk
    return risk(
        data.problem,
        int(data.n),
        epsilon=GOAL.epsilon,
        delta=GOAL.delta,
        adjacency=GOAL.adjacency,
        regularization=strength,
    )


def _table(found: list[ExcessOverStrength]) -> LessonTable:
    columns = ("Lambda", *(f"{method}{what}" for method in METHODS for what in ("", ", bound")))
    rows = tuple((at.strength, *(each[m] for m in METHODS for each in (at.measured, at.bounds))) for at in found)
    return LessonTable(columns, rows)


def _picture(found: list[ExcessOverStrength]) -> Picture:
    x = tuple(at.strength for at in found)
    measured = [Curve(method, x, tuple(at.measured[method] for at in found)) for method in METHODS]
    proved = [
        Curve(f"bound, {method}", x, tuple(at.bounds[method] for at in found), "proved", beside=method)
        for method in METHODS
    ]
    title = "Excess empirical risk against Lambda = n lambda"
    return Picture(title, "Lambda", "excess risk", (*measured, *proved), x_log=True, y_log=True)


def least(found: list[ExcessOverStrength], method: Method, *, proved: bool = False) -> int:
    """Return the index of the smallest excess of a method, or of its smallest bound."""
    values = [at.bounds[method] if proved else at.measured[method] for at in found]
    return values.index(min(values))


def _checks(found: list[ExcessOverStrength], advised: dict[Method, float]) -> tuple[Check, ...]:
    inner = range(1, len(found) - 1)
    places = [least(found, method, proved=proved) for method in METHODS for proved in (False, True)]
    return (
        Check(
            "No measured excess is above its bound, at any Lambda.",
            all(at.measured[method] <= at.bounds[method] for at in found for method in METHODS),
        ),
        Check("Every curve has an interior minimum.", all(place in inner for place in places)),
        Check(
            "At both ends the measured excess is at least three times the minimum.",
            all(min(found[0].measured[m], found[-1].measured[m]) > 3 * _lowest(found, m) for m in METHODS),
        ),
        Check(
            "At the Lambda that minimizes the bound, the excess is at most twice the minimum.",
            all(advised[method] <= 2 * _lowest(found, method) for method in METHODS),
        ),
        Check(
            "Output perturbation needs more regularization than objective perturbation.",
            least(found, "output") > least(found, "objective")
            and least(found, "output", proved=True) > least(found, "objective", proved=True),
        ),
    )


def _lowest(found: list[ExcessOverStrength], method: Method) -> float:
    return found[least(found, method)].measured[method]


def _sentence(found: list[ExcessOverStrength], data: Categories) -> str:
    output, objective = (found[least(found, method)].strength for method in METHODS)
    proved = [bound(data, method).regularization for method in METHODS]
    return (
        f"On these data the best Lambda is near {output:.0f} for output perturbation and near {objective:.0f} for "
        f"objective perturbation. The bounds, which do not depend on the data, recommend {proved[0]:.0f} and "
        f"{proved[1]:.0f}."
    )


LESSON = Lesson(
    name="regularization",
    title="Too little and too much regularization",
    source="Wang",
    claim=(
        "The lecture claims that the bound on the excess risk of output perturbation has one term that rises and one "
        "that falls with lambda, so lambda should be chosen optimally. This is right, and holds for objective "
        "perturbation too. The printed term for the noise is wrong; it should be ((n beta + lambda)/2) sigma^2 "
        "(sqrt(d) + sqrt(2 ln(1/p)))^2 with probability 1 - p (E23), and (n beta/2) d sigma^2 on average (T56a)."
    ),
    tags=("T56", "T56a", "E23"),
    run=run,
)
