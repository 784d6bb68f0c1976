# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The exact law of a noisy sum over a Poisson sample in one dimension: a mixture of normals, one for each sample."""

from collections.abc import Callable
from itertools import combinations

import numpy as np

POINTS = 40_001
REACH = 12.0


def samples(rows: int) -> list[tuple[int, ...]]:
    """Every sample that can be drawn from so many rows."""
    return [chosen for size in range(rows + 1) for chosen in combinations(range(rows), size)]


class Mixture:
    """Normals of deviation ``sigma`` around the sum of each sample, drawn at ``rate``."""

    def __init__(self, total: Callable[[tuple[int, ...]], float], rows: int, *, rate: float, sigma: float) -> None:
        chosen = samples(rows)
        self.weights = [rate ** len(one) * (1 - rate) ** (rows - len(one)) for one in chosen]
        self.centres = [total(one) for one in chosen]
        self.sigma = sigma

    def density(self, places: np.ndarray) -> np.ndarray:
        scaled = [(places - centre) / self.sigma for centre in self.centres]
        normals = [np.exp(-z * z / 2) / (self.sigma * np.sqrt(2 * np.pi)) for z in scaled]
        return sum(weight * normal for weight, normal in zip(self.weights, normals, strict=True))


def hockey_stick(one: Mixture, two: Mixture, epsilon: float) -> float:
    """Delta of the pair in this order: the integral of (p - e^epsilon q)_+, by a fine sum."""
    centres = [*one.centres, *two.centres]
    low, high = min(centres) - REACH * one.sigma, max(centres) + REACH * one.sigma
    places = np.linspace(low, high, POINTS)
    excess = np.maximum(one.density(places) - np.exp(epsilon) * two.density(places), 0.0)
    return float(excess.sum() * (places[1] - places[0]))
