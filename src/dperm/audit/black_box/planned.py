# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Common properties of subjects running a plan on neighbours along a line."""

from collections.abc import Mapping
from typing import Protocol

from dperm.audit.black_box.neighbours import Neighbours
from dperm.methods.plan import Plan
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.profile import PrivacyProfile


class OnALine(Protocol):
    """Plan with its neighbours; claim and profile are the plan's."""

    plan: Plan
    pair: Neighbours

    @property
    def claimed(self) -> AnyGuarantee:
        """Claimed guarantee: the plan's goal."""
        return self.plan.goal

    @property
    def profile(self) -> PrivacyProfile:
        """Privacy profile of the plan."""
        return self.plan.facts.profile

    @property
    def facts(self) -> Mapping[str, object]:
        """Neighbours and dimension, for the report."""
        return {"neighbours": self.pair.words, "dim": self.plan.spec.dim}
