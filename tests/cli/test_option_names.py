# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The command line spells the arguments of the library as its own options."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import dperm
from dperm.cli import option_names
from dperm.cli.fit_request import FitRequest
from dperm.cli.option_names import describe_reason, option_name, spell_option
from dperm.errors import ParameterError
from dperm.presentation.facts import Fact
from dperm.presentation.spelling import arg

OUTLOOK = "plan expect --n 800 --dim 3 --epsilon 1 --quick"
FIT = "fit data.csv --target income --epsilon 1 --schema schema.toml --seed 1 --not-private"
PLAN = "plan fit --schema schema.toml --epsilon 1 --n 1500"


def test_options_have_the_names_of_arguments_or_those_of_one_table():
    assert option_name("request_id") == "--request-id" and option_name("random_state") == "--seed"


def test_an_error_names_the_option_of_the_table(refused, monkeypatch):
    line = f"{OUTLOOK} --feature-norm 0"
    assert "--feature-norm must be" in refused(line)
    monkeypatch.setitem(option_names.OPTIONS, "feature_norm", "--balance")
    assert "--balance must be" in refused(line)


def test_a_warning_names_the_option_of_the_table(desk, dperm, monkeypatch):
    assert "its noise is determined by --seed" in dperm(FIT).stderr
    monkeypatch.setitem(option_names.OPTIONS, "random_state", "--request-id")
    said = dperm(FIT, "--force").stderr
    assert "its noise is determined by --request-id" in said and "Leave out --request-id" in said


def test_a_plan_reason_names_the_option_of_the_table(desk, dperm, monkeypatch):
    reason = Fact(
        "test", "Gradients are clipped at {clip:g}. Give {@clip:{share}} to avoid it.", {"clip": 2, "share": 1.0}
    )
    planned = FitRequest.plan
    monkeypatch.setattr(FitRequest, "plan", lambda self: replace(planned(self), why=(reason, "A plain string.")))
    said = dperm(PLAN).stdout
    assert "clipped at 2. Give --clip 1.0 to avoid it." in said and "A plain string." in said
    monkeypatch.setitem(option_names.OPTIONS, "clip", "--C")
    assert "Give --C 1.0 to avoid it." in dperm(PLAN).stdout


def test_an_outlook_sentence_names_the_option_of_the_table(dperm, monkeypatch):
    said = dperm(OUTLOOK).stdout
    assert "Give --baseline if" in said and "with --method auto" in said
    monkeypatch.setitem(option_names.OPTIONS, "baseline", "--reference-norm")
    monkeypatch.setitem(option_names.OPTIONS, "method", "--account")
    renamed = dperm(OUTLOOK).stdout
    assert "Give --reference-norm if" in renamed and "with --account auto" in renamed


def test_arguments_that_are_no_options_of_the_command_are_spelled_as_in_python(refused):
    assert spell_option("n", "5") == "n=5"
    assert "noise_multiplier must be" in refused('account --adjacency add_remove --delta 1e-5 "gaussian(0)"')


@pytest.mark.parametrize(
    ("value", "text"),
    [('"sgd"', "sgd"), ("['main']", "main"), ("'two words'", "'two words'"), ("1.0", "1.0"), ("inf", "inf")],
)
def test_values_are_written_as_they_are_typed(monkeypatch, value, text):
    monkeypatch.setattr(option_names, "_options_of_the_command", lambda: {"--method"})
    assert spell_option("method", value) == f"--method {text}"


def test_reasons_may_be_strings_facts_or_errors(monkeypatch):
    monkeypatch.setattr(option_names, "_options_of_the_command", lambda: {"--n"})
    assert describe_reason("n=7 is text.") == "n=7 is text."
    assert describe_reason(Fact("code", "{@n:{n}} is enough.", {"n": 7})) == "--n 7 is enough."
    assert describe_reason(ParameterError(f"Leave {arg('n')} out.")) == "Leave --n out."


def test_no_module_of_the_command_line_rewrites_finished_sentences():
    sources = Path(dperm.__file__).parent.joinpath("cli").rglob("*.py")
    rewriting = {path.name for path in sources if re.search(r"re\.sub\(|\.sub\(", path.read_text(encoding="utf-8"))}
    assert rewriting <= {"event_parser.py", "bugs.py", "outlook.py"}  # input of the user, and the law of the noise
