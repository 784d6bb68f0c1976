# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Costs of one elementary event: pure epsilon, mu^2, rho, tau(alpha). Exact fractions, or rounded up (C0.6).

Laws round sensitivity / noise multiplier to nearest. A filter must not lose half a unit per event, and must not refuse
Laplace(1.0) under a limit of 1. The quotient is therefore exact here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from dperm.accounting import rdp
from dperm.accounting.best_of import BestOf
from dperm.accounting.bounded_range import BoundedRange
from dperm.accounting.event import SingleEvent
from dperm.accounting.events import Approximate, Gaussian, Laplace, sensitivity
from dperm.accounting.laws.atomic import AtomicLoss
from dperm.accounting.laws.bounded_range import BoundedRangeLoss
from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.accounting.laws.law import LossLaw
from dperm.accounting.parallel import ParallelParts
from dperm.accounting.sampled import Poisson, WithoutReplacement
from dperm.accounting.thresholded import ThresholdedValues
from dperm.errors import BudgetError, ConversionError
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.convert import pure_to_gdp
from dperm.privacy.guarantee import PureDP
from dperm.privacy.rounding import raised, round_up

_SLACK = Fraction(1, 2**42)
"""Absolute error of a ceiling computed as a difference of logarithms, each at most 745."""


@dataclass(frozen=True)
class Claim:
    """An (epsilon, delta)-DP guarantee in exact fractions."""

    epsilon: Fraction
    delta: Fraction


def claim(single: SingleEvent, adjacency: Adjacency) -> Claim | None:
    """Return the event's own guarantee: its largest finite loss, and the probability of an infinite loss.

    None if its finite losses are unbounded. An event converted from add/remove has 2 epsilon under replace-one (T4),
    and no claim here if it also has a delta.

    Raises
    ------
    AdjacencyError
        If no theorem covers the event under ``adjacency``.
    """
    if isinstance(single, ParallelParts):
        return _largest_claim(single, adjacency)
    if isinstance(single, BestOf):
        return _selection_claim(single, adjacency)
    reading = single.reading(adjacency)
    laws = [single.law(direction) for direction in reading.directions]
    top, lost = max(law.ceiling for law in laws), max(law.infinity for law in laws)
    if math.isinf(top) or (lost > 0 and reading is not adjacency):
        return None
    return Claim(_steps(reading, adjacency) * _ceiling(single, laws, reading), _own_delta(single, lost))


def pure_epsilon(single: SingleEvent, adjacency: Adjacency) -> Fraction | None:
    """Return the event's epsilon at delta = 0, or None if it is not pure."""
    own = claim(single, adjacency)
    return own.epsilon if own is not None and own.delta == 0 else None


def gaussian_square(single: SingleEvent, adjacency: Adjacency) -> Fraction | None:
    """Return mu^2 of an event with Gaussian privacy loss (T19), else None; T4 doubles mu."""
    if isinstance(single, ParallelParts):
        stages = [one for part in single.events for one, _ in part.singles()]
        if any(gaussian_square(one, adjacency) is None for one in stages):
            return None
        return _largest(single, lambda one: gaussian_square(one, adjacency) or Fraction(0))
    reading = single.reading(adjacency)
    inner = single.unwrapped()
    if isinstance(inner, Gaussian):
        mu = _quotient(inner, reading)
    else:
        laws = [single.law(direction) for direction in reading.directions]
        shifts = [law.mu for law in laws if isinstance(law, GaussianLoss)]
        if len(shifts) < len(laws):
            return None
        mu = Fraction(raised(max(shifts)))
    return (_steps(reading, adjacency) * mu) ** 2


def mu_square(single: SingleEvent, adjacency: Adjacency) -> Fraction:
    """Return the GDP cost.

    The Gaussian's mu^2 (T19), or mu = 2 Phi^-1(e^eps/(1 + e^eps)) of a pure event, squared (T20). A range of eps has
    the mu of a pure eps/2 (T74a), and of several parts the largest counts (T71).
    """
    if isinstance(single, ParallelParts):
        return _largest(single, lambda one: mu_square(one, adjacency))
    square = gaussian_square(single, adjacency)
    if square is not None:
        return square
    if isinstance(single, BoundedRange):
        half = PureDP(single.width(single.reading(adjacency)) / 2, adjacency)
        return _finite(pure_to_gdp(half).mu, single) ** 2
    return _finite(pure_to_gdp(_pure(single, adjacency, "GDP", "T19, T20")).mu, single) ** 2


def rho(single: SingleEvent, adjacency: Adjacency) -> Fraction:
    """Return the zCDP cost: mu^2/2 of a Gaussian, eps^2/2 of a pure event (T18), eps^2/8 of a range (T74a).

    Of several parts the largest counts (T71).
    """
    if isinstance(single, ParallelParts):
        return _largest(single, lambda one: rho(one, adjacency))
    if isinstance(single, BoundedRange):
        return Fraction(single.width(single.reading(adjacency))) ** 2 / 8
    square = gaussian_square(single, adjacency)
    if square is not None:
        return square / 2
    return Fraction(_pure(single, adjacency, "zCDP", "T18, T20").epsilon) ** 2 / 2


def taus(single: SingleEvent, adjacency: Adjacency, orders: tuple[float, ...]) -> list[Fraction]:
    """Return the RDP cost.

    Alpha mu^2/2 of a Gaussian, else the event's own curve, else the pure events' curve (T16). Of several parts the
    largest counts at each order (T71).
    """
    if isinstance(single, ParallelParts):
        curves = {one: taus(one, adjacency, orders) for part in single.events for one, _ in part.singles()}
        return [_largest(single, partial(_entry, curves, place)) for place in range(len(orders))]
    square = gaussian_square(single, adjacency)
    if square is not None:
        return [Fraction(alpha) * square / 2 for alpha in orders]
    try:
        curve = single.rdp(np.array(orders), adjacency)
    except ConversionError:
        curve = rdp.pure_rdp(np.array(orders), _pure(single, adjacency, "RDP", "T16, T20").epsilon)
    return [_finite(float(tau), single) for tau in curve]


def _entry(curves: dict[SingleEvent, list[Fraction]], place: int, single: SingleEvent) -> Fraction:
    return curves[single][place]


def _largest(parallel: ParallelParts, cost: Callable[[SingleEvent], Fraction]) -> Fraction:
    """Return the largest cost of a part; the stages of one part are added."""
    return max(sum((count * cost(one) for one, count in part.singles()), Fraction(0)) for part in parallel.events)


def _largest_claim(parallel: ParallelParts, adjacency: Adjacency) -> Claim | None:
    """Return the largest epsilon and the largest delta of a part, each by T11; None if a stage has no claim (T71)."""
    epsilon, delta = Fraction(0), Fraction(0)
    for part in parallel.events:
        claims = [(claim(one, adjacency), count) for one, count in part.singles()]
        if any(own is None for own, _ in claims):
            return None
        epsilon = max(epsilon, sum((count * own.epsilon for own, count in claims if own), Fraction(0)))
        delta = max(delta, sum((count * own.delta for own, count in claims if own), Fraction(0)))
    return Claim(epsilon, delta)


def _selection_claim(selection: BestOf, adjacency: Adjacency) -> Claim | None:
    """Return T81's epsilon at the sum of the epsilons of one run (T11), or None if the runs are not pure."""
    selection.reading(adjacency)
    costs = [(pure_epsilon(one, adjacency), count) for one, count in selection.event.singles()]
    if any(own is None for own, _ in costs):
        return None
    one_run = round_up(sum((count * own for own, count in costs if own), Fraction(0)))
    return Claim(Fraction(selection.runs.pure_epsilon(one_run)), Fraction(0))


def _pure(single: SingleEvent, adjacency: Adjacency, kind: str, tags: str) -> PureDP:
    """Return the pure guarantee used by a conversion; raise ConversionError naming ``kind`` if there is none."""
    epsilon = pure_epsilon(single, adjacency)
    if epsilon is None:
        raise no_cost(single, kind, tags)
    return PureDP(float(_finite(round_up(epsilon), single)), adjacency)


def no_cost(single: SingleEvent, kind: str, tags: str) -> ConversionError:
    """Return the error for an event whose cost of this kind cannot be computed."""
    sampled = isinstance(single, Poisson | WithoutReplacement)
    plain = " Or declare the step without its sampling, which never costs less." if sampled else ""
    reason = f"no theorem gives one ({tags})"
    if isinstance(single, BestOf):
        reason = f"a selection has one only if all its runs are pure (T81, T83; {tags})"
    if _may_fail(single):
        reason = f"its privacy loss may be infinite, with a probability that {kind} cannot hold ({tags})"
    return ConversionError(
        f"{single} has no {kind} cost: {reason}. Nothing was charged. Open the budget with an "
        f"ApproxDP limit, which takes every kind of event.{plain}"
    )


def _may_fail(single: SingleEvent) -> bool:
    """Return whether a stage has an infinite loss with positive probability."""
    if isinstance(single, BestOf):
        return any(_may_fail(one) for one, _ in single.event.singles())
    if isinstance(single, ParallelParts):
        return any(_may_fail(one) for part in single.events for one, _ in part.singles())
    return isinstance(single, ThresholdedValues) or (isinstance(single, Approximate) and single.delta > 0)


def _finite(value: float, single: SingleEvent) -> Fraction:
    if not math.isfinite(value):
        raise BudgetError(f"{single} costs more than any number. Nothing was charged. Use more noise.")
    return Fraction(value)


def _steps(reading: Adjacency, adjacency: Adjacency) -> int:
    """Return T4's factor, 1 or 2: replacing a record is one removal and one addition."""
    return 1 if reading is adjacency else 2


def _quotient(event: Gaussian | Laplace, reading: Adjacency) -> Fraction:
    """Return the sensitivity divided by the noise scale, exactly (T5, T6)."""
    return Fraction(sensitivity(reading.directions[0])) / Fraction(event.noise_multiplier)


def _ceiling(single: SingleEvent, laws: list[LossLaw], reading: Adjacency) -> Fraction:
    """Return the largest finite loss: exact for Laplace, as declared for atomic losses, else with an allowance."""
    inner = single.unwrapped()
    if isinstance(inner, Laplace):
        return _quotient(inner, reading)
    top = max(law.ceiling for law in laws)
    if all(isinstance(law, AtomicLoss | BoundedRangeLoss) for law in laws):
        return Fraction(top)
    return Fraction(raised(max(top, 0.0), 64)) + _SLACK


def _own_delta(single: SingleEvent, lost: float) -> Fraction:
    """Return the delta as declared; rounded up if T4 or T21 computed it."""
    inner = single.unwrapped()
    declared = inner.delta if isinstance(inner, Approximate) else 0.0
    return Fraction(lost if lost == declared else raised(lost))
