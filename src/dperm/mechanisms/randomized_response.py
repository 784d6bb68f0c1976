# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Randomized response: each record reports its own category, or another category at random (T9)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dperm import checks
from dperm.accounting.budget import Budget
from dperm.accounting.events import RandomizedResponse
from dperm.errors import DataError, ParameterError
from dperm.mechanisms.goal import local_epsilon
from dperm.mechanisms.mechanism import Law, Mechanism
from dperm.mechanisms.values import items, real_array
from dperm.noise.arrays import Floats, Integers
from dperm.noise.bernoulli import keep_coins
from dperm.noise.bits import Bits, Stream
from dperm.noise.choice import uniform_below
from dperm.privacy import Release
from dperm.privacy.guarantee import AnyGuarantee

CATEGORIES = "Give their number (values are 0, 1, ...), or at least two different strings, integers or booleans."
MOST_CATEGORIES = 2**31
Labels = tuple[str, ...] | tuple[int, ...]
Answers = NDArray[Any]


@dataclass(frozen=True)
class RandomizedResponseMechanism(Mechanism[Integers, Answers]):
    """Randomized response: each value is kept with probability p = e^eps/(e^eps + k - 1), and replaced otherwise (T9).

    Here eps is the epsilon of the goal, and k the number of categories. A replaced value becomes one of the other
    categories, chosen uniformly at random. The mechanism is local: ``release`` runs it independently for each of n
    values. Replacing a record changes only the distribution of the answer of this record, so all n answers together
    satisfy epsilon-DP with the same epsilon. The number n is public. Since there is no sensitivity, ``calibrate`` takes
    only the goal and the categories.

    Parameters
    ----------
    goal
        PureDP or ApproxDP, under replace_one; the delta of an ApproxDP goal is not used. Goals under add_remove are
        refused, since the number of answers reveals whether a record is present.
    categories
        Number k >= 2 of public categories 0, ..., k - 1, or the list of categories: all strings, all integers or all
        booleans.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.mechanisms.randomized_response import RandomizedResponseMechanism
    >>> mechanism = RandomizedResponseMechanism.calibrate(PureDP(1.0, "replace_one"), categories=["no", "yes"])
    >>> round(mechanism.keep_probability, 4)
    0.7311
    >>> answers = mechanism.release(["no", "yes", "no", "no"]).value
    >>> answers.shape, mechanism.estimate(answers).shape
    ((4,), (2,))
    """

    goal: AnyGuarantee
    categories: int | Sequence[str] | Sequence[int]

    def _check_parameters(self) -> None:
        self._set(categories=_categories(self.categories))

    @classmethod
    def calibrate(
        cls, goal: AnyGuarantee, *, categories: int | Sequence[str] | Sequence[int]
    ) -> "RandomizedResponseMechanism":
        """Return the mechanism that satisfies ``goal`` with the largest probability of a true answer.

        Parameters
        ----------
        goal
            PureDP or ApproxDP, under replace_one.
        categories
            Number of public categories, or the categories themselves.

        Returns
        -------
        RandomizedResponseMechanism
            The calibrated mechanism.

        Raises
        ------
        ParameterError
            If an argument is out of range.
        AdjacencyError
            If the goal is under add_remove.
        ConversionError
            If ``goal`` is neither PureDP nor ApproxDP.
        """
        return cls(goal, categories)

    @property
    def size(self) -> int:
        """Number k of categories, at least 2."""
        return self.categories if isinstance(self.categories, int) else len(self.categories)

    @cached_property
    def event(self) -> RandomizedResponse:
        """Accounting event of one release, which is the same for any number of answers."""
        return RandomizedResponse(local_epsilon(self.goal, type(self).__name__), self.size)

    @property
    def keep_probability(self) -> float:
        """Probability p = 1 / (1 + (k - 1) e^-eps) of a true answer, as a double.

        The draws use the exact probability.
        """
        return 1 / (1 + (self.size - 1) * math.exp(-self.event.epsilon))

    @property
    def other_probability(self) -> float:
        """Probability q = p e^-eps of each other category, as a double."""
        return self.keep_probability * math.exp(-self.event.epsilon)

    @property
    def law(self) -> Law:
        """Description of the exact sampling, as stored in the record of a release."""
        return Law("randomized response, drawn exactly")

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags of randomized response (T9) and of exact sampling (T10)."""
        return ("T9", "T10")

    @property
    def public_constants(self) -> dict[str, object]:
        """Number of categories and probability of a true answer."""
        return {
            "mechanism": "randomized_response",
            "categories": self.size,
            "keep_probability": self.keep_probability,
        }

    def release(self, values: ArrayLike, budget: Budget | None = None, *, bits: Bits | None = None) -> Release[Answers]:
        """Release one answer per value, in the order of the values, as an array of categories.

        Parameters
        ----------
        values
            One category per record, for at least one record.
        budget
            Budget to charge; None charges nothing.
        bits
            Source of randomness; ``NotPrivateBits(seed)`` makes the release reproducible and NOT PRIVATE.

        Returns
        -------
        Release
            One answer per value, with guarantee, profile, event and record.

        Raises
        ------
        DataError
            If a value is not one of the categories. Nothing is charged, and the message contains no value.
        BudgetError
            If ``budget`` does not cover the event; nothing is charged.

        Notes
        -----
        **Guarantees.** All answers together are epsilon-DP under replace-one, with exact draws (T9, T10). For each
        record, the mechanism always draws both a coin flip and an alternative category, even if the value is kept.
        """
        return self._release(lambda: self._indices("values", values), budget, bits)

    def estimate(self, answers: ArrayLike) -> Floats:
        """Return unbiased estimates of the proportion of each category among the true values (T9).

        The estimate for a category is (share - q) / (p - q), where share is the proportion of the category among the
        answers, p is `keep_probability` and q is `other_probability`. The estimates sum to 1. An estimate may be below
        0 or above 1, but clipping would make it biased. Computing the estimates is post-processing of the answers and
        costs no privacy.

        Parameters
        ----------
        answers
            Released answers.

        Returns
        -------
        ndarray
            One estimate per category, in the order of the categories.
        """
        return (self._shares(answers) - self.other_probability) / self._contrast

    def standard_error(self, answers: ArrayLike) -> Floats:
        """Return estimated standard errors of the results of ``estimate``, treating the true values as fixed.

        Let pi be the true proportion of a category, and let share, p and q be as in `estimate`. For n answers,
        n Var(share) = pi p (1 - p) + (1 - pi) q (1 - q). The standard error uses an unbiased estimate of this quantity,
        share * (1 - p - q) + p q, which is never negative. It does not include the variance from sampling the values
        from a population.

        Parameters
        ----------
        answers
            Released answers.

        Returns
        -------
        ndarray
            One standard error per category, in the order of the categories.
        """
        p, q = self.keep_probability, self.other_probability
        share = self._shares(answers)
        variance = share * (1 - p) + q * (p - share)
        return np.sqrt(np.maximum(variance, 0.0) / np.asarray(answers).size) / self._contrast

    @property
    def _contrast(self) -> float:
        """Difference p - q = p (1 - e^-eps), without cancellation."""
        return -math.expm1(-self.event.epsilon) * self.keep_probability

    @cached_property
    def _labels(self) -> Answers:
        return np.array(self.categories)

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {label: place for place, label in enumerate(self._labels.tolist())}

    def _draw(self, indices: Integers, stream: Stream) -> Answers:
        """Return the answers; every record draws a coin flip and another category, whether needed or not."""
        kept = keep_coins(self.event.epsilon, self.size, len(indices), stream)
        shift = 1 + uniform_below(self.size - 1, len(indices), stream)
        shift[kept] = 0
        places = (indices + shift) % self.size
        return places if isinstance(self.categories, int) else np.asarray(self._labels[places])

    def _shares(self, answers: ArrayLike) -> Floats:
        indices = self._indices("answers", answers)
        return np.bincount(indices, minlength=self.size) / len(indices)

    def _indices(self, name: str, values: ArrayLike) -> Integers:
        """Return the positions of ``values`` among the categories."""
        if isinstance(self.categories, int):
            return self._numbers(name, real_array(name, values))
        places = self._found(items(name, values))
        if None in places:
            raise DataError(argument=name, rule="must be a non-empty one-dimensional list of the declared categories")
        return np.array(places, dtype=np.int64)

    def _found(self, found: list[Any]) -> list[int | None]:
        """Return the position of each item, None for others.

        Exceptions of items are suppressed, since they may quote values.
        """
        try:
            return [self._places.get(item) if isinstance(item, str | Integral | np.bool_) else None for item in found]
        except Exception:
            return [None]

    def _numbers(self, name: str, values: Floats) -> Integers:
        valid = (values >= 0) & (values < self.size) & (np.floor(values) == values)
        if values.ndim != 1 or not values.size or not valid.all():
            raise DataError(
                argument=name,
                rule=f"must be a non-empty one-dimensional list of whole numbers from 0 to {self.size - 1}",
            )
        return values.astype(np.int64)


def _categories(categories: object) -> int | Labels:
    """Return a number of categories, or a tuple of categories; sets are refused, since they have no order."""
    if isinstance(categories, str | bytes) or not isinstance(categories, Sequence | np.ndarray):
        return checks.count("categories", categories, CATEGORIES, least=2, most=MOST_CATEGORIES)
    labels = [_plain(label) for label in categories]
    if len(labels) < 2 or len({type(label) for label in labels}) != 1 or not _kept_apart(labels):
        raise ParameterError(
            argument="categories", rule="must be at least two different labels of one type", remedy=CATEGORIES
        )
    return tuple(labels)


def _plain(label: Any) -> Any:
    """Return a numpy scalar as a Python object."""
    return label.item() if isinstance(label, np.generic) else label


def _kept_apart(labels: list[Any]) -> bool:
    """Return whether the labels are different strings, integers or booleans preserved by numpy."""
    if not isinstance(labels[0], str | int) or len(set(labels)) < len(labels):
        return False
    array = np.array(labels)  # strips zeros from strings, and has no integers beyond 64 bits
    return array.dtype.kind in "Uib" and array.tolist() == labels
