# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A composition prepared for the contour: laws sorted by kind, far cuts placed."""

import math
from dataclasses import dataclass

from dperm.accounting.composition import Composition
from dperm.accounting.contour.closing import Tolerance
from dperm.accounting.contour.far import Far, FarEdge, cut_edge
from dperm.accounting.contour.product import Factors, PlainProduct
from dperm.accounting.contour.step import ContourStep, SmoothWindow
from dperm.accounting.laws.law import ClosedLaw
from dperm.accounting.laws.subsampled_gaussian import SubsampledGaussianLoss
from dperm.privacy.adjacency import Direction

BEYOND = 9.0  # widths of a far cut that are summed behind it
REACH = 9.5  # standard deviations of noise kept on the side without a cut


class _Collect:
    """Sorts the laws of a composition (a `Parts`)."""

    def __init__(self, tail: float) -> None:
        self.tail = tail
        self.variance = 0.0
        self.sampled: list[tuple[SubsampledGaussianLoss, int]] = []
        self.others: list[tuple[ClosedLaw, int]] = []

    def gaussian(self, variance: float) -> None:
        self.variance += variance

    def smooth(self, law: SubsampledGaussianLoss, count: int) -> None:
        self.sampled.append((law, count))

    def closed(self, law: ClosedLaw, count: int) -> None:
        self.others.append((law, count))


@dataclass(frozen=True)
class InversionProblem:
    """A composition, with the mass allowed to be cut from it."""

    sampled: tuple[tuple[SubsampledGaussianLoss, int], ...]
    factors: Factors
    log_cut: float
    lost: float

    @classmethod
    def of(cls, composition: Composition, log_delta: float, tolerance: Tolerance) -> "InversionProblem":
        """Sort the laws; allow ``tolerance.cut`` of delta to be cut, spread over all steps."""
        log_cut = log_delta + math.log(tolerance.cut) - math.log(composition.count)
        parts = _Collect(math.exp(max(log_cut, -690.0)))
        for law, count in composition.steps:
            law.place(count, parts)
        lost = math.fsum(2 * count * parts.tail for _, count in parts.others)  # a splice is cut at both ends
        return cls(tuple(parts.sampled), Factors(parts.variance, tuple(parts.others)), log_cut, lost)

    def marks(self, width: float) -> tuple[tuple[FarEdge, int], ...]:
        """A far cut of negligible mass for every step that has an unbounded loss."""
        out = []
        for law, count in self.sampled:
            if law.direction is not Direction.ADD:
                w = width * law.sigma
                out.append((FarEdge(law, cut_edge(law, w, self.log_cut), w), count))
        return tuple(out)

    def steps(self, marks: tuple[tuple[FarEdge, int], ...], *, stopped: bool = False) -> list[tuple[ContourStep, int]]:
        """The steps with their far cuts, summed up to BEYOND widths beyond them."""
        edges = {mark.law: mark for mark, _ in marks}
        depth = REACH + math.sqrt(-2 * min(self.log_cut, -1.0))
        out = []
        for law, count in self.sampled:
            if law in edges:
                mark = edges[law]
                window = SmoothWindow(mark.edge, mark.width, -1.0)
                out.append(
                    (ContourStep(law, (window,), -REACH * law.sigma, mark.edge + BEYOND * mark.width, stopped), count)
                )
            else:  # tilting draws the noise to the left, where the add direction's loss is large
                out.append((ContourStep(law, (), -depth * law.sigma, REACH * law.sigma), count))
        return out


def plain(problem: InversionProblem, width: float) -> tuple[PlainProduct, Far]:
    """Return the product with a far cut on every step, and the cuts."""
    marks = problem.marks(width)
    return PlainProduct(problem.factors, problem.steps(marks)), Far(marks)
