# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Two bugs of objective perturbation: the missing determinant (T35, T36a) and a warm start at the optimum (T43).

Algorithm 2 of Chaudhuri & Monteleoni (NIPS 2008), as printed, omits the determinant. A solver with a warm start begins
at the non-private optimum and stops after one step.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from dperm.audit.black_box import BatchSubject, Subject
from dperm.audit.black_box.noise_rows import linear_rows, noisy_rows
from dperm.audit.black_box.objective import ObjectiveSubject, of_objective
from dperm.audit.black_box.output_statistics import projection
from dperm.audit.black_box.sample import Truths
from dperm.audit.bugs.bug import ExactBug, SimulatedBug
from dperm.audit.exact import nips08, objective
from dperm.audit.finding import Finding
from dperm.erm.losses import HuberHinge, Logistic
from dperm.erm.spec import ProblemSpec
from dperm.methods import ObjectivePerturbation
from dperm.methods.objective import ObjectivePlan
from dperm.noise.arrays import Floats
from dperm.noise.simulation import NotPrivateBits
from dperm.privacy import Adjacency, PureDP

EPSILON, STRENGTH = 0.1, 0.1
CLAIMED = PureDP(1.0, Adjacency.ADD_REMOVE)
RECORDS = 14
"""Public n; with it the solver bounds the smoothness of the objective."""


def printed_finding() -> Finding:
    """Audit the printed algorithm with Lambda = 0.1 and claimed epsilon 0.1."""
    return objective(nips08(EPSILON, STRENGTH))


@lru_cache(maxsize=1)
def planned_finding() -> Finding:
    """Audit dperm's plan for the same loss and claim, with a Lambda large enough for the determinant."""
    spec = ProblemSpec(Logistic(), radius=1.0, dim=1)
    return objective(ObjectivePerturbation("gamma_norm").plan(spec, PureDP(EPSILON, Adjacency.REPLACE_ONE)))


MISSING_DETERMINANT = ExactBug(
    "missing determinant",
    "The proof omits the Jacobian of the map from noise to minimiser (NIPS 2008, Algorithm 2).",
    printed_finding,
    planned_finding,
)


@lru_cache(maxsize=1)
def plan() -> ObjectivePlan:
    """Return dperm's plan for the pure claim."""
    spec = ProblemSpec(HuberHinge(0.5), radius=1.0, dim=1, n=RECORDS, regularization=6.0)
    return ObjectivePerturbation("gamma_norm").plan(spec, CLAIMED)


@lru_cache(maxsize=1)
def worst_case() -> ObjectiveSubject:
    """Return the audit subject of dperm's plan on its worst neighbours."""
    return of_objective(plan())


def subject(buggy: bool, seed: int) -> Subject:
    """Return the subject of the buggy or the correct version, with the same plan, neighbours and statistics."""
    correct = replace(worst_case(), bits=NotPrivateBits(seed))
    statistics = (*worst_case().statistics, projection())
    if not buggy:
        return BatchSubject(
            correct.name,
            CLAIMED,
            draw=correct.outputs,
            statistics=statistics,
            profile=correct.profile,
            facts=correct.facts,
        )

    def draw(included: Truths) -> Floats:
        return one_step(correct, included)

    return BatchSubject(
        "one step from the optimum",
        CLAIMED,
        draw=draw,
        statistics=statistics,
        profile=correct.profile,
        facts=correct.facts,
    )


def one_step(correct: ObjectiveSubject, included: Truths) -> Floats:
    """Take one step theta - (grad J(theta) + b) / (Lambda + n beta) from the optimum of J.

    The output is the optimum plus b divided by a smoothness bound. The theorem requires the minimizer of J + b'theta.
    """
    stream, spec = correct.bits.stream(), correct.plan.spec
    ends = [line.minimiser(np.zeros(1)) for line in (correct.pair.excluded, correct.pair.included)]
    start = np.where(included[:, None], ends[1], ends[0])
    b = linear_rows(correct.plan.linear_term, len(included), stream)
    step = 1 / (spec.strength + RECORDS * spec.smoothness)
    return noisy_rows(correct.plan.mechanism, start - step * b, stream)


WARM_START = SimulatedBug(
    "warm start at the non-private optimum",
    "The solver starts at the non-private optimum and takes one step towards the optimum of the perturbed objective.",
    subject,
    effort=0.3,
)
