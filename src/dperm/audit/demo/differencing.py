# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""First part: genotypes read off coefficients (A11)."""

from dperm.audit.demo.genotypes import (
    VICTIMS,
    Guessed,
    Recovered,
    attack_logistic,
    attack_ridge,
    disease_study,
    exactly,
    guessed,
    privately,
    risk_study,
)
from dperm.audit.demo.result import Cell, Part, Table
from dperm.privacy import PureDP


def differencing(goal: PureDP, seed: int | None = None) -> Part:
    """Two regressions, each fitted exactly and with noise."""
    risk, disease = risk_study(seed), disease_study(seed)
    found = {
        "ridge, two releases": (
            attack_ridge(risk, exactly(risk)),
            attack_ridge(risk, privately(risk, goal)),
            guessed(risk),
        ),
        "logistic, others known": (
            attack_logistic(disease, exactly(disease)),
            attack_logistic(disease, privately(disease, goal)),
            guessed(disease),
        ),
    }
    without = min(exact.genotypes for exact, _, _ in found.values())
    with_noise = max(private.genotypes for _, private, _ in found.values())
    sentence = (
        f"Differencing reads all genotypes of {without} of {VICTIMS} patients off exact coefficients, and of "
        f"{with_noise} of {VICTIMS} with epsilon = {goal.epsilon:g}. The column 'by guessing' is the baseline: the "
        f"expected number right if each patient is guessed to be another one, drawn at random. With DP a number can "
        f"exceed it: epsilon = {goal.epsilon:g} permits some success, and the noise differs from run to run."
    )
    return Part(
        "Reconstruction by differencing",
        sentence,
        Table(_COLUMNS, tuple(row for item in found.items() for row in _rows(*item))),
    )


_COLUMNS = ("model", "recovered", "without DP", "with DP", "by guessing", "patients")


def _rows(name: str, found: tuple[Recovered, Recovered, Guessed]) -> tuple[tuple[Cell, ...], ...]:
    without, private, chance = found
    return (
        (name, "all genotypes", without.genotypes, private.genotypes, chance.genotypes, without.victims),
        (name, "target", without.targets, private.targets, chance.targets, without.victims),
    )
