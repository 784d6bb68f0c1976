# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""First part: genotypes read off coefficients (A11)."""

from dperm.audit.demo.genotypes import (
    VICTIMS,
    Recovered,
    attack_logistic,
    attack_ridge,
    disease_study,
    exactly,
    privately,
    risk_study,
)
from dperm.audit.demo.result import Part, Table
from dperm.privacy import PureDP


def differencing(goal: PureDP, seed: int | None = None) -> Part:
    """Two regressions, each fitted exactly and with noise."""
    risk, disease = risk_study(seed), disease_study(seed)
    found = {
        "ridge, two releases": (attack_ridge(risk, exactly(risk)), attack_ridge(risk, privately(risk, goal))),
        "logistic, others known": (
            attack_logistic(disease, exactly(disease)),
            attack_logistic(disease, privately(disease, goal)),
        ),
    }
    without = min(exact.genotypes for exact, _ in found.values())
    with_noise = max(private.genotypes for _, private in found.values())
    sentence = (
        f"Differencing reads all genotypes of {without} of {VICTIMS} patients off exact coefficients, and of "
        f"{with_noise} of {VICTIMS} with epsilon = {goal.epsilon:g}."
    )
    return Part(
        "Reconstruction by differencing", sentence, Table(_COLUMNS, tuple(_row(*item) for item in found.items()))
    )


_COLUMNS = ("model", "genotypes without DP", "targets without DP", "genotypes with DP", "targets with DP", "patients")


def _row(name: str, pair: tuple[Recovered, Recovered]) -> tuple[str | int, ...]:
    without, private = pair
    return (name, without.genotypes, without.targets, private.genotypes, private.targets, without.victims)
