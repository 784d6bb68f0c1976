# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Lower bounds on the profile of the best of K runs, from explicit scores (T80).

The scorer ranks a block B of outputs with small privacy losses first, then a block S with large losses, then the rest.
The attacker tests whether the released output lies in S. In one run, B has P-mass u and Q-mass v, and S has p and q.
The test then has P-mass ``block(u, p)`` and Q-mass ``block(v, q)`` in the selection. All blocks are on a grid.

The masses of a block come from the pair of one run. If only its profile D is known, a mass p of S with Q-mass q is
possible if p - alpha q <= D(alpha) for all alpha >= 0. Two possible blocks with disjoint masses are possible together:
the pair with outcomes B, S and rest has a profile below D, so it is post-processing of the pair of one run.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dperm.accounting.composition import Composition
from dperm.accounting.curve import DirectionCurve
from dperm.accounting.laws.atomic import AtomicLoss
from dperm.accounting.laws.law import Array
from dperm.accounting.parallel import WIDTH, loss_grid
from dperm.accounting.runs import Runs
from dperm.accounting.selection_bound import second_masses, sorted_atoms

ROUNDING = 1e-11  # relative allowance of the masses of blocks
FIRST_SIZES = np.unique(np.concatenate([np.geomspace(1e-7, 1.0, 100), np.linspace(0.01, 1.0, 120)]))
MOST_FIRST = 160
TESTED_BLOCKS = 800
LARGEST_LOSS = 600.0
SMALLEST_SHARE = 1e-6  # of an atom that is split
PARTS = np.geomspace(1e-9, 0.7, 60)  # parts of a block, which are possible because a test may be randomized
LEAST_MASS = 1e-300
SLACK = 1e-14  # of the mass of a complement


@dataclass(frozen=True)
class Blocks:
    """Possible masses (first law, second law) of blocks of outputs: with small losses, and with large losses."""

    first: tuple[Array, Array]
    tested: tuple[Array, Array]


@dataclass(frozen=True)
class SelectionAttack:
    """Lower bounds on the profile of the best of K runs of one pair."""

    blocks: Blocks
    runs: Runs

    @cached_property
    def _tests(self) -> tuple[Array, Array]:
        """P-mass, rounded down, and Q-mass, rounded up, of every test under the selection."""
        (u, v), (p, q) = self.blocks.first, self.blocks.tested
        u, v, p, q = u[:, None], v[:, None], p[None], q[None]
        fits = (u + p <= 1 + ROUNDING) & (v + q <= 1 + ROUNDING)
        u, p = u * (1 + ROUNDING), p * (1 - ROUNDING)
        v, q = v * (1 - ROUNDING), q * (1 + ROUNDING)
        hit = np.where(fits, self.runs.block(u, np.minimum(p, 1 - np.minimum(u, 1.0))), 0.0)
        miss = np.where(fits, self.runs.block(v, np.minimum(q, 1 - np.minimum(v, 1.0))), 1.0)
        miss = np.where(q > 0, np.maximum(miss, LEAST_MASS), miss)  # 0 only for an infinite loss, not by underflow
        slack = 1e-15 * self.runs.mean * p  # of differences near the top of the ranking
        return np.maximum(hit * (1 - ROUNDING) - slack, 0.0).ravel(), (miss * (1 + ROUNDING)).ravel()

    def delta(self, epsilon: float) -> float:
        """Return a lower bound on delta at ``epsilon`` >= 0."""
        hit, miss = self._tests
        return max(float(np.max(hit - math.exp(min(epsilon, 700.0)) * (1 + ROUNDING) * miss)), 0.0)

    def epsilon(self, delta: float) -> float:
        """Return a lower bound on the smallest epsilon at ``delta``."""
        hit, miss = self._tests
        rest = hit - delta
        possible = rest > 0
        with np.errstate(divide="ignore"):
            ratio = rest[possible] / miss[possible]
        best = float(np.max(ratio, initial=0.0))
        return max(math.log(best) * (1 - ROUNDING) - ROUNDING, 0.0) if best > 1 else 0.0


def attack_on(composition: Composition, mirrored: Composition, runs: Runs) -> SelectionAttack:
    """Return the attack on the best of K runs of a composition; ``mirrored`` is its other direction."""
    alone = composition.steps[0][0] if composition.count == 1 else None
    if isinstance(alone, AtomicLoss):
        return SelectionAttack(_atomic_blocks(alone), runs)
    losses = loss_grid((composition, mirrored))
    losses = losses[losses <= LARGEST_LOSS]
    large, small = (_possible(DirectionCurve(one), losses) for one in (composition, mirrored))
    tested = _joined(large, (_complement(small[1], -SLACK), _complement(small[0], SLACK)), PARTS)
    first = _joined((small[1], small[0]), (_complement(large[0], SLACK), _complement(large[1], -SLACK)), PARTS[::6])
    order = np.argsort(first[0])
    few = order[np.unique(np.minimum(np.searchsorted(first[0][order], FIRST_SIZES), len(order) - 1))]
    start = np.append(0.0, first[0][few]), np.append(0.0, first[1][few])
    return SelectionAttack(Blocks(start, tested), runs)


def _joined(own: tuple[Array, Array], other: tuple[Array, Array], parts: Array) -> tuple[Array, Array]:
    """Return small blocks, parts of the smallest one, and large blocks."""
    least = int(np.argmin(np.where(own[0] > 0, own[0], np.inf)))
    p, q = (np.concatenate([parts * one[least], one, more]) for one, more in zip(own, other, strict=True))
    return p, q


def _complement(mass: Array, slack: float) -> Array:
    return np.clip(1 - mass + slack, 0.0, 1.0)


def _possible(curve: DirectionCurve, losses: Array) -> tuple[Array, Array]:
    """Return P- and Q-masses of possible blocks with losses above points of a grid.

    The profile D is convex. Beyond a chord it lies above the extended chord. The extended chords of the neighbouring
    intervals bound D from below in each interval, and P(S) = min_alpha (bound + alpha Q(S)) is possible.
    """
    brackets = np.array([curve.bracket(float(loss), WIDTH) for loss in losses])
    high, alphas = brackets[:, 1], np.exp(losses)
    low = np.maximum.accumulate(brackets[::-1, 0])[::-1]  # profiles fall, so a later lower bound holds earlier too
    width = np.diff(alphas)
    fall = (low[:-1] - high[1:]) / width  # lower bounds on the falls, that is, upper bounds on the slopes
    steep = (high[:-1] - low[1:]) / width
    before = np.concatenate([[1.0], steep[:-1]])  # steepest possible descent from the left end
    after = np.concatenate([np.maximum(fall[1:], 0.0), [0.0]])  # least ascent towards the left from the right end
    gap = before - after
    with np.errstate(divide="ignore", invalid="ignore"):
        place = np.where(gap > 0, (low[:-1] - low[1:] - after * width) / gap, 0.0)
    place = np.clip(place, 0.0, width)
    bottom = np.minimum(low[:-1] - before * place, low[1:] + after * (width - place))
    lost = curve.composition.infinity_bracket[0]  # D falls to this value, at most as steeply as before the last point
    end = alphas[-1] + max(low[-1] - lost, 0.0) / max(steep[-1], 1e-300)
    corners = np.concatenate([alphas, alphas[:-1] + place, [0.0, end]])
    values = np.concatenate([low, np.maximum(bottom, lost), [1.0, lost]])
    q = np.unique(np.maximum((low[:-1] - low[1:]) / width, 0.0))
    p = np.array([np.min(values + corners * one) for one in q])
    return np.minimum(p, 1.0), np.minimum(q, 1.0)


def _atomic_blocks(law: AtomicLoss) -> Blocks:
    """Return the blocks of a pair with finitely many losses, with parts of its atoms."""
    losses, p = sorted_atoms(law)
    q = np.maximum(second_masses(losses, p), LEAST_MASS)
    p, q = np.append(p, law.infinity), np.append(q, 0.0)
    never = max(1 - math.fsum(q), 0.0)
    first = np.append(0.0, np.cumsum(p)), np.append(never, never + np.cumsum(q))
    large = np.append(0.0, np.cumsum(p[::-1])), np.append(0.0, np.cumsum(q[::-1]))
    shares = np.unique(np.concatenate([np.geomspace(1e-12, 1.0, 2 * TESTED_BLOCKS // 3), large[0]]))
    tiny = [SMALLEST_SHARE * large[0][large[0] > 0][0]]
    sizes = np.unique(np.concatenate([_chosen(shares, TESTED_BLOCKS), tiny]))
    ranks = _chosen(np.unique(np.concatenate([first[0], np.linspace(0.0, 1.0, 41)])), MOST_FIRST)
    exact = first[0] if len(first[0]) <= MOST_FIRST else first[0][:0]
    ranks = np.unique(np.concatenate([ranks, exact]))
    return Blocks((ranks, np.interp(ranks, *first)), (sizes, np.interp(sizes, *large)))


def _chosen(values: Array, most: int) -> Array:
    """Return at most ``most`` of the values, evenly over their order."""
    places = np.unique(np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int))
    return np.asarray(values[places])
