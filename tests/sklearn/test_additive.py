# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private additive models: one release, shapes that sum to the score, and refusals before the charge."""

import copy
import pickle

import numpy as np
import pytest
from additive_tables import PAIRS, TERMS, classifier, records, regressor
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dperm import ApproxDP, PureDP
from dperm.accounting import MemoryBudget
from dperm.data import Categorical, Numeric, table
from dperm.data.additive_encoder import AdditiveEncoder
from dperm.errors import AssumptionError, BudgetError, DataError, LeakError, NotPrivateWarning, ParameterError
from dperm.ledger import Ledger
from dperm.sklearn import (
    PrivateAdditiveClassifier,
    PrivateLogisticRegression,
    PrivateMetrics,
    PrivatePipeline,
    PrivateScaler,
    PrivateSearch,
    PrivateTableEncoder,
    load_model,
)
from dperm.sklearn.files import stored_header_digest

X, Y, NUMBERS = records()
seeded = pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")


@pytest.fixture(scope="module")
def fitted() -> PrivateAdditiveClassifier:
    return classifier().fit(X, Y)


@pytest.fixture(scope="module")
def fitted_numbers():
    return regressor().fit(X, NUMBERS)


def raw_offset(model) -> float:
    """Return the intercept of the linear model, before the means of the shapes were moved to it."""
    return float(model._fitted.intercept[0])


# One release


def test_one_guarantee_and_one_charge_cover_all_terms(tmp_path):
    ledger = Ledger.open(tmp_path / "a.ledger", ApproxDP(1.5, 1e-5, "replace_one"), dataset="people", blocks=1)
    model = classifier(ledger=ledger).fit(X, Y)
    (booking,) = ledger.bookings()
    model.save(tmp_path / "model.dperm")
    assert booking.facts["model_header"] == stored_header_digest(tmp_path / "model.dperm")
    assert model.guarantee_ == ApproxDP(1.0, 1e-6, "replace_one")
    assert model.profile_.delta(1.0) <= 1e-6 * (1 + 1e-9)
    with pytest.raises(BudgetError):
        classifier(ledger=ledger).fit(X, Y)
    assert load_model(tmp_path / "model.dperm").record_ == model.record_


def test_the_plan_before_the_fit_is_that_of_the_fit(fitted, fitted_numbers):
    assert classifier().plan(len(Y)) == fitted.plan_
    assert regressor().plan(len(Y)) == fitted_numbers.plan_
    assert fitted.plan_.spec.dim == len(fitted.encoder_.feature_names) + 1


def test_rows_have_the_public_norm_one(fitted):
    assert fitted.record_.public["feature_norm"] == 1.0
    rows = fitted.encoder_.transform(X)
    assert (np.linalg.norm(rows, axis=1) <= 1).all()


@seeded
def test_the_fit_is_that_of_the_linear_model_on_the_codes():
    strength = classifier().plan(len(Y)).spec.strength
    model = classifier(random_state=3, C=1 / strength).fit(X, Y)
    rows = AdditiveEncoder(TERMS, tuple(PAIRS)).transform(X)
    linear = PrivateLogisticRegression(feature_norm=1.0, classes=(0, 1), random_state=3, C=1 / strength).fit(rows, Y)
    np.testing.assert_array_equal(model.coef_, linear.coef_)
    np.testing.assert_allclose(model.decision_function(X), linear.decision_function(rows), rtol=0, atol=1e-12)


def test_the_statement_lists_every_declaration(fitted):
    public = fitted.statement_["public_quantities"]
    assert public["estimator"] == "PrivateAdditiveClassifier"
    (encoder,) = public["encoders"]
    assert {column["name"] for column in encoder["columns"]} == set(TERMS)
    gain = next(column for column in encoder["columns"] if column["name"] == "gain")
    assert (gain["unit"], gain["special"], gain["detail"], gain["weight"]) == (1000.0, [0.0, 99999.0], 0.6, 3.0)
    assert encoder["pairs"] == [["hour", "work"]] and encoder["norm"] == 1.0
    assert encoder["smooth_code"]["harmonics"] == 16
    assert sum(encoder["term_shares"].values()) == pytest.approx(1)
    assert any("special values" in text for text in public["assumptions"])
    assert "AdditiveEncoder" in fitted.statement_.to_markdown()


def test_a_pure_guarantee_is_possible():
    model = classifier(terms={"age": TERMS["age"]}, interactions=0, delta=0.0).fit(X, Y)
    assert model.guarantee_ == PureDP(1.0, "replace_one")
    assert any("delta = 0" in str(reason) for reason in model.plan_.why)


def test_epsilon_inf_is_not_private():
    with pytest.warns(NotPrivateWarning):
        model = classifier(epsilon=float("inf"), interactions=0).fit(X, Y)
    assert model.guarantee_ is None
    assert model.score(X, Y) > 0.8


def test_the_model_learns(fitted, fitted_numbers):
    assert fitted.score(X, Y) > 0.75
    assert fitted_numbers.score(X, NUMBERS) > 0.5
    assert set(fitted.predict(X)) == {0, 1}
    probabilities = fitted.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), probabilities)


# Shapes


@pytest.mark.parametrize("name", ["fitted", "fitted_numbers"])
def test_shapes_sum_to_the_score(name, request):
    model = request.getfixturevalue(name)
    score = model.decision_function(X) if name == "fitted" else model.predict(X)
    explained = model.explain_local(X).data()
    assert explained["names"] == ["age", "gain", "hour", "work", "sex", "hour x work"] == model.term_names_
    total = explained["scores"].sum(axis=1) + explained["extra"]["scores"][0]
    np.testing.assert_allclose(total, score, rtol=0, atol=1e-12)
    linear = model.encoder_.transform(X) @ np.ravel(model.coef_) + raw_offset(model)
    np.testing.assert_allclose(linear, score, rtol=0, atol=1e-12)


def test_shapes_are_centered_on_the_grid(fitted):
    for shape in fitted.shape_functions_.values():
        assert shape.values.mean() == pytest.approx(0, abs=1e-14)
    moved = sum(values[term.ordinary].mean() for term, values in _released_values(fitted))
    assert float(fitted.intercept_[0]) == pytest.approx(raw_offset(fitted) + moved, abs=1e-12)


def _released_values(model):
    return zip(model.encoder_.terms, model.encoder_.term_values(np.ravel(model.coef_)), strict=True)


def test_a_record_has_the_contribution_that_its_shape_shows(fitted):
    shapes = fitted.shape_functions_
    record = {"age": [None], "gain": [0.0], "hour": [7.0], "work": ["elsewhere"], "sex": ["m"]}
    scores = fitted.explain_local(record).data(0)["scores"]
    assert scores[0] == shapes["age"].special["(missing)"]
    assert scores[1] == shapes["gain"].special["0"]
    assert scores[2] == pytest.approx(np.interp(7.0, shapes["hour"].grid, shapes["hour"].values), abs=1e-12)
    assert scores[3] == shapes["work"].special["(other)"]
    assert scores[4] == shapes["sex"].values[list(shapes["sex"].grid).index("m")]
    pair = shapes["hour x work"]
    hour = int(np.abs(pair.grid[0] - 7.5).argmin())
    assert scores[5] == pair.special[pair.axes[0].grid[hour], "(other)"]


def test_a_periodic_shape_has_one_value_at_both_ends(fitted):
    values = fitted.shape_functions_["hour"].values
    assert values[0] == pytest.approx(values[-1], abs=1e-12)


def test_predictions_do_not_depend_on_the_kind_of_table(fitted):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X)[list(reversed(X))]
    frame["unused"] = "text"
    np.testing.assert_array_equal(fitted.decision_function(frame), fitted.decision_function(X))


def test_one_declaration_stands_for_all_columns_of_an_array():
    rows = np.column_stack([X["hour"], X["gain"] / 1e5 * 24])
    model = PrivateAdditiveClassifier(terms=Numeric(0, 24), classes=(0, 1)).fit(rows, Y)
    assert model.term_names_ == ["x0", "x1"] and model.n_features_in_ == 2
    named = PrivateAdditiveClassifier(terms=dict.fromkeys(("x0", "x1"), Numeric(0, 24)), classes=(0, 1))
    assert named.fit(rows, Y).plan_ == model.plan_ == named.plan(len(Y))
    bare = PrivateAdditiveClassifier(terms=Numeric(0, 24), classes=(0, 1))
    assert bare.plan(len(Y), dim=2).spec == model.plan_.spec
    with pytest.raises(ParameterError, match="dim"):
        bare.plan(len(Y))
    with pytest.raises(ParameterError, match="expecting 2 features"):
        model.predict(rows[:, :1])


def test_explanations_have_the_keys_of_explainable_boosting_machines(fitted):
    overall = fitted.explain_global().data()
    assert overall.keys() == {"type", "names", "scores"}
    assert overall["scores"][0] == pytest.approx(np.abs(fitted.shape_functions_["age"].values).mean())
    age = fitted.explain_global().data(0)
    assert age["type"] == "univariate" and len(age["names"]) == len(age["scores"]) == 514
    pair = fitted.explain_global().data(5)
    assert pair["type"] == "interaction"
    assert pair["scores"].shape == (len(pair["left_names"]), len(pair["right_names"]))
    with pytest.raises(ParameterError, match="key"):
        fitted.explain_global().data(6)


def test_predictions_of_a_regression_can_be_clipped(fitted_numbers):
    shifted = fitted_numbers.edit({"age": 10.0})
    assert shifted.predict(X).max() > 3
    limited = shifted.set_params(clip_predictions=True)
    assert limited.predict(X).max() == 3.0


# Refusals


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"terms": None}, "terms must declare"),
        ({"terms": {}}, "terms must be a mapping"),
        ({"terms": {"age": Numeric(90, 17)}}, r"terms\['age'\]\.low"),
        ({"terms": {"age": Numeric(17, 90, bins=(30, 40))}}, r"terms\['age'\]\.bins"),
        ({"interactions": 2}, "interactions must be 0 or a list of declared pairs"),
        ({"interactions": [("hour", "month")]}, r"interactions\[0\] must name declared columns"),
        ({"monotone": {"work": 1}}, "monotone must name terms of single numbers"),
        ({"monotone": {"age": 2}}, r"monotone\['age'\] must be 1"),
        ({"monotone": 1}, "monotone must be a mapping"),
        ({"classes": (0, 1, 2)}, "two"),
        ({"epsilon": -1}, "epsilon"),
        ({"classes": "auto"}, "classes"),
    ],
)
def test_invalid_arguments_are_refused_in_plan_and_fit(changes, message):
    for call in (lambda model: model.plan(len(Y)), lambda model: model.fit(X, Y)):
        with pytest.raises(ParameterError, match=message):
            call(classifier(**changes))


def test_errors_cost_nothing_and_reveal_no_value():
    budget = MemoryBudget(ApproxDP(1.0, 1e-6, "replace_one"), blocks=1)
    model = classifier(ledger=budget)
    wrong = {**X, "age": ["secret", *X["age"][1:].tolist()]}
    with pytest.raises(DataError, match="column 'age' must hold numbers") as error:
        model.fit(wrong, Y)
    assert "secret" not in str(error.value)
    with pytest.raises(DataError, match="'sex'"):
        model.fit({name: values for name, values in X.items() if name != "sex"}, Y)
    with pytest.raises(ParameterError):
        model.set_params(interactions=1).fit(X, Y)
    model.set_params(interactions=0).fit(X, Y)  # the whole budget is left


@pytest.mark.parametrize("changes", [{"monotone": {"work": 1}}, {"interactions": 3}, {"terms": {"age": 3}}])
def test_invalid_declarations_cost_nothing(changes):
    budget = MemoryBudget(ApproxDP(1.0, 1e-6, "replace_one"), blocks=1)
    with pytest.raises(ParameterError):
        classifier(ledger=budget, **changes).fit(X, Y)
    classifier(ledger=budget, interactions=0).fit(X, Y)


@pytest.mark.parametrize("rows", [0, 7])
def test_messages_do_not_reveal_a_private_number_of_rows(rows):
    model = PrivateAdditiveClassifier(terms=Numeric(0, 1), classes=(0, 1), adjacency="add_remove")
    with pytest.raises((DataError, ParameterError)) as error:
        model.fit(np.zeros((rows, 0 if rows else 3)), np.zeros(rows))
    assert "7" not in str(error.value)


def test_a_private_preparation_before_the_model_is_in_the_statement():
    rows = np.column_stack([X["hour"], X["gain"]])
    scaler = PrivateScaler(epsilon=0.5)
    model = PrivateAdditiveClassifier(terms=Numeric(-1, 1), classes=(0, 1))
    fitted = model.fit(scaler.fit_transform(rows), Y)  # outside a pipeline, the rows alone carry the facts
    names = [one["encoder"] for one in fitted.statement_["public_quantities"]["encoders"]]
    assert names == ["AdditiveEncoder", "PrivateScaler"]
    assert "PrivateScaler" in fitted.statement_["covered"]


def test_invalid_drop_reads_text_as_missing():
    wrong = {**X, "age": ["secret", *X["age"][1:].tolist()]}
    model = classifier(invalid="drop", interactions=0).fit(wrong, Y)
    missing = model.decision_function({**{name: values[:1] for name, values in X.items()}, "age": [None]})
    text = model.decision_function({**{name: values[:1] for name, values in X.items()}, "age": ["secret"]})
    assert missing == text


def test_cross_validation_is_refused():
    from sklearn.model_selection import cross_val_score

    pandas = pytest.importorskip("pandas")
    with pytest.raises(LeakError):
        cross_val_score(classifier(), pandas.DataFrame(X), Y, error_score="raise")


def test_a_transformer_that_learnt_from_the_data_is_refused():
    from sklearn.preprocessing import StandardScaler

    rows = np.column_stack([X["hour"], X["gain"]])
    model = PrivateAdditiveClassifier(terms=Numeric(-3, 3), classes=(0, 1))
    with pytest.raises(LeakError, match="StandardScaler"):
        make_pipeline(StandardScaler(), model).fit(rows, Y)
    make_pipeline(FunctionTransformer(np.abs), model).fit(rows, Y)


def test_data_larger_than_memory_are_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("age,sex\n30,f\n40,m\n", encoding="utf-8")
    with pytest.raises(ParameterError, match="memory"):
        classifier().fit(table(path), "sex")
    with pytest.raises(ParameterError, match="path"):
        classifier().fit(str(path), "sex")


def test_searches_and_private_pipelines_refuse_additive_models():
    with pytest.raises(ParameterError, match="estimator must not be an additive model"):
        PrivateSearch(classifier(), {"clip": [0.5, 1.0]}).fit(np.zeros((10, 2)), np.arange(10) % 2)
    with pytest.raises(ParameterError, match="steps"):
        PrivatePipeline([("encoder", PrivateTableEncoder()), ("model", PrivateAdditiveClassifier())]).fit(X, Y)


def test_there_is_no_equivalent_of_scikit_learn(fitted):
    with pytest.raises(AssumptionError, match="shape_functions_"):
        fitted.to_sklearn()


# Advice


def test_the_plan_warns_of_detail_that_it_cannot_learn():
    thin = {"gain": Numeric(0, 1e5, detail=0.6, bins=2000), "age": TERMS["age"]}
    reasons = " ".join(map(str, classifier(terms=thin, interactions=0, epsilon=0.1).plan(30_000).why))
    assert "detail of gain cannot be learnt" in reasons
    reasons = " ".join(map(str, classifier(epsilon=4.0).plan(900_000).why))
    assert "cannot be learnt" not in reasons


def test_an_evaluation_tells_an_edited_model_from_its_release(fitted):
    def named(model) -> dict:
        found = PrivateMetrics(epsilon=1.0, delta=1e-6).evaluate(model, X, Y)
        names.append(found.statement_.to_markdown())
        return found.record_.public["evaluated_model"]

    names: list[str] = []
    assert named(fitted) == {"class": "PrivateAdditiveClassifier"}
    one, other = (named(fitted.edit({"age": value})) for value in (0.0, 1.0))
    assert one["edits"] == other["edits"] == ["age (edited)"]
    assert one["shapes_digest"] != other["shapes_digest"]
    assert "changed after its release: age (edited)" in names[1] and "changed after" not in names[0]


# Estimators as objects


def test_clones_copies_and_pickles(fitted):
    assert clone(fitted).get_params()["terms"] == TERMS
    for other in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(other.decision_function(X), fitted.decision_function(X))
    assert "feature_norm" not in fitted.get_params()


def test_the_notebook_card_has_the_guarantee(fitted):
    assert "PRIVATE" in fitted._repr_html_()


def test_a_second_fit_forgets_edits():
    model = classifier(interactions=0).fit(X, Y)
    edited = model.edit({"age": 0.0})
    edited.fit(X, Y)
    assert not np.allclose(edited.shape_functions_["age"].values, 0)
    assert "changed after" not in str(edited.statement_["composition"])


def test_a_column_of_one_category_and_one_of_none():
    declared = {"work": Categorical(["own"]), "sex": Categorical([], other=True), "age": TERMS["age"]}
    model = classifier(terms=declared, interactions=0).fit(X, Y)
    assert list(model.shape_functions_["sex"].grid) == ["(other)"]
    model.predict(X)


def test_the_budget_is_checked_before_the_cells_are_read():
    """With an exhausted budget, no error about the data can be learnt."""
    poor = MemoryBudget(ApproxDP(0.5, 1e-7, "replace_one"), blocks=1)
    table = {"age": np.arange(3000.0), "sex": ["x"] * 3000}
    terms = {"age": Numeric(0, 100), "sex": Numeric(0, 1)}
    with pytest.raises(BudgetError):
        PrivateAdditiveClassifier(terms=terms, classes=(0, 1), ledger=poor).fit(table, np.arange(3000) % 2)
    with pytest.raises(DataError, match="sex"):
        PrivateAdditiveClassifier(terms=terms, classes=(0, 1)).fit(table, np.arange(3000) % 2)
