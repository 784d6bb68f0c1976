# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Statements of trainings and of groups, from their records alone: names, units, limits, and the order of arguments."""

from dataclasses import replace
from pathlib import Path

import pytest
from statements import RECEIPT

from dperm import ApproxDP, Gaussian, Poisson, Record, Release, account, explain
from dperm.errors import EventFormatError, ParameterError
from dperm.report import Statement, page, seeded, statement, write_statement
from dperm.report.run_facts import LOOP, MIXING, ROUNDING, TRAINING_EXACT, TRAINING_FAST
from dperm.report.summary import STATED_RECORDS, exclusions, guarantee_sentences, key_facts, title_of

EVENT = {"dperm_event": 1, "type": "poisson", "rate": 0.1}
GROUPS = {"unit": "group", "records_per_group": 4}


def released(adjacency: str = "add_remove", *, grade: str = "exact", ledger=(), **public: object) -> Release[None]:
    goal = ApproxDP(2.0, 1e-5, adjacency)
    known = {"method": "dp-sgd", "n": 500, "most_rows": 1000, "steps": 3, "batch_size": 50.0, **public}
    record = Record(goal, EVENT, ("T46",), "Gaussian", grade, public=known, ledger=dict(ledger))
    return Release(None, goal, account(Poisson(Gaussian(2.0), rate=0.1) * 3, adjacency), None, record)


@pytest.mark.parametrize(
    ("adjacency", "change", "neighbours", "sets"),
    [
        ("add_remove", "If any one group is added or removed, ",
         "one group added or removed (add_remove); the number of groups",
         "D' is D with one group added or removed."),
        ("replace_one", "If any one group is replaced by any other, ", "one group replaced by another (replace_one); ",
         "D and D' have the same number of groups and differ in one of them."),
    ],
    ids=["add_remove", "replace_one"],
)  # fmt: skip
def test_a_group_is_the_unit_wherever_it_is_named(adjacency, change, neighbours, sets):
    found = statement(released(adjacency, **GROUPS))
    assert found["unit_of_privacy"] == "one group (all records with one key, of which at most 4 are used)"
    assert str(found["contribution_bound"]["known"]).startswith("At most 4 records of each group were used")
    first, second, third = list(guarantee_sentences(found.fields))[:3]
    assert first.startswith(change)
    assert second.startswith("If one group is ") and "all the other groups" in second
    assert "two equally likely possibilities for one group" in third
    facts = dict(key_facts(found.fields))
    assert facts["Neighbouring data sets"].startswith(neighbours)
    counted = "Declared number of groups of records" if adjacency == "add_remove" else "Groups of records"
    assert facts[counted].startswith("500") and "Records" not in facts and "Declared number of records" not in facts
    assert found["public_quantities"]["n_groups"] == 500 and "n" not in found["public_quantities"]
    assert found["sampling"]["run"] == "Poisson sampling of groups at rate 0.1"
    for text in (found.to_markdown(), page(found).replace("&#x27;", "'")):
        assert sets in text
        assert "one record" not in text and "other records" not in text
    assert Statement.from_json(found.to_json()) == found


def test_a_person_in_several_groups_has_less_protection():
    found = statement(released(**GROUPS))
    first = exclusions(found.fields)[0]
    assert first.startswith("A person in several groups has less protection: for a person in k groups,")
    stated = found.filled({"contribution_bound": "keys are persons"})
    assert exclusions(stated.fields)[0] == STATED_RECORDS.format("in several groups", "group") + '"keys are persons".'


def test_a_declared_unit_is_protected_if_its_records_are_in_one_group():
    found = statement(released(ledger=RECEIPT, **GROUPS))
    assert str(found["unit_of_privacy"]).endswith(
        "'one person'; the guarantee holds for this unit if all records of each unit are in one group."
    )
    assert dict(key_facts(found.fields))["Protects"].endswith("are used) (declared unit: one person)")


def test_a_seeded_run_with_groups_says_so_too():
    found = seeded(replace(released(**GROUPS).record, seeded=True))
    assert "One group added or removed" in found.to_markdown() and "one record" not in found.to_markdown()


def test_without_groups_it_is_a_record():
    found = statement(released())
    assert found["unit_of_privacy"] == "one record"
    assert dict(key_facts(found.fields))["Declared number of records"].startswith("500 (")
    assert found["sampling"]["run"] == "Poisson sampling at rate 0.1"


def test_what_is_said_of_the_unit_must_agree():
    found = statement(released(**GROUPS))
    other = Statement({**found.fields, "unit_of_privacy": "one record"})
    with pytest.raises(EventFormatError, match="unit of privacy"):
        Statement.from_json(other.to_json())


def test_explanations_of_releases_and_records_know_the_unit():
    made = released(**GROUPS)
    assert explain(made).unit == explain(made.record).unit == made.record.unit == "group"
    assert explain(made).as_dict()["unit"] == "one group"
    assert explain(made.guarantee).unit == explain(released()).unit == "record"


@pytest.mark.parametrize(
    ("public", "title"),
    [
        ({}, "DP-SGD of a PyTorch model (release)"),
        ({"method": "dp-svrg"}, "DP-SVRG of a PyTorch model (release)"),
        ({"model": "Sequential"}, "Sequential (PyTorch model)"),
        ({"model": "Sequential", "estimator": "PrivateTorchClassifier"}, "Torch Classifier (model)"),
    ],
    ids=["sgd", "svrg", "model", "classifier"],
)
def test_titles_and_methods_have_names(public, title):
    found = statement(released(**public))
    assert title_of(found.fields) == title
    assert dict(key_facts(found.fields))["Method"].endswith("of a PyTorch model")
    assert "the one of the event" not in found.to_markdown()


def test_limits_name_the_loop_and_what_rounding_is_not_covered():
    exact, fast = statement(released()), statement(released(grade="fast"))
    assert exact["limits"][-3:] == [LOOP, MIXING, ROUNDING] and TRAINING_EXACT in exact["security"]
    assert fast["limits"][-3:] == [TRAINING_FAST, LOOP, MIXING] and fast["security"] == TRAINING_FAST
    assert "grade fast" in TRAINING_FAST and "holds for ideal arithmetic" in TRAINING_FAST
    assert TRAINING_FAST in exclusions(fast.fields) and TRAINING_FAST in page(fast)
    assert "trained parameters" in exact["covered"] and "bounds" not in str(exact["preprocessing"])


@pytest.mark.parametrize("swapped", [released(), statement(released())], ids=["release", "statement"])
def test_swapped_arguments_are_told_their_order(tmp_path, swapped):
    with pytest.raises(ParameterError, match=r'first argument: write_statement\("statement.html", release\)'):
        write_statement(swapped, tmp_path / "x.html")
    assert not list(Path(tmp_path).iterdir())
