# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Copies of a batch for the rehearsal of a training loop: unchanged, some rows alone, or one row changed."""

import copy
from collections import UserDict
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from dperm.torch.records import Batch

ENLARGED = 2.0**20
"""Ratio of an enlarged row to the largest entry of the batch: large enough to dominate a mean of many rows."""


def has_rows(batch: Batch, rows: int) -> bool:
    """Return whether every leaf of ``batch`` is a tensor with ``rows`` rows; False for a batch without leaves."""
    leaves = tensor_leaves(batch)
    return bool(leaves) and all(isinstance(leaf, Tensor) and leaf.dim() > 0 and len(leaf) == rows for leaf in leaves)


def tensor_leaves(batch: Batch) -> list[Any]:
    """Return the leaves of nested tuples, lists, dicts and ``UserDict`` objects (results of tokenizers)."""
    leaves = pytree.tree_leaves(batch)
    return [part for leaf in leaves for part in (tensor_leaves(leaf.data) if isinstance(leaf, UserDict) else [leaf])]


def copied(batch: Batch) -> Batch:
    """Return a deep copy; the loop may pop its keys, and edit its tensors in place."""
    return _mapped(batch, Tensor.clone)


def picked(batch: Batch, rows: Sequence[int]) -> Batch:
    """Return a copy with the given rows, in the given order."""
    return _mapped(batch, lambda values: values[list(rows)])


def with_row_replaced(batch: Batch, row: int, source: int) -> Batch:
    """Return a copy with the values of the row ``source`` in ``row``."""

    def replace(values: Tensor) -> Tensor:
        changed = values.clone()
        changed[row] = values[source]
        return changed

    return _mapped(batch, replace)


def with_row_enlarged(batch: Batch, row: int) -> Batch:
    """Return a copy with values beyond all entries of the batch in ``row``, in tensors of real numbers.

    Tensors with at most two different values stay unchanged: their values are categories rather than numbers.
    """

    def enlarge(values: Tensor) -> Tensor:
        changed = values.clone()
        finite = values[values.isfinite()] if values.is_floating_point() else values[:0].flatten()
        if finite.numel() and not _is_binary(finite):
            signs = 1 - 2 * (torch.arange(values[row].numel(), device=values.device) % 2).to(values.dtype)
            changed[row] = (ENLARGED * finite.abs().max() * signs).reshape(values[row].shape)
        return changed

    return _mapped(batch, enlarge)


def with_row_filled(batch: Batch, row: int, value: float) -> Batch:
    """Return a copy with ``value`` everywhere in ``row``, in tensors of real numbers."""

    def fill(values: Tensor) -> Tensor:
        changed = values.clone()
        if values.is_floating_point():
            changed[row] = value
        return changed

    return _mapped(batch, fill)


def holds_real_numbers(batch: Batch) -> bool:
    """Return whether some tensor of the batch holds floating-point numbers."""
    return any(leaf.is_floating_point() for leaf in tensor_leaves(batch))


def rows_differ(batch: Batch, one: int, other: int) -> bool:
    """Return whether two rows differ in some tensor."""
    return any(not torch.equal(leaf[one], leaf[other]) for leaf in tensor_leaves(batch))


def _is_binary(values: Tensor) -> bool:
    low, high = values.min(), values.max()
    return bool(((values == low) | (values == high)).all())


def _mapped(batch: Batch, function: Callable[[Tensor], Tensor]) -> Batch:
    """Apply ``function`` to every tensor, and copy containers and other leaves."""

    def changed(leaf: Any) -> Any:
        if isinstance(leaf, UserDict):
            found = copy.copy(leaf)
            found.data = _mapped(dict(leaf.data), function)
            return found
        return function(leaf) if isinstance(leaf, Tensor) else copy.deepcopy(leaf)

    return pytree.tree_map(changed, batch)
