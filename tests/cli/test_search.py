# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm search``: one charge, the best setting alone, and a model file that the other verbs read."""

import json
import re

import pytest

SEARCH = "search data.csv --epsilon 1 --schema schema.toml"


def test_a_search_is_charged_once_and_its_model_is_predicted_reported_and_verified(desk, ends):
    opening = "--dataset d --adjacency replace_one --epsilon 3 --delta 1e-5 --blocks 3"
    ends(0, f"ledger open a.ledger {opening} --data data.csv")
    line = f"{SEARCH} --setting clip=0.5,1.0 --ledger a.ledger --request-id s1 --out best.dperm"
    found = json.loads(ends(0, f"{line} --json").stdout)
    assert found["setting"]["clip"] in (0.5, 1.0)
    assert found["guarantee"]["epsilon"] == 1.0
    assert found["settings"] == found["mean_trials"] == 2
    assert 0 < found["trial_epsilon"] < 1
    assert found["ledger"]["releases"] == 1
    repeated = json.loads(ends(0, f"{line} --json").stdout)
    assert repeated["repeated"]
    ends(2, line.replace("s1", "s2"))  # the file exists
    ends(0, "predict best.dperm data.csv")
    ends(0, "ledger verify a.ledger --model best.dperm")
    ends(0, "report best.dperm -o statement.md")
    assert "covers the search" in (desk / "statement.md").read_text(encoding="utf-8")
    text = ends(0, f"{SEARCH} --setting clip=0.5,1.0 --out other.dperm").stdout
    assert re.search(r"setting: +clip = (0\.5|1\.0)\n", text)
    assert len(re.findall(r"clip = ", text)) == 1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("", "--setting is missing"),
        ("--setting clip", "NAME=VALUE"),
        ("--setting clip=0.5,1.0 --setting clip=0.3,0.4", "twice"),
        ("--setting clip=0.5", "from 2"),
        ("--setting epsilon=1,2", "search sets it"),
        ("--setting clop=1,2", "name parameters"),
        ("--setting clip=0.5,7", "clip"),
        ("--setting clip=0.5,1.0 --validation 0.8", "validation"),
        ("--setting clip=0.5,1.0 --delta 0", "delta"),
        ("--setting clip=0.5,1.0 --prepare --C 1", "--C"),
    ],
)
def test_wrong_options_are_refused_before_the_data_are_read(desk, refused, more, words):
    assert words in refused(f"{SEARCH} {more}".strip())
    assert not (desk / "model.dperm").exists()
