# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One function of torch that meets a bare parameter, and the same function with a copy of it for each example.

A *lift* of a tensor that is the same for all examples is a tensor with one copy of it for each. The function is applied
to each example's own row of the batch and its own copies, under vmap; one of parameters alone gives a lift again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.func import vmap
from torch.nn import functional
from torch.utils._pytree import TreeSpec, tree_leaves, tree_unflatten

PARAMETER, BATCHED, SHARED, CONSTANT = "parameter", "batched", "shared", "constant"
"""Roles of arguments: with a lift, with a row for each example, the same for all without gradient, no tensor."""

ALONE, SPREAD, MIXED, NO_GRADIENT = "alone", "spread", "mixed", "no gradient"
"""Kinds: of parameters alone; of parameters alone, repeated for each example; of parameters and rows of the batch;
and functions whose results have no gradient."""

REPEATS = (Tensor.expand, Tensor.repeat, Tensor.broadcast_to, torch.broadcast_to)
MATMULS = (torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.mm, Tensor.mm)
TRANSPOSES = (Tensor.t, torch.t, Tensor.T.__get__, Tensor.mT.__get__)  # type: ignore[attr-defined]

GRADLESS = frozenset({"detach", "size", "dim", "numel", "stride", "zeros_like", "ones_like", "empty_like", "full_like"})
GRADLESS_GETTERS = frozenset(
    {"shape", "dtype", "device", "ndim", "requires_grad", "is_leaf", "grad", "grad_fn", "data", "layout", "_version"}
    | {"names", "is_cuda", "is_sparse", "is_nested", "is_quantized", "is_meta", "is_mkldnn", "is_mps", "is_cpu"}
)


@dataclass(frozen=True)
class Step:
    """A function, the roles of its flattened arguments, and its kind."""

    function: Callable[..., Any]
    roles: tuple[str, ...]
    kind: str

    @property
    def linear(self) -> bool:
        """Whether it is x W' + b with W and b parameters."""
        leading = self.roles[:2] == (BATCHED, PARAMETER)
        return self.function is functional.linear and leading and BATCHED not in self.roles[2:]

    @property
    def matmul(self) -> bool:
        """Whether it is x W."""
        return self.function in MATMULS and self.roles == (BATCHED, PARAMETER)


def lifted(step: Step, leaves: Sequence[Any], spec: TreeSpec, lifts: Sequence[Tensor]) -> Any:
    """The results of ``step`` with the lifts in place of the parameters, in the order of these.

    Of kind alone they are lifts; of the other kinds they are what the function itself would give.
    """
    places = [i for i, role in enumerate(step.roles) if role in (PARAMETER, BATCHED)]
    batched = [step.roles[i] == BATCHED for i in places]
    remaining = iter(lifts)
    values = [leaves[i] if own else next(remaining) for i, own in zip(places, batched, strict=True)]
    constants = _for_one(leaves) if step.kind == SPREAD else list(leaves)
    function = out_of_place(step.function) or step.function
    shape: list[TreeSpec] = []

    def alone(*parts: Tensor) -> tuple[Tensor, ...]:
        own = list(constants)
        for place, part, row in zip(places, parts, batched, strict=True):
            own[place] = part.unsqueeze(0) if row else part
        args, kwargs = tree_unflatten(own, spec)
        found, structure = torch.utils._pytree.tree_flatten(function(*args, **kwargs))
        shape.append(structure)
        return tuple(found) if step.kind == ALONE else tuple(part.squeeze(0) for part in found)

    return tree_unflatten(list(vmap(alone)(*values)), shape[0] if shape else spec)


def out_of_place(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """The function with the same result as one that works in place; None for all others."""
    name = getattr(function, "__name__", "")
    if name.startswith("__i") and hasattr(Tensor, f"__r{name[3:]}"):
        return getattr(Tensor, f"__{name[3:]}", None)
    if name.endswith("_") and not name.endswith("__"):
        return getattr(Tensor, name[:-1], None)
    return None


def in_place(function: Callable[..., Any]) -> bool:
    """Whether the function works in place, by its name."""
    name = getattr(function, "__name__", "")
    return (
        name == "__setitem__" or (name.endswith("_") and not name.endswith("__")) or out_of_place(function) is not None
    )


def agrees(found: Any, expected: Any) -> bool:
    """Whether two results are equal up to rounding: another order of sums, of at most a few thousand terms."""
    pairs = list(zip(tree_leaves(found), tree_leaves(expected), strict=True))
    return all(_close(one, other) for one, other in pairs)


def _close(found: Tensor, expected: Tensor) -> bool:
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return False
    if not found.is_floating_point():
        return torch.equal(found, expected)
    scale = float(expected.abs().nan_to_num(0, 0, 0).max()) if expected.numel() else 0.0
    close = 2.0**12 * torch.finfo(found.dtype).eps * scale
    return torch.allclose(found, expected, rtol=0, atol=close, equal_nan=True)


def _for_one(leaves: Sequence[Any]) -> list[Any]:
    """Arguments of a repetition with 1 instead of the number of examples, which is the first of the sizes."""
    found, first = list(leaves), True
    for place, leaf in enumerate(leaves):
        if first and isinstance(leaf, int) and not isinstance(leaf, bool):
            found[place], first = 1, False
    return found


def gradless(function: Callable[..., Any]) -> bool:
    """Whether a function lets no gradient through whatever it is given, by its name: sizes and the like."""
    name = getattr(function, "__name__", "")
    if name == "__get__":
        return getattr(getattr(function, "__self__", None), "__name__", "") in GRADLESS_GETTERS
    return name in GRADLESS or name in {"__len__", "is_floating_point", "is_complex", "element_size", "data_ptr"}
