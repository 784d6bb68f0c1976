# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Statements of fits to tables in row groups: engine, exact sums (T201, T206), and nothing about the row groups."""

import json

import numpy as np
import pytest
from statements import of_record, record

from dperm.data import table
from dperm.report import Statement
from dperm.report.binding import public_facts_digest, statement_digest
from dperm.report.engine_facts import CURVATURE
from dperm.sklearn import PrivateLinearRegression, load_model

ENGINES = [{"name": "serial"}, {"name": "dask", "version": "2026.8.0"}, {"name": "made up"}]


def with_engine(engine, method="objective"):
    found = record()
    return record(public={**found.public, "method": method, "engine": engine})


@pytest.mark.parametrize("engine", ENGINES)
def test_engine_sums_and_noise_are_stated_and_workers_of_a_cluster_belong_to_the_curator(engine):
    found, plain = of_record(with_engine(engine)), of_record(record())
    words = " ".join(engine.values())
    validator = pytest.importorskip("jsonschema").Draft202012Validator(Statement.schema())
    assert f'engine "{words}"' in found["security"] and "integer arithmetic (T201)" in found["security"]
    assert "A single process drew all noise, and drew it only once." in found["security"]
    assert (f'All workers of the engine "{words}" belong' in found["trust_model"]) == (engine["name"] != "serial")
    assert found["mechanism"]["engine"] == engine
    assert "engine" not in str([plain["security"], plain["trust_model"], plain["covered"], plain["mechanism"]])
    for one in (found, plain):
        validator.validate(json.loads(one.to_json()))
        assert Statement.from_json(one.to_json()) == one
    assert 'engine "' in found.to_markdown()


@pytest.mark.parametrize(("method", "solved"), [("objective", True), ("output", True), ("sgd", False)])
def test_second_derivatives_of_a_sample_are_stated_where_a_solver_uses_them(method, solved):
    assert (CURVATURE in of_record(with_engine(ENGINES[0], method))["covered"]) == solved
    assert CURVATURE not in of_record(record(public={**record().public, "method": method}))["covered"]


def test_the_statement_of_a_fit_is_bound_to_its_engine_and_says_nothing_about_its_row_groups(tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-1, 1, (1234, 2)), rng.uniform(-1, 1, 1234)])
    np.save(tmp_path / "rows.npy", X)
    people = table(tmp_path / "rows.npy", engine="serial", memory="3MB")
    model = PrivateLinearRegression(bounds=[(-1, 1)] * 2, label_range=(-1, 1), adjacency="add_remove")
    model.fit(people, "x2").save(tmp_path / "model.dperm")
    public = model.record_.public
    assert public["engine"] == {"name": "serial"}
    assert statement_digest(model.statement_.fields) == public_facts_digest(public)
    text = json.dumps(model.statement_.to_dict())
    assert "1234" not in text and "block" not in text and "rows.npy" not in text
    assert load_model(tmp_path / "model.dperm").statement_ == model.statement_
