# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the scans of recurrent layers have in common: matrices of one direction, and views of single steps."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dperm.torch.engine.rules.gates import Matrix


@dataclass(frozen=True)
class Direction:
    """One layer in one direction of time: the matrices that meet the inputs, and the states before each step.

    ``ended`` (T, B, 1) says where sequences of different lengths are over, if they are read forwards.
    """

    inputs: Matrix
    states: Matrix
    reverse: bool
    projection: nn.Parameter | None = None
    ended: Tensor | None = None

    @classmethod
    def of(cls, module: nn.RNNBase, layer: int, *, reverse: bool) -> "Direction":
        """The matrices by their names in ``module``."""
        end = f"_l{layer}_reverse" if reverse else f"_l{layer}"
        inputs, states = (
            (getattr(module, f"weight_{side}{end}"), getattr(module, f"bias_{side}{end}", None))
            for side in ("ih", "hh")
        )
        return cls(inputs, states, reverse, getattr(module, f"weight_hr{end}", None))

    def in_order(self, values: Tensor) -> list[Tensor]:
        """The slices along time, in the order in which they are visited."""
        slices = list(values.unbind(0))
        return slices[::-1] if self.reverse else slices

    def trail(self, start: Tensor, steps: int) -> Tensor:
        """Room for the states from ``start`` on, in the order of time: those of T steps, and one more at an end."""
        room = start.new_empty(steps + 1, *start.shape)
        room[-1 if self.reverse else 0] = start
        return room

    def stop(self, step: int, gates: Tensor) -> None:
        """Zeros, in place, for sequences that are over: what grew beyond all numbers there would meet gradients 0."""
        if self.ended is not None:
            gates.masked_fill_(self.ended[step], 0)

    def living(self, values: Tensor) -> Tensor:
        """Values (T, B, D) with zeros for sequences that are over."""
        return values if self.ended is None else values.masked_fill(self.ended, 0)

    def after(self, trail: Tensor) -> Tensor:
        """The states after each step."""
        return trail[:-1] if self.reverse else trail[1:]

    def before(self, trail: Tensor) -> Tensor:
        """The states before each step."""
        return trail[1:] if self.reverse else trail[:-1]


def products(matrix: Matrix, values: Tensor, *more: Tensor | None) -> Tensor:
    """W a + b for all steps (T, B, d), where b may be a sum."""
    weight, bias = matrix[0].detach(), matrix[1]
    added = [part.detach() for part in (bias, *more) if part is not None]
    flat = values.flatten(0, 1)
    found = torch.addmm(sum(added[1:], added[0]), flat, weight.t()) if added else flat @ weight.t()
    return found.view(*values.shape[:2], -1)
