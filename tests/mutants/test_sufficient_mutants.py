# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of sufficient statistics, each against an assertion of tests/attacks that fails on it (T6, T19)."""

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from dperm import GDP
from dperm.erm import moments
from dperm.erm.moments import eigenvalue_error
from dperm.methods import sufficient
from dperm.privacy import Adjacency
from dperm.sensitivity import statistics


def attack(name: str) -> ModuleType:
    """The file of this name in tests/attacks, for its assertions."""
    path = Path(__file__).parents[1] / "attacks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


attacks = attack("test_sufficient_privacy")
ADD_REMOVE, REPLACE_ONE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE


def the_sums_stay_within(module: ModuleType) -> None:
    with pytest.MonkeyPatch.context() as patch:
        journal = attacks.written(patch)
        for adjacency in (ADD_REMOVE, REPLACE_ONE):
            design = attacks.DESIGNS["norm and intercept"]
            plan = module.SufficientStatistics().plan(attacks.spec_of(design.space), GDP(1.0, adjacency))
            for pair in attacks.pairs_of(design, adjacency):
                assert (attacks.shares(plan, pair, journal) <= 1).all()


def calibrated_sums_stay_within(module: ModuleType) -> None:
    """With the sensitivities of a mutant."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("eigenvalue_sensitivity", "moments_sensitivity"):
            patch.setattr(sufficient, name, getattr(module, name))
        the_sums_stay_within(sufficient)


def sensitivities_have_the_weight(module: ModuleType) -> None:
    """Of the plan: records of three times the weight move the sums three times as far."""
    spec = attacks.spec_of(attacks.DESIGNS["norm and intercept"].space)
    for adjacency in (ADD_REMOVE, REPLACE_ONE):
        one, three = (module.moments_sensitivity(replace(spec, weight=weight), adjacency) for weight in (1.0, 3.0))
        assert three >= 2.999 * one


def both_releases_are_charged(module: ModuleType) -> None:
    with pytest.MonkeyPatch.context() as patch:
        journal, design = attacks.written(patch), attacks.DESIGNS["norm"]
        plan = module.SufficientStatistics().plan(attacks.spec_of(design.space), GDP(1.0, ADD_REMOVE))
        attacks.run(plan, attacks.data_of(design))
        attacks.assert_both_are_released_once(plan, journal)
        assert attacks.true_mu(plan, ADD_REMOVE) <= 1


def rounding_is_covered(module: ModuleType) -> None:
    plan = module.SufficientStatistics().plan(attacks.spec_of(attacks.DESIGNS["norm"].space), GDP(1.0, ADD_REMOVE))
    assert plan.sums.statistic.numerical_error >= sufficient.sums_error(plan.spec, plan.most_rows)
    assert plan.eigenvalue.statistic.numerical_error >= eigenvalue_error(plan.spec, plan.most_rows)


def dense_sums_are_within_their_bound(module: ModuleType) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("gram_error", "cross_error"):
            patch.setitem(
                attacks.test_computed_sums_are_within_the_bound_on_rounding.__globals__, name, getattr(module, name)
            )
        attacks.test_computed_sums_are_within_the_bound_on_rounding("dense", 5000)


def other_weights_are_refused(module: ModuleType) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sufficient, "moments", module.moments)
        try:
            attacks.test_other_weights_than_one_are_refused()
        except pytest.fail.Exception as error:
            raise AssertionError(str(error)) from None


SENSITIVITIES = {
    "a replacement counts once": (calibrated_sums_stay_within, "else Fraction(3, 2))", "else 1)"),
    "two parts count as one": (calibrated_sums_stay_within, "square * root * (1", "square * (1"),
    "the weight is forgotten": (sensitivities_have_the_weight, "square = Fraction(spec.weight) * ", "square = "),
    "a norm for its square": (
        calibrated_sums_stay_within,
        "round_up(Fraction(spec.weight) * Fraction(spec.radius) ** 2)",
        "round_up(Fraction(spec.weight) * Fraction(spec.radius))",
    ),
}
MUTANTS = {
    "off-diagonal entries count twice": (
        the_sums_stay_within,
        "weights = np.where(row == column, 1.0, float(WEIGHT))",
        "weights = np.where(row == column, 1.0, 2.0)",
    ),
    "labels are not scaled": (the_sums_stay_within, "radius * found.cross", "2 * radius * found.cross"),
    "the eigenvalue is free": (
        both_releases_are_charged,
        "self.stated_event(self.eigenvalue.event + self.sums.event)",
        "self.stated_event(self.sums.event)",
    ),
    "the eigenvalue is exact": (
        both_releases_are_charged,
        "self.eigenvalue.noisy(np.array([least_eigenvalue(found.gram)]), stream)",
        "np.array([least_eigenvalue(found.gram)])",
    ),
    "both spend everything": (
        both_releases_are_charged,
        "if covers(goal, eigenvalue.event + sums.event):",
        "if sums := GaussianMechanism.calibrate(sums.sensitivity, GDP(mu, goal.adjacency), dim=sums.dim):",
    ),
    "sums are exact": (rounding_is_covered, "numerical_error=sums_error(spec, rows),", ""),
    "eigenvalues are exact": (rounding_is_covered, "numerical_error=eigenvalue_error(spec, rows)", ""),
}


@pytest.mark.parametrize("name", SENSITIVITIES)
def test_unsafe_mutants_of_the_sensitivities_are_killed(name, assert_killed):
    check, old, new = SENSITIVITIES[name]
    assert_killed(check, statistics.__name__, old, new)


@pytest.mark.parametrize("name", MUTANTS)
def test_unsafe_mutants_are_killed(name, assert_killed):
    check, old, new = MUTANTS[name]
    assert_killed(check, sufficient.__name__, old, new)


def test_a_bound_on_rounding_without_its_count_is_killed(assert_killed):
    for old, new in (("ULP * 16", "ULP * 0.01"), ("ULP * 20", "ULP * 0.01")):
        assert_killed(dense_sums_are_within_their_bound, moments.__name__, old, new)


def test_squares_of_a_weight_are_killed(assert_killed):
    """A weight of 3 would count as 9 in the sum of squares."""
    assert_killed(
        other_weights_are_refused, moments.__name__, "if data.target.weights_range != (1.0, 1.0):", "if False:"
    )
