# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit scores`` and ``membership``: curves, ceilings, verdicts, files that are refused."""

import json

import numpy as np
import pytest


def write(path, shift, count=4000):
    generator = np.random.default_rng(1)
    rows = [f"{generator.normal() + shift * (place % 2)},{['no', 'yes'][place % 2]}" for place in range(count)]
    path.write_text("member,score\n".replace("member,score", "score,member") + "\n".join(rows))


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "scores.csv", 1.0)
    return tmp_path / "scores.csv"


def test_rates_and_area_with_intervals(table, answered, dperm):
    found = answered("audit scores scores.csv")
    assert found["AUC"] == pytest.approx(0.76, abs=0.02) and found["ceilings"] == {}
    assert found["AUC interval"][0] < found["AUC"] < found["AUC interval"][1]
    assert 0 < found["TPR at FPR 0.1 %"] < found["TPR at FPR 1 %"] < 0.3
    said = dperm("audit scores scores.csv").stdout
    assert "TPR at FPR 0.1 %" in said and "descriptive only" in said and "2000 members" in said


def test_the_ceiling_of_a_claim_stands_beside_what_was_measured(table, answered, dperm):
    claim = "--epsilon 1 --delta 1e-6 --adjacency add_remove"
    assert answered(f"audit scores scores.csv {claim}")["ceilings"]["TPR at FPR 1 %"] == pytest.approx(0.0272, abs=1e-3)
    said = dperm(f"audit scores scores.csv {claim}").stdout
    assert "at most" in said and "No verdict" in said


def test_rates_stand_beside_those_of_guessing(table, answered, dperm):
    found, said = answered("audit scores scores.csv"), dperm("audit scores scores.csv").stdout
    assert found["by guessing"] == {"AUC": 0.5, **{f"TPR at FPR {p} %": float(p) / 100 for p in ("0.1", "1", "10")}}
    assert "by guessing" in said and "By guessing, the AUC is 0.5" in said and "the AUC is 0.5" in found["explanation"]


def test_only_independent_trials_refute(table, dperm):
    claim = "--epsilon 0.5 --adjacency add_remove"
    assert dperm(f"audit scores scores.csv {claim}").exit_code == 0
    result = dperm(f"audit scores scores.csv --trials independent {claim}")
    assert result.exit_code == 5 and "VIOLATION" in result.stdout
    sorted_coins = dperm(f"audit scores scores.csv --trials one_run {claim}")
    assert sorted_coins.exit_code == 2 and "independent coins" in sorted_coins.stderr  # they alternate


@pytest.mark.parametrize("name", ["roc.png", "roc.svg"])
def test_a_curve_is_drawn(table, dperm, name):
    pytest.importorskip("matplotlib")
    assert dperm(f"audit scores scores.csv --plot {name} --epsilon 1 --adjacency add_remove").exit_code == 0
    assert (table.parent / name).stat().st_size > 5000
    assert "exists" in dperm(f"audit scores scores.csv --plot {name}").stderr


def test_bounds_need_no_claim(tmp_path, dperm, answered):
    coins = np.random.default_rng(2)
    bits = coins.integers(2, size=2000)
    rows = [f"{coins.normal() + 2 * bit},{bit}" for bit in bits]
    (tmp_path / "own.csv").write_text(" Score ,MEMBER\n" + "\n".join(rows))
    for trials in ("one_run", "independent"):
        line = f"audit scores {tmp_path / 'own.csv'} --trials {trials}"
        found = answered(line)
        best = max(bound["epsilon"] for bound in found["bounds"].values())
        assert best > 1 and found["findings"] == [] and f"epsilon >= {best:.3f}"[:-1] in dperm(line).stdout
    assert answered(f"audit scores {tmp_path / 'own.csv'}")["bounds"] == {}


BAD = {
    "nan": ("score,member\nnan,1\n1,0\n", "line 2: the score is NaN"),
    "text": ("score,member\n1,1\nhigh,0\n", "line 3: the score is not a number"),
    "bit": ("score,member\n1,maybe\n", "line 2: member must be 1 or 0"),
    "one class": ("score,member\n1,1\n2,1\n", "contains only members"),
    "nobody": ("score,member\n", "contains only nobody"),
    "column": ("score,in\n1,1\n", "has no member"),
    "empty": ("", "has no score and no member"),
    "few": ("score,member\n1,1\n2,0\n", "at least 10 members"),
    "others": ("score,in\n1,1\n", "It has 'score', 'in'."),
    "semicolons": ("score;member\n1;1\n", "separated by commas, not by ';'"),
    "twice": ("score,Score,member\n1,1,1\n", "has no score"),
    "bytes": (b"score,member\n\xff\xfe,1\n", "UTF-8"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_table_that_is_none_is_refused(tmp_path, refused, kind):
    content, words = BAD[kind]
    (tmp_path / "bad.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert words in refused(f"audit scores {tmp_path / 'bad.csv'}")


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ("--plot roc.txt", ".png"),
        ("--epsilon 1", "--adjacency is missing"),
        ("--adjacency add_remove", "--epsilon"),
        ("--trials all", "trials must be one of"),
        ("--plot nowhere/roc.png", "nowhere"),
    ],
)
def test_options_that_make_no_sense_are_refused(table, refused, more, word):
    assert word in refused(f"audit scores scores.csv {more}")


def test_membership_is_asked_for_and_labelled(desk, ends, dperm):
    line = "audit membership data.csv --schema schema.toml --models 16 --seed 1"
    assert "--not-private" in ends(4, line).stderr
    said = ends(0, f"{line} --not-private").stdout
    assert "AUC" in said and "Do not publish" in said
    data = json.loads(dperm(f"{line} --not-private --json").stdout)
    assert 0.4 < data["AUC"] < 0.7 and "not covered by any guarantee" in data["label"]


def test_membership_needs_two_classes(desk, ends):
    assert "two classes" in ends(2, "audit membership data.csv --schema pay.toml --not-private").stderr
