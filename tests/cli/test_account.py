# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm account``."""

import json
import re
from decimal import Decimal

import pytest

from dperm import Approximate, Gaussian, Laplace, Poisson, Pure, WithoutReplacement, account
from dperm.accounting import ReplaceOneOnly
from dperm.accounting.serialize import event_from_json, event_to_json
from dperm.cli import event_input
from dperm.errors import ParameterError

TRAINING = '"poisson(gaussian(1.0), rate=0.01) * 1000" "laplace(10) * 50" "pure(0.1)"'
EVENT = Poisson(Gaussian(1.0), rate=0.01) * 1000 + Laplace(10.0) * 50 + Pure(0.1, "add_remove")


def test_json_agrees_with_the_library(answered):
    found = answered(f"account --adjacency add_remove --delta 1e-5 --delta 1e-9 {TRAINING}")
    profile = account(EVENT, "add_remove")
    assert [row["delta"] for row in found["answers"]] == [1e-5, 1e-9]
    for row in found["answers"]:
        answer = profile.epsilon_answer(row["delta"])
        assert row["epsilon"] == profile.epsilon(row["delta"]) == answer.upper
        assert row["epsilon_bracket"] == [answer.lower, answer.upper]
        assert row["relative_width"] == answer.width
        assert (row["engine"], row["why"]) == (answer.engine, answer.why)
    assert found["adjacency"] == "add_remove"
    assert found["theorems"] == list(profile.tags)
    assert event_from_json(json.dumps(found["event"])) == EVENT


def test_json_agrees_with_the_library_for_deltas(answered):
    found = answered("account --adjacency replace_one --epsilon 1 'without_replacement(gaussian(2), rate=0.01) * 100'")
    profile = account(WithoutReplacement(Gaussian(2.0), rate=0.01) * 100, "replace_one")
    (row,) = found["answers"]
    assert row["epsilon"] == 1.0
    assert (row["delta"], row["delta_bracket"]) == (profile.delta(1.0), list(profile.delta_bracket(1.0)))


def test_an_event_that_is_read_through_add_remove_says_so(answered):
    found = answered("account --adjacency replace_one --delta 1e-5 'poisson(pure(1, add_remove), rate=0.1)'")
    profile = account(Poisson(Pure(1.0, "add_remove"), rate=0.1), "replace_one")
    (row,) = found["answers"]
    assert row["epsilon"] == profile.epsilon(1e-5)
    assert row["engine"] == "group"
    assert "T4" in found["theorems"]
    assert "T21" in found["theorems"]


@pytest.mark.parametrize(
    ("line", "events"),
    [
        ("--delta 1e-5 --delta 1e-9 'poisson(gaussian(1.3), rate=0.02) * 70'", Poisson(Gaussian(1.3), 0.02) * 70),
        ("--delta 1e-7 --delta 0.1 'gaussian(3.7) * 7' 'pure(0.3)'", Gaussian(3.7) * 7 + Pure(0.3, "add_remove")),
        ("--delta 0 'laplace(0.3)'", Laplace(0.3)),
    ],
)
def test_the_displayed_epsilon_is_never_below_the_certified_one(dperm, line, events):
    out = dperm(f"account --adjacency add_remove {line}").stdout
    rows = re.findall(r"^(\S+) +(\S+) +\[(\S+), (\S+)\] +(\S+)", out, re.MULTILINE)
    assert len(rows) == line.count("--delta")
    for delta, shown, low, high, width in rows:
        lower, upper = account(events, "add_remove").epsilon_bracket(float(delta))
        assert Decimal(shown) >= Decimal(upper)
        assert Decimal(low) <= Decimal(lower)
        assert Decimal(high) >= Decimal(upper)
        assert float(width) >= (upper - lower) / upper


def test_the_displayed_delta_is_never_below_the_certified_one(dperm):
    out = dperm("account --adjacency add_remove --epsilon 0 --epsilon 1.5 'gaussian(1.5) * 3'").stdout
    rows = re.findall(r"^(\S+) +(\S+) +\[", out, re.MULTILINE)
    assert [float(epsilon) for epsilon, _ in rows] == [0.0, 1.5]
    for epsilon, shown in rows:
        assert Decimal(shown) >= Decimal(account(Gaussian(1.5) * 3, "add_remove").delta(float(epsilon)))


def test_the_table_says_engine_reason_theorems_and_adjacency(dperm):
    out = dperm("account --adjacency add_remove --delta 1e-5 'poisson(gaussian(1), rate=0.01) * 100'").stdout
    for word in ("epsilon at most", "interval", "relative width", "contour", "T22", "add_remove", "moment generating"):
        assert word in out


def test_an_infinite_epsilon_is_null_in_json_and_a_word_in_the_table(answered, dperm):
    line = "account --adjacency add_remove --delta 1e-6 'approximate(0.1, 1e-5)'"
    assert account(Approximate(0.1, 1e-5, "add_remove"), "add_remove").epsilon(1e-6) == float("inf")
    assert answered(line)["answers"][0]["epsilon"] is None
    assert "infinite" in dperm(line).stdout


def test_an_event_is_written_and_read_back(answered, tmp_path):
    file = tmp_path / "event.json"
    whole = answered(f"account --adjacency add_remove --delta 1e-5 {TRAINING}", "--write-event", str(file))
    assert event_from_json(file.read_text()) == EVENT
    again = answered("account --adjacency add_remove --delta 1e-5", "--event-file", str(file))
    assert again["answers"] == whole["answers"]


def test_a_file_that_exists_is_not_overwritten(refused, tmp_path):
    file = tmp_path / "event.json"
    file.write_text("precious")
    said = refused("account --adjacency add_remove --delta 1e-5 'gaussian(1)'", "--write-event", str(file))
    assert "event.json exists" in said
    assert "--force" in said
    assert file.read_text() == "precious"


def test_a_file_that_appears_in_the_meantime_is_not_overwritten(tmp_path):
    file = tmp_path / "event.json"
    event_input.require_free(file, force=False)
    file.write_text("precious")
    with pytest.raises(ParameterError, match="exists and was not changed"):
        event_input.write_event(file, Gaussian(1.0), force=False)
    assert file.read_text() == "precious"


def test_a_file_that_exists_is_overwritten_by_force(answered, tmp_path):
    file = tmp_path / "event.json"
    file.write_text("worthless " * 1000)
    answered("account --adjacency add_remove --delta 1e-5 'gaussian(1)'", "--write-event", str(file), "--force")
    assert event_from_json(file.read_text()) == Gaussian(1.0)


@pytest.mark.parametrize(
    ("line", "advised"),
    [
        ("--delta 0 'gaussian(1)'", True),
        ("--delta 1e-5 --delta 0 'gaussian(1)'", True),
        ("--delta 0 'laplace(1)'", False),
        ("--delta 1e-6 'approximate(0.1, 1e-5)'", False),
        ("--epsilon 0 'gaussian(1)'", False),
    ],
)
def test_an_infinite_epsilon_at_delta_zero_comes_with_advice(dperm, line, advised):
    out = dperm(f"account --adjacency add_remove {line}").stdout
    assert ("Give a delta > 0, or use Laplace noise." in out) is advised


def test_a_rate_and_a_count_may_be_written_as_one_thinks_of_them(answered):
    found = answered("account --adjacency add_remove --delta 1e-5 'poisson(gaussian(1.1), rate=256/60000) * 1e3'")
    event = Poisson(Gaussian(1.1), 256 / 60_000) * 1000
    assert found["answers"][0]["epsilon"] == account(event, "add_remove").epsilon(1e-5)


def test_files_compose_with_each_other_and_with_events(answered, tmp_path):
    for name, event in (("a", Gaussian(4.0) * 2), ("b", Laplace(9.0))):
        (tmp_path / name).write_text(event_to_json(event))
    files = ["--event-file", str(tmp_path / "a"), "--event-file", str(tmp_path / "b")]
    found = answered("account --adjacency add_remove --delta 1e-5 'pure(0.1)'", *files)
    event = Pure(0.1, "add_remove") + Gaussian(4.0) * 2 + Laplace(9.0)
    assert found["answers"][0]["epsilon"] == account(event, "add_remove").epsilon(1e-5)


def test_a_file_may_hold_an_event_that_the_grammar_does_not_spell(answered, refused, tmp_path):
    """T4, T6: ReplaceOneOnly comes from a mechanism, in a file; it composes here, and is refused under add_remove."""
    file, event = tmp_path / "event.json", ReplaceOneOnly(Gaussian(4.0)) * 2
    file.write_text(event_to_json(event))
    found = answered("account --adjacency replace_one --delta 1e-5 'gaussian(9)'", "--event-file", str(file))
    assert found["answers"][0]["epsilon"] == account(Gaussian(9.0) + event, "replace_one").epsilon(1e-5)
    assert event_from_json(json.dumps(found["event"])) == Gaussian(9.0) + event
    said = refused("account --adjacency add_remove --delta 1e-5", "--event-file", str(file))
    assert "proved for" in said and "replace_one" in said


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "account --delta 1e-5 'gaussian(1)'",
            ["--adjacency add_remove", "--adjacency replace_one", "There is no default"],
        ),
        ("account --adjacency add_remove 'gaussian(1)'", ["--delta", "--epsilon"]),
        (
            "account --adjacency add_remove --delta 0.1 --epsilon 1 'gaussian(1)'",
            ["--delta and --epsilon are mutually"],
        ),
        ("account --adjacency add_remove --delta 1e-5", ["an event is missing", "--event-file"]),
        ("account --adjacency replace --delta 1e-5 'pure(1)'", ["adjacency must be", "'replace'"]),
        ("account --adjacency add_remove --delta 1 'gaussian(1)'", ["--delta", "1.0"]),
        ("account --adjacency add_remove --delta -1 'gaussian(1)'", ["--delta", "-1.0"]),
        ("account --adjacency add_remove --delta nan 'gaussian(1)'", ["--delta", "nan"]),
        ("account --adjacency add_remove --delta abc 'gaussian(1)'", ["--delta", "'abc'"]),
        ("account --adjacency add_remove --epsilon 1,5 'gaussian(1)'", ["--epsilon", "'1,5'"]),
        ("account --adjacency add_remove --epsilon -1 'gaussian(1)'", ["--epsilon", "-1.0"]),
        ("account --adjacency add_remove --epsilon inf 'gaussian(1)'", ["--epsilon", "inf"]),
        ("account --adjacency add_remove --delta 1e-5 'gaussian(-1)'", ["noise_multiplier", "-1", "  ^"]),
        ("account --adjacency add_remove --delta 1e-5 'gaussian(1'", ["never closed", "          ^"]),
        ("account --adjacency add_remove --delta 1e-5 'gaussian(?)'", ["dperm calibrate"]),
        ("account --adjacency add_remove --delta 1e-5 'randomized_response(1)'", ["replace_one", "T9"]),
        ("account --adjacency add_remove --delta 1e-5 'without_replacement(gaussian(1), 0.1)'", ["T21", "Poisson"]),
        ("account --adjacency add_remove --delta 1e-5 'pure(1, replace_one)'", ["replace_one", "T4"]),
        ("account --adjacency add_remove --delta 1e-5 '(laplace(1) * 100000) * 100000'", ["1000000000", "10000000000"]),
        ("account --adjacency add_remove --delta 1e-5 --event-file no-such-file", ["--event-file", "no-such-file"]),
        ("account --adjacency add_remove --delta 1e-5 --event-file .", ["--event-file"]),
        (
            "account --adjacency add_remove --delta 1e-5 'gaussian(1)' --write-event no-such-folder/x",
            ["no-such-folder/x"],
        ),
        ("account --no-such-option", ["--no-such-option"]),
    ],
)
def test_a_wrong_request_is_refused_by_the_name_of_what_is_wrong(refused, line, words):
    said = refused(line)
    for word in words:
        assert word in said


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b'{"dperm_event": 2, "type": "gaussian", "noise_multiplier": 1}',
        b'{"dperm_event": 1, "type": "gaussian", "noise_multiplier": -1}',
        b'{"dperm_event": 1, "type": "composed", "events": []}',
        b"\xff\xfe",
        b'{"dperm_event": 1, "type": "composed", "events": [' * 20_000,
        b'{"dperm_event": 1, "type": "composed", "events": [' + b"[" * 100_000 + b"]" * 100_000 + b"]}",
    ],
)
def test_a_file_that_is_not_an_event_is_refused(refused, tmp_path, content):
    file = tmp_path / "event.json"
    file.write_bytes(content)
    assert len(refused("account --adjacency add_remove --delta 1e-5", "--event-file", str(file))) < 1000


def test_nothing_is_written_if_the_request_is_refused(refused, tmp_path):
    file = tmp_path / "event.json"
    refused("account --adjacency add_remove --delta 1e-5 'randomized_response(1)'", "--write-event", str(file))
    assert not file.exists()
