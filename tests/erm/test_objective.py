# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""J and its derivatives against a plain dense reference, finite differences, and the bounds of T44 and T54."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from dperm.data.bounded import HEIGHT, enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval, LabelKind
from dperm.erm.gradient import batch_gradient, loss_gradient
from dperm.erm.losses import Hinge, HuberHinge, Logistic, SmoothedHinge
from dperm.erm.objective import Objective
from dperm.erm.residual_losses import Huber, Pinball, Squared
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec
from dperm.erm.table_objective import TableObjective

SMOOTH = [Logistic(), HuberHinge(0.5), SmoothedHinge(0.5), HuberHinge(0.05), SmoothedHinge(3.0)]
RESIDUALS = [Huber(0.3), Huber(2.0), Squared()]
SEVERAL = [Softmax(3), Softmax(6)]
RNG = np.random.default_rng(5)


def some_data(rows: int = 70, columns: int = 4) -> tuple[np.ndarray, np.ndarray]:
    X = np.where(RNG.random((rows, columns)) < 0.7, RNG.normal(size=(rows, columns)), 0.0)
    X[0], X[1], X[2] = 0.0, 1e-3 * X[3], 1e200
    return X, RNG.integers(0, 2, size=rows)


def labels_of(loss, y: np.ndarray) -> np.ndarray:
    """Labels for the loss, as many: classes, or numbers within and without the interval."""
    if loss.outputs > 1:
        return RNG.integers(0, loss.outputs, size=len(y))
    return 4 * RNG.normal(size=len(y)) if loss in RESIDUALS else y


def differences(function, theta: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Central differences, one coefficient after another."""
    moves = step * np.eye(len(theta))
    return np.array([(function(theta + move) - function(theta - move)) / (2 * step) for move in moves])


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "none"])
@pytest.mark.parametrize("clip", [None, 0.3, 0.9])
@pytest.mark.parametrize("loss", [*SMOOTH, *RESIDUALS, *SEVERAL], ids=repr)
def test_value_and_derivatives_are_those_of_the_plain_reference(problem, loss, clip, intercept, is_sparse):
    X, y = some_data()
    y = labels_of(loss, y)
    linear = RNG.normal(size=loss.outputs * (4 + intercept))
    matrix = sparse.csr_array(X) if is_sparse else X
    options = {"loss": loss, "norm": 1.3, "clip": clip, "intercept": intercept, "weights": (0.5, 3.0)}
    data, spec, plain = problem(matrix, y, **options, strength=0.7, linear=linear)
    objective, reference = Objective(data, spec, linear), plain()
    for scale in (0.0, 0.3, 4.0):
        theta = scale * RNG.normal(size=spec.dim)
        assert objective.value(theta) == pytest.approx(reference.value(theta), rel=1e-12)
        assert objective.gradient(theta) == pytest.approx(reference.gradient(theta), rel=1e-12, abs=1e-12)
    theta = RNG.normal(size=spec.dim)
    if loss.outputs == 1 or clip is None:  # the clipped gradients of several scores belong to no function
        assert objective.gradient(theta) == pytest.approx(differences(objective.value, theta), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("clip", [None, 0.4])
@pytest.mark.parametrize("loss", [Logistic(), SmoothedHinge(0.5), SmoothedHinge(3.0)], ids=repr)
def test_the_hessian_is_the_derivative_of_the_gradient(problem, loss, clip, is_sparse):
    X, y = some_data()
    data, spec, _ = problem(sparse.csr_array(X) if is_sparse else X, y, loss=loss, clip=clip, weights=(2.0, 0.25))
    objective = Objective(data, spec, np.zeros(5))
    theta = RNG.normal(size=5)
    hessian = objective.hessian(theta)
    assert np.array_equal(hessian, hessian.T)
    assert hessian == pytest.approx(differences(objective.gradient, theta, 1e-5), rel=1e-4, abs=1e-4)
    vector = RNG.normal(size=5)
    assert objective.hessian_product(objective.bends(theta), vector) == pytest.approx(hessian @ vector, rel=1e-12)


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", [*SEVERAL, Huber(50.0)], ids=repr)
def test_hessian_products_are_derivatives_of_the_gradient(problem, loss, is_sparse):
    """With weights, a constant and rows that are cut back; Huber's parabola ends beyond these residuals."""
    X, y = some_data()
    matrix, weights = sparse.csr_array(X) if is_sparse else X, (2.0, 0.25)
    data, spec, _ = problem(matrix, labels_of(loss, y), loss=loss, norm=1.3, weights=weights)
    objective, theta = Objective(data, spec, np.zeros(spec.dim)), RNG.normal(size=spec.dim)
    whole = np.array([objective.hessian_product(objective.bends(theta), one) for one in np.eye(spec.dim)])
    assert whole == pytest.approx(whole.T, rel=1e-12, abs=1e-12)
    assert whole == pytest.approx(differences(objective.gradient, theta, 1e-5), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_the_gram_matrix_is_the_weighted_sum_of_squares(problem, is_sparse):
    X, y = some_data()
    matrix = sparse.csr_array(X) if is_sparse else X
    data, spec, plain = problem(matrix, labels_of(Softmax(3), y), loss=Softmax(3), norm=1.3, weights=(2.0, 0.25))
    rows, weights = plain().rows, plain().weights
    assert Objective(data, spec, np.zeros(15)).gram() == pytest.approx(
        rows.T @ (weights[:, np.newaxis] * rows), rel=1e-12
    )


@pytest.mark.parametrize("density", [0.001, 0.02, 0.5])
def test_full_and_nearly_empty_sparse_rows_have_the_hessian_of_dense_ones(problem, density):
    X = np.where(RNG.random((9_000, 30)) < density, RNG.normal(size=(9_000, 30)), 0.0)
    y, theta = RNG.integers(0, 2, size=9_000), RNG.normal(size=31)
    hessians = []
    for matrix in (X, sparse.csr_array(X)):
        data, spec, _ = problem(matrix, y)
        hessians.append(Objective(data, spec, np.zeros(31)).hessian(theta))
    assert hessians[1] == pytest.approx(hessians[0], rel=1e-11, abs=1e-11)


def test_the_hessian_of_the_huber_hinge_counts_the_records_on_its_parabola(problem):
    X = np.array([[0.9], [0.5], [-0.5], [0.1]])
    data, spec, _ = problem(X, np.array([1, 1, 1, 0]), loss=HuberHinge(0.5), strength=0.125, intercept=False)
    objective = Objective(data, spec, np.zeros(1))
    # Margins at 1.2 are 1.08, 0.6, -0.6 and -0.12: two of them are within 1/2 of 1.
    assert objective.hessian(np.array([1.2])) == pytest.approx(np.array([[0.9**2 + 0.5**2 + 0.125]]))


@pytest.mark.parametrize("loss", [*SMOOTH, *RESIDUALS, *SEVERAL], ids=repr)
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_the_cautious_hessian_is_that_of_a_parabola_above_j(problem, loss, is_sparse):
    """So a step to its minimum, however long, is never too long."""
    X, y = some_data()
    matrix, y = sparse.csr_array(X) if is_sparse else X, labels_of(loss, y)
    data, spec, _ = problem(matrix, y, loss=loss, norm=3.0, strength=0.01, clip=0.8 if loss == Squared() else None)
    objective = Objective(data, spec, np.zeros(spec.dim), caution=1.0)
    for scale in (1e-9, 0.3, 3.0, 100.0):
        theta, move = scale * RNG.normal(size=spec.dim), RNG.normal(size=spec.dim) * 10 ** RNG.uniform(-3, 3)
        bound = objective.value(theta) + objective.gradient(theta) @ move
        bound += objective.hessian_product(objective.bends(theta), move) @ move / 2
        assert objective.value(theta + move) <= bound * (1 + 1e-9)


def test_half_the_caution_is_half_of_both_curvatures(problem):
    X, y = some_data()
    data, spec, _ = problem(X, y, loss=HuberHinge(0.1), clip=0.7)
    theta = RNG.normal(size=5)
    found = [Objective(data, spec, np.zeros(5), caution=caution).hessian(theta) for caution in (0.0, 0.5, 1.0)]
    assert found[1] == pytest.approx((found[0] + found[2]) / 2, rel=1e-12)
    assert np.linalg.norm(found[2] - found[0]) > 1


@given(
    st.sampled_from([*SMOOTH, Hinge()]),
    st.one_of(st.none(), st.floats(1e-3, 10.0)),
    st.floats(-3, 3),
    st.floats(-6, 300),
    st.sampled_from([1.0, 1e-3, 1e3]),
    st.integers(0, 2**32 - 1),
)
def test_no_record_pulls_harder_than_l(loss, clip, size, stretch, norm, seed):
    """|w f' x| <= L for every row, label and theta, long rows included; loss_gradient is their sum (T44)."""
    rng = np.random.default_rng(seed)
    space = FeatureSpace(3, norm=norm)
    spec = ProblemSpec(loss, space.radius, 4, clip=None if clip is None else clip * norm, weight=2.0)
    row, theta = rng.normal(size=(1, 3)) * 10**stretch, rng.normal(size=4) * 10**size / norm
    pulls = []
    for label in (0, 1):
        data = enforce(row, np.array([label]), space, Classes((0, 1), (2.0, 2.0)))
        pulls.append(loss_gradient(data, spec, theta))
        assert np.linalg.norm(pulls[-1]) <= spec.lipschitz * (1 + 1e-14)
    both = enforce(np.vstack([row, row]), np.array([0, 1]), space, Classes((0, 1), (2.0, 2.0)))
    assert loss_gradient(both, spec, theta) == pytest.approx(pulls[0] + pulls[1], abs=1e-12 * spec.lipschitz)


@given(
    st.sampled_from([Huber(0.3), Squared(), Pinball(0.2), Softmax(3), Softmax(5)]),
    st.floats(1e-3, 10.0),
    st.floats(-3, 3),
    st.floats(-6, 300),
    st.integers(0, 2**32 - 1),
)
def test_no_record_of_a_regression_or_of_several_classes_pulls_harder_than_l(loss, clip, size, stretch, seed):
    """The same; a label of 1e300 is clipped to the interval, and batches add up their own rows alone."""
    rng, space = np.random.default_rng(seed), FeatureSpace(3, norm=2.0)
    spec = ProblemSpec(loss, space.radius, 4 * loss.outputs, clip=clip)
    several = loss.outputs > 1
    target = Classes(tuple(range(loss.outputs))) if several else Interval(-1.0, 5.0)
    rows = rng.normal(size=(3, 3)) * 10**stretch
    labels = np.array([0, loss.outputs - 1, 1]) if several else np.array([-1e300, 3.0, 1e300])
    theta = rng.normal(size=spec.dim) * 10**size
    data = enforce(rows, labels, space, target)
    pulls = [batch_gradient(data, spec, theta, np.array([place])) for place in range(3)]
    assert max(np.linalg.norm(pull) for pull in pulls) <= spec.lipschitz * (1 + 1e-14)
    assert loss_gradient(data, spec, theta) == pytest.approx(sum(pulls), abs=1e-12 * spec.lipschitz)


HALVES = np.full((1, 4), 0.5)
"""A row of norm 1 exactly, and on the grid."""


def longest_pull(data, spec) -> float:
    """L, or with a clip what the single record's bound on its norm leaves of it: at most 2^-22 less."""
    if spec.clip is None:
        return spec.lipschitz
    share = math.hypot(1, 0.25) / (float(data.in_memory().lengths[0]) * data.grid.step)
    assert 1 - 2.0**-22 < share < 1
    return share * spec.lipschitz


@pytest.mark.parametrize("clip", [None, 0.2])
@pytest.mark.parametrize("loss", [*SMOOTH, Hinge()], ids=repr)
def test_a_record_can_pull_as_hard_as_l(loss, clip):
    space = FeatureSpace(4, norm=1.0)
    data = enforce(HALVES, np.array([1]), space, Classes((0, 1)))
    spec = ProblemSpec(loss, space.radius, 5, clip=clip)
    pull = loss_gradient(data, spec, np.array([*[-100.0] * 4, 0.0]))
    assert np.linalg.norm(pull) == pytest.approx(longest_pull(data, spec), rel=1e-12)
    assert pull / np.linalg.norm(pull) == pytest.approx(-np.array([*HALVES[0], 0.25]) / math.hypot(1, 0.25), rel=1e-12)


BOUNDED = [(loss, clip) for loss in (Huber(0.3), Pinball(0.2), Softmax(3)) for clip in (None, 0.2)]


@pytest.mark.parametrize(("loss", "clip"), [*BOUNDED, (Squared(), 0.2)], ids=repr)
def test_a_record_of_a_regression_or_of_several_classes_can_pull_as_hard_as_l(loss, clip):
    space, several = FeatureSpace(4, norm=1.0), loss.outputs > 1
    target = Classes((0, 1, 2)) if several else Interval(-2.0, 2.0)
    data = enforce(HALVES, np.array([1]), space, target)
    spec = ProblemSpec(loss, space.radius, 5 * loss.outputs, clip=clip)
    theta = np.array([*[100.0] * 4, 0.0, *[*[-100.0] * 4, 0.0] * (loss.outputs - 1)])
    pull = loss_gradient(data, spec, theta).reshape(loss.outputs, 5)
    row = np.array([*HALVES[0], 0.25]) / math.hypot(1, 0.25)
    ways = np.array([[1.0], [-1.0], [0.0]]) / math.sqrt(2) if several else np.ones((1, 1))
    assert pull / longest_pull(data, spec) == pytest.approx(ways * row, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", [Huber(0.3), Softmax(4)], ids=repr)
def test_dropped_rows_of_every_kind_add_exactly_nothing(loss, is_sparse):
    """NaN in a row or a label, a class that was not declared; what else they hold does not change a bit."""
    space, several = FeatureSpace(3, norm=1.0), loss.outputs > 1
    target = Classes(tuple(range(4))) if several else Interval(-1.0, 1.0)
    spec = ProblemSpec(loss, space.radius, 4 * loss.outputs, regularization=0.5)
    X, _ = some_data(40, 3)
    y, theta = labels_of(loss, X[:, 0]) if several else X[:, 1], RNG.normal(size=spec.dim)
    kept = Objective(enforce(X, y, space, target), spec, np.zeros(spec.dim))
    seen = set()
    for odd in (np.nan, np.inf, 1e308, -7.0):
        rows = np.insert(X, [5, 17, 40], odd, axis=0)
        labels = np.insert(y, [5, 17, 40], 9) if several else np.insert(y, [5, 17, 40], np.nan)
        matrix = sparse.csr_array(rows) if is_sparse else rows
        objective = Objective(enforce(matrix, labels, space, target, invalid="drop"), spec, np.zeros(spec.dim))
        moved = objective.hessian_product(objective.bends(theta), theta)
        found = [objective.value(theta), objective.gradient(theta), moved]
        seen.add(b"".join(np.asarray(one).tobytes() for one in found))
        assert found[0] == pytest.approx(kept.value(theta), rel=1e-14)
        assert found[1] == pytest.approx(kept.gradient(theta), rel=1e-13, abs=1e-14)
        assert moved == pytest.approx(kept.hessian_product(kept.bends(theta), theta), rel=1e-13, abs=1e-14)
    assert len(seen) == 1


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_dropped_rows_add_exactly_nothing(is_sparse):
    """The sums are those of the data without the rows; what the rows hold does not change a bit of them."""
    space = FeatureSpace(3, norm=1.0)
    spec = ProblemSpec(Logistic(), space.radius, 4, regularization=0.5, clip=0.6)
    X, y = some_data(40, 3)
    theta, seen = RNG.normal(size=4), set()
    kept = Objective(enforce(X, y, space, Classes((0, 1))), spec, np.zeros(4))
    for odd in (np.nan, np.inf, 1e308, -7.0):
        rows, labels = np.insert(X, [5, 17, 40], odd, axis=0), np.insert(y, [5, 17, 40], 2)
        matrix = sparse.csr_array(rows) if is_sparse else rows
        objective = Objective(enforce(matrix, labels, space, Classes((0, 1)), invalid="drop"), spec, np.zeros(4))
        found = [objective.value(theta), objective.gradient(theta), objective.hessian(theta)]
        seen.add(b"".join(np.asarray(one).tobytes() for one in found))
        assert found[0] == pytest.approx(kept.value(theta), rel=1e-14)
        assert found[1] == pytest.approx(kept.gradient(theta), rel=1e-13, abs=1e-14)
        assert found[2] == pytest.approx(kept.hessian(theta), rel=1e-13, abs=1e-14)
    assert len(seen) == 1


def test_one_bad_entry_or_label_is_enough_to_drop_a_row():
    space = FeatureSpace(1, norm=1.0)
    spec = ProblemSpec(Logistic(), space.radius, 2)
    for value, label in [(np.nan, 1), (np.inf, 0), (0.5, 2)]:
        data = enforce(np.array([[value]]), np.array([label]), space, Classes((0, 1)), invalid="drop")
        assert loss_gradient(data, spec, np.array([3.0, -1.0])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_a_stride_sums_every_so_manieth_block_and_multiplies(problem, is_sparse):
    X, y = RNG.normal(size=(30_000, 2)), RNG.integers(0, 2, size=30_000)
    data, spec, _ = problem(sparse.csr_array(X) if is_sparse else X, y, strength=1.0)
    stride = 3
    chosen = (np.arange(30_000) // HEIGHT) % stride == 0
    some, _, _ = problem(sparse.csr_array(X[chosen]) if is_sparse else X[chosen], y[chosen])
    weak, zeros, theta = spec.with_regularization(1e-30), np.zeros(3), np.array([1.0, -2.0, 0.5])
    thinned, whole = Objective(data, weak, zeros, stride=stride), Objective(some, weak, zeros)
    share = 30_000 / chosen.sum()
    assert 2 < share < 4
    assert thinned.value(theta) == pytest.approx(share * whole.value(theta), rel=1e-12)
    assert thinned.gradient(theta) == pytest.approx(share * whole.gradient(theta), rel=1e-12)
    assert thinned.hessian(theta) == pytest.approx(share * whole.hessian(theta), rel=1e-12)
    strong = Objective(data, spec, np.ones(3), stride=stride).gradient(theta)
    assert strong - thinned.gradient(theta) == pytest.approx(theta + 1, rel=1e-6)


def test_many_blocks_sum_to_the_plain_reference(problem):
    X, y = RNG.normal(size=(9_000, 3)), RNG.integers(0, 2, size=9_000)
    data, spec, plain = problem(X, y, clip=0.4)
    assert data.rows > 3 * HEIGHT
    theta = np.array([1.0, -2.0, 0.5, 0.1])
    objective = Objective(data, spec, np.zeros(4))
    assert objective.value(theta) == pytest.approx(plain().value(theta), rel=1e-12)
    assert objective.gradient(theta) == pytest.approx(plain().gradient(theta), rel=1e-11)


def every_coefficient_is_regularised(module) -> None:
    """T54: between two points the gradients of a single record differ by Lambda at least, along the intercept too."""
    space = FeatureSpace(1, norm=1.0)
    data = enforce(np.array([[0.0]]), np.array([1]), space, Classes((0, 1)))
    spec = ProblemSpec(HuberHinge(0.5), space.radius, 2, regularization=0.5)
    objective = module.Objective(data, spec, np.zeros(2))
    near, far = np.array([0.0, 100.0]), np.array([0.0, 200.0])
    rise = (objective.gradient(far) - objective.gradient(near)) @ (far - near)
    assert rise >= 0.5 * 100.0**2 * (1 - 1e-12)
    assert objective.hessian(far)[1, 1] >= 0.5


def gradients_are_clipped_by_their_length(module) -> None:
    """T44: the pull of a short and of a long row is at most the clip, and nearly the clip if the margin is bad."""
    space = FeatureSpace(1, norm=5.0, intercept=False)
    spec = ProblemSpec(Logistic(), space.radius, 1, clip=0.5)
    for x in (0.6, 5.0):
        data = enforce(np.array([[x]]), np.array([1]), space, Classes((0, 1)))
        pull = module.Objective(data, spec, np.zeros(1)).loss_gradient(np.array([-1e3]))
        assert 0.5 * (1 - 2.0**-22) <= abs(pull[0]) <= 0.5


def test_an_intercept_that_is_not_regularised_is_noticed(assert_killed):
    old = "rest = self.spec.strength * theta + self.linear"
    assert_killed(
        every_coefficient_is_regularised,
        "dperm.erm.objective",
        old,
        old.replace("* theta +", "* theta * (np.arange(len(theta)) < self.data.space.dim) +"),
    )
    old = "whole[np.diag_indices(len(whole))] += self.spec.strength"
    assert_killed(
        every_coefficient_is_regularised, "dperm.erm.objective", old, old.replace("len(whole)", "self.data.space.dim")
    )


def test_a_clip_that_forgets_the_length_of_a_row_is_noticed(assert_killed):
    old = "return np.asarray(self.spec.clip / block.lengths)"
    new = "return np.full_like(block.lengths, self.spec.clip)"
    assert_killed(gradients_are_clipped_by_their_length, "dperm.erm.objective", old, new)
    assert_killed(
        gradients_are_clipped_by_their_length, "dperm.erm.objective", "if self.spec.clip is None:", "if True:"
    )


@pytest.mark.parametrize("loss", [Logistic(), Huber(0.3)], ids=repr)
def test_curvature_in_passes_has_the_digits_of_short_rows(loss):
    """Rows of norms from 1e-6 to 1, most of which a Hessian of thirteen digits does not see (T205)."""
    rng = np.random.default_rng(2050)
    X = rng.normal(size=(3000, 5)) * 10.0 ** rng.integers(-6, 1, size=(3000, 1))
    target = Interval(-2.0, 4.0) if loss.labels is LabelKind.NUMBER else Classes((0, 1), (1.0, 2.5))
    space = FeatureSpace(5, norm=3.0)
    data = enforce(X, rng.integers(0, 2, 3000).astype(float), space, target)
    spec = ProblemSpec(loss, space.radius, space.size, regularization=1e-9, weight=target.weights_range[1])
    theta, zero = rng.normal(size=space.size), np.zeros(space.size)
    table = TableObjective(data, spec, zero)
    exact = Objective(data, spec, zero).hessian(theta)
    assert np.abs(table.hessian(theta) - exact).max() <= 1e-5 * np.abs(exact).max()
    for bits, most in ((6, 1e-2), (14, 1e-5)):
        rough = table.gradient_and_hessian(theta, exact, bits=bits)[1]
        assert most / 1e3 < np.abs(rough - exact).max() / np.abs(exact).max() <= most
