# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Weighted sums over examples. In double precision long sums are cut, so that their rounding error is bounded (T46b).

A sum of k products, in any order, has an error of at most k u / (1 - k u) times the sum of their absolute values, u the
unit roundoff. Sums in double precision are taken of at most 2^13 terms at a time, and then of at most 2^13 results.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from dperm.errors import ParameterError

LONGEST = 2**13
"""Terms of one sum in double precision."""


def weighted_rows(weights: Tensor, rows: Tensor) -> Tensor:
    """sum_i w_i r_i for ``rows`` (examples, k)."""
    if is_short(rows):
        return weights @ rows
    return sum_parts(w @ r for w, r in zip(split_terms(weights), split_terms(rows), strict=True))


def weighted_products(weights: Tensor, grads: Tensor, inputs: Tensor) -> Tensor:
    """sum_i w_i g_i a_i' for ``grads`` (terms, p) and ``inputs`` (terms, d), or more terms for each weight."""
    grads, inputs = _scaled(weights, grads, inputs)
    if is_short(grads):
        return grads.t() @ inputs
    return sum_parts(g.t() @ a for g, a in zip(split_terms(grads), split_terms(inputs), strict=True))


class Accumulator(NamedTuple):
    """Where the sums of single precision of a step are added to: ``base`` becomes scale base + times sum.

    Noise that is there before the sum costs one operation and no memory of its own.
    """

    base: Tensor
    scale: float
    times: float

    def rows(self, weights: Tensor, rows: Tensor) -> None:
        """Add the sum of `weighted_rows`."""
        base = self.base if self.base.dim() == 1 else self.base.view(-1)
        base.addmv_(rows.t(), weights, beta=self.scale, alpha=self.times)

    def products(self, weights: Tensor, grads: Tensor, inputs: Tensor) -> None:
        """Add the sum of `weighted_products`."""
        grads, inputs = _scaled(weights, grads, inputs)
        base = self.base if self.base.dim() == 2 else self.base.view(grads.shape[1], inputs.shape[1])
        base.addmm_(grads.t(), inputs, beta=self.scale, alpha=self.times)

    def total(self, total: Tensor) -> None:
        """Add a sum that is there."""
        self.base.mul_(self.scale).add_(total, alpha=self.times)


def _scaled(weights: Tensor, grads: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Both in two dimensions, the narrower one of them times the weights."""
    if inputs.shape[-1] < grads.shape[-1]:
        inputs = inputs * weights.view(-1, *[1] * (inputs.dim() - 1))
    else:
        grads = grads * weights.view(-1, *[1] * (grads.dim() - 1))
    return (grads, inputs) if grads.dim() == 2 else (grads.flatten(0, 1), inputs.flatten(0, 1))


def is_short(terms: Tensor) -> bool:
    """Whether a sum over the first dimension is taken at once."""
    return terms.dtype is not torch.float64 or terms.shape[0] <= LONGEST


def split_terms(terms: Tensor) -> Sequence[Tensor]:
    """The terms of sums that are taken at once; more of them than one sum of results may have are refused."""
    if terms.shape[0] > LONGEST**2:
        raise ParameterError(
            f"a micro-batch must have at most {LONGEST**2:,} rows times steps of a sequence, for the error bound of "
            f"its sums in double precision. Use a smaller physical_batch_size, or grade='fast'."
        )
    return torch.split(terms, LONGEST)


def sum_parts(parts: Iterable[Tensor]) -> Tensor:
    """The sum of results, one after the other: memory for two of them."""
    total: Tensor | None = None
    for part in parts:
        total = part if total is None else total.add_(part)
    assert total is not None
    return total
