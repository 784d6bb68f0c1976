# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Noisy gradient descent with a switch for each bug: full batches, T = 50, every noisy gradient is seen (T45).

The worst neighbours of a linear model make the record's gradient as long as the clip in every step: here 1, along one
direction, forward in all steps but the last, where it turns (a residual has changed its sign). Whoever else is in the
data has gradient 0. What optimizers make of the noisy gradients is post-processing (T3).
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
TURNED = (1.0,) * (STEPS - 1) + (-1.0,)
"""The record's gradient along its direction, step by step."""
SUM, DIFFERENCES = 0.8, 0.2
"""How alpha is shared between the two statistics."""


@lru_cache(maxsize=8)
def noise_multiplier(adjacency: Adjacency) -> float:
    """What T steps need for the claim, by dperm's accountant."""
    return calibrate(lambda sigma: Gaussian(sigma) * STEPS, EPSILON, DELTA, adjacency)


@dataclass(frozen=True)
class FullBatchDescent:
    """Noisy gradient descent, clipped at 1.

    Attributes
    ----------
    adjacency
        Of the claim.
    planned_for
        The adjacency that the noise was calibrated for.
    noise_factor
        Times the noise that is needed.
    fresh
        Whether every step draws noise of its own.
    intercept
        Whether there is a bias, with a gradient as long as that of the weight.
    whole_clip
        Whether the clip is on the whole gradient, or on the weight's part alone.
    """

    adjacency: Adjacency = Adjacency.ADD_REMOVE
    planned_for: Adjacency = Adjacency.ADD_REMOVE
    noise_factor: float = 1.0
    fresh: bool = True
    intercept: bool = False
    whole_clip: bool = True

    @cached_property
    def direction(self) -> Floats:
        """The record's gradient, as it is added up: clipped to length 1, or one part of it."""
        raw = np.ones(2 if self.intercept else 1)
        return raw / (np.linalg.norm(raw) if self.whole_clip else abs(raw[0]))

    def gradients(self, included: Truths) -> Floats:
        """The sum of the clipped gradients, (runs, steps, parts): with the record, or without (or its opposite)."""
        without = 0.0 if self.adjacency is Adjacency.ADD_REMOVE else -1.0
        sizes = np.where(included, 1.0, without)
        return np.asarray(sizes[:, None, None] * np.multiply.outer(np.array(TURNED), self.direction))

    def outputs(self, included: Truths, seed: int) -> Floats:
        """The noisy gradients of every step."""
        found = self.gradients(included)
        shape = found.shape if self.fresh else (len(found), 1, found.shape[2])
        found += generator(seed).normal(0.0, self.noise_factor * noise_multiplier(self.planned_for), shape)
        return found

    def statistics(self) -> tuple[Statistic, ...]:
        """The likelihood ratio of the correct version, a sum over the steps; and differences between steps.

        What is claimed is a Gaussian curve. So the bound by way of mu refutes it without further assumption: no
        mechanism under that curve is guessed more often than in Phi(mu/2) of the runs (T19).
        """
        correct = replace(self, whole_clip=True)
        slopes = np.multiply.outer(np.array(TURNED), correct.direction).ravel()
        middle = STEPS / 2 if self.adjacency is Adjacency.ADD_REMOVE else 0.0

        def score(outputs: Floats) -> Floats:
            return np.asarray(outputs.reshape(len(outputs), -1) @ slopes - middle)

        return FixedThreshold("sum over steps", score, share=SUM, gaussian=True), step_differences(share=DIFFERENCES)

    def subject(self, seed: int) -> BatchSubject:
        """With the claim of the correct version, its whole curve."""
        claimed = ApproxDP(EPSILON, DELTA, self.adjacency)
        curve = account(Gaussian(noise_multiplier(self.adjacency)) * STEPS, self.adjacency)
        return BatchSubject(
            f"gradient descent, {STEPS} steps, under {self.adjacency.value}",
            claimed,
            lambda included: self.outputs(included, seed),
            self.statistics(),
            curve,
            {"steps": STEPS, "noise_multiplier": noise_multiplier(self.adjacency)},
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
    "Noise for a record added or removed, claimed for a record replaced, which moves a gradient twice as far.",
    correct=REPLACING,
    buggy=replace(REPLACING, planned_for=Adjacency.ADD_REMOVE),
    effort=0.3,
)
UNCLIPPED_BIAS = _bug(
    "clipping skipped on the bias",
    "The clip is on the weights' gradient alone; with the bias the gradient is sqrt(2) times as long.",
    correct=BIASED,
    buggy=replace(BIASED, whole_clip=False),
    effort=0.3,
)
REUSED_NOISE = _bug(
    "noise reused every step",
    "One draw of noise serves all steps: their differences have none.",
    correct=RIGHT,
    buggy=replace(RIGHT, fresh=False),
    effort=0.3,
)
