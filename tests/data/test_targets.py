# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Labels as signs: what is neither of the two classes counts as neither, whatever it is."""

import numpy as np
import pandas as pd
import pytest

from dperm.data.labels import signs_of

SAME = [
    pytest.param(np.array(["yes", "no", "maybe", ""]), ("no", "yes"), [1, -1, 0, 0], id="str"),
    pytest.param(np.array(["yes", "no", None], dtype=object), ("no", "yes"), [1, -1, 0], id="object"),
    pytest.param(np.array([b"yes", b"no"]), (b"no", b"yes"), [1, -1], id="bytes"),
    pytest.param(np.array([3, 7, 5]), (7, 3), [1, -1, 0], id="int"),
    pytest.param(np.array([0, 1, 255], dtype=np.uint8), (0, 1), [-1, 1, 0], id="uint8"),
    pytest.param(np.array([0.0, 1.0, -0.0, 0.5, np.nan, np.inf]), (0.0, 1.0), [-1, 1, -1, 0, 0, 0], id="float"),
    pytest.param(np.array([0.0, 1.0, np.nan], dtype=np.float32), (0, 1), [-1, 1, 0], id="float32 and int"),
    pytest.param(np.array([True, False]), (False, True), [1, -1], id="bool"),
    pytest.param(np.array([True, False]), (0, 1), [1, -1], id="bool and int"),
    pytest.param(np.array([1, 0, 1]), (np.int64(0), np.float64(1)), [1, -1, 1], id="numpy scalars"),
]
ANOTHER_KIND = [
    pytest.param(np.array(["0", "1"]), (0, 1), id="words, classes are numbers"),
    pytest.param(np.array([0, 1]), ("0", "1"), id="numbers, classes are words"),
    pytest.param(np.array([0.0, np.nan]), ("0.0", "nan"), id="NaN, a class of that name"),
    pytest.param(np.array([b"a", b"b"]), ("a", "b"), id="bytes, classes are words"),
    pytest.param(np.array([np.nan, np.nan]), (0, np.nan), id="NaN is not equal to NaN"),
    pytest.param(np.array([0, 1], dtype=np.int8), (300, 10**30), id="classes beyond the labels' type"),
    pytest.param(np.array([0, 1], dtype=np.uint64), (-1, -2), id="classes of another sign"),
    pytest.param(np.array(["2020-01-01"], dtype="M8[D]"), (0, 1), id="dates"),
]


@pytest.mark.parametrize(("labels", "classes", "signs"), SAME)
def test_the_first_class_is_negative_the_second_positive_and_anything_else_zero(labels, classes, signs):
    found = signs_of(labels, classes)
    assert found.dtype == np.int8
    assert found.tolist() == signs


@pytest.mark.parametrize(("labels", "classes"), ANOTHER_KIND)
def test_labels_of_another_kind_are_not_equal(labels, classes):
    assert signs_of(labels, classes).tolist() == [0] * len(labels)


@pytest.mark.parametrize(
    "odd", [pd.NA, pd.NaT, None, float("nan"), np.zeros(3), [1], object()], ids=lambda odd: type(odd).__name__
)
def test_an_object_without_a_truth_value_is_no_label_and_changes_no_other(odd):
    labels = np.empty(4, dtype=object)
    labels[:] = ["a", 1, odd, True]
    assert signs_of(labels, ("a", 1)).tolist() == [-1, 1, 0, 1]


def test_labels_are_not_modified():
    labels = np.array(["a", "b", "c"])
    labels.flags.writeable = False
    signs_of(labels, ("a", "b"))
    assert labels.tolist() == ["a", "b", "c"]
