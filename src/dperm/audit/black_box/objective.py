# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Objective perturbation as an audit subject: exact likelihood ratio, one feature, many runs at once (T35, T36a)."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dperm.audit.black_box.likelihood_ratio import SIMULATED_RUNS, simulated_gamma_norm, simulated_normal
from dperm.audit.black_box.neighbours import LineProblem, LineSubject, Neighbours, Rows, worst_neighbours
from dperm.audit.black_box.noise_rows import linear_rows, noisy_rows
from dperm.audit.black_box.output_statistics import low_order_bits
from dperm.audit.black_box.sample import Progress, RunSample, Truths, report_progress
from dperm.audit.black_box.statistics import SimulatedThreshold, Statistic
from dperm.audit.black_box.threshold_selection import AuditSize, simulated_thresholds
from dperm.methods.linear_term import GaussianTerm
from dperm.methods.objective import ObjectivePlan
from dperm.noise.arrays import Floats
from dperm.noise.bits import Bits, SystemBits
from dperm.privacy.guarantee import ApproxDP

MAIN, BITS = 0.9, 0.1
TRIED = 20_000
"""Number of simulated runs for comparing candidate neighbours."""
USUAL_RUNS, USUAL_ALPHA = 100_000, 0.05
"""Number of runs and level of a typical audit, for comparing candidate neighbours."""


@dataclass(frozen=True)
class ObjectiveSubject(LineSubject):
    """Minimizer of a perturbed objective plus output noise, for data along the first axis.

    The plan's sampler draws b. Bisection finds the minimizer, more accurately than the plan's tolerance.
    """

    plan: ObjectivePlan
    pair: Neighbours
    bits: Bits = field(default_factory=SystemBits)

    @property
    def name(self) -> str:
        """Method name with its loss and its noise."""
        return f"objective perturbation ({self.plan.spec.loss.name}, {self.plan.linear_term.name} noise)"

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """Likelihood ratio, with thresholds from simulated runs, and low-order bits."""
        values = (line.minimiser(np.zeros(1)) for line in (self.pair.excluded, self.pair.included))
        ratio = SimulatedThreshold(
            "likelihood ratio", self.log_ratio, lambda: SimulatedRuns(self.plan).sample(self.pair), MAIN
        )
        return ratio, low_order_bits(*(_along(value, self.plan.spec.dim) for value in values), share=BITS)

    def log_ratio(self, outputs: Floats) -> Floats:
        """Return log p(theta | with the record) / p(theta | without), with p = nu(-grad J) det(J'') (T35)."""
        sides = (self.pair.included, self.pair.excluded)
        one, two = (log_density(self.plan, line, outputs) for line in sides)
        return np.asarray(one - two)

    def outputs(self, included: Truths, progress: Progress | None = None) -> Floats:
        """Return one row of noisy coefficients for each run."""
        stream = self.bits.stream()
        b = linear_rows(self.plan.linear_term, len(included), stream)
        report_progress(progress, 0.4)
        theta = -b / self.plan.spec.strength
        for side, line in ((True, self.pair.included), (False, self.pair.excluded)):
            theta[included == side, 0] = line.minimiser(b[included == side, 0])
        report_progress(progress, 0.6)
        return noisy_rows(self.plan.mechanism, theta, stream)


def of_objective(plan: ObjectivePlan, *, bits: Bits | None = None) -> ObjectiveSubject:
    """Build an objective perturbation subject on the candidate neighbours with the largest expected bound."""
    runs = SimulatedRuns(plan, TRIED)
    pair = worst_neighbours(
        plan.spec, plan.adjacency, lambda pair: round(runs.expected_epsilon(pair), 3), method="objective"
    )
    return ObjectiveSubject(plan, pair, bits or SystemBits())


def log_density(plan: ObjectivePlan, line: LineProblem, outputs: Floats) -> Floats:
    """Return the log-density of the exact minimizer, up to a constant, ignoring the tiny noise on the coefficients."""
    strength, first = plan.spec.strength, outputs[:, 0]
    b = strength * outputs
    b[:, 0] += line.gradient(first)
    squares = (b * b).sum(axis=1)
    scale = plan.linear_term.scale
    noise = squares / (2 * scale**2) if isinstance(plan.linear_term, GaussianTerm) else np.sqrt(squares) / scale
    return np.asarray(np.log(strength + line.curvature(first)) - noise)


@dataclass(frozen=True)
class SimulatedRuns:
    """Simulated runs of a plan from theory alone; all neighbours share the same b, independent of any audit."""

    plan: ObjectivePlan
    runs: int = SIMULATED_RUNS
    known: dict[Rows, Floats] = field(default_factory=dict)

    def sample(self, pair: Neighbours) -> RunSample:
        """Return the minimizers with and without the record as a sample."""
        both = [self.minimisers(line) for line in (pair.included, pair.excluded)]
        return RunSample(np.concatenate(both), np.repeat([True, False], self.runs // 2))

    def expected_epsilon(self, pair: Neighbours) -> float:
        """Return the expected epsilon of the likelihood ratio for these neighbours in an audit of the usual size."""
        runs = self.sample(pair)
        sides = (log_density(self.plan, line, runs.outputs) for line in (pair.included, pair.excluded))
        delta = self.plan.goal.delta if isinstance(self.plan.goal, ApproxDP) else 0.0
        return simulated_thresholds(np.subtract(*sides), runs.included, AuditSize(USUAL_RUNS, delta, USUAL_ALPHA))[0]

    def minimisers(self, line: LineProblem) -> Floats:
        """Return the minimizer at each b; each line is solved once and cached."""
        if line.rows not in self.known:
            theta = -self.noise / self.plan.spec.strength
            theta[:, 0] = line.minimiser(self.noise[:, 0])
            self.known[line.rows] = theta
        return self.known[line.rows]

    @cached_property
    def noise(self) -> Floats:
        """Linear terms b, half as many as runs; each occurs with its mirror image."""
        term = self.plan.linear_term
        ahead = simulated_normal if isinstance(term, GaussianTerm) else simulated_gamma_norm
        half = ahead("a rehearsal of objective perturbation", (self.runs // 4, term.dim))
        return np.asarray(term.scale * np.concatenate([half, -half]))


def _along(value: Floats, dim: int) -> Floats:
    found = np.zeros(dim)
    found[0] = value[0]
    return found
