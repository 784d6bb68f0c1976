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
from dperm.torch.gradients.per_example import PerExampleGradients

CLIPPINGS = ["flat", "per_layer", "normalized"]
KINDS = [nn.Embedding, nn.EmbeddingBag]


def indices(*shape: int, rows: int = 5) -> Tensor:
    return torch.randint(0, rows, shape, generator=torch.Generator().manual_seed(3))


@settings(max_examples=30)
@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    width=st.integers(1, 3),
    padding=st.sampled_from([None, 0, -1]),
    clipping=st.sampled_from(CLIPPINGS),
    double=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_clipped_sums_of_embeddings_are_those_of_the_loop(shape, width, padding, clipping, double, dtype):
    model = nn.Sequential(nn.Embedding(5, width, padding_idx=padding, dtype=dtype), nn.ReLU(inplace=True))
    assert_engine_is_naive(model, indices(*shape), wavy_losses, 0.5, clipping, double=double)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["single", "double"])
@pytest.mark.parametrize("shape", [(2, 2, 2), (2, 4, 1), (3, 1, 4)], ids=str)
def test_norms_of_gradients_that_cancel_are_lengthened_by_the_stated_amount(shape, dtype):
    """The terms of a word's gradient cancel to 1/30 of their spread here: the exact grade takes 2e-6 of it (T46b)."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(5, 3, dtype=dtype), nn.ReLU(inplace=True))
    assert_engine_is_naive(model, indices(*shape), wavy_losses, 0.5, "normalized", double=True)


@settings(max_examples=40)
@given(
    mode=st.sampled_from(["sum", "mean", "max"]),
    length=st.integers(1, 5),
    padding=st.sampled_from([None, 0, -1]),
    clipping=st.sampled_from(CLIPPINGS),
    double=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_clipped_sums_of_bags_are_those_of_the_loop(mode, length, padding, clipping, double, dtype):
    model = nn.EmbeddingBag(5, 3, mode=mode, padding_idx=padding, dtype=dtype)
    assert_engine_is_naive(model, indices(4, length), wavy_losses, 0.5, clipping, double=double)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_a_bag_of_padding_has_no_gradient(mode):
    model = nn.EmbeddingBag(5, 3, mode=mode, padding_idx=2).double()
    assert_engine_is_naive(model, torch.tensor([[2, 2], [2, 1], [3, 3]]), wavy_losses)


def test_the_first_of_equal_rows_is_the_largest():
    model = nn.EmbeddingBag(5, 3, mode="max").double()
    model.weight.data.zero_()
    assert_engine_is_naive(model, indices(4, 5), wavy_losses)


class Weighted(nn.Module):
    """A bag whose weights depend on a trained layer."""

    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(5, 3, mode="sum", padding_idx=0)
        self.shares = nn.Linear(4, 4)

    def forward(self, at: Tensor, x: Tensor) -> Tensor:
        return self.bag(at, per_sample_weights=self.shares(x).exp())


@pytest.mark.parametrize("clipping", CLIPPINGS)
@pytest.mark.parametrize("double", [False, True])
def test_weights_of_a_bag(clipping, double):
    inputs = (indices(3, 4), torch.randn(3, 4, dtype=torch.float64))
    assert_engine_is_naive(Weighted().double(), inputs, wavy_losses, 0.5, clipping, double=double)


def test_a_table_that_is_used_twice():
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(5, 3)

        def forward(self, first: Tensor, second: Tensor) -> Tensor:
            return self.table(first) * self.table(second).sum(1, keepdim=True)

    assert_engine_is_naive(Twice().double(), (indices(4, 3), indices(4, 2)), wavy_losses, 0.5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e30])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("double", [False, True])
def test_rows_that_are_not_finite_count_nothing(kind, bad, double):
    scale = torch.tensor([1.0, bad, 1.0])
    assert_bad_rows_count_nothing(kind(5, 3), [indices(3, 4), scale], scaled_losses, 1, double=double)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_norm": 1.0}, "must not change weights.*Set max_norm=None"),
        ({"scale_grad_by_freq": True}, "must not depend on other examples.*Set scale_grad_by_freq=False"),
        ({"sparse": True}, "noise in every row.*Set sparse=False"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_options_that_mix_examples_are_refused_before_anything_runs(kind, options, message):
    with pytest.raises(AssumptionError, match=message), PerExampleGradients(kind(5, 3, **options)):
        pass


def test_bags_with_offsets_are_refused():
    with pytest.raises(
        AssumptionError, match=r"one row of indices for each example.*Pass indices of shape \(batch, length\)"
    ):
        engine_clipped_sum(nn.EmbeddingBag(5, 3), [indices(6), torch.tensor([0, 2])], wavy_losses)


def test_a_single_index_is_refused():
    with pytest.raises(AssumptionError, match="must have the examples as its first dimension"):
        engine_clipped_sum(nn.Embedding(5, 3), torch.tensor(2), lambda model, at: model(at)[None].sum(1))


def test_the_forward_passes_are_the_original_ones():
    for model in (nn.Embedding(5, 3), nn.EmbeddingBag(5, 3)):
        expected = model(indices(4, 3))
        with PerExampleGradients(model):
            assert torch.equal(model(indices(4, 3)), expected)
            assert torch.equal(model(input=indices(4, 3)), expected)
        assert "forward" not in vars(model)
