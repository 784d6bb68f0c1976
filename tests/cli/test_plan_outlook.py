# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan expect``: noise, bounds and expected accuracy from public numbers and synthetic data."""

import json
import math
from pathlib import Path

import pytest

from dperm.data.schema import Schema
from dperm.planner import METHODS, Shape, Trials, outlook
from dperm.privacy import ApproxDP
from dperm.theory import compare_methods

SMALL = "plan expect --n 800 --dim 3 --epsilon 1"
TRIED = f"{SMALL} --method objective --quick"


def test_the_table_has_every_method_with_its_noise_and_its_bound(ends):
    said = ends(0, f"{SMALL} --no-trials").stdout
    assert "Outlook for 800 records with 3 columns; no data were read." in said
    table = said.partition("\n\n")[2].partition("\n\n")[0]
    assert [line.split()[0].rstrip(":") for line in table.splitlines()[2:]] == list(METHODS)
    assert "expected accuracy" not in table


def test_the_numbers_are_those_of_the_planner(answered):
    found = answered(f"{SMALL} --no-trials --delta 1e-5 --adjacency add_remove --reference-norm 2 --feature-norm 3")
    shape, goal = Shape(800, 3, feature_norm=3.0), ApproxDP(1.0, 1e-5, "add_remove")
    assert found["outlook"] == json.loads(
        json.dumps(outlook(shape, goal, reference_norm=2.0, simulate=False).as_dict())
    )
    bounds = compare_methods(shape.problem(2.0), 800, epsilon=1.0, delta=1e-5, adjacency="add_remove")
    proved = {row["method"]: row["proved"] for row in found["outlook"]["methods"]}
    assert {each.method: proved[each.method]["bound"] for each in bounds} == {
        each.method: each.bound for each in bounds
    }


def test_adjacency_and_delta_are_those_of_a_fit_unless_they_are_given(answered, desk):
    fitted = answered("fit data.csv --epsilon 1 --schema schema.toml")["guarantee"]
    assert answered(f"{SMALL} --no-trials")["guarantee"] == fitted
    pure = answered(f"{SMALL} --no-trials --delta 0 --adjacency add_remove")["guarantee"]
    assert (pure["kind"], pure["adjacency"]) == ("PureDP", "add_remove")


def test_trials_are_those_of_the_planner_and_follow_from_their_seed(answered):
    found = answered(f"{TRIED} --balance 0.3 --baseline 0.8 --seed 5")["outlook"]
    shape, goal = Shape(800, 3, balance=0.3, baseline=0.8), ApproxDP(1.0, 1e-6, "replace_one")
    direct = outlook(shape, goal, methods=("objective",), trials=Trials.quick(5))
    assert found["methods"][0]["expected"] == direct.row("objective").expected.as_dict()
    other = answered(f"{TRIED} --balance 0.3 --baseline 0.8 --seed 6")["outlook"]
    assert other["methods"][0]["expected"]["mean"] != found["methods"][0]["expected"]["mean"]


def test_what_was_tried_is_printed_with_its_interval_and_what_it_is_not(ends, answered):
    expected = answered(TRIED)["outlook"]["methods"][0]["expected"]
    said = ends(0, TRIED).stdout
    row = next(line for line in said.splitlines() if line.startswith("objective"))
    assert f" {expected['mean']:.3f} " in row
    low, high = json.loads(row[row.index("[") :])
    assert low <= expected["low"] <= expected["mean"] <= expected["high"] <= high < expected["high"] + 0.002
    for words in (
        "synthetic tables",
        "one-sided",
        "regularization or number of steps",
        "treated as public",
        "With 800 records",
    ):
        assert words in said


def test_a_method_that_does_not_apply_says_why(ends, answered):
    line = f"{SMALL} --delta 0 --no-trials"
    refused = {row["method"]: row["refused"] for row in answered(line)["outlook"]["methods"] if row["refused"]}
    assert "gradient" in refused
    said = ends(0, line).stdout
    assert "Gaussian noise, which never has a pure guarantee" in refused["gradient"]
    assert "does not apply" in said and "not used:   gradient: --method gradient adds Gaussian noise" in said


def test_a_picture_has_a_panel_over_n_and_one_over_epsilon(tmp_path, answered, refused):
    pytest.importorskip("matplotlib")
    file = tmp_path / "outlook.svg"
    found = answered(f"{TRIED} --plot {file}")
    assert found["file"] == str(file) and file.read_text().count('id="axes_') == 2
    assert found["curves"]["over_n"] and found["curves"]["over_epsilon"]
    assert "exists" in refused(f"{TRIED} --plot {file}")


def test_a_picture_is_written_over_with_force(tmp_path, ends):
    pytest.importorskip("matplotlib")
    file = tmp_path / "outlook.png"
    file.write_text("old")
    assert f"Written: {file}" in ends(0, f"{TRIED} --plot {file} --force").stdout
    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("plan expect --n 800 --dim 3", ["Missing option '--epsilon'"]),
        ("plan expect --n 800 --dim 3 --epsilon inf", ["--epsilon must be a number"]),
        ("plan expect --n 800 --dim 3 --epsilon 0", ["--epsilon must be"]),
        ("plan expect --n 800 --dim 3 --epsilon 501", ["--epsilon must be at most 500"]),
        ("plan expect --n 800 --dim 3 --epsilon x", ["--epsilon", "not a number"]),
        ("plan expect --dim 3 --epsilon 1", ["--n is missing", "dperm plan records"]),
        ("plan expect --n 800 --epsilon 1 --balance 0.3", ["--dim or --schema is missing"]),
        ("plan expect --n 8,000 --dim 3 --epsilon 1", ["--n", "'8,000' is not a whole number", "digits alone"]),
        ("plan expect --n 8000 --dim 1,0 --epsilon 1", ["--dim", "'1,0' is not a whole number"]),
        ("plan expect --n 1 --dim 3 --epsilon 1", ["--n must be"]),
        ("plan expect --n 800 --dim 0 --epsilon 1", ["--dim must be"]),
        (f"{SMALL} --delta 1", ["--delta must be"]),
        (f"{SMALL} --adjacency both", ["adjacency must be"]),
        (f"{SMALL} --balance 1.5", ["--balance must be"]),
        (f"{SMALL} --baseline 0.4", ["--baseline must be above 0.5"]),
        (f"{SMALL} --feature-norm 0", ["--feature-norm must be"]),
        (f"{SMALL} --reference-norm -1", ["--reference-norm must be"]),
        (f"{SMALL} --seed -1", ["--seed must be"]),
        (f"{SMALL} --method magic", ["--method must be one of", "objective"]),
        (f"{SMALL} --write-event event.json", ["No such option: --write-event"]),
        (f"{SMALL} --estimator svc", ["No such option: --estimator"]),
        (f"{SMALL} --C 1", ["No such option: --C"]),
        (f"{SMALL} --expect", ["No such option: --expect"]),
        (f"{SMALL} --schema schema.toml", ["--schema and --dim"]),
        (f"{SMALL} --no-trials --plot a.png", ["--plot belongs to trials"]),
        (f"{SMALL} --no-trials --seed 1", ["--seed belongs to trials"]),
        (f"{SMALL} --plot missing/a.png", ["there is no directory missing"]),
        (f"{SMALL} --plot a.gif", ["a.gif must end in .png"]),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(desk, refused, monkeypatch, line, words):
    monkeypatch.setattr("dperm.planner.outlook", None)
    said = refused(line)
    assert all(word in said for word in words), said
    assert not Path("event.json").exists()


def test_a_baseline_out_of_reach_is_refused(refused):
    assert "--baseline must be within reach" in refused(
        "plan expect --n 20 --dim 50 --epsilon 1 --baseline 0.99 --quick"
    )


def test_progress_is_told_to_its_end(monkeypatch, ends):
    from contextlib import contextmanager

    shares = []

    @contextmanager
    def bar(doing):
        assert "synthetic data" in doing
        yield shares.append

    monkeypatch.setattr("dperm.cli.plan.outlook.progress_bar", bar)
    ends(0, TRIED)
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) > 2


def test_columns_and_norm_may_be_those_of_a_schema(desk, answered, ends):
    line = "plan expect --schema schema.toml --epsilon 1 --n 1500"
    norm = Schema.load(Path("schema.toml")).encoder.norm
    found = answered(f"{line} --no-trials")["outlook"]
    assert found["shape"] == Shape(1500, 7, feature_norm=norm).as_dict() and norm == pytest.approx(math.sqrt(3))
    said = ends(0, f"{line} --quick --method output").stdout
    assert "1,500 records with 7 columns as the schema encodes them" in said and "expected accuracy" in said


def test_delta_and_adjacency_may_be_those_of_an_account(opened, answered):
    opened(adjacency="add_remove", blocks=5)
    line = "plan expect --schema schema.toml --epsilon 1 --n 1500 --no-trials --ledger census.ledger"
    goal = answered(line)["outlook"]["goal"]
    assert goal["delta"] == pytest.approx(2e-6) and goal["adjacency"] == "add_remove"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--schema schema.toml --adjacency add_remove", ["--n is missing"]),
        ("--schema schema.toml --n 1500 --feature-norm 1", ["--feature-norm belongs to --dim"]),
        ("--schema schema.toml --n 1500 --method sufficient", ["--method must be one of"]),
        ("--schema pay.toml --n 1500", ["two classes", "a range", "use dperm plan fit."]),
    ],
)
def test_what_cannot_be_expected_of_a_schema_is_refused(desk, refused, line, words):
    said = refused(f"plan expect --epsilon 1 {line}")
    assert all(word in said for word in words), said


def test_three_classes_are_not_made_up(desk, refused):
    text = Path("schema.toml").read_text(encoding="utf-8").replace('">50K"]', '">50K", "none"]')
    Path("three.toml").write_text(text, encoding="utf-8")
    assert "3 classes" in refused("plan expect --schema three.toml --epsilon 1 --n 1500")


def test_a_schema_without_a_target_would_still_take_classes_from_data(desk, ends):
    text = Path("schema.toml").read_text(encoding="utf-8").partition("[target]")[0]
    Path("none.toml").write_text(text, encoding="utf-8")
    assert "declares no target" in ends(4, "plan fit --schema none.toml --epsilon 1 --n 10").stderr


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_a_delta_above_one_in_n_is_warned_of_as_in_a_fit(ends, desk, adjacency):
    line = f"{SMALL} --no-trials --adjacency {adjacency}"
    said = ends(0, f"{line} --delta 0.01").stderr
    assert "Warning: --delta 0.01 is above 1/n for --n 800" in said
    assert ends(0, f"{line} --delta 1e-5").stderr == ""
    fit = "plan fit --schema schema.toml --epsilon 1 --n 800 --delta 0.01"
    assert ends(0, fit).stderr == ends(0, f"{SMALL} --no-trials --delta 0.01").stderr
    excess = ends(0, "plan records --target-excess 0.1 --dim 3 --epsilon 1 --delta 0.01 --n 800").stderr
    assert "above 1/n for --n 800" in excess


def test_a_norm_that_nobody_declared_is_said_to_matter_for_bounds_only(ends, desk):
    line = "plan expect --n 8000 --dim 40 --epsilon 1 --no-trials"
    said = " ".join(ends(0, line).stdout.split())
    assert "hardly affects the expected accuracy but does affect the proved bounds" in said
    assert "sqrt(40) = 6.32" in said
    assert "bounds do" not in ends(0, f"{line} --feature-norm 1").stdout
    assert "bounds do" not in ends(0, "plan expect --schema schema.toml --epsilon 1 --n 80 --no-trials").stdout


def test_what_is_common_to_all_noise_is_said_once_and_words_are_explained(ends):
    said = ends(0, "plan expect --n 8000 --dim 40 --epsilon 1 --no-trials").stdout
    assert said.count("drawn exactly") == 1 and "2^-" not in said and "gamma-norm" not in said
    assert "objective: Gaussian noise in the objective" in said and "theorems, proved in docs/theory" in said
    pure = ends(0, f"{SMALL} --no-trials --delta 0").stdout
    assert pure.count("a gamma-distributed length") == 1
