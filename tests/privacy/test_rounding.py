# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""C0.6: rounding is to the safe side, and exact numbers stay as they are."""

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dperm.privacy.rounding import exp_bracket, lowered, raised, round_down, round_up

positive = st.floats(1e-300, 1e300)


@given(st.fractions(min_value=0, max_value=10**6))
def test_round_up_is_the_smallest_double_above(exact):
    value = round_up(exact)
    assert Fraction(value) >= exact
    assert value == 0 or Fraction(math.nextafter(value, 0.0)) < exact


@given(st.fractions(min_value=0, max_value=10**6))
def test_round_down_is_the_largest_double_below(exact):
    value = round_down(exact)
    assert Fraction(value) <= exact < Fraction(math.nextafter(value, math.inf))


@given(positive)
def test_rounding_keeps_doubles(value):
    assert round_up(Fraction(value)) == value == round_down(Fraction(value))


def test_round_down_of_what_no_double_holds_is_the_largest_double():
    assert round_down(Fraction(10) ** 400) == math.nextafter(math.inf, 0.0)


def test_round_up_of_what_no_double_holds_is_infinite():
    assert round_up(Fraction(10) ** 400) == math.inf


@given(positive)
def test_raised_and_lowered_enclose(value):
    assert lowered(value) < value < raised(value)


def test_zero_and_infinity_stay():
    assert lowered(math.inf) == raised(math.inf) == math.inf
    assert raised(0.0) == 0.0
    assert lowered(0.0) == 0.0


@given(st.floats(-2000, 5))
def test_exp_bracket_encloses_and_never_reports_zero(exponent):
    low, high = exp_bracket(exponent, exponent)
    assert 0 <= low <= math.exp(min(0.0, exponent)) <= high <= 1
    assert high > 0
