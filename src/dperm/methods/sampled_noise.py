# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Noise of DP-SGD for sums over Poisson samples, from public numbers alone (T46, T22, T25).

**Rounding.** The computed sum of a sample is the true one plus an error of at most e, and rounding to the grid adds
sqrt(d) g/2: together tau. Neighbours may have different errors even if the record in which they differ was not drawn,
so the sampled pair alone does not cover the release. Write the noise as N1 + N2, of deviations sigma1^2 + sigma2^2 <=
sigma^2. The release is a function of the pair (true sum + N1, error + N2). The first part is the sampled Gaussian of
noise multiplier sigma1/L. Given the first, the second has for each data set a mixture of the laws N(c, sigma2^2 I),
||c|| <= tau, over the samples. By joint convexity two such mixtures are dominated by a pair at distance 2 tau, a
Gaussian of its own without amplification. Adaptive composition (T15) adds the two, and the steps.

**Oversized samples.** An error bound may hold only for samples of fewer than some number of rows. Let the rest of the
sample be all but the record in which neighbours differ: it has the same law for both. The bounds above hold given the
rests of all steps, unless one of them is too large. By joint convexity over the rests delta grows from d to at most p +
(1 - p) d, p the probability of an oversized rest, as in the event ``Approximate(0, p)``.
"""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from dperm import checks
from dperm.accounting.calibrate import Family, calibrate
from dperm.accounting.dominance import dominates
from dperm.accounting.event import MOST_STEPS, Composed, Event, Repeated
from dperm.accounting.events import MULTIPLIERS, Approximate, Gaussian
from dperm.accounting.replace_only import ReplaceOneOnly
from dperm.accounting.sampled import RATE, SMALLEST_RATE, Poisson
from dperm.checks import shown
from dperm.errors import AssumptionError, ConversionError, ParameterError
from dperm.mechanisms.additive import on_grid
from dperm.mechanisms.calibration import DIM, MOST_DIM, Calibration, covers, error_up, noise_event, sensitivity_up
from dperm.mechanisms.goal import checked_goal, gaussian_mu, quotient_down
from dperm.mechanisms.mechanism import Law
from dperm.noise.arrays import Floats
from dperm.noise.bits import Stream
from dperm.noise.grid import Grid, Norm, grid_for, sensitivity_on_grid
from dperm.noise.integer_noise import LARGEST_SCALE, rounded_gaussian
from dperm.presentation.spelling import arg, quoted_arg
from dperm.privacy import Adjacency, ApproxDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import lowered, raised

FAMILY = "Gaussian noise"
"""Name of the distribution in descriptions."""
STEPS = "It is the number of released sums."
FAILURE = "It is the probability that one of the sums has an error beyond its bound."
SHARES = (2.0**-20, 0.5)
"""Smallest and largest share of the noise deviation for errors."""
BOUNDS = (0.1, 1e8)
PUSHES = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
RELATIVE = 1e-6
"""Relative accuracy of the calibrated noise."""


@dataclass(frozen=True)
class SampledSums:
    """Sums over Poisson samples, one per step, each of which may depend on earlier releases.

    Attributes
    ----------
    lipschitz
        L, the largest norm of one record's contribution to a sum, its weight included.
    rate
        q, the probability of a record to be in a sample.
    steps
        T, the number of sums, with those of empty samples.
    dim
        Number of entries of a sum, or more.
    numerical_error
        e, a bound on the norm of the error of a computed sum, for every data set.
    failure
        Probability of a sample too large for the error bound in one of the steps.
    """

    lipschitz: float
    rate: float
    steps: int
    dim: int
    numerical_error: float = 0.0
    failure: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers and round them in the safe direction."""
        set_field = object.__setattr__
        set_field(self, "lipschitz", sensitivity_up("lipschitz", self.lipschitz))
        set_field(self, "rate", checks.between("rate", self.rate, SMALLEST_RATE, 1.0, RATE))
        set_field(self, "steps", checks.count("steps", self.steps, STEPS, most=MOST_STEPS))
        set_field(self, "dim", checks.count("dim", self.dim, DIM, most=MOST_DIM))
        set_field(self, "numerical_error", error_up("numerical_error", self.numerical_error))
        set_field(self, "failure", checks.small_delta("failure", self.failure, FAILURE))

    def moved_by_errors(self, grid: Grid) -> float:
        """Return 2 tau = 2e + sqrt(d) g, the largest distance of computed sums due to errors and rounding (T10b)."""
        return sensitivity_on_grid(0.0, grid, dim=self.dim, norm=Norm.L2, numerical_error=self.numerical_error)


@dataclass(frozen=True)
class SampledNoise:
    """Gaussian noise N(0, scale^2 I) of every step, rounded to a grid.

    Attributes
    ----------
    sums
        Sums to release.
    adjacency
        Neighbouring relation of the guarantee.
    scale
        Standard deviation sigma per entry.
    share
        Share of the scale that covers numerical errors; the rest covers the records.
    grid
        Grid of the released sums.
    """

    sums: SampledSums
    adjacency: Adjacency
    scale: float
    share: float
    grid: Grid

    @property
    def parts(self) -> tuple[float, float]:
        """Deviations sigma1 and sigma2, rounded down; their squares sum to at most the square of the scale."""
        kept = math.sqrt((1 - self.share) * (1 + self.share))
        return lowered(kept * self.scale), lowered(self.share * self.scale)

    @cached_property
    def step_event(self) -> Event:
        """Event of one step: the sampled Gaussian (T22, T25), and a Gaussian for errors without amplification."""
        kept, hidden = self.parts
        doubled = 1 if self.adjacency is Adjacency.ADD_REMOVE else 2  # multipliers refer to one record added or removed
        sampled = Poisson(Gaussian(quotient_down(kept, self.sums.lipschitz)), rate=self.sums.rate)
        moved = max(self.sums.moved_by_errors(self.grid), raised(doubled * hidden / MULTIPLIERS[1]))
        return sampled + noise_event(Gaussian, Calibration(hidden, self.grid, moved), self.adjacency)

    @cached_property
    def event(self) -> Event:
        """Event of all steps and of oversized samples."""
        steps = self.step_event * self.sums.steps
        return steps + Approximate(0.0, self.sums.failure, self.adjacency) if self.sums.failure else steps

    @property
    def words(self) -> str:
        """Description of the distribution and its grid."""
        return Law.on_grid(FAMILY, self.grid.exponent).words

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags for sampling and for noise on a grid."""
        return ("T22" if self.adjacency is Adjacency.ADD_REMOVE else "T25", "T6", "T10")

    @property
    def numbers(self) -> dict[str, object]:
        """Public numbers as stored in a record."""
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
        """Return the computed sum of a sample plus the noise of one step; zeros plus noise for an empty sample."""
        return on_grid(self.grid, total, rounded_gaussian(self.scale / self.grid.step, total.size, stream))


@dataclass(frozen=True)
class DeclaredSteps:
    """Numbers of a `SampledNoise.event` that was declared before the sums were known (T70).

    Attributes
    ----------
    event
        The declared event.
    multiplier
        sigma1/L, the noise multiplier for the records.
    error_multiplier
        sigma2/(2 tau), the noise multiplier for errors.
    rate
        q, the probability of a record to be in a sample.
    steps
        T, the number of sums.
    failure
        Probability of a sample too large for the error bound; 0 if the event has none.
    """

    event: Event
    multiplier: float
    error_multiplier: float
    rate: float
    steps: int
    failure: float

    @classmethod
    def of(cls, event: Event, adjacency: Adjacency) -> "DeclaredSteps":
        """Return the numbers of an event of DP-SGD; raises ParameterError for other events."""
        match event:
            case Composed(events=(steps, Approximate(epsilon=0.0, delta=failure))):
                pass
            case _:
                steps, failure = event, 0.0
        step, count = (steps.event, steps.count) if isinstance(steps, Repeated) else (steps, 1)
        match step, adjacency:
            case Composed(events=(Poisson(event=Gaussian() as kept) as sampled, Gaussian() as hidden)), (
                Adjacency.ADD_REMOVE
            ):
                return cls(event, kept.noise_multiplier, hidden.noise_multiplier, sampled.rate, count, failure)
            case Composed(
                events=(Poisson(event=Gaussian() as kept) as sampled, ReplaceOneOnly(event=Gaussian() as hidden))
            ), Adjacency.REPLACE_ONE:
                error_multiplier = hidden.noise_multiplier / 2  # relative to half of the distance 2 tau
                return cls(event, kept.noise_multiplier, error_multiplier, sampled.rate, count, failure)
        raise ParameterError(
            argument="event",
            rule=f"must be that of {quoted_arg('method', 'sgd')} under {adjacency}",
            got=shown(event),
            remedy="Use the result of declare_event of the same method.",
        )

    def noise(self, sums: SampledSums, adjacency: Adjacency) -> SampledNoise:
        """Return the least noise for ``sums`` whose event the declared one dominates.

        The deviations are sigma1 = multiplier L and sigma2 = error_multiplier 2 tau. Their squares add up.
        """
        kept = self.multiplier * sums.lipschitz
        grid = grid_for(kept, sensitivity=sums.lipschitz, dim=sums.dim)
        hidden = min(max(self.error_multiplier * sums.moved_by_errors(grid), SHARES[0] * kept), 1e300)
        scale = math.hypot(kept, hidden)
        for push in (1e-14, 1e-12, 1e-9, 1e-6):
            found = SampledNoise(sums, adjacency, scale * (1 + push), hidden / scale, grid)
            if dominates(self.event, found.event):
                return _drawable((found,))[0]
        raise AssumptionError(
            f"the declared event covers no noise for sums with errors of up to {sums.numerical_error:.3g} (T70).",
            remedy=f"Choose a larger {arg('clip')}, or a smaller {arg('projection')}.",
        )


def sampled_noise(sums: SampledSums, goal: AnyGuarantee) -> SampledNoise:
    """Return the least noise with which all steps together meet ``goal``, certified by the accountant.

    The search is over the noise multiplier, sigma/L. The grid follows from the noise without errors. Errors get a share
    s^2 = 2 tau sqrt(T) / (sigma mu) of the variance. This share minimises their total cost in noise and budget in a
    Gaussian approximation; mu is the goal's (T6). Errors raise sigma by about s^2. Where this is below 1e-6, the noise
    without errors plus a little is tried before another search.

    Raises
    ------
    ConversionError
        If the goal is not ApproxDP with delta > 0.
    AssumptionError
        If no noise suffices: errors cost more than the goal, or the goal needs no noise at all.
    """
    return joint_noise([JointSums(sums)], goal)[0]


@dataclass(frozen=True)
class JointSums:
    """Sums released beside others: their noise multiplier is ``ratio`` times the common one."""

    sums: SampledSums
    ratio: float = 1.0

    def scale(self, multiplier: float) -> float:
        """Return the deviation of the noise, rounded up."""
        return raised(multiplier * self.ratio * self.sums.lipschitz)

    def ideal(self, multiplier: float) -> Event:
        """Return the event without any rounding."""
        return Poisson(Gaussian(multiplier * self.ratio), rate=self.sums.rate) * self.sums.steps


def joint_noise(parts: Sequence[JointSums], goal: AnyGuarantee) -> tuple[SampledNoise, ...]:
    """Return the noise of several kinds of sums, together meeting ``goal``, with one common multiplier.

    It extends `sampled_noise`, with the same errors.
    """
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
    """Return ``noises`` if the sampler can draw them on the grid of the noise without errors.

    Raises
    ------
    AssumptionError
        If errors raise the noise beyond 2^52 steps of the grid.
    """
    for noise in noises:
        if noise.scale / noise.grid.step > LARGEST_SCALE:
            raise AssumptionError(
                f"the numerical error of the sums, up to {noise.sums.numerical_error:.3g}, outweighs the gradient of a "
                f"record, at most {noise.sums.lipschitz:.3g}, and no noise for it can be drawn.",
                remedy=f"Choose a larger {arg('clip')} or {arg('C')}, or a smaller {arg('projection')}.",
            )
    return noises


def total_event(noises: Sequence[SampledNoise]) -> Event:
    """Return the composition of the events of all noises."""
    return reduce(operator.add, [noise.event for noise in noises])


def joint_multiplier(parts: Sequence[JointSums], goal: AnyGuarantee) -> float:
    """Return the common multiplier without any rounding, as used by the grade `fast` (T10)."""
    lowest = max(MULTIPLIERS[0] / part.ratio for part in parts) * 1.01
    return _multiplier(
        lambda multiplier: reduce(operator.add, [part.ideal(multiplier) for part in parts]),
        approximate_goal(goal),
        lowest,
    )


def largest_sample(rows: int, rate: float, failure: float) -> int:
    """Return a size reached by a Poisson sample of at most ``rows`` rows with probability at most ``failure``.

    Bernstein: P(S >= m + x) <= exp(-x^2 / (2 (m + x/3))) with m = q n, so x = t/3 + sqrt(t^2/9 + 2 t m) for t =
    log(1/failure). The result is at most ``rows`` + 1, which no sample reaches.
    """
    mean, t = rows * rate, -math.log(failure)
    return min(rows + 1, math.ceil((mean + t / 3 + math.sqrt(t * t / 9 + 2 * t * mean)) * (1 + 1e-12)))


@dataclass(frozen=True)
class _Shape:
    """Grid, share of the noise for errors, and the approximate relative increase of the noise caused by errors."""

    grid: Grid
    share: float
    cost: float


def _shape(part: JointSums, multiplier: float, goal: ApproxDP) -> _Shape:
    sums, scale = part.sums, multiplier * part.ratio * part.sums.lipschitz
    grid = grid_for(scale, sensitivity=sums.lipschitz, dim=sums.dim)
    cost = math.sqrt(sums.steps) * sums.moved_by_errors(grid) / (scale * gaussian_mu(goal))
    return _Shape(grid, min(max(math.sqrt(cost), SHARES[0]), SHARES[1]), cost)


def _certified(
    noises: Callable[[float], tuple[SampledNoise, ...]], goal: ApproxDP, least: float
) -> tuple[SampledNoise, ...]:
    """Return the noise of the least multiplier from ``least`` on, certified by the accountant."""
    found = _multiplier(lambda multiplier: total_event(noises(multiplier)), goal, least)
    for push in PUSHES:
        certified = noises(found * (1 + push))
        if covers(goal, total_event(certified)):
            return certified
    raise AssumptionError(
        "no noise scale near the exact one could be certified.", remedy="Choose a slightly larger goal."
    )


def _least(part: JointSums, shape: _Shape) -> float:
    """Return the least multiplier whose share for errors is a valid event: far below the multiplier of any goal."""
    moved = part.sums.moved_by_errors(shape.grid)
    return 1.01 * MULTIPLIERS[0] * moved / (shape.share * part.ratio * part.sums.lipschitz)


def _multiplier(family: Family, goal: ApproxDP, least: float = 0.0) -> float:
    """Return the noise multiplier at which ``family`` meets the goal; ``family`` has events from ``least`` on.

    It is at least a tenth. Where a tenth is more than enough, the run is more private than requested.
    """
    low, high = min(max(BOUNDS[0], least), BOUNDS[1] / 2), BOUNDS[1]
    try:
        return calibrate(family, goal.epsilon, goal.delta, goal.adjacency, bounds=(low, high), relative=RELATIVE)
    except (AssumptionError, ParameterError):
        if _is_met(family, goal, low):
            return low
        raise AssumptionError(
            f"no noise of up to {high:g} times the sensitivity of one record meets goal={goal!r}: the numerical error "
            f"of the sums costs more than the goal.",
            remedy=f"Use fewer {arg('steps')}, or a smaller {arg('projection')}.",
        ) from None


def _is_met(family: Family, goal: ApproxDP, multiplier: float) -> bool:
    try:
        return covers(goal, family(multiplier))
    except (AssumptionError, ParameterError):  # no event, or one that is too large to account for
        return False


def approximate_goal(goal: AnyGuarantee) -> ApproxDP:
    """Return ``goal`` if noise on samples can be calibrated to it.

    Raises
    ------
    ConversionError
        If the goal is not ApproxDP with delta > 0.
    """
    goal = checked_goal(goal)
    if isinstance(goal, ApproxDP) and goal.delta > 0:
        return goal
    raise ConversionError(
        f"{quoted_arg('method', 'sgd')} needs delta > 0, as in ApproxDP(epsilon, delta, adjacency): noise on "
        f"Poisson samples is "
        f"calibrated by its privacy profile (T22, T25), got goal={shown(goal)}.",
        remedy=f"Set {arg('delta')} > 0. For a pure guarantee use {quoted_arg('method', 'objective')} or "
        f"{quoted_arg('method', 'output')} with a smooth "
        f"loss; for GDP, ZCDP and RDP {quoted_arg('method', 'gradient')}.",
    )
