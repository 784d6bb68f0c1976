# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The public encoder behaves as a transformer of scikit-learn, and learns nothing."""

import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted
from table_kinds import KINDS, pandas_frame, polars_frame

from dperm.data.encoder import Categorical, Numeric, PublicEncoder
from dperm.errors import DataError, ParameterError
from dperm.sklearn.encoder import PublicTableEncoder

COLUMNS = {"age": Numeric(0, 100, impute=50), "work": Categorical(["public", "private"], other=True)}
NAMES = ["age", "work=public", "work=private", "work=(other)"]
DATA = {"age": [0, None, 75], "work": ["public", "none", "private"], "unused": [1, 2, 3]}
MATRIX = [[-1.0, 1, 0, 0], [0.0, 0, 0, 1], [0.5, 0, 1, 0]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse", [False, True])
def test_every_kind_of_table_is_encoded(kind, sparse):
    encoder = PublicTableEncoder(COLUMNS, sparse=sparse)
    fitted, alone = encoder.fit_transform(kind(DATA)), encoder.transform(kind(DATA))
    for matrix in (fitted, alone):
        assert (matrix.toarray() if sparse else matrix).tolist() == MATRIX
    assert encoder.get_feature_names_out().tolist() == NAMES
    assert encoder.feature_names_in_.tolist() == list(DATA)
    assert encoder.n_features_in_ == 3


def test_fit_learns_nothing_and_is_not_needed():
    encoder = PublicTableEncoder(COLUMNS)
    assert encoder.transform(DATA).tolist() == MATRIX
    check_is_fitted(encoder)
    assert not get_tags(encoder).requires_fit
    other = PublicTableEncoder(COLUMNS).fit({"work": ["no such"] * 5, "age": [1e9] * 5})  # no entry is read
    assert other.transform(DATA).tolist() == MATRIX
    assert set(vars(other)) == {"columns", "sparse", "unseen", "feature_names_in_", "n_features_in_"}


def test_its_bounds_are_those_of_the_encoder():
    encoder, public = PublicTableEncoder(COLUMNS), PublicEncoder(COLUMNS)
    assert (encoder.bounds, encoder.norm) == (public.bounds, public.norm)
    assert encoder.norm == pytest.approx(math.sqrt(2))


def test_it_can_be_cloned_pickled_and_shown():
    encoder = PublicTableEncoder(COLUMNS, sparse=True)
    assert encoder.columns is COLUMNS
    twin = clone(encoder)
    assert twin.get_params() == {"columns": COLUMNS, "sparse": True, "unseen": "other"}
    assert twin.set_params(sparse=False).fit_transform(DATA).tolist() == MATRIX
    again = pickle.loads(pickle.dumps(encoder.fit(DATA)))
    assert again.transform(DATA).toarray().tolist() == MATRIX
    assert repr(encoder).startswith("PublicTableEncoder(columns={'age': Numeric(low=0, high=100, impute=50)")
    assert "PublicTableEncoder" in encoder._repr_html_()


@pytest.mark.parametrize(("kind", "output"), [(pandas_frame, "pandas"), (polars_frame, "polars")])
def test_frames_come_out_if_they_are_asked_for(kind, output):
    encoder = PublicTableEncoder(COLUMNS).set_output(transform=output)
    frame = encoder.fit_transform(kind(DATA))
    assert type(frame) is type(kind(DATA))
    assert list(frame.columns) == NAMES
    assert frame.to_numpy().tolist() == MATRIX


def test_the_index_of_a_pandas_frame_is_kept():
    frame = pandas_frame(DATA).set_index(np.array(["x", "y", "z"]))
    assert list(PublicTableEncoder(COLUMNS).set_output(transform="pandas").fit_transform(frame).index) == [
        "x",
        "y",
        "z",
    ]


def labelled(rows=200):
    generator = np.random.default_rng(3)
    age = generator.uniform(0, 100, rows)
    work = np.array(["public", "private", "none"])[generator.integers(3, size=rows)]
    return pandas_frame({"age": age, "work": work, "unused": 1}), ((age > 50) ^ (work == "none")).astype(int)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_pipeline_learns_from_a_frame(sparse):
    frame, label = labelled()
    model = make_pipeline(PublicTableEncoder(COLUMNS, sparse=sparse), LogisticRegression(C=100))
    assert model.fit(frame, label).score(frame, label) > 0.6
    assert model[:-1].get_feature_names_out().tolist() == NAMES
    assert cross_val_score(model, frame, label, cv=3).shape == (3,)


@pytest.mark.filterwarnings("ignore:Support for the dataframe interchange protocol:DeprecationWarning")
@pytest.mark.parametrize("kind", [pandas_frame, polars_frame])
def test_it_is_a_part_of_a_column_transformer(kind):
    try:
        ColumnTransformer([("age", "passthrough", ["age"])]).fit(kind(DATA))
    except AttributeError:
        pytest.skip("this scikit-learn cannot select columns of this polars by name")
    parts = [
        ("work", PublicTableEncoder({"work": COLUMNS["work"]}), ["work"]),
        ("age", PublicTableEncoder({"age": COLUMNS["age"]}), ["age"]),
    ]
    both = ColumnTransformer(parts, verbose_feature_names_out=False)
    assert both.fit_transform(kind(DATA)).tolist() == [[*row[1:], row[0]] for row in MATRIX]
    assert both.get_feature_names_out().tolist() == [*NAMES[1:], NAMES[0]]
    assert both.transform(kind(DATA)).tolist() == [[*row[1:], row[0]] for row in MATRIX]


def test_a_private_model_takes_its_norm():
    private = pytest.importorskip("dperm.sklearn.classifiers").PrivateLogisticRegression
    frame, label = labelled(2000)
    for sparse in (False, True):
        encoder = PublicTableEncoder(COLUMNS, sparse=sparse)
        model = private(epsilon=2.0, delta=1e-6, feature_norm=encoder.norm, classes=(0, 1))
        pipeline = make_pipeline(encoder, model).fit(frame, label)
        assert pipeline[-1].coef_.shape == (1, 4)
        assert set(pipeline.predict(frame)) <= {0, 1}


@pytest.mark.parametrize("call", ["fit", "transform"])
def test_what_is_wrong_is_said_without_a_word_about_the_data(call):
    secret = "secret-7731"
    with pytest.raises(DataError, match="the table must have a column named 'age'"):
        getattr(PublicTableEncoder(COLUMNS), call)({"work": [secret]})
    with pytest.raises(ParameterError, match=r"X must be a table with named columns.*type ndarray") as error:
        getattr(PublicTableEncoder(COLUMNS), call)(np.array([[7731.0]]))
    assert "7731" not in str(error.value)
    with pytest.raises(ParameterError, match=r"columns\['age'\].low must be less than"):
        getattr(PublicTableEncoder({"age": Numeric(1, 0)}), call)(DATA)
    with pytest.raises(ParameterError, match="sparse must be True or False, got 'yes'"):
        getattr(PublicTableEncoder(COLUMNS, sparse="yes"), call)(DATA)


def test_a_value_outside_its_categories_is_not_shown():
    encoder = PublicTableEncoder({"work": Categorical(["public"])})
    pipeline = make_pipeline(encoder, LogisticRegression())
    with pytest.raises(DataError, match="column 'work' has a value outside its declared categories") as error:
        pipeline.fit(pandas_frame({"work": ["public", "secret-7731"]}), [0, 1])
    assert "secret" not in str(error.value)
    assert not any(character.isdigit() for character in str(error.value))


@pytest.mark.parametrize("sparse", [False, True])
def test_unseen_values_are_refused_in_a_fit_and_encoded_in_a_prediction(sparse):
    columns = {"age": Numeric(0, 100), "work": Categorical(["public", "private"])}
    table = pandas_frame({"age": [None, 50.0], "work": ["public", "abroad"]})
    encoder = PublicTableEncoder(columns, sparse=sparse)
    with pytest.raises(DataError, match="'age' has a missing value"):
        encoder.fit_transform(table)
    found = encoder.transform(table)
    assert (found.toarray() if sparse else found).tolist() == [[0, 1, 0], [0, 0, 0]]
    with pytest.raises(DataError, match="'age' has a missing value"):
        PublicTableEncoder(columns, sparse=sparse, unseen="raise").transform(table)
    for call in ("fit", "transform", "fit_transform"):
        with pytest.raises(ParameterError, match='unseen must be "raise" or "other", got \'ignore\''):
            getattr(PublicTableEncoder(columns, unseen="ignore"), call)(table)


def test_a_pipeline_fits_declared_values_and_predicts_all():
    pipeline = make_pipeline(PublicTableEncoder({"work": Categorical(["public", "private"])}), LogisticRegression())
    pipeline.fit(pandas_frame({"work": ["public", "private"] * 5}), [0, 1] * 5)
    assert pipeline.predict(pandas_frame({"work": ["abroad", "private", None]})).shape == (3,)
