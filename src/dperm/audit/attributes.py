# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Attribute inference: one attribute of a record, from a linear model, the rest of the record and its target.

Fredrikson et al. 2014 infer a genotype from a dosing model: of the values that the attribute can have, the one that is
most probable given the marginals and how well the model then explains the known target (maximum a posteriori).

A model that is right about the population tells something about everybody, also about people it never saw, and no
guarantee hides that. What differential privacy limits is what it tells *more* about those it learned from: attack
records of the training data and others like them, and compare (`AttributeInference.beyond`).
"""

from dataclasses import asdict, dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_expit

from dperm import checks
from dperm.audit.arrays import numbers
from dperm.audit.intervals import clopper_pearson_lower, clopper_pearson_upper
from dperm.data.arrays import Floats, Mask
from dperm.errors import ParameterError

ONE = 1e-9
"""How far marginals may be from adding up to 1."""


class TargetLaw(Protocol):
    """How probable targets are, given scores."""

    def log_likelihoods(self, scores: Floats, targets: Floats) -> Floats:
        """Of each target given its score, up to a constant."""


@dataclass(frozen=True)
class GaussianTarget:
    """Numbers, normal around the score with this deviation: the size of the model's residuals."""

    deviation: float

    def __post_init__(self) -> None:
        """Check it."""
        checks.positive("deviation", self.deviation)

    def log_likelihoods(self, scores: Floats, targets: Floats) -> Floats:
        """-(y - score)^2 / 2 s^2."""
        return np.asarray(-(((targets - scores) / self.deviation) ** 2) / 2)


@dataclass(frozen=True)
class LogisticTarget:
    """Classes -1 and +1, and no others, with the log odds of the score."""

    def log_likelihoods(self, scores: Floats, targets: Floats) -> Floats:
        """-log(1 + e^-y score)."""
        if not (np.abs(targets) == 1).all():
            raise ParameterError("targets must be -1 or +1 for LogisticTarget. Of 0 and 1 give 2 * targets - 1.")
        return np.asarray(log_expit(targets * scores))


@dataclass(frozen=True)
class Attribute:
    """What the attacker is after: a column, the values that it can have, and how frequent each is."""

    column: int
    values: tuple[float, ...]
    marginals: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check values and marginals."""
        checks.count("column", self.column, least=0)
        values, shares = tuple(numbers("values", self.values).tolist()), numbers("marginals", self.marginals).tolist()
        shares = tuple(checks.rate("marginals", share) for share in shares)
        if len(shares) != len(values) or not 2 <= len(set(values)) == len(values) or abs(sum(shares) - 1) > ONE:
            raise ParameterError("values must be two or more different numbers, with marginals that add up to 1.")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "marginals", shares)


@dataclass(frozen=True)
class AttributeInference:
    """How often the attack was right, against guessing the most frequent value.

    Attributes
    ----------
    records
        How many were attacked.
    correct
        Of how many the attribute was found.
    baseline
        Of how many the most frequent value is the right one.
    gained, lost
        On how many the attack is right and the baseline is not, and the other way round.
    confidence
        That of the intervals.
    """

    records: int
    correct: int
    baseline: int
    gained: int
    lost: int
    confidence: float

    @property
    def advantage(self) -> float:
        """(correct - baseline)/records: what the model adds to the marginals."""
        return (self.gained - self.lost) / self.records

    @property
    def interval(self) -> tuple[float, float]:
        """Where the advantage lies, from intervals for the shares of records on which only one of the two is right.

        Each has two ends of Clopper and Pearson, and each end a quarter of 1 - confidence: the two shares come from
        the same records, and the union bound does not mind.
        """
        level = (1 - self.confidence) / 4
        gained, lost = (_ends(count, self.records, level) for count in (self.gained, self.lost))
        return gained[0] - lost[1], gained[1] - lost[0]

    def beyond(self, others: "AttributeInference") -> tuple[float, float]:
        """By how much the accuracy exceeds that on ``others``, independent records: an interval (Clopper-Pearson)."""
        level = (1 - min(self.confidence, others.confidence)) / 4
        here, there = (_ends(one.correct, one.records, level) for one in (self, others))
        return here[0] - there[1], here[1] - there[0]

    def as_dict(self) -> dict[str, object]:
        """Plain data, for JSON."""
        return {**asdict(self), "advantage": self.advantage, "interval": list(self.interval)}


def infer_attribute(
    coefficients: ArrayLike,
    rows: ArrayLike,
    targets: ArrayLike,
    *,
    attribute: Attribute,
    law: TargetLaw,
    intercept: float = 0.0,
) -> Floats:
    """For each record the value of the attribute of largest posterior probability; the column itself is not looked at.

    argmax over v of log P(v) + log P(y | x with v in the column).
    """
    w, x, y = _checked(coefficients, rows, targets, attribute)
    if not callable(getattr(law, "log_likelihoods", None)):
        raise ParameterError(f"law must be GaussianTarget, LogisticTarget or alike, got {checks.shown(law)}.")
    weight = w[attribute.column]
    known = x @ np.where(np.arange(len(w)) == attribute.column, 0.0, w) + checks.real("intercept", intercept)
    posteriors = [
        np.log(share) + law.log_likelihoods(known + weight * value, y)
        for value, share in zip(attribute.values, attribute.marginals, strict=True)
    ]
    return np.asarray(np.array(attribute.values, dtype=np.float64)[np.argmax(posteriors, axis=0)])


def attribute_inference(
    coefficients: ArrayLike,
    rows: ArrayLike,
    targets: ArrayLike,
    *,
    attribute: Attribute,
    law: TargetLaw,
    intercept: float = 0.0,
    confidence: float = 0.95,
) -> AttributeInference:
    """Attack records whose attribute is known to the auditor, and count."""
    confidence = checks.positive_delta("confidence", confidence)
    found = infer_attribute(coefficients, rows, targets, attribute=attribute, law=law, intercept=intercept)
    truth = numbers("rows", rows, dims=2)[:, attribute.column]
    if not np.isin(truth, attribute.values).all():
        raise ParameterError(
            f"rows must have one of attribute.values in column {attribute.column}, got others, which would count as "
            f"wrong guesses. Name all values, or code the column as they are."
        )
    usual = attribute.values[int(np.argmax(attribute.marginals))]
    return _counted(found == truth, truth == usual, confidence)


def _counted(right: Mask, usual: Mask, confidence: float) -> AttributeInference:
    parts = (right, usual, right & ~usual, usual & ~right)
    correct, baseline, gained, lost = (int(np.count_nonzero(each)) for each in parts)
    return AttributeInference(len(right), correct, baseline, gained, lost, confidence)


def _checked(
    coefficients: ArrayLike, rows: ArrayLike, targets: ArrayLike, attribute: Attribute
) -> tuple[Floats, Floats, Floats]:
    if not isinstance(attribute, Attribute):
        raise ParameterError(f"attribute must be an Attribute, got {checks.shown(attribute)}.")
    w, x, y = numbers("coefficients", coefficients), numbers("rows", rows, dims=2), numbers("targets", targets)
    if x.shape != (len(y), len(w)) or not len(y):
        raise ParameterError("rows must have a column for each coefficient, and a target for each row.")
    if attribute.column >= len(w):
        raise ParameterError(f"attribute.column must be one of the {len(w)} columns, got {attribute.column}.")
    return w, x, y


def _ends(count: int, total: int, level: float) -> tuple[float, float]:
    """Clopper and Pearson's, each wrong with probability ``level`` at most."""
    return float(clopper_pearson_lower(count, total, level)), float(clopper_pearson_upper(count, total, level))
