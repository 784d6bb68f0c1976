# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Norms and weights of a batch in one pass, and its small sums in another, by native kernels where there are any.

The arithmetic is that of `dperm.torch.engine.clipping` and `dperm.torch.engine.sums`. Whatever is not finite is left
to them.
"""

from collections.abc import Sequence
from struct import pack

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

from dperm.torch.engine.clipping import LONGEST_SQUARE, STABLE, Clipping
from dperm.torch.engine.factors import Dense, Factor, Outer
from dperm.torch.native.kernels import is_plain, kernels, serves

SQUARES, ROWS, OUTER, OUTER_WITH_BIAS = range(4)
"""Kinds of terms of squared norms, as in ``clipping.cpp``."""
SMALL, NARROW = 2**13, 2**6
"""Numbers of a matrix, and of a vector, up to which a sum is taken here: then it is mostly overhead."""

Term = tuple[int, Tensor, Tensor]
"""Kind, rows and gradients."""
Part = tuple[Factor, Tensor, Tensor]
"""Gradients of the examples, their weights, and what the sum is added to: contiguous, of single precision."""


def fused_weights(
    factors: Sequence[tuple[nn.Parameter, Factor]], clipping: Clipping, clip_norm: float, examples: int
) -> Tensor | None:
    """The weights of all examples in single precision; None if not all are finite, or it cannot be done."""
    native = kernels()
    if native is None or clipping is Clipping.PER_LAYER or not examples or is_in_torch_dispatch_mode():
        return None
    packed, held, size = list[int](), list[Term](), 0
    for factor, bias in with_biases([factor for _, factor in factors]):
        kind, rows, grads = term = _term(factor, bias is not None)
        if not (rows.shape[0] == examples == grads.shape[0] and is_plain(rows) and is_plain(grads)):
            return None
        wide, high = rows.numel() // examples, grads.numel() // examples
        packed += kind, rows.data_ptr(), wide, grads.data_ptr(), high
        size += examples * (wide + high)
        held.append(term)  # what was made for it has to stay
    if not serves(size):
        return None
    found = torch.empty(examples, dtype=torch.float32)
    least, plus = (0.0, STABLE * clip_norm) if clipping is Clipping.NORMALIZED else (clip_norm**2, 0.0)
    as_bytes = pack(f"{len(packed)}q", *packed)
    beyond = native.weights(examples, as_bytes, len(held), least, plus, LONGEST_SQUARE, found.data_ptr())
    return None if beyond else found


def _term(factor: Factor, united: bool) -> Term:
    """What adds to the squared norms: of a matrix, maybe united with its bias, or of anything else."""
    if isinstance(factor, Outer):
        return OUTER_WITH_BIAS if united else OUTER, factor.inputs, factor.grads
    if isinstance(factor, Dense) and factor.squares is None and factor.values.dim() > 0:
        return ROWS, factor.values, factor.values
    squares = factor.squared_norms()
    return SQUARES, squares, squares


def with_biases(factors: Sequence[Factor]) -> list[tuple[Factor, Factor | None]]:
    """Each factor with its bias, if that is the next one and belongs to nothing else: then it does not come again.

    Where a matrix or its bias is used elsewhere too, and was united with that, each counts by itself.
    """
    found, place, last = list[tuple[Factor, Factor | None]](), 0, len(factors) - 1
    while place <= last:
        factor = factors[place]
        bias = factor.bias if place < last and isinstance(factor, Outer) else None
        if bias is not None and bias is factors[place + 1]:
            found.append((factor, bias))
            place += 2
        else:
            found.append((factor, None))
            place += 1
    return found


def add_small_sums(parts: Sequence[Part], scale: float, times: float) -> Sequence[Part]:
    """Add small weighted sums, times ``times``, to their bases, which are multiplied by ``scale``; what is left."""
    native = kernels()
    if native is None or not parts or not is_plain(weights := parts[0][1]):
        return parts
    packed, left, place, examples = list[int](), list[Part](), 0, weights.shape[0]
    for _, bias in with_biases([part[0] for part in parts]):
        own = parts[place : place + 1] if bias is None else parts[place : place + 2]
        place += len(own)
        numbers = _packed(own, examples) if own[0][1] is weights is own[-1][1] else None
        if numbers is None:
            left += own
        else:
            packed += numbers
    if packed:
        as_bytes = pack(f"{len(packed)}q", *packed)
        native.sums(examples, as_bytes, len(packed) // 6, weights.data_ptr(), scale, times)
    return left


def _packed(own: Sequence[Part], examples: int) -> tuple[int, ...] | None:
    """A ``Sum`` of ``clipping.cpp``, if a kernel takes it: of a matrix, maybe with its bias, or of a vector."""
    factor, _, base = own[0]
    if isinstance(factor, Outer):
        inputs, grads = factor.inputs, factor.grads
        (rows, wide), (same, high) = inputs.shape, grads.shape
        if wide * high > SMALL or not (is_plain(inputs) and is_plain(grads)):
            return None
        bias = own[1][2] if len(own) > 1 else None
        if not (rows == same == examples and base.numel() == wide * high and (bias is None or bias.numel() == high)):
            return None
        to = base.data_ptr(), 0 if bias is None else bias.data_ptr()
        return inputs.data_ptr(), wide, grads.data_ptr(), high, *to
    if isinstance(factor, Dense) and factor.values.dim() == 2 and is_plain(factor.values):
        rows, high = factor.values.shape
        if high <= NARROW and rows == examples and base.numel() == high:
            return 0, 0, factor.values.data_ptr(), high, 0, base.data_ptr()
    return None
