# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Records needed for an excess risk, against the number of coefficients: orders, bounds and a simulation (T57, T58).

The orders are those of the printed theorems, whose unspecified constants are set to 1: they are not bounds. In the
simulation, half of the population is in one category, where nine of ten labels are 1. The other half is spread over d -
1 more categories, which carry no information (`dperm.reproduce.categories`). R0 = log 9 and the learnable signal are
the same for every d. Data sets are drawn for each run, and Lambda minimizes the bound of T57.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dperm.data.arrays import Floats
from dperm.noise.simulation import generator
from dperm.privacy import PureDP
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.categories import Categories
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, LessonTable, Outcome, guarantee_parameters, slope
from dperm.reproduce.private_runs import RepeatedRuns
from dperm.theory import (
    gaussian_output_sample_order,
    objective_excess_risk,
    objective_sample_order,
    objective_sample_size,
    output_excess_risk,
    output_sample_order,
    output_sample_size,
)

GOAL, EXCESS = PureDP(0.1, "replace_one"), 0.05
SHARE, ONES = 0.5, 0.9
NEAR = 1.03
"""Accuracy of the number of records, as a factor."""
Method = Literal["output", "objective"]


def population(dim: int) -> Categories:
    """Return the population as shares of categories and labels."""
    shares = np.append(SHARE, np.full(dim - 1, (1 - SHARE) / (dim - 1)))
    ones = np.append(ONES, np.full(dim - 1, 0.5))
    return Categories(shares * ones, shares * (1 - ones), 1)


@dataclass(frozen=True)
class Search:
    """Search for the number of records at which the mean excess population risk of a method reaches EXCESS."""

    dim: int
    method: Method
    repeats: int
    seed: int

    def records(self) -> int:
        """Return the number of records, up to a factor NEAR, by doubling and bisection."""
        low, high = 16, 32
        while not self._reached(high):
            low, high = high, 2 * high
        while high > NEAR * low:
            middle = math.isqrt(low * high)
            low, high = (low, middle) if self._reached(middle) else (middle, high)
        return high

    def _reached(self, n: int) -> bool:
        return float(population(self.dim).excess(self._coefficients(n)).mean()) <= EXCESS

    def _coefficients(self, n: int) -> Floats:
        runs = RepeatedRuns(self._data(n), GOAL, self.repeats, self.seed)
        problem = population(self.dim).problem
        if self.method == "output":
            risk = output_excess_risk(problem, n, epsilon=GOAL.epsilon, adjacency=GOAL.adjacency)
            return runs.output(risk.regularization)
        risk = objective_excess_risk(problem, n, epsilon=GOAL.epsilon, adjacency=GOAL.adjacency)
        return runs.objective(risk.regularization)

    def _data(self, n: int) -> Categories:
        """Return one data set of n records per repetition."""
        whole, coins = population(self.dim), generator(self.seed, purpose=f"sample size, {n} records, {self.dim}")
        counts = coins.multinomial(n, np.append(whole.ones, whole.zeros), self.repeats).astype(np.float64)
        return Categories(counts[:, : self.dim], counts[:, self.dim :], n)


DELTA, FAILURE = 1e-5, 0.05
"""Parameters of Bellet's theorem, which is about Gaussian noise."""
DIMS, QUICK_DIMS = (2, 4, 8, 16, 32, 64), (2, 32, 64)
REPEATS, QUICK_REPEATS = 300, 60
CLOSE = 0.15
METHODS: tuple[Method, ...] = ("output", "objective")


@dataclass(frozen=True)
class MethodNeeds:
    """Records that one method needs with d coefficients.

    Attributes
    ----------
    order
        Order of Monteleoni's Theorem 5 or 4 with C = 1, which is not a bound (T58).
    proved
        Number of records that suffices by the bound of T57.
    simulated
        Number of records that suffices in the simulation.
    """

    order: float
    proved: int
    simulated: int


@dataclass(frozen=True)
class DimensionNeeds:
    """Records needed with d coefficients; ``gaussian`` is the order of Bellet's theorem, corrected by E18."""

    dim: int
    needs: dict[Method, MethodNeeds]
    gaussian: float


def run(effort: Effort) -> Outcome:
    """Search the numbers of records, with one simulation per candidate."""
    dims, found = QUICK_DIMS if effort.quick else DIMS, []
    for dim in dims:
        found.append(_at(dim, QUICK_REPEATS if effort.quick else REPEATS, effort.seed))
        effort.progress(sum(at.dim for at in found) / sum(dims))
    parameters: dict[str, Cell] = {
        **guarantee_parameters(GOAL),
        "excess": EXCESS,
        "loss": "logistic, L = 1, c = 1/4",
        "reference norm": population(2).problem.reference_norm,
        "excess of theta = 0": float(population(2).excess(np.zeros(2))),
        "data sets": QUICK_REPEATS if effort.quick else REPEATS,
        "seed": effort.seed,
    }
    return Outcome(parameters, _table(found), _picture(found), _checks(found), _sentence(found[-1]))


def _at(dim: int, repeats: int, seed: int) -> DimensionNeeds:
    norm = population(dim).problem.reference_norm
    gaussian = gaussian_output_sample_order(
        EXCESS, dim, epsilon=GOAL.epsilon, delta=DELTA, failure=FAILURE, reference_norm=norm
    )
    return DimensionNeeds(
        dim, {method: _needs(Search(dim, method, repeats, seed)) for method in METHODS}, gaussian.value
    )


def _needs(search: Search) -> MethodNeeds:
    problem = population(search.dim).problem
    order, size = (
        (output_sample_order, output_sample_size)
        if search.method == "output"
        else (objective_sample_order, objective_sample_size)
    )
    return MethodNeeds(
        order(EXCESS, search.dim, epsilon=GOAL.epsilon, reference_norm=problem.reference_norm).value,
        size(problem, EXCESS, epsilon=GOAL.epsilon, adjacency=GOAL.adjacency),
        search.records(),
    )


def _table(found: list[DimensionNeeds]) -> LessonTable:
    columns = (
        "d",
        *(f"{method}, {what}" for method in METHODS for what in ("order only (C = 1)", "proved (T57)", "simulated")),
        "output, Gaussian, order only",
    )
    rows = []
    for at in found:
        needs = [at.needs[method] for method in METHODS]
        counts = (n for each in needs for n in (round(each.order), each.proved, each.simulated))
        rows.append((at.dim, *counts, round(at.gaussian)))
    return LessonTable(columns, tuple(rows))


def _picture(found: list[DimensionNeeds]) -> Picture:
    x = tuple(float(at.dim) for at in found)
    of = {method: [at.needs[method] for at in found] for method in METHODS}
    curves = (
        *(Curve(f"{m}, simulated", x, tuple(float(each.simulated) for each in of[m])) for m in METHODS),
        *(
            Curve(
                f"{m}, proved (T57)", x, tuple(float(each.proved) for each in of[m]), "proved", beside=f"{m}, simulated"
            )
            for m in METHODS
        ),
        *(
            Curve(
                f"{m}, order only, C = 1",
                x,
                tuple(each.order for each in of[m]),
                "published",
                beside=f"{m}, simulated",
            )
            for m in METHODS
        ),
    )
    title = f"Records needed for an excess risk of {EXCESS:g}"
    return Picture(title, "number of coefficients", "number of records", curves, x_log=True, y_log=True)


def _checks(found: list[DimensionNeeds]) -> tuple[Check, ...]:
    last = found[-2:]
    dims = [at.dim for at in last]
    rise, ordered = (
        [slope(dims, [getattr(at.needs[method], what) for at in last]) for method in METHODS]
        for what in ("proved", "order")
    )
    return (
        Check(
            "Objective perturbation needs fewer records than output perturbation, proved and simulated.",
            all(
                at.needs["objective"].proved < at.needs["output"].proved
                and at.needs["objective"].simulated < at.needs["output"].simulated
                for at in found
            ),
        ),
        Check(
            "The simulation never needs more records than the proved number.",
            all(each.simulated <= each.proved for at in found for each in at.needs.values()),
        ),
        Check(
            f"For many coefficients, the proved numbers grow like d^{rise[0]:.2f} and d^{rise[1]:.2f}, the orders like "
            f"d^{ordered[0]:.2f} and d^{ordered[1]:.2f}: in proportion to d, up to {CLOSE} in the exponent.",
            all(abs(power - 1) < CLOSE for power in (*rise, *ordered)),
        ),
        Check(
            "The order of Theorem 5 is above that of Theorem 4, as for the proved numbers.",
            all(at.needs["output"].order > at.needs["objective"].order for at in found),
        ),
    )


def _sentence(last: DimensionNeeds) -> str:
    output, objective = last.needs["output"], last.needs["objective"]
    return (
        f"With {last.dim} coefficients, {output.proved:,} records are proved to suffice for output perturbation and "
        f"{objective.proved:,} for objective perturbation. On these data {output.simulated:,} and "
        f"{objective.simulated:,} suffice. The printed orders have no constants and are not bounds."
    )


LESSON = Lesson(
    name="sample_size",
    title="Records needed for an excess risk",
    source="Monteleoni",
    claim=(
        "Theorems 4 and 5 of the lecture: for an excess risk g, C max(R0^2/g^2, R0 d/(epsilon g)) records suffice for "
        "objective perturbation, and output perturbation needs C R0^2 d/(epsilon g^(3/2)) if this number is larger. "
        "Bellet states the second theorem for Gaussian noise, with d log(d/p) in place of sqrt(d) + sqrt(2 log(1/p)) "
        "(E18). C is not specified, so these are only orders of magnitude (T58). T57 has explicit constants."
    ),
    tags=("T57", "T58", "T36a", "E18"),
    run=run,
)
