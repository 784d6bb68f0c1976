# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Compiled step of a private training run: from a batch to clipped sum, noise and optimizer step."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.torch.compiled.inductor import Compiled, compile_graph
from dperm.torch.compiled.steps import CompiledStep
from dperm.torch.compiled.sums import CompiledSum
from dperm.torch.compiled.tracing import Loss
from dperm.torch.model_checks.check import check_losses
from dperm.torch.sampling import MicroBatch

if TYPE_CHECKING:
    from dperm.torch.plan import DPSGDPlan
    from dperm.torch.session import PrivateTraining

DEVIATIONS = 4.0
"""Standard deviations above the mean sample size; one sample in 30,000 is larger."""


class CompiledTraining:
    """``step(x, y)`` in place of ``private.step(loss(model(x), y))``. The first call compiles.

    Micro-batches are padded to one size with excluded rows: four standard deviations above the expected sample size, or
    the physical batch size, whichever is smaller. Larger micro-batches are rare and run without compilation. A sample
    of one micro-batch receives its noise in the same graph; otherwise the sums are added first.

    Parameters
    ----------
    training
        Private training run inside its ``with`` block, with a plan of grade "fast".
    loss
        Function from model output and the other parts of a batch to one loss per example.
    code
        Function that makes a graph executable; the default compiles the graph.

    Raises
    ------
    ParameterError
        If the grade is "exact".
    """

    def __init__(
        self, training: "PrivateTraining", loss: Loss, *, code: Callable[..., Compiled] = compile_graph
    ) -> None:
        if training.plan.noise.double:
            raise ParameterError(
                argument="grade",
                rule='must be "fast" for a compiled step, because its sums are in the precision of the model',
                remedy="Leave compilation off for the exact grade.",
            )
        self._training, self._loss, self._code = training, loss, code
        self._size = _usual_size(training.plan)
        self._everything = torch.ones(self._size, dtype=torch.bool)
        self._sum: CompiledSum | None = None
        self._step: CompiledStep | None = None

    def __call__(self, *batch: Tensor) -> bool:
        """Add a micro-batch from the loop. Return True if the optimizer has stepped."""
        training = self._training
        part = training.awaited()
        if part.trial or part.rows > self._size:
            return training.step(self._loss(training.model(batch[0]), *batch[1:]))
        rows = max(part.rows, 1)
        if any([not isinstance(values, Tensor) or not values.dim() or values.shape[0] != rows for values in batch]):
            raise ParameterError(
                argument="batch",
                rule="must be the tensors of the last batch from the loop, the model's input first",
                got=shown([type(values).__name__ for values in batch]),
            )
        size = self._size
        padded = [_padded(values, size) for values in batch]
        keep = self._everything if part.rows == size else torch.arange(size) < part.rows
        if self._sum is None:  # compile and check the loss before the charge
            self._compiled_sum(padded)
        with training.whole(part):
            return self._taken(part, padded, keep)

    def _taken(self, part: MicroBatch, padded: list[Tensor], keep: Tensor) -> bool:
        training, update = self._training, self._training.update
        if part.last and not update.is_partial and update.observer is None:
            step = self._step or self._compiled_step(padded)
            return training.finished(
                part,
                lambda stream, factor: step(padded, keep, stream, factor=factor, clip_norm=update.clip_norm),
            )
        if part.rows:
            sums = (self._sum or self._compiled_sum(padded))(
                padded, keep, clip_norm=update.clip_norm, observe=update.observer
            )
            update.add(sums.items())
        return training.finished(part)

    def _compiled_sum(self, batch: Sequence[Tensor]) -> CompiledSum:
        gradients, plan = self._training.gradients, self._training.plan
        gradients.forget()
        blank = [torch.zeros_like(values) for values in batch]
        check_losses(self._loss(gradients.model(blank[0]), *blank[1:]), gradients)
        gradients.forget()
        self._sum = CompiledSum(
            gradients, self._loss, blank, clip_norm=plan.method.clip_norm, clipping=plan.clipping, code=self._code
        )
        return self._sum

    def _compiled_step(self, batch: Sequence[Tensor]) -> CompiledStep:
        sums = self._sum or self._compiled_sum(batch)
        training = self._training
        self._step = CompiledStep(sums, training.update.parameters, scale=training.plan.noise.scale, code=self._code)
        return self._step


def _usual_size(plan: "DPSGDPlan") -> int:
    """Return a size sufficient for nearly all micro-batches, computed from public numbers."""
    drawn = plan.rate * plan.n
    most = math.ceil(drawn + DEVIATIONS * math.sqrt(drawn * (1 - plan.rate))) * (plan.records_per_group or 1)
    return max(1, min(plan.method.physical_batch_size, most))


def _padded(values: Tensor, size: int) -> Tensor:
    """Return ``values`` with rows of zeros appended up to ``size``."""
    missing = size - values.shape[0]
    return pad(values, [0, 0] * (values.dim() - 1) + [0, missing]) if missing else values
