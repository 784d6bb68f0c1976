# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What an audit is held against: a guarantee, perhaps its whole curve, and a delta at which it promises something."""

import math

from dperm import checks
from dperm.accounting.account import ComposedProfile
from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.errors import ParameterError
from dperm.privacy import Adjacency
from dperm.privacy.guarantee import AnyGuarantee, ApproxDP, PureDP
from dperm.privacy.profile import PrivacyProfile
from dperm.privacy.worst_case import GaussianProfile

SLACK = 1e-6
"""Of a claimed epsilon: curves are rounded up, and more than once on the way from a goal to a plan's curve."""


def checked_claim(claimed: object) -> AnyGuarantee:
    """The guarantee, if it is one."""
    if isinstance(claimed, AnyGuarantee):
        return claimed
    got = "and it is missing" if claimed is None else f"got {checks.shown(claimed)}"
    raise ParameterError(
        f'claimed must be the guarantee that the subject is said to have, such as PureDP(1.0, "add_remove"), {got}. '
        f"An audit compares what is measured with it."
    )


def checked_curve(profile: object, claimed: AnyGuarantee) -> PrivacyProfile | None:
    """The whole curve that is claimed, if there is one, and if it speaks of the same neighbours."""
    if profile is None:
        return None
    adjacency = getattr(profile, "adjacency", None)
    if not callable(getattr(profile, "epsilon", None)) or not isinstance(adjacency, Adjacency):
        raise ParameterError(f"profile must be a privacy profile, such as account(...), got {checks.shown(profile)}.")
    if adjacency is not claimed.adjacency:
        raise ParameterError(
            f"profile must be under the adjacency of claimed, {claimed.adjacency.value}, got {adjacency.value}."
        )
    return profile  # type: ignore[return-value]  # as far as can be seen


def claimed_epsilon(claimed: AnyGuarantee, delta: float, profile: PrivacyProfile | None = None) -> float:
    """The epsilon that is claimed at ``delta``, rounded up; a curve that is given may not promise less than the claim.

    Otherwise an audit would be held against something weaker than what is said.
    """
    said = claimed.profile().epsilon(delta)
    if profile is None:
        return said
    found = profile.epsilon(delta)
    if found > said * (1 + SLACK) + SLACK**2:
        raise ParameterError(
            f"profile must promise at least as much as claimed, got epsilon {found:.6g} at delta {delta:g}, where "
            f"{claimed} says {said:.6g}. Give the curve of that claim, or leave profile out."
        )
    return found


def delta_of(
    claimed: AnyGuarantee,
    delta: float | None = None,
    *,
    profile: PrivacyProfile | None = None,
    usual: float | None = None,
) -> float:
    """The delta at which a claim is audited: ``delta``, or the claim's own, or ``usual`` where it has one at each.

    Raises
    ------
    ParameterError
        If the claim promises nothing there: its epsilon is infinite, and no measurement can contradict it.
    """
    chosen = _own(claimed, usual) if delta is None else checks.small_delta("delta", delta)
    if math.isinf(claimed_epsilon(claimed, chosen, profile)):
        raise ParameterError(
            f"delta must be one at which {claimed} promises something, got {chosen:g}, where its epsilon is infinite. "
            f"Leave delta out to take the claim's own."
        )
    return chosen


def is_gaussian(curve: PrivacyProfile) -> bool:
    """Whether the curve is that of mu-GDP for some mu (T19): Gaussian mechanisms, composed, are.

    A test for a Gaussian trade-off refutes such a claim without further assumption: under it no attack is better.
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
        raise ParameterError(f"delta must be given: a {type(claimed).__name__} guarantee has an epsilon at each delta.")
    return usual
