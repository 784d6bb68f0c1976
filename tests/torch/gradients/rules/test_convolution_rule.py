# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch_naive import (
    assert_bad_rows_count_nothing,
    assert_engine_is_naive,
    engine_clipped_sum,
    scaled_losses,
    wavy_losses,
)

from dperm.errors import AssumptionError
from dperm.torch.gradients.factors import Dense
from dperm.torch.gradients.per_example import PerExampleGradients
from dperm.torch.gradients.rules import convolution
from dperm.torch.gradients.rules.convolution import Permuted
from dperm.torch.gradients.rules.patches import Windows

pytestmark = pytest.mark.usefixtures("both_ways")

CLIPPINGS = st.sampled_from(["flat", "per_layer", "normalized"])
PLAIN = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
TRANSPOSED = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}


@st.composite
def convolutions(draw) -> tuple[nn.Module, tuple[int, ...]]:
    """A convolution and the shape of an example."""
    dims = draw(st.integers(1, 3))
    each = lambda numbers: tuple(draw(numbers) for _ in range(dims))  # noqa: E731
    kernel, dilation, groups = each(st.integers(1, 3)), each(st.integers(1, 2)), draw(st.integers(1, 2))
    padding = draw(st.sampled_from(["numbers", "same", "valid"]))
    stride = (1,) * dims if padding == "same" else each(st.integers(1, 3))
    margins = each(st.integers(0, 2))
    channels = groups * draw(st.integers(1, 3))
    spans = [step * (size - 1) + 1 for size, step in zip(kernel, dilation, strict=True)]
    sizes = [max(span, margin + 1) + draw(st.integers(0, 3)) for span, margin in zip(spans, margins, strict=True)]
    layer = PLAIN[dims](
        channels,
        groups * draw(st.integers(1, 3)),
        kernel,
        stride,
        padding=margins if padding == "numbers" else padding,
        dilation=dilation,
        groups=groups,
        bias=draw(st.booleans()),
        padding_mode=draw(st.sampled_from(["zeros", "reflect", "replicate", "circular"])),
    )
    return layer, (channels, *sizes)


@st.composite
def transposed_convolutions(draw) -> tuple[nn.Module, tuple[int, ...]]:
    """A transposed convolution and the shape of an example."""
    dims = draw(st.integers(1, 3))
    each = lambda numbers: tuple(draw(numbers) for _ in range(dims))  # noqa: E731
    kernel, dilation, stride = each(st.integers(2, 3)), each(st.integers(1, 2)), each(st.integers(1, 3))
    groups = draw(st.integers(1, 2))
    channels = groups * draw(st.integers(1, 2))
    most = [max(a, b) - 1 for a, b in zip(stride, dilation, strict=True)]
    layer = TRANSPOSED[dims](
        channels,
        groups * draw(st.integers(1, 2)),
        kernel,
        stride,
        padding=each(st.integers(0, 1)),
        output_padding=tuple(draw(st.integers(0, more)) for more in most),
        dilation=dilation,
        groups=groups,
        bias=draw(st.booleans()),
    )
    return layer, (channels, *each(st.integers(2, 4)))


def batch(shape: tuple[int, ...], dtype: torch.dtype, examples: int = 3) -> Tensor:
    return torch.randn(examples, *shape, generator=torch.Generator().manual_seed(5), dtype=dtype)


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@settings(max_examples=60)
@given(st.one_of(convolutions(), transposed_convolutions()), CLIPPINGS, st.booleans(), st.booleans())
def test_clipped_sums_of_convolutions_are_those_of_the_loop(case, clipping, double, wide):
    layer, shape = case
    dtype = torch.float64 if wide else torch.float32
    model = nn.Sequential(layer, nn.ReLU(inplace=True)).to(dtype)
    assert_engine_is_naive(model, batch(shape, dtype), wavy_losses, 0.5, clipping, double=double)


@pytest.mark.parametrize("frozen", ["weight", "bias"])
@pytest.mark.parametrize("kind", [nn.Conv2d, nn.ConvTranspose2d])
def test_frozen_parts_have_no_sum(kind, frozen):
    layer = kind(2, 3, 2)
    getattr(layer, frozen).requires_grad_(False)
    assert_engine_is_naive(layer, batch((2, 4, 4), torch.float32), wavy_losses)


@pytest.mark.parametrize("channels", [1, 8])
@pytest.mark.parametrize("clipping", ["flat", "per_layer", "normalized"])
def test_a_convolution_that_is_used_twice(channels, clipping):
    layer = nn.Conv2d(channels, channels, 3, padding=1)
    model = nn.Sequential(layer, nn.Tanh(), layer).double()
    assert_engine_is_naive(model, batch((channels, 4, 4), torch.float64), wavy_losses, 0.1, clipping)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e30])
@pytest.mark.parametrize("double", [False, True])
def test_rows_that_are_not_finite_count_nothing(bad, double):
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Conv2d(2, 2, 2, groups=2))
    x = batch((1, 5, 5), torch.float32)
    scale = torch.tensor([1.0, bad, 1.0])
    assert_bad_rows_count_nothing(model, [x, scale], scaled_losses, 1, double=double)
    x[1, 0, 2, 2] = bad
    assert_bad_rows_count_nothing(model, [x, torch.ones(3)], scaled_losses, 1, double=double)


def test_channels_last_inputs():
    model = nn.Conv2d(3, 4, 3, 2).double()
    x = batch((3, 7, 6), torch.float64).contiguous(memory_format=torch.channels_last)
    assert_engine_is_naive(model, x, wavy_losses)


def test_an_output_size_decides_how_much_of_the_gradient_counts():
    model = nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1).double()
    assert_engine_is_naive(
        model, batch((2, 3, 3), torch.float64), lambda m, x: m(x, output_size=[6, 6]).sin().sum((1, 2, 3))
    )


@pytest.mark.parametrize(("layer", "shape"), [(nn.Conv2d(2, 3, 2), (2, 4, 4)), (nn.ConvTranspose1d(2, 3, 2), (2, 4))])
def test_an_input_without_examples_is_refused(layer, shape):
    with pytest.raises(AssumptionError, match=r"must have the examples as its first dimension .* Pass a batch"):
        engine_clipped_sum(layer, torch.randn(shape), wavy_losses)


@pytest.mark.parametrize(
    ("channels", "sizes", "strides"),
    [(1, (3, 2), (1, 2)), (1, (2, 3, 2), (1, 2, 2)), (16, (3, 2), (2, 1)), (3, (3,), (2,)), (1, (2, 2), (1, 1))],
)
def test_both_layouts_hold_the_same_patches(channels, sizes, strides):
    dims = len(sizes)
    image = batch((channels, *[7] * dims), torch.float32)
    places = tuple((7 - 2 * (size - 1) - 1) // stride + 1 for size, stride in zip(sizes, strides, strict=True))
    windows = Windows(channels, sizes, strides, (2,) * dims, places)
    expected = windows.places_last(image).transpose(1, 2).unflatten(2, (channels, *sizes))
    order = windows.order
    assert (order == tuple(range(dims + 1))) == windows.long_places
    found = windows.patches(image).unflatten(2, [(channels, *sizes)[dim] for dim in order])
    assert torch.equal(found.permute(0, 1, *[2 + order.index(dim) for dim in range(dims + 1)]), expected)


def test_patches_are_made_for_a_few_examples_at_a_time(monkeypatch):
    monkeypatch.setattr(convolution, "FEW", 2 * 9 * 9)
    model = nn.Conv2d(1, 2, 3).double()
    assert_engine_is_naive(model, batch((1, 5, 5), torch.float64), wavy_losses)


def test_a_trace_has_one_product_for_all_examples(monkeypatch):
    monkeypatch.setattr(convolution, "FEW", 1)
    layer, x = nn.Conv2d(1, 2, 3), batch((1, 5, 5), torch.float32)

    def gradients(x: Tensor, grad: Tensor) -> list[Tensor]:
        return [factor.dense() for _, factor in convolution.convolution_rule(layer, (x,), grad)]

    with torch.no_grad():
        graph = make_fx(gradients)(x, layer(x)).graph
    assert sum("bmm" in str(node.target) for node in graph.nodes) == 1


def test_a_small_kernel_is_instantiated_and_a_large_one_is_not():
    def kind(layer: nn.Module, size: int) -> object:
        with PerExampleGradients(layer) as gradients:
            ((_, factor),) = gradients.factors(wavy_losses(layer, torch.randn(2, layer.in_channels, size, size)))
        return type(factor.factor if isinstance(factor, Permuted) else factor)

    assert kind(nn.Conv2d(1, 2, 3, bias=False), 9) is Dense
    assert kind(nn.Conv2d(32, 64, 3, bias=False), 4) is not Dense
