# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A clip norm that follows a quantile of the gradient norms, privately (T46a; Andrew et al. 2021).

With every sum goes a noisy count: of the examples of the sample, how many had a norm of at most C. An example adds the
vector (cos(f) w g, sin(f) b) of norm at most 1, where w g is its clipped gradient in units of C and b is 1 if its norm
is at most C and else -1. So one draw of noise of one scale covers both, and the event is that of a fixed clip norm.
Then C is multiplied by exp(-rate (share - quantile)), share the noisy share of short gradients: post-processing (T3).
"""

import math
from dataclasses import asdict, dataclass

from dperm import checks
from dperm.torch.gradients.clipping import LONGEST_CLIP, SHORTEST_CLIP

QUANTILE = "It is the share of gradients that should be shorter than the clip norm."
RATE = "It is how fast the clip norm follows; .2 is usual."
ANGLE = "Its sine is the part of the sensitivity that the count takes."


@dataclass(frozen=True)
class QuantileClipping:
    """How the clip norm adapts.

    Parameters
    ----------
    quantile
        Share of gradients that shall be shorter than the clip norm.
    learning_rate
        How fast the clip norm follows.
    angle
        f: the gradient keeps cos(f) of the sensitivity, the count gets sin(f).
    """

    quantile: float = 0.5
    learning_rate: float = 0.2
    angle: float = 0.1

    def __post_init__(self) -> None:
        """Check the numbers."""
        checks.between("quantile", self.quantile, 0.0, 1.0, QUANTILE)
        checks.between("learning_rate", self.learning_rate, 0.0, 10.0, RATE)
        checks.between("angle", self.angle, 1e-3, 1.5, ANGLE)

    @property
    def numbers(self) -> dict[str, object]:
        """As they stand in a record."""
        return asdict(self)

    @property
    def gradient_share(self) -> float:
        """cos(f), rounded down so that both shares have squares that sum to at most 1."""
        return math.cos(self.angle) * (1 - 2.0**-50)

    @property
    def count_share(self) -> float:
        """sin(f), rounded down."""
        return math.sin(self.angle) * (1 - 2.0**-50)

    def adapted(self, clip_norm: float, noisy_count: float, expected: float) -> float:
        """The next clip norm; ``noisy_count`` is the released sum of sin(f) b, of ``expected`` examples in the mean."""
        share = min(max(0.5 + noisy_count / (2 * self.count_share * expected), 0.0), 1.0)
        changed = clip_norm * math.exp(-self.learning_rate * (share - self.quantile))
        return min(max(changed, SHORTEST_CLIP), LONGEST_CLIP)
