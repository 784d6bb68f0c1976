# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Membership scores from a model's fit to a record, and validation of the attacked records.

The score of a classifier is a logit; the score of a regression comes from the residual.
"""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logsumexp

from dperm.audit.arrays import as_array, numbers
from dperm.data.arrays import Floats
from dperm.errors import ParameterError
from dperm.presentation.spelling import arg

_LEAST = 1e-15
"""Smallest distance of probabilities from 0 and 1; a probability rounded to 1 has no finite logit."""
Pair = tuple[ArrayLike, ArrayLike]
"""Records as a pair (X, y)."""
Labels = NDArray[np.generic]


class FittableModel(Protocol):
    """Model with a ``fit`` method, such as estimators of scikit-learn and dperm."""

    def fit(self, X: Any, y: Any) -> Any:
        """Fit the model to the records (X, y)."""


@runtime_checkable
class ProbabilityClassifier(Protocol):
    """Classifier with class probabilities (``predict_proba``)."""

    classes_: Any

    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities, one column per class."""


@runtime_checkable
class DecisionClassifier(Protocol):
    """Classifier with scores on its own scale (``decision_function``)."""

    classes_: Any

    def decision_function(self, X: Any) -> Any:
        """Return one number per record for two classes, otherwise one column per class."""


@runtime_checkable
class Predictor(Protocol):
    """Regression model with a ``predict`` method."""

    def predict(self, X: Any) -> Any:
        """Return one predicted number per record."""


Make = Callable[[], FittableModel]
"""Function returning a fresh, unfitted model; the attacker trains shadow models with it."""


def scores_of(model: object, X: ArrayLike, y: ArrayLike) -> Floats:
    """Return one score per record, larger if the model fits the record better.

    The first rule that applies to the model determines the score. Here y is the label, f the output of
    ``decision_function``, and p_y the predicted probability of the label:

    * two classes and ``decision_function``: the margin y f with y = -1 or +1; for logistic regression, this is
      log(p_y / (1 - p_y));
    * ``predict_proba``: log(p_y / (1 - p_y)), the logit score of Carlini et al. 2022, which increases with p_y;
    * more than two classes and ``decision_function``: f_y minus the logarithm of the sum of e^f over the other classes,
      the logit score of softmax probabilities;
    * ``predict``: minus the squared residual.

    Parameters
    ----------
    model
        Fitted model with at least one of these methods.
    X, y
        Records and their labels or targets.

    Returns
    -------
    ndarray
        One score per record.

    Raises
    ------
    ParameterError
        If the model has none of these methods, a score is NaN, or ``y`` has a label that is unknown to the model.
    """
    if isinstance(model, DecisionClassifier) and len(model.classes_) == 2:
        margins = np.asarray(model.decision_function(X), dtype=np.float64)
        return _checked(np.where(labels_of(model, y) == 1, margins, -margins), y)
    if isinstance(model, ProbabilityClassifier):
        chosen = np.take_along_axis(confidences(model, X), labels_of(model, y)[:, np.newaxis], axis=1)[:, 0]
        return _checked(np.log(chosen) - np.log1p(-chosen), y)
    if isinstance(model, DecisionClassifier):
        return _checked(_against_the_others(np.asarray(model.decision_function(X)), labels_of(model, y)), y)
    if isinstance(model, Predictor):
        return _checked(-((np.asarray(y, dtype=np.float64) - np.asarray(model.predict(X))) ** 2), y)
    raise ParameterError(
        argument="model",
        rule="must have predict_proba, decision_function or predict",
        got=f"an object of type {type(model).__name__}",
    )


def confidences(model: object, X: ArrayLike) -> Floats:
    """Return class probabilities, one column per class, clipped away from 0 and 1."""
    if isinstance(model, ProbabilityClassifier):
        given = np.asarray(model.predict_proba(X), dtype=np.float64)
    elif isinstance(model, DecisionClassifier):
        given = _softmax(np.asarray(model.decision_function(X), dtype=np.float64))
    else:
        raise ParameterError("a shadow-model attack requires a classifier with predict_proba or decision_function.")
    return np.clip(given, _LEAST, 1 - _LEAST)


def labels_of(
    model: ProbabilityClassifier | DecisionClassifier, y: ArrayLike
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the index of each label among the model's classes; raise ``ParameterError`` for unknown labels."""
    classes, labels = np.asarray(model.classes_), np.asarray(y)
    places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    if not (classes[places] == labels).all():
        raise ParameterError(
            f"{arg('y')} has labels unknown to the model.", remedy="Train on all classes, or leave these records out."
        )
    return places


def _against_the_others(decisions: Floats, labels: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
    rows = np.arange(len(labels))
    others = decisions.astype(np.float64)
    own = others[rows, labels].copy()
    others[rows, labels] = -np.inf
    margins: Floats = own - logsumexp(others, axis=1)
    return margins


def _softmax(decisions: Floats) -> Floats:
    if decisions.ndim == 1:
        return np.stack([expit(-decisions), expit(decisions)], axis=1)
    shares: Floats = np.exp(decisions - logsumexp(decisions, axis=1, keepdims=True))
    return shares


def _checked(scores: Floats, y: ArrayLike) -> Floats:
    if scores.shape != np.shape(y) or np.isnan(scores).any():
        raise ParameterError(argument="model", rule="must return one score for each record, and no NaN")
    return scores


def checked_records(name: str, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Labels]:
    """Return X and y as arrays; raise ``ParameterError`` unless X is finite and has as many rows as labels."""
    first, second = ("X", "y") if name == "X, y" else (f"X of {name}", f"y of {name}")
    rows, labels = numbers(first, X, dims=None), as_array(second, y)
    if rows.ndim != 2 or labels.shape != rows.shape[:1]:
        raise ParameterError(
            argument=name, rule="must be X of shape (n, d) and y of shape (n,)", got=f"{rows.shape} and {labels.shape}"
        )
    if not labels.size:
        raise ParameterError(argument=name, rule="must contain at least one record", got="none")
    if not _sortable(labels):
        raise ParameterError(
            argument=second, rule="must be labels of one type, numbers or text, without missing values"
        )
    return rows, labels


def _sortable(labels: Labels) -> bool:
    try:
        np.unique(labels)
    except TypeError:  # of objects of several types, None among them
        return False
    return True


def checked_pair(name: str, given: Pair) -> tuple[Floats, Labels]:
    """Return X and y of a pair as `checked_records` does; raise ``ParameterError`` unless it is a pair."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ParameterError(
            argument=name, rule="must be a pair (X, y)", got=f"an object of type {type(given).__name__}"
        )
    return checked_records(name, *given)


def signs_of(y: Labels) -> Floats:
    """Map two classes, in sorted order, to -1 and +1; raise ``ParameterError`` for any other number of classes."""
    kinds = np.unique(y)
    if len(kinds) != 2:
        raise ParameterError(
            argument="y",
            rule="must have two classes for logistic regression",
            got=str(len(kinds)),
            remedy="Use lira with a factory.",
        )
    signs: Floats = np.where(y == kinds[1], 1.0, -1.0)
    return signs
