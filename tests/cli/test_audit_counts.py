# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit rates``, ``guesses``, ``one-run``: golden numbers, verdicts, refusals."""

import json

import pytest

RATES = "audit rates --true-positives 900 --members 1000 --false-positives 100 --non-members 1000"
GOLDEN = [
    (RATES, 1.9897063137037165),
    (f"{RATES} --gaussian --delta 1e-5", 12.197562752672408),
    (
        "audit rates --true-positives 500 --members 1000 --false-positives 10 --non-members 1000 --delta 1e-5",
        3.2419952494409845,
    ),
    ("audit guesses --correct 900 --guesses 1000", 2.021233233548992),
    ("audit one-run --correct 90 --guesses 100 --canaries 1000", 1.630823),
    ("audit one-run --correct 90 --guesses 100 --canaries 1000 --delta 1e-5", 1.626144),
    ("audit one-run --correct 90 --guesses 100 --canaries 1000 --delta 1e-5 --gaussian", 2.456405),
]


@pytest.mark.parametrize(("line", "epsilon"), GOLDEN, ids=range(len(GOLDEN)))
def test_the_golden_numbers(answered, line, epsilon):
    found = answered(line)
    assert found["bound"]["epsilon"] == pytest.approx(epsilon, rel=1e-6) and found["finding"] is None
    assert ("Gaussian" in found["bound"]["assumes"]) is ("--gaussian" in line)


def test_guesses_with_a_delta_and_under_a_gaussian_trade_off(answered):
    pure, some, gaussian = (
        answered(f"audit guesses --correct 900 --guesses 1000 {more}")["bound"]
        for more in ("", "--delta 1e-3", "--delta 1e-3 --gaussian")
    )
    assert some["epsilon"] < pure["epsilon"] < gaussian["epsilon"] and some["delta"] == 1e-3


def test_the_number_that_is_shown_is_not_above_the_bound(dperm):
    said = dperm(RATES).stdout
    assert said.startswith("epsilon >= 1.989706 at delta 0, with 95 % confidence.") and "A2" in said


@pytest.mark.parametrize(
    ("line", "violated"),
    [
        (f"{RATES} --claimed-epsilon 1 --adjacency add_remove", True),
        (f"{RATES} --claimed-epsilon 2 --adjacency add_remove", False),
        ("audit guesses --correct 900 --guesses 1000 --claimed-epsilon 2 --adjacency replace_one", True),
        ("audit one-run --correct 90 --guesses 100 --canaries 1000 --claimed-epsilon 1.6 --adjacency add_remove", True),
    ],
)
def test_a_claim_below_the_bound_is_refuted_with_code_five(dperm, line, violated):
    result = dperm(line)
    assert result.exit_code == (5 if violated else 0) and ("VIOLATION" in result.stdout) is violated
    data = json.loads(dperm(line, "--json").stdout)
    assert data["finding"]["violation"] is violated and data["finding"]["claimed"]["adjacency"] in line


def test_a_gaussian_bound_refutes_no_bare_epsilon_and_says_why(dperm):
    result = dperm(f"{RATES} --gaussian --delta 1e-5 --claimed-epsilon 4 --adjacency add_remove")
    assert result.exit_code == 0 and "only if the trade-off is Gaussian, which is not claimed" in result.stdout


BAD = [
    (f"{RATES} --gaussian", "--gaussian needs --delta"),
    (RATES.replace("900", "0.9"), "'0.9' is not a whole number: give a count"),
    (f"{RATES} --claimed-epsilon 1", "--adjacency is missing"),
    (f"{RATES} --adjacency add_remove", "--claimed-epsilon"),
    (f"{RATES} --claimed-epsilon 1 --adjacency nearby", "nearby"),
    (f"{RATES} --confidence 1", "--confidence"),
    (f"{RATES} --delta 1", "delta"),
    (RATES.replace("--members 1000", "--members 800"), "--true-positives must be a whole number from 0 to 800"),
    ("audit guesses --correct 5 --guesses 4", "--correct must"),
    ("audit one-run --correct 5 --guesses 40 --canaries 30", "--guesses must"),
    ("audit rates --true-positives 1", "--members"),
]


@pytest.mark.parametrize(("line", "word"), BAD, ids=range(len(BAD)))
def test_what_makes_no_sense_is_refused(refused, line, word):
    assert word in refused(line)


BASELINES = {
    RATES: "true-positive rate 90 %; by guessing it equals the false-positive rate, 10 %",
    "audit guesses --correct 27 --guesses 50": "27 of 50 guesses correct; 25 expected by chance",
    "audit one-run --correct 90 --guesses 101 --canaries 1000": "90 of 101 guesses correct; 50.5 expected by chance",
}


@pytest.mark.parametrize("line", BASELINES)
def test_every_count_stands_beside_its_baseline_with_one_explaining_sentence(dperm, answered, line):
    said, found = dperm(line).stdout, answered(line)
    assert BASELINES[line] in said and "An attack that learns nothing gives a bound of 0." in said
    assert found["baseline"] == BASELINES[line] and found["bound"]["no_leak_epsilon"] == 0.0
    claimed = f"{line} --claimed-epsilon 3 --adjacency add_remove"
    assert "A lower bound above 0 is not a leak" in dperm(claimed).stdout
    finding = answered(claimed)["finding"]
    assert finding["bounds"]["attack"]["claimed_epsilon"] == 3.0 and "is not a leak" in finding["explanation"]
