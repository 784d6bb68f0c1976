# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Clipping weights: the factor of each example's gradient in a sum with terms of norm at most 1 (T44, T46).

Gradients are measured in units of the clipping norm C. With weight w, an example contributes w times its gradient, of
norm at most 1. The noise is calibrated to sensitivity 1, and the noisy sum is multiplied by C afterwards; this is
post-processing (T3).

An example has weight 0 if its gradient is not finite, or if its squared norm overflows single precision.
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
"""Squared norms of at least this value count as not finite, in every precision."""
SHORTEST_CLIP, LONGEST_CLIP = 1e-15, 1e15
"""Range of clipping norms.

Their squares are far from the limits of single precision, so a gradient with an underflowing square is shorter than the
clipping norm.
"""
STABLE = 0.01
"""Term added to the norm by normalized clipping, in units of the clipping norm (Bu et al.

2023). This term keeps tiny gradients tiny.
"""
SLACK = 2.0**-30
"""Relative increase of norms in double precision, far larger than the rounding error of norms and weights (T46b)."""
GRAM_SLACK = 2.0**-28
"""Bound on the rounding error of a squared norm in double precision, as a fraction of the squared spread (T46b)."""


class Clipping(StrEnum):
    """Norm bounded by clipping: whole gradient, each layer, or normalized gradient."""

    FLAT = "flat"
    """Bound the norm of the whole gradient: w = 1 / max(C, |g|)."""
    PER_LAYER = "per_layer"
    """Bound the norm of each of the K layers at C / sqrt(K)."""
    NORMALIZED = "normalized"
    """Scale each gradient to nearly the same norm: w = 1 / (|g| + C/100), "automatic" clipping."""

    @classmethod
    def of(cls, clipping: "Clipping | str") -> "Clipping":
        """Return the kind of clipping with this name.

        Raises
        ------
        ParameterError
            For an unknown name.
        """
        try:
            return cls(clipping)
        except ValueError:
            raise ParameterError(
                argument="clipping",
                rule=f"must be one of {', '.join(cls)}",
                got=shown(clipping),
                remedy="Use flat if in doubt.",
            ) from None


class GradientNorms(NamedTuple):  # created for every parameter in every step; a tuple is faster than a dataclass
    """Squared norms and spreads of one layer's gradients, one entry per example.

    ``spread`` is None if it was not computed or equals the norm.
    """

    squares: Tensor
    spread: Tensor | None = None

    def bounded(self) -> Tensor:
        """Return upper bounds on the exact squared norms (T46b)."""
        if self.spread is None:
            return self.squares
        return self.squares + GRAM_SLACK * self.spread.square()


class ClippingWeights(NamedTuple):
    """Weight of each example, for each layer, and a mask of the finite examples (None if all are finite)."""

    layers: list[Tensor]
    finite: Tensor | None


def combine_norms(parts: Sequence[GradientNorms]) -> GradientNorms:
    """Return the squared norms and spreads of several parameters, combined as for one layer."""
    spreads = [part.spread for part in parts if part.spread is not None]
    return GradientNorms(_added([part.squares for part in parts]), _added(spreads) if spreads else None)


def clipping_weights(clipping: Clipping, clip_norm: float, layers: Sequence[GradientNorms]) -> ClippingWeights:
    """Return the weight of each example for each layer.

    Parameters
    ----------
    clipping
        Kind of clipping: flat, per_layer or normalized.
    clip_norm
        Clipping norm C, between `SHORTEST_CLIP` and `LONGEST_CLIP`.
    layers
        Norms of each layer's gradients.

    Returns
    -------
    ClippingWeights
        Weights in units of 1/C, and a mask of the finite examples if not all are finite.

    Notes
    -----
    *Guarantees.* The weighted gradient of each example, over all layers together, has norm at most 1 in double
    precision and at most 1 + 2^-11 in single precision, in exact arithmetic for the stored gradients. In double
    precision with spreads, its weighted spread is at most 128 (T46b). This holds for every ``clip_norm`` in the
    permitted range, so the clipping norm may depend on earlier releases (T46a).

    *Edge cases.*

    ==========================================  ====================================================================
    squared norm                                weight
    ==========================================  ====================================================================
    0                                           1/C with flat and per-layer clipping, 100/C with normalized clipping
    negative by rounding                        as for 0
    infinite, NaN or at least `LONGEST_SQUARE`  0 in all layers; the mask is False
    no examples                                 empty weights, no mask
    ==========================================  ====================================================================
    """
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
    # Each step inspects one number, the maximum. Rows are inspected one by one only if it is too large or NaN.
    if not total.shape[0] or torch.linalg.vector_norm(total, math.inf).item() < LONGEST_SQUARE:
        return ClippingWeights(found, None)
    finite = total.abs() < LONGEST_SQUARE
    return ClippingWeights([torch.where(finite, weight, 0) for weight in found], finite)


def _weights(clipping: Clipping, clip_norm: float, squares: Tensor, layers: Sequence[GradientNorms]) -> Tensor:
    """Return weights for the norm over all ``layers``, given its square."""
    if clipping is Clipping.NORMALIZED:
        found = squares.clamp(min=0).sqrt_().add_(STABLE * clip_norm).reciprocal_()
    else:
        found = squares.clamp(min=float(clip_norm) ** 2).rsqrt_()
    if found.dtype is torch.float64:
        found = found.mul_(1 - SLACK)
    spreads = [layer.spread for layer in layers if layer.spread is not None]
    return torch.minimum(found, SPREAD / _added(spreads)) if spreads else found


def _added(parts: Sequence[Tensor]) -> Tensor:
    """Return the sum of the parts with at most two operations."""
    if len(parts) <= 2:
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]
    return torch.stack(list(parts)).sum(0)
