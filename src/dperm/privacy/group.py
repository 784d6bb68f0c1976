# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Group privacy (T4): from one record to k records, and from add/remove to replace-one."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from typing import TypeVar

from dperm import checks
from dperm.checks import shown
from dperm.errors import AdjacencyError, ConversionError
from dperm.presentation.spelling import arg
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.guarantee import GDP, RDP, ZCDP, AnyGuarantee, ApproxDP, PureDP
from dperm.privacy.profile import PrivacyProfile
from dperm.privacy.rounding import ULP, exp_bracket, lowered, raised, round_up

G = TypeVar("G", bound=AnyGuarantee)

_ROUNDS = 200
_SETTLED = 1e-10
_WIDE = 1e-4
_GOLDEN_ROUNDS = 56


def group(guarantee: G, k: int) -> G:
    """Return the guarantee for data sets that differ in at most k records, under the same adjacency.

    Theorem T4.
        For groups of k records, eps-DP becomes (k eps)-DP, and (eps, delta)-DP becomes (k eps, delta')-DP with delta' =
        delta (e^(k eps) - 1)/(e^eps - 1). mu-GDP becomes (k mu)-GDP, and rho-zCDP becomes (k^2 rho)-zCDP. For k = 2^c,
        RDP with a pair (alpha, tau), alpha >= 2^(c+1), becomes RDP with (alpha/2^c, 3^c tau) [Mironov 2017, Prop 2].

    All numbers are rounded up. For k = 1 the guarantee is returned unchanged.

    Parameters
    ----------
    guarantee
        Guarantee for one record.
    k
        Number of records, at least 1.

    Returns
    -------
    same class as ``guarantee``
        Guarantee for groups of k records.

    Raises
    ------
    ConversionError
        If T4 gives no guarantee: delta would reach 1, no Rényi order is large enough, or ``k`` is not a power of two
        for RDP.
    ParameterError
        If ``k`` is not a positive integer.

    Examples
    --------
    >>> from dperm.privacy import PureDP, group
    >>> group(PureDP(0.5, "add_remove"), 3)
    PureDP(epsilon=1.5, adjacency=ADD_REMOVE)
    """
    k = checks.count("k", k)
    if k == 1:
        return guarantee
    return _grouped(guarantee, k)  # type: ignore[return-value]  # each branch returns the kind it was given


def replace_one_from_add_remove(guarantee: G) -> G:
    """Return the replace-one guarantee implied by an add/remove guarantee.

    A replacement is a removal followed by an addition, so T4 with k = 2 applies. Under replace-one, eps-DP becomes
    (2 eps)-DP, (eps, delta)-DP becomes (2 eps, delta (1 + e^eps))-DP, mu-GDP becomes (2 mu)-GDP, and rho-zCDP becomes
    (4 rho)-zCDP. RDP with a pair (alpha, tau), alpha >= 4, becomes RDP with (alpha/2, 3 tau).

    Parameters
    ----------
    guarantee
        Guarantee under add/remove.

    Returns
    -------
    same class as ``guarantee``
        Guarantee under replace-one.

    Raises
    ------
    AdjacencyError
        If ``guarantee`` is not an add/remove guarantee. The converse does not hold: a replace-one guarantee implies no
        add/remove guarantee, since replace-one neighbours have the same number of records.
    ConversionError
        If T4 gives no guarantee: delta would reach 1, or no Rényi order is large enough.
    """
    _require_add_remove(guarantee.adjacency)
    return replace(group(guarantee, 2), adjacency=Adjacency.REPLACE_ONE)


def group_profile(profile: PrivacyProfile, k: int) -> PrivacyProfile:
    """Return the bound of T4 on the privacy profile for k records; for k = 1, return the profile unchanged.

    Parameters
    ----------
    profile
        Privacy profile for one record.
    k
        Number of records, at least 1.

    Returns
    -------
    PrivacyProfile
        Profile for groups of k records.

    Raises
    ------
    ParameterError
        If ``k`` is not a positive integer.
    """
    k = checks.count("k", k)
    return profile if k == 1 else GroupProfile(profile, k, profile.adjacency)


def replace_one_profile(profile: PrivacyProfile) -> PrivacyProfile:
    """Return the bound of T4 on the replace-one profile, from the add/remove profile delta(eps).

    The replace-one profile delta_r satisfies delta_r(2 eps) <= delta(eps) (1 + e^eps).

    Parameters
    ----------
    profile
        Privacy profile under add/remove.

    Returns
    -------
    PrivacyProfile
        Profile under replace-one.

    Raises
    ------
    AdjacencyError
        If ``profile`` is not an add/remove profile.
    """
    _require_add_remove(profile.adjacency)
    return GroupProfile(profile, 2, Adjacency.REPLACE_ONE)


@dataclass(frozen=True)
class GroupProfile(PrivacyProfile):
    """Bound of T4 on the privacy profile for data sets that are k steps apart.

    In each step, one record changes as the neighbouring relation of ``base`` allows. The bound is delta_k(k eps) =
    delta(eps) (e^(k eps) - 1)/(e^eps - 1). The pairs returned by ``epsilon_bracket`` and ``delta_bracket`` enclose this
    bound; the mechanism itself may be more private. The bound may increase with epsilon where delta decreases more
    slowly than the factor grows, for example for mechanisms that fail with positive probability. In this case, a
    smaller epsilon gives a smaller bound, and ``delta`` searches for the best smaller epsilon.

    Attributes
    ----------
    base
        Privacy profile for one step.
    k
        Number of steps.
    adjacency
        Neighbouring relation of the resulting profile.
    """

    base: PrivacyProfile
    k: int
    adjacency: Adjacency

    def epsilon_bracket(self, delta: float) -> tuple[float, float]:
        """Return lower and upper bounds on the smallest epsilon at which the bound of T4 is at most ``delta``.

        Parameters
        ----------
        delta
            Value of delta, in [0, 1).

        Returns
        -------
        tuple[float, float]
            Pair (lower, upper).

        Raises
        ------
        ParameterError
            If ``delta`` is not in [0, 1).
        """
        delta = checks.small_delta("delta", delta)
        low, top, slope = self._climb(0.0, delta, end=0)
        if top - low > _WIDE * top:  # not tight: the upper end has its own root
            top, _, slope = self._climb(low, delta, end=1)
        # the pure bound k eps(0) holds at every delta, also where delta / S underflows
        pure = raised(self.k * self.base.epsilon(0.0))
        high = min(self._verified_above(top, slope, delta), pure)
        return min(lowered(self.k * low), high), high

    def delta_bracket(self, epsilon: float) -> tuple[float, float]:
        """Return lower and upper bounds on the delta given by T4 at ``epsilon``, or at the best smaller epsilon.

        Parameters
        ----------
        epsilon
            Value of epsilon, finite and >= 0.

        Returns
        -------
        tuple[float, float]
            Pair (lower, upper).

        Raises
        ------
        ParameterError
            If ``epsilon`` is negative or not finite.
        """
        single = _share_of(checks.nonnegative("epsilon", epsilon), self.k)
        logs = self._log_bound(single)
        if logs[1] > self._log_bound(single * (1 - 1e-3))[1]:
            logs = min(logs, self._lowest(single), key=_upper)
        return exp_bracket(*logs) if logs[1] > -math.inf else (0.0, 0.0)

    def _log_bound(self, single: float) -> tuple[float, float]:
        """Return (lower, upper) bounds on log of delta(single) times T4's factor, not cut off at 0."""
        low, high = self.base.delta_bracket(single)
        factor = _log_chain(single, self.k)
        return _log_product(low, factor)[0], _log_product(high, factor)[1]

    def _lowest(self, high: float) -> tuple[float, float]:
        """Return T4's bound at the epsilon <= high where it is smallest, by a geometric scan and golden section."""
        scan, at_scan = high, self._log_bound(high)
        below, at_below = high / 2, self._log_bound(high / 2)
        while at_below[1] < at_scan[1]:
            scan, at_scan = below, at_below
            below, at_below = scan / 2, self._log_bound(scan / 2)
        left, right, best, golden = below, min(high, 2 * scan), at_scan, (math.sqrt(5) - 1) / 2
        first, second = right - golden * (right - left), left + golden * (right - left)
        at_first, at_second = self._log_bound(first), self._log_bound(second)
        for _ in range(_GOLDEN_ROUNDS):
            best = min(best, at_first, at_second, key=_upper)
            if at_first[1] <= at_second[1]:
                right, second, at_second = second, first, at_first
                first = right - golden * (right - left)
                at_first = self._log_bound(first)
            else:
                left, first, at_first = first, second, at_second
                second = left + golden * (right - left)
                at_second = self._log_bound(second)
        return best

    def _climb(self, start: float, delta: float, *, end: int) -> tuple[float, float, float]:
        """Return (root, top, slope): the first root of delta(e) S(e) = delta from below, S the factor of T4.

        Evaluations use ``end`` of the base's brackets; ``top`` is the other end at the root, or a little less. The
        iteration e <- epsilon(delta / S(e)) rises towards the first root and cannot pass it, as S increases and delta
        falls. A climb on lower ends stops once a step is short compared with the bracket. ``slope`` estimates -d log
        delta / d e.
        """
        single, log_share, slope = start, math.nan, math.nan
        for _ in range(_ROUNDS if start < math.inf else 0):
            share = self._share(delta, single)
            bracket = self.base.epsilon_bracket(share)
            following = bracket[end]
            if share > 0 and following > single:
                slope = (log_share - math.log(share)) / (following - single)
            settled = single * (1 + _SETTLED) + ((bracket[1] - bracket[0]) / 4 if end == 0 else 0.0)
            if not settled < following < math.inf:
                return max(single, following), bracket[1], slope
            single, log_share = following, math.log(share) if share > 0 else math.nan
        return single, math.inf, slope

    def _share(self, delta: float, single: float) -> float:
        """Return an upper bound on delta / S(single), never rounded down to 0."""
        if delta == 0:
            return 0.0
        return exp_bracket(-math.inf, _log_product(delta, -_log_chain(single, self.k))[1])[1]

    def _verified_above(self, start: float, slope: float, delta: float) -> float:
        """Return the first k e, with e from ``start`` in growing steps, where T4's bound is certainly <= ``delta``.

        The first step follows from ``slope`` and the bound at ``start``.
        """
        if start == math.inf:
            return math.inf
        target = math.log(delta) * (1 + 2 * ULP) if delta > 0 else -math.inf
        excess = self._log_bound(start)[1] - target
        step = 4.0**-20 * (start + 1e-3)
        if 0 < excess < math.inf and slope > self.k:
            step += 1.05 * excess / (slope - (self.k - 1))
        candidate = start
        while excess > 0 and step <= 4 * (start + 1e-3):
            candidate, step = start + step, 4 * step
            excess = self._log_bound(candidate)[1] - target
        return round_up(self.k * Fraction(candidate)) if excess <= 0 else math.inf


@singledispatch
def _grouped(guarantee: AnyGuarantee, k: int) -> AnyGuarantee:
    raise ConversionError(f"group privacy (T4) is proved for the guarantees of dperm, got {shown(guarantee)}.")


@_grouped.register
def _(guarantee: PureDP, k: int) -> PureDP:
    return PureDP(round_up(k * Fraction(guarantee.epsilon)), guarantee.adjacency)


@_grouped.register
def _(guarantee: ApproxDP, k: int) -> ApproxDP:
    epsilon = round_up(k * Fraction(guarantee.epsilon))
    log_delta = _log_product(guarantee.delta, _log_chain(guarantee.epsilon, k))[1]
    if log_delta >= 0:
        raise ConversionError(
            f"{guarantee} promises nothing for {arg('k', k)} records: T4's delta (e^(k epsilon)-1)/(e^epsilon-1) "
            "reaches 1.",
            remedy=f"Use a smaller {arg('k')}, or start from a smaller delta.",
        )
    delta = exp_bracket(-math.inf, log_delta)[1] if guarantee.delta > 0 else 0.0
    return ApproxDP(epsilon, delta, guarantee.adjacency)


@_grouped.register
def _(guarantee: GDP, k: int) -> GDP:
    return GDP(round_up(k * Fraction(guarantee.mu)), guarantee.adjacency)


@_grouped.register
def _(guarantee: ZCDP, k: int) -> ZCDP:
    return ZCDP(round_up(k * k * Fraction(guarantee.rho)), guarantee.adjacency)


@_grouped.register
def _(guarantee: RDP, k: int) -> RDP:
    if k & (k - 1):
        raise ConversionError(
            argument="k",
            rule="must be a power of two for RDP (T4)",
            got=str(k),
            remedy=f"Use {arg('k', 1 << k.bit_length())}.",
        )
    triples = 3 ** (k.bit_length() - 1)
    curve = [(alpha / k, round_up(triples * Fraction(tau))) for alpha, tau in guarantee.curve if alpha >= 2 * k]
    if not curve:
        raise ConversionError(f"T4 for RDP and {arg('k', k)} needs an order alpha >= {2 * k}, got {guarantee}.")
    return RDP(curve, guarantee.adjacency)


def _share_of(epsilon: float, k: int) -> float:
    """Return the largest double e with k e <= epsilon, or the one below it."""
    share = epsilon / k
    return share if k * Fraction(share) <= Fraction(epsilon) else math.nextafter(share, 0.0)


def _log_chain(epsilon: float, k: int) -> float:
    """Return the logarithm of 1 + e^eps + ... + e^((k-1) eps), without overflow."""
    if epsilon == 0:
        return math.log(k)
    # -expm1 keeps the digits of 1 - e^-eps for small eps
    return (k - 1) * epsilon + math.log(math.expm1(-k * epsilon) / math.expm1(-epsilon))


def _log_product(delta: float, log_factor: float) -> tuple[float, float]:
    """Return (lower, upper) bounds on log(delta) + log_factor, where the factor is a ``_log_chain`` or its inverse."""
    if delta == 0:
        return -math.inf, -math.inf
    exponent = math.log(delta) + log_factor
    allowance = ULP * (16 + 4 * abs(math.log(delta)) + 16 * abs(log_factor))
    return exponent - allowance, exponent + allowance


def _upper(pair: tuple[float, float]) -> float:
    return pair[1]


def _require_add_remove(adjacency: Adjacency) -> None:
    if adjacency is not Adjacency.ADD_REMOVE:
        raise AdjacencyError(
            f'T4 gives a replace-one guarantee from adjacency="add_remove" only, got "{adjacency.value}".',
            remedy="There is no converse either: replace-one neighbours have the same n.",
        )
