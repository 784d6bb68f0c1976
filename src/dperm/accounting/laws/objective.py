# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""From the loss that bounds objective perturbation to a pair that dominates it.

Let U bound the privacy loss of **both** orders of every neighbouring pair, almost surely (T39, T40, T41 a) or in its
tails (T41 b), and G(alpha) = E(1 - alpha e^{-U})_+. Then H_alpha(P || Q) <= G(alpha), and, the other order read
backwards, H_alpha(P || Q) = 1 - alpha + alpha H_{1/alpha}(Q || P) <= 1 - alpha + alpha G(1/alpha) for alpha <= 1. The
profile is convex, so it lies below the greatest convex minorant of the two: G from e^edge on, its mirror image below
e^-edge, and between them their common tangent, which has slope -Q(U > edge) where

    P(U > edge) + Q(U > edge) = 1,      Q(U > e) = E(e^{-U}; U > e).

That is the profile of a symmetric pair: the loss is U above the edge and its mirror image below -edge. If U has an atom
where the sum jumps across 1, the rest of P sits in atoms at +-edge. Composition needs just this (T23).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from dperm.accounting.laws.gaussian_side import GaussianSide
from dperm.accounting.laws.law import Array, ComplexArray, Parts
from dperm.accounting.laws.mills import log_sum
from dperm.accounting.laws.rayleigh_side import RayleighSide
from dperm.privacy.rounding import ULP

Side = GaussianSide | RayleighSide


@dataclass(frozen=True)
class BoundingLoss:
    """U: an atom at the edge of a side and all of the side, or (without an atom) as much of its top as has mass 1."""

    side: Side
    atom: float = 0.0

    def log_mgf_real(self, c: Array) -> Array:
        """Log of E e^{cU} at real c."""
        if self.atom:
            return np.logaddexp(self.side.log_moment(c), c * self.side.edge + math.log(self.atom))
        return _raised_until_one(self.side, under_both=False).log_moment(c)

    def mirrored(self) -> "MirroredLoss":
        """The symmetric law that dominates what U bounds in both orders."""
        if not self.atom:
            return MirroredLoss(_raised_until_one(self.side, under_both=True))
        _, q = self.side.above()
        return MirroredLoss(self.side, max(self.atom - q, 0.0) / (1 + math.exp(-self.side.edge)))

    def delta(self, epsilon: float) -> float:
        """The profile of the mirrored law; its edge is only looked for if epsilon is below it."""
        here = self.side.raised(max(self.side.start_at(epsilon), self.side.start))
        p, q = here.above()
        return self.side.delta(epsilon) if epsilon >= self.side.edge and p + q < 1 else self.mirrored().delta(epsilon)


@dataclass(frozen=True)
class MirroredLoss:
    """Losses of the side above its edge, mirrored below, and an atom of P-mass ``atom`` at the edge and its image."""

    side: Side
    atom: float = 0.0

    infinity = 0.0
    resolution = 4e-15
    ceiling = math.inf

    def delta(self, epsilon: float) -> float:
        """G from the edge on; below, the tangent 1 - (1 - G)(1 + e^epsilon)/(1 + e^edge), without a difference."""
        edge = self.side.edge
        touch = self.side.delta(max(epsilon, edge))
        if epsilon >= edge:
            return touch
        return touch + (1 - touch) * -math.expm1(epsilon - edge) / (1 + math.exp(-edge))

    def support(self, tail: float) -> tuple[float, float]:
        """Symmetric: P(L < -x) = Q(U > x) <= P(U > x)."""
        high = self.side.reach(tail)
        return -high, high

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """The two at the edge and its image."""
        edge = self.side.edge
        return ((-edge, self.atom * math.exp(-edge)), (edge, self.atom)) if self.atom else ()

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """The side's, and its own read backwards with P and Q exchanged."""
        p, q = self.side.masses(borders)
        mirrored_p, mirrored_q = self.side.masses(-borders[::-1])
        return p + mirrored_q[::-1], q + mirrored_p[::-1]

    def place(self, count: int, parts: Parts) -> None:
        """A closed moment generating function."""
        parts.closed(self, count)

    def log_mgf(self, s: ComplexArray) -> tuple[ComplexArray, Array]:
        """E e^{sL} = F(s) + F(-1 - s), F the side's, and the same of the atoms."""
        terms = [*self.side.terms(s), *self.side.terms(-1 - s)]
        for loss, mass in self.atoms():
            terms.append((np.ones_like(s), s * loss + math.log(mass), np.zeros(len(s))))
        return log_sum(terms)

    def size(self, c: float, t: float) -> int:
        """A few terms, each worth some ten exponentials."""
        return 60

    def log_mgf_real(self, c: Array) -> Array:
        """The same for real c."""
        logs = [self.side.log_moment(c), self.side.log_moment(-1 - c)]
        logs.extend(c * loss + math.log(mass) for loss, mass in self.atoms())
        return np.asarray(np.logaddexp.reduce(logs, axis=0))

    def modulus(self, c: float, t: float) -> float:
        """Atoms at full size, and the bounds of both sides."""
        whole = float(self.log_mgf_real(np.array([c]))[0])
        logs = [self.side.log_modulus(c, t), self.side.log_modulus(-1 - c, t)]
        logs.extend(c * loss + math.log(mass) for loss, mass in self.atoms())
        return min(1.0, math.exp(min(float(np.logaddexp.reduce(logs)) - whole, 0.0)) * (1 + 1e-8))


def two_sided_bound(determinant: float, mu: float) -> BoundingLoss:
    """T39: U = c + mu^2/2 + |X|, X ~ N(0, mu^2): twice the upper half of N(mu^2/2, mu^2)."""
    return BoundingLoss(GaussianSide(determinant, mu * mu / 2, ((2.0, mu),)))


def one_sided_bound(determinant: float, mu: float) -> BoundingLoss:
    """T40: U = c + max(0, Y), Y ~ N(mu^2/2, mu^2), with an atom of mass Phi(-mu/2) where Y <= 0.

    Mirrored, the atoms have mass Phi(-mu/2) tanh(c/2): with c = 0 nothing but the Gaussian pair is left.
    """
    return BoundingLoss(GaussianSide(determinant, 0.0, ((1.0, mu),)), float(ndtr(-mu / 2)))


def union_bound(determinant: float, mu: float) -> BoundingLoss:
    """T41 (b): U = c + W, P(W > w) = min(1, P(N(2 mu^2, 4 mu^2) > w) + 2 P(N(mu^2/2, mu^2) > w)).

    Where the sum is below 1 its profile is the union bound delta_GDP(x; 2 mu) + 2 delta_GDP(x; mu), by linearity.
    """
    return BoundingLoss(GaussianSide(determinant, 0.0, ((1.0, 2 * mu), (2.0, mu))))


def planar_bound(determinant: float, mu: float) -> BoundingLoss:
    """T41 (a): U = c + 2 mu^2 + 2 mu R, R ~ chi_2: the gradients of two records differ by up to 2L in a plane."""
    return BoundingLoss(RayleighSide(determinant, 2 * mu))


def _raised_until_one(side: Side, *, under_both: bool) -> Side:
    """The side above the point where P(U > edge), plus Q(U > edge) if ``under_both``, is 1: Newton in a bracket."""
    low = high = side.start
    while _excess(side.raised(high), under_both) > 0:
        low, high = high, 2 * high + side.scale
    x = (low + high) / 2
    for _ in range(100):
        here, last = side.raised(x), x
        value = _excess(here, under_both)
        low, high = (x, high) if value > 0 else (low, x)
        slope = here.density() * (1 + math.exp(-here.edge) if under_both else 1.0)
        trial = x + value / slope if slope > 0 else math.nan
        x = trial if low < trial < high else (low + high) / 2
        if abs(x - last) <= 2 * ULP * x:
            break
    return side.raised(x)


def _excess(side: Side, under_both: bool) -> float:
    p, q = side.above()
    return (p - 1) + q if under_both else p - 1
