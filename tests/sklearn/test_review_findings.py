# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a hostile reader could show, kept as tests."""

import datetime
import json
import warnings
from collections import deque
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from families import FAMILIES
from scipy import sparse

from dperm import ApproxDP, PureDP
from dperm.accounting import MemoryBudget
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.erm.losses import Logistic
from dperm.erm.spec import ProblemSpec
from dperm.errors import (
    DataError,
    DpermWarning,
    ModelFormatError,
    NotPrivateWarning,
    ParameterError,
)
from dperm.methods import ObjectivePerturbation, OutputPerturbation
from dperm.privacy import Adjacency
from dperm.report.model_file import read_model, write_model
from dperm.sensitivity import determinant_is_free
from dperm.sklearn import PrivateLinearRegression, PrivateLogisticRegression
from dperm.sklearn.fit_result import PrivateData
from dperm.sklearn.labels import PublicLabels

X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
Y = (X[:, 0] > 0).astype(int)
SPACE = FeatureSpace(2, norm=1.0)


def fitted(**parameters):
    return PrivateLogisticRegression(feature_norm=1.0, classes=(0, 1), **parameters).fit(X, Y)


@pytest.mark.parametrize("weights", [(-1e6, 1.0), (float("nan"), 1.0), (0.0, 1.0), (1.0, float("inf"))])
def test_class_weights_that_no_plan_covers_are_refused_where_data_are_bounded(weights):
    with pytest.raises(ParameterError, match="weights"):
        enforce(X, Y, SPACE, Classes((0, 1), weights))


def test_a_plan_refuses_weights_that_are_not_positive():
    good = enforce(X, Y, SPACE, Classes((0, 1)))
    target = Classes((0, 1))
    object.__setattr__(target, "weights", (-5.0, 1.0))
    bad = replace(good, target=target)
    plan = OutputPerturbation().plan(ProblemSpec(Logistic(), SPACE.radius, 3, n=200), PureDP(1.0, "replace_one"))
    with pytest.raises(ParameterError, match="class weights"):
        plan.run(lambda: bad)


@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_a_file_whose_guarantee_is_not_that_of_its_event_is_refused(tmp_path, name):
    path = tmp_path / "model.npz"
    fitted(epsilon=2.0, delta=1e-4, method="gradient").save(path)
    file = read_model(path)
    record = json.loads(file.data["record"])
    record["guarantee"][name] /= 10
    write_model(path, type(file)(file.kind, {**file.data, "record": json.dumps(record)}, file.arrays))
    with pytest.raises(ModelFormatError, match="fit together"):
        PrivateLogisticRegression.load(path)


def test_a_file_keeps_the_parameters_of_the_fit(tmp_path):
    model = fitted(epsilon=8.0, delta=1e-3).set_params(epsilon=0.001, delta=0.0)
    model.save(tmp_path / "model.npz")
    loaded = PrivateLogisticRegression.load(tmp_path / "model.npz")
    assert (loaded.epsilon, loaded.delta) == (8.0, 1e-3)
    assert loaded.guarantee_ == ApproxDP(8.0, 1e-3, "replace_one")


def test_many_parts_and_deep_headers_are_no_model_files(tmp_path):
    path = tmp_path / "model.npz"
    np.savez(path, **{f"a{place}": np.zeros(1) for place in range(100)})
    with pytest.raises(ModelFormatError):
        read_model(path)
    np.savez(path, header=np.frombuffer(b"[" * 200_000, dtype=np.uint8))
    with pytest.raises(ModelFormatError):
        read_model(path)


class TooLarge:
    """An array-like whose conversion says how large it is."""

    shape = (123457, 2)

    def __array__(self, dtype=None, copy=None):
        raise MemoryError("Unable to allocate 8 GiB for an array with shape (123457, 2)")


@pytest.mark.parametrize("bad", [TooLarge(), [[1.0, 2.0]] * 1237 + [[1.0]]], ids=["too large", "ragged"])
def test_no_exception_tells_the_number_of_rows_not_even_as_a_context(bad):
    with pytest.raises(DataError) as refusal:
        PrivateLogisticRegression(adjacency="add_remove", feature_norm=1.0, classes=(0, 1)).fit(bad, Y)
    error = refusal.value
    while error is not None:
        assert "1237" not in str(error)
        assert "123457" not in str(error)
        error = error.__cause__ or error.__context__


def test_masked_rows_are_refused():
    masked = [np.ma.masked_array([1.0, 2.0], mask=[True, False])] * 4
    with pytest.raises(DataError, match="masked"):
        fitted().fit(masked, [0, 1, 0, 1])


def test_a_flat_sparse_array_is_refused():
    try:
        flat = sparse.coo_array(np.ones(4))
    except ValueError:
        flat = None
    if flat is None or flat.ndim != 1:
        pytest.skip("this scipy has no sparse arrays of one dimension")
    with pytest.raises(DataError, match="2D array"):
        fitted().fit(flat, [0, 1, 0, 1])


class Flatter(Logistic):
    """A loss of another shape under a known name."""


def test_the_free_determinant_is_for_the_logistic_loss_itself():
    """T36b rests on f'' = |f'| (1 - |f'|), which a subclass need not have."""
    for loss, free in ((Logistic(), True), (Flatter(), False)):
        spec = ProblemSpec(loss, 1.0, 3, regularization=100.0)
        assert determinant_is_free(spec, 1.0, Adjacency.ADD_REMOVE) is free
        assert ("T36b" in ObjectivePerturbation().plan(spec, PureDP(1.0, "add_remove")).theorems) is free


PLACE = 7
ODD = {
    "no dimensions": np.array(1),
    "text without dimensions": np.array("1"),
    "array of one": np.array([1]),
    "array of two": np.array([1, 2]),
    "column": np.array([[1], [2]]),
    "empty array": np.array([]),
    "list of one": [1],
    "tuple of one": (1,),
    "list of a word": ["1"],
    "list of two": [1, 2],
    "nested lists": [[1]],
    "empty list": [],
    "Decimal": Decimal(1),
    "signalling NaN": Decimal("sNaN"),
    "Fraction": Fraction(1, 3),
    "object": object(),
    "None": None,
    "truth value": np.bool_(True),
    "NaN": float("nan"),
    "infinity": np.inf,
    "huge": 10**400,
    "word": "1",
    "bytes": b"1",
    "numpy's word": np.str_("1"),
    "complex": 1j,
    "numpy's complex": np.complex128(1),
    "date": np.datetime64("2020-01-01"),
    "dictionary": {1: 2},
}
KNOWN = {
    **{name: (family.make()._planned_labels(), family.y[:20].tolist()) for name, family in FAMILIES.items()},
    "words": (PrivateLogisticRegression(classes=("1", "no"))._planned_labels(), ["no", "1"] * 10),
    "truth values": (PrivateLogisticRegression(classes=(False, True))._planned_labels(), [True, False] * 10),
}


def codes_of(y: object, known: PublicLabels) -> np.ndarray:
    """What an estimator with invalid="drop" reads."""
    return PrivateData(X[:20], y, SPACE, known, None, "drop").read(20).in_memory().codes


def as_objects(labels: list) -> np.ndarray:
    found = np.empty(len(labels), dtype=object)
    for place, label in enumerate(labels):
        found[place] = label
    return found


@pytest.mark.parametrize("odd", ODD)
def test_one_odd_label_changes_no_other_code(odd):
    for known, labels in KNOWN.values():
        alone = np.delete(codes_of(np.array(labels), known), PLACE)
        assert known.target.counts(alone).all()
        swapped = [*labels[:PLACE], ODD[odd], *labels[PLACE + 1 :]]
        for held in (list, tuple, deque, as_objects):
            assert np.delete(codes_of(held(swapped), known), PLACE).tolist() == alone.tolist()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("odd", ODD)
def test_one_odd_label_in_a_column_changes_no_other_code(odd):
    for known, labels in KNOWN.values():
        alone = np.delete(codes_of(np.array(labels), known), PLACE)
        for label in (ODD[odd], [ODD[odd]], (ODD[odd], ODD[odd])):
            column = [[label] for label in labels]
            column[PLACE] = label
            assert np.delete(codes_of(column, known), PLACE).tolist() == alone.tolist()


@pytest.mark.parametrize("odd", [object(), None, [1, 2], 1j, "one"], ids=lambda odd: type(odd).__name__)
def test_what_is_no_label_does_not_count(odd):
    for known, labels in KNOWN.values():
        found = codes_of([*labels[:PLACE], odd, *labels[PLACE + 1 :]], known)
        assert known.target.counts(found).tolist() == [place != PLACE for place in range(20)]


def test_classes_may_be_any_sequence(tmp_path):
    family = FAMILIES["softmax"]
    for classes in (range(3), deque([0, 1, 2]), np.arange(3)):
        assert family.make(classes=classes).plan(n=2000, dim=3) == family.make().plan(n=2000, dim=3)
    model = family.make(classes=range(3)).fit(*family.data)
    model.save(tmp_path / "model.npz")
    assert PrivateLogisticRegression.load(tmp_path / "model.npz").classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["linear", "huber", "quantile"])
def test_regressions_that_learn_nothing_from_few_records_say_so(name):
    """R^2 is good where there is no warning, and less than half as large where there is one."""
    family, scores = FAMILIES[name], {}
    for n in (20, 2000):
        told = []
        for seed in range(3):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model = family.make(random_state=seed).fit(family.X[:n], family.y[:n])
            told.append(any("hardly better than a constant, or worse" in str(one.message) for one in caught))
            scores.setdefault(n, []).append(model.score(*family.data))
        assert told == [n == 20] * 3
    assert family.good < np.median(scores[2000])
    assert np.median(scores[20]) < np.median(scores[2000]) / 2


@pytest.mark.parametrize("y", [["0.5", "0.6"] * 100, np.array(["0.5", "0.6"] * 100), [b"1", "2"] * 100])
@pytest.mark.parametrize("invalid", ["raise", "drop"])
def test_labels_that_are_all_text_are_no_numbers(y, invalid):
    """Dropping every record would learn nothing, and say so to nobody."""
    with pytest.raises(DataError, match="y must hold real numbers"):
        FAMILIES["linear"].make(invalid=invalid).fit(X, y)


def test_scores_of_regressions_read_labels_as_fits_do():
    family = FAMILIES["linear"]
    model = family.make(random_state=0, epsilon=8.0)
    with pytest.warns(NotPrivateWarning):
        model.fit(*family.data)
    assert model.score(family.X, [Decimal(y) for y in family.y.tolist()]) == model.score(*family.data)
    with pytest.raises(DataError, match="y must hold real numbers"):
        model.score(family.X, ["1.0"] * len(family.X))


def test_labels_that_numpy_makes_alike_are_refused_before_anything_is_charged():
    budget = MemoryBudget(PureDP(5.0, "replace_one"))
    public = {"feature_norm": 1.0, "delta": 0.0, "ledger": budget}
    with pytest.raises(ParameterError, match="must stay different"):
        PrivateLogisticRegression(classes=("a", "a\0"), invalid="drop", **public).fit(X, Y)
    found = np.array([["a", "a\0", "b"][place % 3] for place in range(200)], dtype=object)
    with pytest.raises(DataError, match="labels in y must stay different"):
        PrivateLogisticRegression(**public).fit(X, found)
    assert budget.remaining == PureDP(5.0, "replace_one")


class Secretive(float):
    """A number whose conversion says what it should not."""

    def __float__(self) -> float:
        raise RuntimeError("secret 987654.321")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("secret 987654.321")

    __hash__ = float.__hash__


@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateLinearRegression])
def test_a_label_that_raises_is_no_label(kind):
    public = {"classes": (0, 1)} if kind is PrivateLogisticRegression else {"label_range": (0.0, 1.0)}
    labels = [*Y.tolist()[:-1], Secretive(1.0)]
    model = kind(feature_norm=1.0, invalid="drop", **public).fit(X, labels)
    assert np.isfinite(model.coef_).all()
    with pytest.raises(DataError) as raised:
        kind(feature_norm=1.0, **public).fit(X, labels)
    assert "secret" not in str(raised.value)
    assert raised.value.__context__ is None


def test_dates_as_labels_are_refused_by_us():
    days = pa.chunked_array([pa.array([datetime.date(2026, 1, 1)] * 100), pa.array([datetime.date(2026, 1, 2)] * 100)])
    for model in (
        PrivateLogisticRegression(feature_norm=1.0, classes=(0, 1)),
        PrivateLinearRegression(feature_norm=1.0),
    ):
        with warnings.catch_warnings(), pytest.raises(DataError):
            warnings.simplefilter("ignore", DpermWarning)
            model.fit(X, days)
