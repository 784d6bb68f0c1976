# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Neighbouring relation between data sets (convention C0.1), part of every privacy claim."""

from enum import Enum

from dperm.checks import shown
from dperm.errors import AdjacencyError


class Adjacency(Enum):
    """Neighbouring relation of a guarantee: the pairs of data sets that count as neighbours.

    Every guarantee states its relation. Guarantees under different relations are never combined.

    Examples
    --------
    >>> from dperm import Adjacency
    >>> Adjacency("replace_one").directions
    (<Direction.REPLACE: 'replace'>,)
    """

    REPLACE_ONE = "replace_one"
    """One record is replaced by another; the number n of records is public and unchanged."""

    ADD_REMOVE = "add_remove"
    """One record is added or removed; the number n of records is private."""

    @classmethod
    def of(cls, adjacency: "Adjacency | str | None") -> "Adjacency":
        """Return the relation with a given name; an `Adjacency` is returned unchanged.

        Parameters
        ----------
        adjacency
            An `Adjacency`, or its name "replace_one" or "add_remove".

        Returns
        -------
        Adjacency
            The relation.

        Raises
        ------
        AdjacencyError
            If ``adjacency`` names neither relation, or is None. There is no default.

        Examples
        --------
        >>> Adjacency.of("add_remove")
        <Adjacency.ADD_REMOVE: 'add_remove'>
        """
        if isinstance(adjacency, cls):
            return adjacency
        for member in cls:
            if adjacency == member.value:
                return member
        raise AdjacencyError(
            argument="adjacency",
            rule='must be "replace_one" (same n, one record substituted) or "add_remove" (one record added or removed)',
            got=shown(adjacency),
            remedy="The two promise different things, so there is no default.",
        )

    @property
    def directions(self) -> "tuple[Direction, ...]":
        """Directions of the neighbouring pairs; privacy losses are composed separately per direction (T22, T23)."""
        if self is Adjacency.ADD_REMOVE:
            return (Direction.REMOVE, Direction.ADD)
        return (Direction.REPLACE,)


class Direction(Enum):
    """Direction of a neighbouring pair (D, D'); the privacy loss of a mechanism M compares M(D) with M(D')."""

    REMOVE = "remove"
    """D contains the record, and D' does not."""

    ADD = "add"
    """D' contains the record, and D does not."""

    REPLACE = "replace"
    """D and D' differ in one record.

    All dominating pairs for replacement in dperm are symmetric, so the order of D and D' does not matter.
    """
