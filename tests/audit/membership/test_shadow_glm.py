# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Many logistic regressions at once are the ones that would be found one by one, on hard problems, too (A9)."""

import numpy as np
import pytest
from scipy.special import expit

from dperm import ParameterError
from dperm.audit.membership import paired_coins, shadow_glm, shadow_logistic
from dperm.audit.membership.shadow_glm import Anderson, newton

KINDS = {
    "easy": (1500, 10, 1.0, False),
    "wide": (300, 50, 1.0, False),
    "separable": (300, 20, 0.01, True),
    "hardly regularised": (200, 30, 1e-5, True),
}


def problem(n: int, dim: int, separable: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, dim)) * np.exp(0.3 * rng.normal(size=(n, 1)))
    chances = X[:, 0] > 0 if separable else expit(X @ rng.normal(size=dim))
    return X, np.where(rng.random(n) < chances, 1.0, -1.0)


def gradient(X, signs, mask, W, strength):
    return X.T @ (mask * (expit(X @ W) - (signs[:, None] + 1) / 2)) + strength * W


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_model_is_a_minimum(kind, dtype):
    n, dim, strength, separable = KINDS[kind]
    X, signs = problem(n, dim, separable)
    mask = paired_coins(n, 16, seed=1)
    W = shadow_logistic(X, signs, mask, C=1 / strength, dtype=dtype)
    assert W.shape == (dim, 16) and W.dtype == dtype
    exact = newton(X, signs, mask, strength, start=np.zeros((dim, 16)))
    assert np.abs(gradient(X, signs, mask, exact, strength)).max() < 1e-9
    assert np.abs(W - exact).max() < (1e-3 if dtype == "float32" else 1e-6) * max(1, np.abs(exact).max() / 10)


def test_models_are_those_of_scikit_learn():
    sklearn = pytest.importorskip("sklearn.linear_model")
    X, signs = problem(800, 8, False)
    mask = paired_coins(800, 6, seed=2)
    W = shadow_logistic(X, signs, mask, C=0.5)
    for k in range(6):
        model = sklearn.LogisticRegression(C=0.5, fit_intercept=False, tol=1e-8).fit(X[mask[:, k]], signs[mask[:, k]])
        assert np.abs(model.coef_[0] - W[:, k]).max() < 1e-3


def test_models_for_which_the_shared_hessian_stalls_end_in_newtons_method(monkeypatch):
    asked = []
    monkeypatch.setattr(shadow_glm, "PATIENCE", 1)
    monkeypatch.setattr(shadow_glm, "newton", lambda *given, **named: asked.append(1) or newton(*given, **named))
    X, signs = problem(200, 30, True)
    mask = paired_coins(200, 8, seed=3)
    W = shadow_logistic(X, signs, mask, C=1e4, dtype="float64")
    assert len(asked) == 2
    assert np.abs(gradient(X, signs, mask, W, 1e-4)).max() < 1e-8


def test_blocks_of_rows_change_nothing(monkeypatch):
    X, signs = problem(1500, 10, False)
    mask, W = paired_coins(1500, 6, seed=1), np.random.default_rng(0).normal(size=(10, 6))
    expected = gradient(X, signs, mask, W, 0.0)
    for size in (1, 7, 4096):
        monkeypatch.setattr(shadow_glm, "ROW_BLOCK", size)
        assert shadow_glm.gradients(X, signs, mask, W) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_records_that_say_nothing_give_coefficients_of_zero(dtype):
    mask = paired_coins(40, 6, seed=0)
    assert not shadow_logistic(np.zeros((40, 3)), np.repeat([1.0, -1.0], 20), mask, dtype=dtype).any()


def test_acceleration_solves_linear_problems_in_as_many_steps_as_it_remembers():
    rng = np.random.default_rng(4)
    matrices = np.eye(3) + 0.3 * rng.normal(size=(5, 3, 3))
    right, W, path = rng.normal(size=(3, 5)), np.zeros((3, 5)), Anderson()
    for _ in range(5):
        step = np.einsum("kij,jk->ik", matrices, W) - right
        W = path.after(W, step)
    assert np.abs(np.einsum("kij,jk->ik", matrices, W) - right).max() < 1e-8


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_each_record_is_in_half_of_the_models(adjacency):
    mask = paired_coins(100, 10, adjacency=adjacency, seed=0)
    assert (mask.sum(axis=1) == 5).all() and (mask[:, ::2] == ~mask[:, 1::2]).all()
    assert (mask == paired_coins(100, 10, adjacency=adjacency, seed=0)).all()
    sizes = mask.sum(axis=0)
    assert (sizes == 50).all() if adjacency == "replace_one" else len(set(sizes)) > 2
    many = paired_coins(1000, 200, adjacency=adjacency, seed=1)[:, ::2]
    assert abs(many.mean() - 0.5) < 0.01
    together = np.corrcoef(many)[np.triu_indices(1000, 1)]  # records are in the same models by chance alone
    assert abs(together.mean()) < 0.01 and abs(together.std() - 0.1) < 0.01


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"C": 0.0}, "C must be"),
        ({"dtype": "float16"}, 'dtype must be "float32" or "float64"'),
        ({"X": np.full((20, 2), np.nan)}, "X must be a matrix of finite numbers"),
        ({"signs": np.arange(20.0)}, "signs must be -1 or"),
        ({"mask": np.ones((19, 6), dtype=bool)}, "for the same n"),
        ({"mask": np.ones((20, 6))}, "mask must be a matrix of True and False"),
    ],
    ids=["C", "dtype", "nan", "signs", "rows", "mask"],
)
def test_what_is_no_problem_is_refused(change, words):
    given = {"X": np.ones((20, 2)), "signs": np.ones(20), "mask": np.ones((20, 6), dtype=bool), **change}
    with pytest.raises(ParameterError, match=words):
        shadow_logistic(given.pop("X"), given.pop("signs"), given.pop("mask"), **given)


@pytest.mark.parametrize(
    ("given", "words"),
    [((100, 7), "models must be even"), ((100, 4), "whole number from 6"), ((101, 6), "records must be even")],
    ids=["odd", "few", "odd-records"],
)
def test_coins_that_make_no_pairs_are_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        paired_coins(*given, adjacency="replace_one")
