# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Audit finding: the claim, the measured lower bounds, and the verdict on their compatibility."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from dperm import checks
from dperm.audit.claim import checked_claim, checked_profile, claimed_epsilon, is_gaussian
from dperm.audit.lower_bound import GAUSSIAN, NO_LEAK, LowerBound
from dperm.errors import ParameterError
from dperm.presentation.facts import Fact
from dperm.presentation.notebook import Badge, notebook_card, notebook_grid, notebook_list
from dperm.presentation.numbers import INFINITE, format_down, format_number, format_up
from dperm.presentation.tables import TextTable
from dperm.privacy.guarantee import AnyGuarantee, guarantee_as_dict
from dperm.privacy.profile import PrivacyProfile

ROUNDING = 1e-9
"""Tolerance for confidences: in double precision, 1 - (1 - confidence) may differ from the confidence."""
WITHIN_CLAIM = Fact(
    "audit.within-claim",
    "A lower bound above 0 is not a leak: the claim permits every value up to the claimed epsilon, and only a value "
    "above it refutes the claim. An attack that learns nothing gives a bound of 0.",
)
_ABOVE_CLAIM = (
    "A lower bound above the claimed epsilon refutes the claim: a method that keeps its claim {rarely}. An attack that "
    "learns nothing gives a bound of 0."
)
_SHARED_ERROR = (
    "The {statistics} statistics share the error probability of {error_percent:g} %, so each bound has a higher "
    "confidence, and all bounds hold together at {confidence_percent:g} % confidence."
)


_EARLIER_WORDINGS = {
    " learns nothing shows 0.": " learns nothing gives a bound of 0.",
    " shows such a value never.": " never gives such a bound.",
    " shows such a value with probability ": " gives such a bound with probability ",
}


@dataclass(frozen=True)
class Finding:
    """Lower bounds on epsilon from one or more statistics of an audit, compared with the claimed guarantee.

    All bounds hold simultaneously with probability at least ``confidence``, because the error probability is divided
    among the statistics (A5).

    A bound may need an assumption. Such a bound refutes a claim only if the claim implies the assumption. For example,
    a bound that assumes a Gaussian trade-off curve refutes a claim only if the claimed trade-off curve is Gaussian.

    Attributes
    ----------
    subject
        Name of the attacked mechanism or training run.
    claimed
        The claimed guarantee.
    bounds
        Mapping from the name of each statistic to its lower bound, each with its own confidence level.
    confidence
        Confidence level at which all bounds hold together, in (0, 1].
    profile
        The claimed privacy profile; None uses the profile of ``claimed``. The profile may give a stronger guarantee
        than ``claimed``, but not a weaker one.
    facts
        Public facts about the audit, such as the number of runs.
    granted
        Assumptions of the bounds (`LowerBound.assumes`) that the claim implies. Whether the claim implies a Gaussian
        trade-off is determined from the profile.
    notes
        Notes on the claim for the reader of a report, for example that only a part of a plan's epsilon is audited.
        `as_dict` does not include them.
    """

    subject: str
    claimed: AnyGuarantee
    bounds: Mapping[str, LowerBound]
    confidence: float
    profile: PrivacyProfile | None = None
    facts: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    granted: Collection[str] = frozenset()
    notes: tuple[Fact, ...] = ()

    def __post_init__(self) -> None:
        """Check that claim, profile, bounds and confidence are consistent."""
        checked_profile(self.profile, checked_claim(self.claimed))
        checks.rate("confidence", self.confidence)
        _check_bounds(self.bounds, self.confidence)
        if isinstance(self.granted, str) or not isinstance(self.granted, Collection):
            raise ParameterError(
                argument="granted", rule="must be a set of assumptions", got=checks.shown(self.granted)
            )
        self._claims  # noqa: B018  # a curve that promises less than the claim is refused

    def claimed_epsilon(self, delta: float) -> float:
        """Return the claimed epsilon at ``delta``, rounded up.

        Parameters
        ----------
        delta
            Delta at which the claim is evaluated.

        Returns
        -------
        float
            Epsilon of ``profile``, or of ``claimed`` if there is no profile; infinite if the claim does not bound
            epsilon at ``delta``.
        """
        return claimed_epsilon(self.claimed, delta, self.profile)

    @cached_property
    def _claims(self) -> Mapping[float, float]:
        """Claimed epsilon at the delta of each bound."""
        return {delta: self.claimed_epsilon(delta) for delta in {bound.delta for bound in self.bounds.values()}}

    @cached_property
    def strongest(self) -> str:
        """Name of the statistic that refutes the claim by the largest margin, or else comes closest to refuting it."""
        return max(self.bounds, key=lambda name: (self._refutes(self.bounds[name]), self._excess(self.bounds[name])))

    @property
    def bound(self) -> LowerBound:
        """Lower bound of the statistic ``strongest``."""
        return self.bounds[self.strongest]

    @property
    def violation(self) -> bool:
        """Whether at least one bound refutes the claim.

        A true claim is refuted with probability at most 1 - ``confidence``. Bounds with an assumption that the claim
        does not imply are ignored.
        """
        return any(map(self._refutes, self.bounds.values()))

    @property
    def tightness(self) -> float:
        """Epsilon of ``bound`` divided by the claimed epsilon at the same delta; 0 if the claimed epsilon is infinite.

        A value above 1 is a violation if the bound needs no assumption, or only one that the claim implies.
        """
        claimed = self._claims[self.bound.delta]
        if math.isinf(claimed) or self.bound.epsilon == 0:
            return 0.0
        return self.bound.epsilon / claimed if claimed > 0 else math.inf

    def _excess(self, bound: LowerBound) -> float:
        """Return the bound minus the claimed epsilon, or -inf where the claimed epsilon is infinite."""
        claimed = self._claims[bound.delta]
        return -math.inf if math.isinf(claimed) else bound.epsilon - claimed

    def _refutes(self, bound: LowerBound) -> bool:
        return self._excess(bound) > 0 and self._holds(bound.assumes)

    def _holds(self, assumed: str) -> bool:
        """Whether the claim implies the assumption; an empty assumption always holds."""
        if not assumed or assumed in self.granted:
            return True
        return assumed == GAUSSIAN and is_gaussian(self.claimed.profile() if self.profile is None else self.profile)

    def __str__(self) -> str:
        """Return `verdict` as a sentence."""
        return str(self.verdict)

    def _repr_html_(self) -> str:
        """Return the verdict, the bounds of all statistics and their interpretation as HTML, for notebooks."""
        badge: Badge = ("VIOLATION", "bad") if self.violation else ("NO VIOLATION FOUND", "neutral")
        header = ("statistic", "epsilon at least", "claimed", "at delta", "confidence", "method")
        table = TextTable(header, [self._cells(name, bound) for name, bound in self.bounds.items()])
        reading = notebook_list((*self.explanations, *self.notes))
        return notebook_card(f"Audit of {self.subject}", str(self), notebook_grid(table), reading, badge=badge)

    def _cells(self, name: str, bound: LowerBound) -> tuple[str, ...]:
        level = "certain" if bound.confidence == 1 else f"{format_down(100 * bound.confidence, 4)} %"
        claimed = format_up(self._claims[bound.delta], 4)
        return (name, format_down(bound.epsilon, 4), claimed, format_number(bound.delta), level, bound.method)

    @property
    def verdict(self) -> Fact:
        """Verdict on the claim, based on the strongest statistic.

        The attribute ``code`` of the verdict is "audit.violation" or "audit.no-violation". ``str(finding)`` is the
        verdict as a sentence: "No violation found: epsilon >= x ..." or "VIOLATION: claimed epsilon a, measured >= b
        ...".
        """
        level = "with certainty" if self.confidence == 1 else "at {confidence_percent:g} % confidence"
        at = " at delta {delta:g}" if self.bound.delta > 0 else ""
        how = "({statistic}" + self._condition + ")"
        claimed = self._claims[self.bound.delta]
        values = {
            "claimed": claimed_digits(claimed),
            "claimed_epsilon": claimed,
            "measured": measured_digits(self.bound.epsilon),
            "measured_epsilon": self.bound.epsilon,
            "delta": self.bound.delta,
            "confidence_percent": 100 * self.confidence,
            "statistic": self.strongest,
            "assumes": self.bound.assumes,
        }
        if self.violation:
            template = f"VIOLATION: claimed epsilon {{claimed}}{at}, measured >= {{measured}} {level} {how}."
            return Fact("audit.violation", template, values)
        template = f"No violation found: epsilon >= {{measured}} {level}, claimed {{claimed}}{at} {how}."
        return Fact("audit.no-violation", template, values)

    @property
    def explanation(self) -> str:
        """All sentences of ``explanations`` as one text, as stored in audit records."""
        return " ".join(map(str, self.explanations))

    @property
    def explanations(self) -> tuple[Fact, ...]:
        """Interpretation of the bounds, and a note if the error probability is divided among several statistics."""
        return (self._reading, self._shared_error) if self._divides_error else (self._reading,)

    def matches_result(self, text: object) -> bool:
        """Return whether a stored verdict is the verdict of this finding.

        Versions up to 0.9.0 wrote "exactly" instead of "with certainty"; verdicts stored by them also match.

        Parameters
        ----------
        text
            Stored verdict.

        Returns
        -------
        bool
            Whether the verdict matches.
        """
        return text in (str(self), str(self).replace(" with certainty", " exactly", 1))

    def matches_explanation(self, text: object) -> bool:
        """Return whether a stored explanation is the explanation of this finding.

        Explanations stored by earlier versions also match: version 0.9.0 stored only the interpretation of the bounds,
        and versions up to 0.10.0 wrote "shows" instead of "gives".

        Parameters
        ----------
        text
            Stored explanation.

        Returns
        -------
        bool
            Whether the explanation matches.
        """
        known = (self.explanation, str(self._reading))
        return text in known or (isinstance(text, str) and _current_wording(text) in known)

    @property
    def _reading(self) -> Fact:
        """Return the reading of the bounds relative to the claim and to an uninformative attack."""
        if not self.violation:
            return WITHIN_CLAIM
        error = self._error_percent
        if self.confidence == 1:
            return Fact(
                "audit.above-claim", _ABOVE_CLAIM.format(rarely="never gives such a bound"), {"error_percent": error}
            )
        rarely = "gives such a bound with probability at most {error_percent:g} %"
        return Fact("audit.above-claim", _ABOVE_CLAIM.format(rarely=rarely), {"error_percent": error})

    @property
    def _shared_error(self) -> Fact:
        """Return the division of the error probability among the statistics."""
        values = {"statistics": len(self.bounds), "error_percent": self._error_percent}
        return Fact("audit.shared-error", _SHARED_ERROR, {**values, "confidence_percent": 100 * self.confidence})

    @property
    def _divides_error(self) -> bool:
        """Whether several statistics share the error probability."""
        confidences = [bound.confidence for bound in self.bounds.values()]
        return len(confidences) > 1 and self.confidence < 1 and min(confidences) > self.confidence + ROUNDING

    @property
    def _error_percent(self) -> float:
        """Return the error probability 1 - confidence in percent, with four significant digits."""
        return float(f"{100 * (1 - self.confidence):.4g}")

    @property
    def _condition(self) -> str:
        """Template of the strongest bound's assumption, noting whether the claim implies it; "" for none."""
        assumed = self.bound.assumes
        if not assumed:
            return ""
        return "; {assumes}, as is claimed" if self._holds(assumed) else "; only if {assumes}, which is not claimed"

    def as_dict(self) -> dict[str, object]:
        """Return JSON-serialisable data for a privacy statement.

        Each bound is listed with the claimed epsilon at the same delta. For comparison, it is also listed with 0, the
        bound of an attack that learns nothing.

        Returns
        -------
        dict
            Subject, result, explanation, violation, claim, confidence, bounds, and the entries of ``facts``.
        """
        claims = {name: {"claimed_epsilon": self._claims[bound.delta]} for name, bound in self.bounds.items()}
        return {
            "subject": self.subject,
            "result": str(self),
            "explanation": self.explanation,
            "violation": self.violation,
            "claimed": guarantee_as_dict(self.claimed),
            "confidence": self.confidence,
            "bounds": {name: {**bound.as_dict(), **claims[name], **NO_LEAK} for name, bound in self.bounds.items()},
            **self.facts,
        }


def claimed_digits(epsilon: float) -> str:
    """Format an epsilon with four significant digits, rounded up."""
    return _as_recorded(format_up(float(epsilon), 4))


def measured_digits(epsilon: float) -> str:
    """Format an epsilon with four significant digits, rounded down, because a measured value is a lower bound."""
    return _as_recorded(format_down(float(epsilon), 4))


def _as_recorded(number: str) -> str:
    """Format a rounded number as in stored audits: "inf" and "1e-05". Stored verdicts must match exactly."""
    return "inf" if number == INFINITE else f"{float(number):.4g}"


def _check_bounds(bounds: object, confidence: float) -> None:
    """Check that there is at least one bound, and none with a confidence below ``confidence``."""
    if not isinstance(bounds, Mapping):
        raise ParameterError(
            argument="bounds", rule="must be a mapping from statistics to their bounds", got=checks.shown(bounds)
        )
    if not bounds:
        raise ParameterError(
            argument="bounds", rule="must contain the lower bound of at least one statistic", got="none"
        )
    for name, bound in bounds.items():
        if not isinstance(bound, LowerBound):
            raise ParameterError(argument=f"bounds[{name!r}]", rule="must be a LowerBound", got=checks.shown(bound))
        if bound.confidence < confidence - ROUNDING:
            raise ParameterError(
                argument="confidence",
                rule="must not be above the confidence of any bound",
                got=f"{confidence:g} with bounds[{name!r}] at {bound.confidence:g}",
            )


def _current_wording(explanation: str) -> str:
    """Return an explanation stored by version 0.10.0 or earlier in the current wording."""
    for earlier, current in _EARLIER_WORDINGS.items():
        explanation = explanation.replace(earlier, current)
    return explanation
