# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Descent without noise that is stopped after a public number of updates: how far it goes, and how exactly (T33, T34).

An update with a batch B of the records is theta <- theta - eta (sum_B g_i / b + gamma theta), in mean scale: gamma =
Lambda / n, and b is the size of a batch also where the last one of a pass is smaller.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats
from dperm.erm.rounding import HIGHER_ORDERS, ULP, gradient_error
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError
from dperm.noise.bits import Stream
from dperm.privacy import Adjacency
from dperm.sensitivity.stopped_descent import (
    Passes,
    constant_step_sensitivity,
    decreasing_step_sensitivity,
    descent_sensitivity,
)

Places = NDArray[np.int64]
UPDATE = 12
"""Units of rounding in an update, relative to eta (L + gamma ||theta||): sums, products and the step size itself."""


@dataclass(frozen=True)
class StoppedDescent:
    """Public parameters of the descent.

    Attributes
    ----------
    run
        Records, passes and batch; a pass over one batch of all records is a step of gradient descent.
    lipschitz
        L of the data loss (T33).
    data_smoothness
        Beta of the data loss.
    strong_convexity
        gamma = Lambda / n; 0 without regularisation.
    step_size
        Constant; None for min(1/beta, 1/(gamma t)) at update t.
    """

    run: Passes
    lipschitz: float
    data_smoothness: float
    strong_convexity: float
    step_size: float | None

    @property
    def smoothness(self) -> float:
        """Beta of the objective with its regulariser, rounded up."""
        return (self.data_smoothness + self.strong_convexity) * (1 + 2.0**-50)

    @property
    def is_full(self) -> bool:
        """Whether each update sees all records."""
        return self.run.batch == self.run.records

    @property
    def updates(self) -> int:
        """T, their number in all passes."""
        return self.run.passes * self.run.updates

    @property
    def numbers(self) -> dict[str, object]:
        """As they stand in a record."""
        return {
            "passes": self.run.passes,
            "batch_size": self.run.batch,
            "step_size": self.step_size,
            "strong_convexity": self.strong_convexity,
            "objective_smoothness": self.smoothness,
        }

    def step(self, update: int) -> float:
        """The step size at update 1, 2, ..."""
        if self.step_size is not None:
            return self.step_size
        return min(1 / self.smoothness, 1 / (self.strong_convexity * update))

    @property
    def horizon(self) -> float:
        """Bound on the sum of all step sizes: T eta, or for decreasing steps at most T/beta and (1 + log T)/gamma."""
        count = self.updates
        if self.step_size is not None:
            return count * self.step_size
        return min(count / self.smoothness, (1 + math.log(count)) / self.strong_convexity)


def sensitivity(descent: StoppedDescent, adjacency: Adjacency) -> float:
    """How far the last iterate moves when one record is replaced: T33, or T34 for full gradient descent.

    Raises
    ------
    AdjacencyError
        Under add/remove.
    AssumptionError
        If the step size is too large for the theorem.
    """
    if descent.step_size is None:
        return decreasing_step_sensitivity(
            descent.run,
            strong_convexity=descent.strong_convexity,
            adjacency=adjacency,
            lipschitz=descent.lipschitz,
        )
    if descent.is_full:
        return descent_sensitivity(
            descent.run.records,
            descent.run.passes,
            step_size=descent.step_size,
            smoothness=descent.smoothness,
            adjacency=adjacency,
            lipschitz=descent.lipschitz,
            strong_convexity=descent.strong_convexity,
        )
    return constant_step_sensitivity(
        descent.run,
        step_size=descent.step_size,
        smoothness=descent.smoothness,
        adjacency=adjacency,
        lipschitz=descent.lipschitz,
        strong_convexity=descent.strong_convexity,
    )


def longest_iterate(descent: StoppedDescent) -> float:
    """Bound on ||theta|| of every iterate in exact arithmetic: L times the sum of the steps, and at most L/gamma.

    An update is (1 - eta gamma) theta minus eta times a sum of at most b gradients over b, which is at most L long.
    """
    most = descent.lipschitz * descent.horizon
    if descent.strong_convexity > 0:
        most = min(most, descent.lipschitz / descent.strong_convexity)
    return most * (1 + 2.0**-40)


def rounding_error(descent: StoppedDescent, spec: ProblemSpec) -> float:
    """Bound on ||computed - exact|| of the last iterate, for every data set and every order of its records.

    Updates do not expand distances (T33), so the errors of all of them add up at most. At ||theta|| <= l an update with
    step eta is off by eta e(l)/b, e the error of a batch's gradient (`gradient_error`), and by rounding of its own:
    12u eta (L + gamma l) and 2u l. Steps that are rounded are among the 12. Iterates are at most l0 long in exact
    arithmetic; if the sum at l = 2 l0 is at most l0, no computed iterate is longer than 2 l0, by induction, and the sum
    is the bound.

    Raises
    ------
    AssumptionError
        If it is not: then there are too many updates for doubles.
    """
    length, batch = 2 * longest_iterate(descent), descent.run.batch
    each = gradient_error(replace(spec, regularization=None), batch, length) / batch
    each += UPDATE * ULP * (descent.lipschitz + descent.strong_convexity * length)
    total = HIGHER_ORDERS * (descent.horizon * each + 2 * ULP * descent.updates * length)
    if 2 * total > length:
        raise AssumptionError(
            f"passes and batch_size make {descent.updates} updates with Lambda = {spec.regularization}, whose rounding "
            f"errors no bound holds together. Give fewer passes, a larger batch_size or a smaller C."
        )
    return total


def last_iterate(
    descent: StoppedDescent, gradient: Callable[[Floats, Places | None], Floats], dim: int, stream: Stream
) -> Floats:
    """Descend from 0 along ``gradient``, the sum over the records at some places, or over all for None."""
    theta = np.zeros(dim)
    for update, places in enumerate(_batches(descent, stream), start=1):
        slope = gradient(theta, places) / descent.run.batch + descent.strong_convexity * theta
        theta = theta - descent.step(update) * slope
    return theta


def _batches(descent: StoppedDescent, stream: Stream) -> Iterator[Places | None]:
    run = descent.run
    for _ in range(run.passes):
        if descent.is_full:
            yield None
            continue
        order = random_order(run.records, stream)
        yield from (order[start : start + run.batch] for start in range(0, run.records, run.batch))


def random_order(count: int, stream: Stream) -> Places:
    """An order of 0, ..., count - 1 that does not depend on data: that of random words.

    Uniform but for words that are equal, which happens with probability count^2 / 2^65. Nothing about privacy rests on
    that: the theorems hold for every fixed order, so for one that is drawn, and it may be known.
    """
    return np.argsort(stream.words(count), kind="stable")
