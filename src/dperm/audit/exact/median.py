# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Why objective perturbation needs a smooth loss: the perturbed median sits on a record, with some probability (T42).

A neighbour without that record never releases it, so no epsilon helps: delta is at least the probability.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from dperm import checks
from dperm.audit.finding import Finding
from dperm.audit.lower_bound import LowerBound
from dperm.errors import DataError
from dperm.privacy import ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import lowered

CLAIMED = ApproxDP(1.0, 1e-5, "replace_one")


def median_atom(values: ArrayLike, record: float, *, sigma: float, strength: float = 0.0) -> float:
    """P(the minimiser of sum |w - x_i| + (Lambda/2) w^2 + b w is ``record``), b ~ N(0, sigma^2), rounded down (T42).

    It is, if and only if -b - Lambda x is a subgradient of the sum there: in [s - k, s + k], s the records below less
    those above and k those equal to it.
    """
    x, sigma = np.asarray(values, dtype=np.float64), checks.positive("sigma", sigma)
    strength, record = checks.nonnegative("strength", strength), checks.real("record", record)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise DataError("values must be a list of finite numbers.")
    signs, equal = float(np.sign(record - x).sum()), int((x == record).sum())
    ends = [-(signs + side * equal + strength * record) / sigma for side in (1, -1)]
    return lowered(max(0.0, float(ndtr(ends[1]) - ndtr(ends[0])) - 2.0**-50))


def median(
    values: ArrayLike, record: float, *, sigma: float, strength: float = 0.0, claimed: AnyGuarantee = CLAIMED
) -> Finding:
    """The finding: epsilon is infinite at every delta below the atom, whatever is ``claimed``.

    Examples
    --------
    >>> from dperm.audit import exact
    >>> print(exact.median([0.0, 100.0], 100.0, sigma=1.0))
    VIOLATION: claimed epsilon 1 at delta 1e-05, measured >= inf exactly (atom).
    """
    atom = median_atom(values, record, sigma=sigma, strength=strength)
    delta = _told(claimed, atom)
    bound = LowerBound(float("inf") if delta < atom else 0.0, delta, 1.0, "an atom (T42)")
    return Finding("the perturbed median", claimed, {"atom": bound}, 1.0, facts={"atom": atom})


def _told(claimed: AnyGuarantee, atom: float) -> float:
    """The delta at which claim and atom are compared."""
    match claimed:
        case PureDP():
            return 0.0
        case ApproxDP():
            return claimed.delta
    return atom / 2
