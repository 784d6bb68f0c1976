# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One answer of a profile with how it was found, for a table and for JSON."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dperm.accounting.engines import Answer
    from dperm.privacy.profile import PrivacyProfile

_DOUBLED = "an event has no replace_one pair of its own: accounted under add_remove, then read for two records (T4)"


def answer(profile: "PrivacyProfile", *, delta: float | None = None, epsilon: float | None = None) -> "Answer":
    """The bracket of epsilon at ``delta``, or of delta at ``epsilon``, with its engine."""
    from dperm.accounting.account import ComposedProfile
    from dperm.accounting.engines import Answer

    if delta is not None:
        if isinstance(profile, ComposedProfile):
            return profile.epsilon_answer(delta)
        return Answer(*profile.epsilon_bracket(delta), "T4", _DOUBLED)
    assert epsilon is not None
    if isinstance(profile, ComposedProfile):
        return profile.delta_answer(epsilon)
    return Answer(*profile.delta_bracket(epsilon), "T4", _DOUBLED)


def theorems(profile: "PrivacyProfile") -> tuple[str, ...]:
    """Tags of the theorems that the profile rests on."""
    from dperm.accounting.account import ComposedProfile
    from dperm.privacy.group import GroupProfile

    if isinstance(profile, ComposedProfile):
        return profile.tags
    base = theorems(profile.base) if isinstance(profile, GroupProfile) else ()
    return tuple(sorted({*base, "T4"}, key=lambda tag: (len(tag), tag)))


def answer_data(found: "Answer", quantity: str) -> dict[str, object]:
    """An answer as JSON-ready data; ``quantity`` is "epsilon" or "delta"."""
    return {
        quantity: found.upper,
        f"{quantity}_bracket": [found.lower, found.upper],
        "relative_width": found.width,
        "engine": found.engine,
        "why": found.why,
    }
