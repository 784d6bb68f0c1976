# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Statements that would mislead: the package with one line changed, each with a test that must fail."""

import pytest
from package_mutants import Mutant, assert_killed_by_its_test, assert_passes_unchanged

FIELDS = "tests/report/test_statement_fields.py"
CHANGES = "tests/report/test_budget_facts.py"
FORGED = "tests/report/test_contradictions.py"
PLAIN = "tests/report/test_summary.py"
PLOTS = "tests/report/test_plots.py"
HEADLINE = "tests/report/test_headline.py"


MUTANTS = [
    Mutant(
        "the user's words replace what the ledger says",
        "report/field_values.py",
        "{STATED: stated} if known is None else {KNOWN: known, STATED: stated}",
        "{STATED: stated}",
        f"{FIELDS}::test_the_words_of_the_user_stand_beside_what_is_known_however_often_they_are_changed",
    ),
    Mutant(
        "seeded runs are forgotten in the limit of the account",
        "report/budget_facts.py",
        'seeded = receipt.get("seeded") or 0',
        "seeded = 0",
        f"{FIELDS}::test_the_limit_of_an_account_does_not_hold_for_seeded_runs",
    ),
    Mutant(
        "iterates that the event does not count are called covered",
        "report/run_facts.py",
        "ALL_ITERATES if method in STEPS_COVERED else FINAL_MODEL",
        "ALL_ITERATES",
        f"{FIELDS}::test_iterates_are_covered_only_where_the_event_counts_every_step",
    ),
    Mutant(
        "a declared unit is promised without its condition",
        "report/budget_facts.py",
        "if not unit or unit == proved:\n        return proved",
        "if unit or not unit:\n        return str(unit or proved)",
        f"{FIELDS}::test_the_ledger_fills_what_only_it_can_know",
    ),
    Mutant(
        "half of a field is no gap",
        "report/field_values.py",
        "{KNOWN: known[name], STATED: names.NOT_STATED} if name in names.PARTLY_KNOWN else known[name]",
        "known[name]",
        f"{FIELDS}::test_a_gap_may_be_a_part_of_a_field",
    ),
    Mutant(
        "a raised limit leaves no trace",
        "report/budget_facts.py",
        'found = receipt.get("limit_changes")',
        "found = []",
        f"{CHANGES}::test_a_raised_limit_is_told_with_what_it_means",
    ),
    Mutant(
        "a raised limit breaks no promise",
        "report/budget_facts.py",
        "new[name] > old[name]",
        "new[name] < old[name]",
        f"{CHANGES}::test_a_lowered_limit_breaks_no_promise_and_is_an_account_all_the_same",
    ),
    Mutant(
        "a limit that may have been raised since is promised for good",
        "report/budget_facts.py",
        'return LATER if receipt.get("account") else ""',
        'return ""',
        f"{CHANGES}::test_a_receipt_knows_the_limit_of_its_own_time_and_says_so",
    ),
    Mutant(
        "a limit on the page of a seeded run is about that run",
        "report/run_facts.py",
        "budget_facts(record.ledger, seeded=record.seeded)",
        "budget_facts(record.ledger)",
        f"{CHANGES}::test_on_the_page_of_a_seeded_run_the_limit_is_about_the_others",
    ),
    Mutant(
        "a smaller limit than the one that is kept",
        "report/plots.py",
        "of {format_up(limit, 4)} spent",
        "of {limit:.4g} spent",
        f"{PLOTS}::test_limits_and_what_is_spent_are_rounded_up_and_what_is_left_down",
    ),
    Mutant(
        "epsilons of the user are rounded to the nearest",
        "report/display.py",
        "return format_up if _UPPER_BOUNDS &",
        "return default if _UPPER_BOUNDS &",
        f"{PLOTS}::test_epsilons_that_the_user_states_are_rounded_up",
    ),
    Mutant(
        "a better promise than was asked for is read",
        "report/contradictions.py",
        "if goal is None or goal != _guarantee({**numbers, **head})",
        "if goal is None",
        f"{FORGED}::test_what_was_asked_for_is_what_is_promised",
    ),
    Mutant(
        "seeded noise is read as private",
        "report/contradictions.py",
        'json.dumps([fields["noise_source"], fields["limits"]])',
        'json.dumps(fields["limits"])',
        f"{FORGED}::test_noise_and_limits_of_a_promise_do_not_say_not_private",
    ),
    Mutant(
        "a smaller pure epsilon than the proved one",
        "report/summary.py",
        'if pure <= parameters["epsilon"]:',
        'if pure >= parameters["epsilon"]:',
        f"{PLAIN}::test_a_promise_that_needs_no_delta_says_so[more]",
    ),
    Mutant(
        "what an attacker can do is rounded down",
        "report/headline.py",
        "return format_percent(rate) if is_effective(rate) else NO_LIMIT",
        'return f"{100 * rate:.3g} %" if is_effective(rate) else NO_LIMIT',
        f"{PLOTS}::test_percentages_are_rounded_up",
    ),
    Mutant(
        "the attacker's curve lies below the truth",
        "report/profile_samples.py",
        "rest - slopes * x,",
        "rest - x,",
        f"{PLOTS}::test_the_curve_of_an_attacker_is_a_ceiling_and_close_to_the_exact_one[gaussian]",
    ),
    Mutant(
        "the level is that of the release alone",
        "report/headline.py",
        "NOT_RATED if missing else _worst(release, together)",
        "NOT_RATED if missing else _worst(release)",
        f"{HEADLINE}::test_the_headline_uses_the_account_that_covers_the_people",
    ),
    Mutant(
        "the nearest account covers the people",
        "report/budget_facts.py",
        'tops = [one for one in (receipt, *ancestors_of(receipt)) if not one.get("parents")]',
        "tops = [receipt]",
        f"{HEADLINE}::test_the_headline_uses_the_account_that_covers_the_people",
    ),
    Mutant(
        "the reasons of the program are taken for those of a person",
        "report/field_values.py",
        "stated = stated_part(name, value) if name in names.BESIDE else value",
        "stated = known_part(name, value) or value",
        f"{HEADLINE}::test_without_a_required_field_the_protection_is_not_rated",
    ),
    Mutant(
        "one answer in a table stands for all of them",
        "report/field_values.py",
        "any(_is_blank(name, part) for part in value.values())",
        "all(_is_blank(name, part) for part in value.values())",
        f"{HEADLINE}::test_one_open_part_of_an_answer_leaves_it_open",
    ),
    Mutant(
        "a preparation that is not covered is rated",
        "report/headline.py",
        "if uncovered and status != names.REFUTED:",
        "if False:",
        "tests/sklearn/test_pipelines.py::test_an_explicit_choice_is_in_the_statement_and_the_protection_is_not_rated",
    ),
]


def test_the_tests_pass_without_mutants():
    assert_passes_unchanged(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_a_statement_that_would_mislead_is_found_out(mutant, record_property):
    if mutant.killer.startswith(PLOTS):
        pytest.importorskip("matplotlib", reason="the test that kills it draws")
    assert_killed_by_its_test(mutant, record_property)
