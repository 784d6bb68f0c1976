# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How much of an example's gradient is kept: the weights of the sum whose terms have norm 1 at most (T44, T46).

Gradients are measured in units of the clip norm C: with weight w the contribution of an example is w times its
gradient, of norm at most 1. The noise is that of sensitivity 1, and the noisy sum is multiplied by C afterwards, which
is post-processing (T3).

An example whose gradient is not finite, or so long that its square is no number of single precision, has weight 0.
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import torch
from torch import Tensor

from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.torch.gradients.factors import SPREAD

LONGEST_SQUARE = 2.0**126
"""Squared norms from here on count as not finite, in every precision."""
SHORTEST_CLIP, LONGEST_CLIP = 1e-15, 1e15
"""Clip norms whose squares are far from the ends of single precision: a gradient whose square is lost is shorter."""
STABLE = 0.01
"""What normalised clipping adds to a norm, in units of the clip norm (Bu et al. 2023): tiny gradients stay tiny."""
SLACK = 2.0**-30
"""Norms in double precision are taken this much too long: far more than rounding of norms and weights (T46b)."""
GRAM_SLACK = 2.0**-28
"""Of the squared spread, what rounding may take from a squared norm in double precision (T46b)."""


class Clipping(StrEnum):
    """Which norm is bounded."""

    FLAT = "flat"
    """That of the whole gradient: w = 1 / max(C, |g|)."""
    PER_LAYER = "per_layer"
    """That of each of the K layers, at C / sqrt(K)."""
    NORMALIZED = "normalized"
    """Every gradient is scaled to nearly the same norm: w = 1 / (|g| + C/100), "automatic" clipping."""

    @classmethod
    def of(cls, clipping: "Clipping | str") -> "Clipping":
        """The kind of clipping, or the one of that name."""
        try:
            return cls(clipping)
        except ValueError:
            raise ParameterError(
                f"clipping must be one of {', '.join(cls)}, got {shown(clipping)}. Use flat if in doubt."
            ) from None


class GradientNorms(NamedTuple):  # made for every parameter in every step: a tuple is made quicker than a dataclass
    """Squared norms and spreads of one layer's gradients, an entry for each example.

    Without ``spread``, it was not asked for, or is the norm itself.
    """

    squares: Tensor
    spread: Tensor | None = None

    def bounded(self) -> Tensor:
        """Squared norms that are not below the true ones."""
        if self.spread is None:
            return self.squares
        return self.squares + GRAM_SLACK * self.spread.square()


class ClippingWeights(NamedTuple):
    """A weight for every example, for each layer; and which examples are finite, or None if all are."""

    layers: list[Tensor]
    finite: Tensor | None


def combine_norms(parts: Sequence[GradientNorms]) -> GradientNorms:
    """Squares and spreads of several parameters as those of one layer."""
    spreads = [part.spread for part in parts if part.spread is not None]
    return GradientNorms(_added([part.squares for part in parts]), _added(spreads) if spreads else None)


def clipping_weights(clipping: Clipping, clip_norm: float, layers: Sequence[GradientNorms]) -> ClippingWeights:
    """A weight for every example, for each of the layers; 0 in all of them where a gradient is not finite."""
    squares = [layer.squares if layer.spread is None else layer.bounded() for layer in layers]
    total = _added(squares)
    if clipping is Clipping.PER_LAYER:
        share = 1 / math.sqrt(len(layers))
        found = [
            _weights(clipping, clip_norm * share, square, [layer]).mul_(share)
            for square, layer in zip(squares, layers, strict=True)
        ]
    else:
        found = [_weights(clipping, clip_norm, total, layers)] * len(layers)
    # One number is looked at in each step. Only if it is too large, or not a number, rows are looked at one by one.
    if not total.shape[0] or torch.linalg.vector_norm(total, math.inf).item() < LONGEST_SQUARE:
        return ClippingWeights(found, None)
    finite = total.abs() < LONGEST_SQUARE
    return ClippingWeights([torch.where(finite, weight, 0) for weight in found], finite)


def _weights(clipping: Clipping, clip_norm: float, squares: Tensor, layers: Sequence[GradientNorms]) -> Tensor:
    """Weights for the norm over all of ``layers``, whose square is given."""
    if clipping is Clipping.NORMALIZED:
        found = squares.clamp(min=0).sqrt_().add_(STABLE * clip_norm).reciprocal_()
    else:
        found = squares.clamp(min=float(clip_norm) ** 2).rsqrt_()
    if found.dtype is torch.float64:
        found = found.mul_(1 - SLACK)
    spreads = [layer.spread for layer in layers if layer.spread is not None]
    return torch.minimum(found, SPREAD / _added(spreads)) if spreads else found


def _added(parts: Sequence[Tensor]) -> Tensor:
    """The sum, in two operations for any number of parts."""
    if len(parts) <= 2:
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]
    return torch.stack(list(parts)).sum(0)
