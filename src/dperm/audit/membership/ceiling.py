# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The most that any membership attack can reach against a guarantee."""

import math

import numpy as np

from dperm import checks
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.privacy.guarantee import Guarantee
from dperm.privacy.profile import PrivacyProfile

_DELTAS = (0.0, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.2, 0.3)
_GRID = 16
_LARGEST = 600.0
"""Beyond, e^epsilon is no double; lines of smaller epsilons are bounds too."""
_PANELS = 4096
_ROUNDING = 1e-12


def profile_of(guarantee: Guarantee | PrivacyProfile) -> PrivacyProfile:
    """The curve of a guarantee, or the curve itself."""
    if isinstance(guarantee, Guarantee):
        return guarantee.profile()
    if not callable(getattr(guarantee, "tradeoff", None)):
        raise ParameterError(
            f'guarantee must be a guarantee such as PureDP(1.0, "add_remove"), or a profile, got {shown(guarantee)}.'
        )
    return guarantee


def rate_ceiling(guarantee: Guarantee | PrivacyProfile, false_positive_rate: float) -> float:
    """No attack on one record has a higher true-positive rate: 1 - f(FPR), f the trade-off curve, rounded up."""
    rate = checks.probability("false_positive_rate", false_positive_rate)
    missed = profile_of(guarantee).tradeoff(rate)
    return min(1.0, math.nextafter(1 - missed, math.inf))


def area_ceiling(guarantee: Guarantee | PrivacyProfile) -> float:
    """No attack on one record has a larger area under its ROC curve: 1 - integral of f, rounded up.

    f is at least the largest of the lines of Dong, Roth & Su 2019, Prop 2.12, at any finite set of epsilons. Their
    maximum is convex, and the midpoint rule integrates convex functions from below.
    """
    epsilons, deltas = _points(profile_of(guarantee))
    x = ((np.arange(_PANELS) + 0.5) / _PANELS)[:, np.newaxis]
    slopes, rest = np.exp(epsilons), 1 - deltas
    missed = np.maximum(0.0, np.maximum(rest - slopes * x, (rest - x) / slopes).max(axis=1))
    return min(1.0, 1 - float(missed.mean()) + _ROUNDING)


def _points(profile: PrivacyProfile) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]:
    """Epsilons where the curve has come down to a few deltas, some in between, and their deltas."""
    found = [profile.epsilon(delta) for delta in _DELTAS]
    reached = [min(epsilon, _LARGEST) for epsilon in found if epsilon < math.inf]
    end = max(reached, default=_LARGEST)
    grid = {*reached, *(end * (place / (_GRID - 1)) ** 2 for place in range(_GRID))}
    epsilons = sorted(grid)
    return np.array(epsilons), np.array([profile.delta(epsilon) for epsilon in epsilons])
