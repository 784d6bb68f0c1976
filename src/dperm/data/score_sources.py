# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Detection of fits whose models scikit-learn evaluates on the private data, without noise.

scikit-learn passes no information about a search or a cross-validation to the estimator. The only trace is the call
stack. Detected are:

- every function and class of ``sklearn.model_selection``, in the calling thread and in joblib workers (threads and
  processes), and functions of other libraries that call them;
- ``RFECV``, ``RANSACRegressor`` and bagging with ``oob_score``;
- callbacks of scikit-learn on an estimator around the fit. `ProgressBar` records no scores and is accepted.

Cross-fitting is accepted: `StackingClassifier`, `CalibratedClassifierCV` and `ClassifierChain` use predictions of the
folds to fit another model, and publish no scores. In a joblib worker, `cross_val_predict` of a stack cannot be
distinguished from a call by the user, and is refused.

Not detected:

- ``score`` and other functions that are called after the fit;
- loops and functions of other libraries that fit and score models without ``sklearn.model_selection``;
- a search around the call of joblib (or another library) that started the worker in which the model is fitted, such as
  ``GridSearchCV(OneVsRestClassifier(model, n_jobs=2), ...)``. For joblib, the statement does not rate the protection.

scikit-learn is not imported here: without it in memory, it computes no scores.
"""

import math
import sys
import warnings
from types import FrameType
from typing import Any, NamedTuple

from dperm import checks
from dperm.data.pipeline_steps import frames
from dperm.errors import DpermWarning, LeakError
from dperm.presentation.spelling import arg

WORKER = "cross-validation"
"""Name of an evaluation whose caller is in another thread or process."""
SELECTION = "sklearn.model_selection."
CROSS_FITTING = ("sklearn.ensemble._stacking", "sklearn.calibration", "sklearn.multioutput")
"""Modules that fit another model to the predictions of folds, and publish neither predictions nor scores."""
_FOLD_PREDICTIONS = ("_fit_and_predict", "cross_val_predict")
_BETWEEN = ("joblib.", "sklearn.utils.")
"""Modules between the functions of scikit-learn that call each other."""
_WITHOUT_SCORES = ("FixedThresholdClassifier", "ProgressBar")
"""Class of ``sklearn.model_selection`` and callback that compute no scores."""


class _Call(NamedTuple):
    """Names of a running function; no frame, so that private data in local variables are not kept alive."""

    module: str
    function: str
    evaluation: str
    """Public name of the function or class that evaluates models; empty if it does not."""


def checked_score_source(allowed: object) -> str:
    """Return the name of the function, class or callback that evaluates the running fit; "" without one.

    Parameters
    ----------
    allowed
        Whether unprotected scores are allowed, the argument ``allow_unprotected_scores`` of an estimator.

    Raises
    ------
    LeakError
        If models are evaluated on the private data and ``allowed`` is False. Nothing is charged.

    Warns
    -----
    DpermWarning
        If `validation_curve` would replace this error by a score of NaN.
    """
    is_allowed, source = checks.truth("allow_unprotected_scores", allowed), score_source()
    if source and not is_allowed:
        if source == "validation_curve" and not _raises_errors():  # other functions report failed fits
            warnings.warn(_NOT_A_NUMBER, DpermWarning, stacklevel=3)
        folds = "Fit a stack or a calibration with n_jobs=None. " if source == WORKER else ""
        raise LeakError(
            f"{source} evaluates models on the private data without noise. No guarantee covers the scores or "
            f"predictions, or a choice of models and parameters by them.",
            remedy=f"{folds}Choose parameters with PrivateSearch, or compute PrivateMetrics on held-out records. With "
            f"{arg('allow_unprotected_scores', True)} every fit is charged, and its statement says that the scores are "
            f"NOT COVERED.",
        )
    return source


def check_pipeline_scores() -> None:
    """Refuse the fit of a private transformer in a pipeline whose model would refuse the evaluation later.

    The transformer is charged before the model is fitted. This check makes the refusal free of charge.

    Raises
    ------
    LeakError
        As in `checked_score_source`, by the arguments of the private model at the end of the pipeline.
    """
    for frame in frames():
        model: Any = frame.f_locals.get("self")
        if not _is_of(model, "sklearn.pipeline", "Pipeline"):
            continue
        while _is_of(model, "sklearn.pipeline", "Pipeline"):
            model = model.steps[-1][1]
        if hasattr(model, "allow_unprotected_scores") and model.epsilon != math.inf:
            checked_score_source(model.allow_unprotected_scores)


def score_source() -> str:
    """Return the name of the outermost function, class or callback on the call stack that evaluates the running fit.

    Returns
    -------
    str
        Name such as "GridSearchCV"; "cross-validation" in a joblib worker; "" without an evaluation.
    """
    calls = [call for call in map(_call, frames()) if not call.module.startswith(_BETWEEN)]
    found = [call.evaluation for place, call in enumerate(calls) if call.evaluation and not _cross_fits(calls[place:])]
    public = [name for name in found if name != WORKER]
    return (public or found or [""])[-1]


def _raises_errors() -> bool:
    """Whether the running evaluation passes on the error of a failed fit."""
    folds = (frame for frame in frames() if frame.f_code.co_name == "_fit_and_score")
    return any(fold.f_locals.get("error_score") == "raise" for fold in folds)


def _cross_fits(calls: list[_Call]) -> bool:
    """Whether the first call predicts folds for an estimator that fits another model to the predictions."""
    for call in calls:
        if not call.module.startswith(SELECTION) or call.function not in _FOLD_PREDICTIONS:
            return call is not calls[0] and call.module in CROSS_FITTING
    return False


def _call(frame: FrameType) -> _Call:
    module, function, owner = str(frame.f_globals.get("__name__", "")), frame.f_code.co_name, frame.f_locals.get("self")
    return _Call(module, function, _callback(owner) or _evaluation(module, function, frame.f_locals))


def _evaluation(module: str, function: str, values: Any) -> str:
    """Return the public name of an evaluation from the module, name and local variables of a function."""
    owner = values.get("self", values.get("caller"))  # the search that called `_fit_and_score`, where it is known
    if module.startswith(SELECTION):
        kind = values["cls"] if isinstance(values.get("cls"), type) else type(owner)
        name = function if kind is type(None) else kind.__name__
        return "" if name in _WITHOUT_SCORES else WORKER if name.startswith(("_", "<")) else name
    if module == "sklearn.feature_selection._rfe" and (function == "_rfe_single_fit" or _is_of(owner, module, "RFECV")):
        return "RFECV"
    if module == "sklearn.ensemble._bagging":
        ensemble = values.get("ensemble", owner)
        return f"{type(ensemble).__name__} with oob_score" if getattr(ensemble, "oob_score", False) else ""
    return "RANSACRegressor" if _is_of(owner, "sklearn.linear_model", "RANSACRegressor") else ""


def _callback(owner: object) -> str:
    """Return a description of the first callback of a running estimator that may record scores; "" without one.

    A callback receives the private data and models fitted to them, so an unknown one counts.
    """
    if not _is_of(owner, "sklearn.callback", "CallbackSupportMixin"):
        return ""
    kinds = (type(callback).__name__ for callback in vars(owner).get("_skl_callbacks", ()))
    return next((f"the callback {kind}" for kind in kinds if kind not in _WITHOUT_SCORES), "")


def _is_of(value: Any, module: str, name: str) -> bool:
    return isinstance(value, getattr(sys.modules.get(module), name, ()))


_NOT_A_NUMBER = (
    "validation_curve replaces refused fits by scores of NaN: allow_unprotected_scores is False. Pass "
    'error_score="raise" to see the error.'
)
