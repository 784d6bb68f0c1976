# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a hostile reader could show, kept as tests."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from dperm import ApproxDP, PureDP
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.erm.losses import Logistic
from dperm.erm.spec import ProblemSpec
from dperm.errors import DataError, ModelFormatError, ParameterError
from dperm.methods import ObjectivePerturbation, OutputPerturbation
from dperm.methods.perturbation import determinant_is_free
from dperm.privacy import Adjacency
from dperm.report.model_file import read_model, write_model
from dperm.sklearn import PrivateLogisticRegression

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
