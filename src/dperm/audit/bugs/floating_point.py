# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Floating-point noise: the low-order bits of a sum reveal its summands (A12)."""

import numpy as np

from dperm.audit.black_box import BatchSubject, Subject
from dperm.audit.black_box.additive import of_mechanism
from dperm.audit.black_box.sample import Truths
from dperm.audit.bugs.bug import SimulatedBug
from dperm.mechanisms import LaplaceMechanism
from dperm.noise.arrays import Floats
from dperm.noise.simulation import NotPrivateBits, generator
from dperm.privacy import Adjacency, PureDP

CLAIMED = PureDP(1.0, Adjacency.ADD_REMOVE)


def subject(buggy: bool, seed: int) -> Subject:
    """Return Laplace noise on 0 or 1, from dperm's mechanism on its grid, or from numpy's doubles if ``buggy``."""
    correct = of_mechanism(LaplaceMechanism.calibrate(1.0, CLAIMED), bits=NotPrivateBits(seed))
    if not buggy:
        return correct

    def draw(included: Truths) -> Floats:
        noise = generator(seed).laplace(0.0, correct.mechanism.scale, (len(included), 1))
        return np.asarray(np.where(included[:, None], correct.included, correct.without) + noise)

    return BatchSubject(
        "Laplace noise in doubles",
        CLAIMED,
        draw=draw,
        statistics=correct.statistics,
        profile=correct.profile,
        facts=correct.facts,
    )


RAW_FLOATS = SimulatedBug("raw floats", "The noise is added in floating point, not on a grid.", subject)
