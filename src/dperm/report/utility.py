# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Measured utility: points that the user states in the field ``utility``, drawn against epsilon."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dperm import checks
from dperm.errors import ParameterError

_LEVELS = {"without_privacy": "without privacy", "by_guessing": "by guessing"}


@dataclass(frozen=True)
class UtilityPoint:
    """Value measured at one epsilon, with the ends of its confidence interval."""

    epsilon: float
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class MeasuredUtility:
    """Measured values in order of epsilon.

    Attributes
    ----------
    points
        Measured values.
    measure
        Name of the measured quantity, such as "accuracy".
    levels
        Values for comparison, by name.
    on
        Description of the data.
    """

    points: tuple[UtilityPoint, ...]
    measure: str = "accuracy"
    levels: Mapping[str, float] = field(default_factory=dict)
    on: str = ""

    @classmethod
    def of(
        cls, points: Iterable[Any], measure: str = "accuracy", *, levels: Mapping[str, float] | None = None
    ) -> "MeasuredUtility":
        """Create an instance from pairs (epsilon, value) or mappings.

        Parameters
        ----------
        points
            Pairs, or mappings with "epsilon", "value" and optionally "low" and "high".
        measure
            Name of the measured quantity.
        levels
            Values for comparison, by name.

        Raises
        ------
        ParameterError
            If ``points`` is empty or has another form.
        """
        try:
            found = sorted((_point(point) for point in points), key=lambda point: point.epsilon)
        except (TypeError, KeyError, ValueError):
            found = []
        if not found:
            raise ParameterError(
                argument="points",
                rule='must be a list of pairs (epsilon, value), or of mappings with "epsilon", "value" and, if known, '
                '"low" <= value <= "high"',
                remedy="Give at least one point.",
            )
        return cls(tuple(found), measure, {} if levels is None else levels)


def measured_utility(utility: object) -> MeasuredUtility | None:
    """Return the points under "points" in a ``utility`` field; None if the field has another form.

    Other keys are "measure" (such as "accuracy"), "on" (a description of the data), "without_privacy" and
    "by_guessing" (levels for comparison).
    """
    if not isinstance(utility, Mapping):
        return None
    try:
        levels = {name: checks.real(key, utility[key]) for key, name in _LEVELS.items() if key in utility}
        found = MeasuredUtility.of(utility.get("points", ()), str(utility.get("measure", "accuracy")), levels=levels)
    except ParameterError:
        return None
    return replace(found, on=str(utility.get("on") or ""))


def with_measure_names(utility: object) -> object:
    """Return a ``utility`` field with named numbers in its points; other values unchanged."""
    found = measured_utility(utility)
    if found is None or not isinstance(utility, Mapping):
        return utility
    return {**utility, "points": [_named(point, found.measure) for point in found.points]}


def _named(point: UtilityPoint, measure: str) -> dict[str, float]:
    ends = {} if point.low == point.high else {"low": point.low, "high": point.high}
    name = "value" if measure in ("epsilon", *ends) else measure
    return {"epsilon": point.epsilon, name: point.value, **ends}


def _point(point: Any) -> UtilityPoint:
    data = point if isinstance(point, Mapping) else dict(zip(("epsilon", "value"), point, strict=True))
    epsilon, value = checks.positive("epsilon", data["epsilon"]), checks.real("value", data["value"])
    low, high = (checks.real(name, data.get(name, value)) for name in ("low", "high"))
    if not low <= value <= high:
        raise ValueError
    return UtilityPoint(epsilon, value, low, high)
