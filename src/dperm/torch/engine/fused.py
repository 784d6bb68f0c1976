# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Norms and weights of a batch in one pass, and its small sums in another, by native kernels where there are any.

The arithmetic is that of `dperm.torch.engine.clipping` and `dperm.torch.engine.sums`. Whatever is not finite is left
to them.
"""

from collections.abc import Iterator, Sequence
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
    terms, packed, size = list(_terms([factor for _, factor in factors])), list[int](), 0
    for kind, rows, grads in terms:
        wide, high = rows.numel() // examples, grads.numel() // examples
        if not (rows.shape[0] == examples == grads.shape[0] and is_plain(rows) and is_plain(grads)):
            return None
        packed += kind, rows.data_ptr(), wide, grads.data_ptr(), high
        size += examples * (wide + high)
    if not serves(size):
        return None
    found = torch.empty(examples, dtype=torch.float32)
    least, plus = (0.0, STABLE * clip_norm) if clipping is Clipping.NORMALIZED else (clip_norm**2, 0.0)
    as_bytes = pack(f"{len(packed)}q", *packed)
    beyond = native.weights(examples, as_bytes, len(terms), least, plus, LONGEST_SQUARE, found.data_ptr())
    return None if beyond else found


def _terms(factors: Sequence[Factor]) -> Iterator[Term]:
    """What adds up to the squared norms."""
    for factor, bias in _with_biases(factors):
        if isinstance(factor, Outer):
            yield OUTER if bias is None else OUTER_WITH_BIAS, factor.inputs, factor.grads
        elif isinstance(factor, Dense) and factor.squares is None and factor.values.dim() > 0:
            yield ROWS, factor.values, factor.values
        else:
            squares = factor.squared_norms()
            yield SQUARES, squares, squares


def _with_biases(factors: Sequence[Factor]) -> Iterator[tuple[Factor, int | None]]:
    """Each factor with the place of its bias, if that is the next one and belongs to nothing else; both at once."""
    bias, last = -1, len(factors) - 1
    for place, factor in enumerate(factors):
        if place == bias:
            continue
        united = place < last and isinstance(factor, Outer) and factor.bias is factors[place + 1]
        bias = place + 1 if united else -1
        yield factor, bias if united else None


def add_small_sums(parts: Sequence[Part], scale: float, times: float) -> Sequence[Part]:
    """Add small weighted sums, times ``times``, to their bases, which are multiplied by ``scale``; what is left."""
    native = kernels()
    if native is None or not parts or not is_plain(weights := parts[0][1]) or not weights.shape[0]:
        return parts
    packed, left, place = list[int](), list[Part](), 0
    for _, bias in _with_biases([part[0] for part in parts]):
        own = parts[place : place + 1] if bias is None else parts[place : place + 2]
        place += len(own)
        numbers = _packed(own, weights.shape[0]) if all([part[1] is weights for part in own]) else None
        if numbers is None:
            left += own
        else:
            packed += numbers
    if packed:
        as_bytes = pack(f"{len(packed)}q", *packed)
        native.sums(weights.shape[0], as_bytes, len(packed) // 6, weights.data_ptr(), scale, times)
    return left


def _packed(own: Sequence[Part], examples: int) -> tuple[int, ...] | None:
    """A ``Sum`` of ``clipping.cpp``, if a kernel takes it: of a matrix, maybe with its bias, or of a vector."""
    factor, _, base = own[0]
    if isinstance(factor, Outer):
        inputs, grads = factor.inputs, factor.grads
        (rows, wide), (same, high) = inputs.shape, grads.shape
        if wide * high > SMALL or not (is_plain(inputs) and is_plain(grads)):
            return None
        if not (rows == same == examples and base.numel() == wide * high):
            return None
        if len(own) == 1:
            return inputs.data_ptr(), wide, grads.data_ptr(), high, base.data_ptr(), 0
        bias = own[1][2]
        if bias.numel() == high:
            return inputs.data_ptr(), wide, grads.data_ptr(), high, base.data_ptr(), bias.data_ptr()
        return None
    if isinstance(factor, Dense) and factor.values.dim() == 2 and is_plain(factor.values):
        rows, high = factor.values.shape
        if high <= NARROW and rows == examples and base.numel() == high:
            return 0, 0, factor.values.data_ptr(), high, 0, base.data_ptr()
    return None
