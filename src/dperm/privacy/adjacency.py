# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Neighbouring relation between data sets (convention C0.1), part of every privacy claim."""

from enum import Enum

from dperm.checks import shown
from dperm.errors import AdjacencyError


class Adjacency(Enum):
    """Neighbouring relation of a guarantee.

    Every guarantee names its relation. Guarantees under different relations are never combined.

    Examples
    --------
    >>> from dperm import Adjacency
    >>> Adjacency("replace_one").directions
    (<Direction.REPLACE: 'replace'>,)
    """

    REPLACE_ONE = "replace_one"
    """Same public n, one record substituted."""

    ADD_REMOVE = "add_remove"
    """One record added or removed; n itself is private."""

    @classmethod
    def of(cls, adjacency: "Adjacency | str | None") -> "Adjacency":
        """Return the relation with this name.

        Parameters
        ----------
        adjacency
            A member of the enumeration, or its name: "replace_one" or "add_remove".

        Returns
        -------
        Adjacency
            The relation.

        Raises
        ------
        AdjacencyError
            If ``adjacency`` names neither relation. There is no default.

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
        """Directions of the neighbouring pairs; each direction is accounted for and composed separately (T22, T23)."""
        if self is Adjacency.ADD_REMOVE:
            return (Direction.REMOVE, Direction.ADD)
        return (Direction.REPLACE,)


class Direction(Enum):
    """Order of a neighbouring pair (D, D'), for the privacy loss of M(D) relative to M(D')."""

    REMOVE = "remove"
    """D has the record, D' does not."""

    ADD = "add"
    """D' has the record, D does not."""

    REPLACE = "replace"
    """D and D' differ in one record. All pairs used here are symmetric, so one order covers both."""
