# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A training that stops at a moment of its own choice and reports the steps that were run; what seems left is spent.

Every step is a Gaussian mechanism, and t steps have epsilon_t at delta. Who reports (epsilon_tau, delta) after stopping
at tau claims P(A) <= E_Q[e^epsilon_tau; A] + delta for every event A. No report alone can be refuted: "stopped at t" is
an event of the first t steps, which do have (epsilon_t, delta). But each t has a delta of its own, and they add up.

So the audited mechanism is one that believes the report: of a budget of (EPSILON, DELTA) it spends the epsilon that
seems left, EPSILON - epsilon_tau, on one more answer about the record, by randomised response, which is pure. If the
reports were true the whole would be (EPSILON, DELTA)-DP, by adding up, and that is the claim. The rule: stop as soon as
the privacy loss is well above epsilon_t. Whoever reports the declared T has nothing left, and his claim is true.
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
"""How far above the reported epsilon the loss is when the training stops, in deviations of the loss."""
ANSWERS = 2**52
"""Added to a seed: the coins of the answers are neither those of the noise nor those of the record."""
CLAIMED = ApproxDP(EPSILON, DELTA, Adjacency.ADD_REMOVE)


@lru_cache(maxsize=1)
def noise_multiplier() -> float:
    """What the declared steps need to use up the budget."""
    return calibrate(lambda sigma: Gaussian(sigma) * STEPS, EPSILON, DELTA, Adjacency.ADD_REMOVE)


@lru_cache(maxsize=1)
def epsilons() -> tuple[float, ...]:
    """epsilon_t at delta, for t = 1, ..., T."""
    step = Gaussian(noise_multiplier())
    return tuple(account(step * t, Adjacency.ADD_REMOVE).epsilon(DELTA) for t in range(1, STEPS + 1))


def boundary(t: int) -> float:
    """The privacy loss at which the training stops after t steps."""
    return float(epsilons()[t - 1] + BEYOND * np.sqrt(t) / noise_multiplier())


@dataclass(frozen=True)
class EarlyStopping:
    """Noisy gradients of a record with gradient 1, until the loss is large; a report; an answer for what is left."""

    report_declared: bool

    def outputs(self, included: Truths, seed: int) -> Floats:
        """(stopped early, reported epsilon, answer) for each run."""
        run, stopped = self._steps_run(included, seed)
        reported = np.asarray(epsilons())[(np.full_like(run, STEPS) if self.report_declared else run) - 1]
        is_true = generator(ANSWERS + seed).random(len(run)) < expit(
            EPSILON - reported
        )  # randomised response with the epsilon that is left
        return np.column_stack([stopped, reported, included == is_true])

    def _steps_run(self, included: Truths, seed: int) -> tuple[NDArray[np.int64], Truths]:
        """How many steps, and whether the loss ended it."""
        rng, sigma, total = generator(seed), noise_multiplier(), np.zeros(len(included))
        run, stopped = np.full(len(included), STEPS), np.zeros(len(included), dtype=bool)
        for t in range(1, STEPS + 1):
            total += included + sigma * rng.standard_normal(len(included), dtype=np.float32)
            hits = total >= sigma**2 * boundary(t) + t / 2  # the loss is (total - t/2) / sigma^2
            run[hits & ~stopped] = t
            stopped |= hits
        return run, stopped

    def subject(self, seed: int) -> BatchSubject:
        """With the budget as its claim."""
        facts = {"steps": STEPS, "noise_multiplier": noise_multiplier()}
        name = f"gradient descent that stops by what it sees, at most {STEPS} steps, and an answer for what is left"
        return BatchSubject(
            name, CLAIMED, lambda included: self.outputs(included, seed), (StoppingTimeStatistic(),), facts=facts
        )


@dataclass(frozen=True)
class StoppingTimeStatistic:
    """Guess "in" where the training stopped early and the answer says so; pass otherwise."""

    name: str = "stopping time"
    share: float = 1.0

    def tested(self, runs: int) -> int:
        """All of them."""
        return runs

    def bound(self, sample: RunSample, *, delta: float, alpha: float) -> LowerBound:
        """Only one side is guessed, so g q <= e^epsilon g (1 - q) + delta/2: half of delta is at stake (A4)."""
        stopped, _, answer = sample.outputs.T
        guessed = (stopped > 0) & (answer > 0)
        correct = int(np.count_nonzero(guessed & sample.included))
        counts = GuessCounts(correct, int(np.count_nonzero(guessed)), len(sample))
        return replace(bound_from_counts(counts, delta=delta / 2, alpha=alpha), delta=delta)


DATA_DEPENDENT_STOP = SimulatedBug(
    "steps run reported after a data-dependent stop",
    "The training stops at a moment chosen by what it released and reports the steps run, not those declared; what the "
    "report leaves of the budget is spent.",
    lambda buggy, seed: EarlyStopping(report_declared=not buggy).subject(seed),
    effort=10.0,
)
