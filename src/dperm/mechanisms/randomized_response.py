# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Randomised response: every record answers for itself, sometimes with another category (T9)."""

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
from dperm.mechanisms.run import Facts, release
from dperm.mechanisms.values import items, real_array
from dperm.noise.arrays import Floats, Integers
from dperm.noise.bernoulli import keep_coins
from dperm.noise.bits import Bits, Stream
from dperm.noise.choice import uniform_below
from dperm.privacy import Release
from dperm.privacy.guarantee import AnyGuarantee

CATEGORIES = "Give their number (values are then 0, 1, ...), or at least two different strings, integers or booleans."
MOST_CATEGORIES = 2**31
Labels = tuple[str, ...] | tuple[int, ...]
Answers = NDArray[Any]


@dataclass(frozen=True)
class RandomizedResponseMechanism:
    """Answers instead of values: kept with probability p = e^eps/(e^eps + k - 1), else another category (T9).

    The mechanism is local: it is applied to each record once, by itself, and ``release`` with n values does that n
    times. Replacing a record changes the law of its own answer and of no other, so the n answers together cost one
    epsilon; that there are n of them is public. There is no sensitivity to calibrate to, hence ``calibrate(goal)``.

    Parameters
    ----------
    goal
        PureDP or ApproxDP, under replace_one: the presence of an answer is visible, so add_remove is refused.
    categories
        Public: their number k >= 2, and values are 0, ..., k - 1; or the categories, all strings, all integers or all
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

    def __post_init__(self) -> None:
        """Check everything, before any data is seen."""
        object.__setattr__(self, "categories", _categories(self.categories))
        self.facts  # noqa: B018  # calibrates

    @classmethod
    def calibrate(
        cls, goal: AnyGuarantee, *, categories: int | Sequence[str] | Sequence[int]
    ) -> "RandomizedResponseMechanism":
        """The mechanism that keeps the most answers and meets ``goal``; see the class for the parameters."""
        return cls(goal, categories)

    @property
    def size(self) -> int:
        """Number k of categories."""
        return self.categories if isinstance(self.categories, int) else len(self.categories)

    @cached_property
    def event(self) -> RandomizedResponse:
        """What one release of any number of answers spends."""
        return RandomizedResponse(local_epsilon(self.goal, type(self).__name__), self.size)

    @property
    def keep_probability(self) -> float:
        """The number p = 1 / (1 + (k - 1) e^-eps) as a double; answers are drawn with the exact one."""
        return 1 / (1 + (self.size - 1) * math.exp(-self.event.epsilon))

    @property
    def other_probability(self) -> float:
        """The number q = p e^-eps, for each of the other categories, as a double."""
        return self.keep_probability * math.exp(-self.event.epsilon)

    @cached_property
    def facts(self) -> Facts:
        """What is known of a release beforehand."""
        return Facts(
            goal=self.goal,
            event=self.event,
            noise="randomised response, drawn exactly",
            theorems=("T9", "T10"),
            public={
                "mechanism": "randomized_response",
                "categories": self.size,
                "keep_probability": self.keep_probability,
            },
        )

    def release(self, values: ArrayLike, budget: Budget | None = None, *, bits: Bits | None = None) -> Release[Answers]:
        """One answer for each value, in their order, as an array of categories.

        Parameters
        ----------
        values
            One category for each record, at least one.
        budget
            What the release is charged to.
        bits
            Where randomness comes from; ``NotPrivateBits(seed)`` makes the release reproducible and NOT PRIVATE.

        Raises
        ------
        DataError
            If a value is not one of the categories; before anything is charged, and without a word about it.
        BudgetError
            If ``budget`` does not cover the event; nothing is charged.
        """
        return release(self.facts, lambda: self._indices("values", values), self._answers, budget=budget, bits=bits)

    def estimate(self, answers: ArrayLike) -> Floats:
        """Unbiased estimates of the proportion of each category among the values, (share - q) / (p - q) (T9).

        They sum to 1, and one of them may lie below 0 or above 1: cutting it off would make it biased. This is
        post-processing of the answers and costs nothing.
        """
        return (self._shares(answers) - self.other_probability) / self._contrast

    def standard_error(self, answers: ArrayLike) -> Floats:
        """Estimated standard deviations of ``estimate`` over the mechanism's randomness, the values given.

        n Var(share) = pi p(1 - p) + (1 - pi) q(1 - q), which is share (1 - p - q) + p q in expectation: an unbiased
        estimate, never negative. That values were sampled from a population is not in it.
        """
        p, q = self.keep_probability, self.other_probability
        share = self._shares(answers)
        variance = share * (1 - p) + q * (p - share)
        return np.sqrt(np.maximum(variance, 0.0) / np.asarray(answers).size) / self._contrast

    @property
    def _contrast(self) -> float:
        """The difference p - q = p (1 - e^-eps), without cancellation."""
        return -math.expm1(-self.event.epsilon) * self.keep_probability

    @cached_property
    def _labels(self) -> Answers:
        return np.array(self.categories)

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {label: place for place, label in enumerate(self._labels.tolist())}

    def _answers(self, indices: Integers, stream: Stream) -> Answers:
        """Every record draws a coin and another category, whether it needs it or not."""
        kept = keep_coins(self.event.epsilon, self.size, len(indices), stream)
        shift = 1 + uniform_below(self.size - 1, len(indices), stream)
        shift[kept] = 0
        places = (indices + shift) % self.size
        return places if isinstance(self.categories, int) else np.asarray(self._labels[places])

    def _shares(self, answers: ArrayLike) -> Floats:
        indices = self._indices("answers", answers)
        return np.bincount(indices, minlength=self.size) / len(indices)

    def _indices(self, name: str, values: ArrayLike) -> Integers:
        """The places of ``values`` among the categories."""
        if isinstance(self.categories, int):
            return self._numbers(name, real_array(name, values))
        places = self._found(items(name, values))
        if None in places:
            raise DataError(f"{name} must be a one-dimensional list of the declared categories, at least one.")
        return np.array(places, dtype=np.int64)

    def _found(self, found: list[Any]) -> list[int | None]:
        """The place of each item, None for what is no category; what an item raises is forgotten."""
        try:
            return [self._places.get(item) if isinstance(item, str | Integral | np.bool_) else None for item in found]
        except Exception:
            return [None]

    def _numbers(self, name: str, values: Floats) -> Integers:
        valid = (values >= 0) & (values < self.size) & (np.floor(values) == values)
        if values.ndim != 1 or not values.size or not valid.all():
            raise DataError(
                f"{name} must be a one-dimensional list of whole numbers from 0 to {self.size - 1}, at least one."
            )
        return values.astype(np.int64)


def _categories(categories: object) -> int | Labels:
    """Their number, or all of them; a set has no order."""
    if isinstance(categories, str | bytes) or not isinstance(categories, Sequence | np.ndarray):
        return checks.count("categories", categories, CATEGORIES, least=2, most=MOST_CATEGORIES)
    labels = [_plain(label) for label in categories]
    if len(labels) < 2 or len({type(label) for label in labels}) != 1 or not _kept_apart(labels):
        raise ParameterError(f"categories must be at least two different labels of one kind. {CATEGORIES}")
    return tuple(labels)


def _plain(label: Any) -> Any:
    """A numpy scalar as what it stands for in Python."""
    return label.item() if isinstance(label, np.generic) else label


def _kept_apart(labels: list[Any]) -> bool:
    """Whether they are strings, integers or booleans that numpy keeps as they are, and no two are equal."""
    if not isinstance(labels[0], str | int) or len(set(labels)) < len(labels):
        return False
    array = np.array(labels)  # cuts zeros off strings, and has no integers beyond 64 bits
    return array.dtype.kind in "Uib" and array.tolist() == labels
