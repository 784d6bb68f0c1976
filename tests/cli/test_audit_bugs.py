# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit bugs``, ``exact`` and ``demo``."""

import json

import pytest

from dperm.audit.demo import DemoAttack, DemoResult, ResultTable

PICKED = '--only "noise -20 %" --only "raw floats"'


def test_bugs_that_are_caught_end_with_zero(dperm, answered):
    said = dperm(f"audit bugs {PICKED} --repeats 1 --seed 1").stdout
    assert "Caught: 2 of 2. Alarms in 2 audits of correct versions: 0." in said and "low-order bits" in said
    rows = answered(f"audit bugs {PICKED} --repeats 1 --seed 1")["bugs"]
    assert [row["caught"] for row in rows] == [True, True] and rows[0]["finding"]["violation"]


def test_a_bug_that_is_missed_ends_with_five(dperm):
    result = dperm('audit bugs --only "noise -10 %" --runs 1000 --repeats 1 --seed 1')
    assert result.exit_code == 5 and "NOT CAUGHT" in result.stdout and "Caught: 0 of 1" in result.stdout


def test_bugs_are_drawn(tmp_path, dperm):
    pytest.importorskip("matplotlib")
    file = tmp_path / "bugs.svg"
    result = dperm(f"audit bugs {PICKED} --repeats 1 --seed 1 --plot {file}")
    assert result.exit_code == 0 and f"Written: {file}" in result.stdout
    assert "raw floats" in file.read_text() or file.stat().st_size > 5000


def test_the_printed_algorithm_is_refuted_and_ours_is_not(dperm, answered):
    printed = dperm("audit exact --printed --epsilon 0.1 --lambda 0.1 --json")
    assert printed.exit_code == 5
    assert json.loads(printed.stdout)["bounds"]["largest loss"]["epsilon"] == pytest.approx(1.2603, abs=1e-3)
    ours = answered("audit exact --epsilon 0.1")
    assert ours["violation"] is False and "dperm" in ours["subject"]


@pytest.fixture
def acted(monkeypatch):
    """A demonstration that takes no time."""
    roc = DemoAttack(
        "Membership inference",
        "Said.",
        ResultTable(("models", "AUC"), (("a", 0.75),)),
        {"a": ([0, 0.1, 1], [0, 0.4, 1])},
    )
    secret = DemoAttack(
        "Exposure of a planted secret", "Told.", ResultTable(("n", "bits"), ((1, 19.93),)), {"a": ([0.0], [1.0])}
    )
    plain = DemoAttack("Reconstruction by differencing", "Read.", ResultTable(("n",), ((50,),)))
    monkeypatch.setattr(
        "dperm.audit.demo.run", lambda *, seed, progress: DemoResult((plain, secret, roc), "epsilon = 1")
    )


def test_the_demonstration_is_told(acted, dperm, answered):
    said = dperm("audit demo").stdout
    assert all(word in said for word in ("Said.", "Told.", "Read.", "0.75", "19.9", "epsilon = 1"))
    assert len(answered("audit demo --seed 1")["parts"]) == 3


def test_the_demonstration_is_drawn(acted, tmp_path, dperm, answered):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "new" / "pictures"
    files = answered(f"audit demo --plot-folder {folder}")["files"]
    assert [file.rpartition("/")[2] for file in files] == ["exposure.png", "membership.png"]
    assert all((folder / file).stat().st_size > 5000 for file in files)
    assert "exists" in dperm(f"audit demo --plot-folder {folder}").stderr
    assert dperm(f"audit demo --plot-folder {folder} --force").exit_code == 0


def test_what_is_wrong_stands_below_the_table_if_asked_for(dperm):
    line = 'audit bugs --only "Noise \u221220 %" --runs 20000 --repeats 1 --seed 1'
    brief, long = dperm(line).stdout, dperm(f"{line} --verbose").stdout
    assert max(map(len, brief.splitlines())) < 130 and "80 %" not in brief
    assert "noise -20 %: The noise has 80 %" in long


def test_a_name_that_is_nearly_right_gets_a_hint(refused):
    assert "Did you mean 'raw floats'?" in refused('audit bugs --only "raw float"')
