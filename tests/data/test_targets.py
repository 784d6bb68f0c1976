# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Labels as codes: what is none of the classes counts as none, whatever it is; numbers are kept in their interval."""

import numpy as np
import pandas as pd
import pytest

from dperm.data.targets import Classes, Interval, LabelKind
from dperm.errors import DataError, ParameterError

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
    target = Classes(classes)
    found = target.read(labels)
    assert found.dtype == np.int8
    targets, weights = target.targets(found)
    assert (targets * weights).tolist() == signs
    assert target.counts(found).tolist() == [sign != 0 for sign in signs]


@pytest.mark.parametrize(("labels", "classes"), ANOTHER_KIND)
def test_labels_of_another_kind_are_not_equal(labels, classes):
    assert Classes(classes).read(labels).tolist() == [-1] * len(labels)


@pytest.mark.parametrize(
    "odd", [pd.NA, pd.NaT, None, float("nan"), np.zeros(3), [1], object()], ids=lambda odd: type(odd).__name__
)
def test_an_object_without_a_truth_value_is_no_label_and_changes_no_other(odd):
    labels = np.empty(4, dtype=object)
    labels[:] = ["a", 1, odd, True]
    assert Classes(("a", 1)).read(labels).tolist() == [0, 1, -1, 1]


def test_labels_are_not_modified():
    labels = np.array(["a", "b", "c"])
    labels.flags.writeable = False
    Classes(("a", "b")).read(labels)
    assert labels.tolist() == ["a", "b", "c"]
    numbers = np.array([0.0, 5.0, np.inf])
    numbers.flags.writeable = False
    Interval(0.0, 1.0).read(numbers)
    assert numbers.tolist() == [0.0, 5.0, np.inf]


def test_more_than_two_classes_have_places_and_weights_of_their_own():
    target = Classes(("a", "b", "c"), (1.0, 2.0, 0.5))
    targets, weights = target.targets(target.read(np.array(["c", "x", "a", "b"])))
    assert targets[weights > 0].tolist() == [2, 0, 1]
    assert weights.tolist() == [0.5, 0.0, 1.0, 2.0]
    assert (target.kind, target.outputs, target.weights_range) == (LabelKind.PLACE, 3, (0.5, 2.0))
    many = Classes(tuple(range(200)))
    assert many.read(np.array([199, 200])).tolist() == [199, -1]


def test_numbers_are_clipped_to_their_interval_and_mapped_to_the_unit_one():
    target = Interval(-10.0, 30.0)
    codes = target.read(np.array([-10, 10, 20, 30, 1e300, -1e300, np.nan, np.inf, -np.inf]))
    targets, weights = target.targets(codes)
    assert targets.tolist() == [-1, 0, 0.5, 1, 1, -1, 0, 0, 0]
    assert weights.tolist() == [1, 1, 1, 1, 1, 1, 0, 0, 0]
    target.without(codes, np.arange(9) == 0)
    assert target.targets(codes)[1][0] == 0
    assert (target.kind, target.outputs) == (LabelKind.NUMBER, 1)


def test_no_label_leaves_the_unit_interval_by_rounding():
    rng = np.random.default_rng(0)
    for low, width in zip(rng.normal(size=200) * 1e3, rng.exponential(size=200), strict=True):
        target = Interval(float(low), float(low + width))
        assert np.abs(target.read(np.array([low, low + width, low - 1, low + width + 1]))).max() <= 1


def test_what_cannot_be_a_target_is_refused():
    with pytest.raises(DataError, match="real numbers"):
        Interval(0.0, 1.0).read(np.array(["1.0"]))
    with pytest.raises(ParameterError, match="label_range"):
        Interval(1.0, 1.0)
    with pytest.raises(ParameterError, match="weights"):
        Classes((0, 1, 2), (1.0, 1.0))
    with pytest.raises(ParameterError, match="classes"):
        Classes((0,))


def test_the_old_name_of_label_kind_is_deprecated():
    from dperm.data import targets

    with pytest.warns(DeprecationWarning, match=r"use dperm\.data\.targets\.LabelKind"):
        assert targets.Kind is LabelKind
