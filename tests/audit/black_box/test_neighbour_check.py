# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Data sets that are no neighbours under the claim are refused before anything is run."""

import numpy as np
import pandas as pd
import pytest

from dperm import PureDP
from dperm.audit.black_box import audit, repeated
from dperm.errors import DataError, ParameterError

X, Y = np.arange(12.0).reshape(6, 2), np.arange(6)
CHANGED = np.vstack([X[:2], [[7.0, 7.0]], X[3:]])
TABLE = pd.DataFrame({"a": [1.0, 2.0, np.nan], "b": ["x", "y", "z"]})
NEIGHBOURS = {
    "last": ([1, 2, 3], [1, 2], "add_remove"),
    "first": ([2, 3], [1, 2, 3], "add_remove"),
    "all": ([1], [], "add_remove"),
    "pair": ((X, Y), (np.delete(X, 2, 0), np.delete(Y, 2)), "add_remove"),
    "replaced": ([1, 2, 3], [1, 5, 3], "replace_one"),
    "replaced row": ((X, Y), (CHANGED, Y), "replace_one"),
    "table": (TABLE, TABLE.iloc[1:], "add_remove"),
    "not comparable": ({"rows": 5}, {"rows": 99}, "add_remove"),
    "X and y as a list": ([X[:, 0], Y], [X[:, 0] + 1, Y + 1], "replace_one"),
}
STRANGERS = {
    "replaced": ([1, 0, 0], [-1, 0, 0], "add_remove"),
    "three differ": ([1, 2, 3], [4, 5, 6], "replace_one"),
    "removed": ([1, 2, 3], [1, 2], "replace_one"),
    "two removed": ([1, 2, 3], [1], "add_remove"),
    "removed and changed": ([1, 2, 3], [1, 9], "add_remove"),
    "pair": ((X, Y), (X[1:], Y[:-1]), "add_remove"),
    "rows and targets of two": ((X, Y), (CHANGED, Y[::-1]), "replace_one"),
    "table": (TABLE, TABLE.iloc[2:], "add_remove"),
}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_neighbours_and_what_cannot_be_compared_are_taken(name):
    one, other, adjacency = NEIGHBOURS[name]
    repeated(len, one, other, claimed=PureDP(1.0, adjacency))


@pytest.mark.parametrize("name", STRANGERS)
def test_others_are_refused_and_no_value_is_repeated(name):
    one, other, adjacency = STRANGERS[name]
    with pytest.raises(ParameterError, match=f"under the claimed adjacency {adjacency}: ") as caught:
        repeated(len, one, other, claimed=PureDP(1.0, adjacency))
    assert "9" not in str(caught.value)


def test_a_training_without_a_return_is_told_so():
    subject = repeated(lambda data: None, [1], [], claimed=PureDP(1.0, "add_remove"))
    with pytest.raises(DataError, match="train returned None"):
        audit(subject, runs=100)


def test_a_model_is_no_subject_and_a_number_no_claim():
    with pytest.raises(ParameterError, match=r"Build one with repeated\("):
        audit(object(), runs=100)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="claimed must be the guarantee"):
        repeated(len, [1], [], claimed=1.0)  # type: ignore[arg-type]
