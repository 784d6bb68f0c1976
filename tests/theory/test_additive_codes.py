# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T94: the law of the released function depends on the kernel of the features alone, if the noise is Gaussian."""

import numpy as np
import pytest
from scipy.stats import gamma

from dperm.data import Categorical, Numeric
from dperm.data.additive_encoder import AdditiveEncoder

RIDGE, SIGMA = 1.7, 2.3
ENCODER = AdditiveEncoder({"x": Numeric(0, 10), "c": Categorical(["a", "b", "c"])}, [("x", "c")])
GENERATOR = np.random.default_rng(94)
COUNT = 60
TABLE = {"x": GENERATOR.uniform(0, 10, COUNT), "c": GENERATOR.choice(["a", "b", "c", "d"], COUNT)}
ROWS = ENCODER.transform(TABLE)
LABELS = np.where(GENERATOR.random(COUNT) < 0.5, -1.0, 1.0)


def rotation(wide, narrow):
    """An isometry from R^narrow into R^wide."""
    return np.linalg.qr(GENERATOR.normal(size=(wide, narrow)))[0]


def smallest(rows):
    """Rows with the same products in as few features as possible."""
    left, singular, _ = np.linalg.svd(rows, full_matrices=False)
    rank = int((singular > 1e-8 * singular[0]).sum())
    return (left * singular)[:, :rank]


def law_of_scores(rows, targets):
    """Mean and covariance of the scores of all records for the squared loss: the law, since it is Gaussian."""
    inverse = np.linalg.inv(rows.T @ rows + RIDGE * np.eye(rows.shape[1]))
    spread = rows @ inverse
    return spread @ (rows.T @ targets), SIGMA**2 * spread @ spread.T


def minimiser(rows, labels, noise, *, clip=0.5):
    """Minimise sum log(1 + e^{-ys}) with slopes clipped at clip / |row|, + ridge + noise, by Newton's method."""
    theta, bound = np.zeros(rows.shape[1]), clip / np.linalg.norm(rows, axis=1)

    def parts(theta):
        risk = 1 / (1 + np.exp(labels * (rows @ theta)))
        slope = np.minimum(risk, bound)
        bend = np.where(risk < bound, risk * (1 - risk), 0.0)
        return rows.T @ (-labels * slope) + RIDGE * theta + noise, bend

    for _ in range(300):
        gradient, bend = parts(theta)
        step = np.linalg.solve((rows * bend[:, None]).T @ rows + RIDGE * np.eye(rows.shape[1]), gradient)
        size = 1.0
        while np.linalg.norm(parts(theta - size * step)[0]) > np.linalg.norm(gradient) and size > 1e-9:
            size /= 2
        theta = theta - size * step
    assert np.linalg.norm(parts(theta)[0]) < 1e-9
    return theta


def codes():
    dim = ROWS.shape[1]
    return {
        "rotated": ROWS @ rotation(dim, dim).T,
        "more features": ROWS @ rotation(dim + 20, dim).T,
        "as few features as possible": smallest(ROWS),
    }


@pytest.mark.parametrize("name", codes())
def test_the_law_of_scores_is_that_of_every_code_with_the_same_kernel(name):  # T94
    other = codes()[name]
    assert other @ other.T == pytest.approx(ROWS @ ROWS.T, abs=1e-12)
    for found, expected in zip(law_of_scores(other, LABELS), law_of_scores(ROWS, LABELS), strict=True):
        assert found == pytest.approx(expected, abs=1e-9)


def test_another_kernel_has_another_law():  # T94, from the other side
    longer = ROWS * np.repeat([1.2, 1.0], [10, ROWS.shape[1] - 10])
    (mean, covariance), (other_mean, other_covariance) = law_of_scores(ROWS, LABELS), law_of_scores(longer, LABELS)
    assert np.abs(mean - other_mean).max() > 1e-2
    assert np.abs(covariance - other_covariance).max() > 1e-2


@pytest.mark.parametrize("extra", [0, 20])
def test_predictions_are_equal_if_the_noise_is_turned_with_the_code(extra):  # T94
    dim = ROWS.shape[1]
    turn = rotation(dim + extra, dim)
    noise = SIGMA * GENERATOR.normal(size=dim)
    outside = GENERATOR.normal(size=dim + extra)
    outside -= turn @ (turn.T @ outside)  # noise orthogonal to the features changes no score
    scores = ROWS @ minimiser(ROWS, LABELS, noise)
    turned = ROWS @ turn.T
    other = turned @ minimiser(turned, LABELS, turn @ noise + SIGMA * outside)
    assert other == pytest.approx(scores, abs=1e-8)
    assert np.abs(scores - ROWS @ minimiser(ROWS, LABELS, -noise)).max() > 0.1


def test_pure_noise_grows_with_the_number_of_features():  # the limit of T94
    for dim in (24, 32):
        assert gamma(dim).moment(2) / dim == pytest.approx(dim + 1)
