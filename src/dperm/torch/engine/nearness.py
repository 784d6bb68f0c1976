# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Whether two runs of a model agree: the tolerance is some roundings of the largest number of a kind."""

import torch
from torch import Tensor

ROUNDINGS = 2.0**8
"""Of kernels that do not treat rows alike."""
KERNELS = 2.0**14
"""The same for batches of different sizes, which other kernels may treat, with sums in another order."""
GAP = 10
"""Between exponents of numbers of different kinds."""


def near(one: Tensor, two: Tensor, roundings: float = ROUNDINGS) -> bool:
    """Whether two tensors agree but for rounding; what is not finite must be the same."""
    if one.shape != two.shape or not one.is_floating_point():
        return torch.equal(one, two)
    if torch.equal(one, two):
        return True
    finite = one.isfinite()
    same = (one == two) | (one.isnan() & two.isnan())
    near = (one - two).abs() <= roundings * torch.finfo(one.dtype).eps * _scales(one)
    return bool((same | (near & finite & two.isfinite())).all())


def _scales(values: Tensor) -> Tensor:
    """For each entry the largest one of its kind: entries of -1e9 beside logits say nothing about their rounding.

    Of another kind is what is larger than all smaller entries by a factor of 2^10.
    """
    counts = values.isfinite() & (values != 0)
    if not bool(counts.any()):
        return torch.zeros_like(values)
    exponents = torch.where(counts, values, 1).frexp().exponent.long()
    present: list[int] = sorted(exponents[counts].unique().tolist())
    exponents = torch.where(counts, exponents, present[0])
    tops: dict[int, int] = {}
    for exponent, above in zip(reversed(present), [None, *reversed(present)], strict=False):
        tops[exponent] = exponent if above is None or above - exponent > GAP else tops[above]
    kinds = torch.tensor([2.0 ** tops[exponent] for exponent in present], dtype=torch.float64, device=values.device)
    return kinds[torch.searchsorted(torch.tensor(present, device=values.device), exponents)].to(values.dtype)
