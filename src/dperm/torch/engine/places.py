# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments of a call by name: which of them have a row for each example is found out by probes, never by a length.

A mask of shape (T, T) that all examples share has as many rows as a batch of T examples.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from torch import Tensor
from torch.utils._pytree import keystr, tree_flatten_with_path, tree_leaves

Rows = Mapping[str, bool | None]
"""By name, whether an argument has a row for each example; None if it has in some calls only."""


def names_of(arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> list[str]:
    """A name for each leaf of the arguments: where it is."""
    try:
        return [keystr(path) for path, _ in tree_flatten_with_path(arguments)[0]]
    except ValueError:  # a structure without names of its own
        return [str(number) for number in range(len(tree_leaves(arguments)))]


def rows_of(calls: Iterable[tuple[list[str], list[Any], list[Any]]]) -> dict[str, bool | None]:
    """Which arguments have rows, from pairs of calls: names, and whether each argument has one for each example.

    In a pair, a second number of examples tells rows from what has that length by chance. None stands for what is no
    tensor.
    """
    found: dict[str, bool | None] = {}
    for names, first, second in calls:
        for name, one, two in zip(names, first, second, strict=False):
            if one is not None and two is not None:
                rows = bool(one and two)
                found[name] = rows if found.get(name, rows) is rows else None
    return found


def is_row(leaf: Any, examples: int) -> bool | None:
    """Whether a leaf has the length of the batch; None if it is no tensor, or a single number."""
    if not isinstance(leaf, Tensor) or leaf.dim() == 0:
        return None
    return len(leaf) == examples
