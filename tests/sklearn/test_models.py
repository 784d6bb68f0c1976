# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What all private linear models promise beside scikit-learn's own checks, mostly without a seed."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from families import FAMILIES
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from dperm import ApproxDP, ParameterError, PureDP, account
from dperm.accounting import MemoryBudget
from dperm.errors import BudgetError, DpermWarning, NotPrivateWarning
from dperm.methods import OutputPerturbation

ABSENT = ("partial_fit", "warm_start", "n_iter_", "sample_weight")
CASES = [(name, method) for name, family in FAMILIES.items() for method in family.methods]


@pytest.mark.parametrize(("name", "method"), CASES)
def test_a_fit_has_the_guarantee_that_was_asked_for_and_learns(name, method):
    family = FAMILIES[name]
    model = family.make(epsilon=16.0, delta=1e-6, method=method).fit(*family.data)
    assert model.guarantee_ == ApproxDP(16.0, 1e-6, "replace_one")
    assert model.profile_.epsilon(1e-6) <= 16.0
    assert model.n_features_in_ == 3 and not hasattr(model, "feature_names_in_")
    assert model.plan_.goal == model.guarantee_
    assert model.score(*family.data) > family.good


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_delta_0_is_a_pure_guarantee(smooth, adjacency):
    model = smooth.make(epsilon=8.0, delta=0.0, adjacency=adjacency).fit(*smooth.data)
    assert model.guarantee_ == PureDP(8.0, adjacency)
    assert model.profile_.epsilon(0.0) <= 8.0
    assert model.score(*smooth.data) > smooth.good - 0.1


def test_fits_without_a_seed_differ_and_are_private(each):
    first, second = each.make().fit(*each.data), each.make().fit(*each.data)
    assert (first.coef_ != second.coef_).all() and np.all(first.intercept_ != second.intercept_)
    assert first.statement_.is_private


SEEDS = {"int": 3, "numpy": np.int64(3), "RandomState": np.random.RandomState(3), "Generator": np.random.default_rng(3)}


@pytest.mark.parametrize("kind", SEEDS)
def test_a_seed_makes_a_fit_reproducible_and_not_private(each, kind):
    with pytest.warns(NotPrivateWarning):
        first, second = (each.make(random_state=copy.deepcopy(SEEDS[kind])).fit(*each.data) for _ in range(2))
    assert (first.coef_ == second.coef_).all()
    assert not first.statement_.is_private
    assert "NOT PRIVATE" in str(first.statement_["status"])


def test_a_seeded_fit_promises_nothing_and_remembers_what_was_asked_for(each):
    with pytest.warns(NotPrivateWarning, match="random_state") as caught:
        model = each.make(epsilon=0.625, random_state=0).fit(*each.data)
    assert [warning.filename for warning in caught] == [__file__]  # one warning, at this line
    assert model.guarantee_ is None and model.profile_ is None
    found = model.statement_
    assert str(found).startswith("Privacy: NOT PRIVATE")
    assert found["goal"] == {"kind": "ApproxDP", "epsilon": 0.625, "delta": 1e-6, "adjacency": "replace_one"}
    assert [found[name] for name in ("parameters", "profile", "meaning", "covered")] == ["nothing"] * 4


@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
def test_a_random_state_gives_another_seed_for_every_fit(each, kind):
    model = each.make(random_state=kind(0))
    with pytest.warns(NotPrivateWarning):
        first = model.fit(*each.data).coef_
        second = model.fit(*each.data).coef_
    assert (first != second).all()


@pytest.mark.filterwarnings("ignore:the noise that:dperm.errors.DpermWarning")
def test_under_add_remove_the_number_of_rows_enters_nothing(each):
    X, y = each.data
    public = [each.without_n().fit(X[:rows], y[:rows]).statement_["mechanism"] for rows in (2000, 1999, 17)]
    assert public[0] == public[1] == public[2]


def test_under_add_remove_a_declared_n_is_never_compared_with_the_data(each):
    model = each.make(adjacency="add_remove", n=1234, method="gradient").fit(*each.data)
    assert model.plan_.spec.n == 1234
    assert any("not compared" in text for text in model.statement_["public_quantities"]["assumptions"])


def test_under_add_remove_gradient_perturbation_asks_for_n(each):
    with pytest.raises(ParameterError, match=r"n must be (given|declared)"):
        each.make(adjacency="add_remove", method="gradient").fit(*each.data)


def test_under_replace_one_n_is_the_number_of_rows(each):
    assert each.make().fit(*each.data).plan_.spec.n == 2000
    with pytest.raises(ParameterError, match="Leave n out"):
        each.make(n=1999).fit(*each.data)


def test_plan_needs_no_data_and_is_what_fit_does(each):
    model = each.make(bounds=[(-2, 2), (-1, 3), (0, 1)], feature_norm=1.5, C=0.02)
    plan = model.plan(n=2000, dim=3)
    assert plan == model.fit(*each.data).plan_
    assert plan.spec.strength == 50.0


def test_plan_takes_the_declared_n_and_refuses_another(each):
    model = each.make(adjacency="add_remove", n=50_000)
    assert model.plan(dim=3).spec.n == model.plan(n=50_000, dim=3).spec.n == 50_000
    if each.smooth:
        assert each.make(adjacency="add_remove").plan(dim=3).spec.n is None
    with pytest.raises(ParameterError, match=r"plan\(n=501\) does not match the declared n=50000"):
        model.plan(n=501, dim=3)
    with pytest.raises(ParameterError, match=r"n must be (given|declared)"):
        each.make().plan(dim=3)
    for bounds in (None, (0, 1), [0.0, 1.0]):
        with pytest.raises(ParameterError, match=r"dim must be given, .*Call plan\(n=500, dim=3\)"):
            each.make(bounds=bounds).plan(n=3)


@pytest.mark.parametrize("bounds", [[(0, 10), (-1, 1)], np.array([(0, 10), (-1, 1)]), {"a": (0, 10), "b": (-1, 1)}])
def test_plan_counts_the_features_by_their_bounds(each, bounds):
    expected = each.make(bounds=[(0, 10), (-1, 1)]).plan(n=100_000, dim=2)
    assert each.make(bounds=bounds).plan(n=100_000) == each.make(bounds=bounds).plan(n=100_000, dim=2) == expected


def test_without_a_bound_rows_are_scaled_to_norm_1(each):
    plain, declared = each.make(feature_norm=None), each.make(feature_norm=1.0)
    assert plain.plan(n=2000, dim=3) == declared.plan(n=2000, dim=3)
    with pytest.warns(DpermWarning, match=r"feature_norm=1.0.*other units.*Give the public bounds") as caught:
        plain.fit(*each.data)
    assert [warning.filename for warning in caught] == [__file__]
    assert plain.statement_["public_quantities"]["feature_norm"] == 1.0


def test_a_method_object_is_accepted(smooth):
    model = smooth.make(epsilon=8.0, method=OutputPerturbation(noise="laplace"), delta=0.0).fit(*smooth.data)
    assert model.plan_.output_noise.name == "laplace"


def test_without_an_intercept_there_is_no_coefficient_for_it(each):
    model = each.make(fit_intercept=False).fit(*each.data)
    assert np.unique(model.intercept_).tolist() == [0.0 if each.is_classifier else 20.0]  # the middle of label_range
    assert model.plan_.spec.width == 3


def test_epsilon_inf_promises_nothing_and_is_not_charged(smooth):
    budget = MemoryBudget(PureDP(1.0, "replace_one"))
    with pytest.raises(ParameterError, match=r"without privacy .* cannot be charged.*Leave out ledger"):
        smooth.make(epsilon=np.inf, ledger=budget).fit(*smooth.data)
    assert budget.entries == ()
    with pytest.warns(NotPrivateWarning) as caught:
        model = smooth.make(epsilon=np.inf).fit(*smooth.data)
    assert caught[0].filename == __file__
    assert "NOT PRIVATE" in model._repr_html_()
    assert model.guarantee_ is None and model.profile_ is None and model.plan_ is None
    assert "no guarantee" in str(model.statement_["status"]) and not model.statement_.is_private
    with pytest.raises(ParameterError, match="epsilon=inf has no plan"):
        model.plan(n=10, dim=2)


# budgets


def test_a_fit_is_charged_to_the_ledger_once(smooth):
    budget = MemoryBudget(PureDP(1.0, "replace_one"))
    model = smooth.make(epsilon=0.75, delta=0.0, ledger=budget).fit(*smooth.data)
    (entry,) = budget.entries
    assert entry.state == "committed" and entry.digest.startswith("sha256:")
    assert budget.spent["epsilon"] == pytest.approx(0.75)
    with pytest.raises(BudgetError):
        model.fit(*smooth.data)
    assert len(budget.entries) == 1


class Unreadable:
    """Labels that must not be read."""

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("the data were read")


def test_the_budget_is_asked_before_the_data_are_read(each):
    budget = MemoryBudget(ApproxDP(0.1, 1e-9, "replace_one"), blocks=1)
    model = each.make(epsilon=1.0, ledger=budget)
    with pytest.raises(BudgetError):
        model.fit(np.zeros((2000, 2)), Unreadable())
    assert budget.entries == ()


# behaviour of scikit-learn's objects


def test_clone_deepcopy_and_pickle_keep_parameters_and_fit(each):
    budget = MemoryBudget(ApproxDP(10.0, 1e-3, "replace_one"), blocks=2)
    model = each.make(epsilon=2.0, bounds=(-2, 2), ledger=budget)
    copied = clone(model)
    assert copied.ledger is budget and not hasattr(copied, "coef_")
    fitted = model.fit(*each.data)
    for again in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted.set_params(ledger=None)))):
        assert (again.predict(each.X) == fitted.predict(each.X)).all()
        assert again.guarantee_ == fitted.guarantee_ and again.statement_ == fitted.statement_
        assert again.profile_.delta(0.1) == fitted.profile_.delta(0.1)


def test_what_would_break_the_guarantee_is_absent(each):
    model = each.make().fit(*each.data)
    assert [name for name in ABSENT if hasattr(model, name) or name in model.get_params()] == []
    with pytest.raises(TypeError):
        model.fit(*each.data, sample_weight=np.ones(2000))


def test_a_fit_that_fails_leaves_the_earlier_one_alone(each):
    model = each.make().fit(*each.data)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="finite"):
        model.fit(np.full((2000, 2), np.nan), each.y)
    assert model.n_features_in_ == 3 and (model.coef_ == before).all()
    assert model.predict(each.X).shape == (2000,)


def test_predicting_before_a_fit_is_an_error_of_scikit_learn(each):
    for use in (
        lambda m: m.predict(each.X),
        lambda m: m.to_sklearn(),
        lambda m: m.noise_interval(),
        lambda m: m.statement_,
    ):
        with pytest.raises(NotFittedError):
            use(each.make())
    assert not hasattr(each.make(), "statement_")


@pytest.mark.parametrize("intercept", [True, False])
def test_to_sklearn_predicts_the_same(each, intercept):
    model = each.make(bounds=(-1.5, 3), fit_intercept=intercept).fit(*each.data)
    exported = model.to_sklearn()
    assert type(exported).__module__.startswith("sklearn.")
    assert exported.predict(each.X) == pytest.approx(model.predict(each.X), rel=1e-12)
    assert exported.score(*each.data) == pytest.approx(model.score(*each.data), rel=1e-12)
    assert exported.n_features_in_ == 3
    exported.coef_[:] = 0
    assert model.coef_.any()


def test_a_fitted_model_keeps_no_data(each):
    X, y = np.tile(each.X, (20, 1)), np.tile(each.y, 20)
    sizes = [len(pickle.dumps(each.make().fit(X[:rows], y[:rows]))) for rows in (2000, 40_000)]
    assert abs(sizes[0] - sizes[1]) < 500 and max(sizes) < 20_000  # reasons of the plan depend on n, which is public


# display


def test_notebooks_show_the_guarantee(each):
    model = each.make(epsilon=1.0)
    assert "not fitted" in model._repr_html_()
    fitted = model.fit(*each.data)
    html = fitted._repr_html_()
    assert "(epsilon, delta)-DP: epsilon = 1, delta = 1e-6" in html and "This fit only" in html
    bundle = fitted._repr_mimebundle_()
    assert bundle["text/html"] == fitted._repr_html_() or "This fit only" in bundle["text/html"]
    assert bundle["text/plain"] == repr(fitted)


def test_a_seeded_model_is_shown_as_not_private(each):
    with pytest.warns(NotPrivateWarning):
        model = each.make(random_state=0).fit(*each.data)
    html = model._repr_html_()
    assert "NOT PRIVATE" in html and "ApproxDP" not in html and "epsilon = 1" not in html


def test_a_fit_without_surprises_is_silent(each):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = each.make().fit(*each.data)
        model.predict(each.X)
    assert caught == []


def test_the_profile_is_that_of_the_event(each):
    model = each.make(delta=1e-5).fit(*each.data)
    assert model.profile_.delta(0.5) == account(model.plan_.event, "replace_one").delta(0.5)
