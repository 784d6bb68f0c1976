# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Records needed: orders, T57, and what a simulation needs (T57, T58, E18)."""

import math

import numpy as np
import pytest
from quick_lessons import quick_run

from dperm.reproduce import Effort
from dperm.reproduce.lessons import sample_size as lesson
from dperm.reproduce.lessons.sample_size import Search, population
from dperm.theory import LearningProblem, objective_excess_risk, output_excess_risk

GOLDEN = {
    10_000: (0.021224585278689173, 0.021510526218336067, 0.02010997149143223),
    100_000: (0.00645654408921449, 0.006489877199305206, 0.006328035617761249),
    1_000_000: (0.0020135659565778366, 0.002017104433166305, 0.002000110024475578),
}
"""Bounds of output perturbation, pure and with delta = 1e-5, and of objective perturbation: d = 10, epsilon 1."""


@pytest.fixture(scope="module")
def outcome():
    return quick_run(lesson.LESSON.name).outcome


def columns(outcome):
    return dict(zip(outcome.table.columns, np.array(outcome.table.rows).T, strict=True))


@pytest.mark.parametrize("n", GOLDEN)
def test_the_golden_numbers(n):  # utility_10000, utility_100000, utility_1000000
    problem, goal = LearningProblem(dim=10), {"epsilon": 1.0, "adjacency": "replace_one"}
    found = (
        output_excess_risk(problem, n, **goal).bound,
        output_excess_risk(problem, n, delta=1e-5, **goal).bound,
        objective_excess_risk(problem, n, **goal).bound,
    )
    assert found == pytest.approx(GOLDEN[n], rel=1e-6)


def test_proved_numbers_are_the_least_at_which_the_bound_of_t57_suffices(outcome):
    table, problem = columns(outcome), population(32).problem
    goal = {"epsilon": 0.1, "adjacency": "replace_one"}
    for name, bound in [("output", output_excess_risk), ("objective", objective_excess_risk)]:
        n = int(table[f"{name}, proved (T57)"][1])
        assert bound(problem, n, **goal).bound <= 0.05 < bound(problem, n - 1, **goal).bound


def test_orders_are_those_of_the_theorems_with_constant_1(outcome):
    table, r0, d = columns(outcome), math.log(9), 64
    plain, noise, squared = r0**2 / 0.05**2, r0 * d / (0.1 * 0.05), r0**2 * d / (0.1 * 0.05**1.5)
    assert table["objective, order only (C = 1)"][2] == pytest.approx(max(plain, noise), abs=0.5)
    assert table["output, order only (C = 1)"][2] == pytest.approx(max(plain, noise, squared), abs=0.5)


def test_objective_perturbation_needs_fewer_and_what_is_proved_is_enough(outcome):
    table = columns(outcome)
    for what in ("proved (T57)", "simulated"):
        assert (table[f"objective, {what}"] < table[f"output, {what}"]).all()
    for name in ("output", "objective"):
        assert (table[f"{name}, simulated"] < table[f"{name}, proved (T57)"]).all()


@pytest.mark.parametrize("name", ["output", "objective"])
def test_for_many_coefficients_needs_grow_in_proportion_to_their_number(outcome, name):
    table = columns(outcome)
    ratio = table[f"{name}, proved (T57)"][2] / table[f"{name}, proved (T57)"][1]
    assert math.log2(ratio) == pytest.approx(1, abs=0.15)


def test_the_search_finds_where_the_excess_is_small_enough():
    search = Search(8, "objective", 400, 3)
    n = search.records()
    whole = population(8)
    assert float(whole.excess(search._coefficients(2 * n)).mean()) < 0.05
    assert float(whole.excess(search._coefficients(n // 2)).mean()) > 0.05
    assert float(whole.excess(np.zeros(8))) > 0.15


def test_every_check_holds(outcome):
    assert all(check.holds for check in outcome.checks)


@pytest.mark.slow
def test_with_all_effort():
    assert all(check.holds for check in lesson.LESSON.run(Effort()).checks)
