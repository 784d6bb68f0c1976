# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What every subject says that runs a plan on neighbours along a line."""

from collections.abc import Mapping
from typing import Protocol

from dperm.audit.black_box.neighbours import Neighbours
from dperm.methods.plan import Plan
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.profile import PrivacyProfile


class OnALine(Protocol):
    """A plan and neighbours for it: the claim is the plan's, and so is its curve."""

    plan: Plan
    pair: Neighbours

    @property
    def claimed(self) -> AnyGuarantee:
        """The plan's goal."""
        return self.plan.goal

    @property
    def profile(self) -> PrivacyProfile:
        """The plan's whole curve."""
        return self.plan.facts.profile

    @property
    def facts(self) -> Mapping[str, object]:
        """The neighbours."""
        return {"neighbours": self.pair.words, "dim": self.plan.spec.dim}
