# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The outcome of an audit: what was claimed, what was measured, and whether the two can both be true."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import cached_property
from types import MappingProxyType

from dperm import checks
from dperm.audit.claim import checked_claim, checked_curve, claimed_epsilon, is_gaussian
from dperm.audit.levels import GAUSSIAN
from dperm.audit.lower_bound import NO_LEAK, LowerBound
from dperm.errors import ParameterError
from dperm.privacy.guarantee import AnyGuarantee, guarantee_as_dict
from dperm.privacy.profile import PrivacyProfile

ROUNDING = 1e-9
"""Of a confidence: 1 - (1 - confidence) is not always the same."""
WITHIN_CLAIM = (
    "A lower bound above 0 is not a leak: the claim permits every value up to the claimed epsilon, and only a value "
    "above it refutes the claim. An attack that learns nothing shows 0."
)
ABOVE_CLAIM = (
    "A lower bound above the claimed epsilon refutes the claim: a method that keeps its claim shows such a value {}. "
    "An attack that learns nothing shows 0."
)


@dataclass(frozen=True)
class Finding:
    """Lower bounds from several statistics of one audit, beside the claim.

    All bounds hold together with ``confidence``: whoever looks at several statistics has paid for each (A5).

    A bound that assumes something refutes a claim only if the claim says the same: then both cannot be true. So a bound
    by way of a Gaussian trade-off refutes a claim whose curve is Gaussian, and tells nothing for certain of any other.

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
        The whole curve that is claimed, where it is known; otherwise that of ``claimed``. It may promise more than
        ``claimed``, never less.
    facts
        Public numbers of the audit: runs, neighbours, ....
    granted
        What bounds may assume (`LowerBound.assumes`) since the claim says it too. That the trade-off is Gaussian is
        seen by itself, from the curve.
    """

    subject: str
    claimed: AnyGuarantee
    bounds: Mapping[str, LowerBound]
    confidence: float
    profile: PrivacyProfile | None = None
    facts: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    granted: Collection[str] = frozenset()

    def __post_init__(self) -> None:
        """Check that claim, curve, bounds and confidence belong together."""
        checked_curve(self.profile, checked_claim(self.claimed))
        checks.rate("confidence", self.confidence)
        _check_bounds(self.bounds, self.confidence)
        if isinstance(self.granted, str) or not isinstance(self.granted, Collection):
            raise ParameterError(f"granted must be a set of assumptions, got {checks.shown(self.granted)}.")
        self._claims  # noqa: B018  # a curve that promises less than the claim is refused

    def claimed_epsilon(self, delta: float) -> float:
        """The epsilon that is claimed at ``delta``, rounded up."""
        return claimed_epsilon(self.claimed, delta, self.profile)

    @cached_property
    def _claims(self) -> Mapping[float, float]:
        """The claimed epsilon at the delta of each bound."""
        return {delta: self.claimed_epsilon(delta) for delta in {bound.delta for bound in self.bounds.values()}}

    @cached_property
    def strongest(self) -> str:
        """The statistic whose bound refutes the claim, by most; if none does, the one that comes nearest to it."""
        return max(self.bounds, key=lambda name: (self._refutes(self.bounds[name]), self._excess(self.bounds[name])))

    @property
    def bound(self) -> LowerBound:
        """The bound of the strongest statistic."""
        return self.bounds[self.strongest]

    @property
    def violation(self) -> bool:
        """Whether a bound exceeds the claim: both cannot be true, up to 1 - ``confidence``.

        A bound that assumes what the claim does not say is left out.
        """
        return any(map(self._refutes, self.bounds.values()))

    @property
    def tightness(self) -> float:
        """Measured over claimed epsilon; above 1 it is a violation, unless the bound assumes what is not claimed."""
        claimed = self._claims[self.bound.delta]
        if math.isinf(claimed) or self.bound.epsilon == 0:
            return 0.0
        return self.bound.epsilon / claimed if claimed > 0 else math.inf

    def _excess(self, bound: LowerBound) -> float:
        """How far it lies above the claim; where none is made, as far below as can be."""
        claimed = self._claims[bound.delta]
        return -math.inf if math.isinf(claimed) else bound.epsilon - claimed

    def _refutes(self, bound: LowerBound) -> bool:
        return self._excess(bound) > 0 and self._holds(bound.assumes)

    def _holds(self, assumed: str) -> bool:
        """Whether the claim says so too."""
        if not assumed or assumed in self.granted:
            return True
        return assumed == GAUSSIAN and is_gaussian(self.claimed.profile() if self.profile is None else self.profile)

    def __str__(self) -> str:
        """One sentence: "no violation found, epsilon >= x at 95 %" or "VIOLATION: claimed a, measured >= b"."""
        level = "exactly" if self.confidence == 1 else f"at {100 * self.confidence:g} % confidence"
        at = f" at delta {self.bound.delta:g}" if self.bound.delta > 0 else ""
        claimed = claimed_digits(self._claims[self.bound.delta])
        measured = measured_digits(self.bound.epsilon)
        how = f"({self.strongest}{self._condition})"
        if self.violation:
            return f"VIOLATION: claimed epsilon {claimed}{at}, measured >= {measured} {level} {how}."
        return f"No violation found: epsilon >= {measured} {level}, claimed {claimed}{at} {how}."

    @property
    def explanation(self) -> str:
        """One sentence or two on how to read the bounds: against the claim, and against an attack without success."""
        if not self.violation:
            return WITHIN_CLAIM
        rarely = f"with probability at most {float(f'{100 * (1 - self.confidence):.4g}'):g} %"
        return ABOVE_CLAIM.format("never" if self.confidence == 1 else rarely)

    @property
    def _condition(self) -> str:
        """What the strongest bound assumes, and whether that is claimed."""
        assumed = self.bound.assumes
        if not assumed:
            return ""
        return f"; {assumed}, as is claimed" if self._holds(assumed) else f"; only if {assumed}, which is not claimed"

    def as_dict(self) -> dict[str, object]:
        """Plain data, as a statement carries it; beside each bound the claim at its delta, and the value of no leak."""
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
    """Four digits, rounded up."""
    return _digits(epsilon, ROUND_CEILING)


def measured_digits(epsilon: float) -> str:
    """Four digits, rounded down: what is measured is a floor."""
    return _digits(epsilon, ROUND_FLOOR)


def _digits(number: float, rounding: str) -> str:
    if math.isinf(number):
        return "inf"
    return f"{float(Context(prec=4, rounding=rounding).create_decimal(Decimal(repr(float(number))))):.4g}"


def _check_bounds(bounds: object, confidence: float) -> None:
    """At least one, and none that is less certain than all of them are said to be."""
    if not isinstance(bounds, Mapping):
        raise ParameterError(f"bounds must be a mapping from statistics to their bounds, got {checks.shown(bounds)}.")
    if not bounds:
        raise ParameterError("bounds must hold the lower bound of at least one statistic, got none.")
    for name, bound in bounds.items():
        if not isinstance(bound, LowerBound):
            raise ParameterError(f"bounds[{name!r}] must be a LowerBound, got {checks.shown(bound)}.")
        if bound.confidence < confidence - ROUNDING:
            raise ParameterError(
                f"confidence must not be above that of any bound, got {confidence:g} with bounds[{name!r}] at "
                f"{bound.confidence:g}."
            )
