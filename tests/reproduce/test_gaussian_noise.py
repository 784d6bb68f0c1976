# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T6, T6a, E2: the textbook's Gaussian noise against the exact one, at the golden settings."""

import pytest

from dperm.accounting.theorems import classical_gaussian_sigma
from dperm.reproduce.lesson import Effort
from dperm.reproduce.lessons.gaussian_noise import LESSON, GaussianScales, first_failure, printed_sigma


def test_everything_that_was_to_be_shown_is_shown():
    assert [check.statement for check in LESSON.run(Effort(quick=True)).checks if not check.holds] == []


@pytest.mark.parametrize(
    ("epsilon", "printed", "true_delta", "exact", "ratio"),
    [
        (0.1, 48.44805262605389, 2.6359406003184195e-09, 30.74956613197582, 1.5755686573955847),
        (0.5, 9.689610525210778, 1.6078539930871805e-08, 7.031826675582507, 1.3779649260777753),
        (0.99, 4.893742689500393, 4.052643784249974e-08, 3.7649345111570423, 1.2998214643570107),
        (1.0, 4.844805262605389, 4.113691953818517e-08, 3.7306316348159236, 1.29865549238137),
        (2.0, 2.4224026313026945, 1.3363967796999565e-07, 1.9938124456435367, 1.2149601315788874),
        (5.0, 0.9689610525210778, 1.3490037186028025e-06, 0.8918682649515185, 1.0864396577377378),
        (8.0, 0.6056006578256736, 7.97059551808689e-06, 0.6002290721989514, 1.0089492260130675),
        (10.0, 0.4844805262605389, 2.2653743647934252e-05, 0.49988861970900855, 0.969176946941823),
    ],
)
def test_the_golden_numbers(epsilon, printed, true_delta, exact, ratio):  # classical_gauss_eps*: delta = 1e-5
    setting = GaussianScales(epsilon, 1e-5)
    found = (setting.printed, setting.true_delta, setting.exact, setting.ratio)
    assert found == pytest.approx((printed, true_delta, exact, ratio), rel=1e-9)


@pytest.mark.parametrize(("delta", "epsilon"), [(1e-2, 6.7718), (1e-3, 7.4635), (1e-5, 8.4198), (1e-8, 9.3743)])
def test_it_fails_from_the_golden_epsilons_on(delta, epsilon):  # classical_fail_delta*, to four decimals
    assert first_failure(delta) == pytest.approx(epsilon, abs=6e-5)


def test_the_printed_formula_is_the_theorem_where_that_is_proved():
    assert printed_sigma(0.7, 1e-6) == pytest.approx(classical_gaussian_sigma(0.7, 1e-6), rel=1e-12)


def test_the_table_has_the_settings_and_a_ratio_that_falls():
    table = LESSON.run(Effort(quick=True)).table
    for delta in {row[0] for row in table.rows}:
        ratios = [row[4] for row in table.rows if row[0] == delta]
        assert ratios == sorted(ratios, reverse=True) and ratios[0] > 1 > ratios[-1]


def test_formulas_are_not_drawn_as_measured():
    kinds = {curve.name: curve.kind for curve in LESSON.run(Effort(quick=True)).picture.curves}
    assert kinds.pop("needed (exact)") == "proved"
    assert len(kinds) == 3 and set(kinds.values()) == {"published"}


@pytest.mark.slow
def test_with_all_settings():
    assert all(check.holds for check in LESSON.run(Effort()).checks)
