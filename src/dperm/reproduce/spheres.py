# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The made-up data of Monteleoni's experiments: points that are uniform on a sphere, on two sides of a plane."""

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
"""No point of the separable set is nearer to the plane."""
NOISE, STRIP = 0.2, 0.1
"""In the other set labels are wrong with this probability, within this distance of the plane."""

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Sample:
    """Rows of norm 1, and their labels -1 and 1."""

    rows: Floats
    labels: Labels

    def __len__(self) -> int:
        """How many."""
        return len(self.labels)

    def at(self, places: NDArray[np.bool_] | slice) -> "Sample":
        """Those of them."""
        return Sample(self.rows[places], self.labels[places])

    def bounded(self) -> BoundedData:
        """As what is learnt from: no intercept, the radius 1."""
        space = FeatureSpace(self.rows.shape[1], norm=1.0, intercept=False)
        return enforce(self.rows, self.labels, space, Classes((-1, 1)))

    def error(self, theta: Floats) -> float:
        """The share of labels that the sign of x'theta gets wrong."""
        return float(np.mean(self.rows @ theta * self.labels <= 0))


def separable(n: int, dim: int, seed: int) -> Sample:
    """Uniform on the sphere but for the strip of half width `MARGIN` around the plane; every label is right."""
    rows = _sphere(2 * n + 100, dim, seed)  # the strip has less than half of the sphere in a dimension below 300
    rows = rows[np.abs(rows[:, 0]) >= MARGIN][:n]
    return Sample(rows, _side(rows))


def unseparable(n: int, dim: int, seed: int) -> Sample:
    """Uniform on the sphere; in the strip of half width `STRIP` a label is wrong with the probability `NOISE`."""
    rows, coins = _sphere(n, dim, seed), generator(seed, purpose="wrong labels").random(n)
    is_wrong = (np.abs(rows[:, 0]) < STRIP) & (coins < NOISE)
    return Sample(rows, np.where(is_wrong, -1, 1) * _side(rows))


SETS: dict[str, Callable[[int, int, int], Sample]] = {"margin 0.03": separable, "noise 0.2": unseparable}
"""By the names that they have in tables."""


def _sphere(n: int, dim: int, seed: int) -> Floats:
    rows = generator(seed, purpose="points on a sphere").standard_normal((n, dim))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _side(rows: Floats) -> Labels:
    return np.where(rows[:, 0] > 0, 1, -1)
