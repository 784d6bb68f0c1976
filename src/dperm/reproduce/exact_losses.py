# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact privacy losses of objective perturbation: on the data sets of T35, and on the worst that are found (A8)."""

from functools import lru_cache

import numpy as np

from dperm.audit.exact import ObjectiveMinimiser, objective
from dperm.audit.exact.density import Density, Rows
from dperm.audit.exact.hockey_stick import worst_cells
from dperm.audit.exact.neighbours import NOBODY, row
from dperm.audit.exact.objective import objective_of_plan
from dperm.data.arrays import Floats
from dperm.erm.losses import Logistic
from dperm.erm.spec import ProblemSpec
from dperm.methods import ObjectivePerturbation
from dperm.privacy import Adjacency, PureDP
from dperm.reproduce.perturbed_logistic import least_strength

PAIR: tuple[Rows, Rows] = ((row(1.0), *NOBODY), (row(0.0), *NOBODY))
"""The data sets of T35: one record x = 1 with the label 1, or x = 0 in its place."""


def corrected(epsilon: float, strength: float) -> ObjectiveMinimiser:
    """The same problem as dperm plans it: T36a, or T36b where that holds; Lambda raised where neither does."""
    spec = ProblemSpec(Logistic(), radius=1.0, dim=1, regularization=max(strength, least_strength(epsilon)))
    return objective_of_plan(ObjectivePerturbation("gamma_norm").plan(spec, PureDP(epsilon, Adjacency.REPLACE_ONE)))


@lru_cache(maxsize=64)
def worst_loss(subject: ObjectiveMinimiser, quick: bool) -> float:
    """The largest loss over neighbours that the exact audit finds (A8)."""
    return objective(subject, among=(NOBODY,) if quick else None).bound.epsilon


def pair_losses(subject: ObjectiveMinimiser, theta: Floats) -> Floats:
    """The losses log p_D(theta) - log p_D'(theta) for the data sets of T35."""
    density = Density(subject.spec, subject.term)
    one, other = (density.log_density(theta[np.newaxis], rows) for rows in PAIR)
    return one - other


def pair_loss(subject: ObjectiveMinimiser) -> float:
    """The largest of them, on a line and then on a finer one around it."""
    middle, width = 0.0, 12.0
    for _ in range(4):
        theta = middle + np.linspace(-width, width, 4001)
        losses = pair_losses(subject, theta)
        middle, width = float(theta[losses.argmax()]), width / 500
    return float(losses.max())


def pair_delta(subject: ObjectiveMinimiser) -> float:
    """A lower bound on delta at the claimed epsilon for the data sets of T35, in either order."""
    density, records = Density(subject.spec, subject.term), (row(1.0), row(0.0))
    found = worst_cells(density, (NOBODY,), records, adjacency=Adjacency.REPLACE_ONE, deltas=(1e-4,))
    return found[0].pair.cells.delta(subject.claimed.epsilon)  # type: ignore[union-attr]  # the claim is pure
