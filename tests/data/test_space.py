# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The public geometry: the radius bounds every row that is made to keep it (T54), and coefficients map back."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.data.space import FeatureSpace
from dperm.errors import ParameterError

HUGE, TINY = 1e100, 1e-100
SPACES = [
    FeatureSpace(3, norm=2.0),
    FeatureSpace(3, norm=2.0, intercept=False),
    FeatureSpace(3, bounds=((0.0, 10.0), (-1.0, 1.0), (100.0, 101.0))),
    FeatureSpace(3, bounds=((0.0, 10.0), (-1.0, 1.0), (100.0, 101.0)), intercept=False),
    FeatureSpace(3, norm=1.2, bounds=((-5.0, 5.0),) * 3),
    FeatureSpace(3, norm=50.0, bounds=((0.0, 5.0),) * 3),
    FeatureSpace(3, norm=HUGE),
    FeatureSpace(3, norm=TINY),
    FeatureSpace(3, bounds=((-HUGE, HUGE), (0.0, TINY), (-1.0, 1.0))),
]
every_space = pytest.mark.parametrize("space", SPACES, ids=range(len(SPACES)))


def bounded(x: np.ndarray, space: FeatureSpace) -> np.ndarray:
    """The words of the class docstring, for one row."""
    if space.bounds is not None:
        low, high = np.array(space.bounds).T
        inside = np.clip(x, low, high) - (0.0 if space.center is None else space.center)
        x = np.clip(inside / space.half_width, -1.0, 1.0)
    if space.norm is not None:
        length = math.hypot(*x)
        x = x / length * space.norm if length > space.norm else x
    return np.append(x, space.constant) if space.intercept else x


def exact_square(row: np.ndarray) -> Fraction:
    return sum((Fraction(float(entry)) ** 2 for entry in row), Fraction())


@every_space
@given(st.lists(st.floats(-1e300, 1e300), min_size=3, max_size=3))
@settings(max_examples=60)
def test_the_radius_bounds_every_row(space, entries):  # T54
    row = bounded(np.array(entries), space)
    assert len(row) == space.size
    assert exact_square(row) <= Fraction(space.radius) ** 2


@every_space
def test_the_radius_is_attained(space):  # T54: a smaller one would be false
    far = np.array([1e200, 1e200, 1e200])
    assert exact_square(bounded(far, space)) >= Fraction(space.radius) ** 2 * Fraction(1 - 1e-13)


def test_radii_that_a_reader_can_check():  # T54: R -> sqrt(R^2 + a^2)
    assert FeatureSpace(5, norm=2.0, intercept=False).radius == pytest.approx(2.0, rel=1e-14)
    assert FeatureSpace(5, norm=2.0).radius == pytest.approx(math.hypot(2.0, 0.5), rel=1e-14)
    unit = ((0.0, 1.0),) * 8
    assert FeatureSpace(8, bounds=unit).radius == pytest.approx(3.0, rel=1e-14)
    assert FeatureSpace(8, bounds=unit, intercept=False).radius == pytest.approx(math.sqrt(8), rel=1e-14)
    assert FeatureSpace(8, norm=1.0, bounds=unit).radius == pytest.approx(math.hypot(1.0, 0.25), rel=1e-14)
    # a norm that no row reaches costs nothing
    assert FeatureSpace(8, norm=9.0, bounds=unit).radius == FeatureSpace(8, norm=1e9, bounds=unit).radius


@given(st.integers(1, 2**26), st.none() | st.floats(1e-100, 1e100), st.booleans(), st.booleans())
def test_the_radius_is_rounded_up(dim, norm, has_bounds, intercept):  # T54
    if norm is None and not has_bounds:
        return
    # bounds are not listed for millions of columns: only their number matters
    space = FeatureSpace(min(dim, 50), norm, ((-1.0, 1.0),) * min(dim, 50) if has_bounds else None, intercept)
    widest = Fraction(space.dim) if has_bounds else None
    own = None if norm is None else Fraction(norm) ** 2
    exact = min(square for square in (widest, own) if square is not None) + Fraction(space.constant) ** 2
    assert exact <= Fraction(space.radius) ** 2 <= exact * (1 + Fraction(1, 2**48))


def test_the_intercept_is_a_coefficient_like_any_other():  # E17: a free intercept voids T30
    with_it, without = FeatureSpace(4, norm=1.0), FeatureSpace(4, norm=1.0, intercept=False)
    assert (with_it.size, without.size) == (5, 4)
    assert (with_it.constant, without.constant) == (0.25, 0.0)
    assert with_it.radius > without.radius
    assert FeatureSpace(4, norm=8.0).constant == 2.0  # scaling features and norm changes no prediction
    assert FeatureSpace(4, bounds=((0.0, 1.0),) * 4).constant == 1.0


@every_space
def test_coefficients_map_back(space):
    generator = np.random.default_rng(2)
    for _ in range(50):
        theta = generator.normal(size=space.size)
        coef, intercept = space.coefficients(theta)
        x = inside(space, generator)
        predicted = float(x @ coef) + intercept
        scale = float(np.abs(x) @ np.abs(coef)) + abs(intercept) + np.abs(theta).sum()
        assert predicted == pytest.approx(float(bounded(x, space) @ theta), abs=1e-14 * scale)


def inside(space: FeatureSpace, generator: np.random.Generator) -> np.ndarray:
    """A row that keeps its bounds, so that nothing is clipped."""
    unit = generator.uniform(-1, 1, size=space.dim)
    if space.bounds is None:
        return unit * (space.norm / 2)
    if space.norm is not None:
        unit *= min(1.0, 0.99 * space.norm / np.linalg.norm(unit))
    return unit * space.half_width + (0.0 if space.center is None else space.center)


def test_coefficients_map_back_exactly_in_rational_arithmetic():
    space = FeatureSpace(2, bounds=((0.0, 8.0), (-4.0, 12.0)))  # powers of two: every operation is exact
    coef, intercept = space.coefficients(np.array([3.0, -5.0, 0.75]))
    assert coef.tolist() == [0.75, -0.625]
    assert intercept == 0.75 - (0.75 * 4.0 - 0.625 * 4.0)
    for x in ([0.0, -4.0], [8.0, 12.0], [5.0, 0.5]):
        row = bounded(np.array(x), space)
        assert float(row @ np.array([3.0, -5.0, 0.75])) == float(np.array(x) @ coef) + intercept


@every_space
def test_theta_and_coefficients_undo_each_other(space):
    """Both ways; without a constant column from coefficients that need none."""
    theta = np.random.default_rng(3).normal(size=space.size)
    coef, intercept = space.coefficients(theta)
    scale = np.append(np.ones(3), max(1.0, abs(intercept / (space.constant or 1.0)))) if space.intercept else 1.0
    assert (np.abs(space.theta(coef, intercept) - theta) <= 1e-13 * scale * (1 + np.abs(theta))).all()
    again, offset = space.coefficients(space.theta(coef, intercept))
    assert again == pytest.approx(coef, rel=1e-14)
    assert offset == pytest.approx(intercept, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("norm", [None, 40.0])
def test_theta_has_the_scores_of_the_coefficients(norm):
    space = FeatureSpace(2, norm=norm, bounds=((0.0, 8.0), (-4.0, 12.0)))
    theta = space.theta([0.75, -0.625], 1.25)
    for x in ([0.0, -4.0], [8.0, 12.0], [5.0, 0.5]):
        assert float(bounded(np.array(x), space) @ theta) == pytest.approx(0.75 * x[0] - 0.625 * x[1] + 1.25, rel=1e-14)
    assert FeatureSpace(2, norm=2.0).theta((3, 4), 1).tolist() == [3.0, 4.0, 2.0]
    assert FeatureSpace(2, norm=2.0, intercept=False).theta(np.array([3, 4])).tolist() == [3.0, 4.0]


def test_an_intercept_needs_a_constant_column():
    space = FeatureSpace(1, bounds=((0.0, 8.0),), intercept=False)
    assert space.theta([0.1], -0.4).tolist() == [0.4]
    for intercept in (0.0, -0.4000001):
        with pytest.raises(ParameterError, match=r"intercept must be 0 where there is no .*Give intercept=True"):
            space.theta([0.1], intercept)
    with pytest.raises(ParameterError, match="intercept must be 0"):
        FeatureSpace(1, norm=1.0, intercept=False).theta([0.1], 1.0)


@pytest.mark.parametrize("coef", [[1.0], [[1.0, 2.0]], ["a", "b"], [True, False], 3.0])
def test_coefficients_that_do_not_fit_the_columns_are_refused(coef):
    with pytest.raises(ParameterError, match="coef must have a number for each of the 2 columns, got"):
        FeatureSpace(2, norm=1.0).theta(coef)


def test_coefficients_that_are_not_finite_are_refused():
    wide = FeatureSpace(2, bounds=((-1e100, 1e100),) * 2)
    assert np.isfinite(wide.theta([1e150, -1e150], 1e150)).all()
    for coef in ([math.nan, 1.0], [1e151, 1.0]):
        with pytest.raises(ParameterError, match="coef must be finite numbers of at most 1e"):
            wide.theta(coef)
    with pytest.raises(ParameterError, match="intercept must be a number in"):
        wide.theta([1.0, 1.0], math.inf)


def test_coefficients_leave_theta_alone():
    theta = np.array([3.0, 4.0])
    FeatureSpace(1, bounds=((0.0, 8.0),)).coefficients(theta)
    assert theta.tolist() == [3.0, 4.0]


def test_coefficients_of_huge_and_tiny_bounds_are_finite():
    space = FeatureSpace(2, bounds=((-HUGE, HUGE), (0.0, TINY)))
    coef, intercept = space.coefficients(np.array([1.0, 1.0, 1.0]))
    assert coef == pytest.approx([1e-100, 2e100], rel=1e-14)
    assert intercept == pytest.approx(0.0, abs=1e-14)


def test_symmetric_bounds_need_no_shift():  # sparse data stay sparse
    assert FeatureSpace(2, bounds=((-1.0, 1.0), (-3.0, 3.0))).center is None
    assert FeatureSpace(2, norm=1.0).center is None
    assert FeatureSpace(2, bounds=((-1.0, 1.0), (0.0, 3.0))).center.tolist() == [0.0, 1.5]
    assert FeatureSpace(2, norm=1.0).half_width is None
    assert FeatureSpace(2, bounds=((-1.0, 1.0), (0.0, 3.0))).half_width.tolist() == [1.0, 1.5]


def test_lists_and_numpy_numbers_are_accepted():
    space = FeatureSpace(np.int64(2), norm=np.float32(0.5), bounds=[[np.int64(0), 1], (np.float64(-1.0), 2)])
    assert space == FeatureSpace(2, norm=0.5, bounds=((0.0, 1.0), (-1.0, 2.0)))
    assert hash(space) == hash(FeatureSpace(2, norm=0.5, bounds=((0.0, 1.0), (-1.0, 2.0))))


def test_without_a_public_bound_nothing_is_proved():
    with pytest.raises(ParameterError, match="feature_norm or bounds must be given: without a public bound"):
        FeatureSpace(2)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "1", True, 1e-101, 1e101])
def test_a_norm_that_bounds_nothing_is_refused(bad):
    with pytest.raises(ParameterError, match=r"^feature_norm must be a number in .*must not be taken from the data"):
        FeatureSpace(2, norm=bad)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "3", 2**26 + 1])
def test_a_dimension_that_is_none_is_refused(bad):
    with pytest.raises(ParameterError, match=r"^dim must be a whole number from 1 to 67,108,864"):
        FeatureSpace(bad, norm=1.0)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (((0.0, 1.0),), r"^bounds must have a \(low, high\) for each of the 2 columns, got"),
        ((0.0, 1.0), r"^bounds\[0\] must be a pair \(low, high\), got 0\.0"),
        (3.0, r"^bounds must have a \(low, high\) for each of the 2 columns, got 3\.0"),
        (((0.0, 1.0), (1.0,)), r"^bounds\[1\] must be a pair"),
        (((0.0, 1.0), "ab"), r"^bounds\[1\] must be a pair"),
        (((0.0, 1.0), (2.0, 2.0)), r"^bounds\[1\] must have low less than high, got \(2\.0, 2\.0\)"),
        (((0.0, 1.0), (3.0, 2.0)), r"^bounds\[1\] must have low less than high"),
        (((0.0, 5e-324), (0.0, 1.0)), r"^bounds\[0\] must have high - low of at least 1e-100"),  # half of it is 0
        (((math.nan, 1.0), (0.0, 1.0)), r"^bounds\[0\] must be a pair of which both ends are finite, got \(nan, 1"),
        (
            ((0.0, 1e308), (0.0, 1.0)),
            r"^bounds\[0\] must be a pair \(low, high\) of numbers in .*, got \(0\.0, 1e\+308\)",
        ),
        (((0.0, math.inf), (0.0, 1.0)), r"^bounds\[0\] must be a pair of which both ends are finite, got \(0\.0, inf"),
        (((0.0, 1.0), (1.0, 2.0, 3.0)), r"^bounds\[1\] must be a pair .*got \(1\.0, 2\.0, 3\.0\)"),
        (((0.0, True), (0.0, 1.0)), r"^bounds\[0\] must be a pair \(low, high\) of numbers in"),
        (((0.0, 1.0), (-1e101, 0.0)), r"^bounds\[1\] must be a pair \(low, high\) of numbers in"),
    ],
)
def test_bounds_that_are_none_are_refused_by_column(bounds, message):
    with pytest.raises(ParameterError, match=message):
        FeatureSpace(2, bounds=bounds)


def test_a_message_repeats_no_table():
    private = np.array([[17.25, 18.5], [19.75, 20.0]])
    with pytest.raises(ParameterError, match=r"got an object of type ndarray\.$"):
        FeatureSpace(3, bounds=private)
