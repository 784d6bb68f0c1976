# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Shuffled batches are not Poisson samples: lower bound on their leakage, and the Poisson accounting (T27)."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dperm.accounting import Gaussian, Poisson, account
from dperm.accounting.theorems import analytic_gaussian_delta, shuffled_delta_lower
from dperm.data.arrays import Floats
from dperm.noise.simulation import generator
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, LessonTable, Outcome

BATCHES = 10_000
EPSILON = 4.0
SIMULATED = (0.3, 0.35, 0.4)
"""Noise multipliers whose delta is visible in a few hundred simulated epochs."""
WRONG = 1e-4
LEAST_FACTOR = 70
"""Proved delta at the smallest noise, divided by that of Poisson accounting, at least."""
CHUNK = 100
COLUMNS = (
    "noise multiplier",
    "Poisson accounting",
    "shuffled, at least (proved)",
    "shuffled, simulated",
    "low",
    "high",
    "shuffled, at most (no amplification)",
)


def poisson_delta(multiplier: float) -> float:
    """Return the delta of one epoch of Poisson samples with the same expected size (T22)."""
    event = Poisson(Gaussian(multiplier), rate=1 / BATCHES) * BATCHES
    return account(event, "add_remove").delta(EPSILON)


@dataclass(frozen=True)
class ShuffledEpoch:
    """Deltas at EPSILON of one shuffled epoch, for a record that is replaced by a blank one (zero-out)."""

    multiplier: float
    gains: Floats

    @property
    def least(self) -> float:
        """Lower bound on the delta of shuffled batches (T27)."""
        return shuffled_delta_lower(EPSILON, self.multiplier, batches=BATCHES)

    @property
    def most(self) -> float:
        """Upper bound on the delta of shuffled batches, without amplification: 1/sigma-GDP (T27)."""
        return analytic_gaussian_delta(EPSILON, self.multiplier)

    @cached_property
    def poisson(self) -> float:
        """Delta of the epoch by Poisson accounting."""
        return poisson_delta(self.multiplier)

    @property
    def simulated(self) -> tuple[float, float, float]:
        """Mean of the gains, which lie in [0, 1], and its confidence interval by Hoeffding's inequality."""
        mean, half = float(self.gains.mean()), math.sqrt(math.log(2 * len(SIMULATED) / WRONG) / (2 * len(self.gains)))
        return mean, max(mean - half, 0.0), min(mean + half, 1.0)

    @property
    def row(self) -> tuple[Cell, ...]:
        """Row of the table, in the order of COLUMNS."""
        simulated = self.simulated if len(self.gains) else ("", "", "")
        return (self.multiplier, self.poisson, self.least, *simulated, self.most)


def _gains(noise: Floats, multiplier: float) -> Floats:
    """Return (1 - e^(eps - L))_+ of epochs under P for the pair of T27; their mean is the delta of the pair (T2).

    The batch with the record has mean 2 in P and 1 in Q, the others 0, each with noise. The position of this batch is
    secret. The densities are sums over the batches of e^((2x - 2)/v) and e^((x - 1/2)/v) with variance v.
    """
    x = multiplier * noise
    x[:, 0] += 2  # all positions are equivalent
    terms = np.exp((x - 0.5) / multiplier**2)
    loss = np.log(np.einsum("ij,ij->i", terms, terms) / terms.sum(axis=1)) - 1 / multiplier**2
    return np.asarray(np.maximum(-np.expm1(EPSILON - loss), 0.0))


def _setting(multiplier: float, effort: Effort) -> ShuffledEpoch:
    random = generator(effort.seed, f"shuffled epochs with noise {multiplier}")
    chunks = (2 if effort.quick else 20) if multiplier in SIMULATED else 0
    gains = [_gains(random.standard_normal((CHUNK, BATCHES)), multiplier) for _ in range(chunks)]
    return ShuffledEpoch(multiplier, np.concatenate([np.empty(0), *gains]))


def _settings(effort: Effort) -> list[ShuffledEpoch]:
    multipliers = (0.3, 0.4, 0.5) if effort.quick else (*SIMULATED, 0.45, 0.5, 0.55, 0.6, 0.65)
    found: list[ShuffledEpoch] = []
    for multiplier in multipliers:
        found.append(_setting(multiplier, effort))
        effort.progress(len(found) / len(multipliers))
    return found


def _checks(settings: list[ShuffledEpoch]) -> tuple[Check, ...]:
    at = next(one for one in settings if one.multiplier == 0.4)
    seen = [(one, one.simulated) for one in settings if len(one.gains)]
    factors = [one.least / one.poisson for one in settings]
    return (
        Check(
            "The delta of shuffled batches exceeds that of Poisson accounting, at every noise multiplier.",
            all(one.poisson < one.least for one in settings),
        ),
        Check(
            f"The factor is at least {LEAST_FACTOR} at every noise multiplier, and grows with it.",
            factors == sorted(factors) and factors[0] > LEAST_FACTOR,
        ),
        Check(
            f"At noise multiplier 0.4, delta is at least {at.least:.3f}, not {at.poisson:.3g}.",
            at.least > 1e4 * at.poisson,
        ),
        Check(
            "The simulated delta of the pair agrees with the two bounds within its interval.",
            all(one.least <= high and low <= one.most for one, (_, low, high) in seen),
        ),
        Check("The simulation alone refutes Poisson accounting.", all(low > one.poisson for one, (_, low, _) in seen)),
        Check(
            "The lower bound is below the upper bound without amplification.", all(o.least <= o.most for o in settings)
        ),
    )


def _curves(settings: list[ShuffledEpoch]) -> tuple[Curve, ...]:
    x, seen = tuple(one.multiplier for one in settings), [one for one in settings if len(one.gains)]
    mean, low, high = zip(*(one.simulated for one in seen), strict=True)
    return (
        Curve("no amplification, at most", x, tuple(one.most for one in settings), "proved"),
        Curve("shuffled, at least", x, tuple(one.least for one in settings), "proved"),
        Curve(
            "shuffled, simulated", tuple(one.multiplier for one in seen), y=mean, kind="measured", low=low, high=high
        ),
        Curve("Poisson accounting", x, tuple(one.poisson for one in settings), "wrong"),
    )


def _run(effort: Effort) -> Outcome:
    settings = _settings(effort)
    at = next(one for one in settings if one.multiplier == 0.4)
    return Outcome(
        parameters={
            "seed": effort.seed,
            "batches of an epoch": BATCHES,
            "epsilon": EPSILON,
            "simulated epochs": len(at.gains),
            "level": WRONG,
        },
        table=LessonTable(COLUMNS, tuple(one.row for one in settings)),
        picture=Picture(
            f"One epoch of {BATCHES:,} batches: delta at epsilon = {EPSILON:g}",
            "noise multiplier",
            "delta",
            _curves(settings),
            y_log=True,
            bands=f"bands: {1 - WRONG:.2%} intervals, jointly",
        ),
        checks=_checks(settings),
        sentence=(
            f"With noise 0.4, a shuffled epoch has a delta of at least {at.least:.3f}, where Poisson accounting gives "
            f"{at.poisson:.2g}. The simulated delta agrees with the two bounds within its interval. Account for the "
            "sampler that is used: dperm gives no amplification for shuffled batches."
        ),
    )


LESSON = Lesson(
    name="shuffling",
    title="Shuffled batches are not Poisson samples",
    source="Razaviyayn",
    claim=(
        "In the lecture, DP-SGD draws a random batch, and sampling amplifies its privacy. Most software shuffles the "
        "data instead and takes one batch after the other. Poisson accounting is wrong for shuffled batches: here the "
        "true delta is at least 70 times larger, and the factor grows with the noise."
    ),
    tags=("T22", "T27"),
    run=_run,
)
