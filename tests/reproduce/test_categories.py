# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Categories are logistic regression on unit rows: dperm's own solver and loss give the same."""

import numpy as np
import pytest
from category_rows import bounded, rows

from dperm.erm.minimize import minimize
from dperm.reproduce.categories import Categories, ladder

DATA = Categories(np.array([9.0, 30.0, 2.0]), np.array([3.0, 10.0, 5.0]), 64)


@pytest.mark.parametrize("strength", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("linear", [np.zeros(3), np.array([4.0, -20.0, 0.3])])
def test_minimizers_are_those_of_the_certified_solver(strength, linear):
    certified = minimize(bounded(DATA), DATA.spec(strength), 1e-9, linear=linear)
    assert DATA.minimizer(strength, linear) == pytest.approx(certified, abs=1e-7)


def test_the_excess_is_the_mean_logistic_loss_above_its_minimum():
    X, y = rows(DATA)
    theta = np.array([0.3, -1.0, 2.0])

    def mean_loss(at):
        return np.logaddexp(0, -y * (X @ at)).mean()

    assert DATA.excess(theta) == pytest.approx(mean_loss(theta) - mean_loss(DATA.optimum), rel=1e-12)
    assert all(mean_loss(DATA.optimum + step) > mean_loss(DATA.optimum) for step in 0.01 * np.eye(3))


def test_several_data_sets_in_rows_are_solved_as_each_by_itself():
    many = Categories(np.stack([DATA.ones, DATA.zeros]), np.stack([DATA.zeros, DATA.ones]), 64)
    both = many.minimizer(2.0)
    assert both[0] == pytest.approx(DATA.minimizer(2.0))
    assert both[1] == pytest.approx(-DATA.minimizer(2.0))


def test_a_ladder_has_whole_records_and_its_optimum_at_log_3():
    data = ladder(np.array([1000.0, 333.0, 0.2]))
    assert data.optimum == pytest.approx(np.full(3, np.log(3)))
    assert (data.ones + data.zeros).tolist() == [1000, 332, 4]
    assert data.n == 1336
    assert ladder(np.array([8.0]), 100).n == 100
    assert data.problem.reference_norm == pytest.approx(np.log(3) * np.sqrt(3))
