# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Claim tested by an audit: a guarantee, optionally its privacy profile, and the deltas of the test."""

import math

from dperm import checks
from dperm.accounting.account import ComposedProfile
from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.errors import ParameterError
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency
from dperm.privacy.guarantee import AnyGuarantee, ApproxDP, PureDP
from dperm.privacy.profile import PrivacyProfile
from dperm.privacy.worst_case import GaussianProfile

SLACK = 1e-6
"""Relative tolerance for a claimed epsilon: a profile is rounded up several times between a goal and a plan's curve."""
DELTAS = (1e-2, 1e-3, 1e-5, 1e-7, 1e-9)
"""Tested deltas of claims with an infinite epsilon at delta 0: zCDP, GDP and RDP."""


def checked_claim(claimed: object) -> AnyGuarantee:
    """Return ``claimed`` if it is a guarantee; raise ``ParameterError`` otherwise."""
    if isinstance(claimed, AnyGuarantee):
        return claimed
    raise ParameterError(
        argument="claimed",
        rule='must be the guarantee of the subject, such as PureDP(1.0, "add_remove")',
        got="no claim" if claimed is None else checks.shown(claimed),
        remedy="An audit compares its lower bounds with this claim.",
    )


def checked_profile(profile: object, claimed: AnyGuarantee) -> PrivacyProfile | None:
    """Return the claimed profile, or None; raise ``ParameterError`` if its adjacency differs from the claim's."""
    if profile is None:
        return None
    adjacency = getattr(profile, "adjacency", None)
    if not callable(getattr(profile, "epsilon", None)) or not isinstance(adjacency, Adjacency):
        raise ParameterError(
            argument="profile", rule="must be a privacy profile, such as account(...)", got=checks.shown(profile)
        )
    if adjacency is not claimed.adjacency:
        raise ParameterError(
            argument="profile",
            rule=f"must have the adjacency of {arg('claimed')}, {claimed.adjacency.value}",
            got=adjacency.value,
        )
    return profile  # type: ignore[return-value]  # as far as can be seen


def claimed_epsilon(claimed: AnyGuarantee, delta: float, profile: PrivacyProfile | None = None) -> float:
    """Return the epsilon claimed at ``delta``, rounded up, from ``profile`` if given and otherwise from ``claimed``.

    Raise ``ParameterError`` if the profile is weaker than ``claimed``: the audit would test a weaker claim than
    ``claimed``.
    """
    said = claimed.profile().epsilon(delta)
    if profile is None:
        return said
    found = profile.epsilon(delta)
    if found > said * (1 + SLACK) + SLACK**2:
        raise ParameterError(
            argument="profile",
            rule=f"must be at least as strong as {arg('claimed')}",
            got=f"epsilon {found:.6g} at delta {delta:g}, with {said:.6g} for {claimed}",
            remedy=f"Pass the profile of that claim, or leave {arg('profile')} out.",
        )
    return found


def audit_delta(
    claimed: AnyGuarantee,
    delta: float | None = None,
    *,
    profile: PrivacyProfile | None = None,
    usual: float | None = None,
) -> float:
    """Return the delta for the audit: ``delta`` if given, else the claim's own, else ``usual``.

    ``usual`` is the fallback for claims with an epsilon at each delta.

    Raises
    ------
    ParameterError
        If the claimed epsilon is infinite at the chosen delta, so no measurement can contradict it, or if no delta is
        available.
    """
    chosen = _own(claimed, usual) if delta is None else checks.small_delta("delta", delta)
    if math.isinf(claimed_epsilon(claimed, chosen, profile)):
        raise ParameterError(
            argument="delta",
            rule=f"must be a value at which {claimed} has a finite epsilon",
            got=f"{chosen:g}",
            remedy=f"Leave {arg('delta')} out for the delta of the claim.",
        )
    return chosen


def is_gaussian(curve: PrivacyProfile) -> bool:
    """Whether the profile belongs to mu-GDP for some mu (T19), as for composed Gaussian mechanisms.

    A test for a Gaussian trade-off refutes such a claim without further assumptions: no attack beats the claimed
    trade-off.
    """
    if not isinstance(curve, ComposedProfile):
        return isinstance(curve, GaussianProfile)
    return all([type(law) for law, _ in one.steps] == [GaussianLoss] for one in curve.directions)


def _own(claimed: AnyGuarantee, usual: float | None) -> float:
    match claimed:
        case PureDP():
            return 0.0
        case ApproxDP():
            return claimed.delta
    if usual is None:
        raise ParameterError(
            f"{arg('delta')} is required: a {type(claimed).__name__} guarantee has an epsilon at each delta."
        )
    return usual


def exact_audit_deltas(claimed: AnyGuarantee) -> tuple[float, ...]:
    """Return the deltas of an exact audit, all with a finite claimed epsilon.

    A pure claim is tested at 0. An approximate claim is tested at its own delta, and also at a larger delta if its
    profile is known. Other claims are tested at several deltas.
    """
    match claimed:
        case PureDP() | ApproxDP(delta=0.0):
            return (0.0,)
        case ApproxDP():
            return claimed.delta, max(claimed.delta, min(0.1, 30 * claimed.delta))
    return DELTAS
