# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm demo``: the commands run in a new folder, and an existing folder is never touched."""

import shlex
import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from dperm.cli import demo
from dperm.cli.app import app

FILES = {
    "train.csv",
    "test.csv",
    "schema.toml",
    "people.ledger",
    "model.dperm",
    "audit.json",
    "statement.html",
    "evaluation.html",
}


def test_a_folder_that_exists_is_refused_and_left_alone(tmp_path):
    (tmp_path / "people.ledger").write_text("the books")
    result = CliRunner().invoke(app, ["demo", "--folder", str(tmp_path)])
    assert result.exit_code == 2
    assert "exists and was not changed" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["people.ledger"]
    assert (tmp_path / "people.ledger").read_text() == "the books"


def test_the_data_depend_on_the_seed_only_and_fit_the_schema(tmp_path):
    from dperm.data.schema import Schema

    for name, seed in (("one", 0), ("same", 0), ("other", 1)):
        (tmp_path / name).mkdir()
        demo._write_data(tmp_path / name, seed)
    one, same, other = ((tmp_path / name / "train.csv").read_text() for name in ("one", "same", "other"))
    assert one == same != other
    assert Schema.load(tmp_path / "one/schema.toml").target is not None
    assert one.count("\n") == 1 + 12_000  # the number that the plan is given
    assert any("--n 12000" in command for command in demo.COMMANDS)


def test_the_demo_shows_every_verb_about_data_and_budgets():
    verbs = {shlex.split(command)[0] for command in demo.COMMANDS}
    others = {"schema", "account", "calibrate", "explain", "reproduce", "demo", "completion"}
    others |= {"search"}  # by default nothing is searched
    assert verbs == set(get_command(app).commands) - others


def test_a_command_that_fails_ends_the_demo_with_its_code(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(demo, "COMMANDS", ("no-such-verb", "ledger show people.ledger"))
    result = CliRunner().invoke(app, ["demo", "--folder", str(tmp_path / "new")])
    assert result.exit_code == 2
    assert "no-such-verb" in capfd.readouterr().err
    assert "ledger show" not in result.stdout and "Accuracy" not in result.stdout


@pytest.mark.slow
def test_the_demo_runs(tmp_path):
    command = [sys.executable, "-m", "dperm", "demo", "--folder", "first-steps"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in (tmp_path / "first-steps").iterdir()} >= FILES
    assert all(f"$ dperm {command}\n" in done.stdout for command in demo.COMMANDS)
    assert "all in order" in done.stdout
