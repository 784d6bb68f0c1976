# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The guarantee that the options of an audit name."""

from typing import TYPE_CHECKING

from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.privacy import ApproxDP, PureDP


def guarantee(epsilon: float, delta: float, adjacency: str | None) -> "PureDP | ApproxDP":
    """Pure for delta 0."""
    from dperm import checks
    from dperm.cli.subject import filling
    from dperm.privacy import ApproxDP, PureDP

    relation = filling(adjacency or "").adjacency
    size, small = checks.nonnegative("--epsilon", epsilon), checks.small_delta("--delta", delta)
    return ApproxDP(size, small, relation) if small > 0 else PureDP(size, relation)


def claimed(epsilon: float | None, delta: float, adjacency: str | None) -> "PureDP | ApproxDP | None":
    """What is claimed, if anything; an adjacency alone claims nothing."""
    if epsilon is not None:
        return guarantee(epsilon, delta, adjacency)
    if adjacency is not None:
        raise ParameterError("--adjacency belongs to a claim: give --claimed-epsilon, or leave it out.")
    return None
