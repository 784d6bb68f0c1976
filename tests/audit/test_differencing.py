# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Reconstruction by differencing (A11): exact without noise, hopeless with it."""

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from dperm import ApproxDP, PureDP
from dperm.audit.demo.differencing import (
    GENOTYPES,
    VICTIMS,
    attack_logistic,
    attack_ridge,
    disease_study,
    exact_fit,
    private_fit,
    risk_study,
)
from dperm.audit.differencing import Reconstruction, logistic_record, ridge_record
from dperm.errors import ParameterError
from dperm.mechanisms.gamma_norm import GammaNormMechanism
from dperm.methods import output
from dperm.methods.linear_term import LinearTerm

ATTACKS = {"ridge": (risk_study, attack_ridge), "logistic": (disease_study, attack_logistic)}
BOTH = pytest.mark.parametrize("model", ATTACKS)


def a_ridge(seed, constant=1.0, strength=0.3):
    """Others, a record, and the coefficients without and with it, by the normal equations."""
    coins = np.random.default_rng(seed)
    x, y = np.column_stack([coins.normal(size=(40, 5)), np.full(40, constant)]), coins.normal(size=40)
    first, second = (np.linalg.solve(x[k:].T @ x[k:] + strength * np.eye(6), x[k:].T @ y[k:]) for k in (1, 0))
    return x, y, first, second, x[1:].T @ x[1:] + strength * np.eye(6)


@pytest.mark.parametrize("constant", [1.0, 0.1], ids=str)
@pytest.mark.parametrize("seed", range(5))
def test_a_record_follows_from_two_ridge_regressions(seed, constant):
    x, y, first, second, moments = a_ridge(seed, constant)
    found = ridge_record(first, second, moments, constant=constant)
    assert found.features == pytest.approx(x[0, :-1], rel=1e-6)
    assert found.target == pytest.approx(y[0], rel=1e-6)


@pytest.mark.parametrize("constant", [1.0, 0.1], ids=str)
@pytest.mark.parametrize("label", [-1.0, 1.0], ids=str)
def test_a_record_follows_from_one_logistic_regression(label, constant):
    coins = np.random.default_rng(7)
    x, y = np.column_stack([coins.normal(size=(40, 5)), np.full(40, constant)]), coins.choice([-1.0, 1.0], 40)
    y[0] = label

    def loss(w):
        return np.logaddexp(0, -y * (x @ w)).sum() + 0.4 * w @ w / 2

    def gradient(w):
        return -(y / (1 + np.exp(y * (x @ w)))) @ x + 0.4 * w

    w = scipy_minimize(loss, np.zeros(6), jac=gradient, method="BFGS", options={"gtol": 1e-9}).x
    found = logistic_record(w, x[1:], y[1:], regularization=0.4, constant=constant)
    assert found.features == pytest.approx(x[0, :-1], abs=1e-4)
    assert found.target == label


MUTANTS = [
    ("ridge_record", "matrix @ (second - first)", "second - first"),
    ("ridge_record", "residual + row @ second", "residual + row @ first"),
    ("logistic_record", "others + strength * w", "others"),
    ("logistic_record", "-np.sign(slope)", "np.sign(slope)"),
    ("logistic_record", "-(y * expit(-y * (x @ w))) @ x", "(y * expit(-y * (x @ w))) @ x"),
    ("ridge_record", "float(multiple[-1]) / constant", "float(multiple[-1])"),
]


@pytest.mark.parametrize(("attack", "old", "new"), MUTANTS, ids=[new for _, _, new in MUTANTS])
def test_a_wrong_attack_is_noticed(assert_killed, attack, old, new):
    def ridge(module):
        x, y, first, second, moments = a_ridge(3, 0.5)
        found = module.ridge_record(first, second, moments, constant=0.5)
        assert np.allclose(found.features, x[0, :-1], rtol=1e-6)
        assert np.isclose(found.target, y[0])

    def logistic(module):
        study = disease_study(3)
        known = study.rows[1:], study.y[1:]
        w = exact_fit(study)(study.data())
        found = module.logistic_record(w, *known, regularization=20.0, constant=study.space.constant)
        assert np.array_equal(found.nearest(GENOTYPES), study.x[0])
        assert found.target == study.y[0]

    assert_killed(ridge if attack == "ridge_record" else logistic, "dperm.audit.differencing", old, new)


# Our own methods, with their real noise


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_every_genotype_and_target_is_recovered_without_noise(model, seed):
    make, attack = ATTACKS[model]
    study = make(seed)
    found = attack(study, exact_fit(study))
    assert (found.genotypes, found.targets, found.victims) == (VICTIMS, VICTIMS, VICTIMS) == (50, 50, 50)


@BOTH
@pytest.mark.parametrize(
    "goal", [PureDP(1.0, "add_remove"), ApproxDP(1.0, 1e-6, "add_remove")], ids=["pure", "approximate"]
)
def test_no_record_is_recovered_with_noise(model, goal):
    """By chance all 20 genotypes of a patient are right less than once in 10^5: a patient of 50, once in 2000."""
    make, attack = ATTACKS[model]
    study = make(1)
    assert attack(study, private_fit(study, goal)).genotypes == 0


def test_targets_are_recovered_no_more_often_than_by_chance_with_noise():
    risk, disease, goal = risk_study(2), disease_study(2), PureDP(1.0, "add_remove")
    assert attack_ridge(risk, private_fit(risk, goal)).targets <= 5
    assert attack_logistic(disease, private_fit(disease, goal)).targets <= 45


def test_output_perturbation_that_forgets_its_noise_is_caught(monkeypatch):
    monkeypatch.setattr(GammaNormMechanism, "noisy", lambda self, value, stream: value)
    study = risk_study(1)
    plan = output.OutputPerturbation("gamma_norm").plan(study.spec, PureDP(1.0, "add_remove"))
    assert attack_ridge(study, lambda data: plan.run(lambda: data).value).genotypes == VICTIMS


def test_objective_perturbation_that_forgets_its_noise_is_caught(monkeypatch):
    for law in (LinearTerm, *LinearTerm.__subclasses__()):
        if "draw" in vars(law):
            monkeypatch.setattr(law, "draw", lambda self, stream: np.zeros(21))
    monkeypatch.setattr("dperm.mechanisms.additive.on_grid", lambda grid, value, noise: value)
    monkeypatch.setattr(GammaNormMechanism, "noisy", lambda self, value, stream: value)
    study = disease_study(1)
    assert attack_logistic(study, private_fit(study, PureDP(1.0, "add_remove"))).genotypes == VICTIMS


def test_the_clip_of_the_private_ridge_regression_is_never_reached():
    """It is the plain squared loss on these data: the attack is not beaten by another problem."""
    study = risk_study(0)
    residuals = study.rows @ exact_fit(study)(study.data()) - study.y
    assert np.abs(residuals).max() * study.space.radius < study.spec.clip


# Small things


def test_features_become_the_nearest_values():
    assert Reconstruction(np.array([-7.0, 0.4, 0.6, 1.4, 99.0]), 0.0).nearest(GENOTYPES).tolist() == [0, 0, 1, 1, 2]


def test_coefficients_that_did_not_move_say_nothing():
    _, _, first, _, moments = a_ridge(1)
    found = ridge_record(first, first, moments)
    assert np.isnan(found.features).all() and np.isnan(found.target)


def a_perfect_fit(row):
    """Coefficients without and with a record that lies on the plane of the others."""
    coins = np.random.default_rng(0)
    x, y = np.column_stack([coins.integers(0, 3, (50, 4)), np.ones(50)]), coins.normal(size=50)
    moments = x.T @ x + np.eye(5)
    before = np.linalg.solve(moments, x.T @ y)
    after = np.linalg.solve(moments + np.outer(row, row), x.T @ y + row * (row @ before))
    return before, after, moments


@pytest.mark.parametrize("row", [(0, 0, 0, 0, 1.0), (2, 1, 0, 1, 1.0), (1, 1, 1, 1, 1.0)], ids=str)
def test_of_a_record_that_fits_anyway_nothing_is_told(row):
    found = ridge_record(*a_perfect_fit(np.array(row)))
    assert np.isnan(found.features).all() and np.isnan(found.target)
    assert np.isnan(found.nearest([0, 1, 2])).all()


def test_where_no_record_is_missing_from_a_logistic_regression_nothing_is_told():
    coins = np.random.default_rng(1)
    x, y = np.column_stack([coins.normal(size=(40, 2)), np.ones(40)]), coins.choice([-1.0, 1.0], 40)
    w = np.array([0.3, -0.2, 0.1])
    assert np.isfinite(logistic_record(w, x, y, regularization=0.4).features).all(), "w is no minimum of the others"
    for _ in range(2000):
        w = w - 0.05 * (0.4 * w - (y / (1 + np.exp(y * (x @ w)))) @ x)
    assert np.isnan(logistic_record(w, x, y, regularization=0.4).features).all()


def test_a_small_residual_is_still_told():
    x, _, first, _, moments = a_ridge(3)
    row, target = x[0], x[0] @ first + 1e-6
    after = np.linalg.solve(moments + np.outer(row, row), moments @ first + row * target)
    assert ridge_record(first, after, moments).features == pytest.approx(row[:-1], rel=1e-4)


def test_values_of_features_are_numbers():
    found = ridge_record([1.0, 1.0], [1.0, 2.0], np.eye(2))
    for values, words in (
        ([], "values must contain at least one possible value"),
        (["a"], "values must be a list of finite numbers"),
    ):
        with pytest.raises(ParameterError, match=words):
            found.nearest(values)


W = np.zeros(3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ridge_record(W, np.zeros(2), np.eye(3)), "before must have as many coefficients as after"),
        (lambda: ridge_record(W, W, np.eye(2)), "moments must have 3 rows and columns"),
        (lambda: ridge_record(W, [0, np.nan, 1], np.eye(3)), "after must be a list of finite numbers, got NaN"),
        (lambda: ridge_record(W, W, np.eye(3), constant=0.0), "constant must be"),
        (lambda: logistic_record(W, np.eye(3), [0, 1, 1], regularization=1.0), "signs must contain -1 or"),
        (lambda: logistic_record(W, np.eye(3), [1, 1], regularization=1.0), "signs must contain -1 or"),
        (lambda: logistic_record(W, np.eye(3), [1, 1, 1], regularization=-1.0), "regularization must be"),
    ],
    ids=["size", "sizes", "NaN", "constant", "labels", "number of labels", "regularization"],
)
def test_bad_arguments_are_refused(call, words):
    with pytest.raises(ParameterError, match=words):
        call()
