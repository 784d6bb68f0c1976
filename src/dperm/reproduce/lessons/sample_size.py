# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Records needed for an excess risk over the number of coefficients: orders, bounds, and a simulation (T57, T58).

What the simulation needs is told in `dperm.reproduce.records_needed`. The orders are those of the printed theorems with
their unpublished constants set to 1: they bound nothing.
"""

from dataclasses import dataclass

import numpy as np

from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, Outcome, Table, guaranteed
from dperm.reproduce.records_needed import EXCESS, GOAL, Method, Search, population
from dperm.reproduce.slopes import slope
from dperm.theory import (
    gaussian_output_sample_order,
    objective_sample_order,
    objective_sample_size,
    output_sample_order,
    output_sample_size,
)

DELTA, FAILURE = 1e-5, 0.05
"""Of Bellet's theorem, which is about Gaussian noise."""
DIMS, QUICK_DIMS = (2, 4, 8, 16, 32, 64), (2, 32, 64)
REPEATS, QUICK_REPEATS = 300, 60
CLOSE = 0.15
METHODS: tuple[Method, ...] = ("output", "objective")


@dataclass(frozen=True)
class Needs:
    """How many records one method needs with d coefficients.

    Attributes
    ----------
    order
        Monteleoni's Theorem 5 or 4 with C = 1: order only, it bounds nothing (T58).
    proved
        By the bound of T57.
    simulated
        In the simulation.
    """

    order: float
    proved: int
    simulated: int


@dataclass(frozen=True)
class At:
    """Needs with d coefficients; ``gaussian`` is the order in Bellet's theorem, with E18 corrected."""

    dim: int
    needs: dict[Method, Needs]
    gaussian: float


def run(effort: Effort) -> Outcome:
    """A simulation for each number of records that the search looks at."""
    dims, found = QUICK_DIMS if effort.quick else DIMS, []
    for dim in dims:
        found.append(_at(dim, QUICK_REPEATS if effort.quick else REPEATS, effort.seed))
        effort.progress(sum(at.dim for at in found) / sum(dims))
    parameters: dict[str, Cell] = {
        **guaranteed(GOAL),
        "excess": EXCESS,
        "loss": "logistic, L = 1, c = 1/4",
        "reference norm": population(2).problem.reference_norm,
        "excess of theta = 0": float(population(2).excess(np.zeros(2))),
        "data sets": QUICK_REPEATS if effort.quick else REPEATS,
        "seed": effort.seed,
    }
    return Outcome(parameters, _table(found), _picture(found), _checks(found), _sentence(found[-1]))


def _at(dim: int, repeats: int, seed: int) -> At:
    norm = population(dim).problem.reference_norm
    gaussian = gaussian_output_sample_order(
        EXCESS, dim, epsilon=GOAL.epsilon, delta=DELTA, failure=FAILURE, reference_norm=norm
    )
    return At(dim, {method: _needs(Search(dim, method, repeats, seed)) for method in METHODS}, gaussian.value)


def _needs(search: Search) -> Needs:
    problem = population(search.dim).problem
    order, size = (
        (output_sample_order, output_sample_size)
        if search.method == "output"
        else (objective_sample_order, objective_sample_size)
    )
    return Needs(
        order(EXCESS, search.dim, epsilon=GOAL.epsilon, reference_norm=problem.reference_norm).value,
        size(problem, EXCESS, epsilon=GOAL.epsilon, adjacency=GOAL.adjacency),
        search.records(),
    )


def _table(found: list[At]) -> Table:
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
    return Table(columns, tuple(rows))


def _picture(found: list[At]) -> Picture:
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
    title = f"Records for an excess risk of {EXCESS:g}"
    return Picture(title, "coefficients", "records", curves, x_log=True, y_log=True)


def _checks(found: list[At]) -> tuple[Check, ...]:
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
            "The simulation never needs more records than are proved to suffice.",
            all(each.simulated <= each.proved for at in found for each in at.needs.values()),
        ),
        Check(
            f"For many coefficients what is proved grows like d^{rise[0]:.2f} and d^{rise[1]:.2f}, the orders like "
            f"d^{ordered[0]:.2f} and d^{ordered[1]:.2f}: in proportion to d, up to {CLOSE} in the power.",
            all(abs(power - 1) < CLOSE for power in (*rise, *ordered)),
        ),
        Check(
            "The order of Theorem 5 is above that of Theorem 4, as what is proved is.",
            all(at.needs["output"].order > at.needs["objective"].order for at in found),
        ),
    )


def _sentence(last: At) -> str:
    output, objective = last.needs["output"], last.needs["objective"]
    return (
        f"With {last.dim} coefficients {output.proved:,} records are proved to suffice for output and "
        f"{objective.proved:,} for objective perturbation; on these data {output.simulated:,} and "
        f"{objective.simulated:,} do. The printed orders have no constants and promise nothing by themselves."
    )


LESSON = Lesson(
    name="sample_size",
    title="Records needed for an excess risk",
    source="Monteleoni",
    claim=(
        "Theorems 4 and 5: for an excess g, C max(R0^2/g^2, R0 d/(epsilon g)) records are enough for objective "
        "perturbation, and output perturbation needs C R0^2 d/(epsilon g^(3/2)) if that is more; Bellet has the second "
        "for Gaussian noise, with d log(d/p) where sqrt(d) + sqrt(2 log(1/p)) belongs (E18). C is unpublished: orders "
        "only (T58). With constants it is T57."
    ),
    tags=("T57", "T58", "T36a", "E18"),
    run=run,
)
