# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Protection levels: what a guarantee leaves to the best attacker, against documented thresholds.

Two rates decide, both ceilings over all attacks. *Success* is the rate of right guesses about one bit from even odds,
(1 + delta(0))/2 (T2). *Detection* is the true-positive rate at one false alarm in 1,000. Success alone is an average:
a mechanism that publishes one record in ten in full has a success of only 55 %. The page "Choosing epsilon" has the
reasons for the thresholds.
"""

import math
from dataclasses import dataclass
from typing import Literal

from dperm.privacy.profile import PrivacyProfile

Level = Literal["strong", "moderate", "weak"]

GUESSING = 0.5
"""Success of an attacker who does not see the release."""
FALSE_ALARMS = 1e-3
"""False-positive rate of the detection rate; also the detection rate of an attacker who does not see the release."""
STRONG_SUCCESS, STRONG_DETECTION = 0.75, 0.02
"""Largest rates of the level "strong"."""
MODERATE_SUCCESS, MODERATE_DETECTION = 0.99, 0.5
"""Largest rates of the level "moderate"; above them the level is "weak"."""
EFFECTIVE = 0.999999
"""Ceilings above this rate limit nothing in practice. They are not printed as percentages."""


@dataclass(frozen=True)
class Protection:
    """Ceilings on the best attack against a release, or against several releases together.

    Attributes
    ----------
    success
        Highest rate of right guesses about one bit from even odds.
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
    """Rates of the best attack that ``profile`` permits, rounded up (T2, T19)."""
    return Protection(success_rate(profile.delta(0.0)), up_to_one(1 - profile.tradeoff(FALSE_ALARMS)))


def success_rate(advantage: float) -> float:
    """Success from even odds, (1 + advantage)/2, rounded up (T2)."""
    return up_to_one((1 + advantage) / 2)


def up_to_one(rate: float) -> float:
    """The next double above ``rate``, at most 1."""
    return min(1.0, math.nextafter(rate, math.inf))


def is_effective(rate: float) -> bool:
    """Whether a ceiling limits an attacker in practice."""
    return rate <= EFFECTIVE


def percent(rate: float) -> str:
    """An effective rate as a percentage, rounded up: 3 digits, and up to 4 decimals near 100 %."""
    percentage = 100 * rate
    digits = 2 - _magnitude(percentage)
    if 90 < percentage < 100:
        digits = min(4, max(digits, 1 - _magnitude(100 - percentage)))
    scale = 10.0 ** min(12, digits)
    # 1e-14: numbers that were rounded up by a few units only shall not jump by a whole digit
    return f"{min(100.0, math.ceil(percentage * scale * (1 - 1e-14)) / scale):.15g} %"


def _magnitude(number: float) -> int:
    """The power of ten of the leading digit."""
    return math.floor(math.log10(number)) if number > 0 else 0
