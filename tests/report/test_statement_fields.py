# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The 31 fields: filled by the run or marked as a gap; a ledger fills more, and the user's words replace nothing."""

import tomllib
from pathlib import Path

import pytest
from statements import RECEIPT, STATED, booked, fitted, kinds, of_record, record

from dperm import ParameterError, PureDP
from dperm.accounting.memory_budget import MemoryBudget
from dperm.mechanisms import LaplaceMechanism
from dperm.report import Statement, fields, page, run_facts, statement
from dperm.report.display import for_display
from dperm.report.fields import HINTS, ITEMS, TIERS
from dperm.report.utility import measured_utility

KINDS = pytest.mark.parametrize("kind", kinds())


def test_there_are_31_fields_in_their_tiers_and_every_key_has_its_place():
    assert [len(tier.items) for tier in TIERS] == [5, 4, 6, 16]
    assert [item.number for item in ITEMS] == list(range(1, 32))
    keys = [key for item in ITEMS for key in item.keys]
    assert len(set(keys)) == len(keys)
    assert {*keys, "status", "meaning"} == set(fields.FIELDS)
    assert set(HINTS) == set(fields.STATED_BY_THE_USER)


@KINDS
def test_what_is_not_a_gap_is_filled_and_only_the_user_has_gaps(kind):
    found = kinds()[kind]
    assert set(found.gaps) <= set(fields.STATED_BY_THE_USER)
    for name, value in found.fields.items():
        assert value not in (None, "", [], {}) or name == "public_quantities"
        assert "not stated" not in str(value) or name in found.gaps


@KINDS
def test_filling_every_gap_leaves_none(kind):
    found = kinds()[kind]
    filled = found.filled({name: "mine" for name in found.gaps})
    assert filled.gaps == ()
    assert filled.is_private == found.is_private


def test_a_gap_may_be_a_part_of_a_field():
    found = fitted().statement_
    assert found["preprocessing"] == {"known": run_facts.PREPROCESSING, "stated": "not stated"}
    assert "preprocessing" in found.gaps
    filled = found.filled({"preprocessing": "none"})
    assert filled["preprocessing"] == {"known": run_facts.PREPROCESSING, "stated": "none"}
    assert "preprocessing" not in filled.gaps


@pytest.mark.parametrize("name", sorted({*fields.BESIDE} - {"utility"}))  # known for metrics only
def test_the_words_of_the_user_stand_beside_what_is_known_however_often_they_are_changed(name):
    found = booked()
    twice = found.filled({name: "first"}).filled({name: "second"})
    assert twice == found.filled({name: "second"})
    assert twice[name]["stated"] == "second"
    before = found[name]
    known = before["known"] if isinstance(before, dict) and "known" in before else before
    assert twice[name]["known"] == known


def test_the_ledger_fills_what_only_it_can_know():
    without, found = fitted().statement_, booked()
    assert set(without.gaps) - set(found.gaps) == {"retries", "ledger_entry"}
    assert found["ledger_entry"] == RECEIPT
    assert found["data_domain"]["known"] == {"data set, as declared": "census 2026"}
    assert found["unit_of_privacy"].startswith("one record. The account declares the unit 'one person'")
    tuning = found["tuning"]["known"]
    assert "3 so far" in tuning and "epsilon = 3, delta = 1e-5 (replace_one)" in tuning
    assert (
        "Charges for failed runs (burned): 1; for unfinished runs (open): 2. Both count as spent." in found["retries"]
    )
    assert "'census'" in found["composition"] and "never exceed the limit in total" in found["composition"]


@pytest.mark.parametrize("name", ["composition", "tuning"])
def test_the_limit_of_an_account_does_not_hold_for_seeded_runs(name):
    assert "NOT PRIVATE" not in str(booked()[name])
    assert "2 of the charged runs used a seed and are NOT PRIVATE" in str(booked(seeded=2)[name])


def test_a_declared_unit_that_is_the_proved_one_needs_no_condition():
    assert booked(unit="one record")["unit_of_privacy"] == "one record"


def test_a_budget_in_memory_fills_what_it_knows():
    budget = MemoryBudget(PureDP(2.0, "add_remove"))
    mechanism = LaplaceMechanism.calibrate(1.0, PureDP(0.5, "add_remove"))
    found = statement(mechanism.release(3.0, budget=budget))
    assert found["ledger_entry"]["spent"] == {"epsilon": budget.spent["epsilon"]}
    assert "the budget of this process" in found["tuning"]["known"] and "epsilon = 2" in found["tuning"]["known"]
    assert "not refunded" in found["retries"]
    assert found["unit_of_privacy"] == "one record"
    assert not {"retries", "ledger_entry"} & set(found.gaps)


def test_limits_of_every_kind_have_words():
    curve = {"kind": "RDP", "curve": [[2.0, 0.1], [8.0, 0.5]], "adjacency": "add_remove"}
    assert "Renyi DP at 2 orders (add_remove)" in booked(limit=curve)["composition"]
    assert "zCDP with rho = 0.5" in booked(limit={"kind": "ZCDP", "rho": 0.5, "adjacency": "add_remove"})["composition"]


@pytest.mark.parametrize(
    ("method", "steps"), [("gradient", True), ("sgd", True), ("output", False), ("bolt_on", False)]
)
def test_iterates_are_covered_only_where_the_event_counts_every_step(method, steps):
    public = {"estimator": "E", "method": method}
    covered = of_record(record(public=public))["covered"]
    assert (run_facts.ALL_ITERATES in covered) == steps
    assert (run_facts.FINAL_MODEL in covered) == (not steps)


def test_a_statement_has_exactly_its_fields():
    found = fitted().statement_.to_dict()
    with pytest.raises(ParameterError, match="A statement must have exactly the fields"):
        Statement({**found, "more": 1})
    found.pop("curator")
    with pytest.raises(ParameterError, match="A statement must have exactly the fields"):
        Statement(found)


def test_all_that_the_user_states_is_there():
    found = kinds()["filled"]
    assert found.gaps == ()
    for name, value in STATED.items():
        assert found[name] == value or found[name]["stated"] == value


def test_that_fits_were_charged_does_not_cover_how_one_was_chosen_among_them():
    found = booked()
    assert "Selection among the releases by scores on private data is not covered" in found["tuning"]["known"]
    assert found["tuning"]["stated"] == "not stated" and "tuning" in found.gaps
    assert "Selection by scores on private data is not covered" in HINTS["tuning"]


def test_releases_may_be_chosen_from_releases_and_not_from_looks_at_the_data():
    assert "based on earlier releases but not on the data themselves" in booked()["composition"]
    assert "however" not in booked()["composition"]


def test_what_a_schema_declares_stands_beside_what_the_user_says_and_is_not_called_the_users():
    declared = ["age: number in [17, 90]"]
    found = booked().filled({}, declared=declared)
    known = {"data set, as declared": "census 2026", "columns, as declared": declared}
    assert found["data_domain"] == {"known": known, "stated": "not stated"}
    both = booked().filled({"data_domain": "people"}, declared=declared)
    assert both["data_domain"] == {"known": known, "stated": "people"}
    assert both == booked().filled({"data_domain": "people"}).filled({}, declared=declared)
    assert fitted().statement_.filled({}, declared=declared)["data_domain"]["known"] == {
        "columns, as declared": declared
    }
    for text in (page(found), found.to_markdown()):
        assert "Stated by the curator" not in text and "number in" in text


def test_dates_of_a_toml_file_are_taken():
    given = tomllib.loads("publication_date = 2026-05-01\nlinks = [{at = 2026-05-01T10:00:00Z, from = 08:30:00}]")
    found = fitted().statement_.filled(given)
    assert found["publication_date"] == "2026-05-01"
    assert found["links"] == [{"at": "2026-05-01T10:00:00+00:00", "from": "08:30:00"}]
    assert Statement.from_json(found.to_json()) == found and "2026-05-01" in page(found)


def test_the_documentation_lists_the_keys_with_their_titles_and_hints():
    text = (Path(__file__).parents[2] / "docs" / "statement.md").read_text(encoding="utf-8")
    numbers = {key: item.number for item in ITEMS for key in item.keys}
    for key in fields.STATED_BY_THE_USER:
        assert f"| `{key}` | {numbers[key]}, {fields.FIELDS[key]} | {HINTS[key]} |" in text


def test_the_example_of_fields_in_the_documentation_fills_fields():
    text = (Path(__file__).parents[2] / "docs" / "statement.md").read_text(encoding="utf-8")
    given = tomllib.loads(text.partition("```toml fields.toml\n")[2].partition("```")[0])
    assert measured_utility(fitted().statement_.filled(given)["utility"]).points[0].low == 0.69


def test_a_schema_encodes_invalid_features_and_only_invalid_labels_have_weight_0():
    def shown(**public):
        return for_display("public_quantities", {"invalid": "drop", **public})["invalid values"]

    assert shown() == "records with an invalid feature or label have weight 0"
    encoded = "missing and undeclared values of the features are encoded; records with an invalid label have weight 0"
    assert shown(schema_digest="sha256:00") == encoded


def test_labels_in_a_list_stay_as_declared():
    shown = for_display("public_quantities", {"classes": [False, True], "intercept": True})
    assert shown == {"classes": ["False", "True"], "intercept": "yes"}
