# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Weighted sums over examples. In double precision long sums are split to bound their rounding error (T46b).

A sum of k products, in any order, has an error of at most k u / (1 - k u) times the sum of absolute values, with u the
unit roundoff. Double-precision sums take at most 2^13 terms at a time, and then at most 2^13 partial results.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from dperm.errors import ParameterError
from dperm.presentation.spelling import arg

LONGEST = 2**13
"""Largest number of terms in one double-precision sum."""


def weighted_rows(weights: Tensor, rows: Tensor) -> Tensor:
    """Return sum_i w_i r_i for ``rows`` (examples, k).

    Notes
    -----
    *Guarantees.* In double precision the rounding error obeys T46b: sums of at most `LONGEST` terms, then of at most
    `LONGEST` partial results. In single precision there is one product without a proved bound.

    *Edge cases.*

    =================================================  =========================
    input                                              result
    =================================================  =========================
    no rows                                            zeros
    weight 0 with an infinite or NaN row               NaN: mask such rows first
    more than ``LONGEST**2`` rows in double precision  `ParameterError`
    =================================================  =========================
    """
    if is_short(rows):
        return weights @ rows
    return sum_parts(w @ r for w, r in zip(split_terms(weights), split_terms(rows), strict=True))


def weighted_products(weights: Tensor, grads: Tensor, inputs: Tensor) -> Tensor:
    """Return sum_i w_i g_i a_i' for ``grads`` (terms, p) and ``inputs`` (terms, d).

    With three dimensions, each weight applies to all steps of one example. Guarantees and edge cases are the same as
    for `weighted_rows` (T46b).
    """
    grads, inputs = _scaled(weights, grads, inputs)
    if is_short(grads):
        return grads.t() @ inputs
    return sum_parts(g.t() @ a for g, a in zip(split_terms(grads), split_terms(inputs), strict=True))


class Accumulator(NamedTuple):
    """Target of the single-precision sums of a step: ``base`` becomes scale * base + times * sum.

    If the noise is already in ``base``, adding it costs one operation and no extra memory.
    """

    base: Tensor
    scale: float
    times: float

    def rows(self, weights: Tensor, rows: Tensor) -> None:
        """Add the result of `weighted_rows`."""
        base = self.base if self.base.dim() == 1 else self.base.view(-1)
        base.addmv_(rows.t(), weights, beta=self.scale, alpha=self.times)

    def products(self, weights: Tensor, grads: Tensor, inputs: Tensor) -> None:
        """Add the result of `weighted_products`."""
        grads, inputs = _scaled(weights, grads, inputs)
        base = self.base if self.base.dim() == 2 else self.base.view(grads.shape[1], inputs.shape[1])
        base.addmm_(grads.t(), inputs, beta=self.scale, alpha=self.times)

    def total(self, total: Tensor) -> None:
        """Add a sum computed elsewhere."""
        self.base.mul_(self.scale).add_(total, alpha=self.times)


def _scaled(weights: Tensor, grads: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return both tensors in two dimensions, with the weights multiplied into the narrower one."""
    if inputs.shape[-1] < grads.shape[-1]:
        inputs = inputs * weights.view(-1, *[1] * (inputs.dim() - 1))
    else:
        grads = grads * weights.view(-1, *[1] * (grads.dim() - 1))
    return (grads, inputs) if grads.dim() == 2 else (grads.flatten(0, 1), inputs.flatten(0, 1))


def is_short(terms: Tensor) -> bool:
    """Return whether a sum over the first dimension needs no splitting."""
    return terms.dtype is not torch.float64 or terms.shape[0] <= LONGEST


def split_terms(terms: Tensor) -> Sequence[Tensor]:
    """Return the terms in groups of at most `LONGEST`. Refuse more than ``LONGEST**2`` terms."""
    if terms.shape[0] > LONGEST**2:
        raise ParameterError(
            argument="physical_batch_size",
            rule=f"must give micro-batches of at most {LONGEST**2:,} rows times sequence steps: the error bound of "
            "double-precision sums holds up to this size",
            remedy=f"Choose a smaller {arg('physical_batch_size')}, or {arg('grade', 'fast')}.",
        )
    return torch.split(terms, LONGEST)


def sum_parts(parts: Iterable[Tensor]) -> Tensor:
    """Return the sum of partial results, added one after the other with memory for two of them."""
    total: Tensor | None = None
    for part in parts:
        total = part if total is None else total.add_(part)
    assert total is not None
    return total
