# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of the filter that adds squares (T14a): adversaries that spend all of it exceed the promise."""

import importlib.util
import math
from fractions import Fraction
from pathlib import Path

import pytest

from dperm.accounting import Approximate, Gaussian, Pure, account
from dperm.privacy import ApproxDP

ADD = "add_remove"
LIMITS = [(0.0, 0.1), (0.1, 0.1), (0.5, 0.1), (1.0, 1e-3), (8.0, 0.1)]


def best_strategy():
    """The enumeration of adaptive strategies in the file of T14a's tests."""
    path = Path(__file__).with_name("test_budget_advanced.py")
    spec = importlib.util.spec_from_file_location("budget_advanced", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.best_strategy


def no_strategy_exceeds_the_limit(module):
    """Steps of epsilon = sqrt(S/8) as the filter prices them, and as many as it lets by, up to 24."""
    strategy = best_strategy()
    for epsilon, delta in LIMITS:
        rule = module.AdvancedFilter(ApproxDP(epsilon, delta, ADD), 8)
        squares, shared = rule.capacity
        price, share = rule.cost(Approximate(0.125, rule.share, ADD))
        blocks = 24 if share == 0 else min(24, math.floor(shared / Fraction(share)))
        assert strategy(epsilon, float(squares) / (price / 0.125**2), rule.share, blocks) <= delta


def no_strategy_exceeds_the_capacity(module):
    strategy = best_strategy()
    for epsilon, delta in LIMITS:
        assert strategy(epsilon, 2 * module.largest_rho(epsilon, delta / 2), delta / 16, 8) <= delta


def gaussians_and_mixed_events_pay(module):
    """T18: what fits as one event of Gaussian steps, by the exact accountant."""
    rule = module.AdvancedFilter(ApproxDP(1.0, 1e-6, ADD), 2)
    count = math.floor(rule.capacity[0] / Fraction(rule.cost(Gaussian(100.0) * 10)[0])) * 10
    assert account(Gaussian(100.0) * count, ADD).delta_bracket(1.0)[0] <= 1e-6
    assert rule.cost(Pure(0.5, ADD) + Approximate(0.5, rule.share, ADD))[0] >= 0.99
    assert rule.cost(Approximate(0.5, rule.share, ADD))[0] >= 0.25


MUTANTS = {
    no_strategy_exceeds_the_limit: {
        "S is 4 rho, not 2 rho": ("2 * Fraction(largest_rho(", "4 * Fraction(largest_rho("),
        "all of delta is slack": ("epsilon, self.slack)), self._shared", "epsilon, self.limit.delta)), self._shared"),
        "all of delta is shared": ("Fraction(self.limit.delta) - Fraction(self.slack)", "Fraction(self.limit.delta)"),
        "the number of events is not fixed": ("return square, share", "return square, 0.0"),
        "the number of events is twice what was declared": ("return square, share", "return square, share / 2"),
        "half of the square": ("round_up(Fraction(epsilon) ** 2)", "round_up(Fraction(epsilon) ** 2 / 2)"),
    },
    gaussians_and_mixed_events_pay: {
        "rho, not 2 rho": ("round_up(2 * sum(parts", "round_up(sum(parts"),
        "a repetition counts once": ("count * costs.rho", "costs.rho"),
        "steps that are not zCDP are free": (
            "except ConversionError:\n            return math.inf",
            "except ConversionError:\n            return 0.0",
        ),
    },
    no_strategy_exceeds_the_capacity: {
        "S/2 is forgotten": ("zcdp_epsilon(rho, delta) <=", "2 * math.sqrt(rho * -math.log(delta)) <="),
        "the fluctuation is forgotten": ("zcdp_epsilon(rho, delta) <=", "rho <="),
        "the factor 2 of the square root is forgotten": (
            "zcdp_epsilon(rho, delta) <=",
            "rho + math.sqrt(rho * -math.log(delta)) <=",
        ),
        "the first rho that is not proved": ("    return low\n", "    return 2 * high\n"),
    },
}
CASES = [(check, name) for check, mutants in MUTANTS.items() for name in mutants]


@pytest.mark.parametrize(("check", "name"), CASES, ids=[name for _, name in CASES])
def test_an_unsafe_mutant_of_the_advanced_filter_is_killed(check, name, assert_killed):
    module = "limits" if check is no_strategy_exceeds_the_capacity else "approx"
    assert_killed(check, f"dperm.accounting.filters.{module}", *MUTANTS[check][name])
