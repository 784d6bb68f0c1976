# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Statements of trainings: what they name, units of privacy, grades, and the files that they are written to."""

import json

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from dperm.report import Statement, statement, write_statement
from dperm.report.run_facts import ROUNDING, TRAINING_FAST
from dperm.report.summary import title_of
from dperm.torch import DPSGD, DPSVRG, PrivateTorchClassifier

ROWS = 60


def data() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.linspace(-1, 1, 2 * ROWS).reshape(ROWS, 2)
    return x, (x[:, 0] > 0).long()


def trained(method: DPSGD, adjacency: str = "add_remove", **options: object):
    n = ROWS // (method.records_per_group or 1)
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plan = method.plan(n, 2.0, 1e-5, adjacency)
    with plan.attach(model, optimizer, data(), progress=False, **options) as private:
        for x, y in private:
            private.step(cross_entropy(model(x), y, reduction="none"))
    return private.release


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_with_groups_a_group_is_protected(adjacency):
    method = DPSGD(1.0, 10, steps=2, records_per_group=3)
    found = statement(trained(method, adjacency, group=[place // 3 for place in range(ROWS)]))
    assert found["unit_of_privacy"] == "one group (all records with one key, of which at most 3 are used)"
    assert str(found["contribution_bound"]["known"]).startswith("At most 3")
    assert found["public_quantities"]["n_groups"] == ROWS // 3
    assert found["sampling"]["run"].startswith("Poisson sampling of groups at rate 0.5")
    assert "one record" not in found.to_markdown()


@pytest.mark.parametrize("grade", ["exact", "fast"])
def test_a_training_names_method_sampling_versions_and_grade(grade):
    found = statement(trained(DPSGD(1.0, 15, steps=2, grade=grade)))
    assert found["mechanism"]["name"] == "DP-SGD of a PyTorch model"
    assert found["sampling"]["run"] == "Poisson sampling at rate 0.25"
    assert found["code_version"]["torch"] == str(torch.__version__)
    assert found["public_quantities"]["trained_parameters"] == 6
    assert (TRAINING_FAST in found["limits"], ROUNDING in found["limits"]) == (grade == "fast", grade == "exact")
    assert found["noise_source"]["grade"] == grade


def test_variance_reduction_is_named_with_its_model():
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plan = DPSVRG(0.1, 1.0, batch_size=15, steps=4, snapshots=2).plan(ROWS, 2.0, 1e-5)
    found = statement(plan.run(model, optimizer, data(), nn.CrossEntropyLoss(), progress=False))
    assert found["mechanism"]["name"] == "DP-SVRG of a PyTorch model"
    assert title_of(found.fields) == "Linear (PyTorch model)"
    assert found["public_quantities"]["trained_parameters"] == 6
    assert "Poisson sampling at rate 0.25" in found["sampling"]["run"]


def test_a_release_is_written_as_a_page(tmp_path):
    release = trained(DPSGD(1.0, 15, steps=2, grade="fast"))
    write_statement(tmp_path / "statement.html", release, fields={"curator": "The clinic"})
    text = (tmp_path / "statement.html").read_text(encoding="utf-8")
    assert "The clinic" in text and "unnamed mechanism" not in text and TRAINING_FAST in text


def test_a_classifier_writes_its_statement(tmp_path):
    x, y = data()
    model = PrivateTorchClassifier(nn.Linear, 2.0, 1e-5, classes=(0, 1), batch_size=15, epochs=1)
    model.fit(x.numpy(), y.numpy())
    model.write_statement(tmp_path / "statement.json", fields={"curator": "The clinic"})
    found = Statement.from_json((tmp_path / "statement.json").read_text(encoding="utf-8"))
    assert found["curator"] == "The clinic" and title_of(found.fields) == "Torch Classifier (model)"
    assert found["mechanism"]["name"] == "DP-SGD of a PyTorch model"
    assert found["public_quantities"]["classes"] == [0, 1]
    assert "bounds" not in json.dumps(found["preprocessing"])
