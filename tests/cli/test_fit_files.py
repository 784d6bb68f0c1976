# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm fit`` learns from the content whose fingerprint it checked, and knows its own model again."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from dperm.data.schema import Schema
from dperm.ledger import Ledger
from dperm.report.model_file import read_model, write_model
from dperm.sklearn import load_model

FIT = "fit data.csv --target income --epsilon 1 --schema schema.toml --ledger census.ledger"


@pytest.mark.parametrize("registered", [True, False])
def test_a_file_that_is_swapped_after_its_check_is_not_charged(opened, ends, monkeypatch, registered):
    ledger = opened(files=["data.csv"] if registered else [])
    known = Ledger.fingerprint

    def swapped(self, path):
        found = known(self, path)
        Path("other.csv").write_text(Path(path).read_text().replace("private", "public"))
        os.replace("other.csv", path)
        return found

    monkeypatch.setattr(Ledger, "fingerprint", swapped)
    said = ends(2, FIT).stderr
    assert "changed while the command ran" in said and "Nothing was charged" in said
    assert ledger.bookings() == () and not Path("model.dperm").exists()


def test_the_record_names_the_schema_of_the_fit(opened, ends):
    opened()
    ends(0, FIT)
    record = json.loads(read_model("model.dperm").data["record"])
    assert record["public"]["schema_digest"] == Schema.load(Path("schema.toml")).digest


@pytest.mark.parametrize("name", ["coef", "intercept", "scales", "released"])
def test_a_model_that_was_edited_is_not_taken_for_the_one_that_was_fitted_before(opened, ends, name):
    opened()
    ends(0, f"{FIT} --request-id one")
    ends(0, f"{FIT} --request-id one")
    file = read_model("model.dperm")
    write_model("model.dperm", replace(file, arrays={**file.arrays, name: -file.arrays[name]}))
    assert "is not its model" in ends(3, f"{FIT} --request-id one").stderr


def test_a_model_without_what_was_released_is_not_taken_for_it_either(opened, ends):
    opened()
    ends(0, f"{FIT} --request-id one")
    file = read_model("model.dperm")
    arrays = {name: array for name, array in file.arrays.items() if name != "released"}
    write_model("model.dperm", replace(file, arrays=arrays))
    assert "is not its model" in ends(3, f"{FIT} --request-id one").stderr


def test_a_file_that_appeared_meanwhile_is_left_and_the_paid_model_is_written_beside_it(opened, ends, monkeypatch):
    opened()
    from dperm.sklearn import files

    save = files.save

    def late(*arguments, **options):
        Path("model.dperm").touch()
        monkeypatch.setattr(files, "save", save)
        save(*arguments, **options)

    monkeypatch.setattr(files, "save", late)
    said = ends(0, FIT)
    assert Path("model.dperm").read_bytes() == b""
    (beside,) = Path().glob("model-*.dperm")
    assert beside.name in said.stdout and "another process" in said.stderr
    assert load_model(beside).predict is not None


def test_a_long_name_is_written(desk, ends):
    name = "a" * 240 + ".dperm"
    ends(0, f"fit data.csv --target income --epsilon 1 --schema schema.toml --out {name}")
    assert Path(name).exists()


@pytest.mark.parametrize("options", ["--seed -1 --not-private", "--epsilon inf --not-private"])
def test_what_is_wrong_with_the_options_is_said_before_the_data_are_read(opened, ends, options):
    opened()
    Path("data.csv").write_text("no such columns\n")
    said = ends(2, f"{FIT} {options}").stderr
    assert "column" not in said


def test_an_empty_request_id_is_refused(opened, dperm):
    opened()
    result = dperm(FIT, "--request-id", "")
    assert result.exit_code == 2 and "--request-id must not be empty" in result.stderr
    assert Ledger("census.ledger").bookings() == ()
