# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan`` without a subcommand: deprecated until 1.0, with the same answers and exit codes."""

import math
from pathlib import Path

import pytest

from dperm.data.schema import Schema
from dperm.planner import Shape

SMALL = "plan --n 800 --dim 3 --epsilon 1"
EXCESS = "plan --target-excess 0.05 --dim 10 --epsilon 1"
LOSS = "plan --target-loss 0.03 --dim 3 --epsilon 0.5 --method objective --quick"
SPELLINGS = {
    "plan --schema schema.toml --epsilon 1 --n 1500": "plan fit --schema schema.toml --epsilon 1 --n 1500",
    "plan --epsilon 1 --schema schema.toml --n 1500 --ledger census.ledger --json": (
        "plan fit --epsilon 1 --schema schema.toml --n 1500 --ledger census.ledger --json"
    ),
    f"{SMALL} --no-trials": "plan expect --n 800 --dim 3 --epsilon 1 --no-trials",
    f"{SMALL} --quick --method output --json": "plan expect --n 800 --dim 3 --epsilon 1 --quick --method output --json",
    EXCESS: "plan records --target-excess 0.05 --dim 10 --epsilon 1",
    "plan --target-excess 0.05 --schema schema.toml --epsilon 1 --n 9": (
        "plan records --target-excess 0.05 --schema schema.toml --epsilon 1 --n 9"
    ),
    LOSS: "plan records-by-trial --target-loss 0.03 --dim 3 --epsilon 0.5 --method objective --quick",
}


@pytest.mark.parametrize("old", SPELLINGS)
def test_both_spellings_have_the_same_answer_and_exit_code(opened, dperm, old):
    opened(limit=0.5)  # does not cover the plan: exit code 3
    before, after = dperm(old), dperm(SPELLINGS[old])
    assert (before.stdout, before.exit_code) == (after.stdout, after.exit_code)
    assert before.exit_code == (3 if "--ledger" in old else 0)
    name = " ".join(SPELLINGS[old].split()[:2])
    (note, *rest) = before.stderr.splitlines()
    assert note.startswith("Note: ") and "deprecated" in note and "1.0" in note and f"Use dperm {name}." in note
    assert rest == after.stderr.splitlines()


def test_a_plan_alone_shows_the_subcommands(dperm):
    said = dperm("plan").stdout
    assert said == dperm("plan --help").stdout
    for name in ("fit", "expect", "records", "records-by-trial"):
        assert f"\n  {name} " in said
    assert "--target-loss" not in said and "\n  options" not in said


def test_expecting_adds_the_table_to_the_plan_of_a_fit(desk, answered, ends):
    plan = "plan --schema schema.toml --epsilon 1 --n 1500"
    alone, both = answered(plan), answered(f"{plan} --expect --no-trials")
    norm = Schema.load(Path("schema.toml")).encoder.norm
    assert both.pop("outlook")["shape"] == Shape(1500, 7, feature_norm=norm).as_dict() and both == alone
    assert norm == pytest.approx(math.sqrt(3))
    said = ends(0, f"{plan} --expect --quick --method output").stdout
    assert said.startswith(ends(0, f"{plan} --method output").stdout)
    assert "1,500 records with 7 columns as the schema encodes them" in said and "expected accuracy" in said


def test_what_is_expected_has_the_delta_of_the_account(opened, answered):
    opened()
    line = "plan --schema schema.toml --epsilon 1 --n 1500 --expect --no-trials"
    assert answered(f"{line} --ledger census.ledger")["outlook"]["goal"]["delta"] == pytest.approx(1e-6)
    assert answered(f"{line} --delta 0")["outlook"]["goal"] == {
        "kind": "PureDP",
        "epsilon": 1.0,
        "adjacency": "replace_one",
    }


def test_a_plan_that_is_not_covered_still_says_what_to_expect(opened, dperm):
    opened(limit=0.5)
    result = dperm("plan --schema schema.toml --epsilon 1 --n 1500 --expect --no-trials --ledger census.ledger")
    assert result.exit_code == 3 and "NOT COVERED" in result.stdout and "Outlook for" in result.stdout


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--schema schema.toml --expect --adjacency add_remove", ["--n is missing", "--expect"]),
        ("--schema schema.toml --expect --n 1500 --estimator svc", ["--estimator is svc"]),
        ("--schema schema.toml --expect --n 1500 --C 1", ["--C belongs to --schema."]),
        ("--schema schema.toml --expect --n 1500 --feature-norm 1", ["--feature-norm belongs to --dim"]),
        ("--schema schema.toml --n 1500 --balance 0.3", ["--balance belongs to --n and --dim", "Add --expect"]),
        ("--schema schema.toml --n 1500 --plot a.png", ["--plot belongs to", "--schema and --expect"]),
        ("--schema schema.toml --expect --n 1500 --method sufficient", ["--method must be one of"]),
        ("--schema pay.toml --expect --n 1500", ["two classes", "a range"]),
    ],
)
def test_what_cannot_be_expected_of_a_schema_is_refused(desk, refused, line, words):
    said = refused(f"plan --epsilon 1 {line}")
    assert all(word in said for word in words), said


def test_without_a_schema_or_a_shape_both_ways_are_shown(desk, ends):
    said = ends(2, "plan --epsilon 1 --n 10").stderr
    assert "--dim or --schema is missing" in said and "--n 20000 --dim 10" in said and "--schema schema.toml" in said


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("plan --n 800 --dim 3", ["--epsilon is missing"]),
        ("plan --dim 3 --epsilon 1", ["--n is missing", "--target-excess"]),
        ("plan --n 800 --epsilon 1 --balance 0.3", ["--dim or --schema is missing"]),
        ("plan --schema schema.toml --n 10", ["--epsilon is missing"]),
        ("plan --epsilon 1 --ledger census.ledger", ["--dim or --schema is missing"]),
        (f"{SMALL} --ledger census.ledger", ["--ledger belongs to --schema."]),
        (f"{SMALL} --write-event event.json", ["--write-event belongs to --schema."]),
        (f"{SMALL} --estimator svc", ["--estimator belongs to --schema."]),
        (f"{SMALL} --C 1", ["--C belongs to --schema."]),
        (f"{SMALL} --expect", ["--expect belongs to --schema."]),
        (f"{SMALL} --schema schema.toml", ["--schema and --dim"]),
        ("plan --target-excess 0.05 --epsilon 1", ["--target-excess needs --dim", "or --schema"]),
        ("plan --target-loss 0.05 --epsilon 1", ["--target-loss needs --dim", "or --schema"]),
        ("plan --target-excess 0.1 --epsilon 1 --schema schema.toml --ledger a.ledger", ["--ledger belongs to"]),
        ("plan --target-loss 0.1 --epsilon 1 --schema schema.toml --feature-norm 2", ["--feature-norm belongs"]),
        ("plan --target-excess 0.05 --dim 10", ["--epsilon is missing"]),
        (f"{EXCESS} --target-loss 0.1", ["mutually exclusive"]),
        (f"{EXCESS} --quick", ["--quick belongs to"]),
        (f"{EXCESS} --balance 0.3", ["--balance belongs to"]),
        (f"{EXCESS} --method output", ["--method belongs to"]),
        (f"{EXCESS} --plot a.png", ["--plot belongs to"]),
        (f"{EXCESS} --account x", ["--account belongs to --schema."]),
        (f"{EXCESS} --schema schema.toml", ["--schema and --dim"]),
        (f"{LOSS} --no-trials", ["--no-trials belongs to"]),
        (f"{LOSS} --reference-norm 2", ["--reference-norm belongs to"]),
    ],
)
def test_what_is_wrong_is_said(desk, refused, line, words):
    said = refused(line)
    assert all(word in said for word in words), said
    assert not Path("event.json").exists()
