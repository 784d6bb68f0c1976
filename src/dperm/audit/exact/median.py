# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Why objective perturbation needs a smooth loss: the perturbed median sits on a record, with some probability (T42).

A neighbour without that record never releases it, so no epsilon helps: delta is at least the probability. If others
have the same value, a neighbour releases it too, less often.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from dperm import checks
from dperm.audit.arrays import numbers
from dperm.audit.claim import checked_claim, exact_audit_deltas
from dperm.audit.finding import Finding
from dperm.audit.lower_bound import LowerBound, log_ratio
from dperm.privacy import Adjacency, ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import lowered, raised

CLAIMED = ApproxDP(1.0, 1e-5, "replace_one")
ROUNDING = 2.0**-50
"""Of a difference of two values of Phi."""


@dataclass(frozen=True)
class MedianPosition:
    """How a data set looks from a value: records below less those above, those equal to it, and the pull of Lambda."""

    signs: int
    equal: int
    pull: float

    def bracket(self, sigma: float) -> tuple[float, float]:
        """Bounds on the probability that the value is released: -b - pull in [signs - equal, signs + equal]."""
        if self.equal == 0:
            return 0.0, 0.0
        low, high = (-(self.signs + side * self.equal + self.pull) / sigma for side in (1, -1))
        found = float(ndtr(high) - ndtr(low))
        return lowered(max(0.0, found - ROUNDING)), raised(found + ROUNDING)

    def neighbours(self, adjacency: Adjacency) -> tuple["MedianPosition", ...]:
        """With one of the equal records gone: to below or to above the value, or removed."""
        moves = (1, -1) if adjacency is Adjacency.REPLACE_ONE else (0,)
        return tuple(MedianPosition(self.signs + move, self.equal - 1, self.pull) for move in moves if self.equal)


def median_atom(values: ArrayLike, record: float, *, sigma: float, strength: float = 0.0) -> float:
    """The probability that a perturbed median is ``record``, rounded down (T42).

    That is the minimiser of ``sum |w - x_i| + (Lambda/2) w^2 + b w``, b ~ N(0, sigma^2).

    It is, if and only if -b - Lambda x is a subgradient of the sum there: in [s - k, s + k], s the records below less
    those above and k those equal to it.
    """
    return _place(values, record, strength).bracket(checks.positive("sigma", sigma))[0]


def median(
    values: ArrayLike, record: float, *, sigma: float, strength: float = 0.0, claimed: AnyGuarantee = CLAIMED
) -> Finding:
    """The finding from p, the atom at ``record``, and p', that of a neighbour with one record less of this value.

    p <= e^epsilon p' + delta, so epsilon >= log((p - delta)/p'), the largest over a record moved to either side (or
    removed). It is infinite at every delta below p where nobody else has the value, for then p' = 0.

    Parameters
    ----------
    values
        The records.
    record
        The value whose probability is looked at; nothing is found where none of the records has it.
    sigma, strength
        Of the noise; Lambda.
    claimed
        What is to be refuted.

    Examples
    --------
    >>> from dperm.audit import exact
    >>> print(exact.median([0.0, 100.0], 100.0, sigma=1.0))
    VIOLATION: claimed epsilon 1 at delta 1e-05, measured >= inf exactly (atom at delta 1e-05).
    """
    claimed, place = checked_claim(claimed), _place(values, record, strength)
    sigma = checks.positive("sigma", sigma)
    atom = place.bracket(sigma)[0]
    others = [near.bracket(sigma)[1] for near in place.neighbours(claimed.adjacency)]
    bounds = {
        f"atom at delta {delta:.3g}": LowerBound(_epsilon(atom, others, delta), delta, 1.0, "an atom (T42)")
        for delta in _deltas(claimed, atom)
    }
    return Finding("the perturbed median", claimed, bounds, 1.0, facts={"atom": atom, "atom_of_neighbour": others})


def _place(values: ArrayLike, record: float, strength: float) -> MedianPosition:
    x, record = numbers("values", values), checks.real("record", record)
    pull = checks.nonnegative("strength", strength) * record
    return MedianPosition(int(np.sign(record - x).sum()), int((x == record).sum()), pull)


def _deltas(claimed: AnyGuarantee, atom: float) -> tuple[float, ...]:
    """The claim's own; of a curve several, and one below the atom."""
    own = exact_audit_deltas(claimed)
    return own[:1] if isinstance(claimed, PureDP | ApproxDP) else (*own, atom / 2) if atom else own


def _epsilon(atom: float, others: list[float], delta: float) -> float:
    """From the neighbour that releases the value least often."""
    if atom <= delta:
        return 0.0
    least = min(others)
    return log_ratio(lowered(atom - delta), least) if least > 0 else math.inf
