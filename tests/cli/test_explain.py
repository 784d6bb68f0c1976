# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm explain``."""

import json
import re
from decimal import Decimal

import pytest

from dperm import GDP, ZCDP, ApproxDP, Gaussian, Laplace, Poisson, account, explain
from dperm.accounting.serialize import event_from_json, event_to_json
from dperm.cli.output import typed

SUBJECTS = {
    "--epsilon 1 --delta 1e-6": ApproxDP(1.0, 1e-6, "replace_one"),
    "--epsilon 1 --delta 0": ApproxDP(1.0, 0.0, "replace_one"),
    "--mu 1": GDP(1.0, "replace_one"),
    "--mu 0": GDP(0.0, "replace_one"),
    "--rho 0.1": ZCDP(0.1, "replace_one"),
    "'gaussian(3) * 4' 'laplace(9)'": account(Gaussian(3.0) * 4 + Laplace(9.0), "replace_one"),
}


@pytest.mark.parametrize("line", SUBJECTS)
def test_json_agrees_with_the_library(answered, line):
    found = answered(f"explain --adjacency replace_one {line}")
    expected = explain(SUBJECTS[line]).as_dict()
    assert {key: found[key] for key in expected} == json.loads(json.dumps(expected, allow_nan=False))
    assert set(found) - set(expected) <= {"guarantee", "event"}


def test_json_says_what_was_explained(answered):
    promised = answered("explain --adjacency replace_one --epsilon 1 --delta 1e-6")["guarantee"]
    assert promised == {"kind": "ApproxDP", "epsilon": 1.0, "delta": 1e-6, "adjacency": "replace_one"}
    spent = answered("explain --adjacency add_remove 'gaussian(2) * 3'")["event"]
    assert event_from_json(json.dumps(spent)) == Gaussian(2.0) * 3


@pytest.mark.parametrize("line", SUBJECTS)
def test_the_table_has_every_number_rounded_up_and_both_sentences(dperm, line):
    out = dperm(f"explain --adjacency replace_one {line}").stdout
    explanation = explain(SUBJECTS[line])
    shown = {text.strip(): number for text, _, number in (row.rstrip().rpartition("  ") for row in out.splitlines())}
    surprise = typed(explanation.surprise)
    numbers = {
        **{f"true-positive rate at false-positive rate {x:g}": y for x, y in explanation.true_positive_rates},
        "attack advantage: true- minus false-positive rate": explanation.advantage,
        "accuracy of a guess, with even prior odds": explanation.accuracy,
        f"posterior belief, with even prior odds, exceeded with probability {surprise}": explanation.posterior,
        **{f"epsilon at delta {typed(delta)}": epsilon for delta, epsilon in explanation.epsilons},
    }
    for text, number in numbers.items():
        assert Decimal(shown[text].replace("infinite", "Infinity")) >= Decimal(number)
    mu = re.search(r"Nearest Gaussian mu: (\S+) \(an approximation, not a bound\)", out)
    assert mu is not None and Decimal(mu[1]) >= Decimal(explanation.gdp_mu)
    for sentence in explanation.sentences:
        assert sentence in out


def test_an_epsilon_that_does_not_exist_is_null_in_json_and_a_word_in_the_table(answered, dperm):
    line = "explain --adjacency add_remove --epsilon 1 --delta 1e-6"
    assert answered(line)["epsilons"][-1] == {"delta": 1e-9, "epsilon": None}
    assert "infinite" in dperm(line).stdout


def test_what_can_be_told_apart_has_no_closest_mu(answered, dperm):
    line = "explain --adjacency add_remove --mu 100"
    assert answered(line)["gdp_mu"] is None
    assert "none" in dperm(line).stdout


def test_the_surprise_can_be_chosen(answered):
    found = answered("explain --adjacency add_remove --mu 1 --surprise 0.01")
    assert found["surprise"] == 0.01
    assert found["posterior"] == explain(GDP(1.0, "add_remove"), surprise=0.01).posterior


def test_an_event_file_is_explained(answered, tmp_path):
    file = tmp_path / "event.json"
    event = Poisson(Gaussian(2.0), rate=0.1)
    file.write_text(event_to_json(event))
    found = answered("explain --adjacency add_remove", "--event-file", str(file))
    assert found["advantage"] == account(event, "add_remove").delta(0.0)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--mu 1", ["--adjacency add_remove", "--adjacency replace_one", "There is no default"]),
        ("--adjacency add_remove --delta 1e-6 'gaussian(1)'", ["events take no --delta", "dperm account"]),
        ("--adjacency add_remove --epsilon 1 --delta 0 'gaussian(1)'", ["events take no --epsilon and no --delta"]),
        ("--adjacency add_remove --mu abc", ["--mu", "'abc'"]),
        ("--adjacency add_remove --mu 1 --surprise abc", ["--surprise", "'abc'"]),
        ("--adjacency both --mu 1", ["adjacency must be"]),
        ("--adjacency add_remove", ["one subject", "--mu", "events"]),
        ("--adjacency add_remove --epsilon 1", ["--delta 0"]),
        ("--adjacency add_remove --delta 1e-6", ["--epsilon and --delta belong together"]),
        ("--adjacency add_remove --mu 1 --rho 1", ["one guarantee", "GDP(mu=1.0", "ZCDP(rho=1.0"]),
        ("--adjacency add_remove --mu 1 'gaussian(1)'", ["one subject"]),
        ("--adjacency add_remove --mu -1", ["--mu", "-1.0"]),
        ("--adjacency add_remove --rho nan", ["--rho", "nan"]),
        ("--adjacency add_remove --epsilon -1 --delta 0", ["--epsilon", "-1.0"]),
        ("--adjacency add_remove --epsilon 1 --delta 1", ["--delta", "1.0"]),
        ("--adjacency add_remove --mu 1 --surprise 2", ["--surprise", "2.0"]),
        ("--adjacency add_remove 'gaussian(?)'", ["dperm calibrate"]),
        ("--adjacency add_remove 'gaussian(0)'", ["noise_multiplier"]),
        ("--adjacency add_remove 'randomized_response(1)'", ["T9"]),
    ],
)
def test_a_wrong_request_is_refused_by_the_name_of_what_is_wrong(refused, line, words):
    said = refused(f"explain {line}")
    for word in words:
        assert word in said
