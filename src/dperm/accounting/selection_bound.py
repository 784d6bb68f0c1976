# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Upper bounds on the privacy profile of the best of K runs, in one direction (T80, T80a, T81, T83, T150, T151).

One run is dominated by a pair (P, Q) with finitely many losses L = log(dP/dQ). Let phi(u) = sup {Q(S) : P(S) <= u}. An
output with a share u of P above it has at most a share phi(u) of Q above it. The density of the selection is f'(1 - u)
times that of one run, and f' is increasing. So the two densities of the selection have a ratio of at most
e^{L + r(u)}, with r(u) = log f'(1 - u) - log f'(1 - phi(u)). All bounds follow from this ratio. Each of them is rounded
up, and the least one counts.

The pair is discretized once, so the bounds at all epsilons come from a few arrays. In T80, psi(y) = sup_u (f'(1 - u) -
y f'(1 - phi(u)))_+ is an upper envelope of lines in y. It does not depend on epsilon.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dperm.accounting.laws.atomic import AtomicLoss
from dperm.accounting.laws.envelope import SLACK
from dperm.accounting.laws.law import Array
from dperm.accounting.runs import Runs

RANKS = 3000  # points at which f'(1 - u) and f'(1 - phi(u)) fall in equal steps, besides the kinks of phi
ROUNDING = 1e-13  # relative allowance of sums and differences of a few thousand terms
LARGEST_EXPONENT = 700.0
CHORDS, CHORDS_FROM = 129, 0.1  # epsilons at which chords end, and the delta above which they are used
ROWS = 64  # epsilons evaluated at once


@dataclass(frozen=True)
class TestPower:
    """Concave piecewise linear upper bound on phi(u), the largest power of a test of size u (T80).

    The size is a probability under the first law P, the power under the second law Q.

    Attributes
    ----------
    sizes
        Increasing sizes, from 0 to 1.
    powers
        Powers at the sizes, rounded up; they are linear in between.
    """

    sizes: Array
    powers: Array

    @classmethod
    def of(cls, law: AtomicLoss) -> "TestPower":
        """Return the power curve of a pair: outcomes in the order of increasing losses (Neyman and Pearson)."""
        losses, p = sorted_atoms(law)
        q = second_masses(losses, p)
        never = max(1 - math.fsum(q), 0.0) + SLACK  # Q-mass without any P-mass
        sizes = np.concatenate([[0.0], np.cumsum(p) * (1 - ROUNDING), [1.0]])
        powers = np.concatenate([[never], (never + np.cumsum(q)) * (1 + ROUNDING), [1.0]])
        last = np.append(np.diff(sizes) > 0, True)  # of equal sizes, the largest power
        return cls(np.minimum(sizes[last], 1.0), np.minimum(np.maximum.accumulate(powers[last]), 1.0))

    def at(self, size: Array) -> Array:
        """Return the power at sizes in [0, 1], rounded up."""
        return np.asarray(np.minimum(np.interp(size, self.sizes, self.powers) * (1 + 4e-16), 1.0))

    def size_at(self, power: Array) -> Array:
        """Return a size for each power; approximate, for the choice of a grid."""
        return np.asarray(np.interp(power, self.powers, self.sizes))


def sorted_atoms(law: AtomicLoss) -> tuple[Array, Array]:
    """Return the losses in increasing order and their P-masses, without the mass at infinity."""
    losses, weights = np.array(law.losses), np.array(law.weights) * (1 - law.infinity)
    order = np.argsort(losses, kind="stable")
    return losses[order], weights[order]


def second_masses(losses: Array, p: Array) -> Array:
    """Return the Q-masses p e^-loss of atoms, also where e^-loss overflows."""
    with np.errstate(divide="ignore"):
        far = np.exp(np.log(p) - losses)
    return np.where(losses < -LARGEST_EXPONENT, far, p * np.exp(-np.maximum(losses, -LARGEST_EXPONENT)))


@dataclass(frozen=True)
class SelectionBound:
    """Upper bounds on the profile of the best of K runs of one dominating pair.

    Attributes
    ----------
    law
        Privacy loss of a pair that dominates one run in this direction, at all alpha >= 0.
    runs
        Law of K.
    pure
        Epsilon of one run in both directions, or infinity; it is used for T81.
    """

    law: AtomicLoss
    runs: Runs
    pure: float = math.inf

    @cached_property
    def power(self) -> TestPower:
        """Power curve phi of the pair."""
        return TestPower.of(self.law)

    @cached_property
    def _cells(self) -> "_Cells":
        return _Cells.of(self.power, self.runs)

    @cached_property
    def _lines(self) -> tuple[Array, Array, Array]:
        """Return the upper envelope of the lines a - y b of T80: heights a, slopes b, and the ends of their pieces."""
        return _upper_envelope(*self._cells.lines())

    @cached_property
    def _steps(self) -> tuple[Array, Array]:
        """Return the exponents e^l of the atoms, after 0, and the profile of one run there (T2)."""
        losses, p = sorted_atoms(self.law)
        finite, above, values = 0.0, 0.0, []
        for place in range(len(losses) - 1, -1, -1):
            values.append(finite)
            gap = losses[place] - losses[place - 1] if place else 0.0
            above += p[place]
            finite = -math.expm1(-gap) * above + math.exp(-gap) * finite
        alphas = np.exp(np.minimum(losses, LARGEST_EXPONENT))
        found = (self.law.infinity + np.array(values[::-1])) * (1 + ROUNDING)
        return np.append(0.0, alphas), np.append(1.0, found)

    @property
    def shift(self) -> float:
        """Largest r(u), the logarithm of the ratio that the choice adds to the loss of one run."""
        return self._cells.shift

    @property
    def ceiling(self) -> float:
        """Epsilon at delta = 0: T81 for pure runs, or the largest loss plus `shift`; infinite for infinite losses."""
        if self.law.infinity > 0:
            return math.inf
        own = max(self.law.ceiling, 0.0) + self.shift
        best = self.runs.pure_epsilon(self.pure) if math.isfinite(self.pure) else math.inf
        return min(own * (1 + ROUNDING) + ROUNDING, best)

    def deltas(self, epsilons: Array) -> Array:
        """Return upper bounds on delta at epsilons >= 0: the least of T80 and T151, and 0 from T81's epsilon on."""
        points = np.asarray(epsilons, dtype=np.float64)
        return self.convex(points, np.minimum(self.expected(points), self.integrated(points)))

    def convex(self, epsilons: Array, values: Array) -> Array:
        """Return bounds lowered to the chords from alpha = 0 (T82), and to 0 from T81's epsilon on.

        A profile D is convex in alpha = e^epsilon with D(0) = 1. So D(epsilon) <= 1 - e^{epsilon - x} (1 - D(x)) for
        x >= epsilon. Where T80 exceeds 1, this bound is below 1.
        """
        ends, found = self._chords
        room = np.exp(np.minimum(np.subtract.outer(epsilons, ends), 0.0)) * (1 - np.minimum(found, 1.0))
        chords = 1 - np.max(np.where(np.less_equal.outer(epsilons, ends), room, 0.0), axis=1) * (1 - ROUNDING)
        least = np.minimum(np.minimum(values, 1.0), chords + ROUNDING)
        return np.where(epsilons >= self.ceiling, 0.0, np.where(values > CHORDS_FROM, least, values))

    @cached_property
    def _chords(self) -> tuple[Array, Array]:
        ends = np.linspace(0.0, max(self.law.ceiling, 0.0) + self.shift, CHORDS)
        return ends, self.expected(ends)

    def expected(self, epsilons: Array) -> Array:
        """Return T80's bound E_L psi(e^{epsilon - L}) at epsilons >= 0.

        Theorem T80.
            delta(epsilon) <= E_L sup_{0 <= u <= 1} (f'(1 - u) - e^{epsilon - L} f'(1 - phi(u)))_+ , L under P.
        An infinite loss counts f'(1) = E[K].
        """
        losses, p = sorted_atoms(self.law)
        heights, slopes, ends = self._lines
        out = np.empty(len(epsilons))
        for start in range(0, len(epsilons), ROWS):
            rows = epsilons[start : start + ROWS]
            ratio = np.exp(np.clip(np.subtract.outer(rows, losses), -LARGEST_EXPONENT, LARGEST_EXPONENT))
            line = np.searchsorted(ends, ratio)
            found = heights[line] * (1 + ROUNDING) - ratio * slopes[line] * (1 - ROUNDING)
            out[start : start + ROWS] = np.maximum(found, 0.0) @ p
        return np.asarray((out + self.law.infinity * self.runs.mean) * (1 + 4 * ROUNDING))

    def integrated(self, epsilons: Array) -> Array:
        """Return T151's bound f'(0) N(1) + int f''(1 - u) N(u) du at epsilons >= 0.

        Theorem T151.
            N(u) = min(u, delta_run(epsilon - R(u))) with R(u) = max r on [0, u].
        N is non-decreasing and f' falls with u, so each cell takes N at its upper end.
        """
        cells = self._cells
        heights = np.exp(cells.log_slope) * (1 + cells.rounding)
        weights = np.append(np.maximum(-np.diff(heights), 0.0) + heights[:-1] * ROUNDING, 0.0)
        weights[-1] = heights[-1]
        ends, reach = np.append(cells.ranks[1:], 1.0), np.append(cells.reach, cells.reach[-1])
        out = [weights @ np.minimum(ends, self.one_run(epsilon - reach)) for epsilon in epsilons]
        return np.asarray(out) * (1 + 4 * ROUNDING)

    def one_run(self, epsilons: Array) -> Array:
        """Return the profile of one run at real epsilons, rounded up; it is linear in e^epsilon between the atoms."""
        alphas, values = self._steps
        exponents = np.exp(np.clip(epsilons, -LARGEST_EXPONENT, LARGEST_EXPONENT)) * (1 - ROUNDING)
        return np.asarray(np.minimum(np.interp(exponents, alphas, values) * (1 + ROUNDING), 1.0))

    def log_moment_factors(self, orders: Array) -> Array:
        """Return sup_u {log f'(1 - u) + (alpha - 1) r(u)} at orders alpha > 1 (T83)."""
        cells = self._cells
        start = cells.log_slope[:-1]
        return np.array([np.max(start + (alpha - 1) * cells.ratio) for alpha in orders]) + cells.rounding


@dataclass(frozen=True)
class _Cells:
    """Ranks u_0 = 0 < ... < u_n = 1 between which phi is linear.

    Attributes
    ----------
    ranks
        Ranks under P.
    powers
        phi at the ranks, rounded up.
    log_slope
        log f'(1 - u) at the ranks.
    ratio
        Upper bound on r(u) in each cell.
    """

    ranks: Array
    powers: Array
    log_slope: Array
    ratio: Array
    runs: Runs

    @classmethod
    def of(cls, power: TestPower, runs: Runs) -> "_Cells":
        grid = runs.grid(RANKS)
        ranks = np.unique(np.concatenate([power.sizes, grid, power.size_at(grid), [0.0, 1.0]]))
        powers, log_slope = power.at(ranks), runs.log_slope(ranks)
        ratio = log_slope[:-1] - runs.log_slope(powers[1:])
        cells = cls(ranks, powers, log_slope, ratio, runs)
        return replace(cells, ratio=np.maximum(ratio + cells.rounding, 0.0))

    @property
    def rounding(self) -> float:
        """Allowance for the errors of log f', which are relative errors of f'."""
        return ROUNDING * (1 + float(np.max(np.abs(self.log_slope))))

    @property
    def shift(self) -> float:
        """Largest ratio."""
        return float(np.max(self.ratio))

    @property
    def reach(self) -> Array:
        """R(u) = max r on [0, u], for each cell at its upper end."""
        return np.asarray(np.maximum.accumulate(self.ratio))

    def lines(self) -> tuple[Array, Array]:
        """Return lines a - y b above f'(1 - u) - y f'(1 - phi(u)) for all u of a cell and all y >= 0.

        f'(1 - u) is convex in u and lies below its chord. In a cell phi is linear, so f'(1 - phi(u)) is convex in u and
        lies above its tangent. Chord minus y times tangent is linear in u, and is largest at an end of the cell. Where
        the tangent falls below half of the function, the values at the two ends of the cell are used instead.
        """
        top = np.exp(self.log_slope) * (1 + self.rounding)
        low, high = self.powers[:-1], self.powers[1:]
        middle = (low + high) / 2
        height, decay = np.exp(self.runs.log_slope(middle)), self.runs.slope_decay(middle)
        least = np.exp(self.runs.log_slope(high))
        start, end = (height * (1 - decay * (one - middle)) for one in (low, high))
        steep = end < 0.5 * least
        start, end = np.where(steep, least, start), np.where(steep, least, end)
        heights = np.concatenate([top[:-1], np.where(steep, top[:-1], top[1:])])
        return heights, np.concatenate([start, end]) * (1 - self.rounding)


def _upper_envelope(heights: Array, slopes: Array) -> tuple[Array, Array, Array]:
    """Return the lines of y -> max(0, max_i (a_i - y b_i)) on y >= 0, from y = 0 on, and the ends of their pieces."""
    order = np.lexsort((-heights, slopes))[::-1]  # falling slopes b; of equal ones, the largest height last
    kept: list[tuple[float, float]] = []
    ends: list[float] = []
    for a, b in [*zip(heights[order].tolist(), slopes[order].tolist(), strict=True), (0.0, 0.0)]:
        while kept:
            last_a, last_b = kept[-1]
            if a >= last_a or last_b <= b:  # nowhere below the last line, or parallel to it
                if a >= last_a:
                    kept.pop()
                    ends = ends[: max(len(kept) - 1, 0)]
                    continue
                break
            crossing = (last_a - a) / (last_b - b)
            if ends and crossing <= ends[-1]:
                kept.pop()
                ends.pop()
                continue
            ends.append(crossing)
            kept.append((a, b))
            break
        else:
            kept.append((a, b))
    lines = np.array(kept)
    return lines[:, 0], lines[:, 1], np.array(ends)
