# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What one privatised gradient says about each canary, to somebody who sees every step (white box)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Products:
    """Inner products of a step, an entry for each canary; all in units of the clip norm.

    Attributes
    ----------
    noisy
        With the noisy sum of gradients.
    squares
        Squared norms of the canaries' clipped gradients.
    cross
        With the gradient of what stands in the data where the canary does not: 0 where that is nothing.
    """

    noisy: Floats
    squares: Floats
    cross: Floats

    @classmethod
    def of(cls, rows: Tensor, noisy: Tensor, others: Tensor | None) -> Self:
        """From clipped gradients, a row for each canary, and those of what stands in their place."""
        rows, noisy = rows.double(), noisy.double()
        cross = rows.new_zeros(len(rows)) if others is None else (rows * others.double()).sum(1)
        return cls((rows @ noisy).numpy(), rows.square().sum(1).numpy(), cross.numpy())

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Of all canaries, from those of some at a time."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("noisy", "squares", "cross")))

    def centred(self, rate: float) -> Self:
        """Without what all canaries have in common: the gradients of the data, as far as they are alike for all.

        A canary's gradient g is in the sum with probability q/2, and so is that of its alternative a: the mean of <sum,
        g> is then q (<g, g> + <a, g>) / 2, and the rest of the mean comes from the data.
        """
        expected = rate * (self.squares + self.cross).mean() / 2
        return type(self)(self.noisy - self.noisy.mean() + expected, self.squares, self.cross)


def evidence(products: Products, *, rate: float, scale: float) -> Floats:
    """Logarithm of the likelihood ratio between "its gradient g may be in the sum" and "it is not", for each canary.

    Where the gradients of other canaries are orthogonal to g, the noisy sum along g is N(0, s^2) if the canary is out,
    and if it is in, that shifted by <g, g> with probability q (the rate of the Poisson samples): the ratio is 1 - q + q
    exp((<sum, g> - <g, g> / 2) / s^2). By Neyman and Pearson no score tells more. Where q = 1, its sum over all steps
    orders canaries as the inner products of Steinke, Nasr & Jagielski (2023) do.
    """
    exponents = (products.noisy - products.squares / 2) / scale**2
    rest = math.log1p(-rate) if rate < 1 else -math.inf
    with np.errstate(invalid="ignore"):  # NaN of a training that diverged is refused at its end
        found: Floats = np.logaddexp(rest, math.log(rate) + exponents)
    return found
