# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the output for an example depends on how many there are, or on its place among them."""

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from dperm.errors import AssumptionError
from dperm.torch.engine.influence import SIZES, results
from dperm.torch.engine.nearness import KERNELS, near
from dperm.torch.engine.synthetic import Examples, is_large
from dperm.torch.engine.untouched import seeded, without_dropout

MANY, LARGEST = 40, 2**17
"""Examples of a larger batch, if it has no more numbers than that: some models begin to mix only there."""


def check_sizes(model: nn.Module, examples: Examples) -> None:
    """Refuse a model whose output for an example is another in a smaller batch; random ones cannot be compared."""
    with without_dropout(model):
        seeded()
        state = torch.get_rng_state()
        one = examples.batch(1)
        numbers = sum(leaf.numel() for leaf in tree_leaves((one, results(model, one))) if isinstance(leaf, Tensor))
        brief = is_large(model)
        size = MANY if MANY * numbers <= LARGEST and not brief else SIZES[1]
        call = examples.batch(size)
        whole = [leaf.detach() for leaf in results(model, call)]
        found = {rows: results(model, examples.picked(call, rows)) for rows in _orders(size, brief=brief)}
        if not torch.equal(torch.get_rng_state(), state):
            return
    for rows, parts in found.items():
        pairs = [(one[list(rows)], two.detach()) for one, two in zip(whole, parts, strict=True) if two.requires_grad]
        if not all(near(one, two, KERNELS) for one, two in pairs):
            raise _refusal(first=rows == tuple(range(len(rows))))


def _orders(size: int, *, brief: bool) -> list[tuple[int, ...]]:
    """Rows of a batch: fewer of them, one alone, without the first, in another order, one of them many times.

    The last is for models in which the room for examples of one kind may run out.
    """
    if brief:
        return [(0,), (1, 2, 3), (size - 1, 3, 1, 0), (0,) * size]
    return [(0, 1, 2), (0,), (1, 2, 3), (size - 1, 3, 1, 0), (0,) * size, (1,) * size]


def _refusal(*, first: bool) -> AssumptionError:
    if first:
        return AssumptionError(
            "the output for an example depends on the number of examples in the batch, which is private. Divide by "
            "nothing that has this size, and write the forward pass for each example alone."
        )
    return AssumptionError(
        "the output for an example depends on its place among the examples of the batch: when one is left out, or they "
        "come in another order, others get another output. Use no number of a row (x[::2], arange(len(x)), roll, "
        "cumsum), and write the forward pass for each example alone."
    )
