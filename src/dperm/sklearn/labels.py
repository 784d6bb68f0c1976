# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Public description of y: the classes with their weights, or the range of a regression target."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from numpy.typing import NDArray

from dperm import checks
from dperm.checks import shown
from dperm.data.labels import FOUND, checked_label
from dperm.data.space import checked_pair
from dperm.data.targets import Classes, Interval, Target, format_labels
from dperm.erm.residual_losses import Huber
from dperm.errors import DpermWarning, ParameterError
from dperm.presentation.spelling import arg

LARGEST_WEIGHT = 1e6
DEFAULT_RANGE = (-1.0, 1.0)
"""Interval to which labels are clipped where ``label_range`` is not declared."""
KAPPA_LIMITS = (1e-6, 1e6)
"""Smallest and largest ``kappa``, as multiples of half the width of ``label_range``."""
_KAPPA = "It is the residual at which the Huber loss becomes linear, in the units of y."


@dataclass(frozen=True)
class PublicLabels:
    """Public facts about y.

    Attributes
    ----------
    target
        Allowed labels, and their form inside losses.
    facts
        The same as plain data, as stored in the record of a fit.
    assumption
        Sentence about y for the public assumptions of the guarantee.
    declared
        Whether the user declared the labels. Otherwise a fit warns.
    classes
        Class labels, sorted; None for a regression.
    scale, offset
        A score u is the prediction ``scale * u + offset`` in the units of y.
    """

    target: Target
    facts: Mapping[str, object]
    assumption: str
    declared: bool
    classes: NDArray[Any] | None = None
    scale: float = 1.0
    offset: float = 0.0


def public_classes(classes: NDArray[Any], class_weight: object, *, declared: bool) -> PublicLabels:
    """Return the public facts about labels of these classes.

    Parameters
    ----------
    classes
        Class labels, sorted.
    class_weight
        Argument of the estimator.
    declared
        Whether the user declared the classes; otherwise they were found in y.
    """
    weights = weights_of(class_weight, classes)
    known = f"the {'two' if len(classes) == 2 else len(classes)} classes, as they were declared"
    return PublicLabels(
        Classes(tuple(classes.tolist()), weights),
        facts={"classes": classes.tolist(), "class_weight": list(weights)},
        assumption=known if declared else FOUND,
        declared=declared,
        classes=classes,
    )


def two_unknown_classes(class_weight: object) -> PublicLabels:
    """Return the assumption of a plan without declared classes: two classes with the declared weights.

    Raises
    ------
    ParameterError
        If ``class_weight`` names more than two classes.
    """
    weights = list(checked_weights(class_weight).values())
    if len(weights) > 2:
        raise ParameterError(
            argument="classes",
            rule=f"must be declared to plan for {arg('class_weight')} of {len(weights)} classes, because a plan "
            "without them assumes two",
            remedy=f"Give their labels, such as {arg('classes', '(0, 1, 2)')}.",
        )
    filled = (*weights, 1.0, 1.0)[:2]
    return PublicLabels(Classes(("one", "another"), filled), facts={}, assumption=FOUND, declared=False)


def weights_of(class_weight: object, classes: NDArray[Any]) -> tuple[float, ...]:
    """Return the weight of each class; 1 for classes without a declared weight.

    Raises
    ------
    ParameterError
        If ``class_weight`` names a label that is not a class.
    """
    weights, known = checked_weights(class_weight), classes.tolist()
    for label in weights:
        if label not in known:
            raise _unknown_class(label, known)
    return tuple(weights.get(label, 1.0) for label in known)


def checked_weights(class_weight: object) -> dict[Any, float]:
    """Return the declared weights, public numbers in (0, 1e6]; empty for None.

    Raises
    ------
    ParameterError
        If ``class_weight`` is not a mapping of labels to such numbers. Weights balanced by the data are refused: they
        would release the number of records of each class.
    """
    if class_weight is None:
        return {}
    if isinstance(class_weight, str):
        raise ParameterError(
            argument="class_weight",
            rule="must be None or a mapping of classes to public weights",
            got=shown(class_weight),
            remedy="Weights balanced by the labels would release how many records each class has, which is private.",
        )
    if not isinstance(class_weight, Mapping):
        raise ParameterError(
            argument="class_weight",
            rule="must be a mapping of classes to weights",
            got=shown(class_weight),
            remedy="Declare {0: 1.0, 1: 3.0}, for example.",
        )
    return {checked_label(label): _weight(label, weight) for label, weight in class_weight.items()}


def public_range(label_range: object) -> PublicLabels:
    """Return the public facts about labels in the declared (low, high), or in [-1, 1] without a declaration."""
    low, high = DEFAULT_RANGE if label_range is None else checked_pair("label_range", label_range)
    interval = Interval(low, high)
    return PublicLabels(
        interval,
        facts={"label_range": [interval.low, interval.high]},
        assumption="the range of the target, to which its values were clipped",
        declared=label_range is not None,
        scale=interval.half_width,
        offset=interval.center,
    )


def huber_loss(kappa: object, label_range: object) -> Huber:
    """Return the Huber loss for labels scaled to [-1, 1].

    Parameters
    ----------
    kappa
        Residual at which the loss becomes linear, in the units of y; a quarter of the range's width if None.
    label_range
        Argument of the estimator.
    """
    if kappa is None:
        return Huber(0.5)
    share = checks.positive("kappa", kappa, _KAPPA) / public_range(label_range).scale
    low, high = KAPPA_LIMITS
    if not low <= share <= high:
        rule = f"must be from {low:g} to {high:g} times half the width of {arg('label_range')}"
        raise ParameterError(argument="kappa", rule=rule, got=shown(kappa), remedy=_KAPPA)
    return Huber(share)


def warn_undeclared_range() -> None:
    """Warn at every fit that labels are clipped to [-1, 1], whatever their units are."""
    warnings.warn(
        "label_range was not given: labels are clipped to label_range=(-1.0, 1.0), and labels in other units (prices, "
        "ages) will be learnt badly. Give the public range of y, such as label_range=(0, 100); it must not be taken "
        "from the data.",
        DpermWarning,
        stacklevel=4,  # the line that called fit
    )


def _weight(label: object, weight: object) -> float:
    number: Any = weight if isinstance(weight, Real) and not isinstance(weight, bool) else 0
    if not 0 < number <= LARGEST_WEIGHT:
        where = f"class_weight[{shown(label)}]"
        raise ParameterError(argument=where, rule="must be a public number in (0, 1e6]", got=shown(weight))
    return float(number)


def _unknown_class(label: object, known: list[Any]) -> ParameterError:
    rule = f"must name the classes {format_labels(known)} only"
    if isinstance(label, str) == isinstance(known[0], str):
        return ParameterError(argument="class_weight", rule=rule, got=shown(label))
    kinds = ("text", "numbers") if isinstance(label, str) else ("a number", "text")
    return ParameterError(
        argument="class_weight", rule=f"{rule}: {shown(label)} is {kinds[0]}, the classes are {kinds[1]}"
    )
