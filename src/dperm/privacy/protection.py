# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Protection levels: success of the best attacker against a guarantee, compared with documented thresholds.

Two rates decide, both upper bounds over all attacks. *Success* is the rate of correct guesses about one bit from even
odds, (1 + delta(0))/2 (T2). *Detection* is the true-positive rate at one false alarm in 1,000. Success alone is an
average: a mechanism that publishes one record in ten in full has a success of only 55 %. The page "Choosing epsilon"
has the reasons for the thresholds.
"""

import math
from dataclasses import dataclass
from typing import Literal

from dperm.presentation.numbers import format_percent
from dperm.privacy.profile import PrivacyProfile

Level = Literal["strong", "moderate", "weak"]

GUESSING = 0.5
"""Success of an attacker without the release."""
FALSE_ALARMS = 1e-3
"""False-positive rate of the detection rate; also the detection rate of an attacker without the release."""
STRONG_SUCCESS, STRONG_DETECTION = 0.75, 0.02
"""Largest rates of the level "strong"."""
MODERATE_SUCCESS, MODERATE_DETECTION = 0.99, 0.5
"""Largest rates of the level "moderate"; above them the level is "weak"."""
EFFECTIVE = 0.999999
"""Largest effective bound. Larger bounds limit nothing in practice, and are not printed as percentages."""


@dataclass(frozen=True)
class Protection:
    """Upper bounds on the best attack against a release, or against several releases together.

    Attributes
    ----------
    success
        Highest rate of correct guesses about one bit from even odds.
    detection
        Highest true-positive rate at one false alarm in 1,000.
    """

    success: float
    detection: float

    @property
    def level(self) -> Level:
        """Level "strong", "moderate" or "weak", by the worse of the two rates."""
        if self.success <= STRONG_SUCCESS and self.detection <= STRONG_DETECTION:
            return "strong"
        if self.success <= MODERATE_SUCCESS and self.detection <= MODERATE_DETECTION:
            return "moderate"
        return "weak"

    @property
    def detection_decides(self) -> bool:
        """Whether success alone would give a better level."""
        return Protection(self.success, 0.0).level != self.level


def protection(profile: PrivacyProfile) -> Protection:
    """Return the rates of the best attack permitted by ``profile``, rounded up (T2, T19)."""
    return Protection(success_rate(profile.delta(0.0)), up_to_one(1 - profile.tradeoff(FALSE_ALARMS)))


def success_rate(advantage: float) -> float:
    """Return the success rate from even odds, (1 + advantage)/2, rounded up (T2)."""
    return up_to_one((1 + advantage) / 2)


def up_to_one(rate: float) -> float:
    """Return the next double above ``rate``, at most 1."""
    return min(1.0, math.nextafter(rate, math.inf))


def is_effective(rate: float) -> bool:
    """Whether an upper bound limits an attacker in practice."""
    return rate <= EFFECTIVE


def choice(unit: str) -> str:
    """Return the task of an attacker as the end of a sentence "An attacker who ..."."""
    return f"must choose between two equally likely possibilities for one {unit}"


def format_success(rate: float) -> str:
    """Return a success rate as text, such as "right at most 73.2 % of the time (50 % by chance)"."""
    limit = f"at most {format_percent(rate)}" if is_effective(rate) else f"more than {100 * EFFECTIVE:g} %"
    return f"right {limit} of the time ({100 * GUESSING:g} % by chance)"
