# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""An estimated metric with its interval."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """Metric with an interval that covers sampling and privacy noise together.

    Attributes
    ----------
    value
        Estimate, clipped to the range of the metric.
    low, high
        Ends of the interval for the metric on the population of the evaluated records.
    level
        Nominal coverage of the interval.
    """

    value: float
    low: float
    high: float
    level: float

    def to_dict(self) -> dict[str, float]:
        """Return value, ends and level as plain data."""
        return {"value": self.value, "low": self.low, "high": self.high, "level": self.level}

    def __str__(self) -> str:
        """Return the value and the interval with three decimals."""
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"
