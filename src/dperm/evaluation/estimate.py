# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""An estimated metric with its interval."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """Estimate of a metric, with an interval that accounts for both sampling error and privacy noise.

    Attributes
    ----------
    value
        Estimate, clipped to the range of the metric.
    low, high
        Ends of the interval for the metric in the population from which the evaluated records were drawn.
    level
        Nominal coverage of the interval, such as 0.95.
    limits
        Smallest and largest possible value of the metric.
    """

    value: float
    low: float
    high: float
    level: float
    limits: tuple[float, float] = (0.0, 1.0)

    @property
    def is_hidden(self) -> bool:
        """Whether the noise hides the metric, so that the interval is the whole range ``limits``."""
        return self.low <= self.limits[0] and self.high >= self.limits[1]

    def to_dict(self) -> dict[str, float]:
        """Return ``value``, ``low``, ``high`` and ``level``, and ``"hidden_by_noise": True`` for a hidden metric."""
        hidden = {"hidden_by_noise": True} if self.is_hidden else {}
        return {"value": self.value, "low": self.low, "high": self.high, "level": self.level, **hidden}

    def __str__(self) -> str:
        """Return the value and the interval with three decimals."""
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"
