# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sampled losses written on the base loss u: sampled Laplace, and sampling without replacement (spliced)."""

import math
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Protocol

import numpy as np

from dperm.accounting.laws.frequency import frequency_sums
from dperm.accounting.laws.law import Array, ComplexArray, LossLaw, Parts
from dperm.accounting.laws.panels import AnalyticDensity, Panels, integrate_panels
from dperm.accounting.laws.sampling import add_log_delta, base_loss, outwards, remove_log_delta, sampled_loss
from dperm.privacy.rounding import ULP

SERVED = 1000.0  # tilts, over the range of the loss, at which the nodes of `_search_nodes` are right to 1e-9


class BasePair(LossLaw, AnalyticDensity, Protocol):
    """A symmetric base pair whose loss u has, under Q, an analytic density between finitely many atoms."""


class MixtureKind(Enum):
    """Pair built from the base pair."""

    REMOVE = "remove"
    ADD = "add"
    SPLICE = "splice"


@dataclass(frozen=True)
class MixtureLoss:
    """The loss of A = (1-q) Q + q P against Q (T22: REMOVE, ADD), or the symmetric splice of T24 (SPLICE).

    SPLICE is the pair whose profile is q delta_base(log(1 + (a-1)/q)) for a >= 1 and its mirror image for a < 1: on
    L > 0 the law of l(u) under A, on L < 0 the law of -l(u) under Q, both for u > 0, and an atom at L = 0 of mass
    (1-q)(1 - 2 Q(u > 0)). The proof of T24 uses the base only through its (symmetric, convex) profile, so it covers
    every symmetric base. Losses above ``support(tail)`` are cut off, at most ``tail`` of P-mass.
    """

    base: BasePair
    rate: float
    kind: MixtureKind
    tail: float = 1e-40

    infinity = 0.0

    @property
    def resolution(self) -> float:
        """A rounding of the base loss u is multiplied by u l'(u)/l(u) <= 1 + u."""
        top = self.base.ceiling
        return 4e-15 * (1 + top) if math.isfinite(top) else 4e-15

    @property
    def ceiling(self) -> float:
        """L of the base's ceiling, or -l of its mirror image."""
        top = self.base.ceiling
        if not math.isfinite(top):
            return -math.log1p(-self.rate) if self.kind is MixtureKind.ADD else math.inf
        low, high = (float(v) for v in sampled_loss(np.array([-top, top]), self.rate))
        return (-low if self.kind is MixtureKind.ADD else high) * (1 + self.resolution)

    def delta(self, epsilon: float) -> float:
        """Return the profile from the closed forms of T22 and T24."""
        return math.exp(self.log_delta(epsilon))

    def log_delta(self, epsilon: float) -> float:
        """Logarithm of the closed forms of T22 and T24."""
        form = add_log_delta if self.kind is MixtureKind.ADD else remove_log_delta
        return form(self.base.log_delta, self.rate, epsilon)

    def _range(self, tail: float) -> tuple[float, float]:
        """Range of the base loss u under both P and Q: the base is symmetric, so Q(u < -high) = P(u > high)."""
        high = self.base.support(tail)[1]
        return (0.0, high) if self.kind is MixtureKind.SPLICE else (-high, high)

    def support(self, tail: float) -> tuple[float, float]:
        """Images of the base's range, rounded outwards: all of P may lie within a rounding of log(1 - q)."""
        low, high = outwards(*(float(v) for v in sampled_loss(np.array(self._range(tail)), self.rate)))
        return {MixtureKind.REMOVE: (low, high), MixtureKind.ADD: (-high, -low), MixtureKind.SPLICE: (-high, high)}[
            self.kind
        ]

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Images of the base's atoms, and the splice's atom at 0."""
        out = []
        for u, p_mass in self.base.atoms():
            q_mass, ell = p_mass * math.exp(-u), float(sampled_loss(np.array([u]), self.rate)[0])
            if self.kind is not MixtureKind.ADD and (u > 0 or self.kind is MixtureKind.REMOVE):
                out.append((ell, q_mass * math.exp(ell)))
            if self.kind is not MixtureKind.REMOVE and (u > 0 or self.kind is MixtureKind.ADD):
                out.append((-ell, q_mass))
        if self.kind is MixtureKind.SPLICE:
            out.append((0.0, (1 - self.rate) * self.base.delta(0.0)))  # symmetric: 1 - 2 Q(u > 0) = delta(0)
        return tuple(out)

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """Masses of base losses between the borders' preimages."""
        if self.kind is MixtureKind.REMOVE:
            return self._forward(borders)
        if self.kind is MixtureKind.ADD:
            return self._backward(borders)
        above, below = self._forward(np.maximum(borders, 0.0)), self._backward(np.minimum(borders, 0.0))
        return above[0] + below[0], above[1] + below[1]

    def _forward(self, borders: Array) -> tuple[Array, Array]:
        p, q = self.base.masses(base_loss(borders, self.rate))
        return (1 - self.rate) * q + self.rate * p, q

    def _backward(self, borders: Array) -> tuple[Array, Array]:
        mixed, plain = self._forward(-borders[::-1])
        return plain[::-1], mixed[::-1]

    def place(self, count: int, parts: Parts) -> None:
        """A moment generating function by panels, cut at the tail the engine allows."""
        parts.closed(replace(self, tail=parts.tail), count)

    def log_mgf(self, s: ComplexArray) -> tuple[ComplexArray, Array]:
        """Atoms exactly, the continuous part by Gauss-Legendre panels with a proved error (panels.py).

        ``s`` is a line c + ikd, k = 0, 1, ...
        """
        c, t = float(s.real[0]), float(np.abs(s.imag).max())
        losses, log_weights, log_error = self._nodes(c, t)
        tilted = c * losses + log_weights
        top = float(tilted.max())
        weights = np.exp(tilted - top)
        total = frequency_sums(losses, weights, t / max(len(s) - 1, 1), len(s))
        roundings = 16 + math.log2(len(losses)) + 8 * (c + t) * float(np.abs(losses).max())
        error = math.exp(min(log_error - top, 700.0)) + ULP * float(weights.sum()) * roundings
        value = np.asarray(top + np.log(total), dtype=np.complex128)
        with np.errstate(over="ignore"):  # an error beyond the sum itself is as good as infinite
            return value, np.asarray(error / np.maximum(np.abs(total) - error, 1e-300))

    def size(self, c: float, t: float) -> int:
        """Return the number of atoms and quadrature nodes."""
        return len(self._nodes(c, t)[0])

    def log_mgf_real(self, c: Array) -> Array:
        """Nodes for the largest tilt in use, at real c; further on a bound: the slope is at most the largest loss."""
        losses, log_weights = _search_nodes(self)
        low, high = self.support(self.tail)
        near = np.minimum(c, SERVED / (high - low))
        inside = np.logaddexp.reduce(np.multiply.outer(near, losses) + log_weights, axis=1)
        return np.asarray(inside + (c - near) * high)

    def _nodes(self, c: float, t: float) -> tuple[Array, Array, float]:
        """Losses and log P-weights of atoms and nodes, log of the quadrature error of E e^{sL} for |Im s| <= t."""
        return _nodes(self, c, t)

    def _make_nodes(self, c: float, t: float) -> tuple[Array, Array, float]:
        atoms = np.array(self.atoms()).reshape(-1, 2)
        atoms = atoms[atoms[:, 1] > 0]
        losses, log_weights, log_error = [atoms[:, 0]], [np.log(atoms[:, 1])], -math.inf
        for up in self._sides():
            rule = integrate_panels(self._panels(up), c, t)
            ell = sampled_loss(rule.nodes, self.rate)
            plain = np.log(rule.weights) + self.base.log_density(rule.nodes)
            losses.append(ell if up else -ell)
            log_weights.append(plain + ell if up else plain)
            log_error = float(np.logaddexp(log_error, rule.log_error))
        return np.concatenate(losses), np.concatenate(log_weights), log_error

    def _sides(self) -> tuple[bool, ...]:
        """True for the law of l(u) under A, False for that of -l(u) under Q."""
        return {MixtureKind.REMOVE: (True,), MixtureKind.ADD: (False,), MixtureKind.SPLICE: (True, False)}[self.kind]

    def _panels(self, up: bool) -> Panels:
        low, high = self._range(self.tail)
        return Panels(low, high, self.rate, up, self.base)

    def modulus(self, c: float, t: float) -> float:
        """Atoms at full size plus (total variation of the tilted density of L) / t.

        The total variation is summed on 4,001 points and raised by 5 %: a numerical allowance, not a proof.
        """
        low, high = self._range(self.tail)
        u = np.linspace(low, high, 4001)
        ell = sampled_loss(u, self.rate)
        log_density = self.base.log_density(u) + ell - u - math.log(self.rate)  # dQ/dl = density(u) / l'(u)
        whole = float(self.log_mgf_real(np.array([c]))[0])
        variation = 0.0
        for up in self._sides():
            tilted = np.exp(np.minimum(log_density + ((c + 1) * ell if up else -c * ell) - whole, 300.0))
            variation += float(np.abs(np.diff(tilted)).sum() + tilted[0] + tilted[-1])
        atoms = sum(math.exp(min(c * loss - whole, 300.0)) * mass for loss, mass in self.atoms())
        return min(1.0, atoms * (1 + 1e-8) + 1.05 * variation / t)


@lru_cache(maxsize=8)
def _nodes(law: MixtureLoss, c: float, t: float) -> tuple[Array, Array, float]:
    return law._make_nodes(c, t)


@lru_cache(maxsize=256)
def _search_nodes(law: MixtureLoss) -> tuple[Array, Array]:
    """Losses and log weights that serve every real c up to 300 over the range of the loss."""
    low, high = law.support(law.tail)
    losses, log_weights, _ = law._nodes(300 / (high - low), 0.0)
    return losses, log_weights
