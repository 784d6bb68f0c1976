# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The mathematics of a statement, for its end: definitions, event, theorems."""

import json
from collections.abc import Iterator, Mapping

from dperm.report import fields as words
from dperm.report.unit import neighbouring_sets

DEFINITIONS = {
    "PureDP": "P(M(D) ∈ S) ≤ e^ε P(M(D') ∈ S)  for all neighbours D, D' and all events S.",
    "ApproxDP": "P(M(D) ∈ S) ≤ e^ε P(M(D') ∈ S) + δ  for all neighbours D, D' and all events S.",
    "ZCDP": "D_α(M(D) ‖ M(D')) ≤ ρ α  for all neighbours D, D' and all orders α > 1 (Rényi divergence).",
    "GDP": "Telling M(D) from M(D') is at least as hard as telling N(0, 1) from N(μ, 1), for all neighbours D, D'.",
    "RDP": "D_α(M(D) ‖ M(D')) ≤ τ(α)  for all neighbours D, D', at the orders α of the curve (Rényi divergence).",
}
CURVE = "δ(ε) = sup over neighbours of sup over S of P(M(D) ∈ S) − e^ε P(M(D') ∈ S)"
ATTACK = "true alarms ≤ 1 − sup over ε of max(0, 1 − δ(ε) − e^ε x, e^−ε (1 − δ(ε) − x))  at false alarms x"


def mathematics(fields: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Definition, curve, event and theorems, as pairs (kind, text) with the kinds "text", "formula" and "code".

    Of a run that is not private there is the event alone.
    """
    yield from _definition(fields)
    mechanism, accountant = fields["mechanism"], fields["accountant"]
    event = mechanism.get("event") if isinstance(mechanism, Mapping) else None
    tags = accountant.get("theorems") if isinstance(accountant, Mapping) else None
    if event:
        yield from (("text", "The event that was accounted for:"), ("code", json.dumps(event, indent=1)))
    if tags:
        yield "text", f"Theorems, by their tags in the documentation of dperm: {', '.join(map(str, tags))}."


def _definition(fields: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    goal = fields["goal"]
    if fields["status"] not in words.PROMISING or not isinstance(goal, Mapping):
        yield "text", "Nothing is promised, so there is nothing to define."
        return
    yield "text", f"Neighbours. {neighbouring_sets(fields)}"
    yield from (("text", "The promise, of the mechanism M:"), ("formula", DEFINITIONS[str(goal["kind"])]))
    yield from (("text", "Its privacy profile:"), ("formula", CURVE))
    yield from (("text", "The attacker:"), ("formula", ATTACK))
