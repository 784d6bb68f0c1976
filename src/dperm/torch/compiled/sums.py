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
"""Largest difference from the uncompiled sum in the check at the start, as a fraction of the largest entry."""


class CompiledSum:
    """Sum of clipped gradients of a micro-batch, as one compiled graph for one batch size.

    Parameters
    ----------
    gradients
        Per-example gradients, inside their ``with`` block during all calls. They recompute micro-batches with values
        that are not finite.
    loss
        Function from model output and the other parts of a batch to one loss per example.
    batch
        Example of a batch: the model's input, then the targets. Values do not matter.
    clip_norm
        Default clipping norm C.
    clipping
        Kind of clipping: flat, per_layer or normalized.
    code
        Function that makes a graph executable; the default compiles the graph.

    Raises
    ------
    AssumptionError
        If the compiled sum does not agree with the uncompiled sum, or cannot be compiled.
    ParameterError
        If the model is not on the CPU.

    Notes
    -----
    The model is compiled in its current state: mode, trained and frozen parameters. Each call reads the values of
    parameters and buffers.

    *Guarantees.* Each example contributes a vector of norm at most 1 + 2^-11 (T46b).
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
        """Return the sum of clipped gradients in units of the clipping norm.

        Parameters
        ----------
        batch
            Batch with the compiled shapes, padded to the compiled size.
        keep
            Mask of the examples to include; False for padding.
        clip_norm
            Clipping norm C, if it differs from the default.
        observe
            Function that is called with the clipping weights of the examples.

        Raises
        ------
        ParameterError
            If shapes, types or the state of the model differ from those at compilation.

        Notes
        -----
        *Edge cases.*

        ========================  ===============================================================
        example                   result
        ========================  ===============================================================
        zero gradient             adds zeros
        infinite or NaN gradient  adds zeros; the micro-batch is recomputed without compiled code
        ``keep`` is False         adds zeros
        ========================  ===============================================================
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
        """Return the checked inputs of the graph. Compiled code trusts shapes and types."""
        batch = [part.contiguous() for part in batch]
        self._check_inputs([*batch, keep])
        if clip_norm is not None and clip_norm != self._clip_norm:
            self._clip_norm = float(clip_norm)
            self._clip.fill_(self._clip_norm)
        return [*self._held, *batch, keep, self._clip]

    def without_compilation(
        self, batch: Sequence[Tensor], keep: Tensor, observe: Callable[[Tensor], None] | None = None
    ) -> Sums:
        """Return the same sum without compiled code. This is rare, so it may be slow."""
        model, loss = self._gradients.model, self._loss
        self._gradients.tape.take()
        with torch.enable_grad():
            losses = loss(model(batch[0]), *batch[1:])
        return self._gradients.clipped_sum(
            losses, clip_norm=self._clip_norm, clipping=self._clipping, keep=keep, observe=observe
        )

    def _check(self, batch: Sequence[Tensor]) -> None:
        """Compare compiled and uncompiled sums on other values: the code must not contain values of the example."""
        other, keep = [part.flip(0) for part in batch], torch.arange(len(batch[0])) % 3 > 0
        sums, truth = self(other, keep), self.without_compilation(other, keep)
        if sums.keys() == truth.keys() and all(_close(sums[key], truth[key]) for key in truth):
            return
        raise AssumptionError(
            "the compiled step does not agree with the model: the graph contains values of the example data, or an "
            "operation of the model varies from run to run.",
            remedy="Leave compilation off.",
        )

    def _check_inputs(self, inputs: list[Tensor]) -> None:
        if [(part.shape, part.dtype) for part in inputs] != self._expected:
            raise ParameterError(
                argument="batch",
                rule=f"must have the shapes and types of the compiled step, {_describe_parts(self._expected)}",
                got=_describe_parts([(part.shape, part.dtype) for part in inputs]),
                remedy="Pad short batches, with keep=False there.",
            )
        if self._current_state() != self._state:
            raise ParameterError(
                "the model has changed since compilation: its mode, its precision or its trained parameters differ.",
                remedy="Compile it after such changes, and evaluate outside the compiled step, without gradients.",
            )

    def _current_state(self) -> tuple[bool, list[tuple[torch.dtype, bool]]]:
        return self._gradients.model.training, [(value.dtype, value.requires_grad) for value in self._held]


def _close(value: Tensor, truth: Tensor) -> bool:
    if not truth.numel():
        return True
    return bool((value - truth).abs().max() <= AGREEMENT * truth.abs().max().clamp(min=1))


def _precision(gradients: PerExampleGradients) -> torch.dtype:
    """Return the type of the trained parameters. Refuse a model that is not on the CPU."""
    for value in gradients.model.parameters():
        if value.device.type != "cpu":
            raise ParameterError(
                argument="model",
                rule="must be on the CPU for a compiled step",
                got=f"a model on {shown(str(value.device))}",
                remedy="Move it to the CPU, or leave compilation off.",
            )
    return next((value.dtype for value in gradients.model.parameters() if value.requires_grad), torch.float32)


def _describe_parts(parts: list[tuple[torch.Size, torch.dtype]]) -> str:
    return ", ".join(f"{tuple(shape)} {str(dtype).removeprefix('torch.')}" for shape, dtype in parts)
