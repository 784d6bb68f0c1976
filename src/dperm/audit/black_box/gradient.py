# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Gradient perturbation as an audit subject: noisy gradients of all steps, one feature, many runs at once (T45).

The guarantee covers the sequence of noisy gradients, here (runs, steps, 1) numbers. The coefficients are a function of
this sequence. In more dimensions, the other coordinates are noise independent of the data.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dperm.audit.black_box.neighbours import LineSubject, Neighbours, worst_neighbours
from dperm.audit.black_box.output_statistics import low_order_bits, step_differences
from dperm.audit.black_box.sample import Progress, Truths, report_progress
from dperm.audit.black_box.statistics import FixedThreshold, Statistic
from dperm.methods.gradient import MOST_STEPS, GradientPlan, public_normaliser
from dperm.noise.arrays import Floats
from dperm.noise.bits import Bits, SystemBits
from dperm.noise.simulation import generator

MAIN, DIFFERENCES, BITS = 0.8, 0.1, 0.1
TRIALS, TRIED, SEED = 32, 150, 0
"""Number of simulated runs, steps per run, and seed for comparing candidate neighbours."""


@dataclass(frozen=True)
class DescentSubject(LineSubject):
    """Noisy gradients of a plan's descent for data along the first axis, with the mechanism's noise in each step."""

    plan: GradientPlan
    pair: Neighbours
    bits: Bits = field(default_factory=SystemBits)

    @property
    def name(self) -> str:
        """Method name with the number of steps."""
        return f"gradient perturbation ({self.plan.descent.steps} steps)"

    @property
    def facts(self) -> Mapping[str, object]:
        """Neighbours, dimension and number of steps."""
        return {**super().facts, "steps": self.plan.descent.steps}

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """Likelihood ratio of all steps, differences between steps, and low-order bits of the first step."""
        ratio = FixedThreshold("likelihood ratio", self.log_ratio, share=MAIN, gaussian=True)
        zero = np.zeros(1)
        first = low_order_bits(self.pair.excluded.gradient(zero), self.pair.included.gradient(zero), share=BITS)
        bits = FixedThreshold(first.name, lambda outputs: first.score(outputs[:, 0]), first.threshold, BITS)
        if self.plan.descent.steps == 1:
            return ratio, bits
        return ratio, step_differences(share=DIFFERENCES), bits

    def log_ratio(self, outputs: Floats) -> Floats:
        """Return the Gaussian log-likelihood ratio, with against without the record, along the iterates."""
        total, variance = np.zeros(len(outputs)), self.plan.mechanism.scale**2

        def gradient(step: int, theta: Floats) -> Floats:
            seen, sides = outputs[:, step, 0], (self.pair.excluded, self.pair.included)
            gaps = [(seen - line.gradient(theta)) ** 2 for line in sides]
            total[:] += (gaps[0] - gaps[1]) / (2 * variance)
            return np.asarray(seen)

        self.descend(gradient, len(outputs))
        return total

    def outputs(self, included: Truths, progress: Progress | None = None) -> Floats:
        """Return the noisy gradients, of shape (runs, steps, 1)."""
        stream, steps = self.bits.stream(), self.plan.descent.steps
        found = np.empty((len(included), steps, 1))

        def gradient(step: int, theta: Floats) -> Floats:
            exact = np.where(included, self.pair.included.gradient(theta), self.pair.excluded.gradient(theta))
            found[:, step, 0] = self.plan.mechanism.noisy(exact, stream)
            report_progress(progress, (step + 1) / steps)
            return np.asarray(found[:, step, 0])

        self.descend(gradient, len(included))
        return found

    def coefficients(self, outputs: Floats) -> Floats:
        """Return the coefficients that the plan computes from these noisy gradients (T3)."""
        return self.descend(lambda step, theta: outputs[:, step, 0], len(outputs))

    def descend(self, gradient: Callable[[int, Floats], Floats], runs: int, *, most: int = MOST_STEPS) -> Floats:
        """Run `dperm.methods.descent.descend` with one coordinate per run; return the mean of the last iterates."""
        descent, normaliser = self.plan.descent, public_normaliser(self.plan.spec)
        strength = self.plan.spec.regularization or 0.0
        theta, before, total = np.zeros(runs), np.zeros(runs), np.zeros(runs)
        for step in range(min(descent.steps, most)):
            slope = (gradient(step, theta) + strength * theta) / normaliser
            moved = theta - descent.step_size * slope + descent.momentum * (theta - before)
            theta, before = np.clip(moved, -descent.projection, descent.projection), theta
            if step >= descent.steps - descent.averaged:
                total += theta
        return np.asarray(total / descent.averaged)


def of_gradient(plan: GradientPlan, *, bits: Bits | None = None) -> DescentSubject:
    """Build a gradient perturbation subject on the candidate neighbours with the most distant gradients.

    Simulated noise compares the candidates before any run. A crowd may keep the iterates where a record's gradient is
    longest. Steps that are short relative to margins need no crowd.
    """
    stand_in = generator(SEED).normal(0.0, plan.mechanism.scale, (min(plan.descent.steps, TRIED), TRIALS))

    def value(pair: Neighbours) -> float:
        return float(f"{_distance(DescentSubject(plan, pair), stand_in):.3g}")  # so that equals are equal

    pair = worst_neighbours(plan.spec, plan.adjacency, value, method="gradient")
    return DescentSubject(plan, pair, bits or SystemBits())


def _distance(subject: DescentSubject, stand_in: Floats) -> float:
    """Return the root of the summed squared distances between gradients over the steps, averaged over trial runs."""
    total, included = 0.0, np.arange(TRIALS) % 2 == 0

    def gradient(step: int, theta: Floats) -> Floats:
        nonlocal total
        sides = [line.gradient(theta) for line in (subject.pair.excluded, subject.pair.included)]
        total += float(((sides[1] - sides[0]) ** 2).mean())
        return np.asarray(np.where(included, sides[1], sides[0]) + stand_in[step])

    subject.descend(gradient, TRIALS, most=TRIED)
    return float(np.sqrt(total))
