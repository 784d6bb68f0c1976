# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Gradient perturbation as a subject: the noisy gradients of all steps, on a line, for many runs at once (T45).

What the guarantee is about is the sequence of noisy gradients, (runs, steps, 1) numbers here; the coefficients that a
plan releases are a function of it. In more dimensions the other coordinates are noise that depends on no data.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dperm.audit.black_box.looks import step_differences
from dperm.audit.black_box.low_order_bits import low_order_bits
from dperm.audit.black_box.neighbours import Neighbours, worst
from dperm.audit.black_box.planned import OnALine
from dperm.audit.black_box.sample import Progress, Truths, told
from dperm.audit.black_box.statistics import Fixed, Statistic
from dperm.methods.gradient import MOST_STEPS, GradientPlan, public_normaliser
from dperm.noise.arrays import Floats
from dperm.noise.bits import Bits, SystemBits
from dperm.noise.simulation import generator

MAIN, DIFFERENCES, BITS = 0.8, 0.1, 0.1
TRIALS, TRIED, SEED = 32, 150, 0
"""Runs, and steps of each, with which neighbours are tried out."""


@dataclass(frozen=True)
class Descended(OnALine):
    """The noisy gradients of a plan's descent, for data along the first axis; each step's noise is the mechanism's."""

    plan: GradientPlan
    pair: Neighbours
    bits: Bits = field(default_factory=SystemBits)

    @property
    def name(self) -> str:
        """With the number of steps."""
        return f"gradient perturbation ({self.plan.descent.steps} steps)"

    @property
    def facts(self) -> Mapping[str, object]:
        """The neighbours, and the steps."""
        return {**super().facts, "steps": self.plan.descent.steps}

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """The likelihood ratio of all steps, differences between steps, and the low-order bits of the first step."""
        ratio = Fixed("likelihood ratio", self.log_ratio, share=MAIN, gaussian=True)
        zero = np.zeros(1)
        first = low_order_bits(self.pair.excluded.gradient(zero), self.pair.included.gradient(zero), share=BITS)
        bits = Fixed(first.name, lambda outputs: first.score(outputs[:, 0]), first.threshold, BITS)
        if self.plan.descent.steps == 1:
            return ratio, bits
        return ratio, step_differences(share=DIFFERENCES), bits

    def log_ratio(self, outputs: Floats) -> Floats:
        """Of Gaussians around the gradients with and without the record, at the iterates that the outputs lead to."""
        total, variance = np.zeros(len(outputs)), self.plan.mechanism.scale**2

        def gradient(step: int, theta: Floats) -> Floats:
            seen, sides = outputs[:, step, 0], (self.pair.excluded, self.pair.included)
            gaps = [(seen - line.gradient(theta)) ** 2 for line in sides]
            total[:] += (gaps[0] - gaps[1]) / (2 * variance)
            return np.asarray(seen)

        self.walked(gradient, len(outputs))
        return total

    def outputs(self, included: Truths, progress: Progress | None = None) -> Floats:
        """The noisy gradients."""
        stream, steps = self.bits.stream(), self.plan.descent.steps
        found = np.empty((len(included), steps, 1))

        def gradient(step: int, theta: Floats) -> Floats:
            exact = np.where(included, self.pair.included.gradient(theta), self.pair.excluded.gradient(theta))
            found[:, step, 0] = self.plan.mechanism.noisy(exact, stream)
            told(progress, (step + 1) / steps)
            return np.asarray(found[:, step, 0])

        self.walked(gradient, len(included))
        return found

    def released(self, outputs: Floats) -> Floats:
        """The coefficient that the plan releases after these noisy gradients (T3)."""
        return self.walked(lambda step, theta: outputs[:, step, 0], len(outputs))

    def walked(self, gradient: Callable[[int, Floats], Floats], runs: int, *, most: int = MOST_STEPS) -> Floats:
        """The descent of `dperm.methods.descent.descend`, a coordinate for each run: the mean of the last iterates."""
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


def of_gradient(plan: GradientPlan, *, bits: Bits | None = None) -> Descended:
    """The neighbours, among the usual candidates, whose gradients stay farthest apart on the way.

    That is tried out with simulated noise, before any run: a crowd may keep the iterates where a record's gradient is
    longest. Steps that are short against margins need none.
    """
    stand_in = generator(SEED).normal(0.0, plan.mechanism.scale, (min(plan.descent.steps, TRIED), TRIALS))

    def value(pair: Neighbours) -> float:
        return float(f"{_distance(Descended(plan, pair), stand_in):.3g}")  # so that equals are equal

    pair = worst(plan.spec, plan.adjacency, value, method="gradient")
    return Descended(plan, pair, bits or SystemBits())


def _distance(subject: Descended, stand_in: Floats) -> float:
    """The root of the sum over steps of the squared distances between the gradients, in the mean of trial runs."""
    total, included = 0.0, np.arange(TRIALS) % 2 == 0

    def gradient(step: int, theta: Floats) -> Floats:
        nonlocal total
        sides = [line.gradient(theta) for line in (subject.pair.excluded, subject.pair.included)]
        total += float(((sides[1] - sides[0]) ** 2).mean())
        return np.asarray(np.where(included, sides[1], sides[0]) + stand_in[step])

    subject.walked(gradient, TRIALS, most=TRIED)
    return float(np.sqrt(total))
