# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The moment generating function F of a whole composition, plain or with its near-atom split off.

Plain: F = G prod phi_i^{T_i}, with G the Gaussian and closed factors.

Split: when almost surely nothing is sampled, "all steps small" is nearly an atom of the loss and F hardly decays. With
phi_i = left_i + right_i (a smooth border), F = G [prod (left_i + right_i)^{T_i} - prod left_i^{T_i}] is the positive
measure "not all steps left", and the rest contributes at most `NearAtom.bound` to delta. F is computed as
prod left^T expm1(sum T log1p(right/left)), so that rounding is relative to the small part, not to the atom.

Both forms are polynomials in the phi's with non-negative coefficients, so a perturbation of size e_i changes F by at
most F(|phi| + e) - F(|phi|).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dperm.accounting.contour.closing import ROUNDING, NotClosedError, Tolerance
from dperm.accounting.contour.decay import decay_bound
from dperm.accounting.contour.panel_nodes import make_panel_nodes
from dperm.accounting.contour.quadrature import Nodes, make_nodes
from dperm.accounting.contour.step import ContourStep
from dperm.accounting.contour.table import StepTable
from dperm.accounting.laws.law import Array, ClosedLaw, ComplexArray
from dperm.accounting.special import log_expm1
from dperm.privacy.rounding import ULP

NodeRule = Callable[[ContourStep, float, float, float, Tolerance], Nodes]


@dataclass(frozen=True)
class Factors:
    """G: all Gaussians in one variance, and the closed laws."""

    variance: float
    closed: tuple[tuple[ClosedLaw, int], ...]

    def log_real(self, c: Array) -> Array:
        """Log G at real c (also negative)."""
        out = self.variance / 2 * c * (c + 1)
        for law, count in self.closed:
            out = out + count * law.log_mgf_real(c)
        return np.asarray(out)

    def cumulants(self, c: Array) -> tuple[Array, Array, Array]:
        """Log G and two derivatives (central differences for closed laws)."""
        k0, k1, k2 = self.log_real(c), self.variance * (c + 0.5), np.full_like(c, self.variance)
        d = 1e-3 * np.minimum(c, 1.0)
        for law, count in self.closed:
            below, here, above = (law.log_mgf_real(c + j * d) for j in (-1, 0, 1))
            k1 = k1 + count * (above - below) / (2 * d)
            k2 = k2 + count * np.maximum((above - 2 * here + below) / (d * d), 0.0)
        return k0, k1, k2

    def line(self, s: ComplexArray, tolerance: Tolerance) -> tuple[ComplexArray, Array]:
        """Log G(s), with a bound on its error."""
        c, t = float(s[0].real), float(s[-1].imag)
        if len(s) * sum(law.size(c, t) for law, _ in self.closed) > tolerance.max_work:
            raise NotClosedError("work")
        values = self.variance / 2 * s * (s + 1)
        error = ROUNDING * ULP * np.abs(values)
        for law, count in self.closed:
            term, term_error = law.log_mgf(s)
            values = values + count * term
            error = error + count * (term_error + ULP * np.abs(term))
        return values, np.asarray(error)

    def log_decay(self, c: float, t: float) -> float:
        """Log of a bound on sup over t' >= t of |G(c+it')|/G(c)."""
        out = -self.variance * t * t / 2
        for law, count in self.closed:
            out += count * math.log(max(law.modulus(c, t), 1e-300))
        return out


@dataclass
class ContourLine:
    """log F(s_k) for s_k = c + ikd: values relative to log F(c) =: log_scale, and the size of their error."""

    log_scale: float
    values: ComplexArray
    wrong: Array


class Product(Protocol):
    """Moment generating function F in the form needed by the contour."""

    def log_real(self, c: Array) -> Array:
        """Log F at real c > 0, to search accuracy."""

    def prepare(self, c: float) -> None:
        """Fix c for later calls of `log_decay` and `line`."""

    def log_decay(self, t: float) -> float:
        """Log of a bound on sup over t' >= t of |F(c+it')|/F(c)."""

    def line(self, spacing: float, terms: int, tolerance: Tolerance) -> ContourLine:
        """Return log F on the contour, with a bound on its error."""


@dataclass
class PlainProduct:
    """F = G prod phi_i^{T_i}."""

    factors: Factors
    steps: Sequence[tuple[ContourStep, int]]
    tables: list[StepTable] = field(init=False)
    c: float = field(init=False, default=0.0)
    masses: list[float] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Tabulate the sums of every step once."""
        self.tables = [StepTable.of(step) for step, _ in self.steps]

    def cumulants(self, c: Array) -> tuple[Array, Array, Array]:
        """Log F, its derivative and its curvature at real c."""
        k0, k1, k2 = self.factors.cumulants(c)
        for table, (_, count) in zip(self.tables, self.steps, strict=True):
            m0, m1, m2 = table.cumulants(c)
            k0, k1, k2 = k0 + count * m0, k1 + count * m1, k2 + count * m2
        return k0, k1, k2

    def log_real(self, c: Array) -> Array:
        """Log F at real c."""
        out = self.factors.log_real(c)
        for table, (_, count) in zip(self.tables, self.steps, strict=True):
            out = out + count * table.log_mass(c)
        return out

    def prepare(self, c: float) -> None:
        """Store c and the log masses of all steps at c."""
        self.c = c
        self.masses = [float(table.log_mass(np.array([c]))[0]) for table in self.tables]

    def log_decay(self, t: float) -> float:
        """Product of the steps' decay bounds."""
        out = self.factors.log_decay(self.c, t)
        for (step, count), mass in zip(self.steps, self.masses, strict=True):
            bound = decay_bound(step, self.c, t, mass)
            out += count * min(0.0, math.log(max(bound, 1e-300)) + 1e-8)
        return out

    def line(self, spacing: float, terms: int, tolerance: Tolerance) -> ContourLine:
        """Product of the steps' lines; (1 + e)^T - 1 <= expm1(T e)."""
        s = on_line(self.c, spacing, terms)
        values, errors = self.factors.line(s, tolerance)
        scale = float(values[0].real)
        for nodes, count in _all_nodes(make_nodes, self.steps, self.masses, (self.c, spacing, terms), tolerance):
            phi = nodes.line(spacing, terms)
            values = values + count * (np.log(phi) + nodes.log_mass)
            scale += count * nodes.log_mass
            errors = errors + count * nodes.error / (np.abs(phi) + nodes.error)
        errors = errors + ROUNDING * ULP * (4 + np.abs(values - scale) + abs(scale))
        wrong = np.exp(values.real - scale) * np.expm1(np.minimum(errors, 700.0))
        return ContourLine(scale, values - scale, wrong)


def _all_nodes(
    rule: NodeRule,
    steps: Sequence[tuple[ContourStep, int]],
    masses: Sequence[float],
    line: tuple[float, float, int],
    tolerance: Tolerance,
) -> list[tuple[Nodes, int]]:
    """Nodes of every step, within the limit of work."""
    out, work = [], 0.0
    c, spacing, terms = line
    for (step, count), mass in zip(steps, masses, strict=True):
        nodes = rule(step, c, spacing * terms, mass, tolerance)
        work += len(nodes.loss) * terms
        if work > tolerance.max_work:
            raise NotClosedError("work")
        out.append((nodes, count))
    return out


@dataclass
class SplitProduct:
    """F = G [prod (left + right)^T - prod left^T], left and right of a smooth border."""

    factors: Factors
    lefts: Sequence[tuple[ContourStep, int]]
    rights: Sequence[tuple[ContourStep, int]]
    left_tables: list[StepTable] = field(init=False)
    right_tables: list[StepTable] = field(init=False)
    c: float = field(init=False, default=0.0)
    left_masses: list[float] = field(init=False, default_factory=list)
    right_masses: list[float] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Tabulate the sums of both sides of every step once."""
        self.left_tables = [StepTable.of(step, 2.0) for step, _ in self.lefts]
        self.right_tables = [StepTable.of(step, 2.0) for step, _ in self.rights]

    def log_real(self, c: Array) -> Array:
        """Log F at real c."""
        out, rest = self.factors.log_real(c), np.zeros_like(c)
        for left, right, (_, count) in zip(self.left_tables, self.right_tables, self.lefts, strict=True):
            small, large = left.log_mass(c), right.log_mass(c)
            open_ended = ~(np.isfinite(small) & np.isfinite(large))
            out = out + count * np.where(open_ended, np.inf, small)
            rest = rest + count * np.logaddexp(0.0, np.where(open_ended, 0.0, large) - np.where(open_ended, 0.0, small))
        return out + log_expm1(rest)

    def prepare(self, c: float) -> None:
        """Store c and the log masses of both sides at c."""
        self.c = c
        self.left_masses = [float(table.log_mass(np.array([c]))[0]) for table in self.left_tables]
        self.right_masses = [float(table.log_mass(np.array([c]))[0]) for table in self.right_tables]

    def _rest(self, log_ratios: Sequence[float]) -> float:
        """Log [prod (1 + ratio_i)^{T_i} - 1]."""
        pairs = zip(log_ratios, self.lefts, strict=True)
        total = sum(count * float(np.logaddexp(0.0, ratio)) for ratio, (_, count) in pairs)
        return float(log_expm1(np.array([total]))[0])

    def log_decay(self, t: float) -> float:
        """Prod (l + B)^T - prod l^T against its value at t = 0: only the right sides have to decay."""
        bounds, whole = [], []
        for (step, _), left, right in zip(self.rights, self.left_masses, self.right_masses, strict=True):
            bound = decay_bound(step, self.c, t, right)
            bounds.append(math.log(max(bound, 1e-300)) + 1e-8 + right - left)
            whole.append(right - left)
        return self.factors.log_decay(self.c, t) + min(0.0, self._rest(bounds) - self._rest(whole) + 1e-6)

    def line(self, spacing: float, terms: int, tolerance: Tolerance) -> ContourLine:
        """left^T expm1(sum T log1p(right/left)) and its majorant."""
        s = on_line(self.c, spacing, terms)
        values, errors = self.factors.line(s, tolerance)
        scale = float(values[0].real)
        lefts = _all_nodes(make_panel_nodes, self.lefts, self.left_masses, (self.c, spacing, terms), tolerance)
        rights = _all_nodes(make_panel_nodes, self.rights, self.right_masses, (self.c, spacing, terms), tolerance)
        rest, kept = np.zeros(terms, complex), np.zeros((4, terms))
        for (left, count), (right, _) in zip(lefts, rights, strict=True):
            small, large = left.line(spacing, terms), right.line(spacing, terms)
            share = math.exp(right.log_mass - left.log_mass)
            a, b = np.maximum(np.abs(small), 1e-300), np.abs(large)
            values = values + count * (np.log(np.where(small == 0, 1e-300, small)) + left.log_mass)
            scale += count * left.log_mass
            rest = rest + count * _complex_log1p(share * large / np.where(small == 0, 1e-300, small))
            fuller = a + left.error
            kept += count * np.array(
                [np.log(a), np.log1p(share * b / a), np.log(fuller), np.log1p(share * (b + right.error) / fuller)]
            )
        base = float(log_expm1(kept[1, :1])[0])
        size, raised = (np.exp(kept[i] + log_expm1(kept[i + 1]) - base) for i in (0, 2))
        common = np.exp(values.real - scale - kept[0])  # |G|, relative to c
        errors = errors + ROUNDING * ULP * (8 + np.abs(values - scale) + abs(scale) + np.abs(rest))
        wrong = common * (np.maximum(raised - size, 0.0) + raised * np.expm1(np.minimum(errors, 700.0)))
        return ContourLine(scale + base, values - scale + _complex_log_expm1(rest) - base, wrong)


def on_line(c: float, spacing: float, terms: int) -> ComplexArray:
    """The points c + ikd, k < terms, of the contour."""
    return np.asarray(c + 1j * spacing * np.arange(terms), dtype=np.complex128)


def _complex_log1p(z: ComplexArray) -> ComplexArray:
    """log(1 + z) with full relative accuracy for small z (numpy's complex log1p has absolute accuracy only)."""
    x, y = z.real, z.imag
    return np.asarray(0.5 * np.log1p(np.maximum(x * (2 + x) + y * y, -1 + 1e-16)) + 1j * np.arctan2(y, 1 + x))


def _complex_log_expm1(z: ComplexArray) -> ComplexArray:
    """log(e^z - 1), with full relative accuracy for small z, and stable for large Re z."""
    big = z.real > 30
    x, y = np.where(big, 1.0, z.real), z.imag
    small = np.expm1(x) * np.cos(y) - 2 * np.sin(y / 2) ** 2 + 1j * np.exp(x) * np.sin(y)
    return np.asarray(np.where(big, z, np.log(small)))
