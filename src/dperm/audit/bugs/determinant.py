# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Objective perturbation without the determinant: Algorithm 2 of NIPS 2008 as printed (T35), against ours (T36a)."""

from functools import lru_cache

from dperm.audit.bugs.bug import Computed
from dperm.audit.exact import nips08, objective
from dperm.audit.finding import Finding
from dperm.erm.losses import Logistic
from dperm.erm.spec import ProblemSpec
from dperm.methods import ObjectivePerturbation
from dperm.privacy import Adjacency, PureDP

EPSILON, STRENGTH = 0.1, 0.1


def as_printed() -> Finding:
    """Lambda = .1, epsilon = .1 claimed."""
    return objective(nips08(EPSILON, STRENGTH))


@lru_cache(maxsize=1)
def as_planned() -> Finding:
    """The same loss and claim, with the Lambda that leaves room for the determinant; nothing in it is random."""
    spec = ProblemSpec(Logistic(), radius=1.0, dim=1)
    return objective(ObjectivePerturbation("gamma_norm").plan(spec, PureDP(EPSILON, Adjacency.REPLACE_ONE)))


MISSING_DETERMINANT = Computed(
    "missing determinant",
    "The Jacobian of the map from noise to minimiser is left out of the proof (NIPS 2008, Algorithm 2).",
    as_printed,
    as_planned,
)
