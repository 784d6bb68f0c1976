# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Inputs of the shapes and types of a batch, and of none of its values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from dperm.errors import ParameterError

Inputs = Any
"""What a model is called with: a tensor, a tuple of positional arguments, or a mapping of keyword arguments."""

Call = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments."""

GOLDEN = 0.6180339887498949


def arguments(inputs: Inputs) -> Call:
    """Positional and keyword arguments of a call."""
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    if isinstance(inputs, tuple | list):
        return tuple(inputs), {}
    return (inputs,), {}


@dataclass(frozen=True)
class Examples:
    """Examples for a check: synthetic ones, or the user's own, if they are public.

    A tensor of ``inputs`` has the examples first if its first dimension is that of the first tensor; others, and what
    is no tensor, are the same for any number of examples.

    Attributes
    ----------
    integers
        Integers are below it; 0 means that all of them are 1.
    """

    inputs: Inputs
    public: bool = False
    integers: int = 2

    def batch(self, examples: int, *, shift: int = 0) -> Call:
        """Arguments for the given number of examples: others for another ``shift``."""
        leaves, spec = tree_flatten(arguments(self.inputs))
        size = self._size(leaves)
        found = [self._leaf(leaf, size, examples, shift) for leaf in leaves]
        return tree_unflatten(found, spec)  # type: ignore[no-any-return]

    def changed(self, examples: int, row: int) -> Call:
        """The same with another example in one row."""
        one, spec = tree_flatten(self.batch(examples))
        other, _ = tree_flatten(self.batch(examples, shift=1))
        given, _ = tree_flatten(arguments(self.inputs))
        size = self._size(given)
        for mine, its, leaf in zip(one, other, given, strict=True):
            if _is_batched(leaf, size):
                mine[row] = its[row]
        return tree_unflatten(one, spec)  # type: ignore[no-any-return]

    def _leaf(self, leaf: Any, size: int, examples: int, shift: int) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        batched = _is_batched(leaf, size)
        if self.public:
            rows = (torch.arange(examples, device=leaf.device) + shift) % size
            return leaf.detach()[rows] if batched else leaf.detach().clone()
        shape = (examples, *leaf.shape[1:]) if batched else tuple(leaf.shape)
        return pattern(shape, leaf, shift=shift if batched else 0, integers=self.integers)

    def _size(self, leaves: list[Any]) -> int:
        sizes = [len(leaf) for leaf in leaves if isinstance(leaf, Tensor) and leaf.dim()]
        if not sizes or not sizes[0]:
            raise ParameterError(
                "inputs must hold a tensor whose first dimension is that of the examples, got none. Give a batch of "
                "inputs as the model is called with: a tensor, a tuple, or a dict of keyword arguments."
            )
        return sizes[0]


def pattern(shape: tuple[int, ...], like: Tensor, *, shift: int = 0, integers: int = 2) -> Tensor:
    """Numbers in (-1, 1) without a period, integers below ``integers``, or booleans of which one in three is true."""
    steps = torch.arange(math.prod(shape), dtype=torch.float64, device=like.device)
    if like.dtype is torch.bool:
        found = (steps + 1 + shift) % 3 == 0
    elif like.is_floating_point() or like.is_complex():
        found = 2 * _irregular(steps + 7919 * shift) - 1
    else:
        found = ((_irregular(steps) * integers).floor() + shift) % integers if integers else steps * 0 + 1
    return found.reshape(shape).to(like.dtype)


def _irregular(steps: Tensor) -> Tensor:
    """Numbers in [0, 1): parts after the point of squares times the golden section, so that rows are not alike."""
    return ((steps % 65_537 + 1).square() * GOLDEN) % 1


def _is_batched(leaf: Any, size: int) -> bool:
    return isinstance(leaf, Tensor) and leaf.dim() > 0 and len(leaf) == size
