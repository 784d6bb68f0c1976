# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Learning curves of NIPS 2008: test error against the number of records (T30-T36b, T58)."""

from collections.abc import Sequence
from itertools import pairwise

from dperm.report.pictures import Picture
from dperm.reproduce.error_curves import BANDS, SAMPLES, ErrorMeasurement, curves, measured, table
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, Outcome
from dperm.reproduce.perturbed_logistic import JMLR, OURS, OUTPUT, PRINTED, STANDARD, Task
from dperm.sensitivity.objective import OUTPUT_SHARE

SIZES = (500, 1000, 2000, 4000, 8000, 16_000, 32_000)
QUICK_SIZES = (500, 1000, 2000, 4000)
DIM, REGULARIZATION, EPSILON = 10, 0.01, 0.1
RUNS, QUICK_RUNS = 10, 4
ENOUGH = 1000
"""Smallest number of records at which objective perturbation beats the sensitivity method; JMLR 2011 fails at half."""
FREE = 2 / EPSILON
"""Smallest n lambda at which T36b charges nothing for the determinant, if the objective gets all of epsilon."""
OWN_FREE = FREE / (1 - OUTPUT_SHARE)
"""The same for dperm's plan, which keeps a share of epsilon for the error of the solver (T43)."""


def run(effort: Effort) -> Outcome:
    """Measure both data sets; each size has separate samples and the same draws of the noise."""
    sizes, runs = (QUICK_SIZES, QUICK_RUNS) if effort.quick else (SIZES, RUNS)
    points = measured([Task(n, DIM, REGULARIZATION, EPSILON) for n in sizes], effort, runs=runs)
    parameters: dict[str, Cell] = {
        "dimension (ours: not printed)": DIM,
        "epsilon (ours)": EPSILON,
        "lambda (ours)": REGULARIZATION,
        "runs for each size": runs * SAMPLES,
        "seed": effort.seed,
    }
    picture = Picture(
        "Learning curves with label noise, epsilon = 0.1, lambda = 0.01, d = 10",
        "number of records n",
        "test error",
        curves(points, "n", "noise 0.2"),
        x_log=True,
        bands=BANDS,
    )
    return Outcome(parameters, table(points, "n", "n"), picture, _checks(points), _sentence(points))


def price(point: ErrorMeasurement) -> float:
    """Return the cost of a valid proof: the error of dperm's plan minus the error with the printed noise."""
    return point.mean(OURS) - point.mean(PRINTED)


def twice(points: Sequence[ErrorMeasurement]) -> list[tuple[float, float]]:
    """Return pairs of errors: Algorithm 1 with twice the records, and objective perturbation."""
    pairs = [(one, two) for one, two in pairwise(points) if two.task.n == 2 * one.task.n]
    return [(two.mean(OUTPUT), one.mean(OURS)) for one, two in pairs]


def _checks(points: Sequence[ErrorMeasurement]) -> tuple[Check, ...]:
    late, early = ([p for p in points if (p.task.n >= ENOUGH) == is_late] for is_late in (True, False))
    few = [point for point in points if point.task.strength <= FREE / 2]
    many = [point for point in points if point.task.strength > FREE]
    return (
        Check(
            f"For n >= {ENOUGH}, standard LR has a smaller error than dperm's objective perturbation, which has "
            f"no larger error than JMLR 2011, which has a smaller error than Algorithm 1.",
            all(p.mean(STANDARD) < p.mean(OURS) <= p.mean(JMLR) < p.mean(OUTPUT) for p in late),
        ),
        Check(
            f"For n >= {ENOUGH}, Algorithm 1 with twice the records has a larger error than dperm's objective "
            f"perturbation.",
            all(output > ours for output, ours in twice(late)),
        ),
        Check(
            f"At n = {early[0].task.n} JMLR 2011 has a larger error than Algorithm 1, and dperm's objective "
            f"perturbation a larger error than Algorithm 1 with twice the records.",
            all(p.mean(JMLR) > p.mean(OUTPUT) for p in early) and all(a < b for a, b in _first_two(points)),
        ),
        Check(
            "At every n, dperm's objective perturbation has a smaller error than Algorithm 1 on the same number of "
            "records.",
            all(p.mean(OURS) < p.mean(OUTPUT) for p in points),
        ),
        Check(
            f"The determinant costs more than 0.02 of accuracy for n lambda <= {FREE / 2:g}, less than 0.005 above "
            f"{FREE:g}.",
            min(map(price, few)) > 0.02 and max(map(price, many)) < 0.005,
        ),
    )


def _first_two(points: Sequence[ErrorMeasurement]) -> list[tuple[float, float]]:
    """Return the pairs of `twice` for sizes up to `ENOUGH`."""
    return twice([point for point in points if point.task.n <= ENOUGH])


def _sentence(points: Sequence[ErrorMeasurement]) -> str:
    least = next(point for point in points if point.name == "noise 0.2")
    return (
        f"For n >= {ENOUGH}, dperm's objective perturbation needs less than half of the records of the sensitivity "
        f"method. With fewer records it does not: at n = {least.task.n} the test error is {least.mean(OUTPUT):.2f} for "
        f"the sensitivity method, {least.mean(OURS):.2f} for objective perturbation with a proof (T36a), "
        f"{least.mean(JMLR):.2f} for JMLR 2011 and {least.mean(PRINTED):.2f} for the printed algorithm. For n lambda "
        f">= 2/epsilon = {FREE:g}, the printed noise suffices (T36b). dperm keeps {OUTPUT_SHARE:.0%} of epsilon for "
        f"the error of its solver, so its plan uses T36b above about {OWN_FREE:.1f}, and T36a at {FREE:g}."
    )


LESSON = Lesson(
    name="learning_curves",
    title="Learning curves of private logistic regression",
    source="Monteleoni",
    claim=(
        "The slide has learning curves. Our plain-text copy of the slides has only their caption, so their content and "
        "parameters are unknown. Theorems 4 and 5 of the lecture say, up to constants, that the new method learns from "
        "fewer records than the sensitivity method (T58). With our own parameters and n >= 1000, the corrected "
        "algorithms have smaller errors than Algorithm 1, and dperm has smaller errors than Algorithm 1 with twice the "
        "records. At n = 500 it is the other way round: the algorithm of JMLR 2011 has larger errors than Algorithm 1, "
        "and dperm has larger errors than Algorithm 1 with twice the records."
    ),
    tags=("T30", "T35", "T36", "T36a", "T36b", "T58", "E3"),
    run=run,
)
