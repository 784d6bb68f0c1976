# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T11-T13, T19, E1: composition theorems, and a misprint that claims less than is true."""

import mpmath as mp
import pytest
from quick_lessons import quick_run

from dperm.accounting import Gaussian, account, calibrate
from dperm.accounting.theorems import advanced_composition, optimal_composition_delta, optimal_composition_epsilon
from dperm.reproduce.lesson import Effort
from dperm.reproduce.lessons.composition import LESSON, ComposedMechanisms, misprinted


@pytest.fixture(scope="module")
def outcome():
    return quick_run(LESSON.name).outcome


def test_everything_that_was_to_be_shown_is_shown(outcome):
    assert [check.statement for check in outcome.checks if not check.holds] == []


@pytest.mark.parametrize(
    ("epsilon", "count", "slack", "advanced", "typo", "optimal", "true_delta"),
    [
        (1.0, 10, 1e-5, 19.79544286645156, 17.49971287319976, 9.999770634534942, 0.0),
        (0.5, 100, 1e-6, 38.52854196897012, 33.520072899935286, 33.319788238577544, 8.526576215084347e-07),
        (2.0, 20, 1e-6, 77.47952624776659, 59.739454921679126, 39.999987338491636, 0.0),
        (1.0, 1000, 1e-6, 628.3429708869207, 398.7699715617406, 591.0796504544095, 0.9862516950680872),
    ],
)
def test_the_golden_numbers(epsilon, count, slack, advanced, typo, optimal, true_delta):  # adv_typo_*
    claimed = misprinted(epsilon, count, slack)
    assert claimed == pytest.approx(typo, rel=1e-9)
    assert advanced_composition(epsilon, 0.0, count=count, slack=slack)[0] == pytest.approx(advanced, rel=1e-9)
    assert optimal_composition_epsilon(epsilon, 0.0, count=count, total_delta=slack) == pytest.approx(optimal, rel=1e-9)
    found = optimal_composition_delta(epsilon, 0.0, count=count, total_epsilon=claimed)
    assert found == pytest.approx(true_delta, rel=1e-9, abs=1e-30)


def test_the_table_has_the_golden_setting(outcome):  # adv_typo_1_1000
    row = dict(zip(outcome.table.columns, outcome.table.rows[-1], strict=True))
    assert (row["epsilon of each mechanism"], row["T"], row["basic"]) == (1.0, 1000, 1000.0)
    found = (row["advanced"], row["misprinted"], row["optimal"], row["true delta of the misprint"])
    golden = (628.3429708869207, 398.7699715617406, 591.0796504544095, 0.9862516950680872)
    assert found == pytest.approx(golden, rel=1e-9)


def test_the_true_delta_of_the_misprint_follows_from_thousand_coins():
    """T13's sum over the number of lies, in 40 digits."""
    with mp.workdps(40):
        lie, total = 1 / (1 + mp.e), mp.mpf(misprinted(1.0, 1000, 1e-6))
        terms = (
            mp.binomial(1000, k) * lie**k * (1 - lie) ** (1000 - k) * max(1 - mp.exp(total - (1000 - 2 * k)), 0)
            for k in range(1001)
        )
        assert ComposedMechanisms(1.0, 1000).true_delta == pytest.approx(float(mp.fsum(terms)), rel=1e-9)


def test_the_gaussian_curve_is_what_account_says():
    setting = ComposedMechanisms(1.0, 100)
    sigma = calibrate(Gaussian, 1.0, 1e-10, "add_remove")
    assert setting.gaussian == pytest.approx(account(Gaussian(sigma) * 100, "add_remove").epsilon(1e-6), rel=1e-5)
    assert setting.gaussian < setting.optimal < setting.advanced


@pytest.mark.slow
def test_with_all_settings():
    assert all(check.holds for check in LESSON.run(Effort()).checks)
