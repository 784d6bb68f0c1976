# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Matrices of which different rows meet different inputs, such as the one matrix of queries, keys and values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dperm.torch.engine.factors import Factor
from dperm.torch.engine.sums import Onto


@dataclass(frozen=True)
class Stacked:
    """Gradients whose rows are those of several factors, one below the other."""

    parts: tuple[Factor, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameter."""
        return sum(part.shape[0] for part in self.parts), *self.parts[0].shape[1:]

    def squared_norms(self) -> Tensor:
        """Sum of those of the parts."""
        return torch.stack([part.squared_norms() for part in self.parts]).sum(0)

    def spread(self) -> Tensor | None:
        """Sum of those of the parts, where the norm stands for one that is none."""
        spreads = [part.spread() for part in self.parts]
        if all(spread is None for spread in spreads):
            return None
        found = zip(self.parts, spreads, strict=True)
        return torch.stack([part.squared_norms().sqrt() if own is None else own for part, own in found]).sum(0)

    def weighted(self, weights: Tensor) -> Tensor:
        """Weighted sums of the parts."""
        return torch.cat([part.weighted(weights) for part in self.parts])

    def add_weighted(self, weights: Tensor, onto: Onto) -> None:
        """The same, added to what is there."""
        onto.total(self.weighted(weights))

    def dense(self) -> Tensor:
        """The gradients of all examples."""
        return torch.cat([part.dense() for part in self.parts], 1)

    def masked(self, keep: Tensor) -> "Stacked":
        """Zeros where not kept."""
        return Stacked(tuple(part.masked(keep) for part in self.parts))


class _Joined(torch.autograd.Function):
    """Tensors (examples, time, width) as they are; the marker gets all their gradients, in one row for each example."""

    @staticmethod
    def forward(ctx: Any, marker: Tensor, *parts: Tensor) -> tuple[Tensor, ...]:
        return tuple(part.view_as(part) for part in parts)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        return torch.cat([grad.flatten(1) for grad in grads], 1), *grads


def joined(*parts: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """A marker at which the gradients of all parts arrive, and the parts."""
    width = sum(part[0].numel() for part in parts)
    marker = parts[0].new_zeros(1).expand(len(parts[0]), width).requires_grad_()
    return marker, _Joined.apply(marker, *parts)  # type: ignore[no-untyped-call]


def separated(grad: Tensor, shapes: Sequence[Sequence[int]]) -> list[Tensor]:
    """The gradients of the parts, by their shapes without examples."""
    sizes = [steps * width for steps, width in shapes]
    return [part.view(len(grad), *shape) for part, shape in zip(grad.split(sizes, 1), shapes, strict=True)]
