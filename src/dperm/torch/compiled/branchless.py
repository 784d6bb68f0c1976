# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Clipping without decisions on data, which a traced graph cannot take: norms, weights and sums for all cases at once.

The results are those of `dperm.torch.engine.clipping` but for gradients that are not finite: their weight is 0, and
where a product with 0 does not make them vanish the sum is not finite either, which the caller looks at.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from dperm.torch.engine.clipping import LONGEST_SQUARE, SLACK, STABLE, Clipping
from dperm.torch.engine.factors import Dense, Factor, floored, in_double
from dperm.torch.engine.rows import Rows, spread_of_rows
from dperm.torch.engine.tied import Tied


def squared_norms(factor: Factor) -> Tensor:
    """The squared norm of every example's gradient."""
    match factor:
        case Rows():
            return in_double(_squared_rows, factor.grads, factor.indices)
        case Tied():
            return factor.squared_norms(squared_norms)
    return factor.squared_norms()


def weighted(factor: Factor, weights: Tensor) -> Tensor:
    """The weighted sum; that of gradients as they are is no product of matrices, so that it joins what is around it."""
    if isinstance(factor, Dense):
        return (factor.values * weights.reshape(-1, *[1] * (factor.values.dim() - 1))).sum(0)
    return factor.weighted(weights)


def clipping_weights(
    clipping: Clipping, clip_norm: Tensor, squares: Sequence[Tensor], layers: list[int]
) -> list[Tensor]:
    """A weight for every example, for each of the parameters, whose layers have numbers; 0 in all if not finite."""
    total = _added(squares)
    finite = total < LONGEST_SQUARE  # false for what is not a number
    if clipping is not Clipping.PER_LAYER:
        return [torch.where(finite, _weights(clipping, clip_norm, total), 0)] * len(squares)
    order = sorted(set(layers))
    share = 1 / math.sqrt(len(order))
    by_layer = {}
    for layer in order:
        own = _added([square for square, number in zip(squares, layers, strict=True) if number == layer])
        by_layer[layer] = torch.where(finite, share * _weights(clipping, clip_norm * share, own), 0)
    return [by_layer[layer] for layer in layers]


def _weights(clipping: Clipping, clip_norm: Tensor, squares: Tensor) -> Tensor:
    norms = squares.clamp(min=0).sqrt()
    lengths = norms + STABLE * clip_norm if clipping is Clipping.NORMALIZED else torch.maximum(norms, clip_norm)
    return (lengths * (1 + SLACK) if lengths.dtype is torch.float64 else lengths).reciprocal()


def _squared_rows(grads: Tensor, indices: Tensor) -> Tensor:
    """The sums of gradients of the same index, squared; of k places with one index each has a share of 1/k."""
    same = (indices[:, :, None] == indices[:, None, :]).to(grads.dtype)
    totals = torch.bmm(same, grads)
    return floored((totals.square().sum(2) / same.sum(2)).sum(1), spread_of_rows(grads))


def _added(parts: Sequence[Tensor]) -> Tensor:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
