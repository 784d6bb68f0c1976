# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The noise of a step, on the sum of gradients in units of the clip norm: exact or fast (T10, T46).

`ExactNoise` is drawn exactly on a grid, on sums in double precision whose rounding errors are part of the event (T46b).
`FastNoise` is drawn in single precision: its guarantee is that of the ideal mechanism.
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
"""Relative error of one operation in double precision."""


class StepNoise(Protocol):
    """What is added to the sum of one step."""

    @property
    def event(self) -> Event:
        """What all steps spend."""

    def event_of(self, steps: int) -> Event:
        """What so many steps spend."""

    @property
    def sums(self) -> SampledSums:
        """What it was made for."""

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets are neighbours."""

    @property
    def scale(self) -> float:
        """Standard deviation, in units of the clip norm."""

    @property
    def double(self) -> bool:
        """Whether sums have to be in double precision."""

    @property
    def grade(self) -> Grade:
        """Exact or fast."""

    @property
    def words(self) -> str:
        """The law in words."""

    @property
    def theorems(self) -> tuple[str, ...]:
        """What it rests on."""

    @property
    def numbers(self) -> dict[str, object]:
        """As they stand in a record."""

    @property
    def calibrated(self) -> tuple[float, ...]:
        """The numbers that the search found; public numbers of the plan determine all others."""

    def recalibrated(self, *numbers: float) -> Self:
        """The same noise with these calibrated numbers."""

    def add(self, sums: Sequence[Tensor], stream: Stream) -> list[Tensor]:
        """The sums plus the noise of one step; ``sums`` themselves may be overwritten."""


@dataclass(frozen=True)
class ExactNoise:
    """Gaussian noise rounded to a grid, drawn exactly."""

    law: SampledNoise

    double = True
    grade = Grade.EXACT

    @property
    def event(self) -> Event:
        """What all steps spend, rounding included."""
        return self.law.event

    @property
    def sums(self) -> SampledSums:
        """What it was made for."""
        return self.law.sums

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets are neighbours."""
        return self.law.adjacency

    def event_of(self, steps: int) -> Event:
        """What so many steps spend."""
        return replace(self.law, sums=replace(self.law.sums, steps=steps)).event

    @property
    def scale(self) -> float:
        """Standard deviation, in units of the clip norm."""
        return self.law.scale

    @property
    def words(self) -> str:
        """The law in words."""
        return self.law.words

    @property
    def theorems(self) -> tuple[str, ...]:
        """What it rests on."""
        return ("T46b", *self.law.theorems)

    @property
    def numbers(self) -> dict[str, object]:
        """As they stand in a record."""
        return self.law.numbers

    @property
    def calibrated(self) -> tuple[float, ...]:
        """Scale, and its share that hides errors."""
        return self.law.scale, self.law.share

    def recalibrated(self, *numbers: float) -> "ExactNoise":
        """The same noise with another scale and share."""
        scale, share = numbers
        return replace(self, law=replace(self.law, scale=scale, share=share))

    def add(self, sums: Sequence[Tensor], stream: Stream) -> list[Tensor]:
        """One draw for all entries."""
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
    words = "Gaussian in single precision; the guarantee is that of exact arithmetic"

    @cached_property
    def event(self) -> Event:
        """What all steps spend."""
        return self.event_of(self.sums.steps)

    def event_of(self, steps: int) -> Event:
        """What so many steps spend."""
        return Poisson(Gaussian(quotient_down(self.scale, self.sums.lipschitz)), rate=self.sums.rate) * steps

    @property
    def theorems(self) -> tuple[str, ...]:
        """What it rests on."""
        return ("T22" if self.adjacency is Adjacency.ADD_REMOVE else "T25", "T6")

    @property
    def numbers(self) -> dict[str, object]:
        """As they stand in a record."""
        return {
            "sensitivity": self.sums.lipschitz,
            "noise_scale": self.scale,
            "noise_multiplier": self.scale / self.sums.lipschitz,
        }

    @property
    def calibrated(self) -> tuple[float, ...]:
        """The scale."""
        return (self.scale,)

    def recalibrated(self, *numbers: float) -> "FastNoise":
        """The same noise with another scale."""
        (scale,) = numbers
        return replace(self, scale=scale)

    def add(self, sums: Sequence[Tensor], stream: Stream) -> list[Tensor]:
        """One draw for all entries, added in place."""
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
        """As many standard normals, in memory that nobody else has."""
        return normals(size, stream, scratch) if size > MOST else torch.from_numpy(floating_pool(stream).take(size))


def step_noise(grade: Grade, steps: SampledSteps, goal: ApproxDP, size: int) -> StepNoise:
    """The least noise of this grade with which all steps meet ``goal``, with micro-batches of ``size`` records."""
    return joint_step_noise(grade, [JointSums(sums_of(steps, goal, size))], goal)[0]


def joint_step_noise(grade: Grade, parts: Sequence[JointSums], goal: ApproxDP) -> tuple[StepNoise, ...]:
    """The least noise of this grade with which several kinds of sums together meet ``goal``."""
    if grade is Grade.EXACT:
        return tuple(ExactNoise(law) for law in joint_noise(parts, goal))
    multiplier = joint_multiplier(parts, goal)
    for push in PUSHES:
        raised_a_little = multiplier * (1 + push)
        noises = tuple(FastNoise(part.sums, goal.adjacency, part.scale(raised_a_little)) for part in parts)
        if covers(goal, reduce(operator.add, [noise.event for noise in noises])):
            return noises
    raise AssumptionError("no noise scale near the exact one could be certified. Ask for a goal a little larger.")


def sums_of(steps: SampledSteps, goal: ApproxDP, size: int) -> SampledSums:
    """The sums of steps, with a bound on their rounding errors in double precision (T46b).

    L is the number of records of one group: as many are in the sum for each group that was drawn.
    """
    return planned_sums(steps, goal, lambda rows: sum_error(rows * math.ceil(steps.lipschitz), size))


def sum_error(rows: int, size: int) -> float:
    """Bound on the rounding error of a sum of ``rows`` clipped gradients, in units of the clip norm (T46b).

    Every entry is a sum of at most K terms in any order, then of at most K such sums, then of the micro-batches of
    ``size`` rows, M of them: an error of (2K + M) u of the sum of the absolute values, which for each example is at
    most its weighted spread, S + 1. It is doubled for terms of second order.
    """
    return 2 * (2 * LONGEST + rows // size + 1) * UNIT * rows * (SPREAD + 1)


def _like(flat: Tensor, sums: Sequence[Tensor]) -> list[Tensor]:
    """The parts of one vector, each in the shape and on the device of its sum."""
    parts = flat.split([total.numel() for total in sums])
    return [part.view(total.shape).to(total.device) for part, total in zip(parts, sums, strict=True)]
