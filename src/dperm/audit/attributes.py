# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Attribute inference: infer one attribute of a record from a linear model, the other features and the target.

Fredrikson et al. 2014 infer a genotype from a dosing model. Their attack is a maximum a posteriori estimate: it picks
the attribute value with the largest posterior probability. This probability follows from the marginal probabilities of
the values and from the likelihood of the known target under the model.

An accurate model reveals population-level facts about everybody, including people outside the training data. No privacy
guarantee prevents this. Differential privacy limits the *additional* information about training records. To estimate
it, attack training records and comparable records outside the training data, and compare the two accuracies with
`AttributeInference.beyond`.
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
"""Tolerance for the sum of the marginals, which must be 1."""


class TargetLaw(Protocol):
    """Protocol for the conditional distribution of a target given its score, the output of the linear model."""

    def log_likelihoods(self, scores: Floats, targets: Floats) -> Floats:
        """Return the log-likelihood of each target given its score, up to an additive constant."""


@dataclass(frozen=True)
class GaussianTarget:
    """Normal distribution of a numeric target around its score, the output of the linear model.

    Attributes
    ----------
    deviation
        Standard deviation of the target given the score, close to the standard deviation of the model's residuals.
    """

    deviation: float

    def __post_init__(self) -> None:
        """Check that ``deviation`` is positive."""
        checks.positive("deviation", self.deviation)

    def log_likelihoods(self, scores: Floats, targets: Floats) -> Floats:
        """Return the log-likelihood -(y - score)^2 / (2 deviation^2) of each target y, up to an additive constant.

        Parameters
        ----------
        scores
            Score of each record.
        targets
            Target of each record.

        Returns
        -------
        ndarray
            One log-likelihood per record.
        """
        return np.asarray(-(((targets - scores) / self.deviation) ** 2) / 2)


@dataclass(frozen=True)
class LogisticTarget:
    """Logistic model for labels -1 and +1; the score of the linear model is the log-odds of the label +1."""

    def log_likelihoods(self, scores: Floats, targets: Floats) -> Floats:
        """Return the log-likelihood -log(1 + e^(-y score)) of each label y.

        Parameters
        ----------
        scores
            Score of each record.
        targets
            Label -1 or +1 of each record.

        Returns
        -------
        ndarray
            One log-likelihood per record.

        Raises
        ------
        ParameterError
            If a label is neither -1 nor +1.
        """
        if not (np.abs(targets) == 1).all():
            raise ParameterError(
                argument="targets",
                rule="must be -1 or +1 for LogisticTarget",
                remedy="For 0/1 labels, pass 2 * targets - 1.",
            )
        return np.asarray(log_expit(targets * scores))


@dataclass(frozen=True)
class Attribute:
    """Attribute to be inferred: a column of the features, its possible values and their probabilities.

    Attributes
    ----------
    column
        Index of the attacked column; the first column has index 0.
    values
        Possible values of the attribute: two or more distinct numbers.
    marginals
        Marginal probability of each value, in (0, 1], in the order of ``values``; they add up to 1.
    """

    column: int
    values: tuple[float, ...]
    marginals: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the column, the values and the marginals, and store both sequences as tuples of floats."""
        checks.count("column", self.column, least=0)
        values, shares = tuple(numbers("values", self.values).tolist()), numbers("marginals", self.marginals).tolist()
        shares = tuple(checks.rate("marginals", share) for share in shares)
        if len(shares) != len(values) or not 2 <= len(set(values)) == len(values) or abs(sum(shares) - 1) > ONE:
            raise ParameterError(
                argument="values", rule="must be two or more different numbers, with marginals that add up to 1"
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "marginals", shares)


@dataclass(frozen=True)
class AttributeInference:
    """Accuracy of an attribute inference attack, compared with a baseline that ignores the model.

    For every record, the baseline guesses the value with the largest marginal probability.

    Attributes
    ----------
    records
        Number of attacked records.
    correct
        Number of records for which the attack infers the attribute correctly.
    baseline
        Number of records for which the guess of the baseline is correct.
    gained
        Number of records for which the attack is correct and the baseline is wrong.
    lost
        Number of records for which the baseline is correct and the attack is wrong.
    confidence
        Confidence level of the intervals.
    """

    records: int
    correct: int
    baseline: int
    gained: int
    lost: int
    confidence: float

    @property
    def advantage(self) -> float:
        """Accuracy of the attack minus the accuracy of the baseline, (correct - baseline)/records."""
        return (self.gained - self.lost) / self.records

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence interval for the advantage.

        The advantage is the difference of two fractions: the fraction of records for which only the attack is correct,
        minus the fraction for which only the baseline is correct. Each fraction has a two-sided Clopper-Pearson
        interval, and each end of these intervals has error probability (1 - confidence)/4. The union bound combines the
        intervals, so the fractions may be dependent.
        """
        level = (1 - self.confidence) / 4
        gained, lost = (_ends(count, self.records, level) for count in (self.gained, self.lost))
        return gained[0] - lost[1], gained[1] - lost[0]

    def beyond(self, others: "AttributeInference") -> tuple[float, float]:
        """Return a confidence interval for the accuracy on these records minus the accuracy on other records.

        The union bound combines one Clopper-Pearson interval for each accuracy. The confidence level is the smaller of
        the levels of the two results.

        Parameters
        ----------
        others
            Result of the same attack on independent records, such as records outside the training data.

        Returns
        -------
        tuple[float, float]
            Lower and upper end of the interval.
        """
        level = (1 - min(self.confidence, others.confidence)) / 4
        here, there = (_ends(one.correct, one.records, level) for one in (self, others))
        return here[0] - there[1], here[1] - there[0]

    def as_dict(self) -> dict[str, object]:
        """Return the counts, the advantage and its interval as JSON-serialisable data."""
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
    """Return the attribute value with the largest posterior probability for each record.

    For a record with features x and target y, the inferred value v maximizes log P(v) + log P(y | x_v). Here x_v is x
    with the entry in the attacked column replaced by v.

    Parameters
    ----------
    coefficients
        Coefficients of the linear model, one per column.
    rows
        Features of the attacked records; the entries in the attacked column are ignored.
    targets
        Known target of each record.
    attribute
        Attacked column, its possible values and their marginal probabilities.
    law
        Conditional distribution of the target given the score of the linear model: `GaussianTarget`, `LogisticTarget`,
        or another object with a method ``log_likelihoods``.
    intercept
        Intercept of the model.

    Returns
    -------
    ndarray
        One of ``attribute.values`` for each record.

    Raises
    ------
    ParameterError
        If an argument has the wrong type, if the shapes do not match, or if ``rows`` has no column
        ``attribute.column``.
    """
    w, x, y = _checked(coefficients, rows, targets, attribute)
    if not callable(getattr(law, "log_likelihoods", None)):
        raise ParameterError(
            argument="law",
            rule="must be GaussianTarget, LogisticTarget, or an object with their method log_likelihoods",
            got=checks.shown(law),
        )
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
    """Infer the attribute of records whose true values are known, and count the correct guesses.

    Parameters
    ----------
    coefficients, targets, attribute, law, intercept
        See `infer_attribute`.
    rows
        Features of the attacked records, with the true values in the attacked column.
    confidence
        Confidence level of the intervals of the result, in (0, 1).

    Returns
    -------
    AttributeInference
        Counts of correct guesses for the attack and for the baseline.

    Raises
    ------
    ParameterError
        If the attacked column contains a value that is not in ``attribute.values``, or another argument is invalid.
    """
    confidence = checks.positive_delta("confidence", confidence)
    found = infer_attribute(coefficients, rows, targets, attribute=attribute, law=law, intercept=intercept)
    truth = numbers("rows", rows, dims=2)[:, attribute.column]
    if not np.isin(truth, attribute.values).all():
        raise ParameterError(
            argument="rows",
            rule=f"must have one of attribute.values in column {attribute.column}",
            remedy="Other values would count as wrong guesses. List all values of the column in attribute.values.",
        )
    usual = attribute.values[int(np.argmax(attribute.marginals))]
    return _count_guesses(found == truth, truth == usual, confidence)


def _count_guesses(right: Mask, usual: Mask, confidence: float) -> AttributeInference:
    parts = (right, usual, right & ~usual, usual & ~right)
    correct, baseline, gained, lost = (int(np.count_nonzero(each)) for each in parts)
    return AttributeInference(len(right), correct, baseline=baseline, gained=gained, lost=lost, confidence=confidence)


def _checked(
    coefficients: ArrayLike, rows: ArrayLike, targets: ArrayLike, attribute: Attribute
) -> tuple[Floats, Floats, Floats]:
    if not isinstance(attribute, Attribute):
        raise ParameterError(argument="attribute", rule="must be an Attribute", got=checks.shown(attribute))
    w, x, y = numbers("coefficients", coefficients), numbers("rows", rows, dims=2), numbers("targets", targets)
    if x.shape != (len(y), len(w)) or not len(y):
        raise ParameterError(argument="rows", rule="must have a column for each coefficient, and a target for each row")
    if attribute.column >= len(w):
        raise ParameterError(
            argument="attribute.column", rule=f"must be one of the {len(w)} columns", got=str(attribute.column)
        )
    return w, x, y


def _ends(count: int, total: int, level: float) -> tuple[float, float]:
    """Return both Clopper-Pearson bounds, each with error probability at most ``level``."""
    return float(clopper_pearson_lower(count, total, level)), float(clopper_pearson_upper(count, total, level))
