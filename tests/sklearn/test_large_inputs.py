# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables in row groups and objects of Dask: accepted by fit, refused with a remedy elsewhere, and never gathered."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from dperm import PureDP
from dperm.data import Categorical, Numeric, PublicEncoder, table
from dperm.data.row_encoder import ColumnReader, RowEncoder, encoded_table
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.errors import DpermError, ParameterError
from dperm.mechanisms.releases import Count
from dperm.sklearn import (
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMetrics,
    PrivatePCA,
    PrivateScaler,
    PrivateSearch,
    PrivateTableClassifier,
    PublicTableEncoder,
    load_model,
    save_model,
)

RNG = np.random.default_rng(7)
N = 900
PEOPLE = pd.DataFrame({"age": RNG.integers(17, 99, N).astype(float), "work": RNG.choice(["a", "b", "c"], N)})
PEOPLE["rich"] = np.where(PEOPLE["age"] + RNG.normal(0, 20, N) > 60, "yes", "no")
X, Y = PEOPLE[["age", "work"]], PEOPLE["rich"]
COLUMNS = {"age": Numeric(17, 90), "work": Categorical(["a", "b"], other=True)}
NUMBERS = RNG.normal(size=(N, 3))
LABELS = (NUMBERS[:, 0] > 0).astype(int)


def pipeline(**more):
    model = PrivateLogisticRegression(feature_norm="auto", classes=("yes", "no"), random_state=1, **more)
    return make_pipeline(PublicTableEncoder(COLUMNS), model)


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.filterwarnings("ignore:this fit is NOT PRIVATE")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_pipeline_with_declared_columns_is_fitted_to_row_groups(client, tmp_path):
    expected = pipeline().fit(X, Y)
    from_table = pipeline().fit(table(PEOPLE), "rich")
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(PEOPLE, npartitions=4, sort=False)
    from_dask = pipeline().fit(frame[["age", "work"]], frame["rich"])
    for found in (from_table, from_dask):
        assert found[-1].coef_.tolist() == expected[-1].coef_.tolist()
        save_model(found, tmp_path / "m.dperm", overwrite=True)
        assert (load_model(tmp_path / "m.dperm").predict(X) == expected.predict(X)).all()
    public = [dict(model[-1]._fitted.public) for model in (expected, from_table)]
    assert public[1].pop("engine") == {"name": "threads"} and public[0] == public[1]


@pytest.mark.parametrize("declared", ["age", "work"])
def test_a_declared_column_is_no_label(declared):
    with pytest.raises(ParameterError, match="y must name a column that the encoder does not declare"):
        pipeline().fit(table(PEOPLE), declared)


@pytest.mark.parametrize("y", ["income", Y, LABELS])
def test_the_labels_of_a_table_are_named_by_a_column(y):
    for X in (table(PEOPLE), PublicTableEncoder(COLUMNS).transform(table(PEOPLE))):
        with pytest.raises(ParameterError, match="y must be the name of a column") as error:
            PrivateLogisticRegression(feature_norm=1.0, classes=("yes", "no")).fit(X, y)
        assert "yes" not in str(error.value) and "has the columns 'age', 'work', 'rich'." in str(error.value)


def test_a_fit_without_labels_is_refused():
    model = PrivateLogisticRegression(feature_norm=1.0, classes=("yes", "no"))
    for X in (table(PEOPLE), PublicTableEncoder(COLUMNS).transform(table(PEOPLE)), NUMBERS):
        with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
            model.fit(X)


def test_names_of_columns_in_a_csv_file_may_be_a_record_and_are_not_listed(tmp_path):
    (tmp_path / "a.csv").write_text("31415,yes\n2,no\n")
    people = table(tmp_path / "a.csv")
    model = PrivateLogisticRegression(feature_norm=1.0, classes=("yes", "no"))
    calls = [lambda: model.fit(people, "rich"), lambda: people.select(["rich"])]
    calls.append(lambda: PrivateTableClassifier().fit(people, "rich"))
    calls.append(lambda: Count(PureDP(1.0, "add_remove")).release(people, "rich"))
    for call in calls:
        with pytest.raises(DpermError, match="Names are exact; the attribute columns") as error:
            call()
        assert "31415" not in str(error.value)


@pytest.mark.parametrize("X", ["people/*.parquet", Path("people.csv")])
def test_a_path_in_place_of_a_table_is_refused_with_the_function_that_opens_it(X):
    with pytest.raises(ParameterError, match=r"X must be an array or a table, got the path .*dperm\.data\.table"):
        PrivateLogisticRegression(feature_norm=1.0, classes=(0, 1)).fit(X, "rich")


def test_columns_that_are_no_features_can_be_left_out():
    people = table(PEOPLE.assign(rich=LABELS))
    for bounds in ({"age": (17, 99)}, [(17, 99)] * 2):
        with pytest.raises(ValueError, match=r"'work'.* leave the column out.*table\(\.\.\., columns=\[\.\.\.\]\)"):
            PrivateLogisticRegression(bounds=bounds, classes=(0, 1)).fit(people, "rich")
    PrivateLogisticRegression(bounds=[(17, 99)], classes=(0, 1)).fit(people.select(["age", "rich"]), "rich")


def test_warnings_name_the_line_of_the_user():
    model = PrivateLogisticRegression(classes=(0, 1), epsilon=0.01, delta=0.1, random_state=1)
    people = table(PEOPLE[["age"]].assign(rich=LABELS))
    for fit in (lambda: model.fit(people, "rich"), lambda: model.fit(PEOPLE[["age"]], LABELS)):
        with pytest.warns() as caught:
            fit()
        texts = " ".join(str(warning.message) for warning in caught)
        assert "above 1/n" in texts and "feature_norm" in texts and "NOT PRIVATE" in texts
        assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("n", [N - 1, N + 1])
def test_a_declared_number_of_records_is_compared_under_replace_one_only(n):
    people = table(PEOPLE[["age", "rich"]].assign(rich=LABELS))
    fixed = {"bounds": [(17, 99)], "classes": (0, 1), "n": n}
    with pytest.raises(ParameterError, match="n must be the number of records that are read"):
        PrivateLogisticRegression(**fixed).fit(people, "rich")
    PrivateLogisticRegression(**{**fixed, "n": 2 * N}, adjacency="add_remove").fit(people, "rich")


def large_inputs():
    """Rows that are not in memory, with their labels, by name."""
    frame = pd.DataFrame(NUMBERS, columns=list("abc")).assign(y=LABELS)
    found = {"table": (table(frame), "y"), "encoded table": (encoder().transform(table(frame)), "y")}
    array, dask = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    found["dask array"] = array.from_array(NUMBERS, chunks=(300, 3)), array.from_array(LABELS, chunks=300)
    lazy = dask.from_pandas(frame, npartitions=3)
    found["dask frame"] = lazy[list("abc")], lazy["y"]
    return found


def encoder():
    return PublicTableEncoder({name: Numeric(-1, 1) for name in "abc"})


with warnings.catch_warnings(action="ignore"):
    MODEL = PrivateLogisticRegression(feature_norm=2.0, classes=(0, 1)).fit(NUMBERS, LABELS)
    REGRESSION = PrivateLinearRegression(feature_norm=2.0, label_range=(0, 1)).fit(NUMBERS, LABELS)
    SCALER = PrivateScaler(epsilon=5.0).fit(NUMBERS)
    PCA = PrivatePCA(2, feature_norm=2.0).fit(NUMBERS)
METRICS = PrivateMetrics(classes=(0, 1))
SEARCH = PrivateSearch(PrivateLogisticRegression(feature_norm=2.0, classes=(0, 1)), {"clip": [0.5, 1.0]})
CALLS = {
    "predict": lambda X, y: MODEL.predict(X),
    "predict of a regression": lambda X, y: REGRESSION.predict(X),
    "predict_proba": lambda X, y: MODEL.predict_proba(X),
    "decision_function": lambda X, y: MODEL.decision_function(X),
    "score": lambda X, y: MODEL.score(X, y),
    "scaler": lambda X, y: PrivateScaler().fit(X),
    "scaled": lambda X, y: SCALER.transform(X),
    "pca": lambda X, y: PrivatePCA(2, feature_norm=2.0).fit(X),
    "projected": lambda X, y: PCA.transform(X),
    "search": lambda X, y: SEARCH.fit(X, y),
    "search with a target": lambda X, y: SEARCH.fit(X, target="y"),
    "metrics": lambda X, y: METRICS.evaluate(MODEL, X, y),
    "metrics with a target": lambda X, y: METRICS.evaluate(MODEL, X, target="y"),
    "scores": lambda X, y: METRICS.evaluate_scores(X, LABELS),
    "encoder": lambda X, y: PublicEncoder(encoder().columns).transform(X),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_that_need_all_records_refuse_other_inputs_with_a_remedy_and_compute_nothing(name):
    dask = pytest.importorskip("dask")

    def computed(*given, **more):
        pytest.fail("the object of Dask was computed")

    with dask.config.set(scheduler=computed):
        for kind, (rows, y) in large_inputs().items():
            with pytest.raises(ParameterError, match="must be in memory here") as error:
                CALLS[name](rows, y)
            assert error.value.got in ("an object of Dask", "a table in row groups"), kind
            in_files, remedy = error.value.got == "a table in row groups", error.value.remedy
            assert remedy and ("pandas or pyarrow" in remedy) == in_files
            assert not in_files or ("Dask" not in remedy and "Compute" not in remedy)


def test_labels_of_dask_need_rows_of_dask():
    with pytest.raises(ParameterError, match="y must be in memory like X"):
        MODEL.fit(NUMBERS, large_inputs()["dask array"][1])


def test_the_remedy_for_predictions_works():
    rows, _ = large_inputs()["dask array"]
    found = rows.map_blocks(MODEL.predict, drop_axis=1, dtype=int).compute()
    assert (found == MODEL.predict(NUMBERS)).all()
    with warnings.catch_warnings(action="ignore"):
        model = PrivateLogisticRegression(feature_norm=2.0, classes=(0, 1)).fit(
            pd.DataFrame(NUMBERS, columns=list("abc")), LABELS
        )
    frame, _ = large_inputs()["dask frame"]
    assert len(frame.map_partitions(model.predict, meta=("y", int)).compute()) == N


@pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")
@pytest.mark.parametrize("cut", [1, 3])
def test_the_cut_of_a_table_decides_nothing_about_the_kind_of_its_labels(cut, tmp_path):
    """Text in all labels of one row group, and numbers in the others: refused nowhere, dropped everywhere."""
    labels = np.array([*["?"] * 4, *[0, 1] * 4], dtype=object)
    X = np.linspace(-1, 1, 12)[:, np.newaxis]
    options = {"bounds": [(-1, 1)], "classes": [0, 1], "invalid": "drop", "random_state": 1}
    expected = PrivateLogisticRegression(**options).fit(X, labels).coef_
    for place, part in enumerate(np.array_split(np.arange(12), cut)):
        frame = pd.DataFrame({"x": X[part, 0], "y": [str(label) for label in labels[part]]})
        frame.to_csv(tmp_path / f"{place}.csv", index=False)
    fitted = PrivateLogisticRegression(**options).fit(table(tmp_path / "*.csv"), "y")
    assert np.array_equal(fitted.coef_, expected)


def test_classes_that_doubles_do_not_hold_are_refused_for_tables(tmp_path):
    pd.DataFrame({"x": [0.0], "y": [1]}).to_csv(tmp_path / "0.csv", index=False)
    space = FeatureSpace(1, bounds=((-1.0, 1.0),))
    encoder = RowEncoder(space, Classes((2**53 + 1, 2**53 + 2)), ColumnReader(("x",), "y"), ("x",))
    with pytest.raises(ParameterError, match=r"classes must be text, or numbers of at most 2\^53"):
        encoded_table(table(tmp_path / "*.csv"), encoder, names=("x",))
