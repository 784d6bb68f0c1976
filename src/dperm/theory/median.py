# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Why objective perturbation needs smooth losses: the median keeps an atom on every record (T42)."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import ndtr

from dperm import checks
from dperm.errors import ParameterError
from dperm.theory.results import constant


@dataclass(frozen=True)
class MedianAtom:
    """What objective perturbation of the median does (T42); to the nearest double, bounds nothing.

    Attributes
    ----------
    probability
        That the release is the record itself, exactly. A neighbour without such a record has 0, so delta is at least
        this at every epsilon.
    unbounded
        That the perturbed objective has no minimum; 0 with any regularisation.
    """

    probability: float
    unbounded: float


def median_atom(points: Sequence[float], place: float, *, sigma: float, regularization: float = 0.0) -> MedianAtom:
    """How often the minimiser of sum_i abs(w - x_i) + (Lambda/2) w^2 + b w, b ~ N(0, sigma^2), is exactly ``place``.

    T42: it is, if and only if -b is a subgradient there. Those are an interval of width 2 for each record at the kink,
    and Lambda moves it without making it narrower.

    Parameters
    ----------
    points
        The records x_i, public here: this is for teaching.
    place
        Where the atom is looked for.
    sigma
        Standard deviation of the noise.
    regularization
        Lambda; 0 for none.
    """
    ordered = sorted(checks.real("points", point) for point in points)
    if not ordered:
        raise ParameterError("points must be at least one number, got none.")
    place, sigma = checks.real("place", place), constant("sigma", sigma)
    strength = checks.nonnegative("regularization", regularization)
    below, upto = bisect_left(ordered, place), bisect_right(ordered, place)
    low, high = (strength * place + 2 * count - len(ordered) for count in (below, upto))
    lost = 0.0 if strength > 0 else 2 * float(ndtr(-len(ordered) / sigma))
    return MedianAtom(_between(low / sigma, high / sigma), lost)


def _between(low: float, high: float) -> float:
    """Normal mass of [low, high], from the tail that loses no digits."""
    return float(ndtr(-low) - ndtr(-high) if low > 0 else ndtr(high) - ndtr(low))
