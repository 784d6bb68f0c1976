# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The statements of docs/theory/large-tables.md on small cases, with exact integers and fractions (T200 to T206)."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from engine_stand_ins import InProcess
from plain_objective import Plain
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from dperm import ApproxDP
from dperm.data.bounded import BoundedData, enforce
from dperm.data.grid_rows import DIGITS, SUMMED_ROWS, GridRows, RowGrid
from dperm.data.passes import Place, Sums, TablePasses, checksum_of, first_answers, total
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval
from dperm.erm import minimize as minimize_module
from dperm.erm.exact_sums import (
    SLOPE_DIGITS,
    SLOPE_SLICES,
    SlicedCoefficients,
    cut,
    doubles_of,
    products_with_rows,
)
from dperm.erm.gradient import loss_gradient
from dperm.erm.kernels import SquaresKernel
from dperm.erm.losses import HuberHinge, Logistic
from dperm.erm.minimize import minimize
from dperm.erm.residual_losses import Huber
from dperm.erm.rounding import gradient_error
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec
from dperm.erm.table_objective import Expansion, TableObjective, gradient_kernel
from dperm.errors import AssumptionError, DataError
from dperm.methods import ObjectivePerturbation
from dperm.noise import NotPrivateBits

SPACES = {
    "norm": FeatureSpace(3, norm=1.0),
    "odd norm": FeatureSpace(3, norm=0.3, intercept=False),
    "many columns": FeatureSpace(51, norm=7.3),
    "bounds": FeatureSpace(3, bounds=((-1.0, 1.0), (0.0, 3.0), (-2.0, 9.0))),
    "many bounds": FeatureSpace(51, bounds=((-1.0, 1.0),) * 51),
    "bounds and a norm": FeatureSpace(6, norm=2.0, bounds=((-1.0, 1.0),) * 6),
    "bounds and a norm beyond them": FeatureSpace(3, norm=9.0, bounds=((-1.0, 1.0),) * 3),
    "bounds and a small norm": FeatureSpace(3, norm=0.1, bounds=((-1.0, 1.0),) * 3),
}
ALL = pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
LOSSES = {
    "logistic": (Logistic(), None),
    "clipped logistic": (Logistic(), 0.2),
    "Huber hinge": (HuberHinge(0.5), None),
    "Huber": (Huber(0.5), None),
    "softmax": (Softmax(4), None),
}


def raw_rows(space: FeatureSpace, count: int, seed: int) -> np.ndarray:
    """Rows inside, far outside and next to the sphere."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, space.dim))
    X /= np.linalg.norm(X, axis=1)[:, np.newaxis]
    return X * space.row_norm * rng.choice([1e-9, 0.5, 1 - 2.0**-50, 1.0, 1 + 2.0**-50, 2.0, 1e200], size=(count, 1))


def on_grid(X: Any, space: FeatureSpace) -> GridRows:
    codes = np.zeros(X.shape[0], dtype=np.int8)
    return RowGrid(space).rows(X, codes)[0]


def integers(rows: GridRows) -> list[list[int]]:
    cells = rows.cells if isinstance(rows.cells, np.ndarray) else rows.cells.toarray()
    return [[int(k) for k in row] for row in cells.tolist()]


# T200: rows on a grid.


@ALL
def test_no_row_leaves_the_ball_and_lengths_are_upper_bounds(space):
    """T200: by whole numbers, k'k <= (R/unit)^2, with and without the constant; some rows reach the sphere."""
    rows = on_grid(raw_rows(space, 3000, 0), space)
    unit, constant = Fraction(rows.grid.unit), rows.grid.constant
    assert constant * unit == Fraction(space.constant)
    most, longest = Fraction(space.row_norm) ** 2 * (1 + Fraction(2) ** -50), Fraction(0)
    for row, length in zip(integers(rows), rows.lengths.tolist(), strict=True):
        assert all(abs(k) <= 2**DIGITS for k in row)
        square = sum(k * k for k in row) * unit**2
        longest = max(longest, square)
        assert square <= most
        assert square + (constant * unit) ** 2 <= (Fraction(length) * Fraction(rows.grid.step)) ** 2
        assert length * rows.grid.step <= space.radius * (1 + 2.0**-22)
    assert longest >= most * (1 - Fraction(2) ** -20)


@ALL
def test_entries_are_truncated_by_less_than_a_unit(space):
    """T200: |q_j - x_j| < c 2^-24, against fractions, apart from rounding in doubles."""
    X = raw_rows(space, 200, 1)
    rows = on_grid(X, space)
    for row, found in zip(X.tolist(), integers(rows), strict=True):
        exact = [Fraction(value) for value in row]
        if space.bounds is not None:
            ends = [(Fraction(low), Fraction(high)) for low, high in space.bounds]
            exact = [(2 * x - low - high) / (high - low) for x, (low, high) in zip(exact, ends, strict=True)]
            exact = [min(max(x, Fraction(-1)), Fraction(1)) for x in exact]
        with mp.workdps(60):
            length = mp.sqrt(sum(mp.mpf(x.numerator) ** 2 / mp.mpf(x.denominator) ** 2 for x in exact))
            share = min(1, mp.mpf(space.row_norm) / length)
            for x, k in zip(exact, found, strict=True):
                true = share * x.numerator / x.denominator
                assert abs(true - k * mp.mpf(rows.grid.unit)) < rows.grid.unit * (1 + 2.0**-20)
                assert abs(k * mp.mpf(rows.grid.unit)) <= abs(true) * (1 + mp.mpf(2) ** -50)


@ALL
def test_a_row_is_a_function_of_its_record_alone(space):
    """T200: to the last bit, alone, among others, in any memory order, sparse or dense."""
    X = raw_rows(space, 500, 2)
    whole = on_grid(X, space)
    others = [np.asfortranarray(X), X[::-1][::-1], np.vstack([X, X])[:500]]
    others += [csr_array(X)] if space.center is None else []
    for other in others:
        found = on_grid(other, space)
        assert integers(found) == integers(whole)
        assert np.array_equal(found.lengths, whole.lengths)
    for place in range(0, 500, 7):
        alone = on_grid(X[place : place + 1], space)
        assert np.array_equal(alone.cells[0], whole.cells[place])
        assert alone.lengths[0] == whole.lengths[place]


# T201: exact sums.


def whole_numbers(sums: np.ndarray) -> np.ndarray:
    """The integers of sums of `halves`, of any size."""
    return sums[0].astype(object) * 2**30 + sums[1]


def exact_product(amounts: list[list[int]], rows: list[list[int]]) -> list[list[int]]:
    return [
        [sum(a * k for a, k in zip(one, column, strict=True)) for column in zip(*rows, strict=True)] for one in amounts
    ]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("count", [SUMMED_ROWS, 1777])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_sums_of_a_block_are_exact_next_to_their_limit(is_sparse, count, threads):
    """T201: slopes and entries next to their limits, against integers of any size."""
    rng = np.random.default_rng(3)
    cells = rng.choice([-(2.0**24), 2.0**24 - 1, 2.0**24], size=(count, 3))
    cells[:, 0] = 2.0**24 - 1
    amounts = rng.uniform(1.99, 2.0, size=count)
    with threadpool_limits(threads, "blas"):
        found = products_with_rows(amounts, csr_array(cells) if is_sparse else cells, 2**22, 1)
    slices = [[int(part) for part in one] for one in cut(amounts, 1, digits=SLOPE_DIGITS, count=SLOPE_SLICES).tolist()]
    wanted = exact_product(slices, [[*map(int, row), 2**22] for row in cells.tolist()])
    assert whole_numbers(found).tolist() == wanted
    assert max(abs(value) for one in wanted for value in one) > 2**51
    assert np.array_equal(doubles_of(found), [[float(value) for value in one] for one in wanted])


def test_blocks_of_a_kernel_are_short_enough():
    """T201: 16,000 records that all add nearly the most have the same sum in one part and in parts of 1,000."""
    space, rng = FeatureSpace(20, bounds=((-1.0, 1.0),) * 20), np.random.default_rng(20)
    X = 1 - 2.0**-24 * rng.choice([1, 3, 5], size=(16_000, 20))
    data = enforce(X, np.zeros(16_000, dtype=int), space, Classes((0, 1), (1.99, 1.99)))
    spec = ProblemSpec(Logistic(), space.radius, space.size, weight=1.99)
    kernel = gradient_kernel(data, spec, np.linspace(0.1, 1.0, 21))
    rows = data.in_memory()
    parts = total(kernel(part, Place("", start)) for start, part in parts_of(rows, list(range(1000, 16_000, 1000))))
    whole = whole_numbers(kernel(rows, Place("", 0))["gradient"])
    assert (whole == whole_numbers(parts["gradient"])).all()
    assert max(abs(whole).ravel()) > 2**53, "the sum of all rows would be exact in one block as well"


def test_the_cut_is_exact():
    """T201: the slices and a rest of at most 2^(top - digits count - 1) are the number itself."""
    rng = np.random.default_rng(4)
    values = rng.normal(size=300) * 2.0 ** rng.integers(-60, 0, size=300)
    top = math.frexp(float(np.abs(values).max()))[1]
    parts = cut(values, top, digits=17, count=3)
    assert np.abs(parts).max() <= 2**17
    for value, slices in zip(values.tolist(), parts.T.tolist(), strict=True):
        held = sum(Fraction(part) * Fraction(2) ** (top - 17 * (place + 1)) for place, part in enumerate(slices))
        assert abs(Fraction(value) - held) <= Fraction(2) ** (top - 52)


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 51, 64, 65, 1000])
@pytest.mark.parametrize("shape", ["ball", "box"])
def test_products_with_slices_of_coefficients_are_exact(columns, shape):
    """T201: digits by min(D, sqrt(D) R/c): the worst rows of the ball and of the box, against integers."""
    rng = np.random.default_rng(columns)
    space = (
        FeatureSpace(columns, norm=1.0) if shape == "ball" else FeatureSpace(columns, bounds=((-1.0, 1.0),) * columns)
    )
    theta = rng.choice([-1.0, 1.0], size=columns + 1) * (1 - 2.0**-30 * rng.integers(0, 9, size=columns + 1))
    found = SlicedCoefficients.of(RowGrid(space), theta, 1)
    signs = np.sign(theta[:columns])
    worst = space.row_norm / math.sqrt(columns) * signs
    cells = on_grid(np.vstack([worst, -worst, worst * rng.uniform(0.9, 1.0, size=columns)]), space).cells.astype(float)
    products, unit = found._products(cells), Fraction(2) ** (found.top - found.shape.digits)
    for parts, results in zip(found._slices.tolist(), products.tolist(), strict=True):
        for row, result in zip(cells.tolist(), results, strict=True):
            entries = [*row, found.grid.constant]
            assert sum(Fraction(k) * Fraction(part) for k, part in zip(entries, parts, strict=True)) == Fraction(result)
    largest = max(abs(Fraction(result)) for result in products[0].tolist()) / unit
    assert Fraction(2) ** 49 < largest <= Fraction(2) ** 52, "slices have other digits than T201 allows"


def test_squares_are_exact():
    """T201: sums of x x' over three blocks, by halves of 12 digits, against integers."""
    space, rng = FeatureSpace(3, bounds=((-1.0, 1.0),) * 3), np.random.default_rng(5)
    X = rng.choice([-1.0, 1.0, 1 - 2.0**-24, 0.3], size=(2 * SUMMED_ROWS + 5, 3))
    data = enforce(X, np.zeros(len(X)), space, Interval(0.0, 1.0))
    kernel = SquaresKernel(data.grid, data.target)
    sums = kernel(data.in_memory(), Place("", 0))
    table = np.array([[*row, data.grid.constant] for row in integers(data.in_memory())], dtype=object)
    wanted = table.T @ table
    high, mixed, low = (whole_numbers(sums[name]) for name in ("high", "mixed", "low"))
    assert ((high * 2**24 + mixed * 2**12 + low) == wanted).all()


# T202: the error of a gradient.


def problem(name: str, rows: int, seed: int, space: FeatureSpace = SPACES["norm"]) -> tuple[BoundedData, ProblemSpec]:
    loss, clip = LOSSES[name]
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, space.dim)) * rng.choice([0.01, 1.0], size=(rows, 1))
    if isinstance(loss, Huber):
        target, y = Interval(-1.0, 1.0), rng.uniform(-1, 1, size=rows)
    else:
        classes = tuple(range(loss.classes)) if isinstance(loss, Softmax) else (0, 1)
        target, y = Classes(classes), rng.integers(0, len(classes), size=rows)
    spec = ProblemSpec(loss, space.radius, loss.outputs * space.size, regularization=1.0, clip=clip)
    return enforce(X, y, space, target), spec


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(("length", "space"), [(0.0, "norm"), (1.0, "norm"), (40.0, "many bounds"), (1e6, "norm")])
def test_gradients_are_within_the_bound_of_the_exact_ones(name, length, space):
    """T202: by mpmath; one slice less would be noticed."""
    data, spec = problem(name, 60, 6, SPACES[space])
    rng = np.random.default_rng(7)
    theta = rng.normal(size=spec.dim)
    theta *= length / np.linalg.norm(theta)
    with mp.workdps(60):
        exact = Plain(data, spec, np.zeros(spec.dim), mp.mpf).gradient(np.array([mp.mpf(part) for part in theta]))
        exact = exact - np.array([mp.mpf(part) for part in theta])
        off = exact - np.array([mp.mpf(part) for part in loss_gradient(data, spec, theta)])
        size = mp.sqrt(sum(part * part for part in off))
    assert size <= gradient_error(spec, 60, length * (1 + 1e-9))
    assert size > 0 or length != 1.0, "doubles were expected to round"


def test_the_bound_grows_like_the_number_of_rows():
    """T202: not like its square; and at most a hundred units of rounding for each record, at any usual theta."""
    _, spec = problem("logistic", 10, 8)
    for length in (1.0, 10.0, 1000.0):
        small, large = (gradient_error(spec, rows, length) - gradient_error(spec, 0, length) for rows in (10**3, 10**9))
        assert large == pytest.approx(10**6 * small, rel=1e-6)
        assert large <= 100 * 2.0**-53 * 10**9 * spec.lipschitz


# T203: independence of cuts, order and place.


def parts_of(rows: GridRows, cuts: list[int]) -> list[tuple[int, GridRows]]:
    return [(start, rows.part(start, stop)) for start, stop in pairwise([0, *cuts, rows.count])]


@pytest.mark.parametrize("name", LOSSES)
def test_integers_do_not_depend_on_cuts_or_order(name):
    """T203: 302 uneven parts, some of them without rows, in random order, and rows in random order: equal integers."""
    data, spec = problem(name, 9000, 9)
    rng = np.random.default_rng(10)
    kernel = gradient_kernel(data, spec, rng.normal(size=spec.dim))
    rows = data.in_memory()
    wanted = kernel(rows, Place("", 0))["gradient"]
    parts = parts_of(rows, sorted([0, 9000, *rng.integers(0, 9001, size=300).tolist()]))
    found = total(kernel(parts[place][1], Place("", parts[place][0])) for place in rng.permutation(len(parts)))
    shuffled = kernel(rows.at(rng.permutation(9000)), Place("", 0))["gradient"]
    for other in (found["gradient"], shuffled):
        assert (whole_numbers(other) == whole_numbers(wanted)).all()
        assert np.array_equal(doubles_of(other), doubles_of(wanted))


def test_a_double_is_a_function_of_the_integer():
    """T203: carries between the halves depend on the cuts, so they are settled before anything is rounded."""
    for value in (2**53 + 1, -(2**53) - 3, 3 * 2**60 + 2**9, -7):
        pairs = [(value >> 30, value % 2**30), ((value >> 30) - 2**28, value % 2**30 + 2**58)]
        one, two = (float(doubles_of(np.array(pair).reshape(2, 1))[0]) for pair in pairs)
        assert one == two
        assert abs(Fraction(one) - value) <= 3 * Fraction(2) ** -53 * abs(value)


class Encoded:
    """A row group as an engine holds it."""

    def __init__(self, name: str, rows: GridRows, height: int = 997) -> None:
        self.id, self.held, self.height = name, rows, height
        self.rows, self.checksum, self.problems = rows.count, checksum_of(rows), frozenset[str]()

    def chunks(self) -> Any:
        for start in range(0, self.rows, self.height):
            yield start, self.held.part(start, start + self.height)


def passes_of(parts: list[tuple[int, GridRows]], answers: Any = lambda found, number: found) -> TablePasses:
    groups = [Encoded(f"group {place}", rows) for place, (_, rows) in enumerate(parts)]
    passes = TablePasses(InProcess(answers).hold(lambda group: group, groups), tuple(group.id for group in groups))
    passes.read_manifest()
    return passes


def test_chunks_of_rows_in_memory_count_once(monkeypatch):
    """T203: a pass over 9,000 rows in nine chunks has the integers of one call."""
    monkeypatch.setattr("dperm.data.bounded.CHUNK", 1000)
    data, spec = problem("logistic", 9000, 21)
    kernel = gradient_kernel(data, spec, np.ones(spec.dim))
    one = kernel(data.in_memory(), Place("", 0))["gradient"]
    assert (whole_numbers(data.sums(kernel)["gradient"]) == whole_numbers(one)).all()


@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_no_rows_have_sums_of_zero(name):
    """T203: of arrays and of tables whose row groups are all empty."""
    data, spec = problem(name, 5, 22)
    none = data.at(np.zeros(0, dtype=np.int64))
    for empty in (none, BoundedData(data.space, data.target, passes_of(parts_of(none.in_memory(), [0, 0])))):
        assert loss_gradient(empty, spec, np.ones(spec.dim)).tolist() == [0.0] * spec.dim
        kernel = SquaresKernel(empty.grid, empty.target)
        assert not kernel.squares(empty.sums(kernel)).any()


@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_a_minimiser_has_the_same_bits_for_all_cuts(name):
    """T203: the solver's path, the certificate and the solution; row groups without rows included."""
    data, spec = problem(name, 5000, 11)
    spec = spec.with_regularization(3.0)
    linear = np.linspace(-1, 1, spec.dim)
    wanted = minimize(data, spec, 1e-6, linear)
    for cuts in ([], [0, 0, 1, 2000, 2048, 4999, 5000], list(range(100, 5000, 333))):
        table = BoundedData(data.space, data.target, passes_of(parts_of(data.in_memory(), cuts)))
        assert np.array_equal(minimize(table, spec, 1e-6, linear), wanted)


# T204: the sensitivity of exact sums.


@pytest.mark.parametrize("name", LOSSES)
def test_a_record_adds_its_own_integers_and_nothing_else(name):
    """T204: for any number of rows, and of norm at most L and its own rounding, once put together."""
    data, spec = problem(name, 4100, 12)
    kernel = gradient_kernel(data, spec, 3 * np.random.default_rng(13).normal(size=spec.dim))
    rows = data.in_memory()
    whole = kernel(rows, Place("", 0))["gradient"]
    for place in (0, 5, 2047, 2048, 4099):
        rest = kernel(rows.at(np.delete(np.arange(4100), place)), Place("", 0))["gradient"]
        own = kernel(rows.part(place, place + 1), Place("", place))["gradient"]
        assert (whole_numbers(whole) - whole_numbers(rest) == whole_numbers(own)).all()
        length = float(np.linalg.norm(kernel.gradient(Sums(gradient=own))))
        assert length <= spec.lipschitz * (1 + 60 * 2.0**-53)


# T205: only the gradient needs exactness.


@pytest.mark.parametrize("wrong", ["three times", "a third", "of no use"])
def test_wrong_curvature_costs_passes_and_never_accuracy(wrong, monkeypatch):
    """T205: certified by the gradient, with curvature of another problem in every pass."""
    data, spec = problem("logistic", 40_000, 14)
    spec, tolerance = spec.with_regularization(2.0), 1e-5
    real = TableObjective.gradient_and_hessian

    def changed(self: TableObjective, theta: np.ndarray, *given: Any, **options: Any) -> Expansion:
        gradient, hessian, curved = real(self, theta, *given, **options)
        bent = {"three times": 3.0, "a third": 1 / 3, "of no use": 0.0}[wrong] * hessian
        return Expansion(gradient, bent + (wrong == "of no use") * 1e4 * np.eye(len(hessian)), curved)

    monkeypatch.setattr(TableObjective, "gradient_and_hessian", changed)
    monkeypatch.setattr("dperm.data.bounded.SAMPLE_CELLS", (2**12, 2**13))
    theta = minimize(data, spec, tolerance)
    assert Plain(data, spec, np.zeros(spec.dim), np.longdouble).size(theta) <= tolerance


def test_a_gradient_of_some_rows_is_never_certified(monkeypatch):
    """T205: a sample whose own minimiser is far from the solution ends in more passes, or in an error.

    Two methods use the sample: with second derivatives of all rows for one score, and without for several.
    """
    monkeypatch.setattr("dperm.data.bounded.SAMPLE_CELLS", (2**8, 2**9))
    for name in ("softmax", "logistic"):
        data, spec = problem(name, 40_000, 15)
        theta = minimize(data, spec, 1e-4)
        assert Plain(data, spec, np.zeros(spec.dim), np.longdouble).size(theta) <= 1e-4
    monkeypatch.setattr(minimize_module, "gradient_error", lambda *given: 2e-4)
    with pytest.raises(AssumptionError, match="too small for floating point"):
        minimize(data, spec, 1e-4)


# T206: one draw.


def released(data: BoundedData) -> np.ndarray:
    spec = ProblemSpec(Logistic(), data.space.radius, data.space.size, n=4000)
    plan = ObjectivePerturbation("gaussian").plan(spec, ApproxDP(1.0, 1e-6, "replace_one"))
    with np.errstate(all="ignore"):
        return plan.learn(data, NotPrivateBits(1).stream())


def table_of(data: BoundedData, answers: Any) -> BoundedData:
    return BoundedData(data.space, data.target, passes_of(parts_of(data.in_memory(), [700, 700, 3100]), answers))


def twice(found: list[Any], number: int) -> Any:
    """Each result again, in another order."""
    return [*found[::-1], *found]


class Late:
    """Results of the pass before come first."""

    def __init__(self) -> None:
        self.before: list[Any] = []

    def __call__(self, found: list[Any], number: int) -> Any:
        before, self.before = self.before, found
        return [*before, *found]


def test_repeated_and_late_results_release_the_serial_value():
    """T206: the noise is drawn by the driver, once, and every result counts once."""
    data, _ = problem("logistic", 4000, 16)
    wanted = released(data)
    for answers in (lambda found, number: found[::-1], twice, Late()):
        assert np.array_equal(released(table_of(data, answers)), wanted)


@dataclass(frozen=True)
class Result:
    id: str
    number: int
    value: int


def test_one_result_of_each_group_counts_and_it_is_the_first_of_its_pass():
    """T206: repeated, late and unknown results are dropped; a group without a result is an error."""
    given = [Result("b", 1, 9), Result("b", 2, 1), Result("b", 2, 2), Result("c", 2, 3), Result("a", 2, 4)]
    found = list(first_answers([*given, *given], ("a", "b"), 2))
    assert found == [given[1], given[4]]
    with pytest.raises(DataError, match="'d'"):
        list(first_answers(given, ("a", "b", "d"), 2))


def test_checksums_tell_rows_codes_and_their_order_apart():
    """T206: of dense and sparse rows."""
    data, _ = problem("logistic", 300, 18)
    rows = data.in_memory()
    flipped, moved = rows.codes.copy(), rows.cells.copy()
    flipped[7] = 1 - flipped[7]
    moved[8, 1] += 1
    others = [
        replace(rows, codes=flipped),
        replace(rows, cells=moved),
        rows.at(np.arange(300)[::-1]),
        rows.part(0, 299),
    ]
    for one in (rows, *others):
        sparse = replace(one, cells=csr_array(one.cells))
        assert checksum_of(one) == checksum_of(one.at(np.arange(one.count)))
        assert checksum_of(sparse) == checksum_of(sparse.at(np.arange(one.count)))
    assert len({checksum_of(one) for one in (rows, *others)}) == 5
    assert len({checksum_of(replace(one, cells=csr_array(one.cells))) for one in (rows, *others)}) == 5


def one_missing(found: list[Any], number: int) -> Any:
    return found[1:] if number > 1 else found


def changed(found: list[Any], number: int) -> Any:
    """From the second pass on, a group has other rows, as many as before."""
    return [replace(found[0], checksum=found[0].checksum ^ 1), *found[1:]] if number > 1 else found


def shorter(found: list[Any], number: int) -> Any:
    return [replace(found[0], rows=found[0].rows - 1), *found[1:]] if number > 1 else found


@pytest.mark.parametrize("answers", [one_missing, changed, shorter])
def test_nothing_is_released_from_other_rows_than_those_of_the_manifest(answers):
    """T206: a part that is lost, or is another one when it is read again."""
    data, _ = problem("logistic", 4000, 17)
    with pytest.raises(DataError, match="group 0"):
        released(table_of(data, answers))
