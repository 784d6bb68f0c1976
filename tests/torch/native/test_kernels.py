# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels agree with torch."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch_kernels import WAYS, take
from torch_naive import assert_same_sums, engine_clipped_sum, wavy_losses

from dperm.noise.simulation import NotPrivateBits
from dperm.torch.gaussian import torch_gaussian
from dperm.torch.gradients.clipping import Clipping
from dperm.torch.gradients.factors import Dense, GradientFactor, Outer, affine
from dperm.torch.gradients.fused_clipping import MOST_UNSEEN, NARROW, SMALL, Accumulators, clip_fused, kernel_weights
from dperm.torch.gradients.per_example import PerExampleGradients, weigh
from dperm.torch.gradients.weighted_sums import Accumulator
from dperm.torch.native import kernels


@pytest.fixture(autouse=True)
def native(monkeypatch):
    take("native", monkeypatch)
    torch.manual_seed(0)


def both(function):
    """Results with and without kernels."""
    found = function()
    with pytest.MonkeyPatch.context() as patch:
        take("torch", patch)
        return found, function()


class Words:
    """A stream of fixed words."""

    def __init__(self, words: np.ndarray) -> None:
        self.held = words

    def words(self, count: int) -> np.ndarray:
        return self.held[:count].copy()


ENDS = [0, 1, 2**30, 2**31 - 1, 2**31, 2**31 + 1, 3 * 2**30, 2**32 - 300, 2**32 - 129, 2**32 - 1]
"""Words whose radius or angle is at an end: nothing, all, and every quarter of a turn."""


def exact_normals(words: np.ndarray) -> np.ndarray:
    """Normals in double precision from the same single-precision uniforms."""
    first, second = words.view(np.uint32).reshape(2, -1).astype(np.float32)
    unit = ((first + np.float32(0.5)) * np.float32(2.0**-32)).astype(np.float64)
    angle = (second * np.float32(2 * math.pi * 2.0**-32)).astype(np.float64)
    return np.concatenate([np.sqrt(-2 * np.log(unit)) * turn(angle) for turn in (np.cos, np.sin)])


def test_normals_are_right_to_a_few_units_in_the_last_place():
    ends = np.array([(one, other) for one in ENDS for other in ENDS], dtype=np.uint32)
    given = ends.T.reshape(-1).view(np.uint64)
    for words in (given, NotPrivateBits(7).stream().words(2**17)):
        found, by_torch = both(lambda words=words: torch_gaussian(2 * len(words), Words(words)))
        truth = exact_normals(words)
        unit = np.spacing(np.abs(truth).astype(np.float32)).astype(np.float64)
        assert (np.abs(found - truth) <= 4 * unit).all()
        assert (np.abs(found.astype(np.float64) - by_torch) <= 6 * unit).all()


@pytest.mark.parametrize("size", [0, 1, 2, 3, 31, 1000, 2**18 + 6])
def test_as_many_normals_as_asked_for_from_the_same_words(size):
    found, truth = both(lambda: torch_gaussian(size, NotPrivateBits(3).stream()))
    assert found.shape == (size,)
    np.testing.assert_allclose(found, truth, atol=1e-6)


def linear_factors(
    examples: int, *widths: tuple[int, int], bias: bool = True
) -> list[tuple[nn.Parameter, GradientFactor]]:
    found: list[tuple[nn.Parameter, GradientFactor]] = []
    for wide, high in widths:
        inputs, grads = torch.randn(examples, wide), torch.randn(examples, high)
        matrix, vector = affine(inputs, grads, (high, wide))
        pair = [matrix, vector] if bias else [Outer(inputs, grads, (high, wide))]
        found += [(nn.Parameter(torch.zeros(factor.shape)), factor) for factor in pair]
    return found


def own(factors: list[tuple[nn.Parameter, GradientFactor]]) -> list[GradientFactor]:
    return [factor for _, factor in factors]


def mixed_factors() -> list[tuple[nn.Parameter, GradientFactor]]:
    """A known norm, gradients of many shapes, a matrix whose bias is used elsewhere too, and rows that are spread."""
    values = torch.randn(5, 2, 3, 4)
    known = Dense(values, values.square().sum((1, 2, 3)))
    others = [
        Dense(torch.randn(5)),
        Dense(torch.randn(5, 7)),
        Dense(torch.randn(14, 5).t()),
        Dense(torch.randn(5, 2, 3)),
    ]
    own = [(nn.Parameter(torch.zeros(factor.shape)), factor) for factor in [known, *others]]
    (matrix, _) = linear_factors(5, (3, 2))
    return [*own, matrix, *linear_factors(5, (40, 3), bias=False)]


FACTORS = {
    "logistic regression": lambda: linear_factors(256, (100, 2)),
    "one number": lambda: linear_factors(1, (1, 1)),
    "perceptron": lambda: linear_factors(7, (130, 33), (33, 17), (17, 1)),
    "without biases": lambda: linear_factors(9, (15, 16), (16, 31), bias=False),
    "many examples": lambda: linear_factors(1001, (5, 3)),
    "mixed": mixed_factors,
}


@pytest.mark.parametrize("clipping", [Clipping.FLAT, Clipping.NORMALIZED])
@pytest.mark.parametrize("make", FACTORS.values(), ids=FACTORS)
def test_weights_are_those_of_torch(make, clipping):
    factors = make()
    examples = factors[0][1].squared_norms().shape[0]
    plain = [
        (one, Dense(two.values.contiguous(), two.squares) if isinstance(two, Dense) else two) for one, two in factors
    ]
    if all(one is two for (_, one), (_, two) in zip(factors, plain, strict=True)):
        assert kernel_weights(own(factors), clipping, 0.7, examples) is not None

    def weights():
        return weigh(factors, {}, clip_norm=0.7, clipping=clipping, examples=examples)[0][2]

    found, truth = both(weights)
    torch.testing.assert_close(found, truth, rtol=2e-6, atol=0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e30])
@pytest.mark.parametrize("place", [0, 3, 4])
def test_rows_that_are_not_finite_are_left_to_torch(bad, place):
    factors = linear_factors(5, (40, 3), (3, 20))
    factors[0][1].inputs[place, 17] = bad
    assert kernel_weights(own(factors), Clipping.FLAT, 1.0, 5) is None
    found = weigh(factors, {}, clip_norm=1.0, clipping=Clipping.FLAT, examples=5)
    assert found[0][2][place] == 0
    assert (found[0][2] > 0).sum() == 4
    sums = [torch.zeros(factor.shape) for _, factor in factors]
    assert clip_fused(own(factors), Clipping.FLAT, 1.0, 5, Accumulators(sums, 1.0, 1.0)) is None
    assert not any(total.any() for total in sums)


def test_squares_that_underflow_count_as_tiny():
    """The other side of an outer product may be large."""
    inputs, grads = torch.full((2, 4), 1e-30), torch.full((2, 3), 1e15)
    factors = [(nn.Parameter(torch.zeros(3, 4)), Outer(inputs, grads, (3, 4)))]
    found, truth = both(lambda: weigh(factors, {}, clip_norm=1e-15, clipping=Clipping.FLAT, examples=2)[0][2])
    torch.testing.assert_close(found, truth)


def test_other_precisions_layouts_and_empty_batches_are_left_to_torch():
    double = [(one, Dense(two.dense().double())) for one, two in linear_factors(4, (3, 2))]
    assert kernel_weights(own(double), Clipping.FLAT, 1.0, 4) is None
    turned = [(nn.Parameter(torch.zeros(4)), Dense(torch.randn(4, 4).t()))]
    assert kernel_weights(own(turned), Clipping.FLAT, 1.0, 4) is None
    assert kernel_weights(own(linear_factors(0, (3, 2))), Clipping.FLAT, 1.0, 0) is None
    assert kernel_weights(own(linear_factors(4, (3, 2))), Clipping.FLAT, 1.0, 5) is None
    assert kernel_weights(own(linear_factors(4, (3, 2))), Clipping.PER_LAYER, 1.0, 4) is None


@pytest.mark.parametrize("clipping", [Clipping.FLAT, Clipping.NORMALIZED])
@pytest.mark.parametrize("make", [make for name, make in FACTORS.items() if name != "mixed"])
def test_small_sums_are_added_to_what_is_there(make, clipping):
    factors = make()
    examples = factors[0][1].squared_norms().shape[0]
    truth, bases = [], [torch.randn(factor.shape) for _, factor in factors]
    with pytest.MonkeyPatch.context() as patch:
        take("torch", patch)
        found = weigh(factors, {}, clip_norm=0.7, clipping=clipping, examples=examples)
        truth += [0.3 * base + 0.7 * factor.weighted(w) for base, (_, factor, w) in zip(bases, found, strict=True)]
    weights, left = clip_fused(own(factors), clipping, 0.7, examples, Accumulators(bases, 0.3, 0.7))
    assert (weights is None) == (not left)
    for place in left:
        factors[place][1].add_weighted(weights, Accumulator(bases[place], 0.3, 0.7))
    torch.testing.assert_close(bases, truth, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("examples", [MOST_UNSEEN, MOST_UNSEEN + 1])
def test_weights_of_many_examples_have_memory_of_their_own(examples):
    factors = linear_factors(examples, (3, 2))
    bases = Accumulators([torch.zeros(factor.shape) for _, factor in factors], 1.0, 1.0)
    weights, left = clip_fused(own(factors), Clipping.FLAT, 1.0, examples, bases)
    assert (weights is None) == (examples <= MOST_UNSEEN)
    assert not left
    found = weigh(factors, {}, clip_norm=1.0, clipping=Clipping.FLAT, examples=examples)
    truth = [factor.weighted(weight) for _, factor, weight in found]
    torch.testing.assert_close(bases.tensors, truth, atol=1e-3, rtol=1e-4)


def test_large_sums_and_sums_of_other_kinds_are_left():
    values = torch.randn(3, 2)
    factors = [
        Outer(torch.randn(3, 4), torch.randn(3, 2), (2, 4)),
        Outer(torch.randn(3, SMALL), torch.randn(3, 2), (2, SMALL)),
        Dense(torch.randn(3, NARROW)),
        Dense(torch.randn(3, NARROW + 1)),
        Dense(torch.randn(3, 2, 2)),
        Dense(values, values.square().sum(1)),
    ]
    bases = [torch.zeros(factor.shape) for factor in factors]
    weights, left = clip_fused(factors, Clipping.FLAT, 1.0, 3, Accumulators(bases, 1.0, 1.0))
    assert left == [1, 3, 4, 5]
    assert weights.shape == (3,)
    assert [bool(base.any()) for base in bases] == [True, False, True, False, False, False]


@pytest.mark.parametrize(("base", "bias"), [((2, 3), 2), ((2, 4), 1)], ids=["matrix", "bias"])
def test_memory_of_another_size_is_not_written_to(base, bias):
    factors = affine(torch.randn(3, 4), torch.randn(3, 2), (2, 4))
    bases = [torch.zeros(base), torch.zeros(bias)]
    _, left = clip_fused(factors, Clipping.FLAT, 1.0, 3, Accumulators(bases, 1.0, 1.0))
    assert left == [0, 1]
    assert not any(one.any() for one in bases)


CONVOLUTIONS = {
    "first of a small network": (nn.Conv2d(1, 16, 8, 2, padding=3), (1, 28, 28)),
    "second of it": (nn.Conv2d(16, 32, 4, 2), (16, 13, 13)),
    "3 by 3, one channel": (nn.Conv2d(1, 8, 3, padding=1), (1, 28, 28)),
    "3 by 3, same": (nn.Conv2d(3, 5, 3, padding="same"), (3, 32, 31)),
    "even, same": (nn.Conv2d(3, 7, (2, 4), padding="same"), (3, 9, 12)),
    "dilated": (nn.Conv2d(2, 3, (3, 2), (1, 2), padding=(2, 0), dilation=(2, 3)), (2, 17, 16)),
    "6 wide": (nn.Conv2d(2, 6, (1, 6), padding=(0, 1)), (2, 5, 30)),
    "reflected": (nn.Conv2d(2, 9, 5, padding=2, padding_mode="reflect"), (2, 14, 14)),
    "without bias": (nn.Conv2d(2, 4, 7, bias=False), (2, 20, 20)),
    "points": (nn.Conv2d(4, 5, 1), (4, 9, 9)),
    "sequence": (nn.Conv1d(3, 11, 5, 2, padding=1), (3, 64)),
    "transposed": (nn.ConvTranspose2d(3, 4, 3, 2, padding=1, output_padding=1), (3, 9, 9)),
}


def spied(monkeypatch) -> list[int]:
    """Calls of the kernel of convolutions."""
    calls: list[int] = []
    found = kernels.kernels()

    def convolution(*arguments):
        calls.append(1)
        found.convolution(*arguments)

    monkeypatch.setattr(kernels, "_load", lambda: (found._replace(convolution=convolution), ""))
    return calls


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("examples", [0, 1, 5])
@pytest.mark.parametrize(("layer", "shape"), CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_gradients_of_convolutions_are_those_of_torch(layer, shape, examples, monkeypatch):
    inputs, calls = torch.randn(examples, *shape), spied(monkeypatch)

    def gradients():
        with PerExampleGradients(layer) as found:
            losses = wavy_losses(layer, inputs) if examples else layer(inputs).flatten(1).sum(1)
            return [(factor.dense(), factor.squared_norms()) for _, factor in found.factors(losses)]

    found, truth = both(gradients)
    assert calls
    for (one, squares), (other, others) in zip(found, truth, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-5)
        torch.testing.assert_close(squares, others, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e30])
def test_images_that_are_not_finite_count_nothing(bad, monkeypatch):
    layer, inputs, calls = nn.Conv2d(1, 3, 3, padding=1), torch.randn(6, 1, 12, 12), spied(monkeypatch)
    inputs[2, 0, 5, 5] = bad
    found = engine_clipped_sum(layer, (inputs,), wavy_losses)
    assert calls
    assert_same_sums(found, engine_clipped_sum(layer, (inputs[[0, 1, 3, 4, 5]],), wavy_losses))


def test_with_many_threads_torch_is_asked(monkeypatch):
    calls, layer, inputs = spied(monkeypatch), nn.Conv2d(1, 16, 8), torch.randn(64, 1, 28, 28)
    monkeypatch.setattr(torch, "get_num_threads", lambda: kernels.MOST_THREADS + 1)
    engine_clipped_sum(layer, (inputs,), wavy_losses)
    assert not calls


NOT_PLAIN = {
    "negated when it is read": lambda: torch._neg_view(torch.randn(3, 2)),
    "zeros without memory": lambda: torch._efficientzerotensor(3, 2),
    "sparse": lambda: torch.eye(3).to_sparse(),
    "a parameter": lambda: nn.Parameter(torch.randn(3, 2)),
    "elsewhere": lambda: torch.empty(3, 2, device="meta"),
    "turned": lambda: torch.randn(2, 3).t(),
    "double": lambda: torch.randn(3, 2).double(),
}


@pytest.mark.parametrize("make", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_memory_that_is_not_the_value_is_not_read(make):
    assert kernels.is_plain(torch.randn(3, 2))
    assert not kernels.is_plain(make())


@pytest.mark.parametrize("layer", [nn.Linear(4, 2), nn.Sequential(nn.Conv2d(1, 3, 3), nn.Flatten(), nn.Linear(12, 2))])
def test_another_default_device_does_not_move_what_kernels_write_to(layer):
    inputs = torch.randn(5, 4) if isinstance(layer, nn.Linear) else torch.randn(5, 1, 4, 4)
    truth = engine_clipped_sum(layer, (inputs,), wavy_losses)
    with PerExampleGradients(layer) as gradients:
        losses = wavy_losses(layer, inputs)
        with torch.device("meta"):
            found = gradients.clipped_sum(losses)
    assert_same_sums(found, truth)


@pytest.mark.filterwarnings("ignore:Initializing zero-element")
@pytest.mark.parametrize("shape", [(2, 0, 8, 8), (0, 0, 8, 8)])
def test_images_without_channels_are_left_to_torch(shape):
    layer = nn.Conv2d(0, 4, 3, padding=1)
    with PerExampleGradients(layer) as gradients:
        found = gradients.clipped_sum(layer(torch.randn(shape)).flatten(1).sum(1))
    assert all(torch.isfinite(total).all() for total in found.values())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("width", [2**12, 2**16, 2**20])
def test_a_long_row_made_of_small_numbers_contributes_no_more_than_the_clip_norm(way, width, monkeypatch):
    """Sums of single precision lose what is far smaller than they are: a few entries of 1, and very many small ones."""
    take(way, monkeypatch)
    layer = nn.Linear(width, 1, bias=False)
    for ones in (8, 64, 1024):
        inputs = torch.full((1, width), 2**-12.02)
        inputs[:, :ones] = 1
        with PerExampleGradients(layer) as gradients:
            (total,) = gradients.clipped_sum(layer(inputs)[:, 0], clip_norm=1e-3).values()
        assert float(torch.linalg.vector_norm(total.double())) <= 1 + 3e-5
