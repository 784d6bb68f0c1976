# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Worst-case audit subject for any plan."""

from dperm import checks
from dperm.audit.black_box.additive import of_output
from dperm.audit.black_box.gradient import of_gradient
from dperm.audit.black_box.neighbours import opposite_records
from dperm.audit.black_box.objective import of_objective
from dperm.audit.black_box.preparation import PreparationSubject
from dperm.audit.black_box.repeated_training import DEFAULT_STATISTICS, MOST_WORKERS, RepeatedTraining
from dperm.audit.black_box.subject import Subject
from dperm.audit.black_box.training import Trainings
from dperm.data.bounded import BoundedData
from dperm.errors import AssumptionError, ParameterError
from dperm.methods.gradient import GradientPlan
from dperm.methods.objective import ObjectivePlan
from dperm.methods.output import OutputPlan
from dperm.methods.plan import Plan
from dperm.noise.arrays import Floats
from dperm.noise.bits import Bits, SystemBits
from dperm.preparation.plan import PreparationPlan
from dperm.presentation.spelling import arg


def of_plan(plan: Plan | PreparationPlan, *, bits: Bits | None = None, workers: int = 1) -> Subject:
    """Build an audit subject from a plan, with neighbouring data sets chosen for its method, and the plan's own noise.

    For plans of output, objective and gradient perturbation, only the first feature of the records differs from 0. The
    likelihood ratio of an output is then known, and 100,000 runs take seconds. The bounds are close to the claim if the
    theorem behind the claim is tight. For models with more than one coefficient, the noise for pure DP hides the record
    better, so the bounds are weaker.

    The plan of a private preparation is audited on a table in which every number occurs often. Adding or replacing one
    record of this table attains the sensitivity of both releases of the preparation: the column profile, and the counts
    of values.

    For any other plan, the subject trains once per run with the plan's own method. One data set contains a record of
    the largest norm, and all its other rows are zeros. Under replace_one, the other data set contains the same record
    with negated features (classification) or a negated target (regression). Under add_remove, it contains only rows of
    zeros. This attack is weaker than those above.

    Parameters
    ----------
    plan
        Plan of `dperm.methods` for a loss with one score per record, or plan of a private preparation, such as
        ``plan_`` of `dperm.sklearn.PrivateTableEncoder`.
    bits
        Source of random bits for the noise; None uses the operating system, as in production.
    workers
        Number of processes that train, from 1 to 1024. The number must be 1 if ``bits`` are seeded. Plans of output,
        objective and gradient perturbation and of private preparations ignore it.

    Returns
    -------
    Subject
        Subject to pass to `audit`.

    Raises
    ------
    AssumptionError
        If the loss has several scores per record, ``plan`` is not a plan, or ``plan`` is a private preparation without
        a guarantee of its own, because it is a stage of a larger release.
    ParameterError
        If ``workers`` is out of range, or is above 1 with seeded ``bits``, because all processes would draw the same
        noise.
    """
    match plan:
        case OutputPlan():
            return of_output(plan, bits=bits)
        case ObjectivePlan():
            return of_objective(plan, bits=bits)
        case GradientPlan():
            return of_gradient(plan, bits=bits)
        case PreparationPlan():
            return PreparationSubject(plan, bits or SystemBits())
        case Plan():
            return repeated_plan(plan, bits=bits, workers=workers)
    raise AssumptionError(
        argument="plan",
        rule="must be a plan of dperm.methods",
        got=checks.shown(plan),
        remedy="For other training runs use repeated(train, with_record, without_record, claimed=...).",
    )


def repeated_plan(plan: Plan, *, bits: Bits | None = None, workers: int = 1) -> RepeatedTraining:
    """Build a subject that calls the plan's own ``learn`` once for each run."""
    source, pair = bits or SystemBits(), opposite_records(plan.spec, plan.adjacency)
    workers = checks.count("workers", workers, "It is the number of processes.", most=MOST_WORKERS)
    if workers > 1 and not source.is_private:
        raise ParameterError(
            argument="workers",
            rule=f"must be 1 with {arg('bits', source)}",
            got=str(workers),
            remedy="Every process would draw the same noise.",
        )

    def train(data: BoundedData) -> Floats:
        return plan.learn(data, source.stream())

    trainings = Trainings(train, pair.data(True), pair.data(False))
    name, facts = f"method {plan.method!r}", {"neighbours": pair.description, "dim": plan.spec.dim}
    return RepeatedTraining(
        trainings,
        plan.goal,
        workers=workers,
        name=name,
        statistics=DEFAULT_STATISTICS,
        profile=plan.facts.profile,
        facts=facts,
    )
