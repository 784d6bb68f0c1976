# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact rejection sampler of a posterior, with bounds for every data set (T52).

The target has density p(theta) ~ exp(-tau sum_i w_i f_i(x_i'theta) - ||theta||^2/(2 sigma^2)), 1/sigma^2 = tau Lambda,
on a cube |theta_j| <= B of public size. T50 holds on a convex set as well: it is the limit of r plus j times the
squared distance from the set.

**Proposal.** With a line of slope s_i below each loss (`dperm.erm.tangents`) the target is N(c, sigma^2 I) with c =
-(1/Lambda) sum_i w_i s_i x_i, times exp(-tau A(theta)), up to a constant, A >= 0 being the gap between losses and
lines. So a proposal N(c, sigma^2 I) is accepted with probability exp(-tau A), and the first accepted one has the law of
the target, for any slopes. At theta_0 they are the gradients, and c = theta_0 - grad J(theta_0)/Lambda: T52 (ii). A
proposal outside the cube is not accepted.

**Acceptance at worst.** Over data sets of at most N rows, A <= (theta - theta_0)' S (theta - theta_0)/2 + N w h/4, the
last for kinked losses only. With Z ~ N(0, sigma^2 I), b = c - theta_0 and S' = tau sigma^2 S = S/Lambda,

    E exp(-tau (Z + b)' S (Z + b)/2) = det(I + S')^(-1/2) exp(-b' S' (I + S')^(-1) b/(2 sigma^2))
                                    >= (1 + N beta/(Lambda r))^(-k r/2) exp(-||b||^2/(2 sigma^2)).

For S is a sum of N matrices of trace k beta at most, k the rank of the loss's second derivatives, and vanishes outside
k r dimensions, r = min(columns, N): by the means of the k r eigenvalues det(I + S') <= (1 + tr S'/(k r))^(k r). The
solver's tolerance bounds ||grad J(theta_0)||, so ||b||. For kinked losses beta = w R^2/(2h); h maximises the bound.

**Cap.** After T proposals 0 is released. If each is accepted with probability a at least, this happens with probability
(1 - a)^T <= e^(-a T) =: zeta at most. Let K be the law of the accepted proposal and M = (1 - z) K + z F, z <= zeta, the
law of the release, K' and M' those of a neighbour. For every set S and every g >= 0

    M(S) - g M'(S) <= z + (1 - z) K(S) - g (1 - zeta) K'(S) <= zeta + (1 - zeta) (K(S) - g K'(S)),

as the middle grows with z. So a delta of K becomes at most zeta + (1 - zeta) delta, at every epsilon, as in the event
Approximate(0, zeta). The (1 + e^epsilon) zeta of T52 is for samplers known only by their distance from the target.

**Rounding.** c lies on a grid of step g and proposals are rounded to it, in whole steps. This is a function of the
proposals themselves (T10), and the cube, in half steps, is a set of unrounded ones. Computed exponents differ from true
ones by j at most, so the law before rounding has a density within e^(-2j) and e^(2j) of the target's (T52a):

- tau times the error of a computed gap;
- tau 2 N L times sqrt(d) g/2, for a gap at the rounded instead of the unrounded proposal;
- ||error of c|| times the longest ||theta - c||, over sigma^2: c has twice the error of a gradient, plus rounding.

Coins are exact for the computed exponents (`dperm.noise.bernoulli`).
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.erm.gradient import loss_gradient
from dperm.erm.minimize import minimize
from dperm.erm.rounding import ULP, attainable_tolerance, gradient_error, minimizer_norm_bound
from dperm.erm.smoothing import RISE, WIDTHS, smooth_loss
from dperm.erm.spec import ProblemSpec
from dperm.erm.tangents import Tangents, tangents, value_error
from dperm.noise.bernoulli import exponential_coins
from dperm.noise.bits import Stream
from dperm.noise.grid import Grid
from dperm.noise.integer_noise import rounded_gaussian
from dperm.privacy.rounding import round_down

BATCH = 256
"""Number of proposals tried at once. It is public, so the number of surplus draws reveals nothing."""
ROUGHLY = 0.1
"""Largest distance between the centre of the proposals and theta_0, in deviations; the solver need not be exact."""
OUTSIDE = 1e-3
"""Largest share of acceptable proposals outside the cube, at worst."""
LEFT = 0.99
"""Factor of the acceptance bound for the cube and for rounding, e^-j with j <= MOST_INEXACT/2."""
MOST_INEXACT = 0.01
FINENESS = 44
EXACT = 51
"""The grid's step is 2^-44 of the deviation, and at least 2^-51 of the cube: its points are doubles."""


@dataclass(frozen=True)
class RejectionSampler:
    """Public settings of the sampler of one posterior.

    Attributes
    ----------
    spec
        Problem with its Lambda.
    temperature
        tau.
    rows
        N, the largest number of records.
    failure
        zeta, the largest probability of accepting no proposal.
    """

    spec: ProblemSpec
    temperature: float
    rows: int
    failure: float

    @cached_property
    def deviation(self) -> float:
        """Standard deviation sigma of a proposal; it is taken as exact, and Lambda = 1/(tau sigma^2) up to rounding."""
        return 1 / math.sqrt(self.temperature * self.spec.strength)

    @property
    def convexity(self) -> float:
        """Strong convexity m of T50, 1/sigma^2 rounded down."""
        return round_down(1 / Fraction(self.deviation) ** 2)

    @cached_property
    def soft(self) -> ProblemSpec:
        """Problem with its kink smoothed; unchanged without a kink."""
        if math.isfinite(self.spec.loss.curvature):
            return self.spec
        return replace(self.spec, loss=smooth_loss(self.spec.loss, self._width))

    @cached_property
    def tolerance(self) -> float:
        """Largest norm of the gradient at theta_0, a share of Lambda sigma."""
        return max(ROUGHLY * self.spec.strength * self.deviation, attainable_tolerance(self.soft, self.rows))

    @cached_property
    def log_acceptance(self) -> float:
        """Logarithm of the acceptance probability at worst, without cube and rounding."""
        rows, spread = self.rows, min(self.spec.width, self.rows)
        bent = math.log1p(rows * self.soft.smoothness / (self.spec.strength * spread))
        return -self.soft.loss.rank * spread / 2 * bent - self._kink - (self._shift / self.deviation) ** 2 / 2

    @property
    def acceptance(self) -> float:
        """Lower bound on the acceptance probability of a proposal, for every data set."""
        return LEFT * math.exp(max(self.log_acceptance, -600.0))

    @cached_property
    def trials(self) -> int:
        """Number T of proposals after which 0 is released."""
        return math.ceil(-math.log(self.failure) / self.acceptance)

    @cached_property
    def grid(self) -> Grid:
        """Grid that contains all proposals."""
        return Grid(max(math.floor(math.log2(self.deviation)) - FINENESS, math.ceil(math.log2(self._reach)) - EXACT))

    @cached_property
    def limit(self) -> float:
        """Largest coordinate of an acceptable proposal, in whole steps; B is half a step more."""
        return math.ceil(self._reach / self.grid.step) * self.grid.step

    @cached_property
    def inexactness(self) -> float:
        """Bound 2j on the logarithm of the density ratio to the target, before rounding (T52a)."""
        root, length = math.sqrt(self.spec.dim), 1.01 * math.sqrt(self.spec.dim) * self.limit
        valued = self.temperature * value_error(self.spec, self.rows, length)
        moved = self.temperature * self.rows * self.spec.lipschitz * root * self.grid.step
        gradient = 2 * gradient_error(self.soft, self.rows, length) / self.spec.strength
        center = gradient + root * self.grid.step + 8 * ULP * length
        return 2.02 * (valued + moved + center * 2 * length / self.deviation**2)

    def sample(self, data: BoundedData, stream: Stream) -> Floats:
        """Return the first accepted proposal; 0 if none of T is accepted.

        The number of trials is private, and the running time depends on it.
        """
        envelope = self.envelope(data)
        for done in range(0, self.trials, BATCH):
            found = envelope.accepted(min(BATCH, self.trials - done), stream)
            if len(found):
                return np.asarray(found[0])
        return np.zeros(self.spec.dim)

    def envelope(self, data: BoundedData) -> "Envelope":
        """Return lines below the losses at theta_0, with the centre of the proposals."""
        theta = minimize(data, self.soft, self.tolerance)
        center = self.grid.rounded(-loss_gradient(data, self.soft, theta) / self.spec.strength)
        return Envelope(self, center, tangents(data, self.spec, self.soft, theta))

    @property
    def _width(self) -> float:
        """Argmin of tau N w h/4 + (r/2) log(1 + q/h), q = N w R^2/(2 Lambda r): h^2 + q h = 2 r q/(tau N w)."""
        spread, weight = min(self.spec.width, self.rows), self.rows * self.spec.weight
        q = weight * self.spec.radius**2 / (2 * self.spec.strength * spread)
        product = 2 * spread * q / (self.temperature * weight)
        return min(max(2 * product / (q + math.sqrt(q * q + 4 * product)), WIDTHS[0]), WIDTHS[1])

    @property
    def _kink(self) -> float:
        """Penalty tau N w h/4 for a kink; 0 for smooth losses."""
        if self.soft is self.spec:
            return 0.0
        return self.temperature * self.rows * self.spec.weight * RISE * self._width

    @property
    def _shift(self) -> float:
        """Bound on ||c - theta_0||; for an exact enough sampler a step of the grid is far below sigma/500."""
        wrong = gradient_error(self.soft, self.rows, self._length)
        return (self.tolerance + wrong) / self.spec.strength + self.deviation / 500

    @property
    def _length(self) -> float:
        """Bound on ||theta_0||: the length of the minimiser plus the tolerance's share (T31)."""
        return minimizer_norm_bound(self.soft, self.rows) + self.tolerance / self.spec.strength

    @property
    def _reach(self) -> float:
        """Bound on ||c|| plus the deviations that a coordinate exceeds with tiny probability, at most d e^(-t^2/2)."""
        deviations = math.sqrt(2 * (math.log(self.spec.dim / OUTSIDE) - self.log_acceptance))
        return self._length + self._shift + deviations * self.deviation


@dataclass(frozen=True)
class Envelope:
    """Proposals for one data set; private."""

    sampler: RejectionSampler
    center: Floats
    lines: Tangents

    def accepted(self, count: int, stream: Stream) -> Floats:
        """Draw ``count`` proposals and return the accepted ones in order."""
        sampler = self.sampler
        noise = rounded_gaussian(sampler.deviation / sampler.grid.step, count * len(self.center), stream)
        proposals = sampler.grid.plus(np.tile(self.center, count), noise).reshape(count, -1)
        heads = exponential_coins(self.lines.gaps(proposals), sampler.temperature, stream)
        return np.asarray(proposals[heads & (np.abs(proposals) <= sampler.limit).all(axis=1)])


def affordable_strength(spec: ProblemSpec, rows: int, *, acceptance: float) -> float:
    """Return the least Lambda for about this acceptance probability with a smooth loss; 0 for a kink.

    It solves (1 + N beta/(Lambda r))^(-k r/2) = a. With a kink the bound hardly depends on Lambda.
    """
    if not math.isfinite(spec.smoothness):
        return 0.0
    spread = min(spec.width, rows)
    return rows * spec.smoothness / (spread * math.expm1(-2 * math.log(acceptance) / (spec.loss.rank * spread)))
