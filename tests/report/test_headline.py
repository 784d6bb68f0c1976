# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The headline: levels by the attacker's success, neutral while required fields are missing, no impossible numbers."""

import json
import re
from html import unescape

import pytest
from statements import RECEIPT, STATED, booked, fitted, kinds

from dperm import GDP, ApproxDP, PureDP, Record, Release, explain
from dperm.cli.report import draft_of_fields
from dperm.errors import EventFormatError
from dperm.mechanisms import GaussianMechanism
from dperm.privacy.protection import MODERATE_SUCCESS, STRONG_SUCCESS, Protection, protection
from dperm.report import Statement, page, statement
from dperm.report.budget_facts import joint_guarantee
from dperm.report.fields import REQUIRED
from dperm.report.headline import PARENT_LIMITS, SEVERAL_ACCOUNTS, TITLES
from dperm.report.summary import key_facts

ADD = "add_remove"


def of_epsilon(epsilon: float) -> Statement:
    """The statement of the worst mechanism that keeps epsilon."""
    goal, event = PureDP(epsilon, ADD), {"dperm_event": 1, "type": "pure"}
    return statement(Release(None, goal, goal.profile(), event, Record(goal, event)), fields=STATED)


def banner(found: Statement) -> str:
    text = re.search(r'<div class="status.*?</div>', page(found))
    assert text is not None
    return unescape(re.sub(r"<[^>]+>", "", text[0]))


@pytest.mark.parametrize(
    ("epsilon", "level", "success"),
    [
        (0.5, "strong", "62.3 %"),
        (1.0, "strong", "73.2 %"),
        (1.2, "moderate", "76.9 %"),
        (3.0, "moderate", "95.3 %"),
        (5.0, "weak", "99.34 %"),
        (8.0, "weak", "99.967 %"),
    ],
)
def test_the_level_follows_from_the_attackers_success_which_is_printed_with_its_baseline(epsilon, level, success):
    found = of_epsilon(epsilon)
    assert found.headline.level == level
    for text in (banner(found), found.to_markdown(), str(found)):
        assert TITLES[level] in text and f"right at most {success} of the time (50 % by chance)" in text
    assert f'<div class="status {level}">' in page(found)
    assert json.loads(found.to_json())["headline"]["level"] == level == explain(PureDP(epsilon, ADD)).protection.level


@pytest.mark.parametrize("epsilon", [8.0, 20.0, 50.0, 1000.0])
def test_no_sentence_has_an_impossible_or_an_empty_number(epsilon):
    found = of_epsilon(epsilon)
    texts = (page(found), found.to_markdown(), str(found), *explain(PureDP(epsilon, ADD)).sentences)
    assert not any(re.search(r"\b100 %|Private: |\bPRIVATE: ", text.partition("<h2>In pictures")[0]) for text in texts)
    assert found.headline.level == "weak" and "Weak protection" in banner(found)
    assert ("right more than 99.9999 % of the time (50 % by chance)" in banner(found)) is (epsilon > 13)
    assert all(len(explain(PureDP(epsilon, ADD)).sentences) == 2 for _ in texts)


def test_success_alone_does_not_hide_a_mechanism_that_publishes_some_records_in_full():
    """delta = 0.1 permits full publication of every tenth record; the success is about 55 %."""
    rates = protection(ApproxDP(0.01, 0.1, ADD).profile())
    assert rates.success < 0.56 and rates.detection > 0.1 and rates.level == "moderate" and rates.detection_decides
    assert Protection(STRONG_SUCCESS, 0.02).level == "strong" and Protection(MODERATE_SUCCESS, 0.5).level == "moderate"
    assert protection(ApproxDP(0.01, 0.6, ADD).profile()).level == "weak"
    mechanism = GaussianMechanism.calibrate(1.0, GDP(1.2, ADD), dim=1)
    said = banner(statement(mechanism.release([1.0]), fields=STATED))
    assert "Detection rate at one false alarm in 1,000: at most 2.94 % (0.1 % by chance)." in said


NO_STATEMENTS = [
    *(
        "TODO",
        "todo:",
        "TODO: ask Bob",
        "TODO(ann)",
        "TODO-ask Ann",
        "TO-DO: ask",
        "// TODO",
        "\u201cTODO\u201d",
        "T.B.D.",
    ),
    *("N/A", "n.a.", "N / A", "<FILL IN>", "fill in later", "not stated yet", "to be determined", "unknown"),
    *("not applicable", "N/A (TODO)", "T.O.D.O", "not known", "none yet", "nil", "None (TBD)", "N/A - unknown"),
    *("-", "?", "None", "tbd", "...", "\xa0", "\u200b", "___"),
    *(["TODO"], [""], [None], [[]], {"a": "TODO"}, {"name": "Ann", "office": ""}, False, 0),
]


@pytest.mark.parametrize("text", NO_STATEMENTS, ids=repr)
def test_a_placeholder_in_a_required_field_states_nothing(text):
    for name in REQUIRED:
        found = fitted().statement_.filled({**STATED, name: text})
        is_answer = text in ("None", "nil") and name in ("tuning", "preprocessing", "nonprivate_statistics")
        assert found.required_gaps == (() if is_answer else (name,)) and (name in found.gaps) is not is_answer
        assert Statement.from_json(found.to_json()) == found
    is_blank = isinstance(text, str) and not text.strip()
    assert ("links" in fitted().statement_.filled({**STATED, "links": text}).gaps) is is_blank


@pytest.mark.parametrize("text", ["Not applicable to minors: adults only", "Nilsson", "N. A. Todorov", "None of them"])
def test_an_answer_that_begins_like_a_placeholder_is_an_answer(text):
    for name in REQUIRED:
        assert fitted().statement_.filled({**STATED, name: text}).required_gaps == ()


def test_one_open_part_of_an_answer_leaves_it_open():
    whole = {"name": "Ann", "office": "Vienna"}
    assert fitted().statement_.filled({**STATED, "curator": whole}).required_gaps == ()
    assert fitted().statement_.filled({**STATED, "curator": {**whole, "office": ""}}).required_gaps == ("curator",)


@pytest.mark.parametrize(("epsilon", "level"), [(0.5, "strong"), (3.0, "moderate"), (50.0, "weak")])
def test_a_statement_that_is_not_rated_says_the_level_in_words(epsilon, level):
    found = of_epsilon(epsilon).filled({"curator": "TODO"})
    said = f"Not rated: required fields are missing. The protection would be rated {level} for this release alone."
    assert all(said in text for text in (f"{banner(found)[: len(said) - 1]}.", found.to_markdown(), str(found)))
    assert banner(found).startswith(said[:-1]) and '<div class="status not-rated">' in page(found)
    team = booked(**account("team", 0.2, "census"), ancestors=[account("census", 6.0)])
    assert (
        "strong for this release alone, and weak for all releases charged to the account 'census' together."
        in banner(team)
    )


def test_without_a_ledger_the_banner_is_about_this_release_alone():
    alone = "for this release alone; other releases from the same data are not recorded"
    stated = {name: value for name, value in STATED.items() if name != "ledger_entry"}
    found = fitted().statement_.filled(stated)
    assert all(f"protection {alone}" in text for text in (banner(found), found.to_markdown(), str(found)))
    assert "protection for this release alone" in banner(fitted().statement_.filled(STATED))
    assert "not recorded" not in banner(fitted().statement_.filled(STATED))
    covering = banner(booked().filled(stated))
    assert "protection for everything charged to the account 'census'; strong for this release alone" in covering


@pytest.mark.parametrize("name", REQUIRED)
def test_without_a_required_field_the_protection_is_not_rated(name):
    stated = {key: value for key, value in STATED.items() if key != name}
    for found in (fitted().statement_.filled(stated), fitted().statement_.filled({**stated, name: " "})):
        assert found.headline.level == "not rated" and found.required_gaps == (name,) and name in found.gaps
        assert '<div class="status not-rated">' in page(found) and TITLES["not rated"] in found.to_markdown()
        assert "right at most" in banner(found)
    assert fitted().statement_.filled(STATED).required_gaps == ()


def test_the_reason_for_epsilon_is_asked_for_even_if_the_run_explains_its_method():
    found = fitted().statement_
    assert found["reasons"]["known"] and found["reasons"]["stated"] == "not stated"
    assert "# REQUIRED: why this epsilon" in draft_of_fields(found.gaps)
    assert {"reasons"} < set(found.required_gaps)


def test_a_seed_and_a_refutation_keep_their_headlines():
    refuted = kinds()["filled"].audited([{"result": "VIOLATION: claimed 1", "violation": True}])
    assert refuted.headline.level == "refuted" and '<div class="status bad"><p class="word">REFUTED' in page(refuted)
    seeded = kinds()["seeded"].filled(STATED)
    assert seeded.headline.level == "not private" and '<p class="word">NOT PRIVATE' in page(seeded)


def test_json_with_a_false_headline_is_refused_and_json_without_one_is_read():
    found = kinds()["filled"]
    data = json.loads(found.to_json())
    forged = {**data, "headline": {**data["headline"], "level": "weak"}}
    with pytest.raises(EventFormatError, match="headline does not follow"):
        Statement.from_json(json.dumps(forged))
    before = {name: value for name, value in data.items() if name != "headline"}
    assert Statement.from_json(json.dumps({**before, "format": 2})) == found


def limit(epsilon: float) -> dict[str, object]:
    return {"kind": "ApproxDP", "epsilon": epsilon, "delta": 1e-6, "adjacency": "replace_one"}


def account(name: str, epsilon: float, *parents: str) -> dict[str, object]:
    capacity = {"epsilon": epsilon, "delta": 1e-6}
    changes = {"account": name, "limit": limit(epsilon), "parents": list(parents), "capacity": capacity}
    return {**RECEIPT, **changes, "spent": {"epsilon": 0.5, "delta": 1e-7}}


def test_the_headline_uses_the_account_that_covers_the_people():
    own = account("team", 0.2, "office")
    above = [account("office", 1.0, "census"), account("census", 6.0)]
    found = booked(**own, ancestors=above).filled(STATED)
    assert found.headline.level == "weak" and found.headline.release.level == "strong"
    covering = (
        "An attacker who sees everything charged to the account 'census' "
        "(limit: (epsilon, delta)-DP with epsilon = 6, delta = 1e-6"
    )
    assert covering in banner(found) and "right at most 99.76 % of the time (50 % by chance)" in banner(found)
    joint = "The joint guarantee is the limit of the account 'census', (epsilon, delta)-DP with epsilon = 6"
    spent = "Spent so far from the account 'office', whose limit is (epsilon, delta)-DP with epsilon = 1"
    for text in (page(found), found.to_markdown(), str(found["composition"])):
        plain = unescape(re.sub(r"<[^>]+>|\\", "", text))
        assert (
            joint in plain
            and spent in plain
            and "Spent so far from the account 'census': epsilon 0.5 of 6, delta 1e-7 of 1e-6" in plain
        )
    assert "Budget of the account &#x27;census&#x27;" in page(found) and 'id="budget-1"' in page(found)
    limits = [name for name, _ in key_facts(found.fields) if name.startswith(("Joint limit", "Limit of"))]
    assert [re.findall("'(.*)'", name)[0] for name in limits] == ["census", "office", "team"]
    for text in (
        str(found["composition"]),
        found["tuning"]["known"],
        " ".join(joint_guarantee(own | {"ancestors": above})),
    ):
        assert text.startswith("This release was charged to the account 'team' and also to") and joint in text
    assert page(found).index("Budget of the account &#x27;census") < page(found).index(
        "Budget of the account &#x27;team"
    )
    assert Statement.from_json(found.to_json()) == found
    assert booked(**account("alone", 0.2)).filled(STATED).headline.level == "strong"


@pytest.mark.parametrize("wrong", [{"limit": None}, {"spent": {}}, {"parents": 1}, {"parents": [1]}], ids=str)
def test_an_ancestor_without_a_limit_or_a_spending_is_refused(wrong):
    found = booked(**account("team", 0.2, "office"), ancestors=[account("office", 1.0)])
    data = json.loads(found.to_json())
    data["fields"]["ledger_entry"]["ancestors"][0].update(wrong)
    with pytest.raises(EventFormatError, match="ledger_entry has an unknown form"):
        Statement.from_json(json.dumps(data))
    data["fields"]["ledger_entry"]["ancestors"] = "none"
    with pytest.raises(EventFormatError, match="ledger_entry"):
        Statement.from_json(json.dumps(data))


def test_several_top_accounts_are_named_and_their_limits_add_up():
    found = booked(**account("both", 0.2, "a", "b"), ancestors=[account("a", 0.3), account("b", 0.4)]).filled(STATED)
    assert found.headline.account == "b" and SEVERAL_ACCOUNTS in banner(found)
    assert "The joint guarantees are the limits of the account 'a', " in found["composition"]


def test_an_old_receipt_without_the_limits_of_its_parents_is_read_and_not_rated():
    found = booked(**account("team", 0.2, "office")).filled(STATED)
    assert found.headline.level == "not rated" and found.headline.missing == (PARENT_LIMITS,)
    assert "which this receipt does not contain" in found["composition"]
    assert Statement.from_json(found.to_json()) == found
