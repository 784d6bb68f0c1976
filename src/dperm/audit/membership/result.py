# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Result of a membership inference attack."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from dperm.audit.claim import checked_claim
from dperm.audit.finding import Finding
from dperm.audit.membership.roc import PRIVATE, RATES, Roc, rate_name
from dperm.audit.membership.verdict import membership_finding, require_same_adjacency
from dperm.presentation.facts import Fact
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.guarantee import AnyGuarantee, guarantee_as_dict

NOT_COVERED = Fact("membership.not-covered", "not covered by the guarantee: computed from the private records")


@dataclass(frozen=True, repr=False)
class MembershipResult:
    """ROC curves of a membership attack, computed from private records and **not covered by any guarantee**.

    Attributes
    ----------
    attack
        Name of the attack.
    roc
        ROC curve over all trials. Each trial attacks one record in one model. The attacked model is a fixed model, or
        each of several models in turn.
    one_run
        ROC curve over the trials of one model whose records were selected by independent coin flips (A6). `finding`
        uses this curve for its verdict on a guarantee, or ``roc`` if ``one_run`` is None.
    baseline
        For comparison, ROC curve of an attack on the same models with one score threshold for all records; None if it
        was not computed.
    adjacency
        Neighbouring relation between training with and without a record. None if the relation is unknown, as in
        `lira_against` with ``independent_coins=False``.
    facts
        Facts about the attack, such as the numbers of models and records.
    """

    attack: str
    roc: Roc
    one_run: Roc | None = None
    baseline: Roc | None = None
    adjacency: Adjacency | None = None
    facts: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def __repr__(self) -> str:
        """One-line summary without the private scores and bits."""
        known = f"{self.facts['records']} records, " if "records" in self.facts else ""
        hint = f" {self.roc.hint}" if self.roc.hint else ""
        return f"<{self.attack}: {known}{self.roc.summary}; {PRIVATE}{hint}>"

    def finding(self, claimed: AnyGuarantee, *, delta: float | None = None, confidence: float = 0.95) -> Finding:
        """Compare lower bounds on epsilon from the attack with a claimed guarantee.

        Parameters
        ----------
        claimed
            The claimed guarantee.
        delta
            The delta of the bounds; None uses the delta of the claim. Claims of GDP, zCDP and RDP require a value.
        confidence
            Simultaneous confidence level of all bounds.

        Returns
        -------
        Finding
            Lower bounds on epsilon and the verdict.

        Raises
        ------
        AssumptionError
            If the trials depend on each other in an unknown way.
        AdjacencyError
            If the claim has a different adjacency from the attack.
        """
        require_same_adjacency(self.adjacency, checked_claim(claimed))
        roc = self.roc if self.one_run is None else self.one_run
        return membership_finding(
            roc, claimed, delta=delta, confidence=confidence, subject=f"membership, {self.attack}"
        )

    def ceilings(self, claimed: AnyGuarantee) -> dict[str, float]:
        """Return the largest area under the ROC curve (AUC) and the largest true-positive rates allowed by the claim.

        A guarantee limits the attack on each single record. The same limits hold for rates averaged over all records,
        because the mean of points under a concave curve lies under the curve.

        Parameters
        ----------
        claimed
            The claimed guarantee.

        Returns
        -------
        dict
            Limits under names such as "AUC" and "TPR at FPR 1 %".
        """
        require_same_adjacency(self.adjacency, checked_claim(claimed))
        return self.roc.ceilings(claimed)

    def as_dict(self, claimed: AnyGuarantee | None = None, *, confidence: float = 0.95) -> dict[str, object]:
        """Return JSON-serialisable data for privacy statements, with the limits allowed by ``claimed`` if given.

        Parameters
        ----------
        claimed
            The claimed guarantee, or None.
        confidence
            Confidence level of the intervals.

        Returns
        -------
        dict
            Name of the attack, facts, rates with intervals, and limits if ``claimed`` is given.
        """
        found: dict[str, object] = {"attack": self.attack, "label": str(NOT_COVERED), **self.facts}
        if self.adjacency is not None:
            found["adjacency"] = self.adjacency.value
        found["roc"] = self.roc.as_dict(confidence)
        if self.baseline is not None:
            found["one threshold for all"] = {"AUC": self.baseline.auc, **_rates(self.baseline)}
        if claimed is not None:
            found["claimed"] = guarantee_as_dict(claimed)
            found["ceilings"] = self.ceilings(claimed)
        return found


def _rates(roc: Roc) -> dict[str, float]:
    return {rate_name(rate): roc.tpr_at(rate) for rate in RATES}
