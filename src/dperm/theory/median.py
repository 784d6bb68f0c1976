# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Objective perturbation of the median, which has an atom at every record (T42): the reason for smooth losses."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import ndtr

from dperm import checks
from dperm.errors import ParameterError
from dperm.theory.results import constant


@dataclass(frozen=True)
class MedianAtom:
    """Probabilities for objective perturbation of the median (T42), computed in floating point; they are not bounds.

    Attributes
    ----------
    probability
        Probability that the released minimizer is exactly ``place``, the argument of `median_atom`. For a data set
        without a record at ``place``, this probability is 0. So if a neighbouring data set has no record there, delta
        is at least ``probability`` at every epsilon.
    unbounded
        Probability that the perturbed objective has no minimum. With positive regularization, it is 0.
    """

    probability: float
    unbounded: float


def median_atom(points: Sequence[float], place: float, *, sigma: float, regularization: float = 0.0) -> MedianAtom:
    """Return the probability that the minimizer of the perturbed median objective is exactly ``place``.

    The objective is sum_i abs(w - x_i) + (Lambda/2) w^2 + b w with b ~ N(0, sigma^2). By T42, the minimizer is
    ``place`` if and only if -b is a subgradient of the first two terms at w = ``place``. These subgradients form an
    interval whose width is twice the number of records at ``place``. A larger Lambda shifts this interval, but does not
    make it narrower.

    Parameters
    ----------
    points
        Records x_i, at least one. The result is not private: this function is meant for teaching.
    place
        Point whose probability is computed.
    sigma
        Standard deviation of the noise b, positive.
    regularization
        Regularization strength Lambda, at least 0; 0 means no regularization.

    Returns
    -------
    MedianAtom
        Probability of the minimizer ``place``, and probability that the perturbed objective has no minimum.

    Raises
    ------
    ParameterError
        If ``points`` is empty, or a number is out of range.
    """
    ordered = sorted(checks.real("points", point) for point in points)
    if not ordered:
        raise ParameterError(argument="points", rule="must contain at least one number", got="none")
    place, sigma = checks.real("place", place), constant("sigma", sigma)
    strength = checks.nonnegative("regularization", regularization)
    below, upto = bisect_left(ordered, place), bisect_right(ordered, place)
    low, high = (strength * place + 2 * count - len(ordered) for count in (below, upto))
    lost = 0.0 if strength > 0 else 2 * float(ndtr(-len(ordered) / sigma))
    return MedianAtom(_between(low / sigma, high / sigma), lost)


def _between(low: float, high: float) -> float:
    """Return the normal mass of [low, high], from the tail without cancellation."""
    return float(ndtr(-low) - ndtr(-high) if low > 0 else ndtr(high) - ndtr(low))
