# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Norms, weights and small sums of a batch by one call of a native kernel, where there is one.

The arithmetic is that of `dperm.torch.engine.clipping` and `dperm.torch.engine.sums`. Whatever is not finite is left
to them.
"""

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

from dperm.torch.gradients.clipping import LONGEST_SQUARE, STABLE, Clipping
from dperm.torch.gradients.factors import Dense, GradientFactor, Outer
from dperm.torch.native.kernels import is_faster, is_plain, kernels

SQUARES, ROWS, OUTER, OUTER_WITH_BIAS = range(4)
"""Kinds of layers, by what they add to squared norms, as in ``clipping.cpp``."""
SMALL, NARROW = 2**13, 2**6
"""Numbers of a matrix, and of a vector, up to which a sum is taken here: then it is mostly overhead."""
MOST_UNSEEN = 4096
"""Examples whose weights a kernel keeps to itself, if nobody else needs them; as in ``clipping.cpp``."""
NOWHERE = (0, 0)
"""The addresses of sums that are not taken here."""


class Accumulators(NamedTuple):
    """What the sums of the factors are added to: each tensor becomes scale tensor + times sum.

    They are contiguous and of single precision.
    """

    tensors: Sequence[Tensor]
    scale: float
    times: float


def kernel_weights(
    factors: Sequence[GradientFactor], clipping: Clipping, clip_norm: float, examples: int
) -> Tensor | None:
    """The weights of all examples in single precision; None if not all are finite, or it cannot be done."""
    found = clip_fused(factors, clipping, clip_norm, examples)
    return None if found is None else found[0]


def clip_fused(
    factors: Sequence[GradientFactor],
    clipping: Clipping,
    clip_norm: float,
    examples: int,
    onto: Accumulators | None = None,
) -> tuple[Tensor | None, list[int]] | None:
    """The weights of all examples, if they are needed, and the places of the factors whose sums are left to torch.

    The other sums were added to ``onto``, if that is given. None if not all examples are finite, or it cannot be done:
    then nothing was added.
    """
    native = kernels()
    if native is None or clipping is Clipping.PER_LAYER or not examples or is_in_torch_dispatch_mode():
        return None
    packed, size, place = array("q"), 0, 0
    held: list[Tensor] = []  # what was made for it has to stay
    left: list[int] = []
    while place < len(factors):
        unite = 2 if _has_bias(factors, place) else 1
        kind, rows, grads = _term(factors[place], unite == 2)
        if not (rows.shape[0] == examples == grads.shape[0] and is_plain(rows) and is_plain(grads)):
            return None
        wide, high = rows.numel() // examples, grads.numel() // examples
        to = NOWHERE if onto is None else _addresses(kind, rows, wide, high, onto.tensors[place : place + unite])
        if to is NOWHERE:
            left += range(place, place + unite)
        packed.extend((kind, rows.data_ptr(), wide, grads.data_ptr(), high, *to))
        size += examples * (wide + high)
        held += rows, grads
        place += unite
    if not is_faster(size):
        return None
    seen = left or onto is None or examples > MOST_UNSEEN
    found = torch.empty(examples, dtype=torch.float32, device="cpu") if seen else None
    numbers = (0.0, STABLE * clip_norm) if clipping is Clipping.NORMALIZED else (clip_norm**2, 0.0)
    _, scale, times = onto or (None, 1.0, 1.0)
    layers, weights = packed.buffer_info()[0], None if found is None else found.data_ptr()
    beyond = native.clip(examples, layers, len(packed) // 7, *numbers, LONGEST_SQUARE, weights, scale, times)
    return None if beyond else (found, left)


def _has_bias(factors: Sequence[GradientFactor], place: int) -> bool:
    """Whether the next factor is the bias of this one, and belongs to nothing else: they are taken together.

    Where a matrix or its bias is used elsewhere too, and was united with that, each counts by itself.
    """
    factor = factors[place]
    if not isinstance(factor, Outer) or factor.bias is None or place + 1 == len(factors):
        return False
    return factors[place + 1] is factor.bias


def _term(factor: GradientFactor, unite: bool) -> tuple[int, Tensor, Tensor]:
    """What adds to the squared norms: of a matrix, maybe united with its bias, or of anything else."""
    if isinstance(factor, Outer):
        return OUTER_WITH_BIAS if unite else OUTER, factor.inputs, factor.grads
    if isinstance(factor, Dense) and factor.squares is None and factor.values.dim() > 0:
        return ROWS, factor.values, factor.values
    squares = factor.squared_norms()
    return SQUARES, squares, squares


def _addresses(kind: int, rows: Tensor, wide: int, high: int, bases: Sequence[Tensor]) -> tuple[int, int]:
    """Where the sums of a matrix and of a vector go, if they are small and their bases as large."""
    base = bases[0]
    if kind == ROWS:
        return (0, base.data_ptr()) if rows.dim() == 2 and high <= NARROW and base.numel() == high else NOWHERE
    if kind == SQUARES or wide * high > SMALL or base.numel() != wide * high:
        return NOWHERE
    if kind == OUTER:
        return base.data_ptr(), 0
    bias = bases[1]
    return (base.data_ptr(), bias.data_ptr()) if bias.numel() == high else NOWHERE


def with_biases(factors: Sequence[GradientFactor]) -> list[tuple[GradientFactor, GradientFactor | None]]:
    """Each factor with its bias, if it has one; then that does not come again."""
    found: list[tuple[GradientFactor, GradientFactor | None]] = []
    place = 0
    while place < len(factors):
        unite = _has_bias(factors, place)
        found.append((factors[place], factors[place + 1] if unite else None))
        place += 2 if unite else 1
    return found
