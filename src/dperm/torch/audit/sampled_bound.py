# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One-run lower bound for the trade-off curves of DP-SGD with Poisson samples (A7).

The theorem of A7 holds for any curve f. Here f is the curve of T Poisson-sampled Gaussians at the rate q of the plan,
one curve for each noise multiplier. If the curve at a noise multiplier s is refuted, the training run has less noise
than s, and an epsilon at least as large as with s. Refuting the curve of the plan itself refutes its claim, without any
other assumption. Each curve is replaced by the maximum of finitely many lines of its profile. This maximum lies below
the curve, so rejections stay valid.
"""

from dataclasses import dataclass

import numpy as np

from dperm.accounting import account
from dperm.accounting.events import Gaussian
from dperm.accounting.sampled import Poisson
from dperm.audit.lower_bound import LowerBound, alpha_of
from dperm.audit.one_run_tradeoff import refutes_curve
from dperm.data.arrays import Floats
from dperm.privacy.profile import PrivacyProfile
from dperm.torch.plan import DPSGDPlan

ASSUMES = "the trade-off is that of Poisson-sampled Gaussians at this rate and number of steps, with some noise"
METHOD = "one run, many canaries, sampled Gaussian (A7)"
SHARES = (0.9, 0.75, 0.6, 0.45, 0.3, 0.2, 0.1, 0.05, 0.02, 5e-3, 1e-3, 1e-4, 1e-5)
"""Deltas of the lines of a curve, relative to the delta at epsilon = 0."""
WIDEST, BISECTIONS = 2.0**6, 6
"""The search covers noise from 1/64 to 64 times the noise of the plan, to a precision of 1 %."""
LEAST_NOISE = 0.25
"""Smallest noise multiplier of the search; claims with less noise are meaningless."""

Sizes = tuple[int, int, int]


@dataclass(frozen=True)
class TradeoffBound:
    """Lower bound on a trade-off curve: lines at each (epsilon, delta) of a profile, in both directions."""

    epsilons: Floats
    deltas: Floats

    @classmethod
    def of(cls, profile: PrivacyProfile) -> "TradeoffBound":
        """Return the lines from epsilon = 0, where delta is the total variation, down to small deltas."""
        variation = profile.delta(0.0)
        deltas = [variation * share for share in SHARES]
        epsilons = [0.0, *(profile.epsilon(delta) for delta in deltas)]
        return cls(np.array(epsilons), np.array([variation, *deltas]))

    def __call__(self, false_positive_rate: float) -> float:
        """Return a lower bound on the false-negative rate."""
        steep = 1 - self.deltas - np.exp(self.epsilons) * false_positive_rate
        flat = np.exp(-self.epsilons) * (1 - self.deltas - false_positive_rate)
        return max(0.0, float(steep.max()), float(flat.max()))


def curve_refuted(curve: TradeoffBound, sizes: Sizes, alpha: float) -> bool:
    """Return whether v of r correct guesses on m canaries refute this curve at level alpha (A7)."""
    return refutes_curve(lambda right: curve(1 - right), sizes, alpha)


def sampled_one_run(plan: DPSGDPlan, sizes: Sizes, *, confidence: float) -> LowerBound:
    """Return the lower bound on epsilon: the epsilon of the smallest refuted noise multiplier, or 0.

    ``sizes`` are the numbers of correct guesses, guesses and canaries.
    """
    alpha, delta = alpha_of(confidence), plan.goal.delta
    noise = _least_refuted(plan, sizes, alpha)
    epsilon = 0.0 if noise is None else _profile(plan, noise).epsilon_bracket(delta)[0]
    return LowerBound(epsilon, delta, confidence, METHOD, assumes=ASSUMES)


def _least_refuted(plan: DPSGDPlan, sizes: Sizes, alpha: float) -> float | None:
    """Least refuted noise multiplier, to a precision of 1 %; larger noise is refuted as well."""

    def too_much(noise: float) -> bool:
        return curve_refuted(TradeoffBound.of(_profile(plan, noise)), sizes, alpha)

    low = high = plan.noise.scale
    if too_much(high):
        while low > max(plan.noise.scale / WIDEST, LEAST_NOISE) and too_much(low):
            low, high = low / 2, low
    else:
        while not too_much(high):
            low, high = high, 2 * high
            if high > plan.noise.scale * WIDEST:
                return None
    for _ in range(BISECTIONS):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if too_much(middle) else (middle, high)
    return high


def _profile(plan: DPSGDPlan, noise: float) -> PrivacyProfile:
    return account(Poisson(Gaussian(noise), rate=plan.rate) * plan.steps, adjacency=plan.adjacency)
