# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Files that released versions wrote are read by this one, with the same meaning (`write_files.py` wrote them)."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from families import FAMILIES
from torch_training import attached, model_of, plan_of, walk

from dperm import AdjacencyError, Ledger, account
from dperm.accounting.serialize import event_from_json
from dperm.cli.app import app
from dperm.data import PublicEncoder
from dperm.data.schema import Schema
from dperm.ledger import Anchor, migrate, verify
from dperm.privacy import Record
from dperm.report import Statement
from dperm.sklearn import load_model

VERSIONS = sorted(path for path in Path(__file__).parent.iterdir() if (path / "expected.json").is_file())
DELTAS = (1e-3, 1e-6)
TABLE = {
    "size": [-9.0, 0.5, None],
    "kind": [1, 2.5, None],
    "flag": [True, False, True],
    "word": ["a", "ä", "unknown"],
}


@pytest.fixture(params=VERSIONS, ids=lambda path: path.name)
def written(request) -> Path:
    """The folder of a released version."""
    return request.param


@pytest.fixture
def expected(written) -> dict[str, Any]:
    """The numbers that the version computed from its own files."""
    return json.loads((written / "expected.json").read_text())


@pytest.fixture
def sqlite_ledger(written, tmp_path) -> str:
    shutil.copy(written / "ledgers" / "sqlite.ledger", tmp_path / "old.ledger")
    return str(tmp_path / "old.ledger")


@pytest.fixture
def postgres_ledger(written) -> str:
    postgres = pytest.importorskip("postgres")
    with postgres.lent() as url:
        postgres.shared().run((written / "ledgers" / "postgres.sql").read_text(), url)
        yield url


def test_files_of_every_release_are_there():
    assert "0.8.0" in [path.name for path in VERSIONS]


def test_events_mean_what_they_meant(written, expected):
    """Numbers may become tighter; a corrected claim needs a line in the changelog and an exception here."""
    for name, by_adjacency in expected["events"].items():
        event = event_from_json((written / "events" / f"{name}.json").read_text())
        for adjacency, before in by_adjacency.items():
            if before is None:
                with pytest.raises(AdjacencyError):
                    account(event, adjacency).epsilon(DELTAS[0])
                continue
            now = [account(event, adjacency).epsilon(delta) for delta in DELTAS]
            assert now == pytest.approx(before, rel=1e-6, abs=1e-12), name
            assert all(new <= old * (1 + 1e-12) for new, old in zip(now, before, strict=True)), name


def test_models_predict_and_claim_the_same(written, expected):
    for name, was in expected["models"].items():
        model = load_model(written / "models" / f"{name}.dperm")
        family = FAMILIES.get(name, FAMILIES["linear"] if name == "method_sufficient" else FAMILIES["logistic"])
        assert type(model).__name__ == was["class"], name
        assert np.allclose(model.predict(family.X[:5]), was["predictions"], rtol=1e-12), name
        assert (None if model.guarantee_ is None else repr(model.guarantee_)) == was["guarantee"], name
        assert model.statement_.is_private is was["private"], name
        assert (None if model.record_ is None else dict(model.record_.event)) == was["event"], name


def test_schemas_and_encoders_make_the_same_features(written, expected):
    folder, was = written / "tables", expected["tables"]
    schema = Schema.load(folder / "schema.toml")
    assert schema == Schema.from_json((folder / "schema.json").read_text())
    assert schema.digest == was["digest"], "a model names its schema by this digest"
    encoder = PublicEncoder.from_json((folder / "encoder.json").read_text())
    assert list(encoder.feature_names) == was["names"]
    assert encoder.transform(TABLE).tolist() == was["features"]


def assert_same_ledger(location: str, was: dict[str, Any]) -> None:
    assert Ledger(location).accounts() == tuple(sorted(was, key=Ledger(location).accounts().index))
    for name, before in was.items():
        ledger = Ledger(location, account=name)
        assert ledger.spent == before["spent"] and repr(ledger.remaining) == before["remaining"], name
        assert repr(ledger.limit) == before["limit"], name
        assert [[line.request_id, line.state.value] for line in ledger.bookings()] == before["bookings"], name
    anchors = [Anchor.from_json(before["anchor"]) for before in was.values()]
    verified = verify(location, anchors, prices=True)
    assert verified.problems == () and verified.anchors == len(anchors)


def test_a_ledger_in_a_file_stands_as_it_stood(sqlite_ledger, expected):
    assert_same_ledger(sqlite_ledger, expected["sqlite"])


def test_a_ledger_in_postgresql_stands_as_it_stood(postgres_ledger, expected):
    assert_same_ledger(postgres_ledger, expected["postgres"])


@pytest.mark.filterwarnings("ignore:the resumed training has")
@pytest.mark.parametrize("name", ["alone", "charged"])
def test_an_interrupted_training_goes_on(written, expected, sqlite_ledger, tmp_path, name):
    shutil.copytree(written / "training" / name, tmp_path / "run")
    was, model = expected["training"][name], model_of()
    budget = Ledger(sqlite_ledger, account="training") if name == "charged" else None
    if budget is not None:
        migrate(sqlite_ledger)
    spent = None if budget is None else budget.spent
    plan = plan_of(grade=was["grade"])
    with attached(plan, model, ledger=budget, resume=tmp_path / "run" / "checkpoint.pt") as private:
        assert private.extra == {"epoch": 1}
        assert walk(private, model) == plan.steps - was["draws"] - was["lost"]
    if budget is not None:
        assert budget.spent == spent, "the run was charged before it was interrupted"
        assert budget.booking(was["request_id"]).state.value == "committed"
        assert private.release.record.ledger["request_id"] == was["request_id"]


def test_statements_and_records_are_read(written, expected):
    folder, was = written / "statements", expected["statements"]
    for name in ("model", "mean", "training"):
        statement = Statement.from_json((folder / f"{name}.json").read_text())
        assert statement.is_private
        assert Statement.from_json(statement.to_json()).to_json() == statement.to_json()
    read = Statement.from_json((folder / "model.json").read_text())
    assert read["curator"] == was["curator"] and read["ledger_entry"]["hash"] == was["hash"]
    record = Record.from_json((folder / "record.json").read_text())
    profile = account(event_from_json((folder / "record.json").read_text()), record.adjacency)
    assert profile.epsilon(0.0) == was["epsilon"]


def test_receipts_of_models_are_found_in_the_ledger(written, sqlite_ledger):
    for path in (written / "statements" / "model.dperm", written / "commands" / "income.dperm"):
        model = load_model(path)
        receipt = (model["model"] if hasattr(model, "steps") else model).record_.ledger
        assert verify(sqlite_ledger, [Anchor.from_receipt(receipt)]).problems == ()


def test_the_command_line_goes_on_with_old_files(written, sqlite_ledger, tmp_path):
    from typer.testing import CliRunner

    folder = written / "commands"
    predicted = tmp_path / "predicted.csv"
    lines = [
        ["predict", folder / "income.dperm", folder / "people.csv", "-o", predicted],
        ["report", folder / "income.dperm", "--audit", folder / "audit.json", "-o", tmp_path / "statement.html"],
        ["ledger", "verify", sqlite_ledger, "--model", folder / "income.dperm"],
        ["schema", "check", folder / "schema.toml", folder / "people.csv"],
    ]
    for words in lines:
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 0, result.output
    assert predicted.read_text() == (folder / "predicted.csv").read_text()


def test_checkpoints_hold_nothing_that_needs_pickle(written):
    for path in written.glob("training/*/checkpoint.pt"):
        assert torch.load(path, weights_only=True)["format"] == 1
