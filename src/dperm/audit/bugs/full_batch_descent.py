# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Noisy gradient descent with a switch for each bug: full batches, T = 50, all noisy gradients visible (T45).

The worst neighbours of a linear model give the record a gradient of the clipping norm in every step. Here the norm is
1, along one direction. The gradient points forward in all steps but the last and then changes its sign, as does a
residual. All other records have gradient 0. Optimizers only post-process the noisy gradients (T3).
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from dperm.accounting import Gaussian, account, calibrate
from dperm.audit.black_box import BatchSubject, FixedThreshold, Statistic
from dperm.audit.black_box.output_statistics import step_differences
from dperm.audit.black_box.sample import Truths
from dperm.audit.bugs.bug import SimulatedBug
from dperm.noise.arrays import Floats
from dperm.noise.simulation import generator
from dperm.privacy import Adjacency, ApproxDP

STEPS, EPSILON, DELTA = 50, 4.0, 1e-5
SIGNS = (1.0,) * (STEPS - 1) + (-1.0,)
"""The record's gradient along its direction, step by step."""
SUM, DIFFERENCES = 0.8, 0.2
"""Shares of alpha for the two statistics."""


@lru_cache(maxsize=8)
def noise_multiplier(adjacency: Adjacency) -> float:
    """Return the noise multiplier of T steps for the claim, by dperm's accountant."""
    return calibrate(lambda sigma: Gaussian(sigma) * STEPS, EPSILON, DELTA, adjacency)


@dataclass(frozen=True)
class FullBatchDescent:
    """Noisy gradient descent with clipping norm 1.

    Attributes
    ----------
    adjacency
        Adjacency of the claim.
    planned_for
        Adjacency for the calibration of the noise.
    noise_factor
        Factor by which the required noise is multiplied.
    fresh
        Whether every step draws its own noise.
    intercept
        Whether the model has an intercept, with a gradient as long as the gradient of the weight.
    whole_clip
        Whether to clip the whole gradient, or only the part of the weight.
    """

    adjacency: Adjacency = Adjacency.ADD_REMOVE
    planned_for: Adjacency = Adjacency.ADD_REMOVE
    noise_factor: float = 1.0
    fresh: bool = True
    intercept: bool = False
    whole_clip: bool = True

    @cached_property
    def direction(self) -> Floats:
        """Summed gradient of the record: clipped to norm 1 as a whole, or in the weight's part only."""
        raw = np.ones(2 if self.intercept else 1)
        return raw / (np.linalg.norm(raw) if self.whole_clip else abs(raw[0]))

    def gradients(self, included: Truths) -> Floats:
        """Return the sums of clipped gradients, of shape (runs, steps, parts).

        Without the record, the sum is 0, or the opposite gradient under replace_one.
        """
        without = 0.0 if self.adjacency is Adjacency.ADD_REMOVE else -1.0
        sizes = np.where(included, 1.0, without)
        return np.asarray(sizes[:, None, None] * np.multiply.outer(np.array(SIGNS), self.direction))

    def outputs(self, included: Truths, seed: int) -> Floats:
        """Return the noisy gradients of all steps."""
        found = self.gradients(included)
        shape = found.shape if self.fresh else (len(found), 1, found.shape[2])
        found += generator(seed).normal(0.0, self.noise_factor * noise_multiplier(self.planned_for), shape)
        return found

    def statistics(self) -> tuple[Statistic, ...]:
        """Return the likelihood ratio of the correct version, a sum over the steps, and the differences between steps.

        The claim is a Gaussian curve, so the bound on mu refutes it without further assumptions. No mechanism under
        this curve allows correct guesses in more than Phi(mu/2) of the runs (T19).
        """
        correct = replace(self, whole_clip=True)
        slopes = np.multiply.outer(np.array(SIGNS), correct.direction).ravel()
        middle = STEPS / 2 if self.adjacency is Adjacency.ADD_REMOVE else 0.0

        def score(outputs: Floats) -> Floats:
            return np.asarray(outputs.reshape(len(outputs), -1) @ slopes - middle)

        return FixedThreshold("sum over steps", score, share=SUM, gaussian=True), step_differences(share=DIFFERENCES)

    def subject(self, seed: int) -> BatchSubject:
        """Return the audit subject, with the claim and the privacy profile of the correct version."""
        claimed = ApproxDP(EPSILON, DELTA, self.adjacency)
        curve = account(Gaussian(noise_multiplier(self.adjacency)) * STEPS, self.adjacency)
        return BatchSubject(
            f"gradient descent, {STEPS} steps, under {self.adjacency.value}",
            claimed,
            draw=lambda included: self.outputs(included, seed),
            statistics=self.statistics(),
            profile=curve,
            facts={"steps": STEPS, "noise_multiplier": noise_multiplier(self.adjacency)},
        )


def _bug(
    name: str, wrong: str, *, correct: FullBatchDescent, buggy: FullBatchDescent, effort: float = 1.0
) -> SimulatedBug:
    return SimulatedBug(name, wrong, lambda is_buggy, seed: (buggy if is_buggy else correct).subject(seed), effort)


RIGHT = FullBatchDescent()
REPLACING = FullBatchDescent(Adjacency.REPLACE_ONE, Adjacency.REPLACE_ONE)
BIASED = FullBatchDescent(intercept=True)

LESS_NOISE = _bug(
    "noise -20 %",
    "The noise has 80 % of the standard deviation that the claim needs.",
    correct=RIGHT,
    buggy=replace(RIGHT, noise_factor=0.8),
    effort=0.5,
)
LITTLE_LESS_NOISE = _bug(
    "noise -10 %",
    "The noise has 90 % of the standard deviation that the claim needs.",
    correct=RIGHT,
    buggy=replace(RIGHT, noise_factor=0.9),
)
WRONG_ADJACENCY = _bug(
    "wrong adjacency",
    "The noise is for an added or removed record, the claim for a replaced one, which moves a gradient twice as far.",
    correct=REPLACING,
    buggy=replace(REPLACING, planned_for=Adjacency.ADD_REMOVE),
    effort=0.3,
)
UNCLIPPED_BIAS = _bug(
    "clipping skipped on the bias",
    "Only the weights' gradient is clipped; with the bias the gradient is sqrt(2) times as long.",
    correct=BIASED,
    buggy=replace(BIASED, whole_clip=False),
    effort=0.3,
)
REUSED_NOISE = _bug(
    "noise reused every step",
    "One draw of noise serves all steps, so their differences contain no noise.",
    correct=RIGHT,
    buggy=replace(RIGHT, fresh=False),
    effort=0.3,
)
