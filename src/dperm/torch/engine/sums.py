# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Weighted sums over examples. In double precision long sums are cut, so that their rounding error is bounded (T46b).

A sum of k products, in any order, has an error of at most k u / (1 - k u) times the sum of their absolute values, u the
unit roundoff. Sums in double precision are taken of at most 2^13 terms at a time, and then of the results.
"""

from collections.abc import Iterable

import torch
from torch import Tensor

LONGEST = 2**13
"""Terms of one sum in double precision."""


def weighted_rows(weights: Tensor, rows: Tensor) -> Tensor:
    """sum_i w_i r_i for ``rows`` (examples, k)."""
    if rows.dtype is not torch.float64 or rows.shape[0] <= LONGEST:
        return weights @ rows
    return _added(w @ r for w, r in zip(weights.split(LONGEST), rows.split(LONGEST), strict=True))


def weighted_products(weights: Tensor, grads: Tensor, inputs: Tensor) -> Tensor:
    """sum_i w_i g_i a_i' for ``grads`` (terms, p) and ``inputs`` (terms, d)."""
    if inputs.shape[1] < grads.shape[1]:  # the narrower of the two is scaled
        inputs = inputs * weights[:, None]
    else:
        grads = grads * weights[:, None]
    if grads.dtype is not torch.float64 or grads.shape[0] <= LONGEST:
        return grads.t() @ inputs
    return _added(g.t() @ a for g, a in zip(grads.split(LONGEST), inputs.split(LONGEST), strict=True))


def _added(parts: Iterable[Tensor]) -> Tensor:
    return torch.stack(list(parts)).sum(0)
