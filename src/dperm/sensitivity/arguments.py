# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments and the record count of an adjacency, shared by all sensitivities."""

from dperm import checks
from dperm.privacy import Adjacency

CONSTANTS = (1e-30, 1e30)
"""Range of the constants of a problem. Within this range, no formula of this package overflows or underflows."""
EPSILONS = (1e-10, 1e10)
"""Range of epsilon."""


def constant(name: str, value: object) -> float:
    """Return a constant of the problem as a float, if it lies in [1e-30, 1e30].

    Raises
    ------
    ParameterError
        If the value is not a number in this range.
    """
    return checks.between(name, value, *CONSTANTS)


def positive_epsilon(name: str, value: object) -> float:
    """Return an epsilon as a float, if it lies in [1e-10, 1e10].

    Raises
    ------
    ParameterError
        If the value is not a number in this range.
    """
    return checks.between(name, value, *EPSILONS)


def records_exchanged(adjacency: Adjacency | str) -> int:
    """Return the number of records present in only one of two neighbouring data sets: 2 if one is replaced, else 1."""
    return 2 if Adjacency.of(adjacency) is Adjacency.REPLACE_ONE else 1
