# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The outcome of an audit: what was claimed, what was measured, and whether the two can both be true."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from dperm.audit.lower_bound import LowerBound
from dperm.errors import ParameterError
from dperm.privacy.guarantee import AnyGuarantee, guarantee_as_dict
from dperm.privacy.profile import PrivacyProfile


@dataclass(frozen=True)
class Finding:
    """Lower bounds from several statistics of one audit, beside the claim.

    All bounds hold together with ``confidence``: whoever looks at several statistics has paid for each (A5).

    Attributes
    ----------
    subject
        What was attacked, in words.
    claimed
        The guarantee that it is said to have.
    bounds
        For each statistic its lower bound, valid at the level that was paid for it.
    confidence
        The probability with which all of them are true.
    profile
        The whole curve that is claimed, where it is known; otherwise that of ``claimed``.
    facts
        Public numbers of the audit: runs, neighbours, ....
    """

    subject: str
    claimed: AnyGuarantee
    bounds: Mapping[str, LowerBound]
    confidence: float
    profile: PrivacyProfile | None = None
    facts: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        """Without a bound there is nothing to say."""
        if not self.bounds:
            raise ParameterError("bounds must hold the lower bound of at least one statistic, got none.")

    def claimed_epsilon(self, delta: float) -> float:
        """The epsilon that is claimed at ``delta``, rounded up."""
        return (self.claimed.profile() if self.profile is None else self.profile).epsilon(delta)

    @cached_property
    def strongest(self) -> str:
        """The statistic whose bound comes nearest to the claim, or exceeds it most."""
        return max(
            self.bounds, key=lambda name: self.bounds[name].epsilon - self.claimed_epsilon(self.bounds[name].delta)
        )

    @property
    def bound(self) -> LowerBound:
        """The bound of the strongest statistic."""
        return self.bounds[self.strongest]

    @property
    def violation(self) -> bool:
        """Whether a bound exceeds the claim: both cannot be true, up to 1 - ``confidence``."""
        return self.bound.epsilon > self.claimed_epsilon(self.bound.delta)

    @property
    def tightness(self) -> float:
        """Measured over claimed epsilon; above 1 it is a violation."""
        claimed = self.claimed_epsilon(self.bound.delta)
        return self.bound.epsilon / claimed if claimed > 0 else float("inf") if self.bound.epsilon > 0 else 0.0

    def __str__(self) -> str:
        """One sentence: "no violation found, epsilon >= x at 95 %" or "VIOLATION: claimed a, measured >= b"."""
        level = "exactly" if self.confidence == 1 else f"at {100 * self.confidence:g} % confidence"
        at = f" at delta {self.bound.delta:g}" if self.bound.delta > 0 else ""
        claimed, measured = self.claimed_epsilon(self.bound.delta), self.bound.epsilon
        if self.violation:
            return (
                f"VIOLATION: claimed epsilon {claimed:.4g}{at}, measured >= {measured:.4g} {level} ({self.strongest})."
            )
        return f"No violation found: epsilon >= {measured:.4g} {level}, claimed {claimed:.4g}{at} ({self.strongest})."

    def as_dict(self) -> dict[str, object]:
        """Plain data, as a statement carries it."""
        return {
            "subject": self.subject,
            "result": str(self),
            "violation": self.violation,
            "claimed": guarantee_as_dict(self.claimed),
            "confidence": self.confidence,
            "bounds": {name: bound.as_dict() for name, bound in self.bounds.items()},
            **self.facts,
        }
