# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""At which delta an exact audit looks at a claim: where the claim is finite."""

from dperm.privacy import ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee

DELTAS = (1e-2, 1e-3, 1e-5, 1e-7, 1e-9)
"""Of claims that are a curve, infinite at delta = 0: zCDP, GDP, RDP."""


def deltas_of(claimed: AnyGuarantee) -> tuple[float, ...]:
    """0 alone for a pure claim; its own delta and a larger one, where the claim may be a curve; or several."""
    match claimed:
        case PureDP() | ApproxDP(delta=0.0):
            return (0.0,)
        case ApproxDP():
            return claimed.delta, max(claimed.delta, min(0.1, 30 * claimed.delta))
    return DELTAS
