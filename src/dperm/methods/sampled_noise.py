# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Noise for sums over Poisson samples, from public numbers alone: what DP-SGD adds in each step (T46, T22, T25).

**Rounding.** The computed sum of a sample is the true one plus an error of at most e, and rounding to the grid adds
sqrt(d) g/2: together tau. Neighbours may have different errors even if the record in which they differ was not drawn,
so the sampled pair alone does not cover what is released. Write the noise as N1 + N2, of deviations sigma1^2 + sigma2^2
<= sigma^2. Released is a function of the pair (true sum + N1, error + N2). The first part is the sampled Gaussian of
noise multiplier sigma1/L. Given the first, the second has for each data set a mixture of the laws N(c, sigma2^2 I),
||c|| <= tau, over the samples; by joint convexity two such mixtures are dominated by a pair at distance 2 tau, which is
a Gaussian of its own, not amplified. Adaptive composition (T15) adds the two, and the steps.

**Samples that are too large.** An error bound may hold for samples of fewer than some number of rows only. Let the rest
of the sample be all but the record in which neighbours differ: it has the same law for both. The bounds above hold
given the rests of all steps, unless one of them is too large; by joint convexity over the rests delta grows from d to
at most p + (1 - p) d, p the probability of that, which is what the event ``Approximate(0, p)`` adds.
"""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from dperm import checks
from dperm.accounting.calibrate import Family, calibrate
from dperm.accounting.event import MOST_STEPS, Event
from dperm.accounting.events import MULTIPLIERS, Approximate, Gaussian
from dperm.accounting.sampled import RATE, SMALLEST_RATE, Poisson
from dperm.checks import shown
from dperm.errors import AssumptionError, ConversionError, ParameterError
from dperm.mechanisms.additive import on_grid
from dperm.mechanisms.calibration import DIM, MOST_DIM, Calibration, covers, error_up, noise_event, sensitivity_up
from dperm.mechanisms.goal import checked_goal, gaussian_mu, quotient_down
from dperm.noise.arrays import Floats
from dperm.noise.bits import Stream
from dperm.noise.grid import Grid, Norm, grid_for, sensitivity_on_grid
from dperm.noise.rounded import LARGEST_SCALE, rounded_gaussian
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency, ApproxDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import lowered, raised

STEPS = "It is the number of sums that are released."
FAILURE = "It is the probability that one of the sums has an error beyond its bound."
SHARES = (2.0**-20, 0.5)
"""The least and the largest deviation of the noise that hides errors, in deviations of all noise."""
BOUNDS = (0.1, 1e8)
PUSHES = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
RELATIVE = 1e-6
"""How close the noise is to the least."""


@dataclass(frozen=True)
class SampledSums:
    """Sums over Poisson samples, one for each step, that may depend on what was released before.

    Attributes
    ----------
    lipschitz
        L, the largest norm that one record adds to a sum: where it was clipped, its weight included.
    rate
        q, the probability that a record is in a sample.
    steps
        T, the number of sums: those that are run, empty samples included.
    dim
        Number of entries of a sum, or more.
    numerical_error
        e, a bound on the norm of the error of a computed sum, for every data set.
    failure
        Probability that in one of the steps the sample is so large that the error bound does not hold.
    """

    lipschitz: float
    rate: float
    steps: int
    dim: int
    numerical_error: float = 0.0
    failure: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        set_field = object.__setattr__
        set_field(self, "lipschitz", sensitivity_up("lipschitz", self.lipschitz))
        set_field(self, "rate", checks.between("rate", self.rate, SMALLEST_RATE, 1.0, RATE))
        set_field(self, "steps", checks.count("steps", self.steps, STEPS, most=MOST_STEPS))
        set_field(self, "dim", checks.count("dim", self.dim, DIM, most=MOST_DIM))
        set_field(self, "numerical_error", error_up("numerical_error", self.numerical_error))
        set_field(self, "failure", checks.small_delta("failure", self.failure, FAILURE))

    def moved_by_errors(self, grid: Grid) -> float:
        """2 tau = 2e + sqrt(d) g: how far apart errors and rounding move two computed sums (T10b)."""
        return sensitivity_on_grid(0.0, grid, dim=self.dim, norm=Norm.L2, numerical_error=self.numerical_error)


@dataclass(frozen=True)
class SampledNoise:
    """N(0, scale^2 I) rounded to a grid, for every step; ``share`` of the scale hides errors, the rest the records."""

    sums: SampledSums
    adjacency: Adjacency
    scale: float
    share: float
    grid: Grid

    @property
    def parts(self) -> tuple[float, float]:
        """sigma1 and sigma2, rounded down: their squares sum to at most that of the scale, which is never squared."""
        kept = math.sqrt((1 - self.share) * (1 + self.share))
        return lowered(kept * self.scale), lowered(self.share * self.scale)

    @cached_property
    def step_event(self) -> Event:
        """One step: the sampled Gaussian (T22, T25), and a Gaussian for errors, which no sampling amplifies."""
        kept, hidden = self.parts
        sampled = Poisson(Gaussian(quotient_down(kept, self.sums.lipschitz)), rate=self.sums.rate)
        moved = max(self.sums.moved_by_errors(self.grid), raised(hidden / MULTIPLIERS[1]))
        return sampled + noise_event(Gaussian, Calibration(hidden, self.grid, moved), self.adjacency)

    @cached_property
    def event(self) -> Event:
        """All steps, and the samples that are too large."""
        steps = self.step_event * self.sums.steps
        return steps + Approximate(0.0, self.sums.failure, self.adjacency) if self.sums.failure else steps

    @property
    def words(self) -> str:
        """The law in words."""
        return f"Gaussian rounded to the grid 2^{self.grid.exponent}, drawn exactly"

    @property
    def theorems(self) -> tuple[str, ...]:
        """Sampling, and noise on a grid."""
        return ("T22" if self.adjacency is Adjacency.ADD_REMOVE else "T25", "T6", "T10")

    @property
    def numbers(self) -> dict[str, object]:
        """As they stand in a record."""
        return {
            "sensitivity": self.sums.lipschitz,
            "sensitivity_norm": Norm.L2.name,
            "numerical_error": self.sums.numerical_error,
            "failure": self.sums.failure,
            "noise_scale": self.scale,
            "noise_multiplier": self.scale / self.sums.lipschitz,
            "error_noise_scale": self.parts[1],
            "grid": self.grid.step,
        }

    def noisy(self, total: Floats, stream: Stream) -> Floats:
        """The computed sum of a sample plus the noise of one step; of an empty sample, zeros plus noise."""
        return on_grid(self.grid, total, rounded_gaussian(self.scale / self.grid.step, total.size, stream))


def sampled_noise(sums: SampledSums, goal: AnyGuarantee) -> SampledNoise:
    """The least noise with which all steps together meet ``goal``, certified by the accountant at its very numbers.

    What is searched is the noise multiplier, sigma/L. The grid follows from the noise that would do without errors. Of
    the variance, a share s^2 = 2 tau sqrt(T) / (sigma mu) hides them: it makes the sum of what they cost in noise and
    in budget the least, if all of it were Gaussian; mu is that of the goal (T6). They raise sigma by about s^2: where
    that is below 1e-6, the noise without errors and a little more is tried before another search.

    Raises
    ------
    ConversionError
        If the goal is not ApproxDP with delta > 0.
    AssumptionError
        If no noise does: errors cost more than the goal, or the goal asks for no noise at all.
    """
    return joint_noise([Part(sums)], goal)[0]


@dataclass(frozen=True)
class Part:
    """Sums that are released beside others: their noise multiplier is ``ratio`` times the common one."""

    sums: SampledSums
    ratio: float = 1.0

    def scale(self, multiplier: float) -> float:
        """The deviation of the noise, rounded up."""
        return raised(multiplier * self.ratio * self.sums.lipschitz)

    def ideal(self, multiplier: float) -> Event:
        """The event if nothing is ever rounded."""
        return Poisson(Gaussian(multiplier * self.ratio), rate=self.sums.rate) * self.sums.steps


def joint_noise(parts: Sequence[Part], goal: AnyGuarantee) -> tuple[SampledNoise, ...]:
    """The noise of several kinds of sums that together meet ``goal``: `sampled_noise` with one common multiplier."""
    goal = approximate_goal(goal)
    plain = joint_multiplier(parts, goal)
    shapes = [_shape(part, plain, goal) for part in parts]

    def noises(multiplier: float) -> tuple[SampledNoise, ...]:
        return tuple(
            SampledNoise(part.sums, goal.adjacency, part.scale(multiplier), shape.share, shape.grid)
            for part, shape in zip(parts, shapes, strict=True)
        )

    nearly = noises(plain * (1 + 2 * RELATIVE))
    if max(shape.cost for shape in shapes) < RELATIVE and covers(goal, total_event(nearly)):
        return _drawable(nearly)
    least = max(_least(part, shape) for part, shape in zip(parts, shapes, strict=True))
    return _drawable(_certified(noises, goal, least))


def _drawable(noises: tuple[SampledNoise, ...]) -> tuple[SampledNoise, ...]:
    """``noises``, if the sampler draws them: the grid is that of the noise without errors.

    Raises
    ------
    AssumptionError
        If errors raise the noise beyond 2^52 steps of the grid.
    """
    for noise in noises:
        if noise.scale / noise.grid.step > LARGEST_SCALE:
            raise AssumptionError(
                f"the numerical error of the sums, up to {noise.sums.numerical_error:.3g}, outweighs the gradient of a "
                f"record, at most {noise.sums.lipschitz:.3g}, and no noise that hides it can be drawn. Give a larger "
                f"clip or C, or a smaller projection."
            )
    return noises


def total_event(noises: Sequence[SampledNoise]) -> Event:
    """What all of them spend."""
    return reduce(operator.add, [noise.event for noise in noises])


def joint_multiplier(parts: Sequence[Part], goal: AnyGuarantee) -> float:
    """The common multiplier that does if nothing is ever rounded: what the grade `fast` is calibrated to (T10)."""
    lowest = max(MULTIPLIERS[0] / part.ratio for part in parts) * 1.01
    return _multiplier(
        lambda multiplier: reduce(operator.add, [part.ideal(multiplier) for part in parts]),
        approximate_goal(goal),
        lowest,
    )


def largest_sample(rows: int, rate: float, failure: float) -> int:
    """A size that a Poisson sample of at most ``rows`` rows reaches or exceeds with probability ``failure`` at most.

    Bernstein: P(S >= m + x) <= exp(-x^2 / (2 (m + x/3))) with m = q n, so x = t/3 + sqrt(t^2/9 + 2 t m) for
    t = log(1/failure). Never more than one above ``rows``, which no sample reaches.
    """
    mean, t = rows * rate, -math.log(failure)
    return min(rows + 1, math.ceil((mean + t / 3 + math.sqrt(t * t / 9 + 2 * t * mean)) * (1 + 1e-12)))


@dataclass(frozen=True)
class _Shape:
    """Grid, share of the noise that hides errors, and by what part of it, about, errors raise the noise."""

    grid: Grid
    share: float
    cost: float


def _shape(part: Part, multiplier: float, goal: ApproxDP) -> _Shape:
    sums, scale = part.sums, multiplier * part.ratio * part.sums.lipschitz
    grid = grid_for(scale, sensitivity=sums.lipschitz, dim=sums.dim)
    cost = math.sqrt(sums.steps) * sums.moved_by_errors(grid) / (scale * gaussian_mu(goal))
    return _Shape(grid, min(max(math.sqrt(cost), SHARES[0]), SHARES[1]), cost)


def _certified(
    noises: Callable[[float], tuple[SampledNoise, ...]], goal: ApproxDP, least: float
) -> tuple[SampledNoise, ...]:
    """The noise of the least multiplier from ``least`` on that the accountant lets pass."""
    found = _multiplier(lambda multiplier: total_event(noises(multiplier)), goal, least)
    for push in PUSHES:
        certified = noises(found * (1 + push))
        if covers(goal, total_event(certified)):
            return certified
    raise AssumptionError("no noise scale near the exact one could be certified. Ask for a goal a little larger.")


def _least(part: Part, shape: _Shape) -> float:
    """The least multiplier of which the share that hides errors is an event's: far below what any goal allows."""
    moved = part.sums.moved_by_errors(shape.grid)
    return 1.01 * MULTIPLIERS[0] * moved / (shape.share * part.ratio * part.sums.lipschitz)


def _multiplier(family: Family, goal: ApproxDP, least: float = 0.0) -> float:
    """The noise multiplier at which ``family`` meets the goal; it has events from ``least`` on.

    Never less than a tenth: where that is more than enough, the run is more private than was asked for.
    """
    low, high = min(max(BOUNDS[0], least), BOUNDS[1] / 2), BOUNDS[1]
    try:
        return calibrate(family, goal.epsilon, goal.delta, goal.adjacency, bounds=(low, high), relative=RELATIVE)
    except (AssumptionError, ParameterError):
        if _is_met(family, goal, low):
            return low
        raise AssumptionError(
            f"no noise of up to {high:g} times the sensitivity of one record meets goal={goal!r}: the numerical error "
            f"of the sums costs more than the goal. Take fewer steps, or a smaller projection."
        ) from None


def _is_met(family: Family, goal: ApproxDP, multiplier: float) -> bool:
    try:
        return covers(goal, family(multiplier))
    except (AssumptionError, ParameterError):  # no event, or one that is too large to account for
        return False


def approximate_goal(goal: AnyGuarantee) -> ApproxDP:
    """``goal``, if it is one that noise on samples can be calibrated to."""
    goal = checked_goal(goal)
    if isinstance(goal, ApproxDP) and goal.delta > 0:
        return goal
    names = ("sgd", "objective", "output", "gradient")
    sgd, objective, output, gradient = (arg("method", f'"{name}"') for name in names)
    raise ConversionError(
        f"{sgd} needs {arg('delta')} > 0: noise on Poisson samples is calibrated by its privacy profile (T22, T25), to "
        f"ApproxDP(epsilon, delta, adjacency), got goal={shown(goal)}. Give {arg('delta')} > 0. For a pure guarantee "
        f"use {objective} or {output} with a smooth loss; for GDP, ZCDP and RDP {gradient}."
    )
