# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers are rounded to the safe side, from both sides, and read back within their digits."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dperm.presentation.numbers import (
    decimal,
    epsilon_first,
    format_bracket,
    format_down,
    format_number,
    format_parameters,
    format_percent,
    format_remaining,
    format_up,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
DIGITS = st.integers(1, 17)


@given(FINITE, DIGITS)
def test_a_text_is_on_the_stated_side_of_its_number_and_within_one_digit(number, digits):
    exact, up, down = decimal(number), Decimal(format_up(number, digits)), Decimal(format_down(number, digits))
    assert down <= exact <= up
    last = Decimal(10) ** (exact.adjusted() - digits + 1) if exact else Decimal(0)
    assert up - down <= 10 * last
    nearest = Decimal(format_number(number, digits=digits))
    assert nearest in (up, down) and abs(nearest - exact) <= min(up - exact, exact - down)


@given(FINITE)
def test_seventeen_digits_read_back_as_the_same_double(number):
    for text in (format_up(number, 17), format_down(number, 17), format_number(number, digits=17)):
        assert float(text) == number


@given(st.floats(0, 1e12), st.floats(0, 1e12), DIGITS)
def test_the_remaining_amount_is_never_too_large(limit, spent, digits):
    assert Decimal(format_remaining(limit, spent, digits)) <= decimal(limit) - decimal(spent)


@given(st.floats(0, 1))
def test_a_percentage_is_never_below_its_rate_and_100_only_where_six_digits_need_it(rate):
    text = format_percent(rate)
    assert text.endswith(" %")
    assert Decimal(text[:-2]) >= 100 * decimal(rate)
    assert (text == "100 %") == (100 * decimal(rate) > Decimal("99.9999"))


@given(FINITE, st.floats(0, 1e300))
def test_a_bracket_contains_its_ends(lower, width):
    upper = lower + width
    low, high = format_bracket(lower, upper)[1:-1].split(", ")
    assert Decimal(low) <= decimal(lower)
    assert high == "infinite" or Decimal(high) >= decimal(upper)


@pytest.mark.parametrize(
    ("number", "up", "down"),
    [
        (0.1, "0.1", "0.1"),
        (1 / 3, "0.333334", "0.333333"),
        (-1 / 3, "-0.333333", "-0.333334"),
        (999999.5, "1000000", "999999"),
        (0.00012345678, "0.000123457", "0.000123456"),
        (0.000012345678, "1.23457e-5", "1.23456e-5"),
        (1e15, "1e15", "1e15"),
        (123456789e8, "1.23457e16", "1.23456e16"),
        (5e-324, "5e-324", "5e-324"),
        (Decimal("1.00000049"), "1.00001", "1"),
        (12345678, "12345678", "12345678"),
        (0.0, "0", "0"),
        (math.inf, "infinite", "infinite"),
        (-math.inf, "-infinite", "-infinite"),
        (math.nan, "not a number", "not a number"),
    ],
)
def test_examples(number, up, down):
    assert (format_up(number), format_down(number)) == (up, down)


def test_parameters_have_epsilon_first_and_are_rounded_up():
    parameters = {"adjacency": "replace_one", "delta": 1.0000001e-6, "epsilon": 1.00000049, "kind": "ApproxDP"}
    assert list(epsilon_first(parameters)) == ["kind", "epsilon", "delta", "adjacency"]
    assert format_parameters(parameters) == "epsilon = 1.00001, delta = 1.00001e-6"
    assert format_parameters({"rho": 0.1}) == "rho = 0.1" and format_parameters({}) == ""
