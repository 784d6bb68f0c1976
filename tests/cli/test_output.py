# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers are displayed on the safe side, and JSON is strict."""

import json
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dperm.cli.output import bracket, down, plain_down, plain_up, print_json, print_paragraphs, print_table, up

NUMBERS = st.floats(min_value=0, allow_nan=False, allow_infinity=False)


@given(NUMBERS, st.integers(1, 17))
def test_a_number_rounded_up_is_never_below_itself(number, digits):
    assert Decimal(up(number, digits)) >= Decimal(number)
    assert float(up(number, digits)) >= number


@given(NUMBERS, st.integers(1, 17))
def test_a_number_rounded_down_is_never_above_itself(number, digits):
    assert 0 <= Decimal(down(number, digits)) <= Decimal(number)


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_rounding_moves_a_number_by_one_digit_at_most(number):
    assert float(up(number)) <= number * (1 + 2e-6)
    assert float(down(number)) >= number * (1 - 2e-6)


@given(NUMBERS, NUMBERS)
def test_the_ends_of_a_bracket_are_rounded_outwards(one, other):
    lower, upper = json.loads(bracket(min(one, other), max(one, other)))
    assert lower <= min(one, other) <= max(one, other) <= upper


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (10.0, "10"),
        (1.8282366665, "1.828237"),
        (math.nextafter(1.0, 2.0), "1.000001"),
        (0.00012345678, "0.0001234568"),
        (1e-5, "1.000001e-5"),  # the double nearest to 1e-5 is above it
        (123456789.0, "123456800"),
        (1e20, "1e20"),
        (math.inf, "infinite"),
    ],
)
def test_a_number_is_spelled_briefly(number, text):
    assert up(number) == text


@given(NUMBERS)
def test_a_plain_number_is_on_the_safe_side_when_it_is_read(number):
    assert float(plain_down(number)) <= number <= float(plain_up(number))
    assert len(Decimal(plain_up(number)).normalize().as_tuple().digits) <= 7


@pytest.mark.parametrize(
    ("number", "text"), [(0.2, "0.2"), (1e-5, "1e-5"), (1 / 3, "0.3333334"), (0.1 + 0.2, "0.3000001"), (3.0, "3")]
)
def test_a_number_that_was_typed_is_shown_as_it_was(number, text):
    assert plain_up(number) == text


def test_json_has_null_for_what_is_not_finite(capsys):
    print_json({"a": math.inf, "b": [math.nan, {"c": -math.inf}], "d": (1.5, None, True, "x")})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, {"c": None}], "d": [1.5, None, True, "x"]}


def test_a_narrow_window_cuts_no_digit_off(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    print_table(("one", "two"), [("1" * 60, "[bold]2" + "3" * 60)])
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.split() == ["1" * 60, "[bold]2" + "3" * 60]


def test_a_sentence_in_a_pipe_is_one_line(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    print_paragraphs(["word " * 30 + "[bold]"])
    assert capsys.readouterr().out == "\n" + "word " * 30 + "[bold]\n"
