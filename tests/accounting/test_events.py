# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Events as values: their algebra, what they accept, and the one clear error that nonsense gets."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from dperm.accounting import (
    Approximate,
    Gaussian,
    Laplace,
    Poisson,
    Pure,
    RandomizedResponse,
    ReplaceOneOnly,
    WithoutReplacement,
)
from dperm.accounting.event import Composed, Event, Repeated
from dperm.checks import shown
from dperm.errors import AdjacencyError, ParameterError
from dperm.privacy.adjacency import Adjacency

SINGLES = [
    Gaussian(1.5),
    Laplace(2.0),
    Pure(0.5, "add_remove"),
    Approximate(0.5, 1e-6, "replace_one"),
    RandomizedResponse(1.0, 4),
    ReplaceOneOnly(Gaussian(1.5)),
    Poisson(Gaussian(1.0), rate=0.01),
    Poisson(Laplace(1.0), rate=0.01),
    WithoutReplacement(Gaussian(1.0), rate=0.1),
    WithoutReplacement(Pure(1.0, "replace_one"), rate=0.1),
]
every_single = pytest.mark.parametrize("event", SINGLES, ids=str)


def counts(event):
    """Elementary events with their repetitions, in order."""
    return list(event.singles())


@every_single
def test_an_event_is_repeated_from_either_side(event):
    assert event * 3 == 3 * event == Repeated(event, 3)
    assert counts(event * 3) == [(event, 3)]


@every_single
def test_once_is_the_event_itself(event):
    assert event * 1 is event


@every_single
def test_repetitions_of_repetitions_multiply_in_one_place(event):
    assert (event * 3) * 4 == event * 12
    assert counts(2 * (event * 3 + event) * 5) == [(event, 30), (event, 10)]


def test_a_product_of_counts_is_a_count_too():
    assert (Gaussian(1.0) * 10**5 * 10**4).count == 10**9
    with pytest.raises(ParameterError, match="count must be a whole number"):
        Gaussian(1.0) * 10**5 * 10**5


def test_a_composition_holds_at_least_one_event():
    with pytest.raises(ParameterError, match="at least one event"):
        Composed(())


def test_composition_is_flat_and_keeps_the_order():
    a, b, c = SINGLES[:3]
    assert (a + b) + c == a + (b + c) == Composed((a, b, c))
    assert counts(a * 2 + b + c * 3) == [(a, 2), (b, 1), (c, 3)]
    assert a + b != b + a  # as values; their privacy is the same (tests/laws)


def test_a_composition_is_repeated_as_a_whole():
    a, b = SINGLES[:2]
    assert counts((a + b * 2) * 10) == [(a, 10), (b, 20)]


@every_single
def test_events_are_frozen_and_compare_by_value(event):
    twin = dataclasses.replace(event)
    assert twin == event and hash(twin) == hash(event) and twin is not event
    assert len({event, twin, event * 2, twin * 2, event + event, twin + twin}) == 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.epsilon = 1.0


def test_different_parameters_are_different_events():
    assert len(set(SINGLES)) == len(SINGLES)
    assert Gaussian(1.0) != Laplace(1.0)
    assert Poisson(Gaussian(1.0), rate=0.1) != WithoutReplacement(Gaussian(1.0), rate=0.1)
    assert Pure(1.0, "add_remove") != Pure(1.0, "replace_one")


@pytest.mark.parametrize("number", [np.float64(2.0), np.float32(2.0), np.int64(2), np.uint8(2), 2, Fraction(2)])
def test_numpy_scalars_and_integers_become_plain_floats(number):
    for event in (Gaussian(number), Laplace(number)):
        assert type(event.noise_multiplier) is float and event == type(event)(2.0)
    assert type(Pure(number, "add_remove").epsilon) is float
    assert type(Approximate(number, np.float64(1e-6), "add_remove").delta) is float
    assert type(Poisson(Gaussian(1.0), rate=np.float32(0.5)).rate) is float


@pytest.mark.parametrize("count", [np.int64(3), np.int32(3), np.uint16(3)])
def test_numpy_counts_become_plain_integers(count):
    for repeated in (Gaussian(1.0) * count, count * Gaussian(1.0), Repeated(Gaussian(1.0), count)):
        assert type(repeated.count) is int and repeated == Gaussian(1.0) * 3
    assert type(RandomizedResponse(1.0, count).values) is int


def test_an_adjacency_is_given_by_name_or_as_a_member():
    assert Pure(1.0, "add_remove") == Pure(1.0, Adjacency.ADD_REMOVE)
    assert Approximate(1.0, 0.1, adjacency="replace_one").adjacency is Adjacency.REPLACE_ONE


@pytest.mark.parametrize("adjacency", [None, "", "remove", "ADD_REMOVE", 1, True])
@pytest.mark.parametrize("make", [lambda a: Pure(1.0, a), lambda a: Approximate(1.0, 1e-6, a)])
def test_an_unknown_adjacency_is_refused_with_both_names(make, adjacency):
    with pytest.raises(AdjacencyError, match=r"replace_one.*add_remove.*no default") as caught:
        make(adjacency)
    assert repr(adjacency) in str(caught.value)


NOT_POSITIVE = [
    0,
    -1.0,
    0.0,
    -0.0,
    math.nan,
    math.inf,
    -math.inf,
    True,
    "1",
    None,
    [1.0],
    np.array([1.0]),
    1j,
    10**400,
    0.0099,
    1.1e10,
]
NOT_RATES = [0, 0.0, 1e-13, -0.1, 1.0000001, 2, math.nan, math.inf, True, "0.1", None]
NOT_STRENGTHS = [-1e-300, -1, 501.0, math.nan, math.inf, False, "1", None, 1j]
NOT_DELTAS = [-1e-300, 1.0, 1, 2, math.nan, True, "0", None]
NOT_COUNTS = [0, -1, 1.5, 2.0, 10**9 + 1, 10**400, math.nan, math.inf, True, "3", None, np.float64(3), Fraction(3)]
NOT_ANSWERS = [0, 1, -2, 2.5, 2.0, True, "2", None]

NONSENSE = [
    *(("noise_multiplier", make, value) for make in (Gaussian, Laplace) for value in NOT_POSITIVE),
    *(("rate", lambda q: Poisson(Gaussian(1.0), rate=q), value) for value in NOT_RATES),
    *(("rate", lambda q: WithoutReplacement(Laplace(1.0), rate=q), value) for value in NOT_RATES),
    *(("epsilon", lambda e: Pure(e, "add_remove"), value) for value in NOT_STRENGTHS),
    *(("epsilon", lambda e: Approximate(e, 1e-6, "add_remove"), value) for value in NOT_STRENGTHS),
    *(("epsilon", RandomizedResponse, value) for value in NOT_STRENGTHS),
    *(("delta", lambda d: Approximate(1.0, d, "add_remove"), value) for value in NOT_DELTAS),
    *(("values", lambda k: RandomizedResponse(1.0, k), value) for value in NOT_ANSWERS),
    *(("count", lambda k: Gaussian(1.0) * k, value) for value in NOT_COUNTS),
    *(("count", lambda k: k * Gaussian(1.0), value) for value in NOT_COUNTS if not isinstance(value, np.generic)),
    *(("count", lambda k: Repeated(Gaussian(1.0), k), value) for value in NOT_COUNTS),
]


@pytest.mark.parametrize(("name", "make", "value"), NONSENSE)
def test_nonsense_gets_one_error_that_names_argument_value_and_remedy(name, make, value):
    with pytest.raises(ParameterError) as caught:
        make(value)
    message = str(caught.value)
    assert message.startswith(f"{name} must be a ")  # what to give instead
    assert f"got {shown(value)}." in message
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert "\n" not in message


@pytest.mark.parametrize("make", [Gaussian, Laplace])
def test_a_wrong_noise_multiplier_is_told_what_it_is_relative_to(make):
    with pytest.raises(ParameterError, match="over the sensitivity of one record added or removed"):
        make(-1.0)


@pytest.mark.parametrize("sampler", [Poisson, WithoutReplacement])
@pytest.mark.parametrize(
    "base",
    [
        RandomizedResponse(1.0),
        Gaussian(1.0) * 2,
        Gaussian(1.0) + Laplace(1.0),
        Poisson(Gaussian(1.0), rate=0.5),
        Gaussian,
        1.0,
        "gaussian",
        None,
    ],
    ids=str,
)
def test_only_one_plain_mechanism_is_sampled(sampler, base):
    with pytest.raises(ParameterError) as caught:
        sampler(base, rate=0.1)
    message = str(caught.value)
    assert message.startswith(sampler.__name__) and repr(base) in message
    assert f"{sampler.__name__}(Gaussian(1.0), rate=0.01) * 1000" in message  # the remedy


@every_single
@pytest.mark.parametrize("other", [1, 0, 1.5, "gaussian", None, (1,)])
def test_only_an_event_can_be_added(event, other):
    with pytest.raises(ParameterError, match=r"composed with an event, got .*Use event \* count") as caught:
        event + other
    assert repr(other) in str(caught.value)


@every_single
def test_every_event_says_what_its_privacy_rests_on(event):
    """Tags such as T6, T9, T13, T14, T21, T22, T24, T25 under every adjacency in which it is accounted."""
    assert isinstance(event, Event)
    for adjacency in Adjacency:
        try:
            event.reading(adjacency)
        except AdjacencyError:
            continue
        tags = event.tags(adjacency)
        assert tags and all(tag[0] == "T" and tag[1:].isdigit() for tag in tags)


def test_a_shuffled_loader_has_no_event():
    """T27: there is nothing to mistake it for; the two samplers are named after what they are."""
    import dperm.accounting

    public = {name for name in vars(dperm.accounting) if name[0].isupper()}
    assert not {name for name in public if "huffl" in name}
    assert {"Poisson", "WithoutReplacement"} <= public
