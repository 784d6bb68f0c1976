# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Test error as a function of epsilon, as in NIPS 2008 (T30-T36b)."""

from collections.abc import Sequence
from itertools import pairwise

from dperm.report.pictures import Picture
from dperm.reproduce.error_curves import ALGORITHMS, BANDS, SAMPLES, ErrorMeasurement, curves, measured, table
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, Outcome
from dperm.reproduce.perturbed_logistic import JMLR, OURS, OUTPUT, PRINTED, STANDARD, Task
from dperm.reproduce.spheres import SETS

EPSILONS = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
QUICK_EPSILONS = (0.05, 0.1, 0.2, 3.2)
RECORDS, DIM, REGULARIZATION = 3500, 10, 0.01
RUNS, QUICK_RUNS = 16, 4
LARGE, SMALL = 3.2, 0.4
FREE = 2 / (RECORDS * REGULARIZATION)
"""Smallest epsilon at which T36b charges nothing for the determinant."""


def run(effort: Effort) -> Outcome:
    """Measure both data sets, with the same samples and draws of the noise at every epsilon."""
    epsilons, runs = (QUICK_EPSILONS, QUICK_RUNS) if effort.quick else (EPSILONS, RUNS)
    points = measured([Task(RECORDS, DIM, REGULARIZATION, epsilon) for epsilon in epsilons], effort, runs=runs)
    parameters: dict[str, Cell] = {
        "records (ours: not printed)": RECORDS,
        "dimension (ours)": DIM,
        "lambda (ours)": REGULARIZATION,
        "runs for each epsilon": runs * SAMPLES,
        "seed": effort.seed,
    }
    picture = Picture(
        "Test error against epsilon, with label noise: n = 3500, lambda = 0.01, d = 10",
        "epsilon",
        "test error",
        curves(points, "epsilon", "noise 0.2"),
        x_log=True,
        bands=BANDS,
    )
    return Outcome(parameters, table(points, "epsilon", "epsilon"), picture, _checks(points), _sentence(points))


def twice(points: Sequence[ErrorMeasurement]) -> list[tuple[float, float]]:
    """Return pairs of errors up to `SMALL`: Algorithm 1 with twice the epsilon, and objective perturbation."""
    pairs = [(one, two) for one, two in pairwise(points) if two.task.epsilon == 2 * one.task.epsilon <= 2 * SMALL]
    return [(two.mean(OUTPUT), one.mean(OURS)) for one, two in pairs]


def _checks(points: Sequence[ErrorMeasurement]) -> tuple[Check, ...]:
    small = [point for point in points if point.task.epsilon <= SMALL]
    last = [point for point in points if point.task.epsilon == LARGE]
    strict = [point for point in points if point.task.epsilon <= 0.9 * FREE]
    loose = [point for point in points if point.task.epsilon > FREE]
    return (
        Check(
            "The errors of all algorithms with noise fall monotonically as epsilon grows.",
            all(_falls(points, name, algorithm) for name in SETS for algorithm in ALGORITHMS),
        ),
        Check(
            "Objective perturbation, printed or corrected, has a smaller error than Algorithm 1 at every epsilon.",
            all(max(p.mean(name) for name in (PRINTED, JMLR, OURS)) < p.mean(OUTPUT) for p in points),
        ),
        Check(
            f"For epsilon <= {SMALL:g} standard LR has the smallest error, then dperm's objective perturbation, "
            f"JMLR 2011, and Algorithm 1.",
            all(p.mean(STANDARD) < p.mean(OURS) < p.mean(JMLR) < p.mean(OUTPUT) for p in small),
        ),
        Check(
            f"For epsilon <= {SMALL:g} Algorithm 1 with twice the epsilon has a larger error than dperm's objective "
            f"perturbation.",
            all(output > ours for output, ours in twice(points)),
        ),
        Check(
            f"The determinant costs more than 0.01 of accuracy below epsilon = {FREE:.3f}, less than 0.005 above.",
            min(p.mean(OURS) - p.mean(PRINTED) for p in strict) > 0.01
            and max(p.mean(OURS) - p.mean(PRINTED) for p in loose) < 0.005,
        ),
        Check(
            f"At epsilon = {LARGE:g} privacy costs less than 0.01 of accuracy.",
            all(p.mean(name) - p.mean(STANDARD) < 0.01 for p in last for name in (OUTPUT, JMLR, OURS)),
        ),
    )


def _falls(points: Sequence[ErrorMeasurement], name: str, algorithm: str) -> bool:
    """Return whether the error of an algorithm on one data set falls with epsilon and never rises."""
    errors = [point.mean(algorithm) for point in points if point.name == name]
    return errors[0] > errors[-1] and all(one >= other for one, other in pairwise(errors))


def _sentence(points: Sequence[ErrorMeasurement]) -> str:
    at = next(point for point in points if point.name == "noise 0.2" and point.task.epsilon == 0.1)
    return (
        f"At epsilon = 0.1 the test error is {at.mean(OURS):.3f} for objective perturbation, {at.mean(OUTPUT):.3f} for "
        f"the sensitivity method and {at.mean(STANDARD):.3f} without privacy. Objective perturbation is better even "
        f"with half of epsilon. At n lambda = {at.task.strength:g} the printed noise suffices for epsilon >= "
        f"{FREE:.3f} (T36b); for smaller epsilon, a valid proof costs accuracy."
    )


LESSON = Lesson(
    name="dependence_on_epsilon",
    title="Test error against epsilon",
    source="Monteleoni",
    claim=(
        "The slide has a figure of the dependence on epsilon. Our plain-text copy of the slides has only its caption, "
        "so its content and parameters are unknown. With our own parameters, errors fall as epsilon grows, and "
        "objective perturbation, printed or corrected, is better than the sensitivity method at every epsilon."
    ),
    tags=("T30", "T35", "T36", "T36a", "T36b", "E3"),
    run=run,
)
