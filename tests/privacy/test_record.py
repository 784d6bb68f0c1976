# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The facts of a release: plain data that round-trips, one adjacency, and a seed that voids the claim."""

import copy
import dataclasses
import json
import math
import pickle

import numpy as np
import pytest

from dperm.accounting import Gaussian, account, event_to_json
from dperm.accounting.stored_release import release_from_record
from dperm.errors import AdjacencyError, EventFormatError, ParameterError
from dperm.privacy import GDP, RDP, Adjacency, ApproxDP, PureDP, Record, Release

RECORD = Record(
    guarantee=ApproxDP(1.0, 1e-6, "replace_one"),
    event={"event": "Gaussian", "noise_multiplier": 3.7},
    theorems=("T6", "T22"),
    noise="lattice Gaussian, OS CSPRNG",
    eta=1e-9,
    tau=0.0,
    public={"n": 20_000, "feature_norm": 1.0, "classes": [0, 1]},
    versions={"dperm": "0.1.0"},
    timestamp="2026-01-01T00:00:00Z",
)


@pytest.mark.parametrize(
    "record",
    [
        RECORD,
        Record(PureDP(1.0, "add_remove"), {}),
        Record(RDP([(2.0, 0.5)], "add_remove"), {"nested": {"a": [1, None, True, "x"]}}, seeded=True),
    ],
)
def test_it_round_trips_through_json(record):
    assert Record.from_json(record.to_json()) == record
    assert pickle.loads(pickle.dumps(record)) == record
    assert copy.deepcopy(record) == record


def test_the_json_is_versioned_and_names_the_guarantee():
    data = json.loads(RECORD.to_json())
    assert data["format"] == 2
    assert data["guarantee"] == {"kind": "ApproxDP", "epsilon": 1.0, "delta": 1e-6, "adjacency": "replace_one"}


def test_the_adjacency_is_that_of_the_guarantee():
    assert RECORD.adjacency is Adjacency.REPLACE_ONE


def test_a_seeded_run_is_not_private():
    """T10: the theorems need randomness that nobody can repeat."""
    assert RECORD.is_private
    assert not dataclasses.replace(RECORD, seeded=True).is_private


def test_it_is_frozen_and_keeps_its_own_copy():
    event = {"rate": 0.1, "inner": [1, 2]}
    record = Record(GDP(1.0, "add_remove"), event)
    event["rate"] = 0.5
    event["inner"].append(3)
    assert record.event == {"rate": 0.1, "inner": [1, 2]}
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.seeded = True


def test_numpy_scalars_become_plain_numbers():
    record = Record(GDP(1.0, "add_remove"), {"n": np.int64(5), "rate": np.float32(0.5)})
    assert record.event == {"n": 5, "rate": 0.5}
    assert type(record.event["n"]) is int


@pytest.mark.parametrize("bad", [{"x": math.nan}, {"x": math.inf}, {"x": object()}, {"x": np.float64("nan")}, 3, None])
@pytest.mark.parametrize("name", ["event", "public", "versions"])
def test_what_json_cannot_say_is_refused_by_name(name, bad):
    with pytest.raises(ParameterError, match=f"^{name} must be a mapping of JSON values"):
        dataclasses.replace(RECORD, **{name: bad})


@pytest.mark.parametrize("bad", [-1.0, math.nan, "0"])
@pytest.mark.parametrize("name", ["eta", "tau"])
def test_inexactness_is_a_number(name, bad):
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        dataclasses.replace(RECORD, **{name: bad})


def test_a_record_needs_a_guarantee():
    with pytest.raises(ParameterError, match=r"^guarantee must be"):
        Record("1-DP", {})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"format": 1}',
        '{"format": 2}',
        RECORD.to_json().replace('"event"', '"evnt"'),
        '{"format": 1, "guarantee": 3}',
    ],
)
def test_malformed_text_is_refused(text):
    with pytest.raises(EventFormatError):
        Record.from_json(text)


def test_a_release_holds_one_adjacency():
    guarantee = RECORD.guarantee
    release = Release([1.0, 2.0], guarantee, guarantee.profile(), {"event": "Gaussian"}, RECORD)
    assert release.value == [1.0, 2.0]
    with pytest.raises(AdjacencyError, match="must have one adjacency"):
        dataclasses.replace(release, profile=GDP(1.0, "add_remove").profile())


def test_records_of_the_first_format_are_read_and_have_no_ledger():
    data = json.loads(RECORD.to_json()) | {"format": 1}
    del data["ledger"]
    found = Record.from_json(json.dumps(data))
    assert found.ledger == {}
    assert found == RECORD


def test_with_value_and_with_public_keep_the_rest_of_a_release():
    profile = RECORD.guarantee.profile()
    release = Release(1.5, RECORD.guarantee, profile, RECORD.event, RECORD)
    text = release.with_value("3/2")
    assert (text.value, text.record, text.profile) == ("3/2", RECORD, profile)
    named = release.with_public({"n": 7})
    assert named.record == dataclasses.replace(RECORD, public={"n": 7})
    assert (named.value, named.guarantee, named.event) == (release.value, release.guarantee, release.event)


def test_a_release_is_restored_from_its_record():
    event = Gaussian(4.0) * 3
    record = Record(ApproxDP(2.0, 1e-5, "add_remove"), json.loads(event_to_json(event)), theorems=("T6",))
    restored = release_from_record(Record.from_json(record.to_json()), [1.0])
    assert (restored.value, restored.guarantee, restored.event, restored.record) == (
        [1.0],
        record.guarantee,
        event,
        record,
    )
    assert restored.profile.epsilon(1e-5) == account(event, "add_remove").epsilon(1e-5)
    with pytest.raises(EventFormatError):
        release_from_record(RECORD, None)
