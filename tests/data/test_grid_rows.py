# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Rows on a grid (T200): within the radius in exact arithmetic, near the user's rows, functions of the record alone."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dperm.data import grid_rows
from dperm.data.grid_rows import DIGITS, GridRows, RowGrid, joined
from dperm.data.space import FeatureSpace

LARGEST, SMALLEST = float(np.finfo(np.float64).max), 5e-324
BOUNDS = ((-1.0, 1.0), (0.0, 100.0), (-1e-3, 3e-3), (-5e99, 1e100))
EVEN = ((-1.0, 1.0), (-100.0, 100.0), (-1e-3, 1e-3), (-1e100, 1e100))
SPACES = [
    FeatureSpace(4, norm=norm, bounds=bounds, intercept=intercept)
    for bounds, norms in [
        (None, (1.0, 0.3, 7.0, 3e-16, 1e-100, 1e100)),
        (BOUNDS, (None, 0.1, 1.2, 1.9, 3.0, 1e100)),
        (EVEN, (None, 0.7, 1.7)),
    ]
    for norm in norms
    for intercept in (True, False)
]
SPARSE_SPACES = [space for space in SPACES if space.bounds != BOUNDS]
KINDS = {
    "dense": np.array,
    "fortran": np.asfortranarray,
    "strided": lambda array: np.repeat(np.repeat(array, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda array: np.array(array[::-1, ::-1])[::-1, ::-1],
    "csr": sparse.csr_array,
}
CORNERS = np.array(
    [
        [LARGEST, -LARGEST, LARGEST, LARGEST],
        [-LARGEST, LARGEST, 0.0, SMALLEST],
        [1e308, 1e-308, -1e308, 1e200],
        [1e154, 1e154, 1e154, 1e154],
        [1e100, 0.0, 0.0, 0.0],
        [0.0, -7.0, 0.0, 0.0],
        [1.0, 100.0, 3e-3, 1e100],
        [-1.0, 0.0, -1e-3, -5e99],
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


def codes(count: int) -> np.ndarray:
    return np.zeros(count, np.int8)


def on_grid(X, space: FeatureSpace, module=grid_rows) -> GridRows:
    rows, bad = module.RowGrid(space).rows(X, codes(X.shape[0]))
    assert not bad.any()
    return rows


def table_of(rows) -> np.ndarray:
    table = rows.cells if isinstance(rows.cells, np.ndarray) else rows.cells.toarray()
    return table + np.float32(0)  # -0 is 0


def rows_near(space: FeatureSpace, count: int = 40) -> np.ndarray:
    """Rows of all sizes, at the norm, and at multiples of the unit and just beside them."""
    rng, unit = np.random.default_rng(200), RowGrid(space).unit
    corners = np.tile(CORNERS, (1, -(-space.dim // 4)))[:, : space.dim]
    rows = rng.normal(size=(count, space.dim)) * 10 ** rng.uniform(-9, 9, size=(count, 1))
    onto = rng.normal(size=(count, space.dim))
    onto /= np.linalg.norm(onto, axis=1, keepdims=True)
    size = space.norm or 1.0
    grid = rng.integers(-(2**22), 2**22, size=(count, space.dim)) * unit
    return np.vstack([corners, rows * size, onto * size, grid, np.nextafter(grid, 0), np.nextafter(grid, np.inf)])


def bounded(row, space: FeatureSpace) -> list[mp.mpf]:
    """The row in 60 digits, with columns in [-1, 1] if there are bounds, before the norm."""
    numbers = [mp.mpf(float(entry)) for entry in row]
    if space.bounds is None:
        return numbers
    centers = space.center if space.center is not None else np.zeros(space.dim)
    unit = [
        (x - mp.mpf(float(c))) / mp.mpf(float(h)) for x, c, h in zip(numbers, centers, space.half_width, strict=True)
    ]
    return [min(max(entry, mp.mpf(-1)), mp.mpf(1)) for entry in unit]


def assert_on_grid(rows: GridRows, X: np.ndarray) -> None:
    """||q|| <= R in exact arithmetic; |q - x| is a unit at most; lengths are upper bounds, and close to the norms."""
    grid, space = rows.grid, rows.grid.space
    assert grid.constant <= 2**DIGITS
    assert Fraction(grid.constant) * Fraction(grid.unit) == Fraction(space.constant)
    assert rows.cells.dtype == rows.lengths.dtype == np.float32
    for cells, length, given_row in zip(table_of(rows).tolist(), rows.lengths.tolist(), X, strict=True):
        integers = [int(cell) for cell in cells]
        assert integers == cells
        assert max(map(abs, integers)) <= 2**DIGITS
        square = sum(k * k for k in integers)
        whole = (square + grid.constant**2) * Fraction(grid.unit) ** 2
        assert whole <= Fraction(space.radius) ** 2
        if space.norm is not None:
            assert square * Fraction(grid.unit) ** 2 <= Fraction(space.row_norm) ** 2
        assert whole <= (Fraction(length) * Fraction(grid.step)) ** 2
        with mp.workdps(60):
            exact, unit = bounded(given_row, space), mp.mpf(grid.unit)
            norm = mp.sqrt(sum(entry**2 for entry in exact))
            most = mp.mpf(space.row_norm)
            shrunk = [entry * min(mp.mpf(1), most / norm) for entry in exact] if norm else exact
            lost = [abs(entry) - abs(k) * unit for entry, k in zip(shrunk, integers, strict=True)]
            slack = (2 * space.dim + 40) * 2.0 ** (DIGITS - 53)  # rounding of rows and factors, in units
            assert all(-slack <= loss / unit <= 1 + slack for loss in lost)
            assert all(k == 0 or (k > 0) == (entry > 0) for k, entry in zip(integers, shrunk, strict=True))
            near = mp.sqrt(whole.numerator) / mp.sqrt(whole.denominator) / mp.mpf(grid.step)
            units = math.sqrt(space.dim) * 2.0**-DIGITS if norm > most * (1 - 1e-6) else 0.0
            # a measured part is at most half a unit of 2^dropped shorter or longer than its integer
            measured = math.sqrt(space.dim) * 2.0 ** (grid._dropped - DIGITS) if grid._dropped else 0.0
            assert mp.mpf(length) <= near * (1 + mp.mpf(2) ** -22) + 2 * units + measured + 1e-44


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_rows_are_within_the_radius_and_a_unit_from_the_given_ones(space, kind):
    if kind == "csr" and space not in SPARSE_SPACES:
        return
    X = rows_near(space, 8 if kind == "dense" else 2)
    assert_on_grid(on_grid(KINDS[kind](X), space), X)


@given(
    hnp.arrays(np.float64, (3, 4), elements=st.floats(allow_nan=False, allow_infinity=False)),
    st.sampled_from(SPARSE_SPACES),
    st.sampled_from(sorted(KINDS)),
)
def test_random_rows_are_within_the_radius(X, space, kind):
    assert_on_grid(on_grid(KINDS[kind](X), space), X)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.longdouble, np.int64, np.uint8, np.bool_])
def test_other_types_are_the_doubles_they_stand_for(dtype):
    X = np.array([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0]], dtype)
    X[0, 0] = np.iinfo(np.int64).max if dtype is np.int64 else X[0, 0]
    for space in SPARSE_SPACES:
        found = on_grid(X, space)
        assert_on_grid(found, X.astype(np.float64))
        assert table_of(found).tobytes() == table_of(on_grid(X.astype(np.float64), space)).tobytes()


def test_wide_rows_are_within_the_radius(tmp_path):
    """Norms near R, and a file mapped into memory."""
    path, dim = tmp_path / "rows", 300
    X = np.memmap(path, np.float32, "w+", shape=(20, dim))
    X[:] = np.random.default_rng(0).normal(size=X.shape)
    for space in (
        FeatureSpace(dim, norm=1.0),
        FeatureSpace(dim, bounds=((-1, 1),) * dim),
        FeatureSpace(dim, norm=12.0),
    ):
        assert_on_grid(on_grid(X, space), np.array(X))


def test_one_whole_unit_of_every_column_is_on_the_grid():
    for space in (FeatureSpace(9, bounds=((-1, 1),) * 9), FeatureSpace(9, norm=3.0, bounds=((-1, 1),) * 9)):
        rows = on_grid(np.vstack([np.ones((1, 9)), -np.ones((1, 9))]), space)
        assert np.abs(table_of(rows) * rows.grid.unit).min() >= 1 - 2.0**-22
    rows = on_grid(np.full((1, 4), 0.5), FeatureSpace(4, norm=1.0))
    assert (table_of(rows) * rows.grid.unit).tolist() == [[0.5] * 4]


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("space", SPARSE_SPACES[::3], ids=repr)
def test_rows_that_are_not_finite_become_zero_and_change_no_other_row(space, odd, is_sparse):
    X = rows_near(space, 3)
    spoiled = np.insert(X, [0, 5, len(X)], 1.0, axis=0)
    places = np.array([0, 6, len(spoiled) - 1])
    spoiled[places, [0, 2, 3]] = odd
    spoiled[6] = odd
    rows, bad = RowGrid(space).rows(sparse.csr_array(spoiled) if is_sparse else spoiled, codes(len(spoiled)))
    assert np.flatnonzero(bad).tolist() == places.tolist()
    assert not table_of(rows)[places].any()
    assert np.delete(table_of(rows), places, axis=0).tobytes() == table_of(on_grid(X, space)).tobytes()
    assert np.delete(rows.lengths, places).tobytes() == on_grid(X, space).lengths.tobytes()


def test_infinities_that_cancel_in_a_sum_are_found():
    X = np.array([[np.inf, -np.inf], [1e308, 1e308], [0.0, 1.0]])
    _, bad = RowGrid(FeatureSpace(2, norm=1.0)).rows(X, codes(3))
    assert bad.tolist() == [True, False, False]


def edge_rows(dim: int = 51, count: int = 60) -> np.ndarray:
    """Long rows of which the first entry lands on an integer or next to it: one bit of the norm moves it by a unit.

    The grid value of an entry is the integer below entry * factor * 2^24. Entries are chosen so that this product is an
    integer up to its last bits.
    """
    rng, grid = np.random.default_rng(773482), RowGrid(FeatureSpace(dim, norm=1.0))
    rows = 3 * rng.normal(size=(count, dim))
    integers = rng.integers(10_000, 2**20, size=count)
    for _ in range(9):
        squares = grid_rows._ordered_squares(np.ascontiguousarray(rows.T))
        rows[:, 0] = integers / (grid._factors(squares) * 2.0**DIGITS)
    near = [rows]
    for direction in (0.0, np.inf):
        moved = rows
        for _ in range(3):
            moved = moved.copy()
            moved[:, 0] = np.nextafter(moved[:, 0], direction)
            near.append(moved)
    return np.vstack(near)


def assert_functions_of_the_record(module) -> None:
    """The bits of each row are the same alone, in any block and order of memory, and as a sparse row."""
    X = edge_rows()
    space = FeatureSpace(X.shape[1], norm=1.0)
    whole = on_grid(X, space, module)
    cells, lengths = table_of(whole), whole.lengths
    order = np.random.default_rng(1).permutation(len(X))
    others = {
        "alone": [X[place : place + 1] for place in range(len(X))],
        "in pairs": [X[place : place + 2] for place in range(0, len(X), 2)],
        "Fortran": [np.asfortranarray(X)],
        "alone in a column-major block": [np.asfortranarray(X)[place : place + 1] for place in range(len(X))],
        "strided": [KINDS["strided"](X)],
        "reversed": [KINDS["reversed"](X)],
        "sparse": [sparse.csr_array(X)],
        "sparse alone": [sparse.csr_array(X)[place : place + 1] for place in range(len(X))],
    }
    for kind, blocks in others.items():
        found = [on_grid(block, space, module) for block in blocks]
        assert np.concatenate([table_of(rows) for rows in found]).tobytes() == cells.tobytes(), kind
        assert np.concatenate([rows.lengths for rows in found]).tobytes() == lengths.tobytes(), kind
    shuffled = on_grid(X[order], space, module)
    assert table_of(shuffled).tobytes() == cells[order].tobytes()


def test_a_row_on_the_grid_depends_on_its_record_alone(monkeypatch):
    assert_functions_of_the_record(grid_rows)
    monkeypatch.setattr(grid_rows, "ENCODED_CELLS", 64)
    assert_functions_of_the_record(grid_rows)


def test_edge_rows_show_every_last_bit_of_the_norm():
    """Their first entry moves by a unit if the norm of the row changes by its last bit or two."""
    X = np.ascontiguousarray(edge_rows().T)
    grid = RowGrid(FeatureSpace(len(X), norm=1.0))
    squares = grid_rows._ordered_squares(X)
    found = [np.trunc(X[0] * grid._factors(square) * 2.0**DIGITS) for square in (squares, np.nextafter(squares, 0))]
    assert (found[0] != found[1]).mean() > 0.05


WIDE = FeatureSpace(100, bounds=((-2.0, 2.0),) * 100)
"""Sums of squares of its integers are beyond 2^53: their measured parts have fewer digits."""


@pytest.mark.parametrize("space", [*SPARSE_SPACES, WIDE], ids=lambda space: repr(space)[:99])
def test_the_rows_of_every_space_depend_on_their_records_alone(space):
    X = rows_near(space, 10)
    whole = on_grid(X, space)
    for block in (
        [X[place : place + 1] for place in range(len(X))],
        [sparse.csr_array(X)],
        [np.asfortranarray(X)[place : place + 3] for place in range(0, len(X), 3)],
    ):
        found = [on_grid(rows, space) for rows in block]
        assert np.concatenate([table_of(rows) for rows in found]).tobytes() == table_of(whole).tobytes()
        assert np.concatenate([rows.lengths for rows in found]).tobytes() == whole.lengths.tobytes()


def just_too_long(dim: int = 4096) -> np.ndarray:
    """Integers k with ||k||^2 = 4^24 + 1, the largest one first: a unit too long, the least that there is."""
    integers = np.random.default_rng(48).integers(2**16, 2**17, size=dim)
    rest = 4**DIGITS + 1 - int((integers.astype(object) ** 2).sum())
    greedy = []
    while rest > 0:
        greedy.append(math.isqrt(rest))
        rest -= greedy[-1] ** 2
    assert rest == 0
    return np.concatenate([greedy, integers]).astype(np.float64)


def assert_within_the_norm(module) -> None:
    """Exactly, for multiples of a row on the grid: no entry is cut off, and computed norms are off by their last bits.

    Squares of these multiples are just above a power of 2, where doubles are farthest apart.
    """
    integers = just_too_long()
    space = FeatureSpace(len(integers), norm=1.0)
    multiples = np.concatenate([[1.0], np.sqrt(np.random.default_rng(3).uniform(1.2, 1.4, size=200))])
    X = integers * 2.0**-DIGITS * multiples[:, np.newaxis]
    for matrix in (X, sparse.csr_array(X)):
        cells = table_of(on_grid(matrix, space, module)).astype(np.int64)
        assert (cells * cells).sum(axis=1).max() <= 4**DIGITS


def test_rows_just_beyond_the_norm_are_within_it():
    assert_within_the_norm(grid_rows)


def assert_bounds(module) -> None:
    space = FeatureSpace(4, norm=7.0)
    X = rows_near(space, 20)
    with np.errstate(all="ignore"):
        assert_on_grid(on_grid(X, space, module), X)
        assert_on_grid(on_grid(sparse.csr_array(X), space, module), X)
        assert_within_the_norm(module)


MUTANTS = {
    "rows are not scaled down": (
        "if self.space.norm is None:\n            return None",
        "if True:\n            return None",
    ),
    "a square that overflows is not avoided": (
        "columns * np.ldexp(1.0, -_exponents(np.abs(columns).max(axis=0)))",
        "columns",
    ),
    "a sparse square that overflows is not avoided": (
        "np.ldexp(1.0, -_exponents(_sparse_largest(x, places, count)))[places]",
        "1.0",
    ),
    "long rows to the nearest": ("units[is_long] = np.trunc(", "units[is_long] = np.rint("),
    "sparse long rows to the nearest": ("np.trunc(small * factors[places]", "np.rint(small * factors[places]"),
    "no margin of the factor": ("margin = 1 + (self.space.dim + 24) * ULP", "margin = 1.0"),
    "norms in single precision": (
        "squares = np.zeros(columns.shape[1])",
        "squares = np.zeros(columns.shape[1], np.float32)",
    ),
    "sparse norms in single precision": (
        "weights=values * values, minlength=count)",
        "weights=(values * values).astype(np.float32), minlength=count)",
    ),
    "rows a little too long are left alone": ("(squares <= most)", "(squares <= most * (1 + 2.0**-40))"),
    "lengths rounded down": ("np.nextafter(whole.astype(np.float32), np.float32(np.inf))", "whole.astype(np.float32)"),
    "lengths without the constant": ("np.sqrt(squares + float(self.constant) ** 2)", "np.sqrt(squares)"),
    "a constant off the grid": ("for power in (1, 2, 4)", "for power in (1, 2, 4, 8)"),
}


def constants_are_on_the_grid(module) -> None:
    for norm in (1.0, 7.0, 30.0):
        grid = module.RowGrid(FeatureSpace(1000, norm=norm, bounds=((-1, 1),) * 1000))
        assert grid.constant <= 2**DIGITS
        assert grid.constant * grid.unit == grid.space.constant


CHECKS = {"rows are not scaled down": assert_within_the_norm, "a constant off the grid": constants_are_on_the_grid}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_rows_beyond_their_bounds_are_noticed(assert_killed, mutant):
    assert_killed(CHECKS.get(mutant, assert_bounds), "dperm.data.grid_rows", *MUTANTS[mutant])


def lengths_are_upper_bounds(module) -> None:
    """Exactly, for rows whose measured parts are all rounded down, and for sums of squares beyond 2^53."""
    space = FeatureSpace(WIDE.dim, bounds=WIDE.bounds, intercept=False)
    grid = module.RowGrid(space)
    half = 2 ** (grid._dropped - 1) if grid._dropped else 1
    integers = np.array([[half] * space.dim, [2**20 + half] * space.dim, [2**DIGITS - 1] * space.dim])
    X = 2.0 * integers * grid.unit
    for matrix in (X, sparse.csr_array(X), np.asfortranarray(X)):
        rows = on_grid(matrix, space, module)
        assert table_of(rows).tolist() == integers.tolist()
        for row, length in zip(integers.tolist(), rows.lengths.tolist(), strict=True):
            assert sum(k * k for k in row) <= (Fraction(length) * 2**DIGITS) ** 2


@pytest.mark.parametrize(
    "old, new",
    [
        ("(np.sqrt(squares) + math.sqrt(self.space.dim) / 2) ** 2", "squares"),
        ("* 4.0**self._dropped", "* 2.0**self._dropped"),
    ],
)
def test_lengths_that_are_too_small_are_noticed(assert_killed, old, new):
    assert_killed(lengths_are_upper_bounds, "dperm.data.grid_rows", old, new)


def sums_of_squares_are_exact(module) -> None:
    """The largest measured parts of a row have a sum of squares of at most 2^53, for every number of columns."""
    for dim in [*range(1, 200), 2**12, 2**12 + 1]:
        dropped = module.RowGrid(FeatureSpace(dim, bounds=((-1, 1),) * dim))._dropped
        assert dim * 4 ** (DIGITS - dropped) <= 2**53
        assert dropped == 0 or dim * 4 ** (DIGITS - dropped + 1) > 2**52


def test_sums_of_squares_beyond_53_digits_are_noticed(assert_killed):
    assert_killed(
        sums_of_squares_are_exact, "dperm.data.grid_rows", "(self.space.dim - 1).bit_length()) // 2)", "4) // 2)"
    )


def spoiled_rows_are_zero(module) -> None:
    X = np.array([[1.0, 2.0], [np.nan, 1.0], [0.1, np.inf]])
    for matrix in (X, sparse.csr_array(X)):
        with np.errstate(all="ignore"):
            rows, bad = module.RowGrid(FeatureSpace(2, norm=1.0)).rows(matrix, codes(3))
        assert bad.tolist() == [False, True, True]
        assert table_of(rows)[1:].tolist() == [[0.0, 0.0]] * 2


@pytest.mark.parametrize("old", ["units[bad], squares[bad] = 0.0, 0.0", "x = np.where(bad[places], 0.0, x)"])
def test_a_row_that_is_not_finite_and_counts_is_noticed(assert_killed, old):
    assert_killed(spoiled_rows_are_zero, "dperm.data.grid_rows", old, "pass")


@pytest.mark.parametrize("new", ["(columns * columns).sum(axis=0)", 'np.einsum("ij,ij->j", columns, columns)'])
def test_norms_by_library_reductions_are_noticed(assert_killed, new):
    """Their order of additions depends on the block."""
    old = "        squares += column\n    return squares\n"
    assert_killed(assert_functions_of_the_record, "dperm.data.grid_rows", old, f"        pass\n    return {new}\n")


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_parts_are_views_and_joined_parts_are_the_rows(is_sparse):
    space = FeatureSpace(4, norm=1.0)
    X = np.where(np.random.default_rng(2).random((5000, 4)) < 0.5, 1.0, 0.0)
    whole = on_grid(sparse.csr_array(X) if is_sparse else X, space)
    assert whole.is_sparse == is_sparse
    parts = [whole.part(0, 7), whole.part(7, 7), whole.part(7, 4999), whole.part(4999, 9000)]
    assert [part.count for part in parts] == [7, 0, 4992, 1]
    stored = [rows.cells.data if is_sparse else rows.cells for rows in (whole, parts[2])]
    assert np.shares_memory(*stored)
    again = joined(parts, whole.grid, codes(0))
    assert table_of(again).tobytes() == table_of(whole).tobytes()
    assert again.lengths.tobytes() == whole.lengths.tobytes()
    assert [block.count for block in whole.blocks()] == [2048, 2048, 904]
    chosen = whole.at(np.array([4, 1, 4]))
    assert table_of(chosen).tolist() == table_of(whole)[[4, 1, 4]].tolist()
    assert joined([], whole.grid, codes(0)).count == 0
    assert whole.nbytes() <= X.size * 8 + 5000 * 5
