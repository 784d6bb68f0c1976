# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_naive import assert_bad_rows_count_nothing, assert_engine_is_naive, scaled_losses, wavy_losses

from dperm.torch.compiled.tracing import branchless_squared_norms as branchless
from dperm.torch.gradients.clipping import Clipping, GradientNorms, clipping_weights
from dperm.torch.gradients.embedding_factors import TableRows, TiedTable, unite
from dperm.torch.gradients.factors import Dense, Outer, OuterSequence
from dperm.torch.gradients.per_example import PerExampleGradients


class Language(nn.Module):
    """A table that embeds words and scores them."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(words, width)
        self.middle = nn.Linear(width, width)
        self.head = nn.Linear(width, words)
        self.head.weight = self.table.weight

    def forward(self, at: Tensor) -> Tensor:
        return self.head(self.middle(self.table(at)).tanh())


def words(*shape: int, rows: int = 5) -> Tensor:
    return torch.randint(0, rows, shape, generator=torch.Generator().manual_seed(3))


@settings(max_examples=30)
@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    width=st.integers(1, 6),
    clipping=st.sampled_from(["flat", "per_layer", "normalized"]),
    double=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_clipped_sums_are_those_of_the_loop(shape, width, clipping, double, dtype):
    model = Language(5, width).to(dtype)
    assert_engine_is_naive(model, words(*shape), wavy_losses, 0.5, clipping, double=double)


def test_the_gradient_of_a_tied_table_is_not_instantiated():
    model = Language(50, 20)
    with PerExampleGradients(model) as gradients:
        factors = dict(gradients.factors(wavy_losses(model, words(2, 3, rows=50))))
    factor = factors[model.table.weight]
    assert isinstance(factor, TiedTable)
    assert isinstance(factor.rest, OuterSequence)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e30])
def test_rows_that_are_not_finite_count_nothing(bad):
    scale = torch.tensor([1.0, bad, 1.0])
    assert_bad_rows_count_nothing(Language(5, 3), [words(3, 4), scale], scaled_losses, 1)


def normal(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


RESTS = {
    "dense": Dense(normal(3, 5, 4)),
    "outer": Outer(normal(3, 4), normal(3, 5), (5, 4)),
    "sequence": OuterSequence(normal(3, 2, 4), normal(3, 2, 5), (5, 4)),
}


@pytest.mark.parametrize("name", RESTS)
def test_factors_agree_with_their_gradients(name):
    rest = RESTS[name]
    parts = [TableRows(words(3, 6), normal(3, 6, 4), (5, 4)), rest, TableRows(words(3, 1), normal(3, 1, 4), (5, 4))]
    tied = unite(parts)
    dense = Dense(sum(part.dense() for part in parts))
    weights, keep = normal(3), torch.tensor([True, False, True])
    assert tied.shape == (5, 4)
    torch.testing.assert_close(tied.dense(), dense.values)
    torch.testing.assert_close(tied.squared_norms(), dense.squared_norms())
    torch.testing.assert_close(tied.weighted(weights), dense.weighted(weights))
    torch.testing.assert_close(tied.masked(keep).weighted(weights), dense.masked(keep).weighted(weights))
    assert bool((tied.spread() >= tied.squared_norms().sqrt()).all())


def test_one_use_is_left_as_it_is():
    rows = TableRows(words(3, 6), normal(3, 6, 4), (5, 4))
    assert unite([rows]) is rows
    assert unite([RESTS["outer"]]) is RESTS["outer"]


@pytest.mark.parametrize("double", [False, True], ids=["fast", "exact"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["single", "double"])
def test_uses_that_cancel_are_not_taken_for_short(dtype, double):
    """What a table gets as a table and as a matrix is the same but for a little, with another sign."""
    large, tail = (1e6, 1e-4) if dtype is torch.float32 else (1e12, 1e-9)
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        inputs, little = (torch.randn(1, 2, 8, dtype=dtype, generator=generator) for _ in range(2))
        grads = torch.zeros(1, 2, 4, dtype=dtype)
        grads[:, :, 0] = large
        rows = TableRows(torch.zeros(1, 2, dtype=torch.long), -large * (inputs + tail * little), (4, 8))
        factor = TiedTable(rows, OuterSequence(inputs, grads, (4, 8)))
        weight = clipping_weights(
            Clipping.FLAT, 1.0, [GradientNorms(factor.squared_norms(), factor.spread() if double else None)]
        )
        for same in (factor, TiedTable(rows, Dense(factor.rest.dense()))):
            assert float(same.weighted(weight.layers[0]).norm()) <= 1 + 1e-6
        assert branchless(factor).allclose(factor.squared_norms(), rtol=1e-4)


@pytest.mark.parametrize("norms", [TableRows.squared_norms, branchless], ids=["eager", "branchless"])
def test_one_word_twice_with_gradients_that_cancel(norms):
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        grad, little = (torch.randn(1, 1, 8, generator=generator) for _ in range(2))
        rows = TableRows(torch.tensor([[1, 1]]), 1e6 * torch.cat([grad, 1e-4 * little - grad], 1), (4, 8))
        (weight,) = clipping_weights(Clipping.FLAT, 1.0, [GradientNorms(norms(rows))]).layers
        assert float(rows.weighted(weight).norm()) <= 1 + 1e-6
