# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T53, T53a: values, derivatives and constants of the softmax loss, from both sides."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dperm.data.targets import LabelKind
from dperm.erm.softmax import Softmax
from dperm.errors import ParameterError

CLASSES = pytest.mark.parametrize("classes", [3, 10])
RNG = np.random.default_rng(53)


def hessian(loss, scores: np.ndarray, caution: float = 0.0) -> np.ndarray:
    """Of one record, column by column through `Softmax.spread`."""
    rows = np.tile(scores, (loss.classes, 1))
    bends = loss.bends(rows, np.zeros(loss.classes, dtype=int), None, caution)
    return loss.spread(bends, np.eye(loss.classes)).T


def exact_slopes(scores: np.ndarray, target: int) -> list[mp.mpf]:
    powers = [mp.exp(mp.mpf(float(score)) - mp.mpf(float(scores.max()))) for score in scores]
    return [power / sum(powers) - (place == target) for place, power in enumerate(powers)]


@CLASSES
def test_values_are_those_of_the_formula(classes):  # T53
    loss = Softmax(classes)
    for size in (0.0, 0.1, 3.0, 40.0, 700.0):
        scores, target = size * RNG.normal(size=(1, classes)), np.array([classes - 1])
        with mp.workdps(60):
            total = mp.log(sum(mp.exp(mp.mpf(float(score)) - mp.mpf(float(scores[0, -1]))) for score in scores[0]))
            truth = [float(one) for one in exact_slopes(scores[0], classes - 1)]
        assert loss.losses(scores, target)[0] == pytest.approx(float(total), rel=1e-12, abs=1e-13)
        assert loss.slopes(scores, target)[0] == pytest.approx(truth, rel=1e-12, abs=1e-15)


@CLASSES
def test_derivatives_are_finite_differences(classes):  # T53
    loss, step = Softmax(classes), 1e-5
    for size in (0.0, 1.0, 5.0):
        scores = size * RNG.normal(size=classes)
        moves, targets = step * np.eye(classes), np.full(classes, 1)
        ahead, behind = scores + moves, scores - moves
        slopes = (loss.losses(ahead, targets) - loss.losses(behind, targets)) / (2 * step)
        assert loss.slopes(scores[np.newaxis], targets[:1])[0] == pytest.approx(slopes, abs=1e-9)
        bends = (loss.slopes(ahead, targets) - loss.slopes(behind, targets)) / (2 * step)
        assert hessian(loss, scores) == pytest.approx(bends, abs=1e-9)


@CLASSES
def test_a_number_added_to_all_scores_changes_nothing(classes):
    loss, scores, targets = Softmax(classes), RNG.normal(size=(50, classes)), RNG.integers(0, classes, size=50)
    for shift in (-512.0, 0.5, 1024.0):
        moved = np.round(scores, 3) + shift
        same = moved - shift
        assert loss.slopes(moved, targets) == pytest.approx(loss.slopes(same, targets), rel=1e-12, abs=1e-15)
        assert loss.losses(moved, targets) == pytest.approx(loss.losses(same, targets), rel=1e-10)
    ones = np.ones((50, classes))
    assert np.abs(loss.spread(loss.bends(scores, targets), ones)).max() <= 1e-15
    assert np.abs(loss.slopes(scores, targets).sum(axis=1)).max() <= 1e-14


@CLASSES
@pytest.mark.parametrize("size", [1e3, 1e8, 1e300])
def test_huge_scores_do_not_overflow(classes, size):  # warnings are errors
    loss, targets = Softmax(classes), np.arange(classes)
    scores = size * np.eye(classes)[::-1] - size / 2
    values, slopes = loss.losses(scores, targets), loss.slopes(scores, targets)
    right = targets == targets[::-1]
    assert values == pytest.approx(np.where(right, 0.0, size), rel=1e-12)
    wrong = np.eye(classes)[::-1] - np.eye(classes)
    assert slopes == pytest.approx(wrong, abs=1e-300)
    assert np.isfinite(loss.spread(loss.bends(scores, targets), scores)).all()


@pytest.mark.parametrize("classes", [3, 10, 60])
@pytest.mark.parametrize("limit", [None, 0.3, 1e-4])
def test_slopes_are_off_by_no_more_units_than_are_counted(classes, limit):
    """T202: (38 + 2K) u of the longest gradient without limits; errors of p - e_y are absolute."""
    loss, u, largest = Softmax(classes), 2.0**-53, 0.0
    for size in (0.1, 4.0, 9.0, 30.0):
        scores = size * RNG.normal(size=(3, classes))
        scores[0, 0] = scores[0].max() + size  # p_0 is near 1, and p - e_0 short
        limits = None if limit is None else np.full(3, limit)
        found = loss.slopes(scores, np.zeros(3, dtype=int), limits)
        with mp.workdps(40):
            for row, given_scores in zip(found, scores, strict=True):
                truth = exact_slopes(given_scores, 0)
                length = mp.sqrt(sum(one**2 for one in truth))
                share = 1 if limits is None else min(1, mp.mpf(limit) / length)
                off = mp.sqrt(
                    sum((mp.mpf(float(one)) - share * exact) ** 2 for one, exact in zip(row, truth, strict=True))
                )
                largest = max(largest, off / (u * mp.sqrt(2)))
    assert 0.1 < largest <= (38 + 2 * classes) / 4


@CLASSES
def test_the_constants_are_attained_and_never_exceeded(classes):  # T53, T53a: golden 1.41421, .5
    loss, targets = Softmax(classes), RNG.integers(0, classes, size=4000)
    scores = RNG.normal(size=(4000, classes)) * 10 ** RNG.uniform(-2, 2, size=(4000, 1))
    lengths = np.linalg.norm(loss.slopes(scores, targets), axis=1)
    assert 1.41 <= lengths.max() <= loss.slope * (1 + 1e-15)
    assert loss.slope == math.sqrt(2)
    two = np.full(classes, -60.0)
    two[:2] = 0.0  # two classes share all probability: the largest eigenvalue there is
    largest = [np.linalg.eigvalsh(hessian(loss, one))[-1] for one in [*scores[:500], two]]
    assert max(largest[:-1]) <= loss.curvature * (1 + 1e-14)
    assert largest[-1] == pytest.approx(loss.curvature, rel=1e-12)
    assert loss.steepness == loss.curvature


@CLASSES
def test_rank_and_bend_bound_the_determinant(classes):
    """T53a: log det(1 + H/Lambda) <= (K - 1) log(1 + 1/(K Lambda)), attained at equal probabilities."""
    loss = Softmax(classes)
    for strength in (1e-3, 0.1, 1.0, 30.0):
        bound = loss.rank * math.log1p(loss.bend / strength)
        found = []
        for scores in [np.zeros(classes), *(RNG.normal(size=(300, classes)) * 10 ** RNG.uniform(-3, 1, size=(300, 1)))]:
            matrix = hessian(loss, scores)
            values = np.linalg.eigvalsh(matrix)
            assert (values > 1e-14).sum() <= loss.rank
            assert values.sum() <= loss.rank * loss.bend * (1 + 1e-14)
            found.append(np.linalg.slogdet(np.eye(classes) + matrix / strength)[1])
        assert max(found) <= bound * (1 + 1e-12)
        assert found[0] == pytest.approx(bound, rel=1e-12)


def test_a_record_of_the_constants():
    loss = Softmax(7)
    assert (loss.outputs, loss.rank, loss.bend, loss.monotone, loss.labels) == (7, 6, 1 / 7, False, LabelKind.PLACE)
    assert math.log(7) <= loss.at_zero <= math.log(7) * (1 + 1e-14)
    assert loss.losses(np.zeros((1, 7)), np.array([3]))[0] <= loss.at_zero
    assert Softmax(7) == loss and hash(Softmax(np.int64(7))) == hash(loss)


@CLASSES
def test_a_limit_shortens_the_gradient_and_keeps_its_direction(classes):  # T46: clipping
    loss, targets = Softmax(classes), RNG.integers(0, classes, size=500)
    scores, limits = 5 * RNG.normal(size=(500, classes)), RNG.choice([1e-300, 1e-3, 0.4, 1.4, 2.0, np.inf], size=500)
    free, clipped = loss.slopes(scores, targets), loss.slopes(scores, targets, limits)
    lengths = np.linalg.norm(clipped, axis=1)
    assert (lengths <= limits * (1 + 1e-14)).all()
    short = np.linalg.norm(free, axis=1) <= limits
    assert clipped[short] == pytest.approx(free[short], rel=1e-14)
    assert lengths[~short] == pytest.approx(limits[~short], rel=1e-12)
    shares = (clipped * free).sum(axis=1) / (free * free).sum(axis=1)
    assert clipped == pytest.approx(shares[:, np.newaxis] * free, rel=1e-12, abs=1e-300)
    certain = np.where(np.arange(classes) == 1, 900.0, 0.0)[np.newaxis]  # p - e_y is 0
    assert loss.slopes(certain, np.array([1]), np.array([0.1])).tolist() == [[0.0] * classes]


@given(st.integers(3, 8), st.integers(0, 2**32 - 1))
def test_with_full_caution_the_quadratic_lies_above_the_loss(classes, seed):
    """Boehning: diag(p) - pp' is below (1 - 11'/K)/2 in every direction; half the caution is half of both."""
    rng, loss = np.random.default_rng(seed), Softmax(classes)
    scores, move = (10 ** rng.uniform(-2, 2) * rng.normal(size=(1, classes)) for _ in range(2))
    target = rng.integers(0, classes, size=1)
    above = hessian(loss, scores[0], 1.0)
    assert np.linalg.eigvalsh(above - hessian(loss, scores[0]))[0] >= -1e-14
    bound = loss.losses(scores, target) + (loss.slopes(scores, target) * move).sum() + move[0] @ above @ move[0] / 2
    assert loss.losses(scores + move, target)[0] <= bound[0] * (1 + 1e-12) + 1e-12
    half = (above + hessian(loss, scores[0])) / 2
    assert hessian(loss, scores[0], 0.5) == pytest.approx(half, abs=1e-15)


@pytest.mark.parametrize("bad", [2, 1, 0, -3, 3.0, "3", None, True, 2**15])
def test_fewer_than_three_classes_are_refused(bad):
    with pytest.raises(
        ParameterError, match=r"^classes must be a whole number from 3 .*For two classes use the logistic loss"
    ):
        Softmax(bad)


def _constants_hold(module) -> None:
    loss = module.Softmax(4)
    wrong = np.array([[0.0, 60.0, 0.0, 0.0]])
    assert np.linalg.norm(loss.slopes(wrong, np.array([0]))) <= loss.slope
    assert np.linalg.norm(loss.slopes(wrong, np.array([0]), np.array([0.5]))) <= 0.5 * (1 + 1e-12)
    assert np.linalg.eigvalsh(hessian(loss, np.array([0.0, 0.0, -60.0, -60.0])))[-1] <= loss.curvature * (1 + 1e-12)
    found = np.linalg.slogdet(np.eye(4) + hessian(loss, np.zeros(4)))[1]
    assert found <= loss.rank * math.log1p(loss.bend) * (1 + 1e-12)
    assert loss.losses(np.zeros((1, 4)), np.array([0]))[0] <= loss.at_zero


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("slope: ClassVar[float] = math.sqrt(2)", "slope: ClassVar[float] = 1.0"),
        ("curvature: ClassVar[float] = 0.5", "curvature: ClassVar[float] = 0.25"),
        ("return self.classes - 1\n", "return self.classes - 2\n"),
        ("return self.classes - 1\n", "return 1\n"),
        ("return 1 / self.classes", "return 1 / (2 * self.classes)"),
        ("np.minimum(limits / lengths, 1.0)[:, np.newaxis]", "1.0"),
        ("return math.log(self.classes)", "return math.log(2)"),
    ],
)
def test_unsafe_mutants_of_the_constants_are_killed(assert_killed, old, new):  # T53, T53a
    assert_killed(_constants_hold, "dperm.erm.softmax", old, new)
