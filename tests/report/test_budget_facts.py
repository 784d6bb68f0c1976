# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A limit that was changed is told in every form of the statement, with what it means."""

import pytest
from statements import RECEIPT, booked, of_record, profile, record

from dperm.report import page, seeded
from dperm.report.budget_facts import CURRENT, LATER, NO_LONGER, NOT_A_GUARANTEE, OTHERS, describe_limit_changes
from dperm.report.summary import guarantee_sentences, key_facts

SMALL, LARGE = ({**RECEIPT["limit"], "epsilon": epsilon} for epsilon in (2.0, 3.0))
CHANGE = {"at": "2026-11-03T10:00:00+00:00", "by": "Ada", "reason": "a third model", "limit": LARGE, "after": 2}
RAISED = {"opening_limit": SMALL, "limit_changes": [CHANGE]}
SENTENCE = (
    "The limit was changed from (epsilon, delta)-DP with epsilon = 2, delta = 1e-5 to (epsilon, delta)-DP with "
    "epsilon = 3, delta = 1e-5 by 'Ada' on 2026-11-03 (reason: 'a third model'), after 2 releases."
)


def test_a_raised_limit_is_told_with_what_it_means():
    found = booked(**RAISED)
    for text in (found["composition"], found["tuning"]["known"], " ".join(guarantee_sentences(found.fields))):
        assert f"{SENTENCE} {NO_LONGER} {NOT_A_GUARANTEE}" in text
    assert found["ledger_entry"]["limit_changes"] == [CHANGE]
    shown = page(found, profile()).replace('<span class="whole">', "").replace("</span>", "").replace("&#x27;", "'")
    plain, entry = shown.partition(">Covered<")[0], shown[shown.index('id="field-27"') :].partition("<details")[0]
    assert SENTENCE in plain and NO_LONGER in plain and "The limit was changed after the account was opened" in shown
    assert "limit changes" in entry.partition("<details")[0] and "a third model" in entry.partition("<details")[0]
    assert SENTENCE in found.to_markdown().partition("## Covered")[0]


@pytest.mark.parametrize("receipt", [{}, {"limit_changes": []}, {"opening_limit": LARGE, "limit_changes": []}], ids=str)
def test_without_a_change_nothing_is_said(receipt):
    found = booked(**receipt)
    for text in (page(found), found.to_markdown(), found["composition"]):
        assert "was changed" not in text
        assert "limit changes" not in text and "initial limit" not in text


def test_a_lowered_limit_breaks_no_promise_and_is_an_account_all_the_same():
    said = describe_limit_changes({"opening_limit": LARGE, "limit_changes": [{**CHANGE, "limit": SMALL}]})
    assert NO_LONGER not in said and NOT_A_GUARANTEE in said


def test_of_several_changes_one_that_raises_is_enough():
    changes = [{**CHANGE, "limit": SMALL}, {**CHANGE, "after": 1}]
    said = describe_limit_changes({"opening_limit": LARGE, "limit_changes": changes})
    assert said.count("The limit was changed") == 2 and NO_LONGER in said and "after 1 release." in said


def test_before_any_release_a_change_breaks_nothing():
    said = describe_limit_changes({**RAISED, "limit_changes": [{**CHANGE, "after": 0}]})
    assert said.endswith("before any release.") and NO_LONGER not in said


def test_what_is_not_known_is_taken_for_the_worst():
    said = describe_limit_changes({"limit_changes": [{"by": "Ada", "limit": LARGE}]})
    assert said.startswith("The limit was changed to (epsilon, delta)-DP with epsilon = 3") and NO_LONGER in said
    curves = [{"kind": "RDP", "curve": [[2.0, top]], "adjacency": "add_remove"} for top in (0.1, 0.5)]
    assert NO_LONGER in describe_limit_changes(
        {"opening_limit": curves[0], "limit_changes": [{**CHANGE, "limit": curves[1]}]}
    )


@pytest.mark.parametrize("changes", [{}, RAISED], ids=["not changed", "changed before"])
def test_a_receipt_knows_the_limit_of_its_own_time_and_says_so(changes):
    found = booked(**changes)
    fact = dict(key_facts(found.fields))["Limit of account 'census'"]
    for text in (found["composition"], found["tuning"]["known"], " ".join(guarantee_sentences(found.fields)), fact):
        assert "hen this release was charged (ledger entry 7)" in text and (LATER in text or CURRENT in text)
    assert (
        "Unless the limit is raised, the charges to the account never exceed the limit in total."
        in found["composition"]
    )
    for text in (page(found), found.to_markdown()):
        assert "Limit of all releases" not in text


def test_the_limit_of_a_budget_in_memory_is_not_changed_later():
    memory = {name: RECEIPT[name] for name in ("ledger", "seq", "limit", "capacity", "spent")}
    found = of_record(record(ledger=memory))
    assert "Limit of budget of this process" in dict(key_facts(found.fields))
    assert "when this release was charged (entry 7)" in found["composition"] and LATER not in found.to_markdown()


@pytest.mark.parametrize("names", [tuple(RECEIPT), ("seq", "limit", "capacity", "spent")], ids=["ledger", "memory"])
def test_on_the_page_of_a_seeded_run_the_limit_is_about_the_others(names):
    receipt = {name: RECEIPT[name] for name in names}
    found = seeded(record(seeded=True, ledger=receipt))
    fact = next(text for name, text in key_facts(found.fields) if name.startswith("Limit of"))
    assert fact.endswith("This release has no guarantee; the limit applies to the other releases.")
    assert OTHERS in found["composition"] and OTHERS in found["tuning"]["known"]
    private = of_record(record(ledger=receipt))
    assert "applies to the other" not in page(private) and "applies to the other" in page(found)


def test_the_name_of_an_account_is_no_markup():
    text = booked(account="<b>*x*").to_markdown()
    assert r"- Limit of account '\<b\>\*x\*':" in text


def test_what_somebody_wrote_as_a_reason_is_escaped():
    hostile = "<script>alert(1)</script>"
    found = booked(**{**RAISED, "limit_changes": [{**CHANGE, "by": hostile, "reason": hostile}]})
    assert "<script" not in page(found) and "<script" not in found.to_markdown().replace("\\<", "")
