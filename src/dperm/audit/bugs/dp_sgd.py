# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""DP-SGD with a switch for each bug: Poisson samples, T = 50, every noisy gradient is seen (T46).

The record's gradient is 1, that of the others 0: they are there to be counted.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dperm.accounting import Gaussian, Poisson, account, calibrate
from dperm.accounting.event import Event
from dperm.audit.black_box import BatchSubject, SelectedThreshold, Statistic
from dperm.audit.black_box.output_statistics import projection, step_differences
from dperm.audit.black_box.sample import RunSample, Truths
from dperm.audit.black_box.statistics import Score
from dperm.audit.bugs.bug import SimulatedBug
from dperm.noise.arrays import Floats
from dperm.noise.simulation import generator
from dperm.privacy import Adjacency, ApproxDP

STEPS, EPSILON, DELTA, DECLARED = 50, 1.0, 1e-5, 20
"""DECLARED is the public n, by which sums are divided: q n."""
CLAIMED = ApproxDP(EPSILON, DELTA, Adjacency.ADD_REMOVE)


@lru_cache(maxsize=8)
def noise_multiplier(rate: float) -> float:
    """What T steps on Poisson samples need for the claim, by dperm's accountant."""
    return calibrate(lambda sigma: event(rate, sigma), EPSILON, DELTA, Adjacency.ADD_REMOVE)


def event(rate: float, sigma: float) -> Event:
    """What is claimed to have happened."""
    return Poisson(Gaussian(sigma), rate=rate) * STEPS


@dataclass(frozen=True)
class SampledDescent:
    """DP-SGD, clipped at 1.

    Attributes
    ----------
    rate
        q.
    others
        Records with gradient 0.
    poisson
        Whether the record is drawn anew in every step; else it is in the same batch of every pass.
    expected_size
        Whether noisy sums are divided by the expected size of a sample, or by the size it has.
    """

    rate: float
    others: int = 0
    poisson: bool = True
    expected_size: bool = True

    def outputs(self, included: Truths, seed: int) -> Floats:
        """The noisy mean gradients of every step."""
        rng, shape = generator(seed), (len(included), STEPS)
        drawn = included[:, None] & (rng.random(shape) < self.rate if self.poisson else self._batch())
        found = drawn + rng.normal(0.0, noise_multiplier(self.rate), shape)
        if self.expected_size:
            return np.asarray(found / (self.rate * DECLARED))
        return np.asarray(found / np.maximum(drawn + rng.binomial(self.others, self.rate, shape), 1))

    def _batch(self) -> Truths:
        """The steps whose batch holds the record, if a pass cuts the data into 1/q batches once and for all."""
        return np.asarray(np.arange(STEPS) % round(1 / self.rate) == 0)

    def subject(self, seed: int) -> BatchSubject:
        """With the claim of the correct version, its whole curve."""
        sigma = noise_multiplier(self.rate)
        return BatchSubject(
            f"DP-SGD, {STEPS} steps at rate {self.rate:g}",
            CLAIMED,
            lambda included: self.outputs(included, seed),
            STATISTICS,
            account(event(self.rate, sigma), Adjacency.ADD_REMOVE),
            {"steps": STEPS, "rate": self.rate, "noise_multiplier": sigma, "others": self.others},
        )


def size_of_steps(*, share: float = 1.0) -> SelectedThreshold:
    """How long the steps are, whatever their direction: a divisor that depends on the data shows in the noise."""
    return SelectedThreshold("size of the steps", _size, share)


def _size(first: RunSample) -> Score:
    """Shorter with the record, or longer: the selecting runs tell."""
    found, ins = _lengths(first.outputs), first.included
    sign = -1.0 if ins.any() and not ins.all() and found[ins].mean() < found[~ins].mean() else 1.0
    return lambda outputs: sign * _lengths(outputs)


def _lengths(outputs: Floats) -> Floats:
    return np.asarray(np.abs(outputs.reshape(len(outputs), -1)).mean(axis=1))


STATISTICS: tuple[Statistic, ...] = (projection(), step_differences(), size_of_steps())

FIXED_BATCHES = SimulatedBug(
    "fixed batches claimed as Poisson",
    "The data are cut into batches once; the noise is that of samples drawn anew in every step.",
    lambda buggy, seed: SampledDescent(0.1, poisson=not buggy).subject(seed),
    effort=0.5,
)
REAL_BATCH_SIZE = SimulatedBug(
    "dividing by the real batch size",
    "Noisy sums are divided by the size of the sample, which tells who is in it, and not by its expectation.",
    lambda buggy, seed: SampledDescent(0.5, others=2, expected_size=not buggy).subject(seed),
    effort=0.3,
)
