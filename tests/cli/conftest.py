# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Running ``dperm`` inside the test's process."""

import json
import shlex

import pytest
from people_tables import people, write_csv
from typer.testing import CliRunner


@pytest.fixture
def dperm():
    """A function that runs one command line and returns the result (exit_code, stdout, stderr)."""
    from dperm.cli.app import app

    def run(line, *more):
        return CliRunner().invoke(app, [*shlex.split(line), *more])

    return run


@pytest.fixture
def answered(dperm):
    """A function that runs one command line with --json and returns the object; Infinity and NaN are refused."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    def run(line, *more):
        result = dperm(line, *more, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout, parse_constant=refuse)

    return run


@pytest.fixture
def refused(dperm):
    """A function that runs one command line, asserts a clean refusal, and returns what stderr says."""

    def run(line, *more):
        result = dperm(line, *more)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert result.stderr
        assert "Traceback" not in result.stderr
        assert isinstance(result.exception, SystemExit)
        return result.stderr

    return run


SCHEMA = """
[columns.age]
low = 17
high = 90
impute = 40

[columns.work]
categories = ["private", "public", "self", "unknown"]
impute = "unknown"
other = true

[columns.hours]
low = 0
high = 80

[target]
name = "income"
classes = ["<=50K", ">50K"]
"""
PAY = SCHEMA.replace('name = "income"\nclasses = ["<=50K", ">50K"]', 'name = "pay"\nrange = [0, 200]')
FIELDS = 'curator = "the census office"\nintended_use = "a test"\n'


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """An empty directory to work in, with data.csv, schema.toml, pay.toml and fields.toml."""
    monkeypatch.chdir(tmp_path)
    stock(tmp_path)
    return tmp_path


def stock(folder):
    write_csv(folder / "data.csv", people(1500))
    (folder / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    (folder / "pay.toml").write_text(PAY, encoding="utf-8")
    (folder / "fields.toml").write_text(FIELDS, encoding="utf-8")


@pytest.fixture(scope="session")
def audited_files(tmp_path_factory):
    """The files of a pure model and of its audit with 2000 runs, made once."""
    from dperm.cli.app import app

    folder = tmp_path_factory.mktemp("audited")
    stock(folder)
    fit = "fit data.csv --epsilon 1 --schema schema.toml --delta 0"
    audit = "audit model model.dperm --runs 2000 --seed 1 --out audit.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in (fit, audit):
            result = CliRunner().invoke(app, shlex.split(line))
            assert result.exit_code == 0, result.output
    return folder / "model.dperm", folder / "audit.json"


@pytest.fixture
def opened(desk):
    """A function that opens census.ledger with epsilon 3 in ten blocks, and returns it; options as of Ledger.open."""
    from dperm import ApproxDP
    from dperm.ledger import Ledger

    def opened(limit=3.0, adjacency="replace_one", **more):
        given = {"account": "census", "dataset": "census 2026", "unit": "one person", "blocks": 10, **more}
        return Ledger.open(desk / "census.ledger", ApproxDP(limit, 1e-5, adjacency), **given)

    return opened


@pytest.fixture
def ends(dperm):
    """A function that runs one command line, asserts how it ends, and returns the result; nothing secret is said."""

    def run(code, line, *more):
        result = dperm(line, *more)
        assert result.exit_code == code, result.output
        assert "SECRET" not in result.output and "Traceback" not in result.output
        if code:
            assert result.stdout == "" and result.stderr
        return result

    return run
