# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""DP-SGD with a switch for each bug: Poisson samples, T = 50, all noisy gradients visible (T46).

The record has gradient 1. The other records have gradient 0; only their number matters.
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
"""Constants of the training run. ``DECLARED`` is the public n; noisy sums are divided by q n."""
CLAIMED = ApproxDP(EPSILON, DELTA, Adjacency.ADD_REMOVE)


@lru_cache(maxsize=8)
def noise_multiplier(rate: float) -> float:
    """Return the noise multiplier of T steps on Poisson samples for the claim, by dperm's accountant."""
    return calibrate(lambda sigma: event(rate, sigma), EPSILON, DELTA, Adjacency.ADD_REMOVE)


def event(rate: float, sigma: float) -> Event:
    """Return the claimed event: T Gaussian releases, each on a Poisson sample."""
    return Poisson(Gaussian(sigma), rate=rate) * STEPS


@dataclass(frozen=True)
class SampledDescent:
    """DP-SGD with clipping norm 1.

    Attributes
    ----------
    rate
        Sampling rate q.
    others
        Number of records with gradient 0.
    poisson
        Whether every step samples the record anew. Otherwise the record is in the same batch of every pass.
    expected_size
        Whether to divide noisy sums by the expected sample size, or by the actual size.
    """

    rate: float
    others: int = 0
    poisson: bool = True
    expected_size: bool = True

    def outputs(self, included: Truths, seed: int) -> Floats:
        """Return the noisy mean gradients of all steps."""
        rng, shape = generator(seed), (len(included), STEPS)
        drawn = included[:, None] & (rng.random(shape) < self.rate if self.poisson else self._batch())
        found = drawn + rng.normal(0.0, noise_multiplier(self.rate), shape)
        if self.expected_size:
            return np.asarray(found / (self.rate * DECLARED))
        return np.asarray(found / np.maximum(drawn + rng.binomial(self.others, self.rate, shape), 1))

    def _batch(self) -> Truths:
        """Return a mask of the steps with the record, for data cut into 1/q fixed batches."""
        return np.asarray(np.arange(STEPS) % round(1 / self.rate) == 0)

    def subject(self, seed: int) -> BatchSubject:
        """Return the audit subject, with the claim and the privacy profile of the correct version."""
        sigma = noise_multiplier(self.rate)
        return BatchSubject(
            f"DP-SGD, {STEPS} steps at rate {self.rate:g}",
            CLAIMED,
            draw=lambda included: self.outputs(included, seed),
            statistics=STATISTICS,
            profile=account(event(self.rate, sigma), Adjacency.ADD_REMOVE),
            facts={"steps": STEPS, "rate": self.rate, "noise_multiplier": sigma, "others": self.others},
        )


def size_of_steps(*, share: float = 1.0) -> SelectedThreshold:
    """Return the mean step length as a statistic: a data-dependent divisor changes the scale of the noise."""
    return SelectedThreshold("size of the steps", _size, share)


def _size(first: RunSample) -> Score:
    """Learn from the selecting runs whether steps with the record are shorter or longer."""
    found, ins = _lengths(first.outputs), first.included
    sign = -1.0 if ins.any() and not ins.all() and found[ins].mean() < found[~ins].mean() else 1.0
    return lambda outputs: sign * _lengths(outputs)


def _lengths(outputs: Floats) -> Floats:
    return np.asarray(np.abs(outputs.reshape(len(outputs), -1)).mean(axis=1))


STATISTICS: tuple[Statistic, ...] = (projection(), step_differences(), size_of_steps())

FIXED_BATCHES = SimulatedBug(
    "fixed batches claimed as Poisson",
    "The data are split into batches once, but the noise is calibrated for new samples in every step.",
    lambda buggy, seed: SampledDescent(0.1, poisson=not buggy).subject(seed),
    effort=0.5,
)
REAL_BATCH_SIZE = SimulatedBug(
    "dividing by the real batch size",
    "Noisy sums are divided by the actual sample size, which reveals the record, instead of the expected size.",
    lambda buggy, seed: SampledDescent(0.5, others=2, expected_size=not buggy).subject(seed),
    effort=0.3,
)
