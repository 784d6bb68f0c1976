# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Noisy update of one sample: accumulate clipped sums, add noise once, divide by a public number, step (T46)."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from dperm.errors import AssumptionError, ParameterError
from dperm.noise.bits import Stream
from dperm.torch.adam import AdamBC, tell_noise
from dperm.torch.fused_gradient import UNKNOWN, FusedNoisyGradient
from dperm.torch.gradients.per_example import UnclippedGradients
from dperm.torch.optimizers import clear_others, plain_step, private_steps

if TYPE_CHECKING:
    from dperm.torch.plan import DPSGDPlan


Draw = Callable[[Stream, float], list[Tensor]]
"""Return the noisy gradients of a sample from a stream and the factor of the noisy sum."""


class NoisyUpdate:
    """Clipped sums of the current sample, their noise, and the step of the optimizer.

    *Guarantees.* Each call of `finish` draws noise once, and noise is drawn at most as often as the plan has steps. The
    noisy sum is divided by the expected size of a sample, a public number, whatever the actual sample size.

    Attributes
    ----------
    draws
        Number of draws of noise so far, at most the plan's steps.
    clip_norm
        Clipping norm of the next step.
    parameters
        Trained parameters.
    observer
        Function of the weights of examples, or None. With an adaptive clipping norm it counts the examples whose
        gradients are not shortened.
    """

    def __init__(self, plan: "DPSGDPlan", optimizer: Optimizer, model: nn.Module, stream: Stream) -> None:
        self.plan, self.optimizer, self.stream = plan, optimizer, stream
        self.draws, self.clip_norm = 0, float(plan.method.clip_norm)
        self.parameters = [value for value in model.parameters() if value.requires_grad]
        self._expected, self._scale = plan.expected_batch_size, plan.noise.scale  # properties, computed once
        self._tells = isinstance(optimizer, AdamBC)
        self._places = {id(value): place for place, value in enumerate(self.parameters)}
        self._sums: list[Tensor | None] = [None] * len(self.parameters)
        self._partial = False
        self._short: Tensor | None = None
        self.observer: Callable[[Tensor], None] | None = None if plan.quantile is None else self._count
        self._fused = FusedNoisyGradient.of(plan.noise, self.parameters) if plan.quantile is None else None

    def __enter__(self) -> Self:
        """Refuse steps of the optimizer by hand."""
        self._guard = ExitStack()
        self._allowed = self._guard.enter_context(private_steps(self.optimizer))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Allow the optimizer to step by hand again."""
        self._guard.close()

    @property
    def is_partial(self) -> bool:
        """Whether some, but not all, parts of a sample were added."""
        return self._partial

    def draw_of(self, found: UnclippedGradients) -> Draw | None:
        """Return a draw that fuses clipped sum and noise of a sample in one micro-batch, or None if not applicable."""
        if self._fused is None or self._partial:
            return None
        return partial(self._fused, found)

    def forget(self) -> None:
        """Drop the sums of the current sample."""
        self._sums, self._short, self._partial = [None] * len(self.parameters), None, False

    def add(self, sums: Iterable[tuple[nn.Parameter, Tensor]]) -> None:
        """Add the clipped sums of a micro-batch to those of the sample."""
        self._partial = True
        for parameter, total in sums:
            place = self._places.get(id(parameter))
            if place is None:
                raise AssumptionError(UNKNOWN)
            held = self._sums[place]
            self._sums[place] = total if held is None else held.add_(total)

    def finish(self, draw: Draw | None = None) -> None:
        """Add noise to the sum of the sample, and let the optimizer step along the result.

        Parameters
        ----------
        draw
            Alternative source of the noisy gradients. None adds noise to the accumulated sums.

        Raises
        ------
        ParameterError
            If all planned steps were taken.

        Notes
        -----
        *Edge cases.* An empty sample, and a parameter without gradients, get noise on a sum of 0.
        """
        if self.draws >= self.plan.steps:
            raise ParameterError("all planned steps were taken.", remedy="Plan more steps for a longer training.")
        self.draws += 1
        factor = self.clip_norm / self._expected  # of this step, also where the clip norm adapts now
        gradients = self._gradients(factor) if draw is None else draw(self.stream, factor)
        if self._tells:
            tell_noise(self.optimizer, self._scale * factor)
        for parameter, grad in zip(self.parameters, gradients, strict=True):
            parameter.grad = grad if grad.dtype is parameter.dtype else grad.to(parameter.dtype)
        if draw is None or self._partial:
            self.forget()
        if not plain_step(self.optimizer, self.parameters):
            clear_others(self.optimizer, self._places)
            with self._allowed():
                self.optimizer.step()

    def _gradients(self, factor: float) -> list[Tensor]:
        """Return the noisy sums times ``factor``."""
        pairs = zip(self.parameters, self._sums, strict=True)
        sums = [torch.zeros_like(value, dtype=self._dtype(value)) if held is None else held for value, held in pairs]
        noisy = self._noisy(sums)
        torch._foreach_mul_(noisy, factor)
        return noisy

    def _noisy(self, sums: list[Tensor]) -> list[Tensor]:
        quantile = self.plan.quantile
        if quantile is None:
            return self.plan.noise.add(sums, self.stream)
        shares = [total * quantile.gradient_share for total in sums]
        short = torch.zeros((1,), dtype=sums[0].dtype) if self._short is None else self._short
        *noisy, count = self.plan.noise.add([*shares, short * quantile.count_share], self.stream)
        self.clip_norm = quantile.adapted(self.clip_norm, float(count), self.plan.expected_batch_size)
        return noisy

    def _count(self, weights: Tensor) -> None:
        """Count 1 for an example of full length, -1 for a shortened one, and 0 for weight 0."""
        signs = torch.where(weights * self.clip_norm >= 1 - 1e-6, 1.0, -1.0).to(weights.dtype)
        count = torch.where(weights > 0, signs, 0).sum().reshape(1)
        self._short = count if self._short is None else self._short + count

    def _dtype(self, value: Tensor) -> torch.dtype:
        return torch.float64 if self.plan.noise.double else value.dtype
