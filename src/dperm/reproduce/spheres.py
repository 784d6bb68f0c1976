# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Simulated data of Monteleoni's experiments: uniform points on a sphere, on both sides of a plane."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData, enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.noise.simulation import generator

MARGIN = 0.03
"""Smallest distance between a separable point and the plane."""
NOISE, STRIP = 0.2, 0.1
"""Probability of a wrong label in the other set, within this distance of the plane."""

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class SphereSample:
    """Rows of norm 1 with labels -1 and 1."""

    rows: Floats
    labels: Labels

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.labels)

    def at(self, places: NDArray[np.bool_] | slice) -> "SphereSample":
        """Return the rows selected by a mask or slice."""
        return SphereSample(self.rows[places], self.labels[places])

    def bounded(self) -> BoundedData:
        """Return the training data, with radius 1 and without an intercept."""
        space = FeatureSpace(self.rows.shape[1], norm=1.0, intercept=False)
        return enforce(self.rows, self.labels, space, Classes((-1, 1)))

    def error(self, theta: Floats) -> float:
        """Return the share of labels that differ from the sign of x'theta."""
        return float(np.mean(self.rows @ theta * self.labels <= 0))


def separable(n: int, dim: int, seed: int) -> SphereSample:
    """Return uniform points outside the strip of half width `MARGIN` around the plane; every label is right."""
    rows = _sphere(2 * n + 100, dim, seed)  # the strip has less than half of the sphere in a dimension below 300
    rows = rows[np.abs(rows[:, 0]) >= MARGIN][:n]
    return SphereSample(rows, _side(rows))


def unseparable(n: int, dim: int, seed: int) -> SphereSample:
    """Return uniform points; in the strip of half width `STRIP`, labels are wrong with probability `NOISE`."""
    rows, coins = _sphere(n, dim, seed), generator(seed, purpose="wrong labels").random(n)
    is_wrong = (np.abs(rows[:, 0]) < STRIP) & (coins < NOISE)
    return SphereSample(rows, np.where(is_wrong, -1, 1) * _side(rows))


SETS: dict[str, Callable[[int, int, int], SphereSample]] = {"margin 0.03": separable, "noise 0.2": unseparable}
"""Data sets by their names in tables."""


def _sphere(n: int, dim: int, seed: int) -> Floats:
    rows = generator(seed, purpose="points on a sphere").standard_normal((n, dim))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _side(rows: Floats) -> Labels:
    return np.where(rows[:, 0] > 0, 1, -1)
