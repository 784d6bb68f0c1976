# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a membership attack has found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from dperm.audit.finding import Finding
from dperm.audit.membership.roc import PRIVATE, RATES, Roc, named
from dperm.audit.membership.trials import claim, comparable
from dperm.audit.membership.verdict import finding_of
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.guarantee import AnyGuarantee, guarantee_as_dict

NOT_COVERED = "not covered by the guarantee: computed from the private records"


@dataclass(frozen=True, repr=False)
class MembershipResult:
    """ROC curves of an attack; **not covered by any guarantee**, since they are computed from the private records.

    Attributes
    ----------
    attack
        Its name.
    roc
        All trials: of one model, or of each model in turn.
    one_run
        Of one model, with independent coins: what a verdict on a guarantee may rest on (A6). None if there is none.
    baseline
        The same models attacked by one threshold for all records, for comparison.
    adjacency
        How "in" and "out" differ; None where nobody knows (a model and records that were given).
    facts
        Numbers of the attack: models, records, ....
    """

    attack: str
    roc: Roc
    one_run: Roc | None = None
    baseline: Roc | None = None
    adjacency: Adjacency | None = None
    facts: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def __repr__(self) -> str:
        """One line, without scores and bits: those are private."""
        known = f"{self.facts['records']} records, " if "records" in self.facts else ""
        hint = f" {self.roc.hint}" if self.roc.hint else ""
        return f"<{self.attack}: {known}{self.roc.summary}; {PRIVATE}{hint}>"

    def finding(self, claimed: AnyGuarantee, *, delta: float | None = None, confidence: float = 0.95) -> Finding:
        """Whether the attack contradicts a claim, at a stated confidence; see `dperm.audit.membership.verdict`."""
        comparable(self.adjacency, claim(claimed))
        roc = self.roc if self.one_run is None else self.one_run
        return finding_of(roc, claimed, delta=delta, confidence=confidence, subject=f"membership, {self.attack}")

    def ceilings(self, claimed: AnyGuarantee) -> dict[str, float]:
        """The largest area and true-positive rates that the claim allows.

        For the rates of all records together, too: if each point (FPR_i, TPR_i) lies under a concave curve, so does
        their mean.
        """
        comparable(self.adjacency, claim(claimed))
        return self.roc.ceilings(claimed)

    def as_dict(self, claimed: AnyGuarantee | None = None, *, confidence: float = 0.95) -> dict[str, object]:
        """Plain data for statements and JSON, with the ceilings of ``claimed`` beside what was measured."""
        found: dict[str, object] = {"attack": self.attack, "label": NOT_COVERED, **self.facts}
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
    return {named(rate): roc.tpr_at(rate) for rate in RATES}
