# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The five guarantees: validated, frozen, with an adjacency, and readable."""

import copy
import dataclasses
import json
import math
import pickle

import numpy as np
import pytest

from dperm.errors import AdjacencyError, EventFormatError, ParameterError
from dperm.privacy import GDP, RDP, ZCDP, Adjacency, ApproxDP, Guarantee, PureDP
from dperm.privacy.guarantee import guarantee_as_dict, guarantee_from_dict

EXAMPLES = [
    (PureDP(1.0, "replace_one"), "PureDP(epsilon=1.0, adjacency=REPLACE_ONE)"),
    (ApproxDP(1.0, 1e-6, "replace_one"), "ApproxDP(epsilon=1.0, delta=1e-06, adjacency=REPLACE_ONE)"),
    (ZCDP(0.125, "add_remove"), "ZCDP(rho=0.125, adjacency=ADD_REMOVE)"),
    (GDP(1.0, "add_remove"), "GDP(mu=1.0, adjacency=ADD_REMOVE)"),
    (RDP([(8, 0.5), (2, 0.1)], "add_remove"), "RDP(curve=((2.0, 0.1), (8.0, 0.5)), adjacency=ADD_REMOVE)"),
]
kinds = pytest.mark.parametrize("guarantee", [guarantee for guarantee, _ in EXAMPLES], ids=str)


@pytest.mark.parametrize(("guarantee", "text"), EXAMPLES)
def test_it_reads_as_it_is_written(guarantee, text):
    assert str(guarantee) == text
    assert repr(guarantee) == text


@kinds
def test_it_is_frozen_hashable_and_survives_copy_and_pickle(guarantee):
    with pytest.raises(dataclasses.FrozenInstanceError):
        guarantee.adjacency = Adjacency.ADD_REMOVE
    for other in (copy.deepcopy(guarantee), pickle.loads(pickle.dumps(guarantee)), dataclasses.replace(guarantee)):
        assert other == guarantee
        assert hash(other) == hash(guarantee)


@kinds
def test_the_adjacency_is_part_of_the_promise(guarantee):
    """C0.1: the same numbers under the other relation are another guarantee."""
    others = {Adjacency.ADD_REMOVE: "replace_one", Adjacency.REPLACE_ONE: "add_remove"}
    assert dataclasses.replace(guarantee, adjacency=others[guarantee.adjacency]) != guarantee


@kinds
def test_it_is_a_guarantee_and_its_profile_is_not(guarantee):
    assert isinstance(guarantee, Guarantee)
    assert not isinstance(guarantee.profile(), Guarantee)


def test_a_string_and_a_member_make_equal_guarantees():
    assert PureDP(1.0, "add_remove") == PureDP(1.0, Adjacency.ADD_REMOVE)
    assert PureDP(1.0, "add_remove").adjacency is Adjacency.ADD_REMOVE


def test_numpy_scalars_become_plain_numbers():
    guarantee = ApproxDP(np.float32(0.5), np.float64(1e-6), "add_remove")
    assert (type(guarantee.epsilon), type(guarantee.delta)) == (float, float)
    assert type(GDP(np.int64(2), "add_remove").mu) is float
    assert RDP(np.array([[2.0, 0.1], [4.0, 0.2]]), "add_remove").curve == ((2.0, 0.1), (4.0, 0.2))


@pytest.mark.parametrize(
    "make",
    [lambda: PureDP(1.0), lambda: ApproxDP(1.0, 1e-6), lambda: ZCDP(1.0), lambda: GDP(1.0), lambda: RDP([(2, 1)])],
)
def test_there_is_no_default_adjacency(make):
    with pytest.raises(AdjacencyError, match=r"adjacency must be .* got None"):
        make()


@pytest.mark.parametrize("make", [PureDP, ZCDP, GDP])
def test_an_unknown_adjacency_is_refused(make):
    with pytest.raises(AdjacencyError, match="no default"):
        make(1.0, "swap")


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "1", True, None, 1j])
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("epsilon", lambda bad: PureDP(bad, "add_remove")),
        ("epsilon", lambda bad: ApproxDP(bad, 0.1, "add_remove")),
        ("delta", lambda bad: ApproxDP(1.0, bad, "add_remove")),
        ("rho", lambda bad: ZCDP(bad, "add_remove")),
        ("mu", lambda bad: GDP(bad, "add_remove")),
        ("alpha", lambda bad: RDP([(bad, 1.0)], "add_remove")),
        ("tau", lambda bad: RDP([(2.0, bad)], "add_remove")),
    ],
)
def test_nonsense_is_refused_by_name(name, make, bad):
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        make(bad)


def test_delta_one_promises_nothing_and_is_refused():
    with pytest.raises(ParameterError, match=r"^delta must be"):
        ApproxDP(1.0, 1.0, "add_remove")


@pytest.mark.parametrize("curve", [[], [(2.0, 0.1), (2, 0.2)], 3, "ab", [(1.0,)], [(2.0, 0.1, 0.3)]])
def test_a_curve_that_is_no_list_of_distinct_orders_is_refused(curve):
    with pytest.raises(ParameterError, match="must"):
        RDP(curve, "add_remove")


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_orders_are_above_one(alpha):
    """T16: alpha > 1."""
    with pytest.raises(ParameterError, match=r"^alpha must be a finite number > 1"):
        RDP([(alpha, 0.1)], "add_remove")


@kinds
def test_it_round_trips_through_json(guarantee):
    text = json.dumps(guarantee_as_dict(guarantee), allow_nan=False)
    assert guarantee_from_dict(json.loads(text)) == guarantee


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"kind": "Renyi", "adjacency": "add_remove"},
        {"kind": "PureDP", "adjacency": "add_remove"},
        {"kind": "PureDP", "epsilon": -1.0, "adjacency": "add_remove"},
        {"kind": "PureDP", "epsilon": 1.0, "adjacency": "swap"},
        {"kind": "PureDP", "epsilon": 1.0, "delta": 0.1, "adjacency": "add_remove"},
    ],
)
def test_malformed_data_is_refused(data):
    with pytest.raises(EventFormatError):
        guarantee_from_dict(data)
