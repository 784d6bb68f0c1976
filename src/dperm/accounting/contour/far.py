# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The far right of a step, taken out in closed form.

Every step is *marked* with probability chi(x) = Phi((x - edge)/width). With P(marked), Q(marked) in closed form,

    E_P[(1 - e^{eps-L})_+ ; some step marked]  =  p - e^eps q + R,     p = P(some marked), q = Q(some marked),
    0 <= R = E_Q[(e^eps - e^L)_+ ; some step marked],

because dP = e^L dQ. So the marked part lies in [max(p - e^eps q, 0), min(p, p - e^eps q + R)]. Either p itself is made
negligible (a far cut), or the edge is put where one marked step alone lifts the loss above eps + margin, and R is:
for a step with l(x) >= eps + M it needs the other steps below -M (probability ``slip`` under Q), and a step marked
below that point is rare, P(X < a, X + width Z > edge) <= P(X + width Z > edge) P(X < a | X + width Z = edge).
"""

import math
from dataclasses import dataclass

from scipy.special import log_ndtr

from dperm.accounting.laws.subsampled_gaussian import SubsampledGaussianLoss
from dperm.privacy.adjacency import Direction

UNDERFLOW = 1e-300


def _components(law: SubsampledGaussianLoss, under_q: bool) -> list[tuple[float, float]]:
    """(weight, mean) of the normal components of P or Q."""
    q = law.rate
    if law.direction is Direction.ADD:
        under_q = not under_q
    if not under_q:
        return [(1 - q, 0.0), (q, 1.0)]
    return [(1.0, 0.0)] if law.direction is not Direction.REPLACE else [(1 - q, 0.0), (q, -1.0)]


@dataclass(frozen=True)
class FarEdge:
    """A smooth edge marking the far right of one law."""

    law: SubsampledGaussianLoss
    edge: float
    width: float

    @property
    def _spread(self) -> float:
        return math.hypot(self.law.sigma, self.width)

    def mass(self, under_q: bool = False) -> float:
        """Return the probability of a mark, under P or Q."""
        s = self._spread
        return math.fsum(w * math.exp(log_ndtr((m - self.edge) / s)) for w, m in _components(self.law, under_q))

    def beyond(self, stop: float) -> float:
        """Bound on P(x > stop and not marked)."""
        tail = math.fsum(w * math.exp(log_ndtr((m - stop) / self.law.sigma)) for w, m in _components(self.law, False))
        return tail * math.exp(log_ndtr((self.edge - stop) / self.width))

    def early(self, point: float) -> float:
        """Bound on Q(marked and x < point), for point < edge."""
        s, sigma = self._spread, self.law.sigma
        total = 0.0
        for w, m in _components(self.law, under_q=True):
            centre = m + (self.edge - m) * (sigma / s) ** 2
            late = log_ndtr((m - self.edge) / s) + log_ndtr((point - centre) * s / (sigma * self.width))
            total += w * math.exp(late)
        return total

    def preimage(self, loss: float) -> float:
        """Return the output x with L(x) = loss > 0."""
        v = self.law.sigma**2
        if self.law.direction is Direction.REPLACE:
            return self.law.output_at(loss)
        grown = math.log1p(math.expm1(loss) / self.law.rate) if loss < 600 else loss - math.log(self.law.rate)
        return 0.5 + v * grown


def cut_edge(law: SubsampledGaussianLoss, width: float, log_mass: float) -> float:
    """Smallest edge (to 1e-12) whose P(marked) is at most e^log_mass."""
    low, high = 0.0, 1 + 40 * math.hypot(law.sigma, width)
    goal = math.exp(log_mass)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if FarEdge(law, middle, width).mass() <= goal else (middle, high)
    return high


@dataclass(frozen=True)
class Far:
    """All marks of a composition: (mark, count), the margin M, slip >= Q(other steps' loss < -M).

    ``stray`` is P-mass that was neither marked nor summed (beyond a stop).
    """

    marks: tuple[tuple[FarEdge, int], ...]
    margin: float = 0.0
    slip: float = 1.0
    stray: float = 0.0

    def some(self, under_q: bool = False) -> float:
        """Probability that some step is marked."""
        return -math.expm1(math.fsum(n * math.log1p(-mark.mass(under_q)) for mark, n in self.marks))

    def bracket(self, epsilon: float) -> tuple[float, float]:
        """(lower, upper) bounds on the marked part of delta(epsilon)."""
        p, q = self.some(), self.some(under_q=True)
        most, least = (p - math.exp(min(epsilon + math.log(mass), 700.0)) if mass else p for mass in _around(q))
        depth = max((mark.edge / mark.law.sigma) ** 2 for mark, _ in self.marks) if self.marks else 0.0
        rounding = (1e-13 + 1e-15 * (depth + epsilon)) * p  # log_ndtr(z) is off by some units of z^2
        upper = min(p, most + self.remainder(epsilon))
        return max(least - rounding, 0.0), upper + rounding + self.stray

    def remainder(self, epsilon: float) -> float:
        """Return an upper bound on the remainder R; infinite if none holds."""
        if self.slip >= 1 or epsilon + self.margin <= 0:
            return math.inf
        total = 0.0
        for mark, n in self.marks:
            point = mark.preimage(epsilon + self.margin)
            if point >= mark.edge:
                return math.inf
            early = math.exp(min(epsilon + math.log(max(mark.early(point), 1e-300)), 700.0))
            total += n * (mark.mass() * self.slip * math.exp(-self.margin) + early)
        return total

    def slope(self, epsilon: float) -> float:
        """d/d epsilon of the lower end (for Newton only)."""
        loss = math.exp(min(epsilon + math.log(max(self.some(under_q=True), 1e-300)), 700.0))
        return -loss if loss < self.some() else 0.0


def _around(mass: float) -> tuple[float, float]:
    """Bounds on a mass that may have underflowed."""
    return (mass, mass) if mass > UNDERFLOW else (0.0, UNDERFLOW)


def exact_edge(law: SubsampledGaussianLoss, width: float, loss: float, log_goal: float) -> float:
    """Edge such that marks below the point of loss ``loss`` are negligible: e^{log_goal} relative to all marks."""
    point = FarEdge(law, 0.0, width).preimage(loss)
    z = math.sqrt(2 * -log_goal)
    s = math.hypot(law.sigma, width)
    centre = point + z * law.sigma * width / s
    return centre * (s / law.sigma) ** 2
