# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.torch.gradients.embedding_factors import TableRows, join_tables
from dperm.torch.gradients.factors import Dense


def made(examples: int, places: int, *, rows: int, width: int, seed: int = 0) -> TableRows:
    generator = torch.Generator().manual_seed(seed)
    grads = torch.randn(examples, places, width, generator=generator, dtype=torch.float64)
    return TableRows(torch.randint(0, rows, (examples, places), generator=generator), grads, (rows, width))


def assert_agrees_with_dense(rows: TableRows) -> None:
    dense, examples = Dense(rows.dense()), len(rows.indices)
    weights = torch.linspace(0.5, 2, examples, dtype=torch.float64)
    keep = torch.arange(examples) % 2 == 0
    assert dense.shape == rows.shape
    least = (rows.spread() / 128).square()  # what is left of terms that cancel counts as at least that
    torch.testing.assert_close(rows.squared_norms(), torch.maximum(dense.squared_norms(), least))
    torch.testing.assert_close(rows.weighted(weights), dense.weighted(weights))
    torch.testing.assert_close(rows.masked(keep).dense(), dense.masked(keep).dense())
    torch.testing.assert_close(rows.spread(), rows.grads.norm(dim=2).sum(1))
    assert bool((rows.spread() >= rows.squared_norms().sqrt() * (1 - 1e-12)).all())


@settings(max_examples=40)
@given(st.integers(1, 5), st.integers(0, 6), st.integers(1, 9), st.integers(1, 3), st.integers(0, 99))
def test_rows_agree_with_their_gradients(examples, places, rows, width, seed):
    assert_agrees_with_dense(made(examples, places, rows=rows, width=width, seed=seed))


def test_gradients_are_those_that_a_loop_adds_up():
    rows = made(3, 5, rows=4, width=2)
    expected = torch.zeros(3, 4, 2, dtype=torch.float64)
    for example in range(3):
        for place in range(5):
            expected[example, rows.indices[example, place]] += rows.grads[example, place]
    torch.testing.assert_close(rows.dense(), expected)


def test_no_totals_are_made_where_no_index_repeats(monkeypatch):
    rows = made(3, 4, rows=9, width=2)
    once = TableRows(torch.tensor([[3, 1, 2, 0], [5, 6, 8, 7], [4, 0, 3, 8]]), rows.grads, rows.shape)
    monkeypatch.setattr("dperm.torch.gradients.embedding_factors._squares_of_totals", None)
    torch.testing.assert_close(once.squared_norms(), Dense(once.dense()).squared_norms())


def test_what_is_not_kept_may_be_anything():
    rows = made(3, 4, rows=5, width=2)
    rows.grads[1, 2] = float("nan")
    found = rows.masked(torch.tensor([True, False, True])).weighted(torch.ones(3, dtype=torch.float64))
    assert bool(found.isfinite().all())


def test_long_sums_are_cut(monkeypatch):
    rows, weights = made(4, 5, rows=3, width=2), torch.linspace(1, 2, 4, dtype=torch.float64)
    expected = rows.weighted(weights)
    monkeypatch.setattr("dperm.torch.gradients.weighted_sums.LONGEST", 5)
    torch.testing.assert_close(rows.weighted(weights), expected)


@pytest.mark.parametrize("number", [1, 3])
def test_lookups_of_one_table_are_joined(number):
    parts = [made(3, 2 + place, rows=4, width=2, seed=place) for place in range(number)]
    found = join_tables(parts)
    torch.testing.assert_close(found.dense(), sum(part.dense() for part in parts))
    assert_agrees_with_dense(found)
