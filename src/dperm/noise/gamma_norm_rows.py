# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Many independent vectors of gamma-norm noise at once, by the sampler of `dperm.noise.gamma_norm` (T7, T10)."""

from typing import NamedTuple, cast

import numpy as np

from dperm import checks
from dperm.noise.arrays import Integers
from dperm.noise.bits import Stream
from dperm.noise.gamma_norm import _Normals, _rounded, gamma_norm

SHORT = 2**10
"""Rows of more coordinates are drawn one by one: nothing is saved any more."""


class _Part(NamedTuple):
    """The normals of one row."""

    low: list[int]
    high: list[int]
    bits: int


def gamma_norm_rows(scale: float, dim: int, rows: int, stream: Stream) -> Integers:
    """A row for each of ``rows`` vectors of ``dim`` integers; one row is what `gamma_norm` draws from this stream."""
    rows = checks.count("rows", rows, least=0)
    if dim > SHORT or rows <= 1:
        drawn = [gamma_norm(scale, dim, stream) for _ in range(rows)]
        return np.array(drawn, dtype=np.int64).reshape(rows, dim)
    gamma_norm(scale, dim, stream)  # checks the arguments
    normals, width = _Normals((2 * dim + 1) * rows, stream), 2 * dim + 1
    out = np.array([_row(normals, start, dim, scale) for start in range(0, rows * width, width)], dtype=np.int64)
    negative = normals.negative.reshape(rows, width)[:, :dim]
    return np.where(negative, -out, out)


def _row(normals: _Normals, start: int, dim: int, scale: float) -> list[int]:
    """Magnitudes; should the digits so far not decide one of them, all normals get more."""
    stop = start + 2 * dim + 1
    while True:
        part = _Part(normals.low[start:stop], normals.high[start:stop], normals.bits)
        rounded = _rounded(cast(_Normals, part), dim, scale)
        if rounded is not None:
            return rounded
        normals.extend()
