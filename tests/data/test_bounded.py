# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bounded data (T44, T54, T200): rows within the radius whatever they hold, and messages that say nothing."""

import math
import re
import tracemalloc

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dperm.data.bounded import HEIGHT, enforce
from dperm.data.grid_rows import ENCODED_CELLS, RowGrid
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.errors import DataError, ParameterError

ULP = 2.0**-53
LARGEST = float(np.finfo(np.float64).max)
SMALLEST = 5e-324
RNG = np.random.default_rng(11)
KINDS = {
    "dense": np.array,
    "fortran": np.asfortranarray,
    "view": lambda array: np.repeat(np.repeat(array, 2, axis=0), 3, axis=1)[::2, ::3],
    "csr": sparse.csr_array,
}
CORNERS = np.array(
    [
        [LARGEST, LARGEST, LARGEST, LARGEST],
        [-LARGEST, LARGEST, 0.0, SMALLEST],
        [1e308, 1e-308, -1e308, 1e200],
        [1e154, 1e154, 1e154, 1e154],
        [1e101, -1e99, 0.0, 1.0],
        [1e100, 0.0, 0.0, 0.0],
        [SMALLEST, -SMALLEST, SMALLEST, SMALLEST],
        [1e-200, 1e-170, -1e-300, 0.0],
        [0.0, 0.0, 0.0, 0.0],
        [0.6, 0.8, 0.0, 0.0],
        [0.5, 0.5, 0.5, 0.5],
        [0.5, 0.5, 0.5, math.nextafter(0.5, 1)],
        [-0.1, 0.7, 0.7, -0.1],
        [3.0, 4.0, 12.0, 84.0],
    ]
)


TWO = Classes((0, 1))


def zeros(X) -> np.ndarray:
    return np.zeros(X.shape[0], dtype=int)


def enforced(X, space: FeatureSpace, y=None, target=TWO, **options):
    return enforce(X, zeros(X) if y is None else y, space, target, **options)


def bounded_rows(data) -> np.ndarray:
    """The rows (x, constant) as the learners see them."""
    found = []
    for block in data.blocks():
        rows = block.x if isinstance(block.x, np.ndarray) else block.x.toarray()
        constants = np.full((len(rows), int(data.space.intercept)), data.space.constant)
        found.append(np.hstack([rows, constants]))
    return np.vstack(found)


def lengths_of(data) -> np.ndarray:
    return np.concatenate([block.lengths for block in data.blocks()])


def exact_row(row, space: FeatureSpace) -> list[mp.mpf]:
    """x min(1, norm/||x||) and the constant, in 60 digits."""
    entries = [mp.mpf(float(entry)) for entry in row]
    norm = mp.sqrt(sum(entry**2 for entry in entries))
    factor = mp.mpf(1) if norm <= space.norm else mp.mpf(space.norm) / norm
    return [entry * factor for entry in entries] + [mp.mpf(space.constant)] * space.intercept


def norm_of(row) -> mp.mpf:
    return mp.sqrt(sum(mp.mpf(entry) ** 2 for entry in row))


def assert_bounded(data, array) -> None:
    """Each row is its exact bounded row up to a unit of the grid in each entry, and no longer than R (T54, T200)."""
    space, unit = data.space, data.grid.unit
    apart = math.sqrt(space.dim) * unit * (1 + 2.0**-20)
    with mp.workdps(60):
        for found, given_row, length in zip(bounded_rows(data), array, lengths_of(data), strict=True):
            exact = exact_row(given_row, space)
            assert norm_of(exact) <= space.radius
            assert norm_of(a - mp.mpf(float(b)) for a, b in zip(exact, found, strict=True)) <= apart
            norm = norm_of(float(entry) for entry in found)
            assert norm <= space.radius
            assert norm * (1 - 2 * ULP) <= mp.mpf(float(length)) <= (norm + apart) * (1 + 2.0**-22) + 1e-44 * unit


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", [1.0, 3e-16, 1e-100, 1e100, 85.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_every_row_is_scaled_down_to_the_norm_whatever_it_holds(kind, norm, intercept):
    space = FeatureSpace(4, norm=norm, intercept=intercept)
    assert_bounded(enforced(KINDS[kind](CORNERS), space), CORNERS)


@given(
    hnp.arrays(np.float64, (3, 5), elements=st.floats(allow_nan=False, allow_infinity=False)),
    st.sampled_from([1e-100, 1e-10, 1.0, 17.0, 1e100]),
    st.sampled_from(sorted(KINDS)),
)
def test_random_rows_are_bounded(array, norm, kind):
    assert_bounded(enforced(KINDS[kind](array), FeatureSpace(5, norm=norm)), array)


def test_single_precision_is_bounded_as_the_doubles_it_stands_for():
    array = np.vstack([RNG.normal(size=(30, 4)), np.full((1, 4), np.finfo(np.float32).max)]).astype(np.float32)
    assert_bounded(enforced(array, FeatureSpace(4, norm=0.7)), array)


@pytest.mark.parametrize("norm", [1.0, 0.3, 1e100])
def test_a_row_exactly_at_the_norm_is_left_alone(norm):
    rows = norm * np.array([[0.5, 0.5, -0.5, 0.5], [1.0, 0.0, 0.0, 0.0], [0.0, -0.5, 0.25, 0.0]])
    assert bounded_rows(enforced(rows, FeatureSpace(4, norm=norm, intercept=False))).tolist() == rows.tolist()


@pytest.mark.parametrize("norm", [None, 1.0, 0.3])
def test_bounds_clip_and_scale_before_the_norm(norm):
    bounds = ((0.0, 10.0), (-4.0, -2.0), (-1.0, 3.0))
    space = FeatureSpace(3, norm=norm, bounds=bounds)
    array = np.vstack([RNG.uniform(-20, 20, size=(40, 3)), [[1e308, -1e308, 5e-324], [5.0, -3.0, 1.0]]])
    lows, highs = np.array(bounds).T
    unit = (2 * np.clip(array, lows, highs) - lows - highs) / (highs - lows)
    lengths = np.linalg.norm(unit, axis=1)
    factors = np.minimum(1.0, (norm or 9.0) / np.maximum(lengths, 1e-9))
    found = bounded_rows(enforced(array, space))
    lost = np.abs(unit * factors[:, np.newaxis]) - np.abs(found[:, :3])
    assert -1e-14 <= lost.min() <= lost.max() <= RowGrid(space).unit + 1e-14
    assert (found[:, :3] * unit >= 0).all()
    assert found[:, 3] == pytest.approx(space.constant)
    assert np.linalg.norm(found, axis=1).max() <= space.radius
    assert space.radius <= math.hypot(min(math.sqrt(3), norm or 9), space.constant) * (1 + 1e-14)


def test_symmetric_bounds_scale_sparse_rows_as_dense_ones():
    space = FeatureSpace(3, norm=1.2, bounds=((-1.0, 1.0), (-1e-3, 1e-3), (-50.0, 50.0)))
    array = np.where(RNG.random((60, 3)) < 0.6, RNG.normal(size=(60, 3)) * 10, 0.0)
    array[5] = [1e308, -1e308, 0.0]
    dense, found = enforced(array, space), enforced(sparse.csr_array(array), space)
    assert bounded_rows(found).tolist() == bounded_rows(dense).tolist()
    assert lengths_of(found).tolist() == lengths_of(dense).tolist()


def odd_matrices() -> dict[str, sparse.csr_array]:
    """The same matrix in ways that a CSR matrix may be stored."""
    plain = sparse.csr_array(np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, 1.0, 1.0]]))
    unsorted = plain.copy()
    for start, stop in zip(unsorted.indptr[:-1], unsorted.indptr[1:], strict=True):
        unsorted.indices[start:stop] = unsorted.indices[start:stop][::-1].copy()
        unsorted.data[start:stop] = unsorted.data[start:stop][::-1].copy()
    unsorted.has_sorted_indices = False
    pieces = sparse.csr_array(
        (np.array([1.0, 4.0, 2.0, 2.0, 1.0, 1.0, 1.0]), np.array([0, 2, 0, 1, 0, 1, 2]), np.array([0, 3, 3, 4, 7])),
        shape=(4, 3),
    )
    mistaken = pieces.copy()
    mistaken.has_canonical_format = True
    stored_zeros = sparse.csr_array(
        (np.array([3.0, 0.0, 4.0, -0.0, 2.0, 1.0, 1.0, 1.0]), np.array([0, 1, 2, 0, 1, 0, 1, 2]), [0, 3, 3, 5, 8]),
        shape=(4, 3),
    )
    wide = plain.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    matrix = sparse.csr_matrix(plain)
    single = plain.astype(np.float32)
    return {
        "plain": plain,
        "unsorted": unsorted,
        "duplicates": pieces,
        "duplicates that claim not to be": mistaken,
        "stored zeros": stored_zeros,
        "int64": wide,
        "csr_matrix": matrix,
        "float32": single,
    }


@pytest.mark.parametrize("kind", odd_matrices())
def test_sparse_rows_are_bounded_however_they_are_stored_and_left_as_they_are(kind):
    matrix = odd_matrices()[kind]
    before = [part.copy() for part in (matrix.data, matrix.indices, matrix.indptr)]
    array = odd_matrices()["plain"].toarray()
    assert_bounded(enforced(matrix, FeatureSpace(3, norm=1.0)), array)
    after = (matrix.data, matrix.indices, matrix.indptr)
    assert all(np.array_equal(old, new) and old.dtype == new.dtype for old, new in zip(before, after, strict=True))


def test_only_rows_of_a_sparse_matrix_are_read():
    with pytest.raises(ParameterError, match="csc"):
        enforced(sparse.csc_array(np.eye(3)), FeatureSpace(3, norm=1.0))


def test_bounds_that_would_fill_a_sparse_matrix_are_refused():
    with pytest.raises(ParameterError, match="symmetric"):
        enforced(sparse.csr_array(np.eye(2)), FeatureSpace(2, bounds=((0.0, 1.0), (-1.0, 1.0))))


@pytest.mark.parametrize("kind", ["dense", "fortran", "float32", "csr"])
@pytest.mark.parametrize("invalid", ["raise", "drop"])
def test_x_is_not_modified_and_rows_take_four_bytes_a_cell(kind, invalid):
    """Beside X there are single-precision integers, a float and a code for each row, and some blocks of doubles."""
    array = RNG.normal(size=(100_000, 40))
    if invalid == "drop":
        array[::1000, 3] = np.nan
    kinds = {"float32": lambda a: a.astype(np.float32), **KINDS}
    X = kinds[kind](array)
    stored = X.data if kind == "csr" else X
    before = stored.copy()
    stored.flags.writeable = False
    labels = zeros(X)
    tracemalloc.start()
    data = enforced(X, FeatureSpace(40, norm=1.0), labels, invalid=invalid)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    for _ in data.blocks():
        pass
    _, in_blocks = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept <= 4 * array.size + 5 * len(array) + 2**16
    assert peak <= kept + 8 * 8 * ENCODED_CELLS + 2**20
    assert in_blocks <= kept + 5 * 8 * 40 * HEIGHT
    assert np.array_equal(stored, before, equal_nan=True)


def garbage(kind: str) -> float:
    return {"nan": np.nan, "inf": np.inf, "huge": 1e308, "zero": 0.0}[kind]


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("space", [FeatureSpace(3, norm=1.0), FeatureSpace(3, bounds=((-1, 1),) * 3)], ids=repr)
def test_what_a_dropped_row_holds_does_not_change_a_bit(space, is_sparse):
    array = RNG.normal(size=(50, 3))
    labels = RNG.integers(0, 2, size=50)
    labels[7], labels[23] = 2, 99
    seen = set()
    for kind in ("nan", "inf", "huge", "zero"):
        X, y = array.copy(), labels.copy()
        X[7] = garbage(kind)
        X[23, 1] = garbage(kind)
        data = enforced(sparse.csr_array(X) if is_sparse else X, space, y, invalid="drop")
        weights = np.concatenate([block.weights for block in data.blocks()])
        assert np.flatnonzero(weights == 0).tolist() == [7, 23]
        rows = bounded_rows(data)
        assert np.isfinite(rows).all()
        assert np.linalg.norm(rows, axis=1).max() <= space.radius
        seen.add(rows[weights > 0].tobytes())
    assert len(seen) == 1


def test_a_row_with_a_good_label_and_nan_is_dropped_and_so_is_one_with_a_bad_label():
    X = np.array([[1.0, np.nan], [1.0, 1.0], [2.0, 2.0], [np.inf, 0.0]])
    data = enforced(X, FeatureSpace(2, norm=1.0), np.array([0, 5, 1, 1]), invalid="drop")
    (block,) = data.blocks()
    assert block.weights.tolist() == [0, 0, 1, 0]
    assert block.x[0].tolist() == [0, 0]
    assert block.x[3].tolist() == [0, 0]


def test_weights_follow_the_classes():
    data = enforced(
        np.ones((4, 1)), FeatureSpace(1, norm=1.0), np.array([0, 1, 9, 1]), Classes((0, 1), (0.5, 3.0)), invalid="drop"
    )
    (block,) = data.blocks()
    assert block.weights.tolist() == [0.5, 3.0, 0.0, 3.0]
    assert (block.targets * block.weights).tolist() == [-0.5, 3.0, 0.0, 3.0]


def test_the_blocks_of_a_stride_are_chosen_by_position():
    space = FeatureSpace(2, norm=1.0)
    data = enforced(RNG.normal(size=(20_000, 2)), space)
    whole = [block.x.copy() for block in data.blocks()]
    assert sum(len(x) for x in whole) == 20_000
    assert all(np.array_equal(a, b.x) for a, b in zip(whole[::3], data.blocks(3), strict=True))
    assert data.stride_for(20_000) == 1
    assert data.stride_for(1) <= len(whole) // 4 + 1
    for rows in (1, 3_000, 9_000, 20_000):
        left = sum(len(block.targets) for block in data.blocks(data.stride_for(rows)))
        assert left >= min(rows, 20_000)


SECRETS = (31337, 0.8675309, 271828)
"""A label, a value and a number of rows that no message may repeat."""


def secret_data(column: int, odd: float) -> tuple[np.ndarray, np.ndarray]:
    X = np.full((2718, 3), SECRETS[1])
    X[1234, column] = odd
    return X, np.zeros(2718, dtype=int)


def assert_says_nothing(message: str) -> None:
    """No value, row or count; numbers in it are the public limit, classes or columns."""
    assert not re.search(r"1234|2718|27182|8675309|31337|867", message.replace(",", ""))


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("names", "shown"), [(None, "column 2"), (("age", "height", "pay"), "column 'pay'")])
def test_a_value_that_is_not_finite_is_refused_by_its_column_alone(kind, odd, names, shown):
    X, y = secret_data(2, odd)
    with pytest.raises(DataError, match=f"X must be finite, but {shown} has") as caught:
        enforced(KINDS[kind](X), FeatureSpace(3, norm=1.0), y, names=names)
    assert_says_nothing(str(caught.value))
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("odd", [SECRETS[0], -1])
def test_a_label_outside_the_classes_is_refused_by_the_rule_alone(odd):
    X, y = secret_data(0, 1.0)
    y[1234] = odd
    with pytest.raises(DataError, match="declared classes 0 and 1") as caught:
        enforced(X, FeatureSpace(3, norm=1.0), y)
    assert_says_nothing(str(caught.value))
    assert "-1" not in str(caught.value)


def test_other_rules_are_named_without_the_data():
    X, y = secret_data(0, 1.0)
    space = FeatureSpace(3, norm=1.0)
    cases = [
        (lambda: enforced(X, space, y[:-1]), "same number of rows"),
        (lambda: enforced(X, space, y[:, np.newaxis]), "one label for each"),
        (lambda: enforced(X[:0], space, y[:0]), "at least one row"),
        (lambda: enforced(X, space, y, most_rows=1000), "limit 1,000"),
        (lambda: enforced(X[:, :2], space, y), "3 columns"),
        (lambda: enforced(X[:, 0], space, y), "3 columns"),
        (lambda: enforced(X.astype(object), space, y), "numbers"),
        (lambda: enforced(X.astype(complex), space, y), "numbers"),
        (lambda: enforced(X.astype(str), space, y), "numbers"),
    ]
    for call, words in cases:
        with pytest.raises(DataError, match=words) as caught:
            call()
        assert_says_nothing(str(caught.value))
    assert enforced(X, space, y, most_rows=2718).rows == 2718


def test_what_happens_to_invalid_rows_is_one_of_two():
    with pytest.raises(ParameterError, match='"raise" or "drop", got \'ignore\''):
        enforced(np.ones((1, 1)), FeatureSpace(1, norm=1.0), invalid="ignore")


def dropped_rows_count_nothing(module) -> None:
    X = np.array([[1.0, 2.0], [np.nan, 1.0]])
    data = module.enforce(X, np.array([0, 1]), FeatureSpace(2, norm=1.0), Classes((0, 1)), invalid="drop")
    (block,) = data.blocks()
    assert block.weights[1] == 0
    assert np.isfinite(block.x).all()


def test_a_dropped_row_that_counts_is_noticed(assert_killed):
    assert_killed(dropped_rows_count_nothing, "dperm.data.bounded", "    target.without(codes, bad)\n", "")


def duplicates_are_one_entry(module) -> None:
    matrix = odd_matrices()["duplicates that claim not to be"]
    data = module.enforce(matrix, zeros(matrix), FeatureSpace(3, norm=1.0), Classes((0, 1)))
    assert np.linalg.norm(bounded_rows(data), axis=1).max() <= data.space.radius


def test_an_entry_in_pieces_that_is_measured_piece_by_piece_is_noticed(assert_killed):
    assert_killed(duplicates_are_one_entry, "dperm.data.bounded", "        X.sum_duplicates()", "        pass")
