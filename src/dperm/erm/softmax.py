# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Softmax loss of K classes as a function of K scores, and its constants (T53, T53a)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from dperm import checks
from dperm.data.arrays import Floats
from dperm.data.targets import MOST_CLASSES, LabelKind, Targets
from dperm.erm.loss import Limits, Loss


class SoftmaxBends(NamedTuple):
    """Class probabilities, and the share of a matrix above all matrices of second derivatives."""

    probabilities: Floats
    caution: float


@dataclass(frozen=True)
class Softmax:
    """Softmax loss -log p_y, p_k = e^{u_k} / sum_j e^{u_j}: gradient p - e_y, second derivatives diag(p) - p p' (T53).

    The gradient is at most sqrt(2) long, the matrix has rank K - 1, eigenvalues of at most 1/2 and trace 1 - ||p||^2 <=
    1 - 1/K, so 1/K on average over its rank (T53a). For two classes use the logistic loss.

    A limit shortens the gradient p - e_y. For K > 2 the result is not the gradient of a convex function. It is for
    gradient perturbation only, where clipping needs no convexity (T46).
    """

    classes: int

    name: ClassVar[str] = "softmax"
    monotone: ClassVar[bool] = False
    labels: ClassVar[LabelKind] = LabelKind.PLACE
    slope: ClassVar[float] = math.sqrt(2)
    curvature: ClassVar[float] = 0.5
    steepness: ClassVar[float] = 0.5
    softer: ClassVar[tuple[Loss, ...]] = ()

    def __post_init__(self) -> None:
        """Check the number of classes, at least 3."""
        rule = "For two classes use the logistic loss."
        object.__setattr__(self, "classes", checks.count("classes", self.classes, rule, least=3, most=MOST_CLASSES))

    @property
    def outputs(self) -> int:
        """Number of scores, one for each class."""
        return self.classes

    @property
    def rank(self) -> int:
        """Rank K - 1: adding a number to all scores changes nothing."""
        return self.classes - 1

    @property
    def bend(self) -> float:
        """Mean 1/K of the nonzero eigenvalues, from the trace 1 - 1/K over the rank K - 1."""
        return 1 / self.classes

    @property
    def at_zero(self) -> float:
        """Loss log K at scores 0, rounded up."""
        return math.log(self.classes) * (1 + 2.0**-50)

    def relative_steepness(self, radius: float, clip: float) -> float:
        """Return the radius times 2 log K.

        Scores count relative to the largest one. With d_k <= 0, sum_k p_k |d_k| is at most the entropy of p, log K.
        Relative errors of the d_k move the probabilities by twice this sum at most.
        """
        return radius * 2 * math.log(self.classes)

    def losses(self, scores: Floats, targets: Targets, limits: Limits = None) -> Floats:
        """Return the log of the sum of e^{u_j - u_y}; limits are ignored, since they have no loss of their own."""
        top = scores.max(axis=1)
        logs = np.log(row_sums(np.exp(scores - top[:, np.newaxis])))
        return np.asarray(logs + top - scores[np.arange(len(scores)), targets])

    def slopes(self, scores: Floats, targets: Targets, limits: Limits = None) -> Floats:
        """Return p - e_y, no longer than the limit."""
        slopes = _probabilities(scores)
        slopes[np.arange(len(scores)), targets] -= 1
        if limits is None:
            return slopes
        lengths = np.maximum(np.sqrt(row_sums(slopes * slopes)), 1e-150)
        return np.asarray(slopes * np.minimum(limits / lengths, 1.0)[:, np.newaxis])

    def bends(self, scores: Floats, targets: Targets, limits: Limits = None, caution: float = 0.0) -> SoftmaxBends:
        """Return the probabilities, which determine the second derivatives."""
        return SoftmaxBends(_probabilities(scores), caution)

    def spread(self, bends: SoftmaxBends, products: Floats) -> Floats:
        """Return (diag(p) - p p') v; with caution mixed with (v - mean(v))/2, which is never less (Boehning 1992)."""
        p, caution = bends
        inner = row_sums(p * products)
        moved = p * (products - inner[:, np.newaxis])
        if caution:
            moved = (1 - caution) * moved + caution / 2 * (products - row_sums(products)[:, np.newaxis] / self.classes)
        return np.asarray(moved)


def _probabilities(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / row_sums(powers)[:, np.newaxis])


def row_sums(table: Floats) -> Floats:
    """Return the sum of each row, one column after the other: a function of the row alone.

    The order of additions of ``table.sum(axis=1)`` depends on the number of rows.
    """
    sums = table[:, 0].copy()
    for column in range(1, table.shape[1]):
        sums += table[:, column]
    return sums
