# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Class labels, declared or found in y: one rule for scikit-learn and torch."""

import numpy as np
import pytest

from dperm.data import labels
from dperm.data.inputs import labels_of
from dperm.data.labels import declared_classes, found_classes, warn_undeclared_classes
from dperm.errors import DataError, ParameterError, PublicAssumptionWarning


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (("yes", "no"), ["no", "yes"]),
        ([2, 0, 1], [0, 1, 2]),
        (np.array([1.0, -0.0]), [0.0, 1.0]),
        ((True, False), [False, True]),
    ],
)
def test_declared_classes_are_sorted(classes, expected):
    assert declared_classes(classes).tolist() == expected


@pytest.mark.parametrize(
    "classes",
    [None, "ab", 3, ("a",), ("a", "a"), ("a", 1), (0, float("nan")), (0, 2**60), ("a", "a\0"), ("\u00e9", "e\u0301")],
    ids=repr,
)
def test_other_declarations_are_refused_with_the_name_of_the_argument(classes):
    with pytest.raises(ParameterError) as caught:
        declared_classes(classes)
    assert caught.value.argument == "classes" and caught.value.rule.startswith("must")


def test_a_binary_classifier_has_two_classes():
    with pytest.raises(ParameterError, match="Only binary classification is supported"):
        declared_classes((0, 1, 2), most=2)
    with pytest.raises(DataError, match="Only binary classification is supported"):
        found_classes(np.array([0, 1, 2]), drop=False, most=2)


@pytest.mark.parametrize(
    "y", [[3, 1, 3], np.array([3.0, 1.0]), ["b", "a"], np.array(["b", "a"], dtype=object)], ids=repr
)
def test_found_classes_are_the_sorted_labels(y):
    assert found_classes(labels_of(y), drop=False).tolist() == sorted(set(y))


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([0, 1, None], "missing or infinite"),
        (np.array([0.0, 1.0, np.nan]), "missing or infinite"),
        ([0.5, 1.0], "continuous"),
        (np.array([0.5, 1.0]), "continuous"),
        (["a", 1], "mixed"),
        ([1, 1], "only one class"),
        (list(range(101)), "more than 100 different labels"),
        (["a", "a\0"], "must stay different"),
    ],
    ids=repr,
)
def test_other_labels_are_refused_without_a_label(y, words):
    with pytest.raises(DataError, match=words):
        found_classes(labels_of(y), drop=False)


def test_missing_labels_are_left_out_where_they_are_dropped():
    assert found_classes(labels_of([0, None, 1, float("inf"), object()]), drop=True).tolist() == [0, 1]


def test_the_warning_about_found_classes_is_given_once(monkeypatch, recwarn):
    monkeypatch.setattr(labels, "_warned", set())
    warn_undeclared_classes(stacklevel=2)
    warn_undeclared_classes(stacklevel=2)
    assert [warning.category for warning in recwarn] == [PublicAssumptionWarning]
    assert recwarn[0].filename == __file__
