# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Lower bound on the true epsilon with its confidence, and functions shared by all bounds.

These functions check confidences and counts, and round epsilon down.
"""

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from scipy.special import ndtri

from dperm import checks
from dperm.audit.intervals import MOST_TRIALS
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.presentation.facts import Fact
from dperm.privacy import gaussian_profile
from dperm.privacy.rounding import ULP

if TYPE_CHECKING:
    from dperm.audit.finding import Finding
    from dperm.privacy.guarantee import AnyGuarantee


NO_LEAK = {"no_leak_epsilon": 0.0}
"""Baseline of every lower bound: an uninformative attack gives 0."""
WITHOUT_CLAIM = Fact(
    "audit.without-claim",
    "Lower bound: the true epsilon is at least this value. An attack that learns nothing gives a bound of 0.",
)
EXPLANATION = str(WITHOUT_CLAIM)
"""Explanation of a bound without a claim."""
_USUAL = "0.95 is usual."
GAUSSIAN = "the trade-off is Gaussian"
"""Assumption of the bounds derived from mu-GDP (T19)."""


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
        Confidence level: the bound holds with at least this probability over the attacker's coin flips and the noise. A
        bound computed without sampling has confidence 1.
    method
        Name of the method and tag of its theorem, such as "Clopper-Pearson (A2)".
    assumes
        Assumption of the bound in addition to the independence of the runs; "" if there is none.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.audit.guesses import pure_from_guesses
    >>> bound = pure_from_guesses(correct=900, guesses=1000)
    >>> round(bound.epsilon, 4)
    2.0212
    >>> bound.against(PureDP(1.0, "add_remove")).violation
    True
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
        """Return the fields as JSON-serialisable data for privacy statements."""
        return asdict(self)


def alpha_of(confidence: float) -> float:
    """Return the level 1 - confidence of a test; raise ``ParameterError`` unless in (0, 1) in double precision."""
    alpha = 1 - checks.positive_delta("confidence", confidence, _USUAL)
    if alpha == 1:
        raise ParameterError(
            argument="confidence",
            rule="must be a number in (0, 1), with 1 - confidence below 1 in doubles",
            got=shown(confidence),
            remedy=_USUAL,
        )
    return alpha


def checked_guess_counts(correct: int, guesses: int) -> tuple[int, int]:
    """Return both counts; raise ``ParameterError`` unless 0 <= correct <= guesses."""
    guesses = checks.count("guesses", guesses, least=0, most=MOST_TRIALS)
    return checks.count("correct", correct, f"It cannot exceed guesses={guesses}.", least=0, most=guesses), guesses


def log_ratio(above: float, below: float) -> float:
    """Return max(0, log(above / below)), rounded down; 0 for nonpositive ``above``. ``below`` must be positive."""
    return rounded_down(math.log(above) - math.log(below)) if above > below else 0.0


def rounded_down(value: float) -> float:
    """Return ``value`` minus a rounding margin, at least 0."""
    return max(0.0, value - 8 * ULP * (1 + abs(value)))


def gaussian_delta(delta: float) -> float:
    """Return ``delta``; raise ``ParameterError`` unless it is positive."""
    return checks.positive_delta("delta", delta, "A Gaussian trade-off has a finite epsilon only at a positive delta.")


def gaussian_separation(false_positive_rate: float, false_negative_rate: float) -> float:
    """Return the mu of the Gaussian trade-off curve through a point (T19), rounded down; negative above the diagonal.

    mu = Phi^-1(1 - FPR) - Phi^-1(FNR); -inf where a rate is 1.
    """
    x, y = -float(ndtri(false_positive_rate)), -float(ndtri(false_negative_rate))
    return x + y - 8 * ULP * (1 + abs(x) + abs(y)) if min(x, y) > -math.inf else -math.inf


def gaussian_bound(mu: float, *, delta: float, confidence: float, method: str) -> LowerBound:
    """Return the epsilon of mu-GDP at ``delta`` (A1, T6), rounded down, a bound that assumes a Gaussian trade-off."""
    epsilon = gaussian_profile.epsilon_bracket(mu, delta)[0]
    return LowerBound(epsilon, delta, confidence, method, assumes=GAUSSIAN)
