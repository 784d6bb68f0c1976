# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private mean of zeros and ones: error of the Laplace noise and sampling error (T5, E26, E27)."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammainccinv, gammaincinv

from dperm.data.arrays import Floats
from dperm.mechanisms.releases import Mean
from dperm.noise.simulation import NotPrivateBits, generator
from dperm.privacy import PureDP
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, LessonTable, Outcome

SHARE = 0.3
"""Share of ones in the population."""
EPSILONS = (0.1, 1.0)
WRONG = 1e-4
"""Probability that any of the intervals misses its value, if the theory holds."""
COLUMNS = (
    "n",
    "epsilon",
    "mean error in theory",
    "mean error",
    "low",
    "high",
    "standard deviation in theory",
    "standard deviation",
    "standard deviation, n private",
    "sampling error",
)


@dataclass(frozen=True)
class MeanErrors:
    """Errors of releases at one n and epsilon, with n public and with n private."""

    n: int
    epsilon: float
    public: Floats
    private: Floats
    level: float

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise, which is also its mean absolute value (T5)."""
        return 1 / (self.n * self.epsilon)

    @property
    def error(self) -> float:
        """Measured mean absolute error of the releases."""
        return float(np.abs(self.public).mean())

    @property
    def interval(self) -> tuple[float, float]:
        """Exact confidence interval: the sum of r absolute Laplace variables has a Gamma distribution of shape r."""
        total, r = float(np.abs(self.public).sum()), len(self.public)
        return total / float(gammainccinv(r, self.level / 2)), total / float(gammaincinv(r, self.level / 2))

    @property
    def sampling(self) -> float:
        """Sampling error: standard deviation of the mean of n random records."""
        return math.sqrt(SHARE * (1 - SHARE) / self.n)

    @property
    def row(self) -> tuple[Cell, ...]:
        """Row of the table, in the order of COLUMNS."""
        deviations = (math.sqrt(2) * self.scale, _deviation(self.public), _deviation(self.private))
        return (self.n, self.epsilon, self.scale, self.error, *self.interval, *deviations, self.sampling)


def _deviation(errors: Floats) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def _errors(mean: Mean, data: Floats, *, repeats: int, seed: int) -> Floats:
    """Return the errors of ``repeats`` releases; the data are read once, in place of once per `Mean.release`."""
    statistic = mean.fixed_point.doubles(mean.totals(data).values)
    stream = NotPrivateBits(seed).stream()
    noisy = (mean.mechanism.noisy(statistic, stream) for _ in range(repeats))
    return np.array([mean.finished(one, mean.n) for one in noisy]) - float(data.mean())


def _setting(n: int, epsilon: float, *, effort: Effort, level: float) -> MeanErrors:
    random = generator(effort.seed, f"the mean of {n} records with epsilon = {epsilon}")
    data, repeats = (random.random(n) < SHARE).astype(np.float64), 400 if effort.quick else 2000
    means = (
        Mean(PureDP(epsilon, "replace_one"), bounds=(0.0, 1.0), n=n),
        Mean(PureDP(epsilon, "add_remove"), bounds=(0.0, 1.0)),
    )
    public, private = (_errors(mean, data, repeats=repeats, seed=int(random.integers(2**53))) for mean in means)
    return MeanErrors(n, epsilon, public, private, level)


def _settings(effort: Effort) -> list[MeanErrors]:
    sizes = (100, 1000, 10_000) if effort.quick else (100, 300, 1000, 3000, 10_000, 30_000)
    pairs, found = [(n, epsilon) for epsilon in EPSILONS for n in sizes], []
    for done, (n, epsilon) in enumerate(pairs, 1):
        found.append(_setting(n, epsilon, effort=effort, level=WRONG / len(pairs)))
        effort.progress(done / len(pairs))
    return found


def delta_if_n_sets_the_scale(n: int, epsilon: float) -> float:
    """Return the delta at ``epsilon`` of a mean with noise scale 1/(n epsilon), if a record may be added (E27).

    With n or n + 1 records that are all 0, both means are 0 but the scales differ. The loss at z is
    epsilon |z| - log((n+1)/n), which is unbounded. It exceeds epsilon for |z| > t, and delta is P - e^eps Q there.
    """
    t = 1 + math.log1p(1 / n) / epsilon
    return math.exp(-n * epsilon * t) - math.exp(epsilon - (n + 1) * epsilon * t)


def _checks(settings: list[MeanErrors]) -> tuple[Check, ...]:
    slopes = [
        np.polyfit(np.log([one.n for one in some]), np.log([one.error for one in some]), 1)[0]
        for some in ([one for one in settings if one.epsilon == epsilon] for epsilon in EPSILONS)
    ]
    at = next(one for one in settings if (one.n, one.epsilon) == (10_000, 0.1))
    few = next(one for one in settings if (one.n, one.epsilon) == (100, 0.1))
    more = _deviation(at.private) / _deviation(at.public)
    leak = delta_if_n_sets_the_scale(10, 0.1)
    inside = all(one.interval[0] <= one.scale <= one.interval[1] for one in settings)
    return (
        Check("The mean error is 1/(n epsilon) in every setting, within its interval.", inside),
        Check(
            f"The mean error falls like 1/n: slopes {slopes[0]:.3f} and {slopes[1]:.3f}.",
            bool(max(abs(slope + 1) for slope in slopes) < 0.15),
        ),
        Check(
            f"At n = 10,000, epsilon = 0.1 the mean error is {at.error:.5f}, roughly 0.001.",
            abs(at.error - 0.001) < 0.0003,
        ),
        Check(
            "At this point the error of the noise is below the sampling error; at n = 100 it is above.",
            _deviation(at.public) < at.sampling and _deviation(few.public) > few.sampling,
        ),
        Check(
            f"If n is private, sum and count are released together, and the error is {more:.2f} times as large.",
            more < 1.25,
        ),
        Check(
            f"If records may be added, noise of scale 1/(n epsilon) is not epsilon-DP: at n = 10, epsilon = 0.1 its "
            f"delta is {leak:.4f}.",
            leak > 0.01,
        ),
    )


def _curves(settings: list[MeanErrors]) -> tuple[Curve, ...]:
    curves: list[Curve] = []
    for epsilon in EPSILONS:
        some = [one for one in settings if one.epsilon == epsilon]
        x, low, high = tuple(float(one.n) for one in some), *zip(*(one.interval for one in some), strict=True)
        error = f"error, epsilon = {epsilon:g}"
        curves += [
            Curve(error, x, y=tuple(one.error for one in some), kind="measured", low=low, high=high),
            Curve(f"1/(n epsilon), epsilon = {epsilon:g}", x, tuple(one.scale for one in some), "proved", beside=error),
        ]
    return (*curves, Curve("sampling (standard deviation)", x, tuple(one.sampling for one in some), "proved"))


def _run(effort: Effort) -> Outcome:
    settings = _settings(effort)
    at = next(one for one in settings if (one.n, one.epsilon) == (10_000, 0.1))
    more = _deviation(at.private) / _deviation(at.public)
    return Outcome(
        parameters={"seed": effort.seed, "share of ones": SHARE, "releases of each": len(at.public), "level": WRONG},
        table=LessonTable(COLUMNS, tuple(one.row for one in settings)),
        picture=Picture(
            "Mean of zeros and ones: the error of the noise falls like 1/n",
            "number of records n",
            "mean absolute error",
            _curves(settings),
            x_log=True,
            y_log=True,
            bands=f"bands: {1 - WRONG:.2%} intervals, jointly",
        ),
        checks=_checks(settings),
        sentence=(
            f"With 10,000 records and epsilon = 0.1 the private mean has a mean error of {at.error:.5f}; the sampling "
            f"error is {at.sampling:.5f}. If n is private too, sum and count are released together, and the standard "
            f"deviation is {more:.2f} times as large. This comparison mixes two guarantees: epsilon then applies to "
            "records added or removed. A replaced record is one removed and one added, and may cost 2 epsilon (T4)."
        ),
    )


LESSON = Lesson(
    name="laplace_mean",
    title="The Laplace mean of n values",
    source="Musco",
    claim=(
        "The lecture claims that the mean of n values in {0, 1} with Laplace noise has an error of about 1/(n "
        "epsilon): roughly 0.001 at n = 10,000 and epsilon = 0.1. This is true under replace-one with public n. If "
        "records are added or removed, the mean still moves by at most 1/n, but a noise scale that depends on n "
        "reveals n."
    ),
    tags=("T4", "T5", "E26", "E27"),
    run=_run,
)
