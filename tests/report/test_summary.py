# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The plain part: other releases, people with several records, delta = 0, the whole curve, readable names."""

import pytest
from statements import RECEIPT, booked, fitted, kinds, of_record, profile, record

from dperm import GDP, ZCDP, ApproxDP, PureDP
from dperm.accounting.memory_budget import MemoryBudget
from dperm.mechanisms import GaussianMechanism, LaplaceMechanism
from dperm.methods.choose import BY_NAME
from dperm.presentation.glossary import METHODS
from dperm.report import Statement, page, statement
from dperm.report.budget_facts import LATER
from dperm.report.summary import STATED_RECORDS, exclusions, guarantee_sentences, key_facts


def said(found: Statement) -> str:
    return " ".join(guarantee_sentences(found.fields))


def test_with_a_ledger_the_limit_of_all_releases_is_said():
    joint = "The limit of the account 'census' applies jointly to all releases charged to this account"
    together = f"{joint} (3 releases so far). "
    limit = "the limit was (epsilon, delta)-DP with epsilon = 3, delta = 1e-5 (replace_one)."
    assert f"{together}When this release was charged (ledger entry 7), {limit} {LATER}" in said(booked())
    assert "(1 release so far)" in said(booked(releases=1))
    assert "NOT PRIVATE" in said(booked(seeded=1))
    budget = MemoryBudget(PureDP(2.0, "add_remove"))
    charged = LaplaceMechanism.calibrate(1.0, PureDP(0.5, "add_remove")).release(3.0, budget=budget)
    assert "When this release was charged (entry 0), the limit was epsilon-DP with epsilon = 2" in said(
        statement(charged)
    )
    assert LATER not in said(statement(charged))


def test_without_a_ledger_other_releases_are_not_covered():
    alone = "Other releases from the same data are not covered by this guarantee."
    assert said(fitted().statement_).endswith(alone) and alone not in said(booked())


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (PureDP(1.0, "add_remove"), "for a person with k records, epsilon is k times as large."),
        (ApproxDP(1.0, 1e-6, "add_remove"), "epsilon is k times as large, and delta is more than k times as large."),
        (ZCDP(0.5, "add_remove"), "rho is k squared times as large."),
        (GDP(1.0, "add_remove"), "mu is k times as large."),
    ],
    ids=["pure", "approximate", "zcdp", "gdp"],
)
def test_a_person_with_several_records_has_less_protection(goal, words):
    pure = isinstance(goal, PureDP)
    mechanism = LaplaceMechanism.calibrate(1.0, goal) if pure else GaussianMechanism.calibrate(1.0, goal, dim=1)
    found = statement(mechanism.release(3.0 if pure else [3.0]))
    first = exclusions(found.fields)[0]
    assert first.startswith("A person with several records has less protection") and first.endswith(words)
    assert first in page(found) and first in found.to_markdown() and "contribution_bound" in found.gaps


def test_delta_stays_0_for_several_records_if_the_guarantee_is_pure_at_its_epsilon():
    stated = statement(GaussianMechanism.calibrate(1.0, ApproxDP(1.0, 1e-6, "add_remove"), dim=1).release([3.0])).fields
    for pure, grows in ((1.0, False), (1.001, True), (None, True)):
        fields = {**stated, "profile": {**stated["profile"], "epsilon_at_delta_zero": pure}}
        assert ("delta is more than k times" in exclusions(fields)[0]) is grows
        assert ("also holds with delta = 0" in " ".join(guarantee_sentences(fields))) is not grows


def test_what_the_user_states_of_records_is_not_checked():
    warned = STATED_RECORDS.format("with several records", "record")
    long = fitted().statement_.filled({"contribution_bound": {"bound": 5}})
    assert exclusions(long.fields)[0] == f"{warned}see field 12."
    found = fitted().statement_.filled({"contribution_bound": "up to 5"})
    assert exclusions(found.fields)[0] == f'{warned}"up to 5".' and "contribution_bound" not in found.gaps


def test_numbers_follow_from_the_curve_and_that_is_said():
    assert "which can imply tighter bounds than epsilon and delta alone" in said(fitted().statement_)
    pure = statement(LaplaceMechanism.calibrate(1.0, PureDP(1.0, "add_remove")).release(3.0))
    assert "which can imply tighter bounds than epsilon alone" in said(pure) and "delta = 0" not in said(pure)
    assert "whole curve" not in said(kinds()["seeded"])


@pytest.mark.parametrize(
    ("pure", "words"),
    [
        (1.0, "The guarantee also holds with delta = 0"),
        (1.2345678, "With delta = 0, without the additive term, the guarantee holds with epsilon = 1.23457"),
    ],
    ids=["same", "more"],
)
def test_a_promise_that_needs_no_delta_says_so(pure, words):
    found = fitted().statement_.to_dict()
    found["parameters"] = {"epsilon": 1.0, "delta": 1e-6}
    found["profile"]["epsilon_at_delta_zero"] = pure
    assert words in said(Statement(found))
    found["profile"]["epsilon_at_delta_zero"] = None
    assert "delta = 0" not in said(Statement(found))


def test_delta_zero_comes_from_the_curve():
    gaussian = statement(GaussianMechanism.calibrate(1.0, ApproxDP(1.0, 1e-6, "add_remove"), dim=1).release([1.0]))
    assert gaussian["profile"]["epsilon_at_delta_zero"] is None
    laplace = statement(LaplaceMechanism.calibrate(1.0, PureDP(0.7, "add_remove")).release(1.0))
    assert laplace["profile"]["epsilon_at_delta_zero"] == pytest.approx(0.7)


def test_every_method_has_a_name_that_can_be_read():
    assert {*BY_NAME} <= set(METHODS)
    assert dict(key_facts(booked().fields))["Method"] == "noisy gradient descent"


def test_epsilon_comes_first_also_where_files_have_sorted_the_keys():
    swapped = {name: dict(sorted(RECEIPT[name].items())) for name in ("limit", "capacity", "spent")}
    found = booked(**swapped)
    assert "epsilon = 3, delta = 1e-5" in found["composition"]
    assert [next(iter(found["ledger_entry"][name])) for name in ("capacity", "spent")] == ["epsilon"] * 2
    assert found == booked() and found.to_markdown() == booked().to_markdown()
    assert page(found, profile()).partition("<pre>")[0] == page(booked(), profile()).partition("<pre>")[0]


def test_what_is_empty_is_left_out():
    public = {**record().public, "bounds": None, "feature_norm": 3.0}
    text = of_record(record(public=public)).to_markdown()
    assert "bounds: none" not in text and "bound on the norm of the features: 3" in text
    assert "parents" not in booked().to_markdown()


def test_the_whole_promise_is_not_one_that_may_fail():
    text = page(booked(), profile())
    assert "may fail" not in text and "a smaller epsilon holds with a larger delta" in text
