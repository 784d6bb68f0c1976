# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan table``: cost of a private preparation, and the records that it needs, from public numbers."""

import json
import math
import re
from pathlib import Path

import pytest

from dperm.preparation import PreparationPlan
from dperm.privacy import ApproxDP
from dperm.privacy.gaussian_profile import mu_for
from dperm.sklearn import PrivateTableClassifier

PLAN = "plan table --columns 15 --epsilon 1 --delta 1e-5 --adjacency add_remove"


def test_the_numbers_are_those_of_the_theory(answered):
    """T90, T91 at (1, 1e-5) with 15 columns: 13,500 records, tau = 176, and 200 sqrt(d)/mu."""
    found = answered(PLAN)
    assert found["records_needed"] == pytest.approx(13_500, rel=0.01) and found["category_records"] == 177
    assert found["least_records"] == pytest.approx(200 * math.sqrt(15) / mu_for(1.0, 1e-5), rel=1e-3)
    assert found["training_guarantee"]["epsilon"] == pytest.approx(0.828, abs=0.003)
    assert found["columns"] == 15 and found["warnings"] == [] and found["event_text"].startswith("gaussian(")
    twice = answered(PLAN.replace("add_remove", "replace_one"))
    assert twice["least_records"] == pytest.approx(math.sqrt(2) * found["least_records"], rel=1e-3)


def test_a_preparation_alone_needs_half_the_records():
    goal = ApproxDP(1.0, 1e-5, "add_remove")
    alone = PreparationPlan.for_goal([f"c{place}" for place in range(15)], goal)
    whole = PrivateTableClassifier(epsilon=1.0, delta=1e-5, adjacency="add_remove", holdout=0)
    joint = whole.plan([f"c{place}" for place in range(14)], "y").preparation
    assert alone.least_records == pytest.approx(joint.least_records / 2, rel=0.05)
    assert alone.warnings(None) == alone.warnings(alone.least_records) == ()
    assert len(alone.warnings(alone.least_records - 1)) == 1


def test_the_consequences_are_sentences(ends):
    said = ends(0, f"{PLAN} --n 1000").stdout
    for words in ("held by 177 records", "About 13,000 records", "epsilon = 0.84", "1,000 records are too few"):
        assert words in said
    assert "too few" not in ends(0, f"{PLAN} --n 3000").stdout


@pytest.mark.parametrize(("holdout", "category"), [(0.5, 354), (0.1, 197)])
def test_numbers_of_records_are_those_of_the_whole_table(answered, ends, holdout, category):
    """The preparation needs 177, 13,454 and 2,890 records, and reads a share of the table."""
    whole, line = answered(PLAN), f"{PLAN} --holdout {holdout} --n 3000"
    found = answered(line)
    for name in ("category_records", "records_needed", "least_records"):
        assert found[name] == math.ceil(whole[name] / (1 - holdout)), name
    assert found["category_records"] == category and len(found["warnings"]) == 1
    assert f"the preparation needs at least {found['least_records']:,} records" in found["warnings"][0]
    assert any(f"reads each record only with probability {1 - holdout:g}" in reason for reason in found["why"])
    said = ends(0, line).stdout
    assert "needed, including held-out records; with fewer than" in said and f"held by {category} records" in said


def test_every_epsilon_of_a_stage_stands_beside_its_delta(ends):
    said = ends(0, f"{PLAN} --n 1000").stdout
    for words in (r"epsilon 0\.84\d at delta 6e-6 by itself", r"epsilon = 0\.84\d at delta = 6e-6 by itself"):
        assert re.search(words, said)
    assert "epsilon by itself, at delta 1e-5" in said


def test_only_the_header_of_a_file_is_read(desk, answered, ends):
    line = "plan table data.csv --target income --exclude name --exclude pay --epsilon 1"
    whole = answered(line)
    Path("data.csv").write_text(Path("data.csv").read_text().splitlines()[0] + "\n\xff\0")
    Path("part.toml").write_text("[columns.age]\nlow = 0\nhigh = 99\n")
    part = answered(f"{line} --schema part.toml")
    assert (whole["columns"], part["columns"], part["declared"]) == (4, 3, ["age"])
    assert part["records_needed"] < whole["records_needed"] and whole["event"] is None and whole["assumed_n"] == 10_000
    assert "an assumed 10,000 records; give --n" in ends(0, line).stdout


def test_the_event_is_the_one_that_the_fit_charges(opened, dperm, ends, answered):
    ledger = opened(limit=9.0)
    names = "data.csv --target income --exclude name --exclude pay --epsilon 8 --n 1500"
    plan = answered(f"plan table {names} --ledger census.ledger --write-event event.json")
    assert plan["ledger"]["covered"] and plan["event"] == json.loads(Path("event.json").read_text())
    ends(0, f"fit {names} --prepare --ledger census.ledger")
    (booked,) = ledger.bookings()
    assert dict(booked.cost) == plan["ledger"]["cost"]
    again = dperm(f"plan table {names} --ledger census.ledger")
    assert again.exit_code == 3 and "NOT COVERED" in again.stdout


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("plan table --epsilon 1", "DATA"),
        ("plan table data.csv --columns 3 --target income --epsilon 1", "not both"),
        ("plan table data.csv --epsilon 1", "--target is missing"),
        ("plan table --columns 1 --epsilon 1", "at least 2"),
        ("plan table --columns 3 --target income --epsilon 1", "--target names columns of DATA"),
        ("plan table --columns 3 --epsilon 1 --delta 0", "delta > 0"),
        ("plan table --columns 3 --epsilon inf", "nothing to plan"),
        ("plan table --columns 3 --epsilon 1 --write-event event.json", "needs --n"),
    ],
)
def test_contradictions_are_refused(desk, refused, more, words):
    assert words in refused(more)
