# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Synthetic inputs that have the shapes and types of a batch, but none of its values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from dperm.errors import ParameterError

Inputs = Any
"""Arguments of a model call: a tensor, a tuple of positional arguments, or a mapping of keyword arguments."""
Call = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments."""
EXAMPLES = 3
"""Examples in the batches of most checks."""
GOLDEN = 0.6180339887498949
"""Golden section, for irregular patterns."""
PERIOD = 65_537
"""Length after which a pattern repeats."""
LARGE = 1_000_000
"""Number of trained parameters above which checks use fewer examples, at the cost of at most two ordinary steps."""


def arguments(inputs: Inputs) -> Call:
    """Return positional and keyword arguments of a call."""
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    if isinstance(inputs, tuple | list):
        return tuple(inputs), {}
    return (inputs,), {}


def is_large(model: nn.Module) -> bool:
    """Return whether a model has more than `LARGE` trained parameters."""
    return sum(value.numel() for value in model.parameters() if value.requires_grad) > LARGE


@dataclass(frozen=True)
class Examples:
    """Examples for a check: synthetic, or the user's own if they are public.

    A tensor in ``inputs`` is batched if its first dimension equals the first dimension of the first tensor. Other
    values are shared by all examples.

    Attributes
    ----------
    inputs
        Batch with the shapes and types to imitate.
    public
        Whether to use the values of ``inputs``.
    integers, lowest
        Largest number of different integers, and the smallest integer. If the number is 0, all integers are 1.
    varied
        Whether rows differ in size: floats by their scale, from 0.1 to 10; integers by their maximum; booleans by the
        share of True.
    """

    inputs: Inputs
    public: bool = False
    integers: int = 2
    lowest: int = 0
    varied: bool = False

    def batch(self, examples: int, *, shift: int = 0) -> Call:
        """Return arguments for this number of examples. Another ``shift`` gives other examples."""
        leaves, spec = tree_flatten(arguments(self.inputs))
        size = self._size(leaves)
        found = [self._leaf(leaf, size, examples, shift) for leaf in leaves]
        return tree_unflatten(found, spec)  # type: ignore[no-any-return]

    def with_other_row(self, examples: int, row: int) -> Call:
        """Return the batch with another example in one row."""
        return self.replace_row(self.batch(examples), row, self.batch(examples, shift=1))

    def replace_row(self, call: Call, row: int, other: Call) -> Call:
        """Return the call with one row from another call, at the same position."""
        leaves, spec = tree_flatten(call)
        for place, its in enumerate(tree_flatten(other)[0]):
            if self._batched()[place]:
                leaves[place] = leaves[place].clone()
                leaves[place][row] = its[row]
        return tree_unflatten(leaves, spec)  # type: ignore[no-any-return]

    def select_rows(self, call: Call, rows: Sequence[int]) -> Call:
        """Return the call with these rows, in this order."""
        leaves, spec = tree_flatten(call)
        chosen = [leaf[list(rows)] if own else leaf for leaf, own in zip(leaves, self._batched(), strict=True)]
        return tree_unflatten(chosen, spec)  # type: ignore[no-any-return]

    def with_nan_row(self, call: Call, row: int) -> Call:
        """Return the call with NaN in all floats of one row."""
        leaves, spec = tree_flatten(call)
        for place, own in enumerate(self._batched()):
            if own and leaves[place].is_floating_point():
                leaves[place] = leaves[place].clone()
                leaves[place][row] = math.nan
        return tree_unflatten(leaves, spec)  # type: ignore[no-any-return]

    def _batched(self) -> list[bool]:
        """Return for each leaf whether it has the examples first."""
        given, _ = tree_flatten(arguments(self.inputs))
        size = self._size(given)
        return [_is_batched(leaf, size) for leaf in given]

    def has_distinct_rows(self, examples: int) -> bool:
        """Return whether each row of a batch differs from the next shift, in at least one tensor."""
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
                argument="inputs",
                rule="must hold a tensor with the examples as its first dimension",
                got="none",
                remedy="Pass a batch in the form of a model call: a tensor, a tuple, or a dict of keyword arguments.",
            )
        return sizes[0]


def pattern(shape: tuple[int, ...], like: Tensor, *, shift: int = 0, integers: int = 2) -> Tensor:
    """Return numbers in (-1, 1) with a long period, integers below ``integers``, or booleans with one True in three."""
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
    """Return rows of different magnitudes, from a fixed pattern."""
    steps = torch.arange(math.prod(shape), dtype=torch.float64, device=like.device)
    width, last = math.prod(shape[1:]), shape[-1] if len(shape) > 1 else 1
    size = _irregular((steps / max(width, 1)).floor() + 5 + 31 * shift)  # one for each row, in [0, 1)
    found = _irregular(steps + 7919 * shift)
    if like.dtype is torch.bool:
        values = found < 0.15 + 0.75 * size
        if last > 1:  # many models refuse a mask row without a True or a False
            values = (values & (steps % last != 0)) | (steps % last == 1)
    elif like.is_floating_point() or like.is_complex():
        values = (2 * found - 1) * 10 ** (2 * size - 1)
    else:
        values = lowest + (found * (1 + (size * integers).floor())).floor()
    return values.reshape(shape).to(like.dtype)


def _irregular(steps: Tensor) -> Tensor:
    """Return numbers in [0, 1): fractional parts of squares times the golden section, different in each row."""
    return ((steps % PERIOD + 1).square() * GOLDEN) % 1


def _is_batched(leaf: Any, size: int) -> bool:
    return isinstance(leaf, Tensor) and leaf.dim() > 0 and len(leaf) == size
