# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Meaning of a guarantee: upper bounds on the success of the best attacker, in numbers and in two sentences.

The attacker knows the algorithm, the release, and all records except one. The attacker tries to tell two cases apart.
Under replace_one, the cases have different values of this record; under add_remove, the record is present in one case
and absent in the other. If a release protects groups of records, read "group" instead of "record". Every number is an
upper bound, rounded up.
"""

import math
from dataclasses import dataclass
from typing import Any

from dperm import checks
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.presentation.glossary import CHANGES
from dperm.presentation.numbers import format_percent
from dperm.privacy import gaussian_profile
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.guarantee import Guarantee
from dperm.privacy.profile import PrivacyProfile, curve_of, supporting_line
from dperm.privacy.protection import Protection, choice, format_success, is_effective, success_rate, up_to_one
from dperm.privacy.record import Record, Release

Subject = PrivacyProfile | Guarantee | Record | Release[Any]

FALSE_POSITIVE_RATES = (1e-3, 1e-2)
DELTAS = (1e-5, 1e-6, 1e-9)
SURPRISES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""Default candidates for ``surprise``; the first one for which the profile gives a bound is used."""

_SMALLEST_RATE = 1e-4
_PROBES = 24
_MARGINS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)


@dataclass(frozen=True)
class Explanation:
    """Upper bounds on an attacker's success in learning about one record.

    The attacker knows all other records, and tries to tell apart two cases that differ in this record.

    Attributes
    ----------
    adjacency
        Neighbouring relation, which defines the two cases.
    true_positive_rates
        Pairs (false-positive rate, upper bound on the true-positive rate), from the trade-off curve.
    advantage
        Upper bound on the difference between the true-positive rate and the false-positive rate. It equals delta(0), a
        bound on the total variation distance between the outputs in the two cases (T2).
    accuracy
        Upper bound on the probability of guessing the case correctly if both cases are equally likely,
        (1 + advantage)/2.
    posterior
        Upper bound on the attacker's posterior probability of the true case, for a prior probability of 1/2. The bound
        is exceeded with probability at most p = ``surprise``. Let epsilon(delta) be the epsilon of the privacy profile
        at delta. The bound is e^s/(1 + e^s), where s is the minimum of epsilon(p (1 - e^-m)) + m over several values of
        m > 0 (T2b), or epsilon(0) if that is smaller. The common choice s = epsilon(p) is too small, because delta is
        not a tail probability of the privacy loss (T2a). The value is 1 if the profile gives no bound.
    surprise
        Largest probability p with which the bound ``posterior`` may be exceeded: the argument of `explain`, or its
        default.
    gdp_mu
        The smallest mu for which the trade-off curve of mu-GDP lies below the trade-off curve of the guarantee. The
        curves are compared at slopes that correspond to false-positive (and, by symmetry, false-negative) rates of at
        least 1e-4. The value is exact for a GDP guarantee, and at least the mu of T20 for a pure guarantee. For other
        guarantees, the value is an approximation that does not cover smaller error rates. None if the two cases can be
        told apart almost surely.
    epsilons
        Pairs (delta, epsilon) of the privacy profile; epsilon is infinite where no finite epsilon suffices.
    unit
        Unit in which the two cases differ: one "record", or one "group" of records.

    Examples
    --------
    >>> from dperm.privacy import PureDP, explain
    >>> round(explain(PureDP(1.0, "replace_one")).advantage, 3)
    0.462
    """

    adjacency: Adjacency
    true_positive_rates: tuple[tuple[float, float], ...]
    advantage: float
    accuracy: float
    posterior: float
    surprise: float
    gdp_mu: float | None
    epsilons: tuple[tuple[float, float], ...]
    unit: str = "record"

    @property
    def sentences(self) -> tuple[str, str]:
        """Two sentences for readers who do not know differential privacy.

        Bounds without practical effect are not printed as numbers, and an uninformative posterior is omitted.
        """
        return self._detection_sentence(), self._guess_sentence()

    @property
    def protection(self) -> Protection:
        """Protection level, with the two rates that determine it."""
        return Protection(self.accuracy, self.true_positive_rates[0][1])

    def _detection_sentence(self) -> str:
        (_, rare), (_, common) = self.true_positive_rates
        attacker = f"an attacker who knows all the other {self.unit}s and accepts one false alarm in"
        start = f"If one {self.unit} is {CHANGES[self.adjacency.value]} ({self.adjacency.value}), {attacker}"
        if not is_effective(rare):
            return f"{start} 1,000 can almost always detect the change: the guarantee sets no effective limit."
        rate = f"{start} 1,000 detects the change with probability at most {format_percent(rare)}"
        if not is_effective(common):
            return f"{rate}; with one false alarm in 100, the attacker can almost always detect it."
        return f"{rate}, or at most {format_percent(common)} if the attacker accepts one false alarm in 100."

    def _guess_sentence(self) -> str:
        attacker = f"An attacker who {choice(self.unit)}"
        if not is_effective(self.accuracy):
            return (
                f"{attacker} can almost always choose correctly (50 % by chance): the guarantee sets no effective "
                f"limit."
            )
        guess = f"{attacker} is {format_success(self.accuracy)}."
        if not is_effective(self.posterior):
            return guess
        return (
            f"{guess} The probability that the release makes the attacker more than {format_percent(self.posterior)} "
            f"certain of the truth is at most {format_percent(self.surprise)}."
        )

    def as_dict(self) -> dict[str, object]:
        """Return all fields, protection level and sentences as JSON-serialisable data; infinite numbers become None."""
        return {
            "adjacency": self.adjacency.value,
            "unit": f"one {self.unit}",
            "true_positive_rates": [
                _row("false_positive_rate", x, "true_positive_rate", y) for x, y in self.true_positive_rates
            ],
            "advantage": self.advantage,
            "accuracy": self.accuracy,
            "posterior": self.posterior,
            "surprise": self.surprise,
            "gdp_mu": self.gdp_mu,
            "epsilons": [_row("delta", delta, "epsilon", epsilon) for delta, epsilon in self.epsilons],
            "level": self.protection.level,
            "sentences": list(self.sentences),
        }


def explain(subject: Subject, *, surprise: float | None = None) -> Explanation:
    """Return upper bounds on the success of the best attacker.

    Parameters
    ----------
    subject
        Privacy profile, guarantee, release or record of a release. For a guarantee or a record, the bounds hold for
        every mechanism with this guarantee. For a release, the bounds follow from its privacy profile.
    surprise
        Largest probability, in (0, 1), with which ``posterior`` may be exceeded. The default is the first of 1e-6,
        1e-5, 1e-4, 1e-3 and 1e-2 for which the profile gives a bound. Without such a bound, ``posterior`` is 1.

    Returns
    -------
    Explanation
        Upper bounds with their interpretation.

    Raises
    ------
    ParameterError
        If ``subject`` has an unsupported type, or ``surprise`` is out of range.

    Examples
    --------
    >>> from dperm.privacy import PureDP, explain
    >>> round(explain(PureDP(1.0, "replace_one")).accuracy, 3)
    0.731
    """
    profile = curve_of(_profile_of(subject))
    advantage = profile.delta(0.0)
    posterior, probability = _posterior(profile, surprise)
    return Explanation(
        adjacency=profile.adjacency,
        true_positive_rates=tuple((x, up_to_one(1 - profile.tradeoff(x))) for x in FALSE_POSITIVE_RATES),
        advantage=advantage,
        accuracy=success_rate(advantage),
        posterior=posterior,
        surprise=probability,
        gdp_mu=closest_mu(profile),
        epsilons=tuple((delta, profile.epsilon(delta)) for delta in DELTAS),
        unit=_unit_of(subject),
    )


def closest_mu(profile: PrivacyProfile) -> float | None:
    """Return the smallest mu with delta_mu(eps) >= delta(eps) at the probed eps, rounded up.

    The largest probed eps is the slope of the trade-off curve at a false-positive rate of 1e-4. None if the two cases
    can be told apart almost surely. See ``Explanation.gdp_mu``.
    """
    if profile.delta(0.0) > 1 - 1e-9:
        return None
    steepest = supporting_line(getattr(profile, "delta_for_rates", profile.delta), _SMALLEST_RATE)[0]
    return max(_mu_at(profile, steepest * (i / _PROBES) ** 2) for i in range(_PROBES + 1))


def _mu_at(profile: PrivacyProfile, epsilon: float) -> float:
    delta = profile.delta(epsilon)
    return gaussian_profile.mu_bracket(epsilon, delta)[1] if delta > 0 else 0.0


def _posterior(profile: PrivacyProfile, surprise: float | None) -> tuple[float, float]:
    """Return a bound on the belief, and the probability with which it is exceeded."""
    candidates = SURPRISES if surprise is None else (checks.positive_delta("surprise", surprise),)
    for probability in candidates:
        loss = _loss_quantile(profile, probability)
        if loss < math.inf:
            return up_to_one(1 / (1 + math.exp(-loss))), probability
    return 1.0, candidates[0]


def _loss_quantile(profile: PrivacyProfile, probability: float) -> float:
    """Return a bound on the privacy loss L, exceeded with at most this probability.

    By T2b, (eps, delta)-DP gives P(L > eps + m) <= delta/(1 - e^-m), so delta = probability (1 - e^-m).
    """
    tails = (profile.epsilon(probability * -math.expm1(-margin)) + margin for margin in _MARGINS)
    return min(profile.epsilon(0.0), *tails)


def _profile_of(subject: Subject) -> PrivacyProfile:
    if isinstance(subject, Release):
        return subject.profile
    if isinstance(subject, Record):
        return subject.guarantee.profile()
    if isinstance(subject, Guarantee):
        return subject.profile()
    if not callable(getattr(subject, "tradeoff", None)):
        raise ParameterError(
            f"explain takes a release, a record, a profile or a guarantee, got {shown(subject)}.",
            remedy='Make a profile of an event with account(event, adjacency="add_remove"), or give a guarantee such '
            'as ApproxDP(1.0, 1e-6, "add_remove").',
        )
    return subject


def _unit_of(subject: Subject) -> str:
    record = subject.record if isinstance(subject, Release) else subject
    return record.unit if isinstance(record, Record) else "record"


def _row(first: str, x: float, second: str, y: float) -> dict[str, float | None]:
    return {first: x, second: y if math.isfinite(y) else None}
