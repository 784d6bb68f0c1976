# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Which data sets count as neighbours (convention C0.1): the first word of every privacy claim."""

from enum import Enum

from dperm.checks import shown
from dperm.errors import AdjacencyError


class Adjacency(Enum):
    """The neighbouring relation of a guarantee; required everywhere, mixed nowhere."""

    REPLACE_ONE = "replace_one"
    """Same public n, one record substituted."""

    ADD_REMOVE = "add_remove"
    """One record added or removed; n itself is private."""

    @classmethod
    def of(cls, adjacency: "Adjacency | str | None") -> "Adjacency":
        """The member named by ``adjacency`` (a member or its string).

        Raises
        ------
        AdjacencyError
            If it names neither relation.
        """
        if isinstance(adjacency, cls):
            return adjacency
        for member in cls:
            if adjacency == member.value:
                return member
        raise AdjacencyError(
            f'adjacency must be "replace_one" (same n, one record substituted) or "add_remove" '
            f"(one record added or removed), got {shown(adjacency)}. They promise different "
            f"things, so there is no default for what names neither."
        )

    @property
    def directions(self) -> "tuple[Direction, ...]":
        """The ordered pairs that have to be accounted, each composed on its own (T22, T23)."""
        if self is Adjacency.ADD_REMOVE:
            return (Direction.REMOVE, Direction.ADD)
        return (Direction.REPLACE,)


class Direction(Enum):
    """One order of a neighbouring pair: the privacy loss of M(D) against M(D')."""

    REMOVE = "remove"
    """D has the record, D' does not."""

    ADD = "add"
    """D' has the record, D does not."""

    REPLACE = "replace"
    """D and D' differ in one record; every pair used here is symmetric, so one order stands for both."""
