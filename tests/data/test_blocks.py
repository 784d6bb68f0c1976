# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Blocks of rows: views where they can be, scaled columns, lengths that tell what is not finite."""

import numpy as np
import pytest
from scipy import sparse

from dperm.data.blocks import HEIGHTS, DenseRows, SparseRows, row_lengths, row_multiples
from dperm.data.space import FeatureSpace

RNG = np.random.default_rng(7)
PLAIN = FeatureSpace(3, norm=1.0)
BOUNDS = FeatureSpace(3, bounds=((-1.0, 1.0), (-2.0, 2.0), (-1e-5, 1e-5)))
SHIFTED = FeatureSpace(3, bounds=((0.0, 10.0), (-3.0, -1.0), (1e6, 1e6 + 1)))


def both(array: np.ndarray, space: FeatureSpace) -> tuple[DenseRows, SparseRows]:
    return DenseRows(array, space), SparseRows(sparse.csr_array(array), space)


def dense(block: object) -> np.ndarray:
    return block if isinstance(block, np.ndarray) else block.toarray()


def test_columns_are_clipped_to_their_bounds_and_mapped_onto_minus_one_to_one():
    array = np.array([[0.0, -1.0, 1e6 + 0.5], [10.0, -3.0, 1e6 + 0.75], [-5.0, 50.0, 0.0], [7.5, -2.5, 2e6]])
    expected = [[-1, 1, 0], [1, -1, 0.5], [-1, 1, -1], [0.5, -0.5, 1]]
    assert DenseRows(array, SHIFTED).scaled(0, 4).tolist() == expected


@pytest.mark.parametrize("space", [PLAIN, BOUNDS], ids=["norm", "bounds"])
def test_sparse_rows_are_scaled_and_measured_like_dense_ones(space):
    array = np.where(RNG.random((50, 3)) < 0.5, RNG.normal(size=(50, 3)), 0.0)
    array[3], array[11] = 0.0, [1.5, -1e150, 1e-320]
    dense_rows, sparse_rows = both(array, space)
    for start, stop in [(0, 50), (10, 37), (11, 12)]:
        assert np.array_equal(dense(sparse_rows.scaled(start, stop)), dense_rows.scaled(start, stop))
        assert np.array_equal(dense(sparse_rows.raw(start, stop)), array[start:stop])
        lengths = dense_rows.lengths(start, stop)
        assert sparse_rows.lengths(start, stop) == pytest.approx(lengths, rel=1e-14)
        assert lengths == pytest.approx(np.linalg.norm(dense_rows.scaled(start, stop), axis=1), rel=1e-14)


@pytest.mark.parametrize("space", [PLAIN, BOUNDS], ids=["norm", "bounds"])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_the_length_of_a_row_that_is_not_finite_is_nan_and_it_can_be_blanked(space, odd):
    array = np.ones((4, 3))
    array[2, 1] = odd
    bad = np.array([False, False, True, False])
    for rows in both(array, space):
        assert np.isnan(rows.lengths(0, 4)).tolist() == bad.tolist()
        assert dense(rows.scaled(0, 4, bad))[2].tolist() == [0, 0, 0]
        assert np.array_equal(dense(rows.scaled(0, 4, bad))[[0, 1, 3]], dense(rows.scaled(0, 4))[[0, 1, 3]])


def test_a_square_that_overflows_makes_an_infinite_length_without_a_warning():
    array = np.array([[1e200, 0.0, 0.0], [1.7e308, 1.7e308, 1.0], [1.0, 0.0, 0.0]])
    for rows in both(array, PLAIN):
        assert rows.lengths(0, 3).tolist() == [np.inf, np.inf, 1.0]
    for rows in both(array, BOUNDS):
        assert rows.lengths(0, 3) == pytest.approx([1.0, np.sqrt(3), 1.0])


def test_doubles_are_views_and_single_precision_is_converted_block_by_block():
    array = RNG.normal(size=(600, 3))
    assert np.shares_memory(DenseRows(array, PLAIN).scaled(0, 256), array)
    single = DenseRows(array.astype(np.float32), PLAIN).scaled(0, 256)
    assert single.dtype == np.float64
    assert np.array_equal(single, array[:256].astype(np.float32).astype(np.float64))


def test_scaling_leaves_the_array_as_it_is():
    array = RNG.normal(size=(20, 3)) * 1e3
    before = array.copy()
    bad = np.zeros(20, dtype=bool)
    bad[4] = True
    for rows in both(array, BOUNDS):
        rows.scaled(0, 20, bad)
        rows.lengths(0, 20)
        assert np.array_equal(dense(rows.raw(0, 20)), before)
    assert np.array_equal(array, before)


def test_blocks_have_a_bounded_number_of_rows():
    heights = [DenseRows(np.zeros((1, 1)), FeatureSpace(dim, norm=1.0)).height for dim in (1, 100, 512, 10**6)]
    assert heights == sorted(heights, reverse=True)
    assert (max(heights), min(heights)) == HEIGHTS[::-1]


def test_rows_are_multiplied_and_measured_alike_dense_and_sparse():
    array = np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0], [1.0, 2.0, 2.0]])
    factors = np.array([2.0, 5.0, -1.0])
    for rows in (array, sparse.csr_array(array)):
        assert row_lengths(rows).tolist() == [5.0, 0.0, 3.0]
        assert np.array_equal(dense(row_multiples(rows, factors)), array * factors[:, np.newaxis])
    assert array[0].tolist() == [3.0, 0.0, 4.0]
