# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Factors: norms, spreads and sums agree with those of the dense gradients."""

import math

import pytest
import torch
from torch import Tensor

from dperm.errors import ParameterError
from dperm.torch.gradients.clipping import LONGEST_CLIP, SHORTEST_CLIP, Clipping, GradientNorms, clipping_weights
from dperm.torch.gradients.factors import (
    LONGEST_GRAM,
    WIDEST_GRAM,
    Dense,
    GradientFactor,
    Outer,
    OuterSequence,
    affine,
    combine,
    outer,
    prefers_dense,
)
from dperm.torch.gradients.weighted_sums import weighted_products, weighted_rows

pytestmark = pytest.mark.usefixtures("both_ways")

EXAMPLES, WIDE, HIGH = 5, 4, 3


def normal(*shape: int, seed: int = 0) -> Tensor:
    """Standard normals with a fixed seed."""
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def brute(inputs: Tensor, grads: Tensor) -> Tensor:
    """Gradients of a matrix by a loop over examples and steps."""
    inputs, grads = inputs.reshape(len(inputs), -1, WIDE), grads.reshape(len(grads), -1, HIGH)
    return torch.stack(
        [sum((torch.outer(g, a) for a, g in zip(*pair, strict=True)), torch.zeros(HIGH, WIDE, dtype=torch.float64))
         for pair in zip(inputs, grads, strict=True)]
    )  # fmt: skip


def pairs(*middle: int) -> tuple[Tensor, Tensor]:
    """Inputs and output gradients."""
    return normal(EXAMPLES, *middle, WIDE), normal(EXAMPLES, *middle, HIGH, seed=1)


def factors() -> dict[str, tuple[GradientFactor, Tensor]]:
    """One factor of each kind, with its dense gradients."""
    flat, few, many, image = pairs(), pairs(2), pairs(9), pairs(2, 2)
    values, shape = normal(EXAMPLES, 2, 3, seed=2), (HIGH, WIDE)
    weight, bias = affine(*flat, shape)
    sequence_weight, sequence_bias = affine(*many, shape)
    return {
        "dense": (Dense(values), values),
        "dense of a vector": (Dense(flat[1]), flat[1]),
        "dense of a number": (Dense(values[:, 0, 0]), values[:, 0, 0]),
        "outer": (Outer(*flat, shape), brute(*flat)),
        "outer of a kernel": (Outer(*flat, (HIGH, 2, 2)), brute(*flat).reshape(-1, HIGH, 2, 2)),
        "short sequence": (OuterSequence(*few, shape), brute(*few)),
        "long sequence": (OuterSequence(*many, shape), brute(*many)),
        "cheapest of a short one": (outer(*few, shape), brute(*few)),
        "cheapest of a long one": (outer(*many, shape), brute(*many)),
        "cheapest of an image": (outer(*image, shape), brute(*image)),
        "affine weight": (weight, brute(*flat)),
        "affine bias": (bias, flat[1]),
        "affine weight of a sequence": (sequence_weight, brute(*many)),
        "affine bias of a sequence": (sequence_bias, many[1].sum(1)),
        "two uses": (combine([Outer(*flat, shape), OuterSequence(*few, shape)]), brute(*flat) + brute(*few)),
        "mixed uses": (combine([Outer(*flat, shape), Dense(brute(*few))]), brute(*flat) + brute(*few)),
        "one use": (combine([Outer(*flat, shape)]), brute(*flat)),
    }


CASES = factors()
every_factor = pytest.mark.parametrize("name", CASES)


def close(found: Tensor, expected: Tensor) -> None:
    """Check for equality up to rounding."""
    assert found.shape == expected.shape
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-13)


@every_factor
def test_gradients_themselves(name: str) -> None:
    factor, expected = CASES[name]
    assert factor.shape == tuple(expected.shape[1:])
    close(factor.dense(), expected)


@every_factor
def test_squared_norms_are_sums_of_squares(name: str) -> None:
    factor, expected = CASES[name]
    close(factor.squared_norms(), expected.reshape(EXAMPLES, -1).square().sum(1))


@every_factor
def test_norms_are_the_same_when_asked_again(name: str) -> None:
    factor, _ = CASES[name]
    assert torch.equal(factor.squared_norms(), factor.squared_norms())


@every_factor
def test_weighted_sum_adds_every_example_with_its_weight(name: str) -> None:
    factor, expected = CASES[name]
    weights = normal(EXAMPLES, seed=3).abs()
    close(factor.weighted(weights), torch.tensordot(weights, expected, 1))


@every_factor
def test_spread_is_no_less_than_the_norm(name: str) -> None:
    factor, expected = CASES[name]
    spread = factor.spread()
    if spread is not None:
        norms = expected.reshape(EXAMPLES, -1).norm(dim=1)
        assert (spread >= norms * (1 - 1e-12)).all()


@every_factor
def test_masked_examples_are_zero_even_if_not_finite(name: str) -> None:
    factor, expected = CASES[name]
    keep = torch.tensor([True, False, True, True, False])
    close(factor.masked(keep).dense(), torch.where(keep.reshape(-1, *[1] * (expected.dim() - 1)), expected, 0))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf], ids=["nan", "inf", "minus_inf"])
@pytest.mark.parametrize("kind", ["dense", "outer", "sequence"])
def test_not_finite_numbers_do_not_survive_the_mask(kind: str, bad: float) -> None:
    inputs, grads = pairs(2)
    inputs[1], keep = bad, torch.arange(EXAMPLES) != 1
    factor = {
        "dense": Dense(inputs),
        "outer": Outer(inputs[:, 0], grads[:, 0], (HIGH, WIDE)),
        "sequence": OuterSequence(inputs, grads, (HIGH, WIDE)),
    }[kind]
    assert not (factor.squared_norms()[1] < math.inf)
    assert factor.masked(keep).weighted(keep.double()).isfinite().all()


def test_spread_of_a_sequence_adds_the_lengths_of_its_steps() -> None:
    inputs, grads = pairs(3)
    close(OuterSequence(inputs, grads, (HIGH, WIDE)).spread(), (inputs.norm(dim=2) * grads.norm(dim=2)).sum(1))


def test_a_sequence_of_few_steps_is_kept_as_pairs() -> None:
    assert isinstance(outer(torch.zeros(2, 3, 64), torch.zeros(2, 3, 64), (64, 64)), OuterSequence)


def test_gradients_of_a_long_sequence_are_made_once() -> None:
    assert isinstance(outer(torch.zeros(2, 64, 8), torch.zeros(2, 64, 8), (8, 8)), Dense)


def test_gradients_that_need_much_memory_are_not_made() -> None:
    assert isinstance(outer(torch.zeros(2, 64, 512), torch.zeros(2, 64, 512), (512, 512)), OuterSequence)


def test_inputs_and_gradients_are_not_changed() -> None:
    (inputs, grads), (as_before, grads_before) = pairs(4), pairs(4)
    for factor in (Outer(inputs[:, 0], grads[:, 0], (HIGH, WIDE)), OuterSequence(inputs, grads, (HIGH, WIDE))):
        factor.squared_norms(), factor.spread(), factor.weighted(torch.rand(EXAMPLES, dtype=torch.float64))
    assert torch.equal(inputs, as_before)
    assert torch.equal(grads, grads_before)


@pytest.mark.parametrize("wide", [2, 5], ids=["narrow", "wide"])
def test_long_sums_are_cut_without_a_change(wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    weights, grads, inputs = normal(11).abs(), normal(11, 3, seed=1), normal(11, wide, seed=2)
    whole = weighted_products(weights, grads, inputs), weighted_rows(weights, grads)
    monkeypatch.setattr("dperm.torch.gradients.weighted_sums.LONGEST", 4)
    close(weighted_products(weights, grads, inputs), whole[0])
    close(weighted_rows(weights, grads), whole[1])


KINDS = [torch.float32, torch.float64]
every_precision = pytest.mark.parametrize("dtype", KINDS, ids=["single", "double"])


def contribution(factor: GradientFactor, clip_norm: float) -> float:
    """Norm of one example's contribution to single-precision sums."""
    (weight,) = clipping_weights(Clipping.FLAT, clip_norm, [GradientNorms(factor.squared_norms())]).layers
    return float(factor.weighted(weight).double().norm())


@every_precision
@pytest.mark.parametrize("steps", [0, 2], ids=["vector", "sequence"])
def test_squares_that_are_lost_hide_no_gradient(dtype: torch.dtype, steps: int) -> None:
    """Tiny gradients that meet large inputs, and tiny inputs that meet large gradients, for any clip norm."""
    ends = (3e-23, 1e18) if dtype is torch.float32 else (1e-163, 1e18)
    middle = (steps,) if steps else ()
    for tiny in (ends[0], 1e-12, 1.0):
        for large in (ends[1], 1e9, 1.0):
            small, big = torch.full((1, *middle, 4), tiny, dtype=dtype), torch.full((1, *middle, 4), large, dtype=dtype)
            for inputs, grads in ((small, big), (big, small)):
                for clip_norm in (SHORTEST_CLIP, 1e-6, 1.0, LONGEST_CLIP):
                    assert contribution(outer(inputs, grads, (4, 4)), clip_norm) <= 1 + 1e-5
                    if steps:
                        assert contribution(OuterSequence(inputs, grads, (4, 4)), clip_norm) <= 1 + 1e-5


@every_precision
def test_gradients_whose_squares_are_lost_are_shorter_than_any_clip_norm(dtype: torch.dtype) -> None:
    entries = 2**18
    values = torch.full((1, entries), math.sqrt(torch.finfo(dtype).tiny), dtype=dtype)
    assert float(values.double().norm()) < 0.1 * SHORTEST_CLIP
    assert contribution(Dense(values / 2), SHORTEST_CLIP) < 0.1


@every_precision
def test_sequences_that_cancel_are_not_taken_for_short(dtype: torch.dtype) -> None:
    tail = 1e-4 if dtype is torch.float32 else 1e-9
    for seed in range(20):
        inputs, grads = normal(1, 1, WIDE, seed=seed), 1e6 / tail * normal(1, 1, HIGH, seed=seed + 100)
        inputs = torch.cat([inputs, inputs + tail * normal(1, 1, WIDE, seed=seed + 200)], 1)
        factor = OuterSequence(inputs.to(dtype), torch.cat([grads, -grads], 1).to(dtype), (HIGH, WIDE))
        assert contribution(factor, 1.0) <= 1 + 1e-6


def test_gram_matrices_are_small_enough_for_their_bound() -> None:
    assert prefers_dense(LONGEST_GRAM + 1, 2**16, 2**16)
    assert not prefers_dense(LONGEST_GRAM, 2**16, 2**16)
    assert prefers_dense(2, 1, WIDEST_GRAM)
    assert isinstance(outer(normal(1, LONGEST_GRAM + 1, 1), normal(1, LONGEST_GRAM + 1, 1), (1, 1)), Dense)


def test_sums_of_more_terms_than_the_bound_allows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dperm.torch.gradients.weighted_sums.LONGEST", 3)
    assert weighted_rows(normal(9), normal(9, 2)).shape == (2,)
    with pytest.raises(ParameterError, match="physical_batch_size"):
        weighted_rows(normal(10), normal(10, 2))
