# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Counterexample for losses without smoothness: the perturbed median equals a record with positive probability (T42).

For a neighbouring data set without this record, the median equals this value with probability 0, so delta is at least
the positive probability for any epsilon. If other records have the same value, the probability for the neighbouring
data set is positive too, but smaller.
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
"""Rounding error of a difference of two values of Phi."""


@dataclass(frozen=True)
class MedianPosition:
    """Position of a value in a data set.

    Attributes
    ----------
    signs
        Number of records below the value minus the number above it.
    equal
        Number of records equal to the value.
    pull
        Gradient of the regularizer at the value.
    """

    signs: int
    equal: int
    pull: float

    def bracket(self, sigma: float) -> tuple[float, float]:
        """Return bounds on the probability of releasing the value: -b - pull in [signs - equal, signs + equal]."""
        if self.equal == 0:
            return 0.0, 0.0
        low, high = (-(self.signs + side * self.equal + self.pull) / sigma for side in (1, -1))
        found = float(ndtr(high) - ndtr(low))
        return lowered(max(0.0, found - ROUNDING)), raised(found + ROUNDING)

    def neighbours(self, adjacency: Adjacency) -> tuple["MedianPosition", ...]:
        """Return the positions with one equal record fewer: moved below or above the value, or removed."""
        moves = (1, -1) if adjacency is Adjacency.REPLACE_ONE else (0,)
        return tuple(MedianPosition(self.signs + move, self.equal - 1, self.pull) for move in moves if self.equal)


def median_atom(values: ArrayLike, record: float, *, sigma: float, strength: float = 0.0) -> float:
    """Return the probability that the perturbed median equals ``record``, rounded down (T42).

    The perturbed median is the minimizer w of ``sum |w - x_i| + (Lambda/2) w^2 + b w`` with b ~ N(0, sigma^2). Let x =
    ``record``. The minimizer equals x if and only if -b - Lambda x is a subgradient of the sum at x. The subgradients
    at x form the interval [s - k, s + k], where s is the number of records below x minus the number above x, and k is
    the number of records equal to x.

    Parameters
    ----------
    values
        The records x_i, one number each.
    record
        Value x of the attacked record; the probability is 0 if no record has this value.
    sigma
        Standard deviation of b, positive.
    strength
        Regularization strength Lambda, at least 0.

    Returns
    -------
    float
        Lower bound on the probability, in [0, 1].

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    return _place(values, record, strength).bracket(checks.positive("sigma", sigma))[0]


def median(
    values: ArrayLike, record: float, *, sigma: float, strength: float = 0.0, claimed: AnyGuarantee = CLAIMED
) -> Finding:
    """Audit the perturbed median by the probability that it equals ``record`` (T42).

    See `median_atom` for the definition of the perturbed median. Let p be the probability that it equals ``record``.
    Let p' be this probability for a neighbouring data set in which one of the records equal to ``record`` is removed or
    replaced. Then p <= e^epsilon p' + delta, so epsilon >= log((p - delta)/p'). The bound is the largest of these
    values over the neighbouring data sets. If no other record has this value, p' = 0, and epsilon is infinite at every
    delta below p.

    Parameters
    ----------
    values
        The records, one number each.
    record
        Value of the attacked record; the bound is 0 if no record has this value.
    sigma
        Standard deviation of the noise b, positive.
    strength
        Regularization strength Lambda, at least 0.
    claimed
        Claimed guarantee; by default (1, 1e-5)-DP under replace_one.

    Returns
    -------
    Finding
        Lower bounds on epsilon and the verdict on the claim.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Examples
    --------
    >>> from dperm.audit import exact
    >>> print(exact.median([0.0, 100.0], 100.0, sigma=1.0))
    VIOLATION: claimed epsilon 1 at delta 1e-05, measured >= inf with certainty (atom at delta 1e-05).
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
    """Return the claim's own delta; for claims at every delta, several values and one below the atom."""
    own = exact_audit_deltas(claimed)
    return own[:1] if isinstance(claimed, PureDP | ApproxDP) else (*own, atom / 2) if atom else own


def _epsilon(atom: float, others: list[float], delta: float) -> float:
    """Return the epsilon from the neighbour with the smallest probability of releasing the value."""
    if atom <= delta:
        return 0.0
    least = min(others)
    return log_ratio(lowered(atom - delta), least) if least > 0 else math.inf
