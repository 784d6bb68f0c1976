# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Lower bound on the true epsilon, with its confidence, as shown by an attack."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from dperm import checks

if TYPE_CHECKING:
    from dperm.audit.finding import Finding
    from dperm.privacy.guarantee import AnyGuarantee

NO_LEAK = {"no_leak_epsilon": 0.0}
"""Baseline of every lower bound: an uninformative attack shows 0."""
EXPLANATION = "Lower bound: the true epsilon is at least this value. An attack that learns nothing shows 0."


@dataclass(frozen=True)
class LowerBound:
    """Lower bound on the epsilon of the attacked mechanism at ``delta``.

    Attributes
    ----------
    epsilon
        Lower bound on the true epsilon at ``delta``.
    delta
        The delta of the bound.
    confidence
        Probability, over the attacker's coins and the noise, that such a bound holds; 1 without sampling.
    method
        Method with its tag, such as "Clopper-Pearson (A2)".
    assumes
        Assumption besides the independence of the runs; "" for none.
    """

    epsilon: float
    delta: float
    confidence: float
    method: str
    assumes: str = ""

    def __post_init__(self) -> None:
        """Check that epsilon is nonnegative or infinite, and the ranges of delta and confidence."""
        if self.epsilon != float("inf"):
            checks.nonnegative("epsilon", self.epsilon)
        checks.small_delta("delta", self.delta)
        checks.rate("confidence", self.confidence)

    def against(self, claimed: "AnyGuarantee", *, subject: str = "an attack") -> "Finding":
        """Compare this bound with the guarantee claimed for ``subject``.

        Parameters
        ----------
        claimed
            The claimed guarantee.
        subject
            Name of the attacked mechanism, for the report.

        Returns
        -------
        Finding
            The verdict, with this bound as its only statistic.
        """
        from dperm.audit.finding import Finding  # which holds bounds

        return Finding(subject, claimed, {self.method: self}, self.confidence)

    def as_dict(self) -> dict[str, object]:
        """Return the fields as JSON-serialisable data for statements."""
        return asdict(self)
