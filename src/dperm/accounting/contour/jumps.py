# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Both ends of a composition taken out: far jumps in closed form (far.py), the near-atom by Chernoff (near.py)."""

import math
from dataclasses import replace

import numpy as np

from dperm.accounting.contour.closing import Tolerance
from dperm.accounting.contour.far import Far, FarEdge, exact_edge
from dperm.accounting.contour.near import NearAtom, split
from dperm.accounting.contour.problem import BEYOND, REACH, InversionProblem
from dperm.accounting.contour.product import SplitProduct
from dperm.accounting.contour.step import ContourStep
from dperm.accounting.contour.table import StepTable
from dperm.privacy.adjacency import Direction

NOWHERE = 40.0  # standard deviations beyond which no mass is left in double precision


def near_and_far(
    problem: InversionProblem, epsilon: float, log_delta: float, tolerance: Tolerance
) -> tuple[SplitProduct, Far, NearAtom]:
    """Both ends taken out: far jumps in closed form where that cuts closer, and the near-atom by Chernoff."""
    far = _exact_far(problem, epsilon, log_delta, tolerance)
    log_goal = log_delta + math.log(tolerance.alias)
    product, near = split(problem.factors, problem.steps(far.marks, stopped=True), epsilon, log_goal)
    stray = math.fsum(n * mark.beyond(mark.edge + BEYOND * mark.width) for mark, n in far.marks)
    return product, replace(far, stray=stray), near


def _exact_far(problem: InversionProblem, epsilon: float, log_delta: float, tolerance: Tolerance) -> Far:
    """Marks just above eps + margin, if they lie closer than the negligible cut and their remainder is small."""
    plain_marks = problem.marks(0.12)
    margin, slip = _margin(problem, epsilon, tolerance)
    marks = []
    for mark, count in plain_marks if math.isfinite(margin) else ():
        law = mark.law
        width = 0.04 * min(law.sigma, law.sigma**2)
        edge = exact_edge(law, width, (epsilon + margin) * (1 + 1e-9), math.log(tolerance.cut * min(epsilon, 1.0)) - 4)
        marks.append((FarEdge(law, min(edge, mark.edge), width if edge < mark.edge else mark.width), count))
    exact = Far(tuple(marks), margin, slip)
    if not math.isfinite(margin) or not exact.remainder(epsilon) <= tolerance.cut * math.exp(log_delta) * 30:
        return Far(plain_marks)
    return exact


def _margin(problem: InversionProblem, epsilon: float, tolerance: Tolerance) -> tuple[float, float]:
    """(M, slip) with Q(loss of all other steps < -M) <= slip.

    Removal: l >= log(1 - q) always, and Chernoff for the other factors, E_Q e^{-uL} = E_P e^{-(1+u)L}.
    Replace-one: the pair is symmetric, so Q(S < -M) = P(S > M) <= sum T P(L > B) + Chernoff with losses <= B < M.
    """
    # marks outweigh delta by about 1/epsilon, because p and e^eps q cancel
    log_goal = math.log(tolerance.cut * min(epsilon, 1.0))
    if all(law.direction is Direction.REMOVE for law, _ in problem.sampled):
        floor = -math.fsum(count * math.log1p(-law.rate) for law, count in problem.sampled)
        if not problem.factors.variance and not problem.factors.closed:
            return floor, 0.0
        u = np.exp(np.arange(-4.0, 14.0, 0.25))
        return floor + float(np.min((problem.factors.log_real(-1 - u) - log_goal) / u)), math.exp(log_goal)
    for margin in epsilon * np.geomspace(0.25, 32.0, 15):
        slip = min(_upper_tail(problem, float(margin), share) for share in (0.25, 0.5, 0.9))
        if slip <= math.exp(log_goal):
            return float(margin), slip
    return math.inf, 1.0


def _upper_tail(problem: InversionProblem, margin: float, share: float) -> float:
    """Bound on P(S > margin): some loss above share * margin, or Chernoff for losses that stop there."""
    u = np.geomspace(4.0, 400.0, 24) / margin
    height, jump = problem.factors.log_real(u) + 1e-6, 0.0
    for law, count in problem.sampled:
        stop = min(law.output_at(share * margin), 1 + NOWHERE * law.sigma)
        jump += count * FarEdge(law, stop, 1e-9 * law.sigma).mass() * (1 + 1e-6)
        step = ContourStep(law, (), -REACH * law.sigma, stop)
        height = height + count * np.maximum(StepTable.of(step, 2.0).log_mass(u, checked=False) + 1e-9, 0.0)
    return jump + math.exp(min(float(np.min(height - u * margin)), 0.0))
