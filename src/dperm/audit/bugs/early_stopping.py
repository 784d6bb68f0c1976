# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Data-dependent early stopping: the run reports only the steps it took, and spends the seemingly unused budget.

Every step is a Gaussian mechanism, and t steps have epsilon_t at delta. A training run that stops at tau and reports
(epsilon_tau, delta) claims P(A) <= E_Q[e^epsilon_tau; A] + delta for every event A. A single report cannot be refuted:
"stopped at t" is an event of the first t steps, and these have (epsilon_t, delta). But each t has its own delta, and
the deltas add up.

The audited mechanism trusts the report. Of a budget (EPSILON, DELTA) it spends the rest, EPSILON - epsilon_tau, on one
more answer about the record by randomized response, a pure mechanism. If the reports were true, the composition would
be (EPSILON, DELTA)-DP; this is the claim. The run stops once the privacy loss is well above epsilon_t. A training run
that reports the declared T has no budget left, and its claim is true.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dperm.accounting import Gaussian, account, calibrate
from dperm.audit.black_box import BatchSubject, RunSample
from dperm.audit.black_box.guess_bounds import GuessCounts, bound_from_counts
from dperm.audit.black_box.sample import Truths
from dperm.audit.bugs.bug import SimulatedBug
from dperm.audit.lower_bound import LowerBound
from dperm.noise.arrays import Floats
from dperm.noise.simulation import generator
from dperm.privacy import Adjacency, ApproxDP

STEPS, EPSILON, DELTA = 32, 2.0, 0.01
BEYOND = 0.5
"""Distance between the privacy loss at the stop and the reported epsilon, in standard deviations of the loss."""
ANSWERS = 2**52
"""Offset for seeds, so that the coin flips of the answers differ from the noise and from the record's coin flips."""
CLAIMED = ApproxDP(EPSILON, DELTA, Adjacency.ADD_REMOVE)


@lru_cache(maxsize=1)
def noise_multiplier() -> float:
    """Return the noise multiplier at which the declared steps use the whole budget."""
    return calibrate(lambda sigma: Gaussian(sigma) * STEPS, EPSILON, DELTA, Adjacency.ADD_REMOVE)


@lru_cache(maxsize=1)
def epsilons() -> tuple[float, ...]:
    """Return epsilon_t at delta for t = 1, ..., T."""
    step = Gaussian(noise_multiplier())
    return tuple(account(step * t, Adjacency.ADD_REMOVE).epsilon(DELTA) for t in range(1, STEPS + 1))


def boundary(t: int) -> float:
    """Return the privacy loss at which the training run stops after t steps."""
    return float(epsilons()[t - 1] + BEYOND * np.sqrt(t) / noise_multiplier())


@dataclass(frozen=True)
class EarlyStopping:
    """Training on a record with gradient 1 until the privacy loss is large, followed by a report and an answer."""

    report_declared: bool

    def outputs(self, included: Truths, seed: int) -> Floats:
        """Return (stopped early, reported epsilon, answer) for each run."""
        run, stopped = self._steps_run(included, seed)
        reported = np.asarray(epsilons())[(np.full_like(run, STEPS) if self.report_declared else run) - 1]
        is_true = generator(ANSWERS + seed).random(len(run)) < expit(
            EPSILON - reported
        )  # randomized response with the epsilon that is left
        return np.column_stack([stopped, reported, included == is_true])

    def _steps_run(self, included: Truths, seed: int) -> tuple[NDArray[np.int64], Truths]:
        """Return the number of steps of each run, and whether the privacy loss ended the run."""
        rng, sigma, total = generator(seed), noise_multiplier(), np.zeros(len(included))
        run, stopped = np.full(len(included), STEPS), np.zeros(len(included), dtype=bool)
        for t in range(1, STEPS + 1):
            total += included + sigma * rng.standard_normal(len(included), dtype=np.float32)
            hits = total >= sigma**2 * boundary(t) + t / 2  # the loss is (total - t/2) / sigma^2
            run[hits & ~stopped] = t
            stopped |= hits
        return run, stopped

    def subject(self, seed: int) -> BatchSubject:
        """Return the audit subject, with the budget as its claim."""
        facts = {"steps": STEPS, "noise_multiplier": noise_multiplier()}
        name = f"gradient descent with a data-dependent stop, at most {STEPS} steps, and an answer for the rest"
        return BatchSubject(
            name, CLAIMED, lambda included: self.outputs(included, seed), (StoppingTimeStatistic(),), facts=facts
        )


@dataclass(frozen=True)
class StoppingTimeStatistic:
    """Statistic that guesses "in" for runs that stopped early with a positive answer, and abstains otherwise."""

    name: str = "stopping time"
    share: float = 1.0

    def tested(self, runs: int) -> int:
        """Return ``runs``: every run is available for guesses."""
        return runs

    def bound(self, sample: RunSample, *, delta: float, alpha: float) -> LowerBound:
        """Return the bound at ``delta``.

        Only "in" is guessed, so g q <= e^epsilon g (1 - q) + delta/2: half of delta is at stake (A4).
        """
        stopped, _, answer = sample.outputs.T
        guessed = (stopped > 0) & (answer > 0)
        correct = int(np.count_nonzero(guessed & sample.included))
        counts = GuessCounts(correct, int(np.count_nonzero(guessed)), len(sample))
        return replace(bound_from_counts(counts, delta=delta / 2, alpha=alpha), delta=delta)


DATA_DEPENDENT_STOP = SimulatedBug(
    "steps run reported after a data-dependent stop",
    "The training stops at a data-dependent step, reports the steps it ran instead of the declared ones, and spends "
    "the remaining budget.",
    lambda buggy, seed: EarlyStopping(report_declared=not buggy).subject(seed),
    effort=10.0,
)
