# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""All methods side by side, and in words."""

import json
from dataclasses import replace

import pytest

from dperm.errors import ParameterError
from dperm.planner import ExpectedAccuracy, MethodOutlook, Outlook, Shape, Trials, outlook
from dperm.privacy import ApproxDP, PureDP
from dperm.theory import compare_methods

SHAPE = Shape(1500, 6, balance=0.25)
GOAL = ApproxDP(1.0, 1e-6, "replace_one")


@pytest.fixture(scope="module")
def found() -> Outlook:
    return outlook(SHAPE, GOAL, trials=Trials.quick())


def test_there_is_a_row_for_each_method(found: Outlook) -> None:
    assert [row.method for row in found.rows] == ["auto", "objective", "output", "gradient", "sgd"]
    assert all(row.expected is not None and not row.refused and row.noise for row in found.rows)


def test_the_proved_bounds_are_those_of_the_theory(found: Outlook) -> None:
    problem = SHAPE.problem(1.0)
    bounds = compare_methods(problem, SHAPE.n, epsilon=1.0, delta=1e-6, adjacency="replace_one")
    assert {row.proved for row in found.rows if row.proved} == set(bounds)
    assert found.row("auto").proved == found.row("objective").proved
    assert found.row("sgd").proved is None


def test_auto_is_tried_once(found: Outlook) -> None:
    auto, objective = found.row("auto").expected, found.row("objective").expected
    assert auto is not None
    assert objective is not None
    assert (auto.method, auto.used) == ("auto", "objective")
    assert auto.mean == objective.mean


def test_the_sentences_say_what_was_found_and_what_it_rests_on(found: Outlook) -> None:
    said = " ".join(found.sentences)
    expected = found.row("auto").expected
    assert expected is not None
    assert said.startswith("With 1,500 records, 6 columns and epsilon 1, delta 1e-6 under replace_one, expect")
    assert f"{expected.mean:.3f}" in said
    assert "one-sided" in said
    assert "synthetic" in said
    assert "Give baseline" in said
    assert "not to the default settings" in said


def test_facts_have_codes_values_and_references_to_arguments(found: Outlook) -> None:
    facts = {fact.code: fact for fact in found.facts}
    assert tuple(map(str, found.facts)) == found.sentences
    assert (
        list(facts)
        == [
            "outlook.expected",
            "outlook.costs",
            "outlook.assumed_signal",
            "outlook.proved_bound",
            "outlook.one_sided",
            "outlook.made_up",
        ]
        or "outlook.better_method" in facts
    )
    expected = found.row("auto").expected
    assert expected is not None
    values = facts["outlook.expected"].values
    assert (values["accuracy"], values["method"], values["used"]) == (expected.mean, "auto", "objective")
    options = [fact.describe(lambda name, value: f"--{name} {value or ''}".strip()) for fact in found.facts]
    assert 'with --method "auto" (objective perturbation)' in options[0]
    assert "Give --baseline if" in " ".join(options)
    json.dumps([fact.as_dict() for fact in found.facts], allow_nan=False)


def test_a_declared_baseline_is_repeated() -> None:
    found = outlook(Shape(400, 3, baseline=0.8), GOAL, methods=("auto",), trials=Trials.quick())
    said = " ".join(found.sentences)
    assert "declared baseline of 0.8" in said
    assert "Give baseline" not in said


def test_an_outlook_is_plain_data(found: Outlook) -> None:
    data = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert data["goal"]["epsilon"] == 1.0
    assert [row["method"] for row in data["methods"]] == [row.method for row in found.rows]
    assert data["methods"][0]["proved"]["bound"] == found.rows[0].proved.bound  # type: ignore[union-attr]


def test_without_trials_there_are_noise_and_bounds_and_no_accuracy() -> None:
    found = outlook(SHAPE, GOAL, simulate=False)
    assert all(row.expected is None and row.noise for row in found.rows)
    said = " ".join(found.sentences)
    assert "accuracy of about" not in said
    assert "Proved for" in said


def test_methods_that_do_not_apply_say_why() -> None:
    found = outlook(SHAPE, PureDP(1.0, "replace_one"), simulate=False)
    assert "delta > 0" in found.row("gradient").refused
    assert found.row("gradient").noise is None
    assert not found.row("output").refused
    bolted = outlook(SHAPE, ApproxDP(1.0, 1e-6, "add_remove"), methods=("bolt_on",), simulate=False)
    assert "replace_one" in bolted.row("bolt_on").refused
    assert bolted.sentences[0] == "There is no proved bound for these methods."


def test_a_bound_that_says_nothing_is_said_to_say_nothing() -> None:
    found = outlook(Shape(20, 50), ApproxDP(0.01, 1e-6, "replace_one"), simulate=False)
    assert "vacuous" in " ".join(found.sentences)


def test_noise_that_drowns_the_rows_is_said_to_be_no_better_than_guessing() -> None:
    found = outlook(Shape(60, 20, balance=0.2), GOAL, methods=("auto",), trials=Trials.quick())
    assert "no better than always guessing" in found.sentences[0]


def test_trials_on_fewer_rows_are_said_to_be_such(found: Outlook) -> None:
    row = found.row("auto")
    assert row.expected is not None
    assert "The trials used" not in found.sentences[0]
    large = replace(found, shape=replace(SHAPE, n=10**8), rows=(row,))
    assert "The trials used 1,500 records" in large.sentences[0]
    rough = replace(large, rows=(replace(row, expected=replace(row.expected, rough=True)),))
    assert "too low" in rough.sentences[0]


def tried(method: str, accuracy: float, half: float, plain: float = 0.8) -> MethodOutlook:
    ends = {"mean": accuracy, "low": accuracy - half, "high": accuracy + half, "spread": 0.01}
    facts = {"without_privacy": plain, "majority": 0.5, "repeats": 4, "simulated_at": 1500, "seed": 0}
    return MethodOutlook(method, "output", expected=ExpectedAccuracy(method, "output", **ends, **facts))  # type: ignore[arg-type]


def test_methods_are_ranked_by_what_privacy_costs_them_on_their_own_tables(found: Outlook) -> None:
    rows = (tried("auto", 0.7, 0.001), tried("output", 0.7, 0.001), tried("sgd", 0.69, 0.001, plain=0.7))
    said = " ".join(replace(found, rows=rows).sentences)
    assert "by method: sgd 0.010, output 0.100." in said
    assert 'method="sgd" is expected to be better by about 0.09' in said
    rows = (tried("auto", 0.7, 0.05), tried("output", 0.7, 0.05), tried("sgd", 0.71, 0.05))
    said = " ".join(replace(found, rows=rows).sentences)
    assert "cannot tell them apart" in said
    assert "expected to be better" not in said


def test_what_privacy_costs_is_the_difference_of_the_numbers_that_are_printed(found: Outlook) -> None:
    said = replace(found, rows=(tried("auto", 0.6646, 0.01, plain=0.6664),)).sentences[0]
    assert "about 0.665 " in said
    assert "0.001 below the 0.666" in said


def test_a_bound_is_rounded_up_in_a_sentence(found: Outlook) -> None:
    row = found.row("objective")
    assert row.proved is not None
    rows = (replace(row, proved=replace(row.proved, bound=0.0511001)),)
    assert "at most 0.0512 " in " ".join(replace(found, rows=rows).sentences)


def test_progress_goes_from_nothing_to_all() -> None:
    told: list[float] = []
    outlook(SHAPE, GOAL, methods=("auto", "output"), trials=Trials(4, progress=told.append))
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.parametrize("norm", [0.0, -1.0, float("inf")])
def test_a_reference_norm_that_makes_no_sense_is_refused(norm: float) -> None:
    with pytest.raises(ParameterError, match=r"^reference_norm must"):
        outlook(SHAPE, GOAL, reference_norm=norm, simulate=False)
