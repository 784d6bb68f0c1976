# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Gradient in extended precision, for the rare problems where doubles cannot certify the tolerance.

On most machines a long double carries 64 binary digits instead of 53, so a gradient is 2048 times as exact, at about
ten times the cost. Where a long double is a double (see `ULP`), plans use a larger tolerance.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats
from dperm.data.blocks import LARGE, SHRINK, row_multiples
from dperm.data.bounded import BoundedData
from dperm.data.targets import Targets
from dperm.erm.objective import Objective

Wide = NDArray[np.longdouble]
ULP = float(np.finfo(np.longdouble).eps) / 2
"""The unit of rounding of a long double."""


def gradient(objective: Objective, theta: Wide) -> Wide:
    """Return the gradient of J at ``theta``, summed in long doubles from the rows themselves."""
    spec, constant, dim = objective.spec, objective.data.space.constant, objective.data.space.dim
    table = theta.reshape(spec.outputs, spec.width).T
    total: Wide = np.zeros_like(table)
    for x, factors, lengths, targets, weights in _blocks(objective.data):
        scores = factors * (x @ table[:dim])
        if spec.width > dim:
            scores += constant * table[dim]
        with np.errstate(divide="ignore", over="ignore"):  # no limit for a row of zeros
            limits: Any = None if spec.clip is None else np.longdouble(spec.clip) / lengths
        slopes: Any = spec.loss.slopes(scores if spec.outputs > 1 else scores[:, 0], targets, limits)
        slopes = weights[:, np.newaxis] * slopes.reshape(scores.shape)
        total[:dim] += x.T @ (factors * slopes)
        if spec.width > dim:
            total[dim] += constant * slopes.sum(axis=0)
    return np.asarray(total.T.ravel() + np.longdouble(spec.strength) * theta + objective.linear)


def _blocks(data: BoundedData) -> Iterator[tuple[Any, Any, Any, Targets, Floats]]:
    """Yield rows, factors (a column), lengths, targets and weights.

    Lengths are long doubles; rows too long to square are shrunk first.
    """
    for start in range(0, data.rows, data.height):
        stop = min(start + data.height, data.rows)
        bad = None if data.bad is None else data.bad[start:stop]
        is_long = data.norms[start:stop] > LARGE
        x = row_multiples(data.source.scaled(start, stop, bad), np.where(is_long, SHRINK, 1.0)).astype(np.longdouble)
        squares = np.asarray((x * x).sum(axis=1)).ravel() if isinstance(x, np.ndarray) else x.power(2).sum(axis=1)
        norms: Any = np.sqrt(np.asarray(squares, dtype=np.longdouble))
        factors, lengths = data.sizes(np.where(is_long, np.inf, norms))
        np.divide(data.space.norm or 0.0, norms, out=factors, where=is_long)
        yield x, factors[:, np.newaxis], lengths, *data.target.targets(data.codes[start:stop])
