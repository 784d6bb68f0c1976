# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The exact audit of objective perturbation: a privacy loss that is attained, or a delta from below (A8)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

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
from dperm.methods.objective import ObjectivePlan
from dperm.methods.perturbation import GaussianPerturbation, objective_share
from dperm.methods.published import jmlr11
from dperm.privacy import Adjacency, ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.profile import PrivacyProfile


@dataclass(frozen=True)
class PerturbedObjective:
    """The exact minimiser of J(theta) + b'theta, and what is claimed of it.

    Attributes
    ----------
    name
        In words.
    spec
        The problem, Lambda included.
    term
        The law of b, in one dimension.
    claimed
        The guarantee.
    profile
        The whole curve that is claimed, where it is known.
    """

    name: str
    spec: ProblemSpec
    term: LinearTerm
    claimed: AnyGuarantee
    profile: PrivacyProfile | None = None


def objective_of_plan(plan: ObjectivePlan) -> PerturbedObjective:
    """The objective of a plan of dperm: its exact minimiser, before noise on the coefficients (T43).

    What is claimed of it is the plan's epsilon less the share of that noise, and with Gaussian b the profile of T40,
    T39 or T41. One dimension is enough for plans of any: let all rows lie along one axis, then b in the others is
    independent of the data if it is Gaussian, and on that axis densities have the ratio of one dimension otherwise.
    """
    term, found, adjacency = replace(plan.linear_term, dim=1), plan.perturbation, plan.adjacency
    name = f"objective perturbation of dperm ({plan.spec.loss.name}, {plan.linear_term.name} noise)"
    if isinstance(found, GaussianPerturbation):
        goal = plan.goal
        assert isinstance(goal, ApproxDP)  # nothing else is planned with Gaussian noise
        claimed = ApproxDP(*objective_share(goal.epsilon, goal.delta), adjacency)
        return PerturbedObjective(name, plan.spec, term, claimed, account(found.exact, adjacency))
    spent = plan.goal.epsilon - found.share.epsilon  # type: ignore[union-attr]  # pure noise: both are epsilons
    return PerturbedObjective(name, plan.spec, term, PureDP(spent, adjacency))


def nips08(epsilon: float, strength: float) -> PerturbedObjective:
    """Algorithm 2 of Chaudhuri & Monteleoni 2008 as printed: logistic loss, density ``e^{-epsilon |b|/2}`` (T35).

    ``strength`` is Lambda = n lambda. The determinant is not charged; the sign of its loss is put right (E5).
    """
    epsilon = checks.positive("epsilon", epsilon)
    return _replacing("Algorithm 2 of NIPS 2008 as printed", epsilon, strength, 2 / epsilon)


def jmlr_2011(epsilon: float, strength: float) -> PerturbedObjective:
    """Algorithm 2 of Chaudhuri, Monteleoni & Sarwate 2011, which charges the determinant twice over (T36)."""
    left, extra = jmlr11(1, strength, epsilon, 0.25)
    return _replacing("Algorithm 2 of JMLR 2011", epsilon, strength + extra, 2 / left)


def _replacing(name: str, epsilon: float, strength: float, scale: float) -> PerturbedObjective:
    """Logistic regression on the unit ball in which a record is replaced."""
    spec = ProblemSpec(Logistic(), radius=1.0, dim=1, regularization=strength)
    return PerturbedObjective(name, spec, GammaNormTerm(scale, 1), PureDP(epsilon, Adjacency.REPLACE_ONE))


Progress = Callable[[float], None] | None
FEW = 5
"""Places of the record where pairs are many; the worst is at an end."""


def objective(
    subject: ObjectivePlan | PerturbedObjective, *, among: tuple[Rows, ...] | None = None, progress: Progress = None
) -> Finding:
    """A lower bound on the epsilon of objective perturbation, in one dimension, exactly (A8; T35-T41).

    The law of the minimiser is known (T35): for a pure claim the largest privacy loss over neighbours and theta is
    searched for, and what is found is attained; where the claim has a delta, or is a curve (zCDP, GDP, RDP), epsilon is
    bounded from below at that delta, or at several. Of a plan the exact minimiser is looked at, before the noise on the
    coefficients, against what the plan claims of that.

    Parameters
    ----------
    subject
        A plan of `ObjectivePerturbation` for a loss of one score, or a published algorithm (`nips08`, `jmlr_2011`).
    among
        Who stays in the data: sets of rows ((x,), target, count), all within the radius; None for a choice from nobody
        to a crowd.
    progress
        Is told the share that is done.

    Examples
    --------
    >>> from dperm.audit import exact
    >>> print(exact.objective(exact.nips08(epsilon=0.1, strength=0.1)))
    VIOLATION: claimed epsilon 0.1, measured >= 1.26 exactly (largest loss).
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
    return Finding(found.name, found.claimed, bounds, 1.0, found.profile, facts)


def _checked(subject: object) -> PerturbedObjective:
    if isinstance(subject, ObjectivePlan):
        return objective_of_plan(subject)
    if isinstance(subject, PerturbedObjective):
        return subject
    raise ParameterError(
        f"subject must be a plan of ObjectivePerturbation or a Perturbed, such as nips08(0.1, 0.1), got "
        f"{shown(subject)}."
    )


Bounds = tuple[Mapping[str, LowerBound], Mapping[str, object]]


def _by_loss(found: PerturbedObjective, density: Density, stay: tuple[Rows, ...], progress: Progress) -> Bounds:
    """One loss that is attained."""
    adjacency = found.claimed.adjacency
    loss = largest_loss(density, stay, candidate_records(found.spec), adjacency=adjacency, progress=progress)
    bound = LowerBound(max(0.0, loss.value), 0.0, 1.0, "privacy loss at a point (A8)")
    return {"largest loss": bound}, {"at": loss.theta, **_who(loss.rest, loss.record, loss.other)}


def _by_delta(found: PerturbedObjective, density: Density, stay: tuple[Rows, ...], progress: Progress) -> Bounds:
    """Epsilon at every delta at which the claim is looked at; as a fact, delta where the claim is worst off."""
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
    return bounds, {"delta": pair.cells.delta(claim), **_who(pair.rest, pair.record, pair.other)}


def _who(rest: Rows, record: Row | None, other: Row | None) -> dict[str, object]:
    """The neighbours, as facts of the finding."""
    return {"rest": rest, "record": record, "other": other}
