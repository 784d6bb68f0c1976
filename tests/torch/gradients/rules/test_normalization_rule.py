# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_naive import (
    assert_bad_rows_count_nothing,
    assert_engine_is_naive,
    engine_clipped_sum,
    scaled_losses,
    wavy_losses,
)

from dperm.errors import AssumptionError
from dperm.torch.gradients.rules import RULES
from dperm.torch.gradients.sites import sites_of

CLIPPINGS = ["flat", "per_layer", "normalized"]
LAYERS = {
    "layer": (lambda: nn.LayerNorm(4), (4,)),
    "layer of a sequence": (lambda: nn.LayerNorm(4), (3, 4)),
    "layer of images": (lambda: nn.LayerNorm((3, 4)), (2, 2, 3, 4)),
    "layer without bias": (lambda: nn.LayerNorm(4, bias=False), (3, 4)),
    "rms": (lambda: nn.RMSNorm(4), (3, 4)),
    "rms with eps": (lambda: nn.RMSNorm((2, 4), eps=0.1), (2, 4)),
    "group": (lambda: nn.GroupNorm(2, 4), (4, 3, 2)),
    "group of vectors": (lambda: nn.GroupNorm(2, 4), (4,)),
    "instance 1d": (lambda: nn.InstanceNorm1d(3, affine=True), (3, 4)),
    "instance 2d": (lambda: nn.InstanceNorm2d(3, affine=True), (3, 4, 2)),
    "instance 3d": (lambda: nn.InstanceNorm3d(2, affine=True), (2, 3, 2, 2)),
    "prelu": (lambda: nn.PReLU(), (3, 2)),
    "prelu of numbers": (lambda: nn.PReLU(), ()),
    "prelu of channels": (lambda: nn.PReLU(3), (3, 2, 2)),
    "prelu of vectors": (lambda: nn.PReLU(3), (3,)),
}


def batch(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(3, *shape, generator=torch.Generator().manual_seed(8), dtype=dtype)


def varied(layer: nn.Module) -> nn.Module:
    """Return the layer with weights of different values."""
    for parameter in layer.parameters():
        parameter.data += 0.3 * torch.linspace(-1, 1, parameter.numel()).reshape(parameter.shape)
    return layer


@pytest.mark.parametrize("name", LAYERS)
@settings(max_examples=8)
@given(clipping=st.sampled_from(CLIPPINGS), double=st.booleans(), dtype=st.sampled_from([torch.float32, torch.float64]))
def test_clipped_sums_are_those_of_the_loop(name, clipping, double, dtype):
    make, shape = LAYERS[name]
    model = nn.Sequential(varied(make()), nn.ReLU(inplace=True)).to(dtype)
    assert_engine_is_naive(model, batch(shape, dtype), wavy_losses, 0.5, clipping, double=double)


@pytest.mark.parametrize("clipping", CLIPPINGS)
@pytest.mark.parametrize("between", [(), (4,)], ids=["vectors", "sequences"])
def test_clipped_sums_of_bilinear_layers_are_those_of_the_loop(clipping, between):
    model = nn.Bilinear(3, 2, 4).double()
    inputs = (batch((*between, 3), torch.float64), batch((*between, 2), torch.float64))
    assert_engine_is_naive(model, inputs, wavy_losses, 0.5, clipping)


@pytest.mark.parametrize("frozen", ["weight", "bias"])
@pytest.mark.parametrize("name", ["layer", "group", "instance 2d"])
def test_frozen_parts_have_no_sum(name, frozen):
    make, shape = LAYERS[name]
    layer = make()
    getattr(layer, frozen).requires_grad_(False)
    assert_engine_is_naive(layer, batch(shape), wavy_losses)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_that_is_used_twice(name):
    make, shape = LAYERS[name]
    layer = varied(make())
    model = nn.Sequential(layer, nn.Tanh(), layer).double()
    assert_engine_is_naive(model, batch(shape, torch.float64), wavy_losses, 0.5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e30])
@pytest.mark.parametrize("name", LAYERS)
def test_rows_that_are_not_finite_count_nothing(name, bad):
    make, shape = LAYERS[name]
    scale = torch.tensor([1.0, bad, 1.0])
    assert_bad_rows_count_nothing(make(), [batch(shape), scale], scaled_losses, 1)


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.LayerNorm(4), (4,)),
        (nn.RMSNorm(4), (4,)),
        (nn.InstanceNorm1d(3, affine=True), (3, 4)),
        (nn.InstanceNorm2d(3, affine=True), (3, 4, 2)),
        (nn.InstanceNorm3d(3, affine=True), (3, 4, 2, 2)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_an_input_without_examples_is_refused(layer, shape):
    with pytest.raises(AssumptionError, match="must have the examples as its first dimension"):
        engine_clipped_sum(layer, torch.randn(shape), wavy_losses)


def test_statistics_of_batches_are_refused_before_they_are_kept():
    layer = nn.InstanceNorm2d(3, affine=True, track_running_stats=True)
    with pytest.raises(AssumptionError, match=r"must not keep statistics.*Set track_running_stats=False"):
        engine_clipped_sum(layer, batch((3, 4, 2)), wavy_losses)
    assert int(layer.num_batches_tracked) == 0


@pytest.mark.parametrize("double", [False, True])
def test_statistics_that_are_not_changed_may_be_used(double):
    layer = nn.InstanceNorm2d(3, affine=True, track_running_stats=True).eval()
    layer.running_mean += torch.arange(3)
    layer.running_var += torch.arange(3)
    assert_engine_is_naive(layer, batch((3, 4, 2)), wavy_losses, double=double)


def test_layers_without_weights_need_no_rule():
    model = nn.Sequential(nn.LayerNorm(4, elementwise_affine=False), nn.RMSNorm(4, elementwise_affine=False))
    assert sites_of(model) == []
    assert nn.LayerNorm.forward in RULES
