# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm calibrate``."""

import json
import re

import pytest

from dperm import Approximate, Gaussian, Laplace, Poisson, Pure, account, calibrate
from dperm.accounting import PerturbedSoftmax
from dperm.accounting.serialize import event_from_json, event_to_json

TARGET = "calibrate --adjacency add_remove --epsilon 1 --delta 1e-5"

FAMILIES = {
    "poisson(gaussian(?), rate=0.01) * 1000": lambda s: Poisson(Gaussian(s), rate=0.01) * 1000,
    "laplace(?) * 5 + gaussian(20)": lambda s: Laplace(s) * 5 + Gaussian(20.0),
    "gaussian(?) + laplace(?)": lambda s: Gaussian(s) + Laplace(s),
    "poisson(gaussian(1), rate=?) * 1000": lambda q: Poisson(Gaussian(1.0), rate=q) * 1000,
    "pure(?) * 10": lambda e: Pure(e, "add_remove") * 10,
    "approximate(0.01, ?) * 10": lambda d: Approximate(0.01, d, "add_remove") * 10,
    "gaussian(40) * ?": lambda k: Gaussian(40.0) * int(k),
    "perturbed_softmax(?, 0.01, 5)": lambda s: PerturbedSoftmax(s, 0.01, 5),
}


def shown(out):
    """The parameter's name, its value and the epsilon beside it, as displayed."""
    header, _, row, *_ = out.splitlines()
    return header.split()[0], row.split()[0], row.split()[1]


@pytest.mark.parametrize("text", FAMILIES)
def test_the_displayed_value_meets_the_target(dperm, text):
    result = dperm(TARGET, text)
    assert result.exit_code == 0, result.output
    _, value, epsilon = shown(result.stdout)
    certified = account(FAMILIES[text](float(value)), "add_remove").epsilon(1e-5)
    assert certified <= 1.0
    assert certified <= float(epsilon) <= 1.0


@pytest.mark.parametrize("text", FAMILIES)
def test_json_has_the_certified_epsilon_at_the_value(answered, text):
    found = answered(TARGET, text)
    profile = account(FAMILIES[text](found["value"]), "add_remove")
    assert found["epsilon"] == profile.epsilon(1e-5) <= 1.0
    assert found["epsilon_bracket"] == list(profile.epsilon_bracket(1e-5))
    assert found["target"] == {"epsilon": 1.0, "delta": 1e-5}
    assert event_from_json(json.dumps(found["event"])) == FAMILIES[text](found["value"])


@pytest.mark.parametrize("text", list(FAMILIES)[:3])
def test_json_agrees_with_the_library(answered, text):
    found = answered(TARGET, text)
    assert found["parameter"] == "noise_multiplier"
    assert found["value"] == calibrate(FAMILIES[text], epsilon=1.0, delta=1e-5, adjacency="add_remove")


@pytest.mark.parametrize("text", [text for text in FAMILIES if "gaussian(?)" in text or "laplace(?)" in text])
def test_noise_is_rounded_up_and_by_little(dperm, answered, text):
    name, value, _ = shown(dperm(TARGET, text).stdout)
    exact = answered(TARGET, text)["value"]
    assert name == "noise_multiplier"
    assert exact <= float(value) <= exact * (1 + 1.1e-7)


def test_a_rate_is_rounded_down_and_by_little(dperm, answered):
    text = "poisson(gaussian(1), rate=?) * 1000"
    name, value, _ = shown(dperm(TARGET, text).stdout)
    exact = answered(TARGET, text)["value"]
    assert name == "rate"
    assert exact * (1 - 1.1e-7) <= float(value) <= exact


def test_a_count_is_the_largest_that_meets_the_target(answered):
    most = answered(TARGET, "gaussian(40) * ?")["value"]
    assert isinstance(most, int)
    assert account(Gaussian(40.0) * most, "add_remove").epsilon(1e-5) <= 1.0
    assert account(Gaussian(40.0) * (most + 1), "add_remove").epsilon(1e-5) > 1.0


def test_other_events_and_files_share_the_budget(answered, tmp_path):
    file = tmp_path / "event.json"
    file.write_text(event_to_json(Laplace(10.0)))
    found = answered(TARGET, "gaussian(?)", "gaussian(8)", "--event-file", str(file))
    event = Gaussian(found["value"]) + Gaussian(8.0) + Laplace(10.0)
    assert found["epsilon"] == account(event, "add_remove").epsilon(1e-5) <= 1.0


def test_bounds_are_respected(answered):
    exact = answered(TARGET, "gaussian(?)")["value"]
    assert answered(TARGET, "gaussian(?)", "--low", "3", "--high", "4")["value"] == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["gaussian(1)"], ["?"]),
        ([], ["an event is missing"]),
        (["poisson(gaussian(?), rate=?)"], ["noise_multiplier and rate"]),
        (["gaussian(?) * ?"], ["count and noise_multiplier"]),
        (["pure(?) + randomized_response(1, ?)"], ["epsilon and values"]),
        (["randomized_response(1, ?)"], ["values"]),
        (["gaussian(?)", "--low", "0"], ["--low", "0.0"]),
        (["gaussian(?)", "--high", "inf"], ["--high", "inf"]),
        (["gaussian(?)", "--low", "5", "--high", "3"], ["--low must be below --high"]),
        (["poisson(gaussian(1), rate=?)", "--high", "2"], ["--high is 2", "rate must be"]),
        (["gaussian(9) * ?", "--low", "0.5"], ["--low is 0.5", "count must be"]),
        (["laplace(9) * ?", "--high", "1e12"], ["1000000000"]),
        (["gaussian(?)", "--low", "0.1", "--high", "1"], ["no parameter", "--low and --high"]),
        (["poisson(gaussian(30), rate=?)"], ["every parameter", "--low and --high"]),
        (["gaussian(0.1) * ?"], ["no parameter"]),
        (["gaussian(?) + without_replacement(gaussian(1), 0.1)"], ["T21"]),
        (["gaussian(?", "laplace(1)"], ["never closed"]),
    ],
)
def test_a_wrong_request_is_refused_by_the_name_of_what_is_wrong(refused, more, words):
    said = refused(TARGET, *more)
    for word in words:
        assert word in said


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("--adjacency add_remove --epsilon 0 --delta 1e-5", "--epsilon"),
        ("--adjacency add_remove --epsilon nan --delta 1e-5", "--epsilon"),
        ("--adjacency add_remove --epsilon 1 --delta 1", "--delta"),
        ("--adjacency add_remove --epsilon 1", "--delta"),
        ("--adjacency add_remove --delta 1e-5", "--epsilon"),
        ("--epsilon 1 --delta 1e-5", "--adjacency add_remove .* --adjacency replace_one .* no default"),
        ("--adjacency add_remove --epsilon 1 --delta abc", "--delta.*'abc'"),
        ("--adjacency add_remove --epsilon 1 --delta 1e-5 --low abc", "--low.*'abc'"),
        ("--adjacency both --epsilon 1 --delta 1e-5", "adjacency must be"),
    ],
)
def test_a_wrong_target_is_refused_by_its_name(refused, line, word):
    assert re.search(word, refused(f"calibrate {line} 'gaussian(?)'"))


def test_the_pure_target_of_a_gaussian_does_not_exist(refused):
    assert "no parameter" in refused("calibrate --adjacency add_remove --epsilon 1 --delta 0 'gaussian(?)'")
