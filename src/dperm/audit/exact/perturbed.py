# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the exact audit of objective perturbation looks at: constants, a law of noise, and a claim (T35-T41)."""

from dataclasses import dataclass, replace

from dperm import checks
from dperm.accounting import account
from dperm.erm.losses import Logistic
from dperm.erm.spec import ProblemSpec
from dperm.methods.linear_term import GammaNormTerm, LinearTerm
from dperm.methods.literature import jmlr11
from dperm.methods.objective import GaussianPerturbation, ObjectivePlan
from dperm.privacy import Adjacency, ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.profile import PrivacyProfile
from dperm.sensitivity import objective_share


@dataclass(frozen=True)
class Perturbed:
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


def of_plan(plan: ObjectivePlan) -> Perturbed:
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
        return Perturbed(name, plan.spec, term, claimed, account(found.exact, adjacency))
    spent = plan.goal.epsilon - found.share.epsilon  # type: ignore[union-attr]  # pure noise: both are epsilons
    return Perturbed(name, plan.spec, term, PureDP(spent, adjacency))


def nips08(epsilon: float, strength: float) -> Perturbed:
    """Algorithm 2 of Chaudhuri & Monteleoni 2008 as printed: logistic loss, density ``e^{-epsilon |b|/2}`` (T35).

    ``strength`` is Lambda = n lambda. The determinant is not charged; the sign of its loss is put right (E5).
    """
    epsilon = checks.positive("epsilon", epsilon)
    return _replacing("Algorithm 2 of NIPS 2008 as printed", epsilon, strength, 2 / epsilon)


def jmlr_2011(epsilon: float, strength: float) -> Perturbed:
    """Algorithm 2 of Chaudhuri, Monteleoni & Sarwate 2011, which charges the determinant twice over (T36)."""
    left, extra = jmlr11(1, strength, epsilon, 0.25)
    return _replacing("Algorithm 2 of JMLR 2011", epsilon, strength + extra, 2 / left)


def _replacing(name: str, epsilon: float, strength: float, scale: float) -> Perturbed:
    """Logistic regression on the unit ball in which a record is replaced."""
    spec = ProblemSpec(Logistic(), radius=1.0, dim=1, regularization=strength)
    return Perturbed(name, spec, GammaNormTerm(scale, 1), PureDP(epsilon, Adjacency.REPLACE_ONE))
