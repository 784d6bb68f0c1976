# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Adaptive clipping norm: a private estimate of a quantile of the gradient norms (T46a; Andrew et al. 2021).

Every noisy sum includes a noisy count of the examples with a norm of at most C. An example adds the vector
(cos(f) w g, sin(f) b) of norm at most 1, where w g is its clipped gradient in units of C, and b is 1 if its norm is at
most C and else -1. So one draw of noise with one scale covers both, and the event is the same as for a fixed clipping
norm. Then C is multiplied by exp(-rate (share - quantile)) with the noisy share of short gradients: post-processing
(T3).
"""

import math
from dataclasses import asdict, dataclass

from dperm import checks
from dperm.torch.gradients.clipping import LONGEST_CLIP, SHORTEST_CLIP

QUANTILE = "It is the target share of gradients shorter than the clip norm."
RATE = "It is the learning rate of the clip norm; .2 is usual."
ANGLE = "Its sine is the share of the count in the sensitivity."


@dataclass(frozen=True)
class QuantileClipping:
    """Clipping at an adaptive norm: a privately estimated quantile of the gradient norms (T46a).

    Each step releases a noisy count of the gradients shorter than the clipping norm, together with the noisy sum of the
    clipped gradients. The clipping norm of the next step follows from this count.

    Parameters
    ----------
    quantile
        Target fraction of gradients shorter than the clipping norm, in [0, 1].
    learning_rate
        Learning rate of the logarithm of the clipping norm, in [0, 10].
    angle
        Angle f in radians, from 0.001 to 1.5. It divides the sensitivity between the two releases: clipped gradients
        are multiplied by cos(f), and the count is multiplied by sin(f). A larger angle gives a more accurate count and
        noisier gradients.

    Examples
    --------
    >>> from dperm.torch import DPSGD, QuantileClipping
    >>> method = DPSGD(batch_size=256, epochs=2, clipping=QuantileClipping(quantile=0.5))
    >>> method.plan(n=60_000, epsilon=3.0, delta=1e-5).quantile.quantile
    0.5
    """

    quantile: float = 0.5
    learning_rate: float = 0.2
    angle: float = 0.1

    def __post_init__(self) -> None:
        """Check the ranges of the parameters."""
        checks.between("quantile", self.quantile, 0.0, 1.0, QUANTILE)
        checks.between("learning_rate", self.learning_rate, 0.0, 10.0, RATE)
        checks.between("angle", self.angle, 1e-3, 1.5, ANGLE)

    @property
    def numbers(self) -> dict[str, object]:
        """Parameters, as stored in the record of a run."""
        return asdict(self)

    @property
    def gradient_share(self) -> float:
        """Factor cos(f) of the gradient, rounded down; its square and that of `count_share` add up to at most 1."""
        return math.cos(self.angle) * (1 - 2.0**-50)

    @property
    def count_share(self) -> float:
        """Factor sin(f) of the count, rounded down."""
        return math.sin(self.angle) * (1 - 2.0**-50)

    def adapted(self, clip_norm: float, noisy_count: float, expected: float) -> float:
        """Return the next clipping norm.

        Parameters
        ----------
        clip_norm
            Current clipping norm.
        noisy_count
            Noisy sum of sin(f) b over the sample, where b is 1 for an example with a gradient norm of at most
            ``clip_norm``, and -1 for any other example.
        expected
            Expected number of examples in the sample.

        Returns
        -------
        float
            The next clipping norm, ``clip_norm`` times exp(-learning_rate (p - quantile)). Here p is the estimated
            fraction of gradients shorter than ``clip_norm``.

        Notes
        -----
        The estimate p is clamped to [0, 1], and the result is clamped to the range of permitted clipping norms.
        """
        share = min(max(0.5 + noisy_count / (2 * self.count_share * expected), 0.0), 1.0)
        changed = clip_norm * math.exp(-self.learning_rate * (share - self.quantile))
        return min(max(changed, SHORTEST_CLIP), LONGEST_CLIP)
