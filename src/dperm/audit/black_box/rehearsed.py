# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Simulated coins and noise to choose thresholds by, before any run: never noise that protects anybody."""

import numpy as np

from dperm.audit.black_box.sample import Truths
from dperm.noise.arrays import Floats
from dperm.noise.simulation import generator

SEED = 0
REHEARSED = 100_000
"""Simulated runs."""


def coins_ahead(runs: int = REHEARSED) -> Truths:
    """In and out, one after the other: a rehearsal has no need of chance here."""
    return np.asarray(np.arange(runs) % 2 == 0)


def normal_ahead(purpose: str, size: tuple[int, int]) -> Floats:
    """Standard normal numbers; always the same, so that thresholds are a function of the plan alone."""
    return generator(SEED, purpose).standard_normal(size)


def laplace_ahead(purpose: str, size: tuple[int, int]) -> Floats:
    """Of density proportional to e^-|x|."""
    return generator(SEED, purpose).laplace(size=size)


def lengths_ahead(purpose: str, size: tuple[int, int]) -> Floats:
    """Rows of density proportional to e^-||x||: uniform directions, lengths of a gamma law."""
    drawn = generator(SEED, purpose)
    directions = drawn.standard_normal(size)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(directions * drawn.gamma(size[1], 1.0, (size[0], 1)))
