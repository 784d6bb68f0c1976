# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The number of records that a plan may use: public under replace_one, declared under add_remove (C0.1)."""

from dperm import checks
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.presentation.spelling import arg
from dperm.privacy.adjacency import Adjacency

N = "It is the public number of records."


def planned_rows(adjacency: Adjacency, declared: object, n: object) -> int | None:
    """Number of records in ``plan(n=...)``, if it is the number that a fit plans with.

    Under add_remove a fit knows only the ``declared`` n of its estimator. A plan for another n would not be the plan of
    any fit, and is refused.
    """
    if n is not None and declared is None and adjacency is Adjacency.ADD_REMOVE:
        raise ParameterError(
            f'plan(n={shown(n)}) does not match the estimator, whose n is None: under adjacency="add_remove" the '
            f"number of records is private, and fit plans with the n of the estimator alone. Give n={shown(n)} to the "
            f"estimator, or leave it out of plan."
        )
    if n is not None and declared is not None and n != declared:
        raise ParameterError(
            f"plan(n={shown(n)}) does not match the declared n={shown(declared)}, which fit plans with. Leave one of "
            f"them out."
        )
    known = declared if n is None else n
    return public_rows(adjacency, known, known)


def public_rows(adjacency: Adjacency, declared: object, rows: object) -> int | None:
    """Public n: the number of rows under replace_one, the declared number or None under add_remove.

    Under add_remove a declared n is not compared with the data: that would release something about them.
    """
    n = None if declared is None else checks.count("n", declared, N)
    if adjacency is Adjacency.ADD_REMOVE:
        return n
    if rows is None:
        relation = arg("adjacency", '"replace_one"')
        raise ParameterError(argument="n", rule=f"must be given: under {relation} it is public, and the plan uses it")
    found = checks.count("n", rows, N)
    if n is not None and n != found:
        raise ParameterError(
            argument="n",
            rule="must be the number of records that are read, which is public under replace_one",
            got=str(n),
            remedy=f"Leave {arg('n')} out.",
        )
    return found
