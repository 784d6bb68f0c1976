# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Demonstration of differencing (A11): reconstruct genotypes from regression coefficients, with and without noise."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dperm.audit.demo.result import Cell, DemoAttack, ResultTable
from dperm.audit.differencing import Reconstruction, logistic_record, ridge_record
from dperm.data.bounded import BoundedData, enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval, Target
from dperm.erm.losses import Logistic
from dperm.erm.minimize import minimize
from dperm.erm.residual_losses import Squared
from dperm.erm.spec import ProblemSpec
from dperm.methods import ObjectivePerturbation, OutputPerturbation
from dperm.methods.plan import Plan
from dperm.noise.arrays import Floats
from dperm.noise.simulation import generator
from dperm.presentation.facts import Fact
from dperm.privacy import PureDP
from dperm.privacy.guarantee import AnyGuarantee

PATIENTS, VARIANTS, VICTIMS = 400, 20, 50
GENOTYPES = (0.0, 1.0, 2.0)
REGULARIZATION = 20.0
"""Lambda for the sum of losses; objective perturbation at epsilon 1 needs 12.6 for rows of this norm (T43a)."""
TOLERANCE = 1e-7
CLOSE = 0.01
"""Largest error of a recovered target."""
Learn = Callable[[BoundedData], Floats]
_COLUMNS = ("model", "recovered", "without DP", "with DP", "by guessing", "patients")


@dataclass(frozen=True)
class RecoveryCounts:
    """Number of attacked patients, of completely correct genotypes, and of correct targets."""

    genotypes: int
    targets: int
    victims: int


@dataclass(frozen=True)
class GuessingBaseline:
    """Expected numbers of correct genotypes and targets without a release.

    The guess for each patient is the record of another patient, drawn at random.
    """

    genotypes: float
    targets: float


@dataclass(frozen=True)
class Study:
    """Patients with genotypes 0, 1, 2 of several variants, and a risk in [-1, 1] or a disease label, -1 or +1."""

    x: Floats
    y: Floats
    target: Target

    @property
    def space(self) -> FeatureSpace:
        """Public range of the genotypes: no row is longer than 2 sqrt(d), so no row is shortened."""
        return FeatureSpace(VARIANTS, norm=2 * VARIANTS**0.5)

    @cached_property
    def spec(self) -> ProblemSpec:
        """Ridge or logistic regression; the clipping norm is above all gradients and has no effect."""
        number = isinstance(self.target, Interval)
        loss, clip = (Squared(), 4 * self.space.radius) if number else (Logistic(), None)
        return ProblemSpec(
            loss, self.space.radius, dim=self.space.size, n=len(self.y), regularization=REGULARIZATION, clip=clip
        )

    @property
    def rows(self) -> Floats:
        """Rows including the constant, as used by the methods."""
        return np.column_stack([self.x, np.full(len(self.x), self.space.constant)])

    def data(self, without: int | None = None) -> BoundedData:
        """Return the data of all patients, or of all except one."""
        kept = np.arange(len(self.y)) != (-1 if without is None else without)
        return enforce(self.x[kept], self.y[kept], self.space, self.target)


def risk_study(seed: int | None = None) -> Study:
    """Return a study with a numeric risk: a linear function of the genotypes plus noise."""
    x, score = _patients(seed)
    return Study(x, np.clip(score / 3, -1, 1), Interval(-1.0, 1.0))


def disease_study(seed: int | None = None) -> Study:
    """Return a study with a disease label: +1 for a risk above the middle."""
    x, score = _patients(seed)
    return Study(x, np.where(score > 0, 1.0, -1.0), Classes((-1.0, 1.0)))


def exact_fit(study: Study) -> Learn:
    """Return a function that fits the regression without noise."""
    return lambda data: minimize(data, study.spec, TOLERANCE)


def private_fit(study: Study, goal: AnyGuarantee) -> Learn:
    """Return a function that fits the regression with fresh noise at each call.

    Ridge regression uses output perturbation, logistic regression objective perturbation. Neighbours differ in one
    added or removed record, as in the attack.
    """
    number = isinstance(study.target, Interval)
    plan: Plan = (
        OutputPerturbation().plan(study.spec, goal) if number else ObjectivePerturbation().plan(study.spec, goal)
    )
    return lambda data: plan.run(lambda: data).value


def attack_ridge(study: Study, learn: Learn, victims: int = VICTIMS) -> RecoveryCounts:
    """Attack each patient with the coefficients without and with the patient, and the others' second moments."""
    rows, after = study.rows, learn(study.data())
    moments = rows.T @ rows + REGULARIZATION * np.eye(rows.shape[1])

    def record(victim: int) -> Reconstruction:
        others = moments - np.outer(rows[victim], rows[victim])
        return ridge_record(learn(study.data(victim)), after, others, constant=study.space.constant)

    return _recovered(study, record, victims)


def attack_logistic(study: Study, learn: Learn, victims: int = VICTIMS) -> RecoveryCounts:
    """Attack each patient with one set of coefficients and the records of all others."""
    rows, released, everyone = study.rows, learn(study.data()), np.arange(len(study.y))

    def record(victim: int) -> Reconstruction:
        others = everyone != victim
        known = rows[others], study.y[others]
        return logistic_record(released, *known, regularization=REGULARIZATION, constant=study.space.constant)

    return _recovered(study, record, victims)


def guessing_baseline(study: Study, victims: int = VICTIMS) -> GuessingBaseline:
    """Return the baseline of the attacks for the same patients and the same rules."""
    others = len(study.y) - 1
    rows = [np.all(study.x == study.x[victim], axis=1).sum() - 1 for victim in range(victims)]
    close = [(np.abs(study.y - study.y[victim]) <= CLOSE).sum() - 1 for victim in range(victims)]
    return GuessingBaseline(float(sum(rows)) / others, float(sum(close)) / others)


def _recovered(study: Study, record: Callable[[int], Reconstruction], victims: int) -> RecoveryCounts:
    found = [record(victim) for victim in range(victims)]
    genotypes = [np.array_equal(one.nearest(GENOTYPES), study.x[place]) for place, one in enumerate(found)]
    targets = [bool(abs(one.target - study.y[place]) <= CLOSE) for place, one in enumerate(found)]
    return RecoveryCounts(sum(genotypes), sum(targets), victims)


def _patients(seed: int | None) -> tuple[Floats, Floats]:
    """Return genotypes, with frequencies between 0.2 and 0.8, and a centred score of unit variance."""
    coins = generator(seed, "patients of the demo")
    frequencies, effects = coins.uniform(0.2, 0.8, VARIANTS), coins.normal(size=VARIANTS)
    x = coins.binomial(2, frequencies, (PATIENTS, VARIANTS)).astype(np.float64)
    score = (x - 2 * frequencies) @ effects + coins.normal(size=PATIENTS)
    return x, score / np.sqrt(2 * (frequencies * (1 - frequencies)) @ effects**2 + 1)


def differencing(goal: PureDP, seed: int | None = None) -> DemoAttack:
    """Attack ridge and logistic regression, each fitted exactly and with noise."""
    risk, disease = risk_study(seed), disease_study(seed)
    found = {
        "ridge, two releases": (
            attack_ridge(risk, exact_fit(risk)),
            attack_ridge(risk, private_fit(risk, goal)),
            guessing_baseline(risk),
        ),
        "logistic, others known": (
            attack_logistic(disease, exact_fit(disease)),
            attack_logistic(disease, private_fit(disease, goal)),
            guessing_baseline(disease),
        ),
    }
    without = min(exact.genotypes for exact, _, _ in found.values())
    with_noise = max(private.genotypes for _, private, _ in found.values())
    conclusion = Fact(
        "demo.differencing",
        "Differencing reconstructs all genotypes of {without} of {victims} patients from exact coefficients, and of "
        "{with_noise} of {victims} with epsilon = {epsilon:g}. The column 'by guessing' is the baseline: the expected "
        "number of correct guesses if the guess for each patient is another patient, drawn at random. With DP a number "
        "can exceed it: epsilon = {epsilon:g} permits some success, and the noise differs from run to run.",
        {"without": without, "with_noise": with_noise, "victims": VICTIMS, "epsilon": goal.epsilon},
    )
    return DemoAttack(
        "Reconstruction by differencing",
        conclusion,
        ResultTable(_COLUMNS, tuple(row for item in found.items() for row in _rows(*item))),
    )


def _rows(name: str, found: tuple[RecoveryCounts, RecoveryCounts, GuessingBaseline]) -> tuple[tuple[Cell, ...], ...]:
    without, private, chance = found
    return (
        (name, "all genotypes", without.genotypes, private.genotypes, chance.genotypes, without.victims),
        (name, "target", without.targets, private.targets, chance.targets, without.victims),
    )
