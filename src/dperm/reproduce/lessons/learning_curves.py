# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The learning curves of NIPS 2008: test error over the number of records (T30-T36b, T58)."""

from collections.abc import Sequence
from itertools import pairwise

from dperm.report.pictures import Picture
from dperm.reproduce.error_curves import BANDS, SAMPLES, Point, curves, measured, table
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, Outcome
from dperm.reproduce.perturbed_logistic import JMLR, OURS, OUTPUT, PRINTED, STANDARD, Task
from dperm.sensitivity.objective import OUTPUT_SHARE

SIZES = (500, 1000, 2000, 4000, 8000, 16_000, 32_000)
QUICK_SIZES = (500, 1000, 2000, 4000)
DIM, REGULARIZATION, EPSILON = 10, 0.01, 0.1
RUNS, QUICK_RUNS = 10, 4
ENOUGH = 1000
"""From here on every objective perturbation errs less than the sensitivity method; at half of it JMLR 2011 does not."""
FREE = 2 / EPSILON
"""The n lambda from which on T36b charges nothing for the determinant, if all of epsilon goes into the objective."""
OWN_FREE = FREE / (1 - OUTPUT_SHARE)
"""From which on it does so for the plan of dperm, which keeps a share of epsilon for the solver's error (T43)."""


def run(effort: Effort) -> Outcome:
    """Both sets; each size has samples of its own, and the same draws of the noise."""
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
        "records n",
        "test error",
        curves(points, "n", "noise 0.2"),
        x_log=True,
        bands=BANDS,
    )
    return Outcome(parameters, table(points, "n", "n"), picture, _checks(points), _sentence(points))


def price(point: Point) -> float:
    """What the proof costs: the error of the plan of dperm less that with the noise that was printed."""
    return point.mean(OURS) - point.mean(PRINTED)


def twice(points: Sequence[Point]) -> list[tuple[float, float]]:
    """The error of Algorithm 1 with twice the records, and that of objective perturbation."""
    pairs = [(one, two) for one, two in pairwise(points) if two.task.n == 2 * one.task.n]
    return [(two.mean(OUTPUT), one.mean(OURS)) for one, two in pairs]


def _checks(points: Sequence[Point]) -> tuple[Check, ...]:
    late, early = ([p for p in points if (p.task.n >= ENOUGH) == is_late] for is_late in (True, False))
    few = [point for point in points if point.task.strength <= FREE / 2]
    many = [point for point in points if point.task.strength > FREE]
    return (
        Check(
            f"From n = {ENOUGH} on standard LR errs less than dperm's objective perturbation, that no more than JMLR "
            f"2011, and that less than Algorithm 1.",
            all(p.mean(STANDARD) < p.mean(OURS) <= p.mean(JMLR) < p.mean(OUTPUT) for p in late),
        ),
        Check(
            f"From n = {ENOUGH} on Algorithm 1 errs more with twice the records than dperm's objective perturbation.",
            all(output > ours for output, ours in twice(late)),
        ),
        Check(
            f"At n = {early[0].task.n} JMLR 2011 errs more than Algorithm 1, and dperm's objective perturbation more "
            f"than Algorithm 1 with twice the records.",
            all(p.mean(JMLR) > p.mean(OUTPUT) for p in early) and all(a < b for a, b in _first_two(points)),
        ),
        Check(
            "At every n dperm's objective perturbation errs less than Algorithm 1 on as many records.",
            all(p.mean(OURS) < p.mean(OUTPUT) for p in points),
        ),
        Check(
            f"The determinant costs more than 0.02 of accuracy for n lambda <= {FREE / 2:g}, less than 0.005 above "
            f"{FREE:g}.",
            min(map(price, few)) > 0.02 and max(map(price, many)) < 0.005,
        ),
    )


def _first_two(points: Sequence[Point]) -> list[tuple[float, float]]:
    """As `twice`, from the sizes below `ENOUGH`."""
    return twice([point for point in points if point.task.n <= ENOUGH])


def _sentence(points: Sequence[Point]) -> str:
    least = next(point for point in points if point.name == "noise 0.2")
    return (
        f"From n = {ENOUGH} on dperm's objective perturbation needs less than half of the records of the sensitivity "
        f"method. With fewer it does not: at n = {least.task.n} the sensitivity method errs on "
        f"{least.mean(OUTPUT):.2f}, objective perturbation on {least.mean(OURS):.2f} with a proof (T36a) and on "
        f"{least.mean(JMLR):.2f} by JMLR 2011, where the printed algorithm has {least.mean(PRINTED):.2f}. From n "
        f"lambda = 2/epsilon = {FREE:g} on the printed noise is enough (T36b). dperm keeps {OUTPUT_SHARE:.0%} of "
        f"epsilon for the error of its solver, so that its plan has T36b from about {OWN_FREE:.1f} on, and "
        f"still T36a at {FREE:g}."
    )


LESSON = Lesson(
    name="learning_curves",
    title="Learning curves of private logistic regression",
    source="Monteleoni",
    claim=(
        "The slide has learning curves, of which our text version has the caption alone; what they show, and with "
        "which parameters, we cannot see. Theorems 4 and 5 say in orders that the new method learns from fewer records "
        "than the sensitivity method (T58). With parameters of our own, from n = 1000 on, the corrected algorithms err "
        "less than Algorithm 1, and that of dperm less than Algorithm 1 with twice the records. At n = 500 it is "
        "otherwise: JMLR 2011 errs more than Algorithm 1, and dperm more than Algorithm 1 with twice the records."
    ),
    tags=("T30", "T35", "T36", "T36a", "T36b", "T58", "E3"),
    run=run,
)
