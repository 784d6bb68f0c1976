# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds from closed forms of single steps, used to check every engine's answer.

A composition releases at least as much as any one of its steps (T3). Its epsilon and delta are at most the sums of the
steps' epsilons and deltas (T11). Both bounds are loose but do not depend on a lattice or a contour. They replace any
answer that contradicts them or itself.
"""

import math

from dperm.accounting import closed
from dperm.accounting.composition import Composition

Bracket = tuple[float, float]


def consistent_epsilon(composition: Composition, delta: float, bracket: Bracket) -> bool:
    """Check that the ends are in order and that, at the upper end, no single step has a delta above ``delta``."""
    low, high = bracket
    return low <= high and (high == math.inf or _one_step(composition, high) <= delta)


def consistent_delta(composition: Composition, epsilon: float, bracket: Bracket) -> bool:
    """Check that the ends are in order and that no single step has a delta above the upper end."""
    low, high = bracket
    return low <= high and _one_step(composition, epsilon) <= high


def epsilon_bracket(composition: Composition, delta: float) -> Bracket:
    """Return one step's largest epsilon, and the sum of all epsilons at equal shares of ``delta`` (T3, T11)."""
    low, high = 0.0, 0.0
    share = math.nextafter(delta / composition.count * (1 - 1e-15), 0.0)  # down, also where it underflows
    for single, count in _singles(composition):
        low = max(low, (closed.epsilon_bracket(single, delta) or (0.0, 0.0))[0])
        bounds = closed.epsilon_bracket(single, share) if share > 0 else None
        high += count * (bounds or (0.0, math.inf))[1]
    return low, min(high * (1 + 1e-14), composition.ceiling)


def delta_bracket(composition: Composition, epsilon: float) -> Bracket:
    """Return one step's largest delta, and the sum of all deltas at equal shares of ``epsilon`` (T3, T11)."""
    share = epsilon / composition.count * (1 - 1e-15)
    most = math.fsum(
        count * (closed.delta_bracket(single, share) or (0.0, 1.0))[1] for single, count in _singles(composition)
    )
    return _one_step(composition, epsilon), min(most * (1 + 1e-14), 1.0)


def _one_step(composition: Composition, epsilon: float) -> float:
    """Return the largest lower bound on a single step's delta at ``epsilon``."""
    return max((closed.delta_bracket(single, epsilon) or (0.0, 1.0))[0] for single, _ in _singles(composition))


def _singles(composition: Composition) -> list[tuple[Composition, int]]:
    return [(Composition(((law, 1),)), count) for law, count in composition.steps]
