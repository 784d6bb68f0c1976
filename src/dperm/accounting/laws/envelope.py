# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Atomic privacy loss above a privacy profile that is known at finitely many points.

A profile D(alpha) = H_alpha(P || Q) is convex in alpha, with D(0) = 1. Let u_i bound D(e^{l_i}) from above. The
greatest convex function below the points (e^{l_i}, u_i) and (0, 1), constant from the last point on, is at least D. It
is the profile of a pair with atoms at the l_i, so that pair dominates D and composes (T23).

Losses below 0 are computed from the mirrored profile, v(beta) = H_beta(Q || P) with H_alpha(P || Q) =
1 - alpha + alpha v(1/alpha). The map keeps straight lines straight, and tiny masses keep their digits.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dperm.accounting.laws.atomic import AtomicLoss
from dperm.accounting.laws.law import Array

ALLOWANCES = (1e-13, 1e-12, 1e-11, 1e-10, 1e-8, 1e-6)
ROUNDING = 1e-14  # relative error of a sum of a few thousand positive terms
FAR = 700.0  # e^-loss overflows below -FAR
SLACK = 2e-15  # absolute error of the Q-mass at -infinity, a difference from 1


@dataclass(frozen=True)
class ProfileBounds:
    """Upper bounds on a profile and on its mirror image at losses l >= 0, the first of them 0.

    Attributes
    ----------
    losses
        Increasing losses, from 0 on.
    above
        Upper bounds on H_alpha(P || Q) at alpha = e^loss, nonincreasing.
    mirrored
        Upper bounds on H_alpha(Q || P) at alpha = e^loss, nonincreasing, with the same first value.
    """

    losses: Array
    above: Array
    mirrored: Array

    def dominating_law(self) -> AtomicLoss:
        """Return an atomic law whose profile is nowhere below the bounds; verified at every loss after rounding."""
        for allowance in ALLOWANCES:
            above, mirrored = (np.minimum(one * (1 + allowance), 1.0) for one in (self.above, self.mirrored))
            nodes = _hull(_nodes(self.losses, above, mirrored))
            law = self._law(nodes)
            if self._holds(law, nodes, 1 + allowance):
                return law
        raise ArithmeticError("no atomic law above the profile was found within rounding")

    def _law(self, nodes: "list[_Node]") -> AtomicLoss:
        kept = [(node.loss, mass) for node, mass in zip(nodes, _masses(nodes), strict=True) if mass > 0]
        total = math.fsum(mass for _, mass in kept)
        infinity = min(nodes[-1].above + self._slack / max(1 - self.above[0], SLACK), 1.0)
        return AtomicLoss(tuple(loss for loss, _ in kept), tuple(mass / total for _, mass in kept), float(infinity))

    @property
    def _slack(self) -> float:
        """Infinite mass that covers the rounding of the Q-mass at -infinity, if there is any.

        A profile that is too low by alpha SLACK for alpha < 1 is raised by m (1 - D(alpha)) >= m alpha (1 - D(1)).
        """
        return 2 * SLACK if self.mirrored[-1] > 0 else 0.0

    def _holds(self, law: AtomicLoss, nodes: "list[_Node]", factor: float) -> bool:
        """Compare the profiles of the law, lowered by rounding, with the bounds at the nodes, before the allowance.

        Between two nodes the profile of the law is straight, and D is below its own chord.
        """
        losses, weights = np.array(law.losses), np.array(law.weights) * (1 - law.infinity)
        with np.errstate(divide="ignore"):  # masses below the smallest double are 0
            q = np.where(losses < -FAR, np.exp(np.log(weights) - losses), weights * np.exp(-np.maximum(losses, -FAR)))
        missing = 1 - math.fsum(q)  # Q-mass at -infinity
        if missing < -SLACK:
            return False
        for node in nodes:
            if node.loss >= 0:
                own = law.infinity + float(weights @ -np.expm1(np.minimum(node.loss - losses, 0.0)))
                if own * (1 - ROUNDING) < node.above / factor:
                    return False
            else:
                other = max(missing, 0.0) + float(q @ -np.expm1(np.minimum(losses - node.loss, 0.0)))
                if other * (1 - ROUNDING) + self._slack / 2 < node.mirrored / factor:
                    return False
        return True


@dataclass(frozen=True)
class _Node:
    """A point of both profiles: u at e^loss of H(P || Q), v at e^-loss of H(Q || P)."""

    loss: float
    above: float
    mirrored: float


def _nodes(losses: Array, above: Array, mirrored: Array) -> list[_Node]:
    low = [_Node(-float(x), _reflected(x, v), float(v)) for x, v in zip(losses, mirrored, strict=True) if x > 0]
    high = [_Node(float(x), float(u), _reflected(x, u)) for x, u in zip(losses, above, strict=True)]
    return [*reversed(low), *high]


def _reflected(loss: float, value: float) -> float:
    """Return the value at alpha = e^-loss of the mirror image of a profile with ``value`` at e^loss."""
    return float(-math.expm1(-loss) + math.exp(-loss) * value)


def _hull(nodes: list[_Node]) -> list[_Node]:
    """Drop the nodes above a chord of their neighbours."""
    kept: list[_Node] = []
    for node in nodes:
        while len(kept) >= 2 and _is_above(kept[-2], kept[-1], node):
            kept.pop()
        kept.append(node)
    return kept


def _is_above(first: _Node, middle: _Node, last: _Node) -> bool:
    """Compare the middle with the chord, in the coordinates in which its value is small."""
    if middle.loss >= 0:
        share = math.expm1(middle.loss - last.loss) / math.expm1(first.loss - last.loss)
        return middle.above >= share * first.above + (1 - share) * last.above
    share = math.expm1(first.loss - middle.loss) / math.expm1(first.loss - last.loss)
    return middle.mirrored >= share * last.mirrored + (1 - share) * first.mirrored


def _masses(nodes: list[_Node]) -> list[float]:
    """P-masses of the kinks: e^loss times the change of the slope; from the mirrored profile below 0.

    Towards alpha = 0 the profile ends in (0, 1); beyond the last node it is constant.
    """
    lowest, highest = nodes[0], nodes[-1]
    falls = [  # slopes times -e^loss, at the right end and at the left end of each piece
        (_fall(a.above, b.above, b.loss - a.loss), _fall(b.mirrored, a.mirrored, b.loss - a.loss))
        for a, b in pairwise(nodes)
    ]
    masses = []
    for place, node in enumerate(nodes):
        if node.loss >= 0:
            before = falls[place - 1][0] if place else 1 - lowest.above
            after = falls[place][0] * math.exp(node.loss - nodes[place + 1].loss) if node is not highest else 0.0
            masses.append(before - after)
        else:
            before = falls[place][1]
            after = falls[place - 1][1] * math.exp(nodes[place - 1].loss - node.loss) if place else 0.0
            masses.append((before - after) * math.exp(node.loss))
    return masses


def _fall(high: float, low: float, distance: float) -> float:
    """Return (high - low)/(1 - e^-distance): the fall over a piece, scaled to its far end."""
    return (high - low) / -math.expm1(-distance)
