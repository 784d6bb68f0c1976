# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Every label is read on its own where data are bounded: what is odd about one changes no other."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval
from dperm.errors import DataError, ParameterError

SPACE = FeatureSpace(1, norm=1.0)
X = np.linspace(-1, 1, 9)[:, np.newaxis]
PLACE = 4
EMPTY = "ignore:The truth value of an empty array:DeprecationWarning"
"""What older versions of numpy say of one."""
ODD = [
    np.array(1),
    np.array("1"),
    np.array([1]),
    np.array([1, 2]),
    np.array([]),
    [1],
    (1,),
    [[1], [2]],
    [],
    Decimal(1),
    Decimal("sNaN"),
    Fraction(1, 3),
    object(),
    None,
    np.bool_(True),
    float("nan"),
    "1",
    b"1",
    np.str_("1"),
    1j,
    10**400,
]


def name_of(odd: object) -> str:
    return "object" if type(odd) is object else f"{type(odd).__name__} {odd!s:.9}"


def with_one(labels: list, odd: object) -> np.ndarray:
    """The labels as an array of objects, in which one is odd."""
    found = np.empty(len(labels), dtype=object)
    for place, label in enumerate(labels):
        found[place] = label
    found[PLACE] = odd
    return found


@pytest.mark.filterwarnings(EMPTY)
@pytest.mark.parametrize("odd", ODD, ids=name_of)
@pytest.mark.parametrize("labels", [[0, 1] * 4 + [1], [0.0, 1.0] * 4 + [7.0], [True, False] * 4 + [True]], ids=str)
def test_one_odd_label_of_an_array_of_objects_changes_no_other_code(labels, odd):
    target = Classes((0, 1))
    codes = enforce(X, with_one(labels, odd), SPACE, target, invalid="drop").in_memory().codes
    assert np.delete(codes, PLACE).tolist() == np.delete(target.read(np.array(labels)), PLACE).tolist()


@pytest.mark.filterwarnings(EMPTY)
@pytest.mark.parametrize("odd", ODD, ids=name_of)
def test_one_odd_label_among_words_changes_no_other_code(odd):
    labels = ["no", "yes", "1"] * 3
    codes = enforce(X, with_one(labels, odd), SPACE, Classes(("no", "yes", "1")), invalid="drop").in_memory().codes
    assert np.delete(codes, PLACE).tolist() == np.delete([0, 1, 2] * 3, PLACE).tolist()


@pytest.mark.parametrize("target", [Classes((0, 1)), Interval(0.0, 1.0)], ids=["classes", "numbers"])
@pytest.mark.parametrize(
    "y", [[0, 1, 1] * 3, (0, 1, 1) * 3, range(9), [0] * 8 + ["1"], np.ma.array([0, 1, 1] * 3, mask=[1] + [0] * 8)]
)
def test_what_is_no_plain_array_is_refused(target, y):
    """Numpy would read all items of a list as what the oddest of them is."""
    for invalid in ("raise", "drop"):
        with pytest.raises(ParameterError, match=r"^y must be a numpy array without a mask\. .*dtype=float"):
            enforce(X, y, SPACE, target, invalid=invalid)


@pytest.mark.parametrize("odd", ODD, ids=name_of)
def test_objects_are_no_numbers_and_the_refusal_repeats_none(odd):
    with pytest.raises(DataError) as refusal:
        enforce(X, with_one([0.25] * 9, odd), SPACE, Interval(0.0, 1.0), invalid="drop")
    assert str(refusal.value) == "y must hold real numbers. Convert text, dates and the like first."
