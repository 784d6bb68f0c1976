# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Keys, methods and guarantees have readable names."""

import pytest

from dperm.planner.expectation import TRIED
from dperm.presentation.glossary import (
    DEFINITIONS,
    GUARANTEES,
    METHODS,
    TERMS,
    guarantee_name,
    method_description,
    term,
)
from dperm.presentation.phrases import capitalize, count_of, join_sentences
from dperm.privacy.guarantee import AnyGuarantee


def test_unknown_keys_have_spaces_for_underscores():
    assert term("n") == "number of records" and term("clip_norm") == "clip norm" and term(7) == "7"


@pytest.mark.parametrize("names", [TERMS, METHODS, GUARANTEES])
def test_names_are_phrases_without_underscores_or_full_stops(names):
    for name in names.values():
        assert "_" not in name and not name.endswith(".") and name == name.strip()


def test_every_method_and_every_guarantee_is_described():
    assert set(TRIED) <= set(METHODS) | {"auto"}
    assert {kind.__name__ for kind in AnyGuarantee.__args__} == set(GUARANTEES)
    assert method_description("gradient") == "noisy gradient descent" and method_description("my_law") == "my law"
    assert guarantee_name("ApproxDP") == "(epsilon, delta)-DP" and guarantee_name("Other") == "Other"


def test_definitions_are_sentences():
    assert all(text[0].isupper() and text.endswith(".") and len(text.split()) <= 25 for text in DEFINITIONS.values())


def test_phrases():
    assert [count_of(number, "row") for number in (0, 1, 12000)] == ["0 rows", "1 row", "12,000 rows"]
    assert capitalize("dp-SGD") == "Dp-SGD" and capitalize("") == ""
    assert join_sentences(("A.", "", "B.")) == "A. B."
