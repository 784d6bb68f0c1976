# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""From the loss that bounds objective perturbation to a pair that dominates it.

Let U bound the privacy loss of every neighbouring pair in **both** directions, almost surely (T39, T40) or in its tails
(T41, T53a), and G(alpha) = E(1 - alpha e^{-U})_+. Then H_alpha(P || Q) <= G(alpha), and, with the other direction
reversed, H_alpha(P || Q) = 1 - alpha + alpha H_{1/alpha}(Q || P) <= 1 - alpha + alpha G(1/alpha) for alpha <= 1. The
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
from dperm.privacy.rounding import ULP, raised


@dataclass(frozen=True)
class BoundingLoss:
    """Random variable U that bounds the privacy loss of objective perturbation.

    With an atom, U takes the losses of a Gaussian side and has a point mass at the edge of the side. Without an atom, U
    takes only the largest losses of the side, with total mass 1.

    Attributes
    ----------
    side
        Distribution of the losses above the edge.
    atom
        Point mass at the edge; 0 for none.
    """

    side: GaussianSide
    atom: float = 0.0

    def log_mgf_real(self, c: Array) -> Array:
        """Return the logarithm of the moment generating function, log E e^{cU}, at real c.

        Parameters
        ----------
        c
            Real arguments.

        Returns
        -------
        ndarray
            One logarithm per argument.
        """
        if self.atom:
            return np.logaddexp(self.side.log_moment(c), c * self.side.edge + math.log(self.atom))
        return _raised_until_one(self.side, under_both=False).log_moment(c)

    def mirrored(self) -> "MirroredLoss":
        """Return the symmetric privacy loss distribution that dominates every pair bounded by U in both directions."""
        _, q = self.side.above()
        if not self.atom or self.atom < q:
            return MirroredLoss(_raised_until_one(self.side, under_both=True))
        return MirroredLoss(self.side, (self.atom - q) / (1 + math.exp(-self.side.edge)))

    def delta(self, epsilon: float) -> float:
        """Return delta(epsilon) of the mirrored distribution.

        Parameters
        ----------
        epsilon
            Epsilon of the bound, at least 0.

        Returns
        -------
        float
            Upper bound on delta.
        """
        here = self.side.raised(max(self.side.start_at(epsilon), self.side.start))
        p, q = here.above()
        return self.side.delta(epsilon) if epsilon >= self.side.edge and p + q < 1 else self.mirrored().delta(epsilon)


@dataclass(frozen=True)
class MirroredLoss:
    """Losses of the side above its edge, mirrored below, and an atom of P-mass ``atom`` at the edge and its image."""

    side: GaussianSide
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

    def log_delta(self, epsilon: float) -> float:
        """Logarithm of `delta`: above the edge that of the side, below it nothing underflows."""
        return self.side.log_delta(epsilon) if epsilon >= self.side.edge else math.log(self.delta(epsilon))

    def support(self, tail: float) -> tuple[float, float]:
        """Symmetric: P(L < -x) = Q(U > x) <= P(U > x)."""
        high = self.side.reach(tail)
        return -high, high

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Return the atoms at the edge and its mirror image, if any."""
        edge = self.side.edge
        return ((-edge, self.atom * math.exp(-edge)), (edge, self.atom)) if self.atom else ()

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """Return the side's masses plus their mirror image, with P and Q exchanged."""
        p, q = self.side.masses(borders)
        mirrored_p, mirrored_q = self.side.masses(-borders[::-1])
        return p + mirrored_q[::-1], q + mirrored_p[::-1]

    def place(self, count: int, parts: Parts) -> None:
        """Register as a law with a closed moment generating function."""
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
        """Return log E e^{cL} for real c, from both sides and the atoms."""
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


def vertex_bound(determinant: float, mu: float, vertices: int) -> BoundingLoss:
    """T53a: U = c + W, P(W > w) = min(1, v P(N(mu^2/2, mu^2) > w)).

    The gradient of a record lies in the convex hull of 0 and v = K-1 >= 2 ``vertices`` (e_k - e_y) (x) x.
    """
    return BoundingLoss(GaussianSide(determinant, 0.0, ((float(vertices), mu),)))


def vertex_pair_bound(determinant: float, mu: float, vertices: int) -> BoundingLoss:
    """T53a, sharpened: U = c + W for two records, each with a gradient as in `vertex_bound`.

    P(W > w) is the least of 1 and
        v P(N(2 mu^2, 4 mu^2) > w) + v (v-1) P(N(3 mu^2/2, 3 mu^2) > w) + 2v P(N(mu^2/2, mu^2) > w):
    of the v^2 pairs of vertices at most v are further apart than sqrt(3) mu, none further than 2 mu, and in 2v more one
    of the two is 0. Tails above w >= 0 grow with the distance, so sqrt(3) is rounded up.
    """
    middle = raised(math.sqrt(3) * mu, 2)
    pieces = ((float(vertices), 2 * mu), (float(vertices * (vertices - 1)), middle), (2.0 * vertices, mu))
    return BoundingLoss(GaussianSide(determinant, 0.0, pieces))


def corner_bound(determinant: float, mu: float) -> BoundingLoss:
    """T41 (c): U = c + W, P(W > w) = 2 P(N(s^2/2, s^2) > w) for w >= s^2/2 + s z, and 1 below; s = 2 mu.

    Two records at an angle have four corners, whose tails are summed. From there on no angle has a larger sum than
    parallel records if z + s >= 2 M(z), M the Mills ratio. With s = (1.2 - z)/0.47 the left side is linear in z and the
    right one convex, so the ends are enough: 1.2 > 2 M(1.2) = 1.185 and 2.553 > 2 M(0) = 2.507; the room is more than
    rounding takes. Where z would be negative U is that of T39, with s for mu.
    """
    most = 2 * mu
    z = 1.2 - 0.47 * most
    if z <= 0:
        return two_sided_bound(determinant, most)
    side = GaussianSide(determinant, most * (most / 2 + z), ((2.0, most),))
    return BoundingLoss(side, raised(1 - side.above()[0], 4))


def _raised_until_one(side: GaussianSide, *, under_both: bool) -> GaussianSide:
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


def _excess(side: GaussianSide, under_both: bool) -> float:
    p, q = side.above()
    return (p - 1) + q if under_both else p - 1
