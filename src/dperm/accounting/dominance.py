# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sufficient condition, from parameters alone, for one event to dominate another (T70).

An event declared before data states the privacy loss of a stage. The stage may then run any mechanism that the event
dominates. `dominates` compares two events part by part, in exact arithmetic and without an accountant.
"""

from fractions import Fraction

from dperm.accounting.event import Composed, Event, Repeated
from dperm.accounting.events import Approximate, Gaussian
from dperm.accounting.objective import PerturbedObjective
from dperm.accounting.replace_only import ReplaceOneOnly
from dperm.accounting.sampled import Poisson
from dperm.accounting.softmax import PerturbedSoftmax


def dominates(declared: Event, actual: Event) -> bool:
    """Return whether ``declared`` is known to dominate ``actual`` under both adjacencies.

    Compositions match part by part, and repetitions have equal counts (T23). More Gaussian noise is dominated by less
    (T6), also on a Poisson sample of the same rate (T22, T25). The perturbed objectives are in `_objective_dominates`.

    Parameters
    ----------
    declared
        Event that states the privacy loss.
    actual
        Event of the mechanism to run.

    Returns
    -------
    bool
        False if the comparison does not settle the question.
    """
    if declared == actual:
        return True
    match declared, actual:
        case Composed(), Composed():
            same = len(declared.events) == len(actual.events)
            return same and all(map(dominates, declared.events, actual.events))
        case Repeated(), Repeated():
            return declared.count == actual.count and dominates(declared.event, actual.event)
        case ReplaceOneOnly(), ReplaceOneOnly():
            return dominates(declared.event, actual.event)
        case Poisson(), Poisson():
            return declared.rate == actual.rate and dominates(declared.event, actual.event)
        case Gaussian(), Gaussian():
            return actual.noise_multiplier >= declared.noise_multiplier
        case Approximate(), Approximate():
            same = declared.adjacency is actual.adjacency
            return same and actual.epsilon <= declared.epsilon and actual.delta <= declared.delta
        case PerturbedObjective() | PerturbedSoftmax(), PerturbedObjective() | PerturbedSoftmax():
            return _objective_dominates(declared, actual)
    return False


def largest_curvature(declared: PerturbedObjective | PerturbedSoftmax, scores: int) -> Fraction:
    """Return the largest relative curvature of a problem with ``scores`` scores that ``declared`` covers (T37, T53a).

    Let the event of K classes have the curvature k = w R^2/(K Lambda). A softmax of J <= K classes with the same Lambda
    has the curvature K k/J. Its determinant costs (J-1) log(1 + K k/J), which grows with J: the derivative is log(1 +
    t) - (1 - 1/J) t/(1 + t) > 0 with t = K k/J. One score costs log(1 + x), at most (K-1) log(1 + k) for x <= (K-1) k
    (Bernoulli).
    """
    curvature = Fraction(declared.curvature)
    if isinstance(declared, PerturbedObjective):
        return curvature
    return curvature * (declared.classes - 1) if scores == 1 else curvature * declared.classes / scores


def _objective_dominates(
    declared: PerturbedObjective | PerturbedSoftmax, actual: PerturbedObjective | PerturbedSoftmax
) -> bool:
    """Compare noise, curvature and tails.

    With more noise and no larger determinant, the loss that bounds ``actual`` is below the one of ``declared`` if it
    has no more tails. T39 and T41 (c) hold for all losses of one score, so they cover monotone ones. A softmax of J <=
    K classes has fewer vertices (T53a). One score with monotone slopes has one tail of T40, or the three of T41 (b),
    which are among those of T53a for every K >= 3.
    """
    scores = actual.classes if isinstance(actual, PerturbedSoftmax) else 1
    if actual.noise_multiplier < declared.noise_multiplier:
        return False
    if Fraction(actual.curvature) > largest_curvature(declared, scores):
        return False
    match declared, actual:
        case PerturbedObjective(), PerturbedObjective():
            return actual.monotone or not declared.monotone
        case PerturbedSoftmax(), PerturbedSoftmax():
            return actual.classes <= declared.classes
        case PerturbedSoftmax(), PerturbedObjective():
            return actual.monotone
    return False
