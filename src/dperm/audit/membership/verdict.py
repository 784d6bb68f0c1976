# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tests of a guarantee by membership attacks: simultaneous lower bounds on epsilon (A5).

The valid conclusions depend on the independence of the trials (`TrialDependence`). For independent trials, the numbers
of true positives at a few false-positive rates, fixed in advance, give bounds by A2. The threshold for such a rate is
an order statistic of the non-members' scores. Given the threshold, the number of true positives is binomial. The
false-positive rate above the j-th largest of n_0 scores has the distribution Beta(j, n_0 - j + 1). Its quantile is the
upper end of the Clopper-Pearson interval for j - 1 of n_0. Ties are broken at random, so the scores can be treated as
continuous. For one run with independent coin flips, guesses on the highest and the lowest scores, in numbers fixed in
advance, give bounds by A6. All other designs are only descriptive.
"""

from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from dperm import checks
from dperm.audit.claim import audit_delta, checked_claim
from dperm.audit.coins import fair_coins
from dperm.audit.finding import Finding
from dperm.audit.lower_bound import LowerBound
from dperm.audit.one_run import one_run
from dperm.audit.ranking import ascending_order
from dperm.audit.rates import from_rates
from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.errors import AdjacencyError, AssumptionError, ParameterError
from dperm.presentation.facts import Fact
from dperm.presentation.spelling import arg
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.guarantee import AnyGuarantee, Guarantee
from dperm.privacy.profile import PrivacyProfile

if TYPE_CHECKING:
    from dperm.audit.membership.roc import Roc


CONFIDENCE_INTERVALS = Fact(
    "membership.confidence-intervals", "confidence intervals (rates: Clopper-Pearson; AUC: DeLong, approximate)"
)
DESCRIPTIVE_INTERVALS = Fact(
    "membership.descriptive-intervals",
    "descriptive only: scores of records of the same model depend on each other",
)
RATES = (0.001, 0.01, 0.1, 0.5)
"""False-positive rates used to test independent trials."""
SHARES = (0.02, 0.1, 0.5)
"""Shares of the records guessed in one run: half of each share for the highest scores, half for the lowest."""


class TrialDependence(Enum):
    """Dependence between the trials of a membership attack; the valid conclusions depend on it.

    A trial attacks one record in one model. ``INDEPENDENT`` means that each trial had its own training run and its own
    coin flip, so the numbers of true and false positives are binomial (A2). ``ONE_RUN`` means that all trials attack
    one model, and that an independent fair coin decided whether its training data included each record (A6). The scores
    must not depend on the coin flips except through the model. ``DEPENDENT`` covers all other designs, such as scores
    pooled over several models; their results are only descriptive.
    """

    INDEPENDENT = "independent"
    """Each trial had its own training run and its own coin flip, so the counts are binomial (A2)."""
    ONE_RUN = "one_run"
    """All trials attack one model, and an independent fair coin decided the inclusion of each record (A6)."""
    DEPENDENT = "dependent"
    """Any other design, such as scores pooled over several models; results are only descriptive."""

    @classmethod
    def of(cls, trials: "TrialDependence | str") -> "TrialDependence":
        """Return the member of the enumeration with this name.

        Parameters
        ----------
        trials
            A member, which is returned unchanged, or its name: "independent", "one_run" or "dependent".

        Returns
        -------
        TrialDependence
            The member.

        Raises
        ------
        ParameterError
            If the name is unknown.
        """
        try:
            return cls(trials)
        except ValueError:
            names = ", ".join(f'"{kind.value}"' for kind in cls)
            raise ParameterError(argument="trials", rule=f"must be one of {names}", got=shown(trials)) from None

    @property
    def interval_meaning(self) -> Fact:
        """Meaning of the intervals of rates and areas, as a phrase: confidence intervals, or descriptive only."""
        return CONFIDENCE_INTERVALS if self is TrialDependence.INDEPENDENT else DESCRIPTIVE_INTERVALS


def require_same_adjacency(adjacency: Adjacency | None, claimed: Guarantee | PrivacyProfile) -> None:
    """Raise ``AdjacencyError`` if attack and claim have different adjacencies; None, an unknown adjacency, passes."""
    if adjacency not in (None, claimed.adjacency):
        own, other = (arg("adjacency", f'"{one.value}"') for one in (adjacency, claimed.adjacency))
        raise AdjacencyError(
            f"the attack has coins under {own}, but the guarantee holds under {claimed.adjacency.value}.",
            remedy=f"Attack with {other}, or compare with a guarantee under {adjacency.value}.",
        )


def membership_finding(
    roc: "Roc",
    claimed: AnyGuarantee,
    *,
    delta: float | None = None,
    confidence: float = 0.95,
    subject: str = "membership",
) -> Finding:
    """Compare the claim with lower bounds on epsilon, simultaneously valid with probability ``confidence``.

    Parameters
    ----------
    roc
        Scores and bits of an attack; its ``trials`` determine the valid bounds.
    claimed
        The guarantee under attack.
    delta
        The delta of the bounds; None uses the delta of ``claimed``. Claims of GDP, zCDP and RDP require a value.
    confidence
        Simultaneous confidence level of all bounds.
    subject
        Name of the attack, for the report.

    Returns
    -------
    Finding
        Lower bounds and the verdict.

    Raises
    ------
    AssumptionError
        If trials depend on each other in an unknown way.
    AdjacencyError
        If the claim has a different adjacency from the trials: an included or excluded record is added or removed.
    """
    require_same_adjacency(roc.adjacency, checked_claim(claimed))
    delta = audit_delta(claimed, delta)
    alpha = 1 - checks.positive_delta("confidence", confidence)
    if roc.trials is TrialDependence.DEPENDENT:
        one_run_trials, independent_trials = (arg("trials", f'"{name}"') for name in ("one_run", "independent"))
        raise AssumptionError(
            "these scores are dependent (records of one model, or of several), so no bound on epsilon follows.",
            remedy=(
                f"Set {one_run_trials} if an independent fair coin included each record in ONE model, or "
                f"{independent_trials} if each record had its own training run."
            ),
        )
    judge = _independent if roc.trials is TrialDependence.INDEPENDENT else _one_run
    return Finding(subject, claimed, judge(roc, delta, alpha), confidence, facts={"trials": roc.trials.value})


def _independent(roc: "Roc", delta: float, alpha: float) -> dict[str, LowerBound]:
    """Return the A2 bound at each rate, each with an equal share of alpha."""
    ranks, paid = _ranks(roc.scores), 1 - alpha / len(RATES)
    members, non_members = ranks[roc.member], np.sort(ranks[~roc.member])[::-1]
    found = {}
    for rate in RATES:
        false = int(rate * len(non_members))
        true = int((members > non_members[false]).sum())
        bound = from_rates(true, len(members), false, len(non_members), delta=delta, confidence=paid)
        found[f"TPR at FPR {100 * rate:g} %"] = bound
    return found


def _one_run(roc: "Roc", delta: float, alpha: float) -> dict[str, LowerBound]:
    """Return the A6 bound for each share of guesses, each with an equal share of alpha."""
    ordered = fair_coins(roc.member, len(roc.member))[ascending_order(roc.scores)]
    paid, m = 1 - alpha / len(SHARES), len(ordered)
    found = {}
    for share in SHARES:
        side = max(1, int(share * m / 2))
        correct = int(ordered[-side:].sum()) + int((~ordered[:side]).sum())
        found[f"guesses on {100 * share:g} % of records"] = one_run(correct, 2 * side, m, delta=delta, confidence=paid)
    return found


def _ranks(scores: Floats) -> Floats:
    """Return ranks in increasing order of score; ties are broken independently of the bits."""
    ranks = np.empty(len(scores))
    ranks[ascending_order(scores)] = np.arange(len(scores))
    return ranks
