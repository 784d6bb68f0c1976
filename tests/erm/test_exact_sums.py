# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact sums through linear algebra libraries (T201, T203): against whole numbers of Python, at the largest entries."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from threadpoolctl import threadpool_limits

from dperm.data.bounded import enforce
from dperm.data.grid_rows import DIGITS, SUMMED_ROWS, GridRows, RowGrid
from dperm.data.passes import Place, total
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval, LabelKind
from dperm.erm import exact_sums, kernels
from dperm.erm.exact_sums import (
    LOW,
    SCORE_ACCURACY,
    SLOPE_DIGITS,
    SLOPE_SLICES,
    ScoreSlices,
    cut,
    doubles_of,
    exponent,
    halves,
    total_of_products,
)
from dperm.erm.kernels import SquaresKernel
from dperm.erm.losses import HuberHinge, Logistic
from dperm.erm.objective import Objective
from dperm.erm.residual_losses import Huber, Squared
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec
from dperm.erm.table_objective import EXACT, FIRST, MIDDLE, TableObjective, gradient_kernel

LARGEST = 2**DIGITS


def whole(found: np.ndarray) -> np.ndarray:
    """Integers of Python from their halves."""
    return found[0].astype(object) * 2**LOW + found[1]


def extreme_rows(rng: np.random.Generator, count: int, columns: int) -> np.ndarray:
    """Entries at their ends and next to them, all alike in some columns, so that sums are as large as they can be."""
    cells = rng.choice([-LARGEST, LARGEST, LARGEST - 1, 1 - LARGEST, 1, 0], size=(count, columns)).astype(np.float64)
    cells[:, 0] = LARGEST - 1
    return cells


def extreme_amounts(rng: np.random.Generator, shape: tuple[int, ...], top: int) -> np.ndarray:
    """Numbers at 2^top, next to it, far below it and 0; in some columns all are nearly at 2^top."""
    near = 1 - 2.0 ** -rng.integers(1, 53, size=shape)
    amounts = np.where(rng.random(shape) < 0.5, near, rng.choice([1.0, -1.0, 2.0**-40, 1e-300, 0.0], size=shape))
    amounts.reshape(shape[0], -1)[:, 0] = 1 - 2.0**-18 - 2.0**-36  # every slice is as large as it can be
    return amounts * 2.0**top


def assert_sums_are_exact(module, *, seed=0, count=SUMMED_ROWS, outputs=1, columns=3, top=1, constant=2**22) -> None:
    rng = np.random.default_rng(seed)
    cells = extreme_rows(rng, count, columns)
    amounts = extreme_amounts(rng, (count,) if outputs == 1 else (count, outputs), top)
    flat = amounts.reshape(count, -1).T
    slices = cut(flat, top, digits=SLOPE_DIGITS, count=SLOPE_SLICES).reshape(-1, count)
    table = np.hstack([cells, np.full((count, 1 if constant else 0), float(constant))])
    wanted = slices.astype(np.int64).astype(object) @ table.astype(np.int64).astype(object)
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            for rows, outside in [(table, 0), (cells, constant), (sparse.csr_array(cells), constant)]:
                found = module.products_with_rows(amounts, rows, outside, top)
                assert (whole(found) == wanted).all()
    exact = [
        [sum(Fraction(a) * int(k) for a, k in zip(one, column, strict=True)) for column in table.T] for one in flat
    ]
    result = module.total_of_products(found, 1.0, top, outputs).reshape(outputs, -1)
    for one, row in zip(exact, result.tolist(), strict=True):
        for value, double in zip(one, row, strict=True):
            rounded, cut_off = Fraction(2) ** -50 * abs(value), count * LARGEST * Fraction(2) ** (top - 52)
            assert abs(Fraction(double) - value) <= rounded + cut_off


@pytest.mark.parametrize("count", [1, 2, 777, SUMMED_ROWS])
@pytest.mark.parametrize("outputs", [1, 2, 3, 11])
def test_sums_of_a_block_are_exact_at_their_largest(count, outputs):
    assert_sums_are_exact(exact_sums, seed=count, count=count, outputs=outputs, columns=2)


@settings(max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 60),
    st.sampled_from([1, 3, 9]),
    st.integers(1, 5),
    st.integers(-300, 300),
    st.sampled_from([0, 1, 2**22, 2**24]),
)
def test_sums_of_any_block_are_exact(seed, count, outputs, columns, top, constant):
    assert_sums_are_exact(
        exact_sums, seed=seed, count=count, outputs=outputs, columns=columns, top=top, constant=constant
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SLOPE_DIGITS = 17", "SLOPE_DIGITS = 20"),
        ("np.bitwise_and(whole, 2**LOW - 1, out=found[1])", "np.bitwise_and(whole, 2**LOW - 2, out=found[1])"),
        ("rest -= slices[place]", "rest *= 0.0"),
        ("flat.sum(axis=1, keepdims=True) * constant", "flat.sum(axis=1, keepdims=True) * constant * 0.5"),
        ("for place in range(slices - 2, -1, -1):", "for place in range(slices - 3, -1, -1):"),
    ],
)
def test_sums_that_are_not_exact_are_noticed(assert_killed, old, new):
    assert_killed(assert_sums_are_exact, "dperm.erm.exact_sums", old, new)


@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=5), st.integers(-200, 200), st.integers(1, 28), st.integers(1, 9)
)
def test_the_cut_is_exact(numbers, top, digits, count):
    values = np.array(numbers) * 2.0**top
    parts = cut(values, top, digits=digits, count=count)
    assert np.abs(parts).max() <= 2**digits
    for value, slices in zip(values.tolist(), parts.T.tolist(), strict=True):
        places = enumerate(slices, start=1)
        held = sum(int(part) * Fraction(2) ** (top - digits * place) for place, part in places)
        assert abs(Fraction(value) - held) <= Fraction(2) ** (top - digits * count - 1)


@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=5), st.integers(-99, 99), st.integers(1, 28), st.integers(0, 2**32)
)
def test_further_digits_go_into_the_slices(numbers, top, digits, seed):
    """theta + low with |low| at most half the last digit of theta: off by no more than the digits without a slice."""
    values = np.array(numbers) * 2.0**top
    low = np.random.default_rng(seed).uniform(-1, 1, len(values)) * np.spacing(np.abs(values)) / 2
    count = math.ceil(62 / digits)
    parts = cut(values, top, digits=digits, count=count, low=low)
    assert np.abs(parts).max() <= 2**digits + 1
    for value, rest, slices in zip(values.tolist(), low.tolist(), parts.T.tolist(), strict=True):
        places = enumerate(slices, start=1)
        held = sum(int(part) * Fraction(2) ** (top - digits * place) for place, part in places)
        off = abs(Fraction(value) + Fraction(rest) - held)
        assert off <= Fraction(2) ** (top - digits * count - 1) + Fraction(2) ** (top - 78)


@given(st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=300))
def test_halves_add_up_to_the_sum_and_their_double_is_its_nearest(numbers):
    sums = np.sum([halves(np.array([float(number)])) for number in numbers], axis=0)
    assert whole(sums).tolist() == [sum(numbers)]
    assert doubles_of(sums).tolist() == [float(sum(numbers))]


def test_sums_of_more_blocks_than_ever_occur_do_not_overflow():
    """2^33 blocks at their largest, and most negative: 64-bit halves suffice, and their double is off by 3u at most."""
    for number in (2**52, -(2**52), 2**LOW - 1, -1):
        sums = halves(np.array([float(number)])) * np.int64(2**33)
        assert whole(sums).tolist() == [number * 2**33]
        scale = max(abs(number) * 2**33, 2**33 * 2**LOW)
        assert abs(int(doubles_of(sums)[0]) - number * 2**33) <= 3 * scale / 2**53


@given(st.floats(1e-260, 1e300))
def test_the_exponent_of_a_bound_is_the_next_power_of_two(bound):
    assert Fraction(bound) < Fraction(2) ** exponent(bound) <= 2 * Fraction(bound)


def widths() -> list[int]:
    return sorted(
        {1, 3, 7, 51, 1000, 10**6}
        | {2**power + more for power in range(27) for more in (-1, 0, 1) if power or more >= 0}
    )


def test_products_with_slices_stay_exact_for_one_to_2_to_the_26_columns():
    """Sums of |k||S| with ||k|| <= R and |k_j| <= c are at most 2^52; slices are no shorter than that takes."""
    for columns in widths():
        for radius in (1.0, math.hypot(1, 0.25), 2.0, 4.13, math.sqrt(columns)):
            shape = ScoreSlices.of(columns, radius)
            most = min(Fraction(columns) ** 2, columns * Fraction(radius) ** 2) * LARGEST**2 * 4**shape.digits
            assert most <= 4**52 * (1 + Fraction(2) ** -50)
            assert most > 4**50
            assert (
                shape.digits * shape.count >= SCORE_ACCURACY + math.log2(columns) / 2 > shape.digits * (shape.count - 1)
            )


def assert_largest_scores_are_exact(module, columns=63) -> None:
    """Rows and slices at their ends, all of one sign: the products of the first slice are next to 2^52."""
    space = FeatureSpace(columns, bounds=((-1.0, 1.0),) * columns)
    rng = np.random.default_rng(columns)
    theta = 1 - 2.0 ** -rng.integers(20, 30, size=columns + 1)
    found = module.SlicedCoefficients.of(RowGrid(space), theta, 1)
    cells = np.vstack([np.full((3, columns), float(LARGEST)), extreme_rows(rng, 40, columns)])
    cells[1, ::2] -= 1
    scores, digits = found.scores(cells), 2 ** (found.shape.digits * found.shape.count)
    for row, score in zip(cells.tolist(), scores.tolist(), strict=True):
        exact = (
            sum(int(k) * Fraction(one) for k, one in zip([*row, LARGEST], theta, strict=True)) * Fraction(2) ** -DIGITS
        )
        assert abs(Fraction(score) - exact) <= 2 * Fraction(2) ** -53 * abs(exact) + Fraction(columns, digits)


def test_the_largest_scores_are_exact():
    for columns in (1, 2, 62, 63, 64, 1000):
        assert_largest_scores_are_exact(exact_sums, columns)


def test_slices_of_too_many_digits_are_noticed(assert_killed):
    assert_killed(
        assert_largest_scores_are_exact, "dperm.erm.exact_sums", "digits = 52 - DIGITS -", "digits = 56 - DIGITS -"
    )


def assert_differences_are_exact(module) -> None:
    """Softmax scores of 10^12 that differ by about 1: off by two units of their differences, whatever their size."""
    space, rng = FeatureSpace(5, norm=1.0), np.random.default_rng(4)
    cells = rng.integers(-(2**22), 2**22, size=(30, 5)).astype(np.float64)
    common = 1e12 * rng.normal(size=6)
    theta = (common + np.rint(rng.normal(size=(4, 6)) * 2.0**8) * 2.0**-8).ravel()
    grid = RowGrid(space)
    scores = module.SlicedCoefficients.of(grid, theta, 4).scores(cells)
    unit = Fraction(grid.unit)
    for row, found in zip(cells.tolist(), scores.tolist(), strict=True):
        table = theta.reshape(4, 6).tolist()
        pairs = [zip([*row, grid.constant], one, strict=True) for one in table]
        exact = [sum(int(k) * Fraction(part) for k, part in pair) * unit for pair in pairs]
        off = [Fraction(a) - (b - max(exact)) for a, b in zip(found, exact, strict=True)]
        assert max(map(abs, off)) <= 2.0**-50 * float(max(exact) - min(exact)) + 1e12 * 2.0**-SCORE_ACCURACY
        assert max(found) == 0


def test_differences_of_scores_are_taken_before_rounding(assert_killed):
    old = "parts -= np.take_along_axis(parts, largest[np.newaxis, np.newaxis], axis=1)"
    assert_killed(assert_differences_are_exact, "dperm.erm.exact_sums", old, "parts -= 0.0")


def rows_of(cells: np.ndarray) -> GridRows:
    grid = RowGrid(FeatureSpace(cells.shape[1], norm=1.0))
    return GridRows(grid, cells.astype(np.float32), np.ones(len(cells), np.float32), np.zeros(len(cells), np.int8))


def assert_squares_are_exact(module) -> None:
    """Beside 2^24, where single precision ends, at the largest entries, and for roots and scales of any size."""
    rng = np.random.default_rng(24)
    signs = rng.choice([-1, 1], size=(SUMMED_ROWS, 3))
    tables = {
        "single": 89 * signs + 1,
        "just double": rng.integers(60, 120, size=(SUMMED_ROWS, 3)),
        "beside single": np.where(np.arange(SUMMED_ROWS)[:, np.newaxis] == 7, 4095, signs),
        "double": 2047 * signs,
        "largest": (2**20 - 1) * signs,
        "cut off": (2**24 - 1) * signs,
        "one row": np.array([[4097, 4095, 1]]),
        "no rows": np.empty((0, 3)),
    }
    for name, cells in tables.items():
        for powers, bend in (
            (np.array([0, 0, 0, -20]), 1.0),
            (np.array([-3, 0, -1, -19]), 0.7),
            (np.array([2, -9, 0, -20]), 0.3),
        ):
            rows = rows_of(cells)
            roots = module.RootRows.of(rows, 0, powers)
            found = roots.squares(rows, np.full(len(cells), bend))
            factor = np.float32(np.sqrt(bend)) * np.ldexp(np.float32(1), powers)
            table = np.hstack([cells, np.full((len(cells), 1), rows.grid.constant)]).astype(np.float32)
            integers = np.clip(np.rint(table * factor), -(2**20), 2**20).astype(int).astype(object)
            assert (whole(found) == integers.T @ integers).all(), name


def test_squares_of_a_block_are_exact():
    assert_squares_are_exact(kernels)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SINGLE = 2.0**24", "SINGLE = 2.0**26"),
        ("LARGEST_ROOT = np.float32(2.0**20)", "LARGEST_ROOT = np.float32(2.0**23)"),
        ("products = table.T @ table", "products = (short.T @ short).astype(np.float64)"),
        ("np.rint(short, out=short)", "short"),
    ],
)
def test_squares_that_are_not_exact_are_noticed(assert_killed, old, new):
    assert_killed(assert_squares_are_exact, "dperm.erm.kernels", old, new)


LOSSES = {
    "logistic": (Logistic(), None),
    "clipped Huber hinge": (HuberHinge(0.2), 0.3),
    "clipped squared": (Squared(), 0.4),
    "Huber": (Huber(0.5), None),
    "softmax": (Softmax(4), None),
    "clipped softmax": (Softmax(3), 0.2),
}


def data_of(loss, matrix=np.array, rows=5000):
    rng = np.random.default_rng(9)
    space = FeatureSpace(6, norm=1.3)
    X = np.where(rng.random((rows, 6)) < 0.6, rng.normal(size=(rows, 6)), 0.0)
    if loss.labels is LabelKind.NUMBER:
        return enforce(matrix(X), rng.uniform(-1, 1, rows), space, Interval(-1.0, 1.0))
    classes = tuple(range(max(loss.outputs, 2)))
    return enforce(matrix(X), rng.integers(0, len(classes), rows), space, Classes(classes))


def kernels_of(data, loss, clip):
    """Every kernel that a solver runs, at some coefficients."""
    spec = ProblemSpec(loss, data.space.radius, loss.outputs * data.space.size, regularization=1.0, clip=clip)
    rng, seen = np.random.default_rng(2), []

    class Seen:
        space, target, grid, rows = data.space, data.target, data.grid, data.rows

        def sums(self, kernel):
            seen.append(kernel)
            return data.sums(kernel)

    objective = TableObjective(Seen(), spec, np.zeros(spec.dim), caution=0.1)
    theta = 2 * rng.normal(size=spec.dim)
    objective.value(theta)
    for digits in (EXACT, MIDDLE, FIRST):
        objective.gradient(theta, digits=digits)
    objective.hessian_product(theta, rng.normal(size=spec.dim))
    if loss.outputs == 1:
        like = Objective(data, spec, np.zeros(spec.dim)).hessian(theta)
        objective.gradient_and_hessian(theta, like)
        objective.gradient_and_hessian(theta, like, bits=14)
        objective.gradient_and_hessian(theta, like / 2.0**16)  # far beyond single precision
    return [*seen, SquaresKernel(data.grid, data.target)]


@pytest.mark.parametrize("name", LOSSES)
def test_integers_depend_on_the_records_alone(name):
    """T203: not on the cut of the rows, their order, a row's neighbours, sparse storage or the number of threads."""
    loss, clip = LOSSES[name]
    data, rng = data_of(loss), np.random.default_rng(3)
    held, sparse_rows = data.in_memory(), data_of(loss, sparse.csr_array).in_memory()
    cuts = np.sort(rng.integers(0, held.count + 1, size=40)).tolist()
    alone = [(start, start + 1) for start in range(0, held.count, 501)]
    for kernel in kernels_of(data, loss, clip):
        wanted = kernel(held, Place("", 0))
        parts = [held.part(start, stop) for start, stop in pairwise([0, 0, *cuts, held.count, held.count])]
        found = [total(kernel(parts[place], Place("", 0)) for place in rng.permutation(len(parts)))]
        found.append(kernel(held.at(rng.permutation(held.count)), Place("", 0)))
        found.append(kernel(sparse_rows, Place("", 0)))
        for threads in (1, 2):
            with threadpool_limits(threads, "blas"):
                found.append(kernel(held, Place("", 0)))
        for sums in found:
            assert sums.keys() == wanted.keys()
            for key, integers in wanted.items():
                assert (whole(sums[key]) == whole(integers)).all()
                assert doubles_of(sums[key]).tobytes() == doubles_of(integers).tobytes()
        for start, stop in alone:
            rest = held.at(np.delete(np.arange(held.count), np.arange(start, stop)))
            own, others = kernel(held.part(start, stop), Place("", 0)), kernel(rest, Place("", 0))
            assert all((whole(own[key]) + whole(others[key]) == whole(wanted[key])).all() for key in wanted)


def slopes_alone(kernel, held: GridRows, start: int) -> np.ndarray:
    block = held.part(start, start + 1)
    scores = kernel.coefficients.scores(block.cells.astype(np.float64))
    return kernel.loss.slopes(scores, kernel.target.targets(block.codes)[0], kernel.limits(block))


@pytest.mark.parametrize("name", LOSSES)
def test_the_slope_of_a_record_has_the_same_bits_alone_and_among_others(name):
    """A1: scores, exponential functions and sums over classes do not depend on the place of a row in its block."""
    loss, clip = LOSSES[name]
    data = data_of(loss, rows=600)
    spec = ProblemSpec(loss, data.space.radius, loss.outputs * data.space.size, clip=clip)
    for size in (0.1, 3.0, 100.0):
        kernel = gradient_kernel(data, spec, size * np.random.default_rng(5).normal(size=spec.dim))
        held = data.in_memory()
        scores = kernel.coefficients.scores(held.cells.astype(np.float64))
        slopes = loss.slopes(scores, data.target.targets(held.codes)[0], kernel.limits(held))
        for start in range(600):
            assert slopes_alone(kernel, held, start).tobytes() == slopes[start].tobytes()


def test_a_total_is_the_gradient():
    """Against fractions, for two scores and a constant column: every digit that a slice holds counts."""
    rng = np.random.default_rng(6)
    cells, amounts = rng.integers(-LARGEST, LARGEST, size=(50, 3)).astype(np.float64), rng.uniform(-1, 1, size=(50, 2))
    sums = exact_sums.products_with_rows(amounts, cells, 2**22, 0)
    found = total_of_products(sums, 0.3 * 2.0**-24, 0, 2).reshape(2, 4)
    table = np.hstack([cells, np.full((50, 1), 2.0**22)])
    for score in range(2):
        for column in range(4):
            terms = zip(amounts[:, score].tolist(), table[:, column].tolist(), strict=True)
            exact = sum(Fraction(a) * Fraction(k) for a, k in terms) * Fraction(0.3) / LARGEST
            assert float(found[score, column]) == pytest.approx(float(exact), rel=1e-14)
