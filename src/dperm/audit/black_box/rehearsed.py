# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Simulated coins and noise for choosing thresholds before any run; never used as protective noise."""

import numpy as np

from dperm.audit.black_box.sample import Truths
from dperm.noise.arrays import Floats
from dperm.noise.simulation import generator

SEED = 0
REHEARSED = 100_000
"""Number of simulated runs."""


def coins_ahead(runs: int = REHEARSED) -> Truths:
    """Return alternating coins: a rehearsal needs no randomness here."""
    return np.asarray(np.arange(runs) % 2 == 0)


def normal_ahead(purpose: str, size: tuple[int, int]) -> Floats:
    """Return standard normal numbers, always the same, so thresholds are a function of the plan alone."""
    return generator(SEED, purpose).standard_normal(size)


def laplace_ahead(purpose: str, size: tuple[int, int]) -> Floats:
    """Return numbers with density proportional to e^-|x|, always the same."""
    return generator(SEED, purpose).laplace(size=size)


def lengths_ahead(purpose: str, size: tuple[int, int]) -> Floats:
    """Return rows with density proportional to e^-||x||: uniform directions, gamma-distributed lengths."""
    drawn = generator(SEED, purpose)
    directions = drawn.standard_normal(size)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(directions * drawn.gamma(size[1], 1.0, (size[0], 1)))
