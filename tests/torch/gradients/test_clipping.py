# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Clipping weights: no example contributes more than norm 1 in exact arithmetic, for any gradient."""

import math
from fractions import Fraction

import pytest
import torch
from torch import Tensor

from dperm.errors import ParameterError
from dperm.torch.gradients.clipping import (
    LONGEST_SQUARE,
    SPREAD,
    STABLE,
    Clipping,
    GradientNorms,
    clipping_weights,
    combine_norms,
)
from dperm.torch.gradients.factors import OuterSequence

KINDS = [Clipping.FLAT, Clipping.PER_LAYER, Clipping.NORMALIZED]
every_kind = pytest.mark.parametrize("clipping", KINDS, ids=lambda kind: kind.value)


def squares(*norms: float, dtype: torch.dtype = torch.float64) -> GradientNorms:
    """Gradient norms of examples, from these norms."""
    return GradientNorms(torch.tensor(norms, dtype=dtype).square())


def exact_square(inputs: Tensor, grads: Tensor) -> Fraction:
    """Squared norm of sum_t g_t a_t' in exact arithmetic."""
    steps = [([Fraction(v) for v in a], [Fraction(v) for v in g]) for a, g in zip(inputs.tolist(), grads.tolist(), strict=True)]  # fmt: skip  # noqa: E501
    total = Fraction(0)
    for row in range(grads.shape[1]):
        for column in range(inputs.shape[1]):
            total += sum((g[row] * a[column] for a, g in steps), Fraction(0)) ** 2
    return total


def test_long_gradients_are_cut_and_short_ones_are_divided_by_the_clip_norm() -> None:
    (found,) = clipping_weights(Clipping.FLAT, 2.0, [squares(1.0, 2.0, 8.0)]).layers
    torch.testing.assert_close(found, torch.tensor([0.5, 0.5, 0.125], dtype=torch.float64), rtol=1e-8, atol=0)


def test_flat_clipping_bounds_the_norm_over_all_layers() -> None:
    found = clipping_weights(Clipping.FLAT, 1.0, [squares(3.0), squares(4.0)]).layers
    assert found[0] is found[1]
    assert float(found[0]) == pytest.approx(1 / 5, rel=1e-8)


def test_per_layer_clipping_gives_every_layer_its_share() -> None:
    found = clipping_weights(Clipping.PER_LAYER, 2.0, [squares(100.0), squares(0.1)]).layers
    share = 1 / math.sqrt(2)
    assert float(found[0]) * 100 == pytest.approx(share, rel=1e-8)
    assert float(found[1]) == pytest.approx(1 / 2, rel=1e-8)


def test_normalized_clipping_scales_all_gradients_to_nearly_one() -> None:
    (found,) = clipping_weights(Clipping.NORMALIZED, 1.0, [squares(0.0, 1.0, 1e6)]).layers
    expected = [1 / STABLE, 1 / (1 + STABLE), 1 / (1e6 + STABLE)]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-8, atol=0)


@every_kind
@pytest.mark.parametrize("clip_norm", [1e-15, 1e-9, 0.7, 1e9, 1e15], ids=str)
def test_contributions_in_double_precision_are_at_most_one(clipping: Clipping, clip_norm: float) -> None:
    norms = torch.logspace(-8, 8, 400, dtype=torch.float64) * min(clip_norm, 1e10)
    layers = [GradientNorms(norms.square()), GradientNorms(norms.flip(0).square())]
    found = clipping_weights(clipping, clip_norm, layers).layers
    for row in range(0, len(norms), 7):
        parts = zip(found, layers, strict=True)
        total = sum(Fraction(float(w[row])) ** 2 * Fraction(float(layer.squares[row])) for w, layer in parts)
        assert total <= 1


@every_kind
@pytest.mark.parametrize("clip_norm", [1e-15, 1.0, 1e15], ids=str)
def test_no_gradient_has_a_finite_weight_in_single_precision(clipping: Clipping, clip_norm: float) -> None:
    found = clipping_weights(clipping, clip_norm, [squares(0.0, dtype=torch.float32)])
    assert found.finite is None
    assert found.layers[0].isfinite().all()


@every_kind
@pytest.mark.parametrize("tail", [0.0, 1e-9, 1e-4], ids=str)
@pytest.mark.parametrize("steps", [2, 6])
def test_sequences_that_cancel_contribute_at_most_one(clipping: Clipping, tail: float, steps: int) -> None:
    """Steps cancel but for a little: the norm by Gram matrices is then all rounding."""
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        inputs = 1e4 * torch.randn(1, steps // 2, 3, dtype=torch.float64, generator=generator)
        grads = 1e3 * torch.randn(1, steps // 2, 2, dtype=torch.float64, generator=generator)
        inputs = torch.cat([inputs, inputs * (1 + tail)], 1)
        grads = torch.cat([grads, -grads], 1)
        factor = OuterSequence(inputs, grads, (2, 3))
        (found,) = clipping_weights(clipping, 1e-3, [GradientNorms(factor.squared_norms(), factor.spread())]).layers
        assert Fraction(float(found)) ** 2 * exact_square(inputs[0], grads[0]) <= 1
        assert float(found) * float(factor.spread()) <= SPREAD * (1 + 1e-12)


def test_negative_squares_of_rounding_count_as_zero() -> None:
    for clipping in KINDS:
        found = clipping_weights(clipping, 1.0, [GradientNorms(torch.tensor([-1e-3, 0.0]))]).layers[0]
        assert found[0] == found[1]


@every_kind
def test_spreads_are_held_below_their_bound(clipping: Clipping) -> None:
    spread = torch.tensor([1.0, 1e6, 0.0], dtype=torch.float64)
    layers = [GradientNorms(torch.full((3,), 1e-4, dtype=torch.float64), spread)]
    (found,) = clipping_weights(clipping, 1.0, layers).layers
    assert (found * spread <= SPREAD * (1 + 1e-12)).all()


@every_kind
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["single", "double"])
@pytest.mark.parametrize(
    "bad", [math.nan, math.inf, -math.inf, LONGEST_SQUARE], ids=["nan", "inf", "minus_inf", "too_long"]
)
def test_not_finite_examples_have_weight_zero_in_all_layers(clipping: Clipping, dtype: torch.dtype, bad: float) -> None:
    layers = [GradientNorms(torch.tensor([1.0, bad, 4.0], dtype=dtype)), GradientNorms(torch.ones(3, dtype=dtype))]
    found = clipping_weights(clipping, 1.0, layers)
    assert found.finite is not None
    assert found.finite.tolist() == [True, False, True]
    for weight in found.layers:
        assert float(weight[1]) == 0
        assert (weight[[0, 2]] > 0).all()


@every_kind
def test_others_keep_their_weights_beside_one_that_is_not_finite(clipping: Clipping) -> None:
    good, bad = GradientNorms(torch.tensor([1.0, 4.0])), GradientNorms(torch.tensor([1.0, 4.0, math.nan]))
    (alone,), (beside,) = clipping_weights(clipping, 1.0, [good]).layers, clipping_weights(clipping, 1.0, [bad]).layers
    assert torch.equal(alone, beside[:2])


@every_kind
def test_no_examples_have_no_weights(clipping: Clipping) -> None:
    found = clipping_weights(clipping, 1.0, [GradientNorms(torch.zeros(0)), GradientNorms(torch.zeros(0))])
    assert found.finite is None
    assert [len(weight) for weight in found.layers] == [0, 0]


@every_kind
def test_squares_are_not_changed(clipping: Clipping) -> None:
    given = torch.tensor([1.0, 9.0, math.nan])
    before = given.clone()
    clipping_weights(clipping, 2.0, [GradientNorms(given)])
    torch.testing.assert_close(given, before, equal_nan=True)


def test_a_layer_of_several_parameters_adds_squares_and_spreads() -> None:
    one = GradientNorms(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    found = combine_norms([one, GradientNorms(torch.tensor([5.0, 6.0])), one])
    assert found.squares.tolist() == [7.0, 10.0]
    assert found.spread is not None
    assert found.spread.tolist() == [6.0, 8.0]
    assert combine_norms([GradientNorms(torch.ones(1))] * 2).spread is None


def test_names_of_clippings() -> None:
    assert Clipping.of("flat") is Clipping.FLAT
    with pytest.raises(ParameterError, match="clipping must be one of flat, per_layer, normalized"):
        Clipping.of("global")
