# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Upper bounds on the success of any membership inference attack under a guarantee."""

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
"""Largest epsilon used, because e^epsilon overflows above it; the lines of smaller epsilons are valid bounds too."""
_PANELS = 4096
_ROUNDING = 1e-12


def profile_of(guarantee: Guarantee | PrivacyProfile) -> PrivacyProfile:
    """Return the profile of a guarantee, or the profile itself if given one."""
    if isinstance(guarantee, Guarantee):
        return guarantee.profile()
    if not callable(getattr(guarantee, "tradeoff", None)):
        raise ParameterError(
            argument="guarantee",
            rule='must be a guarantee, such as PureDP(1.0, "add_remove"), or a profile',
            got=shown(guarantee),
        )
    return guarantee


def rate_ceiling(guarantee: Guarantee | PrivacyProfile, false_positive_rate: float) -> float:
    """Return the largest true-positive rate of any attack on one record under a guarantee, rounded up.

    The largest rate is 1 - f(FPR), where f is the trade-off curve of the guarantee and FPR is the false-positive rate
    of the attack.

    Parameters
    ----------
    guarantee
        Guarantee or privacy profile.
    false_positive_rate
        False-positive rate of the attack, in [0, 1].

    Returns
    -------
    float
        Upper bound on the true-positive rate.

    Raises
    ------
    ParameterError
        If ``guarantee`` is neither a guarantee nor a profile, or ``false_positive_rate`` is not in [0, 1].
    """
    rate = checks.probability("false_positive_rate", false_positive_rate)
    missed = profile_of(guarantee).tradeoff(rate)
    return min(1.0, math.nextafter(1 - missed, math.inf))


def area_ceiling(guarantee: Guarantee | PrivacyProfile) -> float:
    """Return an upper bound on the area under the ROC curve of any attack on one record under a guarantee.

    The area is at most 1 minus the integral of the trade-off curve f of the guarantee. Each pair (epsilon, delta) that
    the guarantee implies gives two straight lines below f (Dong, Roth & Su 2019, Proposition 2.12). This function takes
    the maximum of 0 and these lines for finitely many epsilons, and integrates the maximum by the midpoint rule. The
    maximum is convex, and the midpoint rule underestimates the integral of a convex function. The result is therefore
    an upper bound.

    Parameters
    ----------
    guarantee
        Guarantee or privacy profile.

    Returns
    -------
    float
        Upper bound on the area, at most 1.
    """
    epsilons, deltas = _points(profile_of(guarantee))
    x = ((np.arange(_PANELS) + 0.5) / _PANELS)[:, np.newaxis]
    slopes, rest = np.exp(epsilons), 1 - deltas
    missed = np.maximum(0.0, np.maximum(rest - slopes * x, (rest - x) / slopes).max(axis=1))
    return min(1.0, 1 - float(missed.mean()) + _ROUNDING)


def _points(profile: PrivacyProfile) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]:
    """Return a grid of epsilons, including the profile's epsilons at a few deltas, and the delta at each epsilon."""
    found = [profile.epsilon(delta) for delta in _DELTAS]
    reached = [min(epsilon, _LARGEST) for epsilon in found if epsilon < math.inf]
    end = max(reached, default=_LARGEST)
    grid = {*reached, *(end * (place / (_GRID - 1)) ** 2 for place in range(_GRID))}
    epsilons = sorted(grid)
    return np.array(epsilons), np.array([profile.delta(epsilon) for epsilon in epsilons])
