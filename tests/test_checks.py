# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The one wording and the exact borders of every check of an argument."""

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dperm import checks
from dperm.errors import DpermError, ParameterError

TINY = math.ulp(0.0)
BELOW_ONE = math.nextafter(1.0, 0.0)
ABOVE_ONE = math.nextafter(1.0, 2.0)
LARGEST = math.nextafter(math.inf, 0.0)


def above_one(name, value, remedy=""):
    return checks.above(name, value, 1.0, remedy)


BORDERS = [
    (checks.real, [-LARGEST, -1.0, 0.0, LARGEST], []),
    (checks.positive, [TINY, 1.0, LARGEST], [0.0, -0.0, -TINY]),
    (checks.nonnegative, [0.0, TINY, LARGEST], [-TINY, -1.0]),
    (above_one, [ABOVE_ONE, LARGEST], [1.0, BELOW_ONE, -2.0]),
    (checks.rate, [TINY, 0.5, 1.0], [0.0, -TINY, ABOVE_ONE]),
    (checks.probability, [0.0, 0.5, 1.0], [-TINY, ABOVE_ONE]),
    (checks.small_delta, [0.0, 1e-300, BELOW_ONE], [-TINY, 1.0]),
    (checks.positive_delta, [TINY, 0.5, BELOW_ONE], [0.0, 1.0]),
]
ACCEPTED = [(check, value) for check, accepted, _ in BORDERS for value in accepted]
REFUSED = [(check, value) for check, _, refused in BORDERS for value in refused]
NUMBER_CHECKS = [check for check, _, _ in BORDERS]
NOT_FINITE_NUMBERS = [True, False, "0.5", None, [0.5], 0.5 + 0j, Decimal("0.5"), math.nan, math.inf, -math.inf]


@pytest.mark.parametrize(("check", "value"), ACCEPTED)
def test_a_number_within_the_borders_comes_back_unchanged(check, value):
    assert check("x", value) == value


@pytest.mark.parametrize(("check", "value"), REFUSED)
def test_a_number_outside_the_borders_is_refused(check, value):
    with pytest.raises(ParameterError):
        check("x", value)


@pytest.mark.parametrize("value", NOT_FINITE_NUMBERS, ids=repr)
@pytest.mark.parametrize("check", [*NUMBER_CHECKS, checks.count])
def test_what_is_not_a_finite_number_is_refused(check, value):
    with pytest.raises(ParameterError):
        check("x", value)


@pytest.mark.parametrize("check", NUMBER_CHECKS)
def test_a_whole_number_beyond_the_floats_is_refused(check):
    with pytest.raises(ParameterError, match="x must be"):
        check("x", 10**400)


@pytest.mark.parametrize("value", [np.float64(0.5), np.float32(0.5), Fraction(1, 2)], ids=repr)
def test_numpy_scalars_and_fractions_become_plain_floats(value):
    for check in (checks.real, checks.positive, checks.rate, checks.small_delta):
        result = check("x", value)
        assert type(result) is float
        assert result == 0.5


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)], ids=repr)
def test_whole_numbers_become_plain_ints(value):
    result = checks.count("steps", value)
    assert type(result) is int
    assert result == 3


@pytest.mark.parametrize("value", [0, -1, 1.0, 2.5, np.float64(3.0), np.bool_(True), 2**53 + 1, 10**400], ids=str)
def test_what_is_not_a_whole_number_from_1_to_2_to_the_53_is_no_count(value):
    with pytest.raises(ParameterError, match="steps must be"):
        checks.count("steps", value)


def test_the_largest_count_is_2_to_the_53():
    assert checks.count("steps", 2**53) == 2**53


def test_the_least_count_can_be_moved():
    assert checks.count("records", 0, least=0) == 0
    with pytest.raises(ParameterError, match=r"records must be a whole number from 2 to 2\^53, got 1\."):
        checks.count("records", 1, least=2)


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (checks.real, "a", "x must be a finite number, got 'a'."),
        (checks.positive, -1, "x must be a finite number > 0, got -1."),
        (checks.positive, math.nan, "x must be a finite number > 0, got nan."),
        (checks.nonnegative, -2.5, "x must be a finite number >= 0, got -2.5."),
        (above_one, 1, "x must be a finite number > 1, got 1."),
        (checks.rate, 1.5, "x must be a number in (0, 1], got 1.5."),
        (checks.probability, 2, "x must be a number in [0, 1], got 2."),
        (checks.small_delta, 1, "x must be a number in [0, 1), got 1."),
        (checks.positive_delta, 0, "x must be a number in (0, 1), got 0."),
        (checks.count, 0, "x must be a whole number from 1 to 2^53, got 0."),
    ],
)
def test_the_message_names_the_argument_the_rule_and_the_value(check, value, message):
    with pytest.raises(ParameterError) as refusal:
        check("x", value)
    assert str(refusal.value) == message


@pytest.mark.parametrize("check", [*NUMBER_CHECKS, checks.count])
def test_the_remedy_closes_the_message(check):
    with pytest.raises(ParameterError, match=r"got 'many'\. Give a number\.$"):
        check("x", "many", remedy="Give a number.")


def test_a_refusal_is_a_value_error_and_a_dperm_error():
    with pytest.raises(ValueError, match="x must be") as refusal:
        checks.positive("x", 0)
    assert isinstance(refusal.value, DpermError)


class Table:
    """Somebody's data."""

    def __repr__(self):
        return "secret"


@pytest.mark.parametrize("value", [np.array([41.5]), [1.0, 2.0, 3.0], {"a": 1}, {1}, Table(), [Table()], range(3)])
def test_of_what_may_be_data_a_message_shows_the_type_alone(value):
    assert checks.shown(value) == f"an object of type {type(value).__name__}"


@pytest.mark.parametrize("value", [None, 1, 2.5, True, "text", (0, 1), [0.0, None], Fraction(1, 3), float, checks.real])
def test_public_constants_are_shown_as_they_were_written(value):
    expected = "an object of type function" if value is checks.real else repr(value)
    assert checks.shown(value) == expected


def test_paths_are_shown_as_text():
    assert checks.shown(Path("/no/such")) == "'/no/such'"


@pytest.mark.parametrize("value", [(0, 1, 1), ["a", "b", "c"], range(3), 2.5, (0, np.float64(1.5), None)])
def test_short_lists_of_public_constants_are_shown(value):
    assert checks.shown_few(value) == repr(value)


@pytest.mark.parametrize(
    "value", [np.array([41.5]), list(range(9)), {"a": 1}, Table(), [1, Table(), 2], [[1], [2], [3]]]
)
def test_of_other_lists_the_type_is_shown(value):
    assert checks.shown_few(value) == f"an object of type {type(value).__name__}"


def test_long_texts_are_cut():
    assert len(checks.shown("x" * 10_000)) < 1100
