# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Compiled sums of clipped per-example gradients."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dperm.checks import shown
from dperm.errors import AssumptionError, ParameterError
from dperm.torch.compiled.inductor import Compiled, compile_graph
from dperm.torch.compiled.tracing import Loss, trace_sum
from dperm.torch.gradients.clipping import Clipping
from dperm.torch.gradients.per_example import PerExampleGradients, Sums
from dperm.torch.gradients.precision import plain_arithmetic

AGREEMENT = 1e-3
"""Share of the largest entry by which a compiled sum may differ from the engine's when it is checked at the start."""


class CompiledSum:
    """The sum of clipped gradients of a micro-batch, as one compiled graph for one size.

    Parameters
    ----------
    gradients
        The engine, inside its with block; also in every call, since a micro-batch with numbers that are not finite is
        computed by the engine once more.
    loss
        From the model's output and the other parts of a batch to one loss for each example.
    batch
        An example of what it will be called with: the model's input, then the targets. Values do not matter.
    clip_norm
        C, if a call does not say otherwise.
    clipping
        Which norm is bounded.
    code
        What makes a graph runnable; the default compiles it.

    Notes
    -----
    The model is compiled as it is: in training or evaluation mode, with these parameters trained and those frozen.
    Values of parameters and buffers are read at each call.
    """

    def __init__(
        self,
        gradients: PerExampleGradients,
        loss: Loss,
        batch: Sequence[Tensor],
        *,
        clip_norm: float = 1.0,
        clipping: Clipping | str = Clipping.FLAT,
        code: Callable[..., Compiled] = compile_graph,
    ) -> None:
        self._gradients, self._loss, self._clipping = gradients, loss, Clipping.of(clipping)
        batch = [part.contiguous() for part in batch]
        keep = torch.ones(len(batch[0]), dtype=torch.bool)
        self._clip_norm = clip_norm
        self._clip = torch.tensor(clip_norm, dtype=_precision(gradients))
        trace = trace_sum(gradients, loss, batch, keep=keep, clip_norm=self._clip, clipping=self._clipping)
        self.trace, self._held, self._parameters = trace, trace.state, trace.parameters
        self._expected = [(part.shape, part.dtype) for part in (*batch, keep)]
        self._state = self._current_state()
        self.examples = [*self._held, *batch, keep, self._clip]
        self._code = code(trace.graph, self.examples)
        if not trace.is_random:
            self._check(batch)

    def __call__(
        self,
        batch: Sequence[Tensor],
        keep: Tensor,
        *,
        clip_norm: float | None = None,
        observe: Callable[[Tensor], None] | None = None,
    ) -> Sums:
        """The sum of clipped gradients, in units of the clip norm.

        Parameters
        ----------
        batch
            As the example of it, padded to its size.
        keep
            For each example whether it counts; padding does not.
        clip_norm
            C, where it changes.
        observe
            Called with the weights of the examples.
        """
        inputs = self.inputs(batch, keep, clip_norm)
        with plain_arithmetic("cpu"):
            *sums, total, weights = self._code(inputs)
        if not math.isfinite(total.item()):
            return self.without_compilation(batch, keep, observe)
        if observe is not None:
            observe(weights)
        return dict(zip(self._parameters, sums, strict=True))

    def inputs(self, batch: Sequence[Tensor], keep: Tensor, clip_norm: float | None) -> list[Tensor]:
        """The inputs of the graph, checked: compiled code reads memory as what it was compiled for."""
        batch = [part.contiguous() for part in batch]
        self._check_inputs([*batch, keep])
        if clip_norm is not None and clip_norm != self._clip_norm:
            self._clip_norm = float(clip_norm)
            self._clip.fill_(self._clip_norm)
        return [*self._held, *batch, keep, self._clip]

    def without_compilation(
        self, batch: Sequence[Tensor], keep: Tensor, observe: Callable[[Tensor], None] | None = None
    ) -> Sums:
        """The same without compiled code: rare, so that it may be slow."""
        model, loss = self._gradients.model, self._loss
        self._gradients.tape.take()
        with torch.enable_grad():
            losses = loss(model(batch[0]), *batch[1:])
        return self._gradients.clipped_sum(
            losses, clip_norm=self._clip_norm, clipping=self._clipping, keep=keep, observe=observe
        )

    def _check(self, batch: Sequence[Tensor]) -> None:
        """Other values in the same places must give what the engine gives: nothing of the example is in the code."""
        other, keep = [part.flip(0) for part in batch], torch.arange(len(batch[0])) % 3 > 0
        sums, truth = self(other, keep), self.without_compilation(other, keep)
        if sums.keys() == truth.keys() and all(_close(sums[key], truth[key]) for key in truth):
            return
        raise AssumptionError(
            "the compiled step does not agree with the model: torch has fixed something in it that depends on the "
            "data, or an operation of the model is not the same each time. Leave compilation off."
        )

    def _check_inputs(self, inputs: list[Tensor]) -> None:
        if [(part.shape, part.dtype) for part in inputs] != self._expected:
            raise ParameterError(
                f"a compiled step takes batches as it was compiled for, {_describe_parts(self._expected)}, got "
                f"{_describe_parts([(part.shape, part.dtype) for part in inputs])}. Pad short batches, with keep=False there."
            )
        if self._current_state() != self._state:
            raise ParameterError(
                "the model is not as it was compiled: it is in another mode, of another precision, or other parameters "
                "are trained. Compile it after such changes, and evaluate without gradients outside of it."
            )

    def _current_state(self) -> tuple[bool, list[tuple[torch.dtype, bool]]]:
        return self._gradients.model.training, [(value.dtype, value.requires_grad) for value in self._held]


def _close(value: Tensor, truth: Tensor) -> bool:
    if not truth.numel():
        return True
    return bool((value - truth).abs().max() <= AGREEMENT * truth.abs().max().clamp(min=1))


def _precision(gradients: PerExampleGradients) -> torch.dtype:
    """That of the trained parameters."""
    for value in gradients.model.parameters():
        if value.device.type != "cpu":
            raise ParameterError(f"a compiled step runs on the CPU, got a model on {shown(str(value.device))}.")
    return next((value.dtype for value in gradients.model.parameters() if value.requires_grad), torch.float32)


def _describe_parts(parts: list[tuple[torch.Size, torch.dtype]]) -> str:
    return ", ".join(f"{tuple(shape)} {str(dtype).removeprefix('torch.')}" for shape, dtype in parts)
