# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A training that stops at a moment of its own choice and reports the steps that were run.

Every step is a Gaussian mechanism, and t steps have epsilon_t at delta. Who reports (epsilon_t, delta) after stopping
at t claims, for every event E,

    P(E) <= E_Q[e^epsilon_t; E] + delta.

The rule: stop as soon as the privacy loss is above epsilon_t. With the weight e^{epsilon_t - epsilon_T} as a coin on
the right side, E thinned to A, the claim says P(E) <= e^epsilon_T Q(A) + delta: a claim of (epsilon_T, delta) that
guesses can refute. Whoever reports the declared T, wherever he stops, has A = E and is right.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from dperm.accounting import Gaussian, account, calibrate
from dperm.audit.black_box import Drawn, Sample
from dperm.audit.black_box.guessing import Counts, bounded
from dperm.audit.black_box.sample import Truths
from dperm.audit.bugs.bug import Simulated
from dperm.audit.lower_bound import LowerBound
from dperm.noise.arrays import Floats
from dperm.noise.simulation import generator
from dperm.privacy import Adjacency, ApproxDP

STEPS, EPSILON, DELTA = 16, 0.92, 0.01
BEYOND = 0.3
"""How far above the reported epsilon the loss is when the training stops, in deviations of the loss."""
THINNING = 2**52
"""Added to a seed: the coins that thin are neither those of the noise nor those of the record."""
CLAIMED = ApproxDP(EPSILON, DELTA, Adjacency.ADD_REMOVE)


@lru_cache(maxsize=1)
def noise_multiplier() -> float:
    """What the declared steps need for the claim."""
    return calibrate(lambda sigma: Gaussian(sigma) * STEPS, EPSILON, DELTA, Adjacency.ADD_REMOVE)


@lru_cache(maxsize=1)
def epsilons() -> tuple[float, ...]:
    """epsilon_t at delta, for t = 1, ..., T."""
    step = Gaussian(noise_multiplier())
    return tuple(account(step * t, Adjacency.ADD_REMOVE).epsilon(DELTA) for t in range(1, STEPS + 1))


@dataclass(frozen=True)
class Stopping:
    """Noisy gradients of a record with gradient 1, until the loss is large; what is reported afterwards."""

    report_declared: bool

    def outputs(self, included: Truths, seed: int) -> Floats:
        """(stopped early, reported epsilon) for each run."""
        rng, sigma, t = generator(seed), noise_multiplier(), np.arange(1, STEPS + 1)
        total = rng.normal(0.0, sigma, (len(included), STEPS)).cumsum(axis=1)
        total += included[:, None] * t
        loss = (total - t / 2) / sigma**2
        hits = loss >= np.array(epsilons()) + BEYOND * np.sqrt(t) / sigma
        stops = hits.any(axis=1)
        run = np.where(stops, hits.argmax(axis=1), STEPS - 1)
        reported = np.array(epsilons())[STEPS - 1 if self.report_declared else run]
        return np.column_stack([stops, np.broadcast_to(reported, stops.shape)])

    def subject(self, seed: int) -> Drawn:
        """With the claim of the declared steps, below which every report stays."""
        curve = account(Gaussian(noise_multiplier()) * STEPS, Adjacency.ADD_REMOVE)
        return Drawn(
            f"gradient descent that stops by what it sees, at most {STEPS} steps",
            CLAIMED,
            lambda included: self.outputs(included, seed),
            (StoppedRuns(epsilons()[-1], THINNING + seed),),
            curve,
            {"steps": STEPS, "noise_multiplier": noise_multiplier()},
        )


@dataclass(frozen=True)
class StoppedRuns:
    """Guess "in" where the training stopped early; without the record only with the coin e^{reported - largest}."""

    largest: float
    seed: int
    name: str = "stopping time"
    share: float = 1.0

    def tested(self, runs: int) -> int:
        """All of them."""
        return runs

    def bound(self, sample: Sample, *, delta: float, alpha: float) -> LowerBound:
        """Given a guess, the record is in with probability q = P(E) / (P(E) + Q(A)); only one side is guessed.

        So (q - delta / (2 g)) / (1 - q) <= e^epsilon, g the share of runs with a guess.
        """
        stopped, reported = sample.outputs.T
        kept = sample.included | (generator(self.seed).random(len(sample)) < np.exp(reported - self.largest))
        guessed = (stopped > 0) & kept
        correct = int(np.count_nonzero(guessed & sample.included))
        counts = Counts(correct, int(np.count_nonzero(guessed)), len(sample))
        return replace(bounded(counts, delta=delta / 2, alpha=alpha), delta=delta)


DATA_DEPENDENT_STOP = Simulated(
    "steps run reported after a data-dependent stop",
    "The training stops at a moment chosen by what it released, and reports the steps run, not those declared.",
    lambda buggy, seed: Stopping(report_declared=not buggy).subject(seed),
    effort=6.0,
)
