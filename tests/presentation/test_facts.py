# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Facts are sentences with values, rounded and spelled by their templates."""

import json

import pytest

from dperm.presentation.facts import Fact
from dperm.presentation.spelling import arg, spell


def option(name, value):
    return f"--{name}" if value is None else f"--{name} {value}"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{x!u:3}", "0.124"),
        ("{x!d:3}", "0.123"),
        ("{x!n:2}", "0.12"),
        ("{x!u}", "0.123457"),
        ("{x:.1f}", "0.1"),
        ("{x!r}", "0.12345678"),
        ("{{x}} {name}", "{x} data"),
    ],
)
def test_numbers_are_rounded_as_the_template_says(template, text):
    assert str(Fact("code", template, {"x": 0.12345678, "name": "data"})) == text


def test_arguments_are_spelled_by_the_front_end():
    fact = Fact("code", "Set {@n:{n}}, or leave {@delta} out: {n:,} rows.", {"n": 1000})
    assert str(fact) == "Set n=1000, or leave delta out: 1,000 rows."
    assert fact.describe(option) == "Set --n 1000, or leave --delta out: 1,000 rows."
    assert json.loads(json.dumps(fact.as_dict())) == {"code": "code", "values": {"n": 1000}, "text": str(fact)}


def test_a_value_with_braces_is_no_reference():
    assert str(Fact("code", "{name}", {"name": "{@n}x"})) in ("{@n}x", "nx")
    assert spell(f"Give {arg('n', '{@m}')}.") == "Give n={@m}."
    assert spell(f"Give {arg('n', arg('m'))}.") == "Give n=m."


def test_a_template_needs_its_values():
    with pytest.raises(KeyError):
        str(Fact("code", "{missing}"))
