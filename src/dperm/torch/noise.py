# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Noise of a step on the sum of gradients, in units of the clipping norm: exact or fast (T10, T46).

`ExactNoise` is drawn exactly on a grid, for sums in double precision; the event includes their rounding errors (T46b).
`FastNoise` is drawn in single precision; its guarantee is proved only for ideal arithmetic, without rounding.
"""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Protocol, Self

import torch
from torch import Tensor

from dperm.accounting.event import Event
from dperm.accounting.events import Gaussian
from dperm.accounting.sampled import Poisson
from dperm.errors import AssumptionError
from dperm.mechanisms.calibration import covers
from dperm.mechanisms.goal import quotient_down
from dperm.methods.sampled_noise import PUSHES, JointSums, SampledNoise, SampledSums, joint_multiplier, joint_noise
from dperm.methods.sampling import SampledSteps, planned_sums
from dperm.noise.bits import Stream
from dperm.noise.grade import Grade
from dperm.noise.single_precision import MOST
from dperm.privacy import Adjacency, ApproxDP
from dperm.torch.gaussian import floating_pool, normals
from dperm.torch.gradients.factors import SPREAD
from dperm.torch.gradients.scratch import Scratch
from dperm.torch.gradients.weighted_sums import LONGEST

UNIT = 2.0**-53
"""Relative rounding error of one operation in double precision."""


class StepNoise(Protocol):
    """Distribution of the noise on the sum of one step."""

    @property
    def event(self) -> Event:
        """Privacy event of all steps."""

    def event_of(self, steps: int) -> Event:
        """Return the privacy event of this number of steps."""

    @property
    def sums(self) -> SampledSums:
        """Sampled sums of the plan: rate, steps and sensitivity."""

    @property
    def adjacency(self) -> Adjacency:
        """Adjacency relation of the guarantee."""

    @property
    def scale(self) -> float:
        """Standard deviation, in units of the clipping norm."""

    @property
    def double(self) -> bool:
        """Whether sums must be in double precision."""

    @property
    def grade(self) -> Grade:
        """Arithmetic grade, exact or fast."""

    @property
    def words(self) -> str:
        """Description of the distribution, as stored in the record of a release."""

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags of the theorems behind the event."""

    @property
    def numbers(self) -> dict[str, object]:
        """Numbers of the distribution, as stored in the record of a run."""

    @property
    def calibrated(self) -> tuple[float, ...]:
        """Numbers found by calibration; public numbers of the plan determine all others."""

    def recalibrated(self, *numbers: float) -> Self:
        """Return the same noise with these calibrated numbers."""

    def add(self, sums: Sequence[Tensor], stream: Stream) -> list[Tensor]:
        """Return the sums plus the noise of one step; ``sums`` may be overwritten."""


@dataclass(frozen=True)
class ExactNoise:
    """Gaussian noise rounded to a grid, drawn exactly."""

    law: SampledNoise

    double = True
    grade = Grade.EXACT

    @property
    def event(self) -> Event:
        """Privacy event of all steps, rounding included."""
        return self.law.event

    @property
    def sums(self) -> SampledSums:
        """Sampled sums of the plan: rate, steps and sensitivity."""
        return self.law.sums

    @property
    def adjacency(self) -> Adjacency:
        """Adjacency relation of the guarantee."""
        return self.law.adjacency

    def event_of(self, steps: int) -> Event:
        """Return the privacy event of this number of steps."""
        return replace(self.law, sums=replace(self.law.sums, steps=steps)).event

    @property
    def scale(self) -> float:
        """Standard deviation, in units of the clipping norm."""
        return self.law.scale

    @property
    def words(self) -> str:
        """Description of the distribution, as stored in the record of a release."""
        return self.law.words

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags of the theorems behind the event."""
        return ("T46b", *self.law.theorems)

    @property
    def numbers(self) -> dict[str, object]:
        """Numbers of the distribution, as stored in the record of a run."""
        return self.law.numbers

    @property
    def calibrated(self) -> tuple[float, ...]:
        """Scale of the noise, and its share for rounding errors."""
        return self.law.scale, self.law.share

    def recalibrated(self, *numbers: float) -> "ExactNoise":
        """Return the same noise with another scale and share."""
        scale, share = numbers
        return replace(self, law=replace(self.law, scale=scale, share=share))

    def add(self, sums: Sequence[Tensor], stream: Stream) -> list[Tensor]:
        """Return the sums plus noise on a grid, from one draw for all entries."""
        flat = torch.cat([total.detach().reshape(-1).double().cpu() for total in sums])
        noisy = torch.from_numpy(self.law.noisy(flat.numpy(), stream))
        return _like(noisy, sums)


@dataclass(frozen=True)
class FastNoise:
    """Gaussian noise in single precision, from unpredictable bits."""

    sums: SampledSums
    adjacency: Adjacency
    scale: float

    double = False
    grade = Grade.FAST
    words = "Gaussian noise, drawn in single precision; the guarantee is that of exact arithmetic"

    @cached_property
    def event(self) -> Event:
        """Privacy event of all steps."""
        return self.event_of(self.sums.steps)

    def event_of(self, steps: int) -> Event:
        """Return the privacy event of this number of steps."""
        return Poisson(Gaussian(quotient_down(self.scale, self.sums.lipschitz)), rate=self.sums.rate) * steps

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags of the theorems behind the event."""
        return ("T22" if self.adjacency is Adjacency.ADD_REMOVE else "T25", "T6")

    @property
    def numbers(self) -> dict[str, object]:
        """Numbers of the distribution, as stored in the record of a run."""
        return {
            "sensitivity": self.sums.lipschitz,
            "noise_scale": self.scale,
            "noise_multiplier": self.scale / self.sums.lipschitz,
        }

    @property
    def calibrated(self) -> tuple[float, ...]:
        """Scale of the noise, the only calibrated number."""
        return (self.scale,)

    def recalibrated(self, *numbers: float) -> "FastNoise":
        """Return the same noise with another scale."""
        (scale,) = numbers
        return replace(self, scale=scale)

    def add(self, sums: Sequence[Tensor], stream: Stream) -> list[Tensor]:
        """Add noise in place, from one draw for all entries."""
        parts, start = [], 0
        drawn = self.standard(sum([total.numel() for total in sums]), stream, Scratch(0))
        for total in sums:
            stop = start + total.numel()
            part = drawn[start:stop].view(total.shape)
            parts.append(part if total.dtype is part.dtype and total.is_cpu else part.to(total))
            start = stop
        noisy = list(sums)
        torch._foreach_add_(noisy, parts, alpha=self.scale)
        return noisy

    def standard(self, size: int, stream: Stream, scratch: Scratch) -> Tensor:
        """Return ``size`` standard normals in newly allocated memory."""
        return normals(size, stream, scratch) if size > MOST else torch.from_numpy(floating_pool(stream).take(size))


def step_noise(grade: Grade, steps: SampledSteps, goal: ApproxDP, size: int) -> StepNoise:
    """Return the smallest noise of this grade for which all steps together meet ``goal``.

    ``size`` is the number of records of a micro-batch; it enters the bound on rounding errors.
    """
    return joint_step_noise(grade, [JointSums(sums_of(steps, goal, size))], goal)[0]


def joint_step_noise(grade: Grade, parts: Sequence[JointSums], goal: ApproxDP) -> tuple[StepNoise, ...]:
    """Return the smallest noise of this grade for which several kinds of sums together meet ``goal``.

    *Guarantees.* Every returned distribution is certified: the accountant confirms that the composed event is covered
    by the goal.

    Raises
    ------
    AssumptionError
        If no noise scale can be certified.
    """
    if grade is Grade.EXACT:
        return tuple(ExactNoise(law) for law in joint_noise(parts, goal))
    multiplier = joint_multiplier(parts, goal)
    for push in PUSHES:
        raised_a_little = multiplier * (1 + push)
        noises = tuple(FastNoise(part.sums, goal.adjacency, part.scale(raised_a_little)) for part in parts)
        if covers(goal, reduce(operator.add, [noise.event for noise in noises])):
            return noises
    raise AssumptionError(
        "no noise scale near the exact one could be certified.", remedy="Choose a slightly larger epsilon or delta."
    )


def sums_of(steps: SampledSteps, goal: ApproxDP, size: int) -> SampledSums:
    """Return the sums of all steps, with a bound on their rounding errors in double precision (T46b).

    The sensitivity L is the number of records of one group, all of which enter the sum if the group is drawn.
    """
    return planned_sums(steps, goal, lambda rows: sum_error(rows * math.ceil(steps.lipschitz), size))


def sum_error(rows: int, size: int) -> float:
    """Return a bound on the rounding error of a sum of ``rows`` clipped gradients, in units of the clip norm (T46b).

    Every entry is a sum of at most K terms in any order, then of at most K such sums, then of M micro-batches of
    ``size`` rows. The error is (2K + M) u times the sum of the absolute values, at most the weighted spread S + 1 for
    each example. The bound is doubled to cover terms of second order.
    """
    return 2 * (2 * LONGEST + rows // size + 1) * UNIT * rows * (SPREAD + 1)


def _like(flat: Tensor, sums: Sequence[Tensor]) -> list[Tensor]:
    """Split one vector into parts with the shapes and devices of the sums."""
    parts = flat.split([total.numel() for total in sums])
    return [part.view(total.shape).to(total.device) for part, total in zip(parts, sums, strict=True)]
