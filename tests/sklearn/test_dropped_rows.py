# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""invalid="drop": bad rows contribute nothing, and no record changes how another is read."""

import numpy as np
import pytest
from families import Family

from dperm.errors import DpermWarning
from dperm.sklearn import PrivateLogisticRegression


def spoilt(family: Family) -> tuple[np.ndarray, np.ndarray]:
    """Three bad rows: NaN, infinite, and a label that is none."""
    X, y = family.X.copy(), family.y.astype(float)
    X[3, 1], X[700, 0], y[1500] = np.nan, np.inf, 9.5 if family.is_classifier else np.nan
    return X, y


def test_dropped_rows_contribute_nothing(each):
    kept = np.ones(2000, dtype=bool)
    kept[[3, 700, 1500]] = False
    with pytest.warns(DpermWarning):
        dropped = each.without_n(invalid="drop", random_state=4).fit(*spoilt(each))
        without = each.without_n(random_state=4).fit(each.X[kept], each.y[kept])
    assert dropped.coef_ == pytest.approx(without.coef_, rel=1e-6)
    assert dropped.statement_["public_quantities"]["invalid"] == "drop"
    assert dropped.statement_["goal"] == without.statement_["goal"]


def test_dropping_does_not_change_the_plan(each):
    assert each.make(invalid="drop").fit(*spoilt(each)).plan_ == each.make().fit(*each.data).plan_


@pytest.mark.parametrize("other", [np.inf, None, object(), 1j, "1"], ids=lambda other: type(other).__name__)
def test_one_strange_label_in_a_list_does_not_change_how_the_others_are_read(each, other):
    kept = each.y.tolist()[:-1]
    with pytest.warns(DpermWarning):
        with_text = each.make(invalid="drop", random_state=1).fit(each.X, [*kept, "secret"])
        with_other = each.make(invalid="drop", random_state=1).fit(each.X, [*kept, other])
    assert (with_text.coef_ == with_other.coef_).all()
    assert np.abs(with_text.coef_).max() > 0.1


@pytest.mark.filterwarnings("ignore::dperm.errors.PublicAssumptionWarning")
def test_missing_labels_are_no_class_when_they_are_dropped(data):
    X, y = data
    missing = y.astype(float)
    missing[:5] = np.nan
    model = PrivateLogisticRegression(invalid="drop", feature_norm=1.0).fit(X, missing)
    assert model.classes_.tolist() == [0.0, 1.0]


def test_everything_may_be_dropped(each):
    model = each.make(invalid="drop").fit(np.full((4321, 2), np.nan), each.labels(4321))
    assert np.isfinite(model.coef_).all()
