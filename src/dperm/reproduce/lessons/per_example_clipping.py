# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Per-example clipping: without it, noise on a sum of gradients gives no guarantee (T44, T46, E10)."""

from dataclasses import dataclass

import numpy as np

from dperm.accounting.theorems import analytic_gaussian_epsilon
from dperm.data.arrays import Floats
from dperm.noise.simulation import generator
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, LessonTable, Outcome

RECORDS, DIM = 200, 5
CLIP = 1.0
MULTIPLIER = 4.0
DELTA = 1e-5
COLUMNS = (
    "size of the record",
    "moves the sum by",
    "moves the clipped sum by",
    "epsilon of a step",
    "epsilon of a step, clipped",
    "epsilon claimed",
)


def gradients(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Return the gradients of (y - x'w)^2/2, one row per record."""
    return np.asarray((x @ weights - y)[:, None] * x)


def clipped(rows: Floats) -> Floats:
    """Return the rows clipped to norm CLIP (T46)."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows * np.minimum(1.0, CLIP / np.maximum(lengths, 1e-300)))


def claimed() -> float:
    """Return the epsilon of a step that one record moves by at most CLIP."""
    return analytic_gaussian_epsilon(DELTA, MULTIPLIER)


@dataclass(frozen=True)
class JoiningRecord:
    """Effect of an added record of a given size on the sum of the gradients, plain and clipped."""

    size: float
    plain: float
    bounded: float

    @property
    def epsilons(self) -> tuple[float, float]:
        """Epsilons of the step without and with clipping, for the same noise (T6)."""
        noise = MULTIPLIER * CLIP
        plain, bounded = (analytic_gaussian_epsilon(DELTA, noise, moved) for moved in (self.plain, self.bounded))
        return plain, bounded

    @property
    def row(self) -> tuple[Cell, ...]:
        """Row of the table, in the order of COLUMNS."""
        return (self.size, self.plain, self.bounded, *self.epsilons, claimed())


def _settings(effort: Effort) -> list[JoiningRecord]:
    random = generator(effort.seed, "records with gradients")
    x = random.standard_normal((RECORDS, DIM)) / np.sqrt(DIM)
    y, weights = random.standard_normal(RECORDS), random.standard_normal(DIM)
    way = weights / np.linalg.norm(weights)  # where the prediction, and with it the gradient, grows fastest
    return [_setting(float(size), (x, y), way, weights) for size in np.geomspace(0.1, 100.0, 7 if effort.quick else 13)]


def _setting(size: float, others: tuple[Floats, Floats], way: Floats, weights: Floats) -> JoiningRecord:
    """Return the change of both sums when the record is added."""
    x, y = others
    before = gradients(x, y, weights)
    after = gradients(np.vstack([x, size * way]), np.append(y, 0.0), weights)
    plain, bounded = (float(np.linalg.norm(f(after).sum(0) - f(before).sum(0))) for f in (np.asarray, clipped))
    return JoiningRecord(size, plain, bounded)


def _checks(settings: list[JoiningRecord]) -> tuple[Check, ...]:
    slope = float(np.polyfit(np.log([one.size for one in settings]), np.log([one.plain for one in settings]), 1)[0])
    last, rounding = settings[-1], 1e-9
    return (
        Check(
            f"Without clipping, the effect of a record on the sum grows like its size to the power {slope:.2f}.",
            abs(slope - 2) < 0.15,
        ),
        Check("With clipping, the effect is at most C.", all(o.bounded <= CLIP + rounding for o in settings)),
        Check("The effect of a large record is C: the bound is attained.", abs(last.bounded - CLIP) < rounding),
        Check(
            f"With a record of size {last.size:g}, epsilon is {last.epsilons[0]:.3g}, where {claimed():.2f} is "
            f"claimed.",
            last.epsilons[0] > 100 * claimed(),
        ),
        Check("With clipping, the claim holds.", all(o.epsilons[1] <= claimed() * (1 + rounding) for o in settings)),
    )


def _curves(settings: list[JoiningRecord]) -> tuple[Curve, ...]:
    x = tuple(one.size for one in settings)
    return (
        Curve("without clipping", x, tuple(one.epsilons[0] for one in settings), "wrong"),
        Curve("with clipping", x, tuple(one.epsilons[1] for one in settings), "measured"),
        Curve("claimed", (x[0], x[-1]), (claimed(),) * 2, "published"),
    )


def _run(effort: Effort) -> Outcome:
    settings = _settings(effort)
    last = settings[-1]
    effort.progress(1.0)
    return Outcome(
        parameters={
            "seed": effort.seed,
            "records": RECORDS,
            "columns": DIM,
            "clip": CLIP,
            "noise multiplier": MULTIPLIER,
            "delta": DELTA,
        },
        table=LessonTable(COLUMNS, tuple(one.row for one in settings)),
        picture=Picture(
            "One step of DP-SGD: epsilon for a record of some size",
            "size of the record",
            "epsilon",
            _curves(settings),
            x_log=True,
            y_log=True,
        ),
        checks=_checks(settings),
        sentence=(
            "Without clipping the gradient of a record is unbounded, and no noise suffices: a record of size "
            f"{last.size:g} gets epsilon = {last.epsilons[0]:.3g} from noise that is calibrated to {claimed():.2f}. "
            "With clipping, every record has the claimed guarantee."
        ),
    )


LESSON = Lesson(
    name="per_example_clipping",
    title="Clip every gradient",
    source="Musco, Razaviyayn",
    claim=(
        "In both lectures, DP-SGD adds a Gaussian vector to each gradient. Musco's version has no clipping and "
        "therefore no guarantee: the gradient of each record must be bounded first, as in Razaviyayn's version."
    ),
    tags=("T6", "T44", "T46", "E10"),
    run=_run,
)
