# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Norm, classes and label range reach the estimator with the rows, and never with other rows."""

import copy
import io
import pickle
from functools import cache

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from dperm import ApproxDP
from dperm import account as account_profile
from dperm.accounting import MemoryBudget
from dperm.data import Categorical, Numeric
from dperm.data.canonical import cell_labels
from dperm.data.encoded import facts_of
from dperm.errors import AssumptionError, LeakError, ParameterError
from dperm.report.statement import Statement
from dperm.sklearn import (
    PrivateBounds,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePCA,
    PrivateScaler,
    PrivateTableClassifier,
    PrivateTableEncoder,
    PublicTableEncoder,
    load_model,
    save_model,
)

N = 3000
GENERATOR = np.random.default_rng(0)
FRAME = pd.DataFrame({"age": GENERATOR.integers(18, 90, N), "work": GENERATOR.choice(["private", "public"], N)})
Y = np.where(FRAME["age"] + 40 * (FRAME["work"] == "public") > 70, "high", "low")
COLUMNS = {"age": Numeric(0, 100, bins=(30,), impute=40), "work": Categorical(["private", "public"], other=True)}


def private(**changes):
    return PrivateTableEncoder(**{"epsilon": 2.0, "delta": 1e-6, "task": "classification", **changes})


@cache
def prepared():
    """A fitted encoder for several tests."""
    return private().fit(FRAME, Y)


def auto(**changes):
    return PrivateLogisticRegression(**{"feature_norm": "auto", "classes": "auto", **changes})


def known(**changes):
    return auto(**{"classes": ("high", "low"), **changes})


def account():
    return MemoryBudget(ApproxDP(20.0, 1e-4, "replace_one"), blocks=20)


def restored(rows):
    file = io.BytesIO()
    joblib.dump(rows, file)
    file.seek(0)
    return joblib.load(file)


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def encoder(request):
    return PublicTableEncoder(COLUMNS, sparse=request.param)


def test_subsets_of_rows_and_exact_copies_keep_the_facts(encoder):
    rows, indices = encoder.fit_transform(FRAME), np.array([2, 2, 5])
    kept = [rows[:5], rows[indices], rows[indices, ...], rows[np.arange(N) % 2 == 0], rows[3:9, :]]
    kept += [rows.copy(), copy.copy(rows), copy.deepcopy(rows), pickle.loads(pickle.dumps(rows)), restored(rows)]
    assert all(facts_of(part).norm == encoder.norm for part in kept)


def test_other_values_or_columns_have_no_facts(encoder):
    rows = encoder.fit_transform(FRAME)
    dropped = [rows * 2, -rows, rows + rows, abs(rows), rows / 2, rows.T, rows[:, :2], rows[:, ::-1], rows[0]]
    dropped += [rows.astype(np.float32), rows.reshape((-1, 1))]
    if sparse.issparse(rows):
        dropped += [sparse.hstack([rows]), sparse.vstack([rows, rows]), rows.power(2), rows.multiply(3), rows.tocsc()]
    else:
        dropped += [np.hstack([rows]), np.concatenate([rows, rows]), np.where(rows > 0, 9, 0), rows.clip(-9, 9)]
        dropped += [np.empty_like(rows), rows.view(), np.asarray(rows), np.square(rows), np.tile(rows, (1, 1))]
    assert [facts_of(part) for part in dropped] == [None] * len(dropped)
    assert facts_of(rows).norm == encoder.norm


def scaled(rows):
    rows *= 100


DENSE_CHANGES = {
    "entry": lambda rows: rows.__setitem__(0, 100.0),
    "row": lambda rows: np.multiply(rows[0], 100, out=rows[0]),
    "slice": lambda rows: rows[:5].__setitem__(0, 100.0),
    "transposed": lambda rows: rows.T.__setitem__(0, 100.0),
    "in place": scaled,
    "out": lambda rows: np.clip(rows, 2, 3, out=rows),
    "at": lambda rows: np.add.at(rows, (0, 0), 100.0),
    "copyto": lambda rows: np.copyto(rows, 100.0),
    "fill": lambda rows: rows.fill(100.0),
    "flat": lambda rows: rows.flat.__setitem__(0, 100.0),
    "plain view": lambda rows: np.asarray(rows).__setitem__(0, 100.0),
    "shuffled columns": lambda rows: np.random.default_rng(0).shuffle(rows, axis=1),
}
SPARSE_CHANGES = {
    "entry": lambda rows: rows.__setitem__((0, 0), 100.0),
    "data": lambda rows: rows.data.__setitem__(0, 100.0),
    "new data": lambda rows: setattr(rows, "data", rows.data * 100),
    "in place": scaled,
    "diagonal": lambda rows: rows.setdiag(100.0),
    "compiled": lambda rows: Normalizer(copy=False).transform(rows),
}


@pytest.mark.parametrize("change", DENSE_CHANGES)
def test_dense_rows_changed_in_place_lose_the_facts(change):
    rows = PublicTableEncoder(COLUMNS).fit_transform(FRAME)
    earlier = rows[:7]
    DENSE_CHANGES[change](rows)
    assert facts_of(rows) is None
    assert facts_of(earlier) is None


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("change", SPARSE_CHANGES)
def test_sparse_rows_changed_in_place_lose_the_facts(change):
    rows = PublicTableEncoder(COLUMNS, sparse=True).fit_transform(FRAME)
    SPARSE_CHANGES[change](rows)
    assert facts_of(rows) is None


def test_longer_rows_with_a_forged_norm_are_scaled_down():
    # rows changed behind the back of the class, and all bookkeeping repaired: the fit still enforces the norm
    rows, twin = (PublicTableEncoder(COLUMNS).fit_transform(FRAME) for _ in range(2))
    np.asarray(rows)[:] *= 1e6
    rows._checksum = rows[:]._checksum
    assert facts_of(rows) is not None
    forged = known(random_state=0, fit_intercept=False, method="output")
    with pytest.warns(UserWarning, match="NOT PRIVATE"):
        long = forged.fit(rows, Y).coef_
    norms = np.linalg.norm(twin, axis=1, keepdims=True)
    with pytest.warns(UserWarning, match="NOT PRIVATE"):
        short = (
            clone(forged)
            .set_params(feature_norm=facts_of(twin).norm)
            .fit(np.asarray(twin) / norms * facts_of(twin).norm, Y)
        )
    np.testing.assert_allclose(long, short.coef_, rtol=1e-6)


@pytest.mark.parametrize(
    "between",
    [
        lambda encoder: [encoder, Normalizer()],
        lambda encoder: [encoder, FunctionTransformer(lambda rows: rows * 2)],
        lambda encoder: [FeatureUnion([("a", encoder)])],
        lambda encoder: [ColumnTransformer([("a", encoder, ["age", "work"])])],
    ],
)
def test_auto_without_facts_is_refused_before_the_charge(between, encoder):
    budget = account()
    with pytest.raises(ParameterError, match=r'feature_norm="auto" needs rows of an encoder.*Put PublicTableEncoder'):
        make_pipeline(*between(encoder), known(ledger=budget)).fit(FRAME, Y)
    assert budget.entries == ()


def test_auto_says_what_is_missing():
    public = PublicTableEncoder(COLUMNS)
    rows = public.fit_transform(FRAME)
    for model, message in [
        (auto(), 'classes="auto" needs a PrivateTableEncoder'),
        (known(bounds=(-1, 1)), "Leave out bounds"),
        (PrivateLinearRegression(feature_norm="auto", label_range="auto"), 'label_range="auto" needs'),
    ]:
        with pytest.raises(ParameterError, match=message):
            model.fit(rows, Y)
    with pytest.raises(ParameterError, match='feature_norm="auto" is known only during a fit'):
        known().plan(n=100, dim=3)
    with pytest.raises(ParameterError, match='needs a PrivateTableEncoder with task="classification"'):
        make_pipeline(private(task=None), auto()).fit(FRAME, Y)
    with pytest.raises(ParameterError, match="needs rows of an encoder"):
        make_pipeline(public.set_output(transform="pandas"), known()).fit(FRAME, Y)


def test_a_fit_with_auto_is_the_fit_with_the_declared_norm(encoder):
    with pytest.warns(UserWarning, match="NOT PRIVATE"):
        found = make_pipeline(encoder, FunctionTransformer(), known(random_state=3)).fit(FRAME, Y)[-1]
    with pytest.warns(UserWarning, match="NOT PRIVATE"):
        declared = known(random_state=3, feature_norm=encoder.norm)
        declared.fit(PublicTableEncoder(COLUMNS, sparse=encoder.sparse).fit_transform(FRAME), Y)
    assert (found.coef_ == declared.coef_).all()
    assert found.get_params()["feature_norm"] == "auto"
    stated = found.statement_["public_quantities"]["encoders"][0]
    assert stated["columns"][0] == {
        **{"name": "age", "type": "numeric", "low": 0.0, "high": 100.0, "impute": 40.0},
        "bins": [30.0],
    }
    assert (stated["norm"], stated["unseen"], stated["supplied"]) == (encoder.norm, "other", ["feature_norm"])


@pytest.mark.filterwarnings("ignore:.*records are too few")
def test_a_private_pipeline_charges_both_releases_and_states_their_sum():
    budget = account()
    trained = auto(epsilon=0.5, ledger=budget, allow_unprotected_scores=True)
    model = make_pipeline(private(epsilon=0.25, ledger=budget), trained)
    searched = GridSearchCV(model, {"privatelogisticregression__C": [0.1, 1.0]}, cv=2).fit(FRAME, Y)
    assert len(budget.entries) == 2 * (2 * 2 + 1)  # every fold, and the refit
    found = searched.best_estimator_[-1]
    assert found.guarantee_ == ApproxDP(0.5, 1e-6, "replace_one")
    statement = found.statement_
    for text in (statement["covered"], " ".join(statement["limits"])):
        assert "released separately by PrivateTableEncoder" in text
        assert "the schema and the model together satisfy (0.75, 2e-6)-DP" in text
    source = statement["public_quantities"]["encoders"][0]
    assert source["schema_digest"] == searched.best_estimator_[0].schema_.digest
    assert source["ledger_entry"]["digest"] == budget.entries[source["ledger_entry"]["seq"]].digest
    assert source["supplied"] == ["feature_norm", "classes"]
    assert "not charged to the account" not in statement["composition"]
    assert Statement.from_json(statement.to_json()) == statement
    assert searched.predict(FRAME).shape == (N,)


def test_a_ledger_needs_an_encoder_charged_to_the_same_account():
    budget = account()
    for other in (None, account()):
        nested = ColumnTransformer([("a", private(task=None, ledger=other), ["age", "work"])])
        for model in (
            make_pipeline(private(ledger=other), auto(ledger=budget)),
            make_pipeline(nested, known(feature_norm=2.0, ledger=budget)),
        ):
            with pytest.raises(LeakError, match="not charged to the account of this model"):
                model.fit(FRAME, Y)
    assert budget.entries == ()
    frozen = make_pipeline(FrozenEstimator(prepared()), auto(ledger=budget)).fit(FRAME, Y)
    assert "The schema of the columns was not charged to the account" in frozen[-1].statement_["composition"]


def test_a_seeded_encoder_leaves_no_guarantee():
    with pytest.warns(UserWarning, match="NOT PRIVATE"):
        rows = private(random_state=1).fit_transform(FRAME, Y)
    budget = account()
    with pytest.raises(LeakError, match="with a seed"):
        auto(ledger=budget).fit(rows, Y)
    assert budget.entries == ()
    with pytest.warns(UserWarning, match="No guarantee covers this fit"):
        model = auto().fit(rows, Y)
    assert (model.guarantee_, model.statement_.is_private) == (None, False)
    assert model.statement_["limits"][0].startswith("NOT COVERED: before the fit, a PrivateTableEncoder with a seed")


def test_transformers_before_a_private_encoder_are_refused_before_the_charge():
    budget, mode = account(), SimpleImputer(strategy="most_frequent").set_output(transform="pandas")
    for steps in ([mode, private(ledger=budget)], [mode, private(ledger=budget), auto()]):
        with pytest.raises(LeakError, match="SimpleImputer"):
            make_pipeline(*steps).fit(FRAME, Y)
    assert budget.entries == ()


def test_labels_outside_the_released_classes_never_raise_and_contribute_nothing():
    labels = Y.astype(object)
    labels[:6] = [None, 7, "odd", float("nan"), object(), 10**400]
    model = make_pipeline(private(), auto(class_weight={"odd": 3.0, "low": 2.0})).fit(FRAME, labels)[-1]
    assert model.classes_.tolist() == ["high", "low"]
    public = model.statement_["public_quantities"]
    assert (public["n"], public["invalid"], public["class_weight"]) == (N, "drop", [1.0, 2.0])
    rows = prepared().transform(FRAME)
    for strange in (np.full(N, "elsewhere"), np.full(N, None), np.arange(N)):  # one record must not decide either
        assert auto().fit(rows, strange).guarantee_ is not None
    assert cell_labels(["1", 2.0, True, "3", None], np.array([1, 2])).tolist() == [1, 2, 1, None, None]


def test_too_few_released_classes_raise_before_the_charge_of_the_model():
    budget = account()
    with pytest.raises(AssumptionError, match="fewer than two classes"):
        make_pipeline(private(ledger=budget), auto(ledger=budget)).fit(FRAME, np.full(N, "one"))
    assert len(budget.entries) == 1


def test_regressions_use_the_released_range():
    price = (FRAME["age"] * 10.0).astype(object)
    price[:4] = [None, "x", float("inf"), 1e300]
    model = PrivateLinearRegression(feature_norm="auto", label_range="auto", clip_predictions=True)
    pipeline = make_pipeline(private(task="regression"), model).fit(FRAME, price)
    low, high = pipeline[0].label_range_
    assert pipeline[-1].statement_["public_quantities"]["label_range"] == [low, high]
    predicted = pipeline.predict(FRAME)
    assert predicted.min() >= low
    assert predicted.max() <= high


def test_a_cached_pipeline_keeps_the_facts(tmp_path):
    steps = [("encoder", PublicTableEncoder(COLUMNS)), ("same", FunctionTransformer()), ("model", known())]
    for _ in range(2):
        assert Pipeline(steps, memory=str(tmp_path)).fit(FRAME, Y)[-1].guarantee_ is not None


@pytest.mark.parametrize(
    "pipeline",
    [
        make_pipeline(PublicTableEncoder(COLUMNS, unseen="raise", sparse=True), known(feature_norm=1.0)),
        make_pipeline(PublicTableEncoder(COLUMNS), PrivateLinearRegression(feature_norm="auto", label_range=(0, 1000))),
        make_pipeline(private(), auto()),
        make_pipeline(private(task="regression"), PrivateLinearRegression(feature_norm="auto", label_range="auto")),
        PrivateTableClassifier(epsilon=3.0),
    ],
    ids=lambda model: "-".join(type(step).__name__ for step in getattr(model, "named_steps", {"": model}).values()),
)
def test_a_saved_pipeline_predicts_the_same(pipeline, tmp_path):
    fitted = clone(pipeline).fit(FRAME, FRAME["age"] * 10.0 if "Linear" in repr(pipeline) else Y)
    path = tmp_path / "model.dperm"
    save_model(fitted, path)
    loaded = load_model(path)
    assert (loaded.predict(FRAME) == fitted.predict(FRAME)).all()
    if isinstance(fitted, Pipeline):
        facts = dict(fitted[-1].statement_["public_quantities"])
        names = facts.pop("columns"), loaded[-1].statement_["public_quantities"]["columns"]
        assert names == (None, list(fitted[0].get_feature_names_out()))
        assert facts.items() <= loaded[-1].statement_["public_quantities"].items()
        assert "age: number in" in str(loaded[-1].statement_["data_domain"])
        assert loaded[0].unseen == fitted[0].encoding_facts.unseen
    with pytest.raises(ParameterError, match="overwrite=True"):
        save_model(fitted, path)
    save_model(fitted, path, overwrite=True)


def test_only_models_that_a_file_can_hold_are_saved(tmp_path):
    path = tmp_path / "model.dperm"
    fitted = known().fit(PublicTableEncoder(COLUMNS).fit_transform(FRAME), Y)
    again = Pipeline([("encoder", prepared()), ("model", fitted)])
    named = make_pipeline(PublicTableEncoder(COLUMNS).set_output(transform="pandas"), known(feature_norm=2.0))
    for wrong, message in [
        (make_pipeline(StandardScaler(), known()), "These can be saved: a Pipeline of"),
        (make_pipeline(PublicTableEncoder(COLUMNS), Normalizer(), known()), "These can be saved"),
        (make_pipeline(private(), auto()), "is not fitted"),
        (3, "an object of type int cannot be saved"),
        (again, "not the one of the model's fit"),
        (named.fit(FRAME, Y), "Fit the pipeline without set_output"),
    ]:
        with pytest.raises(ParameterError, match=message):
            save_model(wrong, path)
    assert not path.exists()
    model = known(feature_norm=1.0).fit(np.zeros((60, 2)), np.resize(["high", "low"], 60))
    save_model(model, path)
    assert load_model(path).coef_.tolist() == model.coef_.tolist()


NUMBERS = np.column_stack([FRAME["age"], GENERATOR.normal(50.0, 5.0, N), GENERATOR.exponential(9.0, N)])
NAMED = pd.DataFrame(NUMBERS, columns=["age", "height", "wage"])


def chains(**changes):
    """Pipelines whose private steps have the given arguments, with the number of private releases before the model."""
    epsilon = {"epsilon": 0.25, "delta": 1e-6}
    scaler, bounds = PrivateScaler(**epsilon, **changes), PrivateBounds(**epsilon, **changes)
    pca = PrivatePCA(2, feature_norm="auto", **epsilon, **changes)
    wide = PublicTableEncoder({name: Numeric(0, 100) for name in NAMED})
    model = known(epsilon=0.5, method="output", **changes)
    yield [scaler, model], ["PrivateScaler"]
    yield [clone(scaler), pca, clone(model)], ["PrivatePCA", "PrivateScaler"]
    yield [clone(bounds), clone(model).set_params(feature_norm=100.0)], ["PrivateBounds"]
    yield [wide, clone(pca), clone(model)], ["PrivatePCA", "PublicTableEncoder"]


@pytest.mark.filterwarnings("ignore:.*NOT PRIVATE")
@pytest.mark.parametrize("place", range(4))
def test_the_norm_and_the_releases_of_private_steps_reach_the_model(place):
    budget = account()
    steps, names = list(chains(ledger=budget))[place]
    fitted = make_pipeline(*steps).fit(NAMED, Y)
    private_names = [name for name in names if name.startswith("Private")]
    assert len(budget.entries) == len(private_names) + 1
    statement = fitted[-1].statement_
    public = statement["public_quantities"]
    assert [one["encoder"] for one in public["encoders"]] == names
    if "feature_norm" in public["encoders"][0].get("supplied", []):
        assert public["feature_norm"] == fitted[-2].norm_ == public["encoders"][0]["norm"]
    for one in public["encoders"]:
        if "guarantee" in one:
            assert one["release_digest"] == one["ledger_entry"]["digest"]
            assert f"released separately by {one['encoder']}, under" in statement["covered"]
    total = 0.5 + 0.25 * len(private_names)
    assert f"these preparations and the model together satisfy ({total:g}, " in (statement["covered"])
    assert "not charged to the account" not in statement["composition"]
    assert Statement.from_json(statement.to_json()) == statement
    assert fitted.predict(NAMED).shape == (N,)
    # a seed leaves no guarantee, another account is refused before the charge of the model
    for changes, message in [({"ledger": None}, "not charged to the account"), ({"random_state": 1}, "with a seed")]:
        steps = list(chains())[place][0]
        private_steps = [step for step in steps[:-1] if type(step).__name__ in names and hasattr(step, "ledger")]
        for step in private_steps:
            step.set_params(**changes)
        entries = len(budget.entries)
        with pytest.raises(LeakError, match=message):
            make_pipeline(*steps[:-1], steps[-1].set_params(ledger=budget)).fit(NAMED, Y)
        assert len(budget.entries) == entries
    seeded = make_pipeline(*steps[:-1], steps[-1].set_params(ledger=None)).fit(NAMED, Y)[-1]
    assert seeded.guarantee_ is None
    assert set(seeded.statement_["mechanism"]["fitted_transformers"]) == {type(step).__name__ for step in private_steps}


def test_private_steps_refuse_rows_that_no_guarantee_covers():
    budget = account()
    for step in (PrivateScaler(ledger=budget), PrivateBounds(ledger=budget), PrivatePCA(ledger=budget)):
        with pytest.raises(LeakError, match="StandardScaler"):
            make_pipeline(StandardScaler(), step, known()).fit(NUMBERS, Y)
        with pytest.raises(LeakError, match="was not charged to the account of this transformer"):
            make_pipeline(PrivateScaler(), clone(step).set_params(ledger=budget)).fit(NUMBERS)
    with pytest.warns(UserWarning, match="NOT PRIVATE"):
        rows = PrivateScaler(random_state=1).fit_transform(NUMBERS)
    for step in (PrivatePCA(), PrivatePCA(random_state=2, ledger=budget)):
        with pytest.raises(LeakError, match="PrivateScaler with a seed"):
            step.fit(rows)
    assert budget.entries == ()


def test_auto_of_components_and_bounds():
    with pytest.raises(ParameterError, match="X carries none"):
        PrivatePCA(feature_norm="auto").fit(NUMBERS)
    with pytest.raises(ParameterError, match="known only in a fit"):
        PrivatePCA(feature_norm="auto").plan(3, 100)
    with pytest.raises(ParameterError, match="PrivateBounds does not scale its rows"):
        make_pipeline(PrivateBounds(), known()).fit(NUMBERS, Y)
    found = make_pipeline(private(epsilon=3.0), PrivatePCA(feature_norm="auto"), auto()).fit(FRAME, Y)
    assert found[-1].classes_.tolist() == ["high", "low"]
    assert "released separately by PrivateTableEncoder" in found[1].statement_["limits"][0]
    assert "the schema and the present release together satisfy" in found[1].statement_["limits"][1]


def test_a_private_encoder_scales_rows_to_a_released_norm(tmp_path):
    encoder = private(encoding="scaled", epsilon=5.0)
    table = NAMED.assign(work=FRAME["work"])
    fitted = make_pipeline(encoder, auto()).fit(table, Y)
    rows = encoder.transform(table)
    lengths = np.linalg.norm(rows, axis=1)
    assert encoder.norm_ < encoder.encoder_.norm and (lengths <= encoder.norm_).all()
    assert np.allclose(
        encoder._shorter(sparse.csr_array(encoder.encoder_.transform(table, unseen="other"))).toarray(), rows
    )
    assert fitted[-1].statement_["public_quantities"]["feature_norm"] == encoder.norm_ == facts_of(rows).norm
    assert encoder.plan(table.columns).norm_noise is not None
    assert account_profile(encoder.plan_.event, "replace_one").delta(5.0) <= 1e-6
    with pytest.raises(ParameterError, match="rows scaled by its encoder cannot be saved"):
        save_model(fitted, tmp_path / "model.dperm")
    with pytest.raises(ParameterError, match='must be "auto", "bins" or "scaled"'):
        private(encoding="other").plan(["a"])


def test_a_file_holds_no_private_scaling(tmp_path):
    steps, _ = next(chains())
    fitted = make_pipeline(*steps).fit(NAMED, Y)
    with pytest.raises(ParameterError, match="holds no private scaling of rows"):
        save_model(fitted, tmp_path / "model.dperm")
    save_model(fitted[-1], tmp_path / "model.dperm")
    assert (load_model(tmp_path / "model.dperm").coef_ == fitted[-1].coef_).all()
