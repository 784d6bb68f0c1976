# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes of additive models: edits, monotone projections, tables and model files."""

import copy
import json
import pickle

import numpy as np
import pytest
from additive_tables import PAIRS, TERMS, classifier, records, regressor
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from dperm.errors import ModelFormatError, ParameterError
from dperm.report import model_file
from dperm.report.model_file import ModelFile, read_model, write_model
from dperm.report.whole_file import allocated_file
from dperm.sklearn import PrivateAdditiveClassifier, PrivateAdditiveRegressor, PrivateLogisticRegression, load_model
from dperm.sklearn.files import save
from dperm.sklearn.shapes import Axis, ShapeFunction

X, Y, NUMBERS = records()


@pytest.fixture(scope="module")
def fitted() -> PrivateAdditiveClassifier:
    return classifier().fit(X, Y)


def a_shape(values, *others: float) -> ShapeFunction:
    names = tuple(f"other {place}" for place in range(len(others)))
    axis = Axis("x", np.arange(len(values), dtype=float), names, is_number=True, is_step=False)
    return ShapeFunction("x", (axis,), np.array([*values, *others]), "score")


# Monotone projections


def numbers(least: int, most: int):
    return st.lists(st.floats(-100, 100), min_size=least, max_size=most)


@given(numbers(1, 30), numbers(0, 2), st.sampled_from((1, -1)))
def test_a_monotone_shape_is_monotone_and_keeps_the_mean_and_the_other_points(values, others, sign):
    shape = a_shape(values, *others)
    found = shape.monotone(sign)
    assert (sign * np.diff(found.values) >= 0).all()
    assert found.values.mean() == pytest.approx(shape.values.mean(), abs=1e-9)
    assert found.special == shape.special
    again = found.monotone(sign)
    np.testing.assert_allclose(again.points, found.points, rtol=0, atol=1e-9)


@given(numbers(2, 12), st.sampled_from((1, -1)), st.randoms(use_true_random=False))
def test_no_other_monotone_shape_is_nearer(values, sign, random):
    shape = a_shape(values)
    found = shape.monotone(sign)
    other = np.sort([random.uniform(-100, 100) for _ in values])[::sign]
    assert ((found.values - shape.values) ** 2).sum() <= ((other - shape.values) ** 2).sum() + 1e-9


def test_the_argument_monotone_holds_for_predictions_within_the_bounds():
    model = classifier(interactions=0, monotone={"age": -1, "gain": 1}).fit(X, Y)
    plain = classifier(interactions=0)
    assert model.plan_ == plain.plan(len(Y))  # the release does not know of it
    for name, sign, low, high in (("age", -1, 17, 90), ("gain", 1, 1, 99998)):
        places = np.linspace(low, high, 4001)
        one = {column: np.repeat(values[:1], len(places)) for column, values in X.items()}
        scores = model.decision_function({**one, name: places})
        assert (sign * np.diff(scores) >= -1e-12).all()
        assert np.ptp(scores) > 0
    assert "age (made decreasing)" in str(model.statement_["composition"])


def test_with_monotone_returns_a_copy(fitted):
    before = fitted.decision_function(X)
    found = fitted.with_monotone({"age": 1})
    assert (np.diff(found.shape_functions_["age"].values) >= 0).all()
    np.testing.assert_array_equal(fitted.decision_function(X), before)
    assert found.record_ is fitted.record_ and found.guarantee_ == fitted.guarantee_
    with pytest.raises(ParameterError, match="directions must name terms of single numbers"):
        fitted.with_monotone({"hour x work": 1})


# Edits


def test_an_edit_changes_one_term_and_nothing_else(fitted):
    found = fitted.edit({"age": lambda shape: np.minimum(shape.values, 0.25), "sex": 0.0})
    assert found.shape_functions_["age"].values.max() <= 0.25
    changes = found.explain_local(X).data()["scores"] - fitted.explain_local(X).data()["scores"]
    assert (changes[:, [1, 2, 3, 5]] == 0).all() and (changes[:, [0, 4]] != 0).any()
    np.testing.assert_allclose(
        found.decision_function(X) - fitted.decision_function(X), changes.sum(axis=1), rtol=0, atol=1e-12
    )
    np.testing.assert_array_equal(found.intercept_, fitted.intercept_)
    assert fitted.edit({"age": fitted.shape_functions_["age"].values}).score(X, Y) == fitted.score(X, Y)


def test_special_values_are_edited_by_label(fitted):
    shape = fitted.shape_functions_["gain"]
    found = fitted.edit({"gain": shape.replaced(special={"0": 0.5})})
    np.testing.assert_array_equal(found.shape_functions_["gain"].values, shape.values)
    assert found.shape_functions_["gain"].special == {**shape.special, "0": 0.5}
    pair = fitted.shape_functions_["hour x work"]
    label = (pair.grid[0][3], "(other)")
    assert pair.replaced(special={label: 2.0}).special[label] == 2.0


def test_the_statement_lists_every_edit_and_the_record_keeps_the_release(fitted):
    found = fitted.edit({"age": 0.0}).with_monotone({"hour": 1})
    text = found.statement_["composition"]
    assert "age (edited), hour (made increasing)" in text and "T3" in text
    assert fitted.statement_["composition"] in text
    assert found.record_ == fitted.record_
    others = {name: value for name, value in fitted.statement_.fields.items() if name != "composition"}
    assert {name: found.statement_[name] for name in others} == others


@pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")
def test_the_sentence_about_edits_fits_one_term_and_fits_without_noise(fitted):
    one = fitted.edit({"age": 0.0}).with_monotone({"age": 1}).statement_["composition"]
    assert "The term age (edited), age (made increasing) of the model was changed after the release." in one
    model = classifier(epsilon=np.inf).fit(X, Y)
    found = model.edit({"age": 0.0, "sex": 0.0}).statement_["composition"]
    added = found.removeprefix(str(model.statement_["composition"]))
    assert added == " The terms age (edited), sex (edited) of the model were changed after the fit."


def test_pages_and_plots_say_which_terms_were_changed(fitted, tmp_path):
    found, sentence = fitted.edit({"age": 0.0, "sex": 0.0}), "changed after the release: age (edited)"
    for model, path in ((fitted, tmp_path / "a.html"), (found, tmp_path / "b.html")):
        model.write_shapes(path)
    assert f"{sentence}, sex (edited)" in (tmp_path / "b.html").read_text()
    assert "changed after" not in (tmp_path / "a.html").read_text()
    figure = pytest.importorskip("matplotlib.figure").Figure()
    (ax,) = found.plot_shapes(["age"])
    assert ax.figure.get_suptitle().splitlines()[1:] == [sentence]
    one, other = found.plot_shapes(["age", "hour"], figure.subplots(1, 2))
    assert one.get_title().endswith(sentence) and "changed" not in other.get_title()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "changes must be a mapping"),
        ("age", "changes must be a mapping"),
        ({"height": 0.0}, "must name terms of the model: age"),
        ({"age": np.zeros(3)}, r"contributions of the term 'age' must be finite numbers of shape \(513,\)"),
        ({"age": np.nan}, "finite"),
        ({"age": "high"}, "finite"),
        ({"age": "1.5"}, "finite"),
        ({"age": True}, "finite"),
        ({"sex": ["1", "2"]}, "finite"),
        ({"sex": [True, 2.0]}, "finite"),
        ({"sex": np.array([True, False])}, "finite"),
        ({"age": None}, "must have new contributions of the term 'age', got None"),
        ({"age": lambda shape: None}, "must have new contributions"),
        ({"age": 1e101}, r"at most 1e\+100 in size"),
        ({"age": 10**400}, "finite"),
        ({"gain": lambda shape: shape.with_points(shape.points * 1e200)}, r"at most 1e\+100 in size"),
        ({"age": a_shape([0.0, 1.0])}, "must be a shape of the term 'age'"),
        ({"age": lambda shape: shape.values[:5]}, "of shape"),
    ],
)
def test_edits_that_do_not_fit_are_refused(fitted, changes, message):
    with pytest.raises(ParameterError, match=message):
        fitted.edit(changes)


def test_unknown_points_and_infinite_contributions_are_refused(fitted):
    shape = fitted.shape_functions_["gain"]
    with pytest.raises(ParameterError, match="special must name other points of the term 'gain', got '7'"):
        shape.replaced(special={"7": 0.0})
    with pytest.raises(ParameterError, match="finite number"):
        shape.replaced(special={"0": np.inf})


def test_shapes_cannot_be_changed_in_place(fitted):
    for model in (fitted, copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        with pytest.raises(ValueError, match="read-only"):
            model.shape_functions_["age"].values[0] = 1.0
        for arrays in (model.shape_functions_["age"].grid, *model.shape_functions_["hour x work"].grid):
            with pytest.raises(ValueError, match="read-only"):
                arrays[0] = arrays[1]
        with pytest.raises(TypeError, match="item assignment"):
            model.shape_functions_["age"] = model.shape_functions_["sex"]
        with pytest.raises(AttributeError, match="shape_functions_"):
            model.shape_functions_ = {}
    for explanation in (fitted.explain_local(X), fitted.explain_global()):
        for key in (None, 0):
            explanation.data(key)["scores"][0] = 9.0
            explanation.data(key)["names"].clear()
            assert explanation.data(key)["names"] and np.all(explanation.data(key)["scores"][0] != 9.0)
    with pytest.raises(NotFittedError):
        _ = classifier().shape_functions_


def test_an_edited_copy_shares_no_array_with_the_model(fitted):
    before = fitted.decision_function(X)
    for found in (fitted.edit({"age": 0.0}), fitted.with_monotone({"age": 1})):
        found.intercept_ += 1.0
        found.coef_ += 1.0
        np.testing.assert_array_equal(fitted.decision_function(X), before)
        assert not np.shares_memory(found.coef_, fitted.coef_)


# Tables


def test_tables_hold_every_point(fitted):
    pandas = pytest.importorskip("pandas")
    gain = fitted.shape_functions_["gain"].table()
    assert list(gain) == ["gain", "contribution"]
    assert gain["gain"][-3:] == ["0", "99999", "(missing)"] and len(gain["gain"]) == 35
    pair = fitted.shape_functions_["hour x work"].frame()
    assert list(pair.columns) == ["hour", "work", "contribution"] and len(pair) == 25 * 4
    assert isinstance(pair, pandas.DataFrame)
    json.dumps(gain)


# Model files


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("kind", [PrivateAdditiveClassifier, PrivateAdditiveRegressor])
def test_files_keep_predictions_shapes_and_statement(tmp_path, kind, changed):
    make, y = (classifier, Y) if kind is PrivateAdditiveClassifier else (regressor, NUMBERS)
    model = make(monotone={"gain": 1}).fit(X, y)
    if changed:
        model = model.edit({"age": lambda shape: shape.values / 2, "hour x work": 0.0}).with_monotone({"hour": -1})
    model.save(tmp_path / "model.dperm")
    for loaded in (kind.load(tmp_path / "model.dperm"), load_model(tmp_path / "model.dperm")):
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        assert loaded.statement_ == model.statement_ and loaded.record_ == model.record_
        assert loaded.get_params()["terms"] == {name: term.checked(name) for name, term in TERMS.items()}
        assert list(loaded.feature_names_in_) == list(TERMS) and loaded.term_names_ == model.term_names_
        for name, shape in model.shape_functions_.items():
            np.testing.assert_array_equal(loaded.shape_functions_[name].points, shape.points)
        loaded.save(tmp_path / "again.dperm", overwrite=True)
        assert read_model(tmp_path / "again.dperm").data == read_model(tmp_path / "model.dperm").data


@pytest.mark.parametrize("later", [None, {"hour": 1, "age": 1}])
def test_parameters_changed_after_the_fit_do_not_change_the_file(tmp_path, later):
    model = classifier(monotone={"gain": 1}).fit(X, Y).edit({"age": 0.0})
    model.set_params(monotone=later, interactions=0).save(tmp_path / "model.dperm")
    loaded = load_model(tmp_path / "model.dperm")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.monotone == {"gain": 1} and loaded.statement_ == model.statement_


def test_files_have_the_points_of_the_last_edit_of_each_term_alone(tmp_path, fitted):
    model, path = fitted, tmp_path / "model.dperm"
    for place in range(1000):  # with the points of all edits, the header would exceed the limit of readers
        model = model.edit({"age": lambda shape: shape.values * 0.999}).edit({"sex": place / 1000})
    model = model.with_monotone({"age": 1})
    model.save(path)
    loaded, edits = load_model(path), read_model(path).data["edits"]
    assert len(edits) == 2001 and sum(edit["points"] is not None for edit in edits) == 2
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.statement_ == model.statement_
    assert "age (edited), sex (edited), age (made increasing)" in model.statement_["composition"]


def test_what_cannot_be_read_is_not_written(tmp_path, fitted, monkeypatch):
    path = tmp_path / "model.dperm"
    fitted.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(model_file, "LARGEST_HEADER", 100)
    monkeypatch.setattr(model_file, "HEADER_SHARE", 0)
    with pytest.raises(ModelFormatError, match=r"cannot write a model to .*model\.dperm': the header is too large"):
        fitted.save(path, overwrite=True)
    assert path.read_bytes() == before
    path.unlink()
    with allocated_file(path, 10) as room:  # of dperm fit, which must not lose a charged release
        save(fitted, path, allocated=room)
    assert path.read_bytes() == before


def test_declarations_changed_in_place_after_the_fit_do_not_change_the_file(tmp_path):
    terms, pairs, monotone = dict(TERMS), [list(pair) for pair in PAIRS], {"gain": 1}
    model = classifier(terms=terms, interactions=pairs, monotone=monotone).fit(X, Y).edit({"age": 0.0})
    monotone["age"] = 1
    pairs[0].reverse()
    pairs.append(["age", "sex"])
    terms["age"] = terms.pop("sex")
    model.save(tmp_path / "model.dperm")
    loaded = load_model(tmp_path / "model.dperm")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.monotone == {"gain": 1} and loaded.statement_ == model.statement_


def changed_file(source, target, change) -> None:
    file = read_model(source)
    data = json.loads(json.dumps(file.data))
    change(data)
    write_model(target, ModelFile(file.kind, data, file.arrays), overwrite=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["parameters"]["terms"][0].update(high=91.0),
        lambda data: data["parameters"]["terms"][1].update(weight=1.0),
        lambda data: data["parameters"]["terms"].pop(),
        lambda data: data["parameters"].update(interactions=0),
        lambda data: data["parameters"].update(interactions=[["work", "hour"]]),
        lambda data: data["parameters"].update(monotone={"work": 1}),
        lambda data: data["edits"][0].update(term="height"),
        lambda data: data["edits"][0].update(kind="improved"),
        lambda data: data["edits"][0]["points"].pop(),
        lambda data: data["edits"][0]["points"].__setitem__(0, "nan"),
        lambda data: data["edits"][0].update(kind="increasing"),  # age is decreasing
        lambda data: data["edits"][1].update(kind="decreasing"),  # of categories, which have no order
        lambda data: data["edits"][0].update(points=None),
        lambda data: data["edits"][1]["points"].__setitem__(0, 1e101),
        lambda data: data["edits"].append({"term": "sex", "kind": "increasing", "points": None}),
        lambda data: data["edits"].append(data["edits"][0]),
        lambda data: data.update(edits=[3]),
        lambda data: data.update(feature_names=["a"]),
    ],
)
def test_files_whose_parts_contradict_each_other_are_refused(tmp_path, fitted, change):
    source, target = tmp_path / "model.dperm", tmp_path / "changed.dperm"
    fitted.with_monotone({"age": -1}).edit({"sex": 0.0}).save(source)
    changed_file(source, target, lambda data: None)
    load_model(target)
    changed_file(source, target, change)
    with pytest.raises(ModelFormatError):
        load_model(target)


def test_linear_models_have_no_edits(tmp_path):
    rows = np.column_stack([X["hour"] / 24, X["gain"] / 1e5])
    model = PrivateLogisticRegression(feature_norm=1.5, classes=(0, 1)).fit(rows, Y)
    model.save(tmp_path / "model.dperm")
    assert "edits" not in read_model(tmp_path / "model.dperm").data
    changed_file(tmp_path / "model.dperm", tmp_path / "b.dperm", lambda data: data.update(edits=[{}]))
    with pytest.raises(ModelFormatError):
        load_model(tmp_path / "b.dperm")
