# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Objective perturbation as a subject: the exact likelihood ratio, on a line, for many runs at once (T35, T36a)."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from dperm.audit.black_box.line import Line, Rows
from dperm.audit.black_box.low_order_bits import low_order_bits
from dperm.audit.black_box.neighbours import Neighbours, worst
from dperm.audit.black_box.noise_rows import linear_rows, noisy_rows
from dperm.audit.black_box.planned import OnALine
from dperm.audit.black_box.sample import Progress, Truths, told
from dperm.audit.black_box.selection import promised
from dperm.audit.black_box.statistics import Fixed, Statistic
from dperm.methods.linear_term import GaussianTerm
from dperm.methods.objective import ObjectivePlan
from dperm.noise.arrays import Floats
from dperm.noise.bits import Bits, SystemBits
from dperm.privacy.guarantee import ApproxDP

MAIN, BITS = 0.9, 0.1
QUANTILES = 999
"""Of the noise, on which neighbours and thresholds are chosen: from theory alone, before any run."""


@dataclass(frozen=True)
class PerturbedLine(OnALine):
    """The minimiser of a perturbed objective plus the noise on it, of data along the first axis.

    b is drawn by the plan's sampler; its minimiser is found by halving, to more digits than the plan's tolerance.
    """

    plan: ObjectivePlan
    pair: Neighbours
    bits: Bits = field(default_factory=SystemBits)

    @property
    def name(self) -> str:
        """With its loss and its noise."""
        return f"objective perturbation ({self.plan.spec.loss.name}, {self.plan.linear_term.name} noise)"

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """The likelihood ratio, with thresholds from quantiles of the noise, and the low-order bits."""
        low, high = ExpectedRuns(self.plan).promised(self.pair)[1]
        values = (line.minimiser(np.zeros(1)) for line in (self.pair.excluded, self.pair.included))
        ratio = Fixed("likelihood ratio", self.log_ratio, high, MAIN, lower=low)
        return ratio, low_order_bits(*(_along(value, self.plan.spec.dim) for value in values), share=BITS)

    def log_ratio(self, outputs: Floats) -> Floats:
        """The logarithm of p(theta | with the record) / p(theta | without), p being nu(-grad J) det(J'') (T35)."""
        sides = (self.pair.included, self.pair.excluded)
        one, two = (log_density(self.plan, line, outputs) for line in sides)
        return np.asarray(one - two)

    def outputs(self, included: Truths, progress: Progress | None = None) -> Floats:
        """One row for each run."""
        stream = self.bits.stream()
        b = linear_rows(self.plan.linear_term, len(included), stream)
        told(progress, 0.4)
        theta = -b / self.plan.spec.strength
        for side, line in ((True, self.pair.included), (False, self.pair.excluded)):
            theta[included == side, 0] = line.minimiser(b[included == side, 0])
        told(progress, 0.6)
        return noisy_rows(self.plan.mechanism, theta, stream)


def of_objective(plan: ObjectivePlan, *, bits: Bits | None = None) -> PerturbedLine:
    """The neighbours, among the usual candidates, of which the likelihood ratio promises the largest bound."""
    runs = ExpectedRuns(plan)
    pair = worst(plan.spec, plan.adjacency, lambda pair: round(runs.promised(pair)[0], 3), method="objective")
    return PerturbedLine(plan, pair, bits or SystemBits())


def log_density(plan: ObjectivePlan, line: Line, outputs: Floats) -> Floats:
    """Of the exact minimiser, up to a constant; the noise on the coefficients is left out (it is tiny)."""
    strength, first = plan.spec.strength, outputs[:, 0]
    b = strength * outputs
    b[:, 0] += line.gradient(first)
    squares = (b * b).sum(axis=1)
    scale = plan.linear_term.scale
    noise = squares / (2 * scale**2) if isinstance(plan.linear_term, GaussianTerm) else np.sqrt(squares) / scale
    return np.asarray(np.log(strength + line.curvature(first)) - noise)


@dataclass(frozen=True)
class ExpectedRuns:
    """Runs at equally likely b along the axis, from theory alone: nothing is drawn."""

    plan: ObjectivePlan
    known: dict[Rows, Floats] = field(default_factory=dict)

    def promised(self, pair: Neighbours) -> tuple[float, tuple[float, float]]:
        """The epsilon that the likelihood ratio of these neighbours promises, and its thresholds."""
        outputs = np.concatenate([self.minimisers(line) for line in (pair.included, pair.excluded)])[:, np.newaxis]
        scores = log_density(self.plan, pair.included, outputs) - log_density(self.plan, pair.excluded, outputs)
        delta = self.plan.goal.delta if isinstance(self.plan.goal, ApproxDP) else 0.0
        return promised(np.asarray(scores), np.repeat([True, False], QUANTILES), delta=delta)

    def minimisers(self, line: Line) -> Floats:
        """At the quantiles of b; each line is solved once."""
        if line.rows not in self.known:
            self.known[line.rows] = line.minimiser(self.quantiles)
        return self.known[line.rows]

    @cached_property
    def quantiles(self) -> Floats:
        """Of b along the axis: in more dimensions than one those of the line, which is enough to choose by."""
        levels = (np.arange(QUANTILES) + 0.5) / QUANTILES
        if isinstance(self.plan.linear_term, GaussianTerm):
            return np.asarray(self.plan.linear_term.scale * ndtri(levels))
        sizes = -np.log1p(-np.abs(2 * levels - 1))
        return np.asarray(self.plan.linear_term.scale * np.sign(levels - 0.5) * sizes)


def _along(value: Floats, dim: int) -> Floats:
    found = np.zeros(dim)
    found[0] = value[0]
    return found
