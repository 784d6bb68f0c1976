# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The mathematics of a statement, for the fold at its end: definitions, event, theorems."""

import json
from collections.abc import Mapping
from html import escape

from dperm.report import fields as words

NEIGHBOURS = {
    "replace_one": "D and D' have the same number of records and differ in one of them.",
    "add_remove": "D' is D with one record added or removed.",
}
DEFINITIONS = {
    "PureDP": "P(M(D) ∈ S) ≤ e^ε P(M(D') ∈ S)  for all neighbours D, D' and all events S.",
    "ApproxDP": "P(M(D) ∈ S) ≤ e^ε P(M(D') ∈ S) + δ  for all neighbours D, D' and all events S.",
    "ZCDP": "D_α(M(D) ‖ M(D')) ≤ ρ α  for all neighbours D, D' and all orders α > 1 (Rényi divergence).",
    "GDP": "Telling M(D) from M(D') is at least as hard as telling N(0, 1) from N(μ, 1), for all neighbours D, D'.",
    "RDP": "D_α(M(D) ‖ M(D')) ≤ τ(α)  for all neighbours D, D', at the orders α of the curve (Rényi divergence).",
}
CURVE = "δ(ε) = sup over neighbours of sup over S of P(M(D) ∈ S) − e^ε P(M(D') ∈ S)"
ATTACK = "true alarms ≤ 1 − sup over ε of max(0, 1 − δ(ε) − e^ε x, e^−ε (1 − δ(ε) − x))  at false alarms x"


def mathematics_html(fields: Mapping[str, object]) -> str:
    """Definition, curve, event and theorems; of a run that is not private, the event alone."""
    return "".join((*_definition(fields), *_event(fields)))


def _definition(fields: Mapping[str, object]) -> list[str]:
    goal = fields["goal"]
    if fields["status"] != words.PRIVATE or not isinstance(goal, Mapping):
        return ["<p>Nothing is promised, so there is nothing to define.</p>"]
    return [
        f"<p>Neighbours. {escape(NEIGHBOURS.get(str(fields['adjacency']), ''))}</p>",
        f'<p>The promise, of the mechanism M:</p><p class="formula">{escape(DEFINITIONS[str(goal["kind"])])}</p>',
        f'<p>Its privacy profile:</p><p class="formula">{escape(CURVE)}</p>',
        f'<p>The attacker:</p><p class="formula">{escape(ATTACK)}</p>',
    ]


def _event(fields: Mapping[str, object]) -> list[str]:
    mechanism, accountant = fields["mechanism"], fields["accountant"]
    event = mechanism.get("event") if isinstance(mechanism, Mapping) else None
    tags = accountant.get("theorems") if isinstance(accountant, Mapping) else None
    return [
        f"<p>The event that was accounted for:</p><pre>{escape(json.dumps(event, indent=1))}</pre>" if event else "",
        f"<p>Theorems, by their tags in the documentation of dperm: {escape(', '.join(tags))}.</p>" if tags else "",
    ]
