# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Norms, clipping weights and small sums of a batch in one call of a native kernel.

The arithmetic is the same as in `dperm.torch.gradients.clipping` and `dperm.torch.gradients.weighted_sums`, which also
handle all batches with values that are not finite.
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
"""Kinds of layers by their contribution to squared norms, as in ``clipping.cpp``."""
SMALL, NARROW = 2**13, 2**6
"""Largest matrix and largest vector, in numbers, for sums in the kernel. The cost of larger sums is not overhead."""
MOST_UNSEEN = 4096
"""Largest number of examples with weights kept inside the kernel, as in ``clipping.cpp``."""
NOWHERE = (0, 0)
"""Addresses of sums left to torch."""


class Accumulators(NamedTuple):
    """Targets for the sums of the factors: each tensor becomes scale * tensor + times * sum.

    All tensors are contiguous and of single precision.
    """

    tensors: Sequence[Tensor]
    scale: float
    times: float


def kernel_weights(
    factors: Sequence[GradientFactor], clipping: Clipping, clip_norm: float, examples: int
) -> Tensor | None:
    """Return the weights of all examples in single precision, or None if a value is not finite or no kernel applies."""
    found = clip_fused(factors, clipping, clip_norm, examples)
    return None if found is None else found[0]


def clip_fused(
    factors: Sequence[GradientFactor],
    clipping: Clipping,
    clip_norm: float,
    examples: int,
    onto: Accumulators | None = None,
) -> tuple[Tensor | None, list[int]] | None:
    """Return the weights of all examples, if needed, and the positions of the factors left to torch.

    Parameters
    ----------
    factors
        Gradients of each parameter.
    clipping
        Flat or normalized; per-layer clipping returns None.
    clip_norm
        Clipping norm C.
    examples
        Number of examples in the batch.
    onto
        Targets for the sums of small factors.

    Returns
    -------
    tuple or None
        None if a gradient is not finite or no kernel applies. Then nothing was added to ``onto``.

    Notes
    -----
    *Guarantees.* The weights and sums are the same as from `dperm.torch.gradients.clipping.clipping_weights` in single
    precision: each example contributes a norm of at most 1 + 2^-11 (T46b).

    *Edge cases.*

    ====================================================  =============================================================
    input                                                 result
    ====================================================  =============================================================
    zero gradient                                         weight 1/C with flat clipping, 100/C with normalized clipping
    a squared norm that is infinite, NaN or too large     None
    no examples, or a factor with another number of rows  None
    ====================================================  =============================================================
    """
    native = kernels()
    if native is None or clipping is Clipping.PER_LAYER or not examples or is_in_torch_dispatch_mode():
        return None
    packed, size, place = array("q"), 0, 0
    held: list[Tensor] = []  # keeps temporary tensors alive during the call
    left: list[int] = []
    while place < len(factors):
        count = 2 if _has_bias(factors, place) else 1
        kind, rows, grads = _term(factors[place], with_bias=count == 2)
        if not (rows.shape[0] == examples == grads.shape[0] and is_plain(rows) and is_plain(grads)):
            return None
        wide, high = rows.numel() // examples, grads.numel() // examples
        to = NOWHERE if onto is None else _addresses(kind, rows, wide, high, onto.tensors[place : place + count])
        if to is NOWHERE:
            left += range(place, place + count)
        packed.extend((kind, rows.data_ptr(), wide, grads.data_ptr(), high, *to))
        size += examples * (wide + high)
        held += rows, grads
        place += count
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
    """Return whether the next factor is the bias of this one and has no other use. Then both are processed together.

    A matrix or bias with other uses was united with them, and counts separately.
    """
    factor = factors[place]
    if not isinstance(factor, Outer) or factor.bias is None or place + 1 == len(factors):
        return False
    return factors[place + 1] is factor.bias


def _term(factor: GradientFactor, *, with_bias: bool) -> tuple[int, Tensor, Tensor]:
    """Return kind, inputs and gradients of a contribution to the squared norms."""
    if isinstance(factor, Outer):
        return OUTER_WITH_BIAS if with_bias else OUTER, factor.inputs, factor.grads
    if isinstance(factor, Dense) and factor.squares is None and factor.values.dim() > 0:
        return ROWS, factor.values, factor.values
    squares = factor.squared_norms()
    return SQUARES, squares, squares


def _addresses(kind: int, rows: Tensor, wide: int, high: int, bases: Sequence[Tensor]) -> tuple[int, int]:
    """Return the addresses for the sums of a matrix and a vector, if both are small and match their targets."""
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
    """Return each factor with its bias, or with None. A bias paired in this way is not listed again."""
    found: list[tuple[GradientFactor, GradientFactor | None]] = []
    place = 0
    while place < len(factors):
        has_bias = _has_bias(factors, place)
        found.append((factors[place], factors[place + 1] if has_bias else None))
        place += 2 if has_bias else 1
    return found
