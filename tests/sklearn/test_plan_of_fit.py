# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``plan(...)`` is the plan that ``fit`` runs, for every estimator, method, adjacency and goal."""

import warnings

import numpy as np
import pytest
from families import FAMILIES

from dperm.errors import DpermError, DpermWarning, ParameterError
from dperm.methods.choose import NAMES
from dperm.sklearn import base

ROWS = 600
DECLARED = 640
"""A rough public number, which is not that of the rows."""
CASES = [("replace_one", None), ("add_remove", None), ("add_remove", DECLARED)]


class Planned(Exception):
    """Ends a fit with the plan that it would run."""


@pytest.fixture
def plan_of_fit(monkeypatch):
    """The plan that ``fit`` runs, or the error that it raises."""

    def stop(plan, *arguments, **options):
        raise Planned(plan)

    monkeypatch.setattr(base, "fit_private", stop)

    def found(model, X, y):
        try:
            model.fit(X, y)
        except Planned as planned:
            return planned.args[0]
        except DpermError as error:
            return type(error), str(error)

    return found


def plan_of(model, n):
    try:
        return model.plan(n=n, dim=3)
    except DpermError as error:
        return type(error), str(error)


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("family", FAMILIES)
def test_plan_is_that_of_fit(plan_of_fit, family, method):
    each = FAMILIES[family]
    X, y = each.X[:ROWS], each.y[:ROWS]
    for adjacency, declared in CASES:
        for delta in (1e-5, 0.0):
            model = each.make(adjacency=adjacency, n=declared, method=method, delta=delta, epsilon=0.7)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DpermWarning)
                expected = plan_of_fit(model, X, y)
                assert plan_of(model, ROWS if adjacency == "replace_one" else None) == expected
                if declared is not None:
                    assert plan_of(model, declared) == expected
            assert isinstance(expected, tuple) or expected.spec.n == (ROWS if adjacency == "replace_one" else declared)


def test_a_plan_for_an_n_that_fit_does_not_know_is_refused(each):
    with pytest.raises(ParameterError, match=r"plan\(n=2000\) does not match .* Give n=2000 to the estimator"):
        each.make(adjacency="add_remove").plan(n=2000, dim=3)


def test_a_fit_keeps_the_plan_that_it_ran(smooth):
    model = smooth.make(adjacency="add_remove", n=1234, method="output")
    assert model.plan(dim=3) == model.fit(*smooth.data).plan_
    assert np.isfinite(model.coef_).all()
