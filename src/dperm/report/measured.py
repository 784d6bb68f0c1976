# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Measured usefulness: points that the user states in the field ``utility``, to be drawn against epsilon."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dperm import checks
from dperm.errors import ParameterError

_LEVELS = {"without_privacy": "without privacy", "by_guessing": "by guessing"}


@dataclass(frozen=True)
class Point:
    """A value that was measured at one epsilon, with the ends of its confidence interval."""

    epsilon: float
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Measured:
    """Points in order of epsilon, what they measure, and levels to compare them with."""

    points: tuple[Point, ...]
    measure: str = "accuracy"
    levels: Mapping[str, float] = field(default_factory=dict)
    on: str = ""
    """On which data, in words."""

    @classmethod
    def of(
        cls, points: Iterable[Any], measure: str = "accuracy", *, levels: Mapping[str, float] | None = None
    ) -> "Measured":
        """From pairs (epsilon, value) or mappings with "epsilon", "value" and optionally "low" and "high".

        Raises
        ------
        ParameterError
            If they are something else.
        """
        try:
            found = sorted((_point(point) for point in points), key=lambda point: point.epsilon)
        except (TypeError, KeyError, ValueError):
            found = []
        if not found:
            raise ParameterError(
                'points must be a list of pairs (epsilon, value), or of mappings with "epsilon", "value" and, if '
                'known, "low" <= value <= "high"; at least one.'
            )
        return cls(tuple(found), measure, {} if levels is None else levels)


def measured(utility: object) -> Measured | None:
    """The points that a ``utility`` field holds under "points"; None if it holds something else.

    Beside them may stand "measure" (a word, such as "accuracy"), "on" (the data, in words), "without_privacy" and
    "by_guessing" (levels).
    """
    if not isinstance(utility, Mapping):
        return None
    try:
        levels = {words: checks.real(key, utility[key]) for key, words in _LEVELS.items() if key in utility}
        found = Measured.of(utility.get("points", ()), str(utility.get("measure", "accuracy")), levels=levels)
    except ParameterError:
        return None
    return replace(found, on=str(utility.get("on") or ""))


def with_names(utility: object) -> object:
    """A ``utility`` field whose points say what their numbers are; anything else as it is."""
    found = measured(utility)
    if found is None or not isinstance(utility, Mapping):
        return utility
    return {**utility, "points": [_named(point, found.measure) for point in found.points]}


def _named(point: Point, measure: str) -> dict[str, float]:
    ends = {} if point.low == point.high else {"low": point.low, "high": point.high}
    name = "value" if measure in ("epsilon", *ends) else measure
    return {"epsilon": point.epsilon, name: point.value, **ends}


def _point(given: Any) -> Point:
    data = given if isinstance(given, Mapping) else dict(zip(("epsilon", "value"), given, strict=True))
    epsilon, value = checks.positive("epsilon", data["epsilon"]), checks.real("value", data["value"])
    low, high = (checks.real(name, data.get(name, value)) for name in ("low", "high"))
    if not low <= value <= high:
        raise ValueError
    return Point(epsilon, value, low, high)
