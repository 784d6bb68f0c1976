# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Inputs of the shapes and types of a batch, and of none of its values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from dperm.errors import ParameterError

Inputs = Any
"""What a model is called with: a tensor, a tuple of positional arguments, or a mapping of keyword arguments."""
Call = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments."""
EXAMPLES = 3
GOLDEN = 0.6180339887498949
PERIOD = 65_537
"""After so many numbers a pattern begins again."""
LARGE = 1_000_000
"""Models with more trained parameters are tried on fewer examples: their check costs two ordinary steps at most."""


def arguments(inputs: Inputs) -> Call:
    """Positional and keyword arguments of a call."""
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    if isinstance(inputs, tuple | list):
        return tuple(inputs), {}
    return (inputs,), {}


def is_large(model: nn.Module) -> bool:
    """Whether a model has more than `LARGE` trained parameters."""
    return sum(value.numel() for value in model.parameters() if value.requires_grad) > LARGE


@dataclass(frozen=True)
class Examples:
    """Examples for a check: synthetic ones, or the user's own, if they are public.

    A tensor of ``inputs`` has the examples first if its first dimension is that of the first tensor; others, and what
    is no tensor, are the same for any number of examples.

    Attributes
    ----------
    integers, lowest
        Integers are ``integers`` different ones at most, from ``lowest`` on; 0 means that all of them are 1.
    varied
        Whether rows differ in size: floats by their scale, from 0.1 to 10, integers by the largest of them, booleans by
        how many are true.
    """

    inputs: Inputs
    public: bool = False
    integers: int = 2
    lowest: int = 0
    varied: bool = False

    def batch(self, examples: int, *, shift: int = 0) -> Call:
        """Arguments for the given number of examples: others for another ``shift``."""
        leaves, spec = tree_flatten(arguments(self.inputs))
        size = self._size(leaves)
        found = [self._leaf(leaf, size, examples, shift) for leaf in leaves]
        return tree_unflatten(found, spec)  # type: ignore[no-any-return]

    def with_other_row(self, examples: int, row: int) -> Call:
        """The same with another example in one row."""
        return self.replace_row(self.batch(examples), row, self.batch(examples, shift=1))

    def replace_row(self, call: Call, row: int, other: Call) -> Call:
        """The call with one row of the other one, in the same place."""
        leaves, spec = tree_flatten(call)
        for place, its in enumerate(tree_flatten(other)[0]):
            if self._batched()[place]:
                leaves[place] = leaves[place].clone()
                leaves[place][row] = its[row]
        return tree_unflatten(leaves, spec)  # type: ignore[no-any-return]

    def select_rows(self, call: Call, rows: Sequence[int]) -> Call:
        """The call with these of its rows, in this order."""
        leaves, spec = tree_flatten(call)
        chosen = [leaf[list(rows)] if own else leaf for leaf, own in zip(leaves, self._batched(), strict=True)]
        return tree_unflatten(chosen, spec)  # type: ignore[no-any-return]

    def with_nan_row(self, call: Call, row: int) -> Call:
        """The call with numbers in one row that are none."""
        leaves, spec = tree_flatten(call)
        for place, own in enumerate(self._batched()):
            if own and leaves[place].is_floating_point():
                leaves[place] = leaves[place].clone()
                leaves[place][row] = math.nan
        return tree_unflatten(leaves, spec)  # type: ignore[no-any-return]

    def _batched(self) -> list[bool]:
        """For each leaf whether it has the examples first."""
        given, _ = tree_flatten(arguments(self.inputs))
        size = self._size(given)
        return [_is_batched(leaf, size) for leaf in given]

    def has_distinct_rows(self, examples: int) -> bool:
        """Whether each row of a batch, of one of its tensors at least, is another one for the next shift."""
        given, _ = tree_flatten(arguments(self.inputs))
        size = self._size(given)
        one, other = (tree_flatten(self.batch(examples, shift=shift))[0] for shift in (0, 1))
        pairs = [(mine, its) for mine, its, leaf in zip(one, other, given, strict=True) if _is_batched(leaf, size)]
        return any(bool((mine != its).reshape(examples, -1).any(1).all()) for mine, its in pairs if mine.numel())

    def _leaf(self, leaf: Any, size: int, examples: int, shift: int) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        batched = _is_batched(leaf, size)
        if self.public:
            rows = (torch.arange(examples, device=leaf.device) + shift) % size
            return leaf.detach()[rows] if batched else leaf.detach().clone()
        shape = (examples, *leaf.shape[1:]) if batched else tuple(leaf.shape)
        shift = shift if batched else 0
        if self.varied:
            return _varied(shape, leaf, shift, self.lowest, self.integers)
        return pattern(shape, leaf, shift=shift, integers=self.integers)

    def _size(self, leaves: list[Any]) -> int:
        sizes = [len(leaf) for leaf in leaves if isinstance(leaf, Tensor) and leaf.dim()]
        if not sizes or not sizes[0]:
            raise ParameterError(
                "inputs must hold a tensor whose first dimension is that of the examples, got none. Give a batch of "
                "inputs as the model is called with: a tensor, a tuple, or a dict of keyword arguments."
            )
        return sizes[0]


def pattern(shape: tuple[int, ...], like: Tensor, *, shift: int = 0, integers: int = 2) -> Tensor:
    """Numbers in (-1, 1) of a long period, integers below ``integers``, or booleans of which one in three is true."""
    size = math.prod(shape)
    if (like.is_floating_point() or like.is_complex()) and size > PERIOD:
        once = pattern((PERIOD,), like, shift=shift)
        return once.repeat(-(-size // PERIOD))[:size].reshape(shape)
    steps = torch.arange(size, dtype=torch.float64, device=like.device)
    if like.dtype is torch.bool:
        found = (steps + 1 + shift) % 3 == 0
    elif like.is_floating_point() or like.is_complex():
        found = 2 * _irregular(steps + 7919 * shift) - 1
    else:
        found = ((_irregular(steps) * integers).floor() + shift) % integers if integers else steps * 0 + 1
    return found.reshape(shape).to(like.dtype)


def _varied(shape: tuple[int, ...], like: Tensor, shift: int, lowest: int, integers: int) -> Tensor:
    """Rows of different sizes."""
    steps = torch.arange(math.prod(shape), dtype=torch.float64, device=like.device)
    width, last = math.prod(shape[1:]), shape[-1] if len(shape) > 1 else 1
    size = _irregular((steps / max(width, 1)).floor() + 5 + 31 * shift)  # one for each row, in [0, 1)
    found = _irregular(steps + 7919 * shift)
    if like.dtype is torch.bool:
        values = found < 0.15 + 0.75 * size
        if last > 1:  # a row of a mask without a true or a false is often not allowed
            values = (values & (steps % last != 0)) | (steps % last == 1)
    elif like.is_floating_point() or like.is_complex():
        values = (2 * found - 1) * 10 ** (2 * size - 1)
    else:
        values = lowest + (found * (1 + (size * integers).floor())).floor()
    return values.reshape(shape).to(like.dtype)


def _irregular(steps: Tensor) -> Tensor:
    """Numbers in [0, 1): parts after the point of squares times the golden section, so that rows are not alike."""
    return ((steps % PERIOD + 1).square() * GOLDEN) % 1


def _is_batched(leaf: Any, size: int) -> bool:
    return isinstance(leaf, Tensor) and leaf.dim() > 0 and len(leaf) == size
