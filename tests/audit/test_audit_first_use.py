# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a newcomer meets: results in one line, verdicts from counts, hints, and bits as 0 and 1."""

import numpy as np
import pytest

from dperm import ApproxDP, PureDP
from dperm.audit.coins import coins
from dperm.audit.differencing import ridge_record
from dperm.audit.guesses import pure_from_guesses
from dperm.audit.membership import Roc, lira, lira_logistic
from dperm.audit.one_run import from_scores, one_run
from dperm.errors import ParameterError
from dperm.noise.simulation import generator

CLAIM = PureDP(1.0, "add_remove")


def records():
    drawn = generator(0)
    X = drawn.choice([-1.0, 1.0], (100, 40))
    return X, (X[:, 0] + drawn.normal(size=100) > 0).astype(int)


def test_a_result_is_one_line_without_scores():
    result = lira_logistic(*records(), models=16, seed=0)
    for shown in (repr(result), str(result), repr(result.roc), str(result.roc)):
        assert len(shown) < 200
        assert "AUC 0." in shown
        assert "at FPR 0.1 %" in shown
        assert "not for publication" in shown
    assert str(result).startswith("<LiRA: 100 records, ")


def test_scores_that_are_turned_round_get_a_hint():
    member = np.arange(400) % 2
    scores = generator(1).normal(size=400) + member
    assert Roc.of(scores, member).hint == ""
    assert Roc.of(generator(2).normal(size=400), member).hint == ""
    assert "Check the sign of the scores" in repr(Roc.of(-scores, member))


def test_counts_give_a_verdict():
    assert pure_from_guesses(900, 1000).against(CLAIM, subject="my attack").violation
    finding = one_run(90, 100, 1000).against(PureDP(2.0, "add_remove"))
    assert not finding.violation
    assert (finding.subject, finding.confidence) == ("an attack", 0.95)
    assert one_run(90, 100, 1000, delta=1e-5).against(ApproxDP(1.0, 1e-5, "add_remove")).violation


def test_coins_may_be_0_and_1_and_nothing_else():
    included = coins(200, seed=0).included
    found = from_scores(np.arange(200.0), included.astype(int), guesses_in=20, guesses_out=20, delta=0.0)
    assert found == from_scores(np.arange(200.0), included, guesses_in=20, guesses_out=20, delta=0.0)
    for wrong in (included.astype(float), included + 1, included.astype(str)):
        with pytest.raises(ParameterError, match="included"):
            from_scores(np.arange(200.0), wrong, guesses_in=20, guesses_out=20, delta=0.0)


class Fitted:
    """A model, where a function that makes one belongs."""

    def fit(self, X, y):
        return self

    def __call__(self):
        return self


def test_a_model_is_no_function_that_makes_models():
    with pytest.raises(ParameterError, match="make must be a function that returns a new model"):
        lira(Fitted(), *records(), models=6)


def test_a_record_whose_constant_is_not_last_is_refused():
    rows = np.column_stack([np.ones(50), generator(3).normal(size=(50, 2))])
    rows[-1, -1] = 1e-9
    targets = generator(4).normal(size=50)
    fits = [np.linalg.solve(rows[:k].T @ rows[:k] + np.eye(3), rows[:k].T @ targets[:k]) for k in (49, 50)]
    moments = rows[:49].T @ rows[:49] + np.eye(3)
    with pytest.raises(ParameterError, match="constant last"):
        ridge_record(*fits, moments)
    assert np.isnan(ridge_record(fits[0], fits[0], moments).features).all()
