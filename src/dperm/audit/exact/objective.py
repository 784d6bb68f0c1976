# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact audit of objective perturbation: an attained privacy loss, or a lower bound on delta (A8; T35-T41)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from dperm import checks
from dperm.accounting import account
from dperm.audit.claim import checked_claim, claimed_epsilon, exact_audit_deltas
from dperm.audit.exact.density import Density, Row, Rows, require_one_score
from dperm.audit.exact.hockey_stick import worst_cells
from dperm.audit.exact.largest_loss import largest_loss
from dperm.audit.exact.neighbours import candidate_records, candidate_rests, checked_candidate_rests
from dperm.audit.finding import Finding
from dperm.audit.lower_bound import LowerBound
from dperm.checks import shown
from dperm.erm.losses import Logistic
from dperm.erm.spec import ProblemSpec
from dperm.errors import ParameterError
from dperm.methods.linear_term import GammaNormTerm, LinearTerm
from dperm.methods.literature import jmlr11
from dperm.methods.objective import GaussianPerturbation, ObjectivePlan
from dperm.presentation.facts import Fact
from dperm.presentation.numbers import format_up
from dperm.privacy import Adjacency, ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.profile import PrivacyProfile
from dperm.sensitivity import objective_share

Progress = Callable[[float], None] | None
FEW = 5
"""Number of positions of the record for the search over pairs; the worst position is at an end."""
Bounds = tuple[Mapping[str, LowerBound], Mapping[str, object]]


@dataclass(frozen=True)
class ObjectiveMinimiser:
    """Exact minimizer of a perturbed objective J(theta) + b'theta, with its claimed guarantee.

    J is the sum of the losses plus (Lambda/2) ||theta||^2, and b is random noise.

    Attributes
    ----------
    name
        Name of the mechanism, for the report.
    spec
        Learning problem: the loss, the bound on the norm of the feature rows, and Lambda.
    term
        Distribution of b, in one dimension.
    claimed
        Claimed guarantee.
    profile
        Claimed privacy profile; None uses the profile of ``claimed``.
    notes
        Notes for the reader of the finding, for example that only a part of a plan's epsilon is audited.
    """

    name: str
    spec: ProblemSpec
    term: LinearTerm
    claimed: AnyGuarantee
    profile: PrivacyProfile | None = None
    notes: tuple[Fact, ...] = field(default=(), compare=False)


def objective_of_plan(plan: ObjectivePlan) -> ObjectiveMinimiser:
    """Return the perturbed objective of a plan: its exact minimizer, before the noise on the coefficients (T43).

    The claimed epsilon is the plan's epsilon minus the share spent on that noise. With Gaussian b, the claim includes
    the profile of T40, T39 or T41. One dimension suffices for plans of any dimension: let all rows lie along one axis.
    Gaussian b in the other directions is independent of the data. For other noise, density ratios on this axis equal
    the ratios in one dimension.
    """
    term, found, adjacency = replace(plan.linear_term, dim=1), plan.perturbation, plan.adjacency
    name = f"objective perturbation of dperm ({plan.spec.loss.name}, {plan.linear_term.name} noise)"
    if isinstance(found, GaussianPerturbation):
        goal = plan.goal
        assert isinstance(goal, ApproxDP)  # nothing else is planned with Gaussian noise
        claimed = ApproxDP(*objective_share(goal.epsilon, goal.delta), adjacency)
        profile = account(found.exact, adjacency)
        return ObjectiveMinimiser(
            name, plan.spec, term=term, claimed=claimed, profile=profile, notes=(_audited_part(claimed, goal),)
        )
    spent = plan.goal.epsilon - found.share.epsilon  # type: ignore[union-attr]  # pure noise: both are epsilons
    pure = PureDP(spent, adjacency)
    return ObjectiveMinimiser(name, plan.spec, term, pure, notes=(_audited_part(pure, plan.goal),))


def _audited_part(claimed: PureDP | ApproxDP, goal: AnyGuarantee) -> Fact:
    """Return a note on the difference between the plan's epsilon and the epsilon claimed for the audited part."""
    template = (
        "This audit tests the perturbed objective, which uses epsilon {claimed} of the plan's epsilon {goal}. The "
        "noise on the coefficients uses the rest."
    )
    total = goal.epsilon  # type: ignore[union-attr]  # objective perturbation meets no other goals
    epsilons = {"claimed_epsilon": claimed.epsilon, "goal_epsilon": total}
    return Fact(
        "audit.part-of-epsilon",
        template,
        {"claimed": format_up(claimed.epsilon, 4), "goal": format_up(total, 4), **epsilons},
    )


def nips08(epsilon: float, strength: float) -> ObjectiveMinimiser:
    """Return Algorithm 2 of Chaudhuri & Monteleoni 2008, whose claim of epsilon-DP is false (T35).

    The loss is logistic, and the density of the noise b is proportional to ``e^{-epsilon |b|/2}``. The published proof
    omits the Jacobian determinant of the change of variables from b to the minimizer. A sign error in the printed loss
    is corrected here (E5).

    Parameters
    ----------
    epsilon
        Claimed epsilon, positive.
    strength
        Regularization strength Lambda, positive, for the sum of the losses. For n records and strength lambda in the
        mean objective, Lambda = n lambda.

    Returns
    -------
    ObjectiveMinimiser
        Mechanism to pass to `objective`.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    epsilon = checks.positive("epsilon", epsilon)
    return _published("Algorithm 2 of NIPS 2008 as printed", epsilon, strength, 2 / epsilon)


def jmlr_2011(epsilon: float, strength: float) -> ObjectiveMinimiser:
    """Return Algorithm 2 of Chaudhuri, Monteleoni & Sarwate 2011 (T36).

    The loss is logistic. The algorithm corrects the error of `nips08` by subtracting an amount from epsilon for the
    Jacobian determinant of the map from the noise b to the minimizer. This amount is twice as large as necessary.

    Parameters
    ----------
    epsilon
        Claimed epsilon, positive.
    strength
        Regularization strength Lambda, positive, for the sum of the losses. For n records and strength lambda in the
        mean objective, Lambda = n lambda.

    Returns
    -------
    ObjectiveMinimiser
        Mechanism to pass to `objective`.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    left, extra = jmlr11(1, strength, epsilon, 0.25)
    return _published("Algorithm 2 of JMLR 2011", epsilon, strength + extra, 2 / left)


def _published(name: str, epsilon: float, strength: float, scale: float) -> ObjectiveMinimiser:
    """Return logistic regression on the unit ball, with a claim under replace_one."""
    spec = ProblemSpec(Logistic(), radius=1.0, dim=1, regularization=strength)
    return ObjectiveMinimiser(name, spec, GammaNormTerm(scale, 1), PureDP(epsilon, Adjacency.REPLACE_ONE))


def objective(
    subject: ObjectivePlan | ObjectiveMinimiser, *, among: tuple[Rows, ...] | None = None, progress: Progress = None
) -> Finding:
    """Return a lower bound on the epsilon of objective perturbation, in one dimension, without sampling (A8; T35-T41).

    The density of the minimizer theta is known (T35). For a claim of pure DP, the audit searches over neighbouring data
    sets and values of theta for the largest privacy loss. The bound is the privacy loss at the best point that the
    search finds. For any other claim, the audit bounds epsilon from below at two or more values of delta.

    If ``subject`` is a plan, the audit covers the exact minimizer, before noise is added to the coefficients. The bound
    is then compared with the part of the plan's epsilon that is spent on the minimizer.

    Parameters
    ----------
    subject
        Plan of `ObjectivePerturbation` for a loss with one score, or a published algorithm (`nips08`, `jmlr_2011`).
    among
        Candidate sets of the records that both neighbouring data sets contain. Each set is a tuple of rows
        ((x,), target, count), where |x| is at most the bound on the norm of the rows, and count is the number of times
        that the record occurs. None uses a built-in choice of sets, from the empty set to a large one.
    progress
        Callback that receives the completed fraction of the work, in (0, 1].

    Returns
    -------
    Finding
        Lower bounds with confidence 1 and the verdict on the claim.

    Raises
    ------
    ParameterError
        If ``subject`` has an unsupported type, its loss has several scores, or ``among`` is not valid data.

    Examples
    --------
    >>> from dperm.audit import exact
    >>> print(exact.objective(exact.nips08(epsilon=0.1, strength=0.1)))
    VIOLATION: claimed epsilon 0.1, measured >= 1.26 with certainty (largest loss).
    """
    found = _checked(subject)
    require_one_score(found.spec.loss)
    density = Density(found.spec, found.term, (found.spec.weight, found.spec.weight))
    adjacency = checked_claim(found.claimed).adjacency
    stay = (
        candidate_rests(found.spec, adjacency)
        if among is None
        else checked_candidate_rests(among, found.spec, adjacency)
    )
    audit = _by_loss if exact_audit_deltas(found.claimed) == (0.0,) else _by_delta
    bounds, facts = audit(found, density, stay, progress)
    return Finding(
        found.name, found.claimed, bounds=bounds, confidence=1.0, profile=found.profile, facts=facts, notes=found.notes
    )


def _checked(subject: object) -> ObjectiveMinimiser:
    if isinstance(subject, ObjectivePlan):
        return objective_of_plan(subject)
    if isinstance(subject, ObjectiveMinimiser):
        return subject
    raise ParameterError(
        argument="subject",
        rule="must be a plan of ObjectivePerturbation or an ObjectiveMinimiser, such as nips08(0.1, 0.1)",
        got=shown(subject),
    )


def _by_loss(found: ObjectiveMinimiser, density: Density, stay: tuple[Rows, ...], progress: Progress) -> Bounds:
    """Return the bound of one attained privacy loss."""
    adjacency = found.claimed.adjacency
    loss = largest_loss(density, stay, candidate_records(found.spec), adjacency=adjacency, progress=progress)
    bound = LowerBound(max(0.0, loss.value), 0.0, 1.0, "privacy loss at a point (A8)")
    return {"largest loss": bound}, {"at": loss.theta, **_neighbour_facts(loss.rest, loss.record, loss.other)}


def _by_delta(found: ObjectiveMinimiser, density: Density, stay: tuple[Rows, ...], progress: Progress) -> Bounds:
    """Return epsilon at every tested delta, and the exact delta at the claimed epsilon for the worst delta."""
    few, at = candidate_records(found.spec, FEW), exact_audit_deltas(found.claimed)
    every = worst_cells(density, stay, few, adjacency=found.claimed.adjacency, deltas=at, progress=progress)
    method = "exact probabilities of cells (A8)"
    bounds = {
        f"hockey stick at delta {worst.delta:.3g}": LowerBound(worst.epsilon, worst.delta, 1.0, method)
        for worst in every
    }
    claims = [claimed_epsilon(found.claimed, worst.delta, found.profile) for worst in every]
    worst, claim = max(zip(every, claims, strict=True), key=lambda both: both[0].epsilon - both[1])
    pair = worst.pair
    return bounds, {"delta": pair.cells.delta(claim), **_neighbour_facts(pair.rest, pair.record, pair.other)}


def _neighbour_facts(rest: Rows, record: Row | None, other: Row | None) -> dict[str, object]:
    """Return the neighbours as facts for the finding."""
    return {"rest": rest, "record": record, "other": other}
