# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What is no array of numbers gets an error that names the argument, and repeats nothing of it."""

import numpy as np
import pytest

from dperm import PureDP
from dperm.audit.arrays import as_array, numbers, truths
from dperm.audit.attributes import Attribute, GaussianTarget, attribute_inference
from dperm.audit.coins import coins
from dperm.audit.differencing import logistic_record, ridge_record
from dperm.audit.exposure import exposure_among
from dperm.audit.membership import Roc, lira, lira_logistic, lira_on_scores, rate_ceiling, shadow_logistic
from dperm.audit.one_run import from_scores
from dperm.errors import ParameterError

SECRET = "alice has it"


class Hidden:
    """An object that says what it holds when it is converted."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError(SECRET)


NO_NUMBERS = {
    "text": [SECRET] * 200,
    "ragged": [[1.0], [1.0, 2.0]],
    "objects": [object()] * 200,
    "complex": [1 + 1j] * 200,
    "nothing": None,
    "raising": Hidden(),
    "NaN": [np.nan] * 200,
}
MEMBER = coins(200, 1).included
X, Y = np.arange(60.0).reshape(20, 3), np.arange(20) % 2
CALLS = {
    "from_scores": (lambda v: from_scores(v, coins(200, 1), guesses_in=20, guesses_out=20, delta=0.0), "scores"),
    "Roc": (lambda v: Roc.of(v, MEMBER), "scores"),
    "lira_logistic": (lambda v: lira_logistic(v, [0, 1] * 100), "X"),
    "lira_on_scores": (lambda v: lira_on_scores(v, np.zeros((200, 6), dtype=bool)), "scores"),
    "shadow_logistic": (lambda v: shadow_logistic(v, np.ones(200), np.ones((200, 6), dtype=bool)), "X"),
    "ridge_record": (lambda v: ridge_record(v, np.zeros(3), np.eye(3)), "before"),
    "logistic_record": (lambda v: logistic_record(np.zeros(3), v, np.ones(3), regularization=1.0), "rows"),
    "exposure_among": (lambda v: exposure_among(v, 0), "scores"),
    "attribute_inference": (
        lambda v: attribute_inference(
            np.ones(3), v, np.ones(20), attribute=Attribute(0, (0, 1), (0.5, 0.5)), law=GaussianTarget(1.0)
        ),
        "rows",
    ),
}


@pytest.mark.parametrize("kind", NO_NUMBERS)
@pytest.mark.parametrize("call", CALLS)
def test_no_numbers_are_refused_by_name(call, kind):
    run, name = CALLS[call]
    with pytest.raises(ParameterError, match=rf"^{name}\b.* must be ") as error:
        run(NO_NUMBERS[kind])
    told = error.value
    while told is not None:
        assert SECRET not in str(told)
        told = told.__cause__ or told.__context__


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lira_on_scores(np.zeros((20, 6)), [[1] * 6] * 20), "mask must be a matrix of True and False"),
        (lambda: shadow_logistic(X, 2 * Y - 1, [[1.0]] * 20), "mask must be a matrix of True and False"),
        (lambda: lira_logistic(X, [None] * 10 + [1] * 10), "y must be labels of one type"),
        (lambda: lira_logistic(np.zeros((0, 3)), []), "X, y must contain at least one record"),
        (lambda: lira("x", X, Y, models=6), "make must be a function"),
        (lambda: Roc.of(np.arange(40.0), ["a"] * 40), "member must be True or False"),
        (lambda: Roc.of(np.arange(40.0), [0, 1] * 20).above(np.nan), "threshold must be a number, got NaN"),
        (lambda: Roc.of(np.arange(40.0), [0, 1] * 20).above("a"), "threshold must be a number, got text"),
        (lambda: Roc.of(np.arange(40.0), [0, 1] * 20).ceilings(1.0), "guarantee must be a guarantee, such as"),
        (lambda: rate_ceiling("x", 0.1), "guarantee must be a guarantee, such as"),
        (lambda: rate_ceiling(PureDP(1.0, "add_remove"), 1.5), "false_positive_rate must be"),
    ],
    ids=["mask", "floats", "labels", "none", "make", "member", "NaN", "text", "ceilings", "ceiling", "rate"],
)
def test_arguments_of_attacks_are_named(call, words):
    with pytest.raises(ParameterError, match=words):
        call()


def test_numbers_are_taken_as_they_come():
    assert numbers("x", [True, False]).tolist() == [1.0, 0.0]
    assert numbers("x", np.arange(3, dtype=np.int8)).dtype == np.float64
    assert numbers("x", [-np.inf, 1], finite=False)[0] == -np.inf
    assert numbers("x", 3, dims=0) == 3 and numbers("x", [[1, 2]], dims=None).shape == (1, 2)
    assert truths("x", [True]).tolist() == [True]
    assert Roc.of(np.arange(40.0), [0, 1] * 20).above(np.inf).true_positive_rate == 0
    rows, words = np.tile(X, (4, 1)), np.array(["no", "yes"], dtype=object)[np.tile(Y, 4)]
    assert lira_logistic(rows / 60, words, models=6, seed=0).roc.auc > 0
    assert lira_on_scores(np.arange(120.0).reshape(20, 6).tolist(), (np.indices((20, 6)).sum(0) % 2 == 0).tolist())


def test_what_is_wrong_is_told():
    for values, words in (
        ([[1.0]], r"x must be a list of finite numbers, got an array of shape \(1, 1\). Do it"),
        ([np.inf], "got infinity"),
    ):
        with pytest.raises(ParameterError, match=words):
            numbers("x", values, remedy="Do it.")
    with pytest.raises(ParameterError, match="x must be an array, or lists of equal length, got"):
        as_array("x", [[1], [2, 3]])
