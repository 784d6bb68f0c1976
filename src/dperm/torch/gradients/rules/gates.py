# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Gates of recurrent layers: markers for their gradients, and the scan directions of a layer.

A scan over time is one autograd operation, and its inner results have no gradient edge. A *marker* is a tensor of zeros
in the shape of the gates, passed to the scan as an argument. The gradient returned for it is the gradient at the gates.
In an ordinary backward pass beyond the marker, the matrices receive their gradients.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from dperm.torch.gradients.factors import Dense, outer
from dperm.torch.gradients.tape import Tape, Uses

Matrix = tuple[nn.Parameter, nn.Parameter | None]
"""A matrix and its bias."""


class _Mark(torch.autograd.Function):
    """Zeros for gates sum_j W_j a_j + b_j. The inputs a_j are known after the scan."""

    @staticmethod
    def forward(ctx: Any, shape: tuple[int, ...], inputs: list[Tensor], *weights: Any) -> Tensor:
        ctx.inputs = inputs
        return weights[0].new_zeros(1).expand(shape)  # type: ignore[no-any-return]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        flat = grads[0].flatten(0, -2)
        found: list[Tensor | None] = []
        for number, values in enumerate(ctx.inputs):
            weight, bias = ctx.needs_input_grad[2 + 2 * number : 4 + 2 * number]
            found += [flat.t() @ values.flatten(0, -2) if weight else None, flat.sum(0) if bias else None]
        return None, None, *found


@dataclass(frozen=True)
class Marker:
    """Marker for gates of ``shape`` (time, examples, width) or (examples, width), the products with ``matrices``."""

    matrices: tuple[Matrix, ...]
    inputs: list[Tensor]
    gates: Tensor

    @classmethod
    def of(cls, shape: Sequence[int], *matrices: Matrix) -> "Marker":
        """Return a new marker, with a gradient if any matrix is trained."""
        inputs: list[Tensor] = []
        weights = [weight for matrix in matrices for weight in matrix]
        return cls(matrices, inputs, _Mark.apply(tuple(shape), inputs, *weights))  # type: ignore[no-untyped-call]

    def record(self, tape: Tape, module: nn.Module, *inputs: Tensor) -> None:
        """Record the inputs of each matrix, in the layout of the gates."""
        self.inputs.extend(value.detach() for value in inputs)
        tape.record(self._rule, module, inputs, self.gates)

    def _rule(self, module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
        """Return the per-example gradients of the matrices and biases."""
        grad, total = _examples_first(grad), None
        for (weight, bias), values in zip(self.matrices, inputs, strict=True):
            if weight.requires_grad:
                yield weight, outer(_examples_first(values), grad, weight.shape)
            if bias is not None and bias.requires_grad:
                total = Dense(grad if grad.dim() == 2 else grad.sum(1)) if total is None else total
                yield bias, total


def _examples_first(values: Tensor) -> Tensor:
    return values.transpose(0, 1) if values.dim() == 3 else values


@dataclass(frozen=True)
class ScanDirection:
    """One layer in one direction of time: the matrices for the inputs and for the previous states.

    ``padding`` (T, B, 1) marks the steps after the end of shorter sequences, read forwards.
    """

    inputs: Matrix
    states: Matrix
    reverse: bool
    projection: nn.Parameter | None = None
    padding: Tensor | None = None

    @classmethod
    def of(cls, module: nn.RNNBase, layer: int, *, reverse: bool) -> "ScanDirection":
        """Return the matrices of ``module`` for this layer and direction."""
        end = f"_l{layer}_reverse" if reverse else f"_l{layer}"
        inputs, states = (
            (getattr(module, f"weight_{side}{end}"), getattr(module, f"bias_{side}{end}", None))
            for side in ("ih", "hh")
        )
        return cls(inputs, states, reverse, getattr(module, f"weight_hr{end}", None))

    def time_slices(self, values: Tensor) -> list[Tensor]:
        """Return the slices along time in the order of the scan."""
        slices = list(values.unbind(0))
        return slices[::-1] if self.reverse else slices

    def allocate_states(self, start: Tensor, steps: int) -> Tensor:
        """Return memory for T + 1 states along time, with ``start`` at the first step of the scan."""
        room = start.new_empty(steps + 1, *start.shape)
        room[-1 if self.reverse else 0] = start
        return room

    def mask_padding_(self, step: int, gates: Tensor) -> None:
        """Set padding to zero in place. Overflowed values there would multiply zero gradients to NaN."""
        if self.padding is not None:
            gates.masked_fill_(self.padding[step], 0)

    def mask_padding(self, values: Tensor) -> Tensor:
        """Return values (T, B, D) with zeros for padding."""
        return values if self.padding is None else values.masked_fill(self.padding, 0)

    def after(self, trail: Tensor) -> Tensor:
        """Return the states after each step."""
        return trail[:-1] if self.reverse else trail[1:]

    def before(self, trail: Tensor) -> Tensor:
        """Return the states before each step."""
        return trail[1:] if self.reverse else trail[:-1]


def products(matrix: Matrix, values: Tensor, *more: Tensor | None) -> Tensor:
    """Return W a + b for all steps (T, B, d), with b a sum of several vectors."""
    weight, bias = matrix[0].detach(), matrix[1]
    added = [part.detach() for part in (bias, *more) if part is not None]
    flat = values.flatten(0, 1)
    found = torch.addmm(sum(added[1:], added[0]), flat, weight.t()) if added else flat @ weight.t()
    return found.view(*values.shape[:2], -1)
