# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Conversions between guarantees (T16-T20), rounded up: `convert`, and one function for each pair of kinds.

A conversion that no theorem supports raises ConversionError, and the message states the reason. An (epsilon, delta)
guarantee with delta > 0 bounds neither the Renyi divergence nor the trade-off curve below delta. zCDP does not imply
GDP. Only T4 changes the adjacency.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from scipy.special import erfinv, ndtri_exp

from dperm import checks
from dperm.checks import shown
from dperm.errors import AdjacencyError, ConversionError, ParameterError
from dperm.presentation.spelling import arg
from dperm.privacy import renyi
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.group import replace_one_from_add_remove
from dperm.privacy.guarantee import GDP, RDP, ZCDP, AnyGuarantee, ApproxDP, PureDP
from dperm.privacy.profile import PrivacyProfile
from dperm.privacy.rounding import raised, round_up

DEFAULT_ORDERS: tuple[float, ...] = tuple(1 + 10 ** (i / 12) for i in range(-12, 49))
"""61 orders from 1.1 to 10,001, equally spaced in log(alpha - 1)."""


def pure_to_zcdp(guarantee: PureDP) -> ZCDP:
    """Return epsilon^2/2-zCDP, implied by epsilon-DP [T18; Bun & Steinke 2016, Prop 1.4]."""
    return ZCDP(round_up(Fraction(guarantee.epsilon) ** 2 / 2), guarantee.adjacency)


def pure_to_rdp(guarantee: PureDP, orders: Iterable[float] = DEFAULT_ORDERS) -> RDP:
    """Return the RDP of randomised response, the worst case of epsilon-DP (T16, by T9's formula)."""
    curve = [(a, renyi.response_divergence(a, guarantee.epsilon)) for a in _checked_orders(orders)]
    return RDP(curve, guarantee.adjacency)


def pure_to_gdp(guarantee: PureDP) -> GDP:
    """Return mu-GDP with mu = 2 Phi^-1(e^eps/(1 + e^eps)), implied by epsilon-DP (T20)."""
    epsilon = guarantee.epsilon
    if epsilon < 2:  # Phi^-1(1/2 + tanh(eps/2)/2), without the 1/2 that would swallow a small eps
        mu = 2 * math.sqrt(2) * float(erfinv(math.tanh(epsilon / 2)))
    else:
        mu = -2 * float(ndtri_exp(-epsilon - math.log1p(math.exp(-epsilon))))
    return GDP(raised(mu, 16 + epsilon), guarantee.adjacency)


def pure_to_approx(guarantee: PureDP, delta: float) -> ApproxDP:
    """Return the epsilon of randomised response at ``delta``, the exact worst case (T13 with k = 1)."""
    return _at_delta(guarantee.profile(), delta)


def approx_to_approx(guarantee: ApproxDP, delta: float) -> ApproxDP:
    """Return the guarantee at another delta, by T14; ConversionError below the guarantee's own delta."""
    return _at_delta(guarantee.profile(), delta)


def gdp_to_zcdp(guarantee: GDP) -> ZCDP:
    """Return mu^2/2-zCDP, implied by mu-GDP (T19)."""
    return ZCDP(round_up(Fraction(guarantee.mu) ** 2 / 2), guarantee.adjacency)


def gdp_to_rdp(guarantee: GDP, orders: Iterable[float] = DEFAULT_ORDERS) -> RDP:
    """Return RDP with divergence alpha mu^2/2, implied by mu-GDP (T16, T20)."""
    curve = [(a, renyi.gaussian_divergence(a, guarantee.mu)) for a in _checked_orders(orders)]
    return RDP(curve, guarantee.adjacency)


def gdp_to_approx(guarantee: GDP, delta: float) -> ApproxDP:
    """Return the exact (epsilon, delta) of mu-GDP at ``delta`` (T6, T19)."""
    return _at_delta(guarantee.profile(), checks.positive_delta("delta", delta))


def zcdp_to_rdp(guarantee: ZCDP, orders: Iterable[float] = DEFAULT_ORDERS) -> RDP:
    """Return RDP with divergence rho alpha, the definition of rho-zCDP (T18)."""
    curve = [(a, round_up(Fraction(guarantee.rho) * Fraction(a))) for a in _checked_orders(orders)]
    return RDP(curve, guarantee.adjacency)


def zcdp_to_approx(guarantee: ZCDP, delta: float) -> ApproxDP:
    """Return (epsilon, delta) of rho-zCDP by T17, with tau = rho alpha at the best of all orders (T18)."""
    return _at_delta(guarantee.profile(), checks.positive_delta("delta", delta))


def zcdp_to_approx_simple(guarantee: ZCDP, delta: float) -> ApproxDP:
    """Return the older (rho + 2 sqrt(rho log(1/delta)), delta) of T18, for teaching: valid, but never better."""
    delta = checks.positive_delta("delta", delta)
    return ApproxDP(renyi.zcdp_epsilon_simple(guarantee.rho, delta), delta, guarantee.adjacency)


def rdp_to_approx(guarantee: RDP, delta: float) -> ApproxDP:
    """Return (epsilon, delta) of RDP by T17, at the best of the given orders."""
    return _at_delta(guarantee.profile(), checks.positive_delta("delta", delta))


def rdp_to_approx_mironov(guarantee: RDP, delta: float) -> ApproxDP:
    """Return the older minimum of tau + log(1/delta)/(alpha - 1) [Mironov 2017, Prop 3], for teaching."""
    delta = checks.positive_delta("delta", delta)
    epsilon = min(renyi.mironov_epsilon(alpha, tau, delta) for alpha, tau in guarantee.curve)
    return ApproxDP(epsilon, delta, guarantee.adjacency)


def convert(
    guarantee: AnyGuarantee,
    to: type[AnyGuarantee],
    *,
    delta: float | None = None,
    orders: Iterable[float] = DEFAULT_ORDERS,
    adjacency: Adjacency | str | None = None,
) -> AnyGuarantee:
    """Return the guarantee of class ``to`` that ``guarantee`` implies, with all numbers rounded up.

    Parameters
    ----------
    guarantee
        Known guarantee.
    to
        Class of the new guarantee: PureDP, ApproxDP, ZCDP, GDP or RDP.
    delta
        Delta of the new guarantee, in (0, 1), for a conversion to ApproxDP; 0 is accepted if ``guarantee`` is a PureDP
        or ApproxDP guarantee.
    orders
        Orders alpha > 1 of the new guarantee, used for a conversion to RDP.
    adjacency
        Neighbouring relation of the new guarantee; None keeps that of ``guarantee``. T4 converts add_remove to
        replace_one.

    Returns
    -------
    PureDP, ApproxDP, ZCDP, GDP or RDP
        The implied guarantee, an instance of ``to``.

    Raises
    ------
    ConversionError
        If no theorem supports this conversion, or no finite epsilon holds at ``delta``. The message states the reason.
    AdjacencyError
        If ``adjacency`` is add_remove and ``guarantee`` is a replace_one guarantee.
    ParameterError
        If an argument is invalid, or ``delta`` is missing.

    Notes
    -----
    *Guarantees.*  Every mechanism that satisfies ``guarantee`` satisfies the returned guarantee. All numbers are
    rounded up (C0.6).

    Examples
    --------
    >>> from dperm.privacy import GDP, ZCDP, convert
    >>> convert(GDP(1.0, "add_remove"), ZCDP)
    ZCDP(rho=0.5, adjacency=ADD_REMOVE)
    """
    if not isinstance(guarantee, AnyGuarantee):
        rule = "must be a PureDP, ApproxDP, ZCDP, GDP or RDP"
        raise ParameterError(argument="guarantee", rule=rule, got=shown(guarantee))
    moved = _pure_if_possible(_under(guarantee, adjacency), to)
    if type(moved) is to and (delta is None or not isinstance(moved, ApproxDP)):
        return moved
    route = _ROUTES.get((type(moved), to))
    if route is None:
        raise _refusal(moved, to)
    return route(moved, _Options(delta, orders))


@dataclass(frozen=True)
class _Options:
    delta: float | None
    orders: Iterable[float]

    def required_delta(self) -> float:
        if self.delta is None:
            rule = "must be given to convert to ApproxDP"
            raise ParameterError(argument="delta", rule=rule, remedy=f"Give {arg('delta', '1e-6')}, for example.")
        return self.delta


# Each route's first argument is of the kind that its key names; mypy cannot see this, so the table is untyped there.
_ROUTES: dict[tuple[type, type], Callable[..., AnyGuarantee]] = {
    (PureDP, ZCDP): lambda known, _: pure_to_zcdp(known),
    (PureDP, GDP): lambda known, _: pure_to_gdp(known),
    (PureDP, RDP): lambda known, options: pure_to_rdp(known, options.orders),
    (PureDP, ApproxDP): lambda known, options: pure_to_approx(known, options.required_delta()),
    (ApproxDP, ApproxDP): lambda known, options: approx_to_approx(known, options.required_delta()),
    (GDP, ZCDP): lambda known, _: gdp_to_zcdp(known),
    (GDP, RDP): lambda known, options: gdp_to_rdp(known, options.orders),
    (GDP, ApproxDP): lambda known, options: gdp_to_approx(known, options.required_delta()),
    (ZCDP, RDP): lambda known, options: zcdp_to_rdp(known, options.orders),
    (ZCDP, ApproxDP): lambda known, options: zcdp_to_approx(known, options.required_delta()),
    (RDP, ApproxDP): lambda known, options: rdp_to_approx(known, options.required_delta()),
}

_KEEP_EVENT = "Account the mechanism itself instead (dperm.accounting), or keep the guarantee as it is."
_WHY_NOT: dict[tuple[type, type], str] = {
    (ZCDP, GDP): f"zCDP bounds moments, not the trade-off curve (T19: the converse is false). {_KEEP_EVENT}",
    (RDP, GDP): f"RDP bounds moments, not the trade-off curve (T19). {_KEEP_EVENT}",
    (RDP, ZCDP): "zCDP needs a bound at every order alpha > 1, and RDP here names finitely many (T18).",
}
_LEAK = "with probability delta anything may be revealed, so the divergence is unbounded and no curve lies below (T20)."


def _refusal(known: AnyGuarantee, to: type) -> ConversionError:
    if to not in (PureDP, ApproxDP, ZCDP, GDP, RDP):
        return ConversionError(argument="to", rule="must be PureDP, ApproxDP, ZCDP, GDP or RDP", got=shown(to))
    if to is PureDP:
        why = f"it allows events of unbounded privacy loss, however rare (T1). Convert to ApproxDP. {_KEEP_EVENT}"
    else:
        why = _WHY_NOT.get((type(known), to), f"{_LEAK} {_KEEP_EVENT}")
    return ConversionError(f"{known} does not imply {to.__name__}: {why}")


def _under(guarantee: AnyGuarantee, adjacency: Adjacency | str | None) -> AnyGuarantee:
    """Return the guarantee under ``adjacency`` (T4)."""
    if adjacency is None or Adjacency.of(adjacency) is guarantee.adjacency:
        return guarantee
    if guarantee.adjacency is Adjacency.REPLACE_ONE:
        raise AdjacencyError(
            f"{guarantee} does not imply any add_remove guarantee: replace-one neighbours have the same n (T4).",
            remedy='Account the mechanism with adjacency="add_remove".',
        )
    return replace_one_from_add_remove(guarantee)


def _pure_if_possible(guarantee: AnyGuarantee, to: type[AnyGuarantee]) -> AnyGuarantee:
    """Return (epsilon, 0)-DP as epsilon-DP, which has more conversions."""
    if isinstance(guarantee, ApproxDP) and guarantee.delta == 0 and to is not ApproxDP:
        return PureDP(guarantee.epsilon, guarantee.adjacency)
    return guarantee


def _at_delta(profile: PrivacyProfile, delta: float) -> ApproxDP:
    epsilon = profile.epsilon(delta)
    if math.isinf(epsilon):
        problem = f"no finite epsilon holds at {arg('delta', repr(delta))}."
        raise ConversionError(problem, remedy=f"Ask for a larger {arg('delta')}.")
    return ApproxDP(epsilon, delta, profile.adjacency)


def _checked_orders(orders: Iterable[float]) -> list[float]:
    return [checks.above("orders", order, 1.0) for order in orders]
