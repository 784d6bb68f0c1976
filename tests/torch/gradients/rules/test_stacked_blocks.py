# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Stacked gradient blocks, and markers that receive the gradients of several tensors."""

import torch

from dperm.torch.gradients.factors import Dense, OuterSequence
from dperm.torch.gradients.rules.attention import StackedBlocks, join_with_marker, split_joined


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


def stacked() -> StackedBlocks:
    """Blocks of 2 and 3 rows of 4 entries, one as a product and one stored."""
    return StackedBlocks((OuterSequence(drawn(5, 6, 4), drawn(5, 6, 2), (2, 4)), Dense(drawn(5, 3, 4))))


def test_a_stack_is_what_its_gradients_are() -> None:
    found, weights, keep = stacked(), drawn(5), torch.tensor([True, False, True, True, False])
    plain = Dense(found.dense())
    assert found.shape == plain.shape == (5, 4)
    torch.testing.assert_close(found.squared_norms(), plain.squared_norms())
    torch.testing.assert_close(found.weighted(weights), plain.weighted(weights))
    torch.testing.assert_close(found.masked(keep).dense(), plain.masked(keep).dense())


def test_the_spread_of_a_stack_bounds_its_norm() -> None:
    spread = stacked().spread()
    assert spread is not None
    assert bool((spread >= stacked().squared_norms().sqrt()).all())
    assert StackedBlocks((Dense(drawn(5, 3, 4)), Dense(drawn(5, 1, 4)))).spread() is None


def test_gradients_of_all_parts_arrive_at_one_marker() -> None:
    parts = [drawn(3, 2, 4).requires_grad_(), drawn(3, 5, 1).requires_grad_()]
    marker, found = join_with_marker(*parts)
    assert all(torch.equal(one, other) for one, other in zip(found, parts, strict=True))
    total = (found[0] ** 2).sum() + (found[1] ** 3).sum()
    at_marker, *at_parts = torch.autograd.grad(total, [marker, *parts])
    expected = [2 * parts[0], 3 * parts[1] ** 2]
    for own, through, right in zip(split_joined(at_marker, [(2, 4), (5, 1)]), at_parts, expected, strict=True):
        torch.testing.assert_close(own, right)
        torch.testing.assert_close(through, right)
