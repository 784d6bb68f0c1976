# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Table of test errors of NIPS 2008, reproduced with the corrected algorithms (T30-T36b, E3)."""

import numpy as np

from dperm.data.arrays import Floats
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.error_curves import kind_of
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, LessonTable, Outcome
from dperm.reproduce.perturbed_logistic import (
    JMLR,
    OURS,
    OUTPUT,
    PRINTED,
    PRIVATE,
    SHARP,
    STANDARD,
    Task,
    draws,
    errors_of,
)
from dperm.reproduce.spheres import SETS

TOTAL, FOLDS = 17_500, 5
TASK = Task(n=TOTAL // FOLDS, dim=10, regularization=0.01, epsilon=0.1)
DRAWS, QUICK_DRAWS = 40, 8
"""Draws of the noise in each fold."""
PRINTED_TABLE = {
    OUTPUT: {"margin 0.03": (0.2962, 0.0617), "noise 0.2": (0.3257, 0.0536)},
    PRINTED: {"margin 0.03": (0.1426, 0.1284), "noise 0.2": (0.1903, 0.1105)},
    STANDARD: {"margin 0.03": (0.0, 0.0016), "noise 0.2": (0.0530, 0.1105)},
}
"""Printed means and standard deviations of the lecture (E37)."""
NEAR = 0.08
SPREAD_SHARE, STANDARD_SHARE = 2 / 3, 1 / 10
"""Our standard deviations are below these fractions of the printed values (near 1/3 and 1/40 with all draws)."""
ROWS = {
    OUTPUT: "Algorithm 1, sensitivity method",
    PRINTED: "Algorithm 2 as printed, not private in general",
    JMLR: "Algorithm 2 of JMLR 2011 (T36)",
    SHARP: "objective perturbation by T36a",
    OURS: "objective perturbation of dperm (here T36b)",
    STANDARD: "standard LR, no privacy",
}
Errors = dict[str, dict[str, Floats]]
"""Errors of single runs, by data set and algorithm."""


def run(effort: Effort) -> Outcome:
    """Train on each fifth of the records and test on the others."""
    found: Errors = {name: {} for name in SETS}
    for place, (name, fold) in enumerate((name, fold) for name in SETS for fold in range(FOLDS)):
        for algorithm, errors in _fold(name, fold, effort).items():
            found[name][algorithm] = np.append(found[name].get(algorithm, []), errors)
        effort.progress((place + 1) / (FOLDS * len(SETS)))
    parameters: dict[str, Cell] = {
        "N": TOTAL,
        "records in a training fold": TASK.n,
        "dimension (ours: not printed)": TASK.dim,
        "epsilon (ours)": TASK.epsilon,
        "lambda (ours)": TASK.regularization,
        "draws of the noise in each fold (ours)": QUICK_DRAWS if effort.quick else DRAWS,
        "seed": effort.seed,
    }
    return Outcome(parameters, _table(found), _picture(found), _checks(found), _sentence(found))


def _fold(name: str, fold: int, effort: Effort) -> dict[str, Floats]:
    sample = SETS[name](TOTAL, TASK.dim, effort.seed)
    is_train = np.arange(TOTAL) // TASK.n == fold
    noise = draws(DRAWS * FOLDS, TASK.dim, effort.seed)[fold::FOLDS][: QUICK_DRAWS if effort.quick else DRAWS]
    return errors_of(TASK, sample.at(is_train), sample.at(~is_train), noise=noise)


def _table(found: Errors) -> LessonTable:
    columns = ("test error", *(f"{name}, {what}" for name in SETS for what in ("mean", "sd", "printed")))
    rows = []
    for algorithm, words in ROWS.items():
        row: list[Cell] = [words]
        for name in SETS:
            errors = found[name][algorithm]
            mean, deviation = PRINTED_TABLE.get(algorithm, {}).get(name, (None, None))
            row += [round(float(errors.mean()), 4), round(spread(found, algorithm, name), 4)]
            row.append("" if mean is None else f"{mean:.4f} +- {deviation:.4f}")
        rows.append(tuple(row))
    return LessonTable(columns, tuple(rows))


def _picture(found: Errors) -> Picture:
    """Return the quantiles of single errors with label noise."""
    shares = np.linspace(0, 1, 21)
    errors = found["noise 0.2"]
    curves = [
        Curve(
            ROWS[name],
            tuple(shares.tolist()),
            tuple(np.quantile(errors[name], shares).tolist()),
            kind_of(name),
        )
        for name in ROWS
    ]
    title = "Quantiles of the test errors of single runs, with label noise"
    return Picture(title, "share of runs", "test error, at most", tuple(curves))


def means(found: Errors, name: str) -> dict[str, float]:
    """Return the mean error of every algorithm on a data set."""
    return {algorithm: float(errors.mean()) for algorithm, errors in found[name].items()}


def spread(found: Errors, algorithm: str, name: str = "noise 0.2") -> float:
    """Return the standard deviation of single errors over draws of the noise and folds (only folds without noise)."""
    return float(found[name][algorithm].std(ddof=1))


def printed_spread(algorithm: str, name: str = "noise 0.2") -> float:
    """Return the printed standard deviation; for standard LR it repeats the cell above (E37)."""
    return PRINTED_TABLE[algorithm][name][1]


def _checks(found: Errors) -> tuple[Check, ...]:
    both = [means(found, name) for name in SETS]
    inner = [algorithm for algorithm in PRIVATE if algorithm != OUTPUT]
    printed = [
        abs(mean[algorithm] - PRINTED_TABLE[algorithm][name][0]) < (0.01 if algorithm == STANDARD else NEAR)
        for name, mean in zip(SETS, both, strict=True)
        for algorithm in PRINTED_TABLE
    ]
    return (
        Check(
            "The sensitivity method has a larger error than objective perturbation, printed or corrected, and "
            "standard LR a smaller one.",
            all(mean[OUTPUT] > mean[name] > mean[STANDARD] for mean in both for name in inner),
        ),
        Check(
            f"The means are within {NEAR} of the printed means, and those of standard LR within 0.01.",
            all(printed),
        ),
        Check(
            f"The standard deviations, over draws and folds, differ from the printed ones: with label noise {PRINTED} "
            f"has {spread(found, PRINTED):.3f} instead of {printed_spread(PRINTED)}, less than two thirds; {STANDARD} "
            f"{spread(found, STANDARD):.4f} instead of {printed_spread(STANDARD)}, less than a tenth.",
            spread(found, PRINTED) < SPREAD_SHARE * printed_spread(PRINTED)
            and spread(found, STANDARD) < STANDARD_SHARE * printed_spread(STANDARD),
        ),
        Check(
            "Where T36b holds, the proof costs at most 0.002; T36a has a larger error, and JMLR 2011 the largest.",
            all(abs(mean[OURS] - mean[PRINTED]) < 2e-3 and mean[OURS] < mean[SHARP] < mean[JMLR] for mean in both),
        ),
        Check(
            "The published correction costs less than 0.05 of accuracy.",
            all(mean[JMLR] - mean[PRINTED] < 0.05 for mean in both),
        ),
    )


def _sentence(found: Errors) -> str:
    mean = means(found, "noise 0.2")
    return (
        "Correct objective perturbation is also better than the sensitivity method: with label noise the mean errors "
        f"are {mean[OURS]:.3f} and {mean[OUTPUT]:.3f}, and {mean[STANDARD]:.3f} without privacy. Here n lambda = "
        f"{TASK.strength:g} is above 2/epsilon = {2 / TASK.epsilon:g}, where the printed noise suffices (T36b). The "
        "printed theorem lacks this condition and is false for small n lambda. The standard deviation of single runs "
        f"of Algorithm 2 is {spread(found, PRINTED):.3f}, not {printed_spread(PRINTED)} as printed."
    )


LESSON = Lesson(
    name="table_of_errors",
    title="Test errors of the sensitivity method and of objective perturbation",
    source="Monteleoni",
    claim=(
        "Figure 1 of the lecture shows the test error, mean and standard deviation over five folds, for N = 17,500 "
        "uniform points on the sphere: separable with margin 0.03, and non-separable (noise 0.2 in margin 0.1). The "
        "sensitivity method has errors of 0.30 and 0.33, the new method 0.14 and 0.19, standard LR 0 and 0.05. "
        "Dimension, epsilon and lambda are not printed. With our choices, and with training on single folds, the means "
        "are close to the printed ones. The standard deviations are not: ours are over draws of the noise and folds, "
        "and that of Algorithm 2 is about a third of the printed one. The 0.1105 printed for standard LR beside a mean "
        "of 0.0530 repeats the cell above, and is probably a misprint (E37). The sign of the loss is corrected (E5)."
    ),
    tags=("T30", "T32", "T35", "T36", "T36a", "T36b", "E3", "E5", "E37"),
    run=run,
)
