# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Events as JSON and back: nothing is lost, nothing is guessed."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.accounting import (
    Approximate,
    BestOf,
    BoundedRange,
    Gaussian,
    Laplace,
    ParallelParts,
    Poisson,
    Pure,
    RandomizedResponse,
    ReplaceOneOnly,
    Runs,
    ThresholdedValues,
    WithoutReplacement,
)
from dperm.accounting.serialize import VERSION, event_from_json, event_to_json
from dperm.errors import EventFormatError, ParameterError

POSITIVE = st.floats(min_value=1e-2, max_value=1e10)
STRENGTH = st.floats(min_value=0.0, max_value=500.0)
DELTA = st.floats(min_value=0.0, max_value=1.0, exclude_max=True)
RATE = st.floats(min_value=1e-12, max_value=1.0)
ADJACENCY = st.sampled_from(["add_remove", "replace_one"])
NOISE = st.one_of(st.builds(Gaussian, POSITIVE), st.builds(Laplace, POSITIVE))
BASES = st.one_of(
    NOISE,
    st.builds(Pure, STRENGTH, ADJACENCY),
    st.builds(Approximate, STRENGTH, DELTA, ADJACENCY),
)
SINGLES = st.one_of(
    BASES,
    st.builds(RandomizedResponse, STRENGTH, st.integers(2, 10**6)),
    st.builds(ReplaceOneOnly, NOISE),
    st.builds(BoundedRange, STRENGTH, ADJACENCY),
    st.builds(ThresholdedValues, st.floats(1.0, 1e10), st.floats(1.0, 1e15), st.integers(1, 10**4)),
    st.builds(Poisson, BASES, RATE),
    st.builds(WithoutReplacement, BASES, RATE),
)
RUNS = st.one_of(
    st.builds(Runs.geometric, st.floats(1.0, 1e6)),
    st.builds(Runs.logarithmic, st.floats(1.0, 1e6)),
    st.builds(Runs.negative_binomial, st.floats(0.01, 3.0), st.floats(1e-3, 1.0)),
    st.builds(Runs.poisson, st.floats(1e-6, 1e6)),
)
EVENTS = st.recursive(
    SINGLES,
    lambda inner: st.one_of(
        st.builds(lambda event, count: event * count, inner, st.integers(1, 400)),
        st.builds(lambda first, second: first + second, inner, inner),
        st.builds(lambda first, second: ParallelParts((first, second)), inner, inner),
        st.builds(BestOf, inner, RUNS),
    ),
    max_leaves=6,
)


def refuse_constant(name):
    raise AssertionError(f"{name} is not standard JSON")


@given(EVENTS)
@settings(max_examples=200)
def test_every_event_survives_the_round_trip(event):
    text = event_to_json(event)
    again = event_from_json(text)
    assert again == event and hash(again) == hash(event)
    assert list(again.singles()) == list(event.singles())
    assert event_to_json(again) == text
    assert "\n" not in text
    json.loads(text, parse_constant=refuse_constant)  # no NaN, no Infinity


def test_the_format_is_pinned():
    """What version 1 writes is read for ever: this text must never change."""
    event = (
        Poisson(Gaussian(1.0), rate=0.01) * 1000 + Approximate(0.5, 1e-6, "replace_one") + RandomizedResponse(1.0, 3)
    )
    assert json.loads(event_to_json(event)) == {
        "dperm_event": 1,
        "type": "composed",
        "events": [
            {
                "type": "repeated",
                "count": 1000,
                "event": {"type": "poisson", "rate": 0.01, "event": {"type": "gaussian", "noise_multiplier": 1.0}},
            },
            {"type": "approximate", "epsilon": 0.5, "delta": 1e-6, "adjacency": "replace_one"},
            {"type": "randomized_response", "epsilon": 1.0, "values": 3},
        ],
    }
    others = [Laplace(2.0), Pure(1.0, "add_remove"), WithoutReplacement(Laplace(1.0), rate=0.5)]
    assert [json.loads(event_to_json(other))["type"] for other in others] == ["laplace", "pure", "without_replacement"]


def test_numpy_scalars_are_written_as_plain_numbers():
    event = Poisson(Gaussian(np.float32(1.5)), rate=np.float64(0.25)) * np.int64(7)
    assert event_from_json(event_to_json(event)) == Poisson(Gaussian(1.5), rate=0.25) * 7


GAUSSIAN = {"dperm_event": VERSION, "type": "gaussian", "noise_multiplier": 1.0}


@pytest.mark.parametrize("version", [0, 2, -1, 1.0, 1.5, "1", True, None, [1]])
def test_another_version_is_refused_by_number(version):
    with pytest.raises(EventFormatError, match="Read it with the version that wrote it") as caught:
        event_from_json(json.dumps({**GAUSSIAN, "dperm_event": version}))
    assert repr(version) in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gaussian",
        "{",
        "[]",
        "1",
        "null",
        '"gaussian"',
        "{}",
        '{"type": "gaussian"}',
        None,
        5,
        ["{}"],
        {"type": "x"},
    ],
)
def test_what_is_no_stored_event_is_refused(text):
    with pytest.raises(EventFormatError):
        event_from_json(text)


def test_bottomless_nesting_is_refused():
    with pytest.raises(EventFormatError):
        event_from_json('{"dperm_event": 1, "type": "repeated", "count": 2, "event":' * 100_000)


INNER = {"type": "gaussian", "noise_multiplier": 1.0}


@pytest.mark.parametrize("kind", ["shuffled", "Gaussian", "", None, 1, ["gaussian"], {"type": "gaussian"}])
def test_an_unknown_type_is_refused_with_the_list_of_those_known(kind):
    """T27: a shuffled loader above all is not read as something else."""
    with pytest.raises(EventFormatError, match=r"unknown event type .*gaussian.*poisson.*without_replacement"):
        event_from_json(json.dumps({**GAUSSIAN, "type": kind}))


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "gaussian"},
        {"type": "gaussian", "noise_multiplier": 1.0, "sensitivity": 2.0},
        {"type": "gaussian", "sigma": 1.0},
        {"type": "gaussian", "noise_multiplier": 1.0, "dperm_event": 1, "count": 3},
        {"type": "pure", "epsilon": 1.0},
        {"type": "pure", "epsilon": 1.0, "delta": 0.0, "adjacency": "add_remove"},
        {"type": "poisson", "rate": 0.1},
        {"type": "poisson", "event": INNER},
        {"type": "poisson", "event": INNER, "rate": 0.1, "count": 5},
        {"type": "poisson", "event": {**INNER, "dperm_event": 1}, "rate": 0.1},
        {"type": "replace_one_only"},
        {"type": "replace_one_only", "event": INNER, "adjacency": "replace_one"},
        {"type": "replace_one_only", "event": INNER, "rate": 1.0},
        {"type": "replace_one_only", "noise_multiplier": 1.0},
        {"type": "repeated", "event": INNER},
        {"type": "repeated", "count": 2},
        {"type": "repeated", "count": 2, "event": INNER, "times": 3},
        {"type": "composed"},
        {"type": "composed", "events": []},
        {"type": "composed", "events": INNER},
        {"type": "composed", "events": None},
        {"type": "composed", "events": [INNER], "count": 1000},
        {"type": "composed", "events": [INNER, 5]},
        {"type": "repeated", "count": 2, "event": [INNER]},
    ],
    ids=str,
)
def test_missing_unknown_or_misplaced_fields_are_refused(fields):
    with pytest.raises(EventFormatError):
        event_from_json(json.dumps({"dperm_event": VERSION, **fields}))


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"type": "gaussian", "noise_multiplier": -1.0}, "noise_multiplier"),
        ({"type": "gaussian", "noise_multiplier": "1"}, "noise_multiplier"),
        ({"type": "gaussian", "noise_multiplier": True}, "noise_multiplier"),
        ({"type": "laplace", "noise_multiplier": math.nan}, "noise_multiplier"),
        ({"type": "laplace", "noise_multiplier": math.inf}, "noise_multiplier"),
        ({"type": "pure", "epsilon": math.inf, "adjacency": "add_remove"}, "epsilon"),
        ({"type": "approximate", "epsilon": 1, "delta": 1, "adjacency": "add_remove"}, "delta"),
        ({"type": "pure", "epsilon": 1, "adjacency": "zero_out"}, "adjacency"),
        ({"type": "randomized_response", "epsilon": 1, "values": 1}, "values"),
        ({"type": "poisson", "event": INNER, "rate": 1.5}, "rate"),
        ({"type": "poisson", "event": {"type": "repeated", "count": 2, "event": INNER}, "rate": 0.5}, "Poisson"),
        ({"type": "replace_one_only", "event": {"type": "replace_one_only", "event": INNER}}, "event must be one"),
        ({"type": "replace_one_only", "event": {"type": "poisson", "event": INNER, "rate": 0.5}}, "event must be one"),
        ({"type": "poisson", "event": {"type": "replace_one_only", "event": INNER}, "rate": 0.5}, "Poisson"),
        ({"type": "repeated", "event": INNER, "count": 0}, "count"),
        ({"type": "repeated", "event": INNER, "count": 2.0}, "count"),
        ({"type": "composed", "events": [{"type": "gaussian", "noise_multiplier": 0}]}, "noise_multiplier"),
    ],
    ids=str,
)
def test_invalid_values_inside_json_are_refused_by_name(fields, named):
    with pytest.raises(EventFormatError, match=named):
        event_from_json(json.dumps({"dperm_event": VERSION, **fields}))


@pytest.mark.parametrize("thing", [5, None, "gaussian", Gaussian, {"type": "gaussian"}])
def test_only_events_are_written(thing):
    with pytest.raises(ParameterError, match="must be an event"):
        event_to_json(thing)
