# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What an attack has shown: the true epsilon is at least so much, with so much confidence."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from dperm import checks

if TYPE_CHECKING:
    from dperm.audit.finding import Finding
    from dperm.privacy.guarantee import AnyGuarantee

NO_LEAK = {"no_leak_epsilon": 0.0}
"""Baseline of every lower bound: an attack that learns nothing shows 0."""
EXPLANATION = "Lower bound: the true epsilon is at least this value. An attack that learns nothing shows 0."


@dataclass(frozen=True)
class LowerBound:
    """A lower bound on the epsilon, at ``delta``, of whatever was attacked.

    Attributes
    ----------
    epsilon
        The true epsilon at ``delta`` is at least this.
    delta
        The delta at which the bound holds.
    confidence
        The probability, over the attacker's coins and the noise, with which such a bound is true; 1 where nothing is
        sampled.
    method
        How it was found, with its tag: "Clopper-Pearson (A2)".
    assumes
        What has to be true besides the independence of the runs; "" for nothing.
    """

    epsilon: float
    delta: float
    confidence: float
    method: str
    assumes: str = ""

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.epsilon != float("inf"):
            checks.nonnegative("epsilon", self.epsilon)
        checks.small_delta("delta", self.delta)
        checks.rate("confidence", self.confidence)

    def against(self, claimed: "AnyGuarantee", *, subject: str = "an attack") -> "Finding":
        """The verdict: this bound beside the guarantee that ``subject`` is said to have."""
        from dperm.audit.finding import Finding  # which holds bounds

        return Finding(subject, claimed, {self.method: self}, self.confidence)

    def as_dict(self) -> dict[str, object]:
        """Plain data, for JSON and for statements."""
        return asdict(self)
