# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger burn``, and stages in ``show`` and ``verify``."""

import json

import pytest
from staged_releases import EVENT, three_stages

from dperm import PureDP
from dperm.cli.ledger.burn import HELP
from dperm.ledger import Anchor, Ledger

BURN = "ledger burn census.ledger --by 'A. Officer' --reason 'the machine was restarted'"


@pytest.fixture
def census(tmp_path, monkeypatch):
    """A ledger with an open charge, which has one stage."""
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.open("census.ledger", PureDP(3.0, "add_remove"), dataset="census 2026")
    ledger.reserve(EVENT, request_id="fit-7").record_stage(
        "preparation", {"digest": f"sha256:{'ab' * 32}", "columns": 3}
    )
    return ledger


def test_show_lists_stages_under_their_charge_and_names_the_command(dperm, answered, census):
    out = dperm("ledger show census.ledger --entries").stdout
    assert "OPEN" in out and "request fit-7" in out
    assert "stage preparation, entry 3: sha256:abababababab; columns 3" in out
    assert "it was killed before its release" in " ".join(out.split()) and "dperm ledger burn" in out
    (account,) = answered("ledger show census.ledger --entries")["accounts"]
    charge = account["entries"][1]
    assert [entry["kind"] for entry in account["entries"]] == ["open", "reserve"]
    assert [(stage["name"], stage["seq"], stage["facts"]["columns"]) for stage in charge["stages"]] == [
        ("preparation", 3, 3)
    ]


def test_a_charge_is_burned_with_its_reason(dperm, answered, census):
    assert dperm(BURN + " --request fit-7").stdout == "Burned request 'fit-7'. It stays charged to account 'main'.\n"
    data = answered(BURN + " --request fit-7")
    assert (data["account"], data["request_id"], data["state"]) == ("main", "fit-7", "burned")
    assert Anchor.from_receipt(data["anchor"]) == census.anchor()
    assert census.entries()[-1].body == {"reason": "the machine was restarted", "by": "A. Officer"}
    assert "burned: the machine was restarted" in dperm("ledger show census.ledger --entries").stdout
    assert census.spent == {"epsilon": 0.25}
    assert dperm("ledger verify census.ledger").exit_code == 0


def test_a_request_that_was_not_charged_is_refused(dperm, census):
    result = dperm(BURN + " --request fit-8")
    assert result.exit_code == 3 and "'fit-8' was never charged" in result.stderr
    assert "dperm ledger burn census.ledger --request fit-7" in HELP
    assert dperm("ledger burn --help").exit_code == 0


def test_verify_compares_the_stages_of_a_record(dperm, census, tmp_path):
    text = three_stages(census).record.to_json()
    (tmp_path / "record.json").write_text(text)
    assert dperm("ledger verify census.ledger --model record.json").exit_code == 0
    edited = json.loads(text)
    edited["stages"][1]["facts"]["digest"] = "sha256:other"
    for stages in (edited["stages"], edited["stages"][:2], []):
        (tmp_path / "record.json").write_text(json.dumps({**edited, "stages": stages}))
        result = dperm("ledger verify census.ledger --model record.json")
        assert result.exit_code == 5 and "lists stages that differ from entry 4" in result.stdout
