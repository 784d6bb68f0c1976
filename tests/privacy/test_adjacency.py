# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Adjacency is required and never guessed (C0.1)."""

import pytest

from dperm.errors import AdjacencyError
from dperm.privacy import Adjacency, Direction


@pytest.mark.parametrize("member", Adjacency)
def test_a_member_and_its_string_name_the_same(member):
    assert Adjacency.of(member) is member
    assert Adjacency.of(member.value) is member


@pytest.mark.parametrize("bad", [None, "", "replace", "add/remove", "REPLACE_ONE", 1, True])
def test_anything_else_is_refused_with_the_two_names(bad):
    with pytest.raises(AdjacencyError, match=r"replace_one.*add_remove"):
        Adjacency.of(bad)


def test_add_remove_has_two_orders_and_replace_one_a_symmetric_one():
    """T22, T23: removal and addition are composed separately."""
    assert Adjacency.ADD_REMOVE.directions == (Direction.REMOVE, Direction.ADD)
    assert Adjacency.REPLACE_ONE.directions == (Direction.REPLACE,)
