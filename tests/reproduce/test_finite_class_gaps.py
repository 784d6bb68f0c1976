# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Choices among hypotheses have the probabilities that their definitions say."""

import numpy as np
import pytest

from dperm.reproduce.lessons import finite_class as gaps
from dperm.reproduce.lessons.finite_class import Simulation, mechanism_wrong, minimizer_wrong

MORE = np.array([[3.0, 1.0, 5.0], [0.0, 0.0, 2.0], [-1.0, 4.0, 0.0]])


def test_ties_of_the_minimizer_are_drawn_from():
    assert minimizer_wrong(MORE) == pytest.approx([0.0, 2 / 3, 1.0])


def test_the_mechanism_weighs_errors_by_half_of_epsilon():
    weights = np.exp(-0.1 * MORE)
    assert mechanism_wrong(MORE) == pytest.approx(1 - 1 / (1 + weights.sum(axis=1)))
    assert mechanism_wrong(np.full((1, 99), -1e6)) == pytest.approx(1.0)


def test_the_largest_gap_of_a_rule_that_is_wrong_below_a_gap_is_that_gap(monkeypatch):
    monkeypatch.setattr(gaps, "HALVINGS", 30)
    n, gap = 10**6, 0.02
    found = Simulation(0.0, n, 200, 0).largest_gap(lambda more: (more.mean(axis=1) < gap * n).astype(float))
    five_percent = 1.645 * np.sqrt(gap * (1 - gap) / (99 * n))  # of data sets have so many errors too few
    assert found == pytest.approx(gap + five_percent, abs=0.3 * five_percent)


def test_realizably_the_gap_of_the_mechanism_solves_its_equation():
    """P(wrong) is near (H - 1) (1 - g (1 - e^-r))^n for small probabilities."""
    n = 5000
    found = Simulation(0.0, n, 2000, 0).largest_gap(mechanism_wrong)
    assert 99 * (1 - found * -np.expm1(-0.1)) ** n == pytest.approx(0.05, rel=0.25)
