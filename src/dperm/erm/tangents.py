# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Lines below the losses of all records, and the gap between losses and lines, for rejection sampling.

Let a line of slope s_i touch f_i at the score v_i: f_i(u) >= f_i(v_i) + s_i (u - v_i). A smooth loss is touched at the
scores of some theta_0. The kink of a hinge or of a pinball loss lies where the score is the target. There the loss is
0, and a line through it with any slope of the loss lies below the loss. The slopes are those of a smooth loss above it
at theta_0 (`dperm.erm.smoothing`).

**Gap.** A(theta) = sum_i w_i [f_i(u_i) - f_i(v_i) - s_i (u_i - v_i)] >= 0, u_i = x_i'theta. For smooth losses it is at
most (theta - theta_0)' S (theta - theta_0)/2 with S = sum_i w_i M (x) x_i x_i', M above all second derivatives of the
loss: the curvature, or (I - 11'/K)/2 for softmax (Boehning 1992). For kinked ones let f_h be the smooth loss, f <= f_h
<= f + h/4. A line of slope f_h'(u_0) touching f_h is below f_h, and h/4 lower it is below f. The line through the kink
is the highest line below f with this slope, so it is no more than h/4 lower than the line touching f_h. So the gap is
at most the gap of f_h plus h/4 for each unit of weight.

**Rounding**, with the notation of `dperm.erm.rounding` and l a bound on the norms of theta and theta_0. The sizes of
the parts of a record's gap are within M = L l + w (f(0) + c + 1), c = min(sup |f'|, 1 + R l) being the steepest slope
met. Its scores are off by (2D + 24) u ||x|| l, a residual by 2u more, which moves loss and line by 2 (2D + 26) u M
together. A limit on the slope has relative error (D + 13) u, which moves them by twice this times M. Evaluating loss,
slope and line adds (100 + 4K) u M; summing parts of 4M over k rows of a block and m blocks 4 (k + m + 20) u M.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.bounded import HEIGHT, Block, BoundedData
from dperm.erm.loss import Limits
from dperm.erm.rounding import HIGHER_ORDERS, ULP
from dperm.erm.spec import ProblemSpec


class TangentLines(NamedTuple):
    """Lines of a block's records: slopes, and scores and losses at the points of contact."""

    slopes: Floats
    scores: Floats
    losses: Floats


@dataclass(frozen=True)
class Tangents:
    """Lines below the losses of all records. Private: there are as many lines as records."""

    data: BoundedData
    spec: ProblemSpec
    lines: tuple[TangentLines, ...]

    def gaps(self, thetas: Floats) -> Floats:
        """Return A at each row of ``thetas``, in one pass over the data; never below 0."""
        total, count = np.zeros(len(thetas)), len(thetas)
        for block, lines in zip(self.data.blocks(), self.lines, strict=True):
            scores = _scores(self.data, block, thetas.reshape(count * self.spec.outputs, -1))
            scores = scores.reshape(-1, *lines.scores.shape[1:])
            limits = _limits(self.spec, block)
            losses = self.spec.loss.losses(
                scores, np.repeat(block.targets, count), None if limits is None else np.repeat(limits, count)
            )
            slopes, touched, heights = (np.repeat(part, count, axis=0) for part in lines)
            risen = (slopes * (scores - touched)).reshape(len(heights), -1).sum(axis=1)
            total += block.weights @ (losses - heights - risen).reshape(-1, count)
        return np.maximum(total, 0.0)


def tangents(data: BoundedData, spec: ProblemSpec, soft: ProblemSpec, theta: Floats) -> Tangents:
    """Return the lines below the losses of ``spec`` with the slopes of ``soft`` at ``theta``.

    Both problems are the same for a smooth loss.
    """
    return Tangents(data, spec, tuple(_lines(data, spec, soft, theta)))


def value_error(spec: ProblemSpec, rows: int, length: float) -> float:
    """Return a bound on |computed gap - A| over at most ``rows`` records at ||theta||, ||theta_0|| <= ``length`` (T52).

    Slopes and points of contact of the lines are doubles, taken as exact.
    """
    met = min(spec.loss.slope, 1 + spec.radius * length)
    size = spec.lipschitz * length + spec.weight * (spec.loss.at_zero + met + 1)
    each = 2 * (2 * spec.width + 26) + 2 * (spec.width + 13) + 100 + 4 * spec.outputs
    summed = 4 * (min(rows, HEIGHT) + rows / HEIGHT + 21)
    return HIGHER_ORDERS * ULP * rows * (each + summed) * size


def _lines(data: BoundedData, spec: ProblemSpec, soft: ProblemSpec, theta: Floats) -> Iterator[TangentLines]:
    kinked = soft.loss is not spec.loss
    for block in data.blocks():
        limits = _limits(spec, block)
        scores = _scores(data, block, theta.reshape(spec.outputs, -1))
        scores = scores if spec.outputs > 1 else scores[:, 0]
        slopes = soft.loss.slopes(scores, block.targets, limits)
        touched = block.targets.astype(np.float64) if kinked else scores
        yield TangentLines(slopes, touched, spec.loss.losses(touched, block.targets, limits))


def _scores(data: BoundedData, block: Block, table: Floats) -> Floats:
    """Return the inner products of the bounded rows with the rows of ``table``."""
    dim = data.space.dim
    scores = np.asarray(block.x @ table[:, :dim].T)
    return np.asarray(scores + data.space.constant * table[:, dim] if table.shape[1] > dim else scores)


def _limits(spec: ProblemSpec, block: Block) -> Limits:
    """Return the largest slope of each record: clip / ||x|| (T44)."""
    if spec.clip is None:
        return None
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(spec.clip / block.lengths)
