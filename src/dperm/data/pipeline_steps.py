# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Transformers of scikit-learn pipelines that learn from the data before a model is fitted.

scikit-learn tells an estimator nothing about the pipeline that fits it. The only trace is the call stack, where
``Pipeline.fit`` is a caller of the estimator's own ``fit``, with the pipeline as its ``self``. So pipelines are found
also inside cross-validation and searches, which call ``Pipeline.fit`` themselves.

The final model of a stacking estimator is found in the same way.

Not visible: data that were transformed before they were given to ``fit``; a pipeline of another library that does not
derive from scikit-learn's; the function of a ``FunctionTransformer``, which is taken to treat each row on its own; a
function that chooses the columns of a ``ColumnTransformer`` from the data; and
a pipeline in another thread or process than the fit. If joblib started that thread or process (``n_jobs``), its worker
is on the call stack: then the pipeline counts as unknown, with a warning, and the statement does not rate the
protection. Threads and processes that were started in other ways are not recognized.

scikit-learn is not imported here: without it in memory, there is no pipeline.
"""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

from dperm.checks import shown
from dperm.errors import DpermWarning, LeakError, ParameterError

REFUSE, NOT_COVERED = "refuse", "not_covered"
UNKNOWN = "unknown"
"""Stands among the names of transformers for those that cannot be seen."""
_FITS = ("fit", "fit_predict", "fit_transform")
_UNUSED = (None, "passthrough", "drop")

Rule = Callable[[Any], bool]


def _has_categories(encoder: Any) -> bool:
    """Whether an encoder takes its categories from its arguments alone."""
    limits = (getattr(encoder, name, None) for name in ("min_frequency", "max_categories"))
    return not isinstance(encoder.categories, str) and all(limit is None for limit in limits)


def _imputes_constants(imputer: Any) -> bool:
    """Whether nothing depends on the data, not even which columns remain."""
    return imputer.strategy == "constant" and bool(imputer.keep_empty_features) and not imputer.add_indicator


DATA_INDEPENDENT: dict[str, Rule] = {
    "PolynomialFeatures": lambda _: True,
    "FrozenEstimator": lambda _: True,
    "PolynomialCountSketch": lambda _: True,
    "SkewedChi2Sampler": lambda _: True,
    "RBFSampler": lambda sampler: sampler.gamma != "scale",
    "GaussianRandomProjection": lambda projection: projection.n_components != "auto",
    "SparseRandomProjection": lambda projection: projection.n_components != "auto",
    "MissingIndicator": lambda indicator: indicator.features == "all",
    "SplineTransformer": lambda splines: not isinstance(splines.knots, str),
    "OneHotEncoder": _has_categories,
    "OrdinalEncoder": _has_categories,
    "SimpleImputer": _imputes_constants,
}
"""Transformers of scikit-learn with a state, and when it follows from their arguments and the columns alone."""


def checked_steps(fitted_transformers: object) -> list[str]:
    """Names of the transformers that learnt from the data of the fit under way: none, unless the caller allows them.

    In a worker of joblib, `UNKNOWN` is the last of them. A warning names transformers that the caller allows, and
    workers.

    Raises
    ------
    LeakError
        If there is one, and ``fitted_transformers`` is "refuse".
    """
    if fitted_transformers not in (REFUSE, NOT_COVERED):
        raise ParameterError(
            f'fitted_transformers must be "{REFUSE}" or "{NOT_COVERED}", got {shown(fitted_transformers)}.'
        )
    steps, targets = list(fitted_steps()), list(fitted_target_transformers())
    if (steps or targets) and fitted_transformers == REFUSE:
        raise LeakError(
            f"{_on_steps(steps) if steps else _on_targets(targets)} "
            f'fitted_transformers="{NOT_COVERED}" fits all the same, and the statement then says that the preparation '
            f"is not covered."
        )
    names = _names(steps + targets)
    if names:
        warnings.warn(_ON_ALLOWED.format(", ".join(names)), DpermWarning, stacklevel=3)  # the line that called fit
    if not is_in_joblib_worker():
        return names
    if fitted_transformers == REFUSE:
        warnings.warn(_ON_WORKERS, DpermWarning, stacklevel=3)
    return [*names, UNKNOWN]


def is_in_joblib_worker() -> bool:
    """Whether a worker of joblib runs the fit, with the caller of ``joblib.Parallel`` on another call stack."""
    module = sys.modules.get("joblib.parallel")
    batch, parallel = (getattr(module, name, ()) for name in ("BatchedCalls", "Parallel"))
    within = False
    for frame in _frames():
        owner, name = frame.f_locals.get("self"), frame.f_code.co_name
        if name == "__call__" and isinstance(owner, batch):
            within = True
        elif name == "__call__" and isinstance(owner, parallel):
            within = False  # the same thread, or a fork of it
    return within


def fitted_steps() -> Iterator[Any]:
    """The transformers that a pipeline on the call stack has fitted to the data before this call.

    The same of the first models of a stacking estimator, if its final one is fitted: it is given their predictions.
    """
    pipeline = getattr(sys.modules.get("sklearn.pipeline"), "Pipeline", ())
    stacking = _stacking()
    within: set[int] = set()  # pipelines that fit one of their transformers: the model is a part of that one
    for frame in _frames():
        owner: Any = frame.f_locals.get("self")
        name = frame.f_code.co_name
        if isinstance(owner, pipeline):
            if name == "_fit":
                within.add(id(owner))
            elif name in _FITS and id(owner) not in within:
                yield from _learning(step for _, step in owner.steps[:-1])
        elif isinstance(owner, stacking) and name in _FITS and "X_meta" in frame.f_locals:
            yield from (first for first in owner.estimators_ if first not in _UNUSED)  # private ones too: a record that
            # the final model learns from is also in the models that predicted the rows of others


def _stacking() -> Any:
    module = sys.modules.get("sklearn.ensemble")
    return () if module is None else (module.StackingClassifier, module.StackingRegressor)


def fitted_target_transformers() -> Iterator[Any]:
    """The transformers of labels that a `TransformedTargetRegressor` on the call stack has fitted before this call."""
    targets = getattr(sys.modules.get("sklearn.compose"), "TransformedTargetRegressor", ())
    for frame in _frames():
        owner = frame.f_locals.get("self")
        if isinstance(owner, targets) and frame.f_code.co_name == "fit":
            yield from _learning([owner.transformer])


_ON_ALLOWED = (
    "{} learnt from the private data before this fit. The guarantee does not cover that: one record can change all "
    "transformed rows. The statement says NOT COVERED and has no rating."
)
_ON_WORKERS = (
    "fitted in a joblib worker: transformers before it cannot be seen. If a pipeline fitted one to the private data, "
    "no guarantee covers it, so the statement does not rate the protection. Fit with n_jobs=None to have the pipeline "
    f'checked. fitted_transformers="{NOT_COVERED}" fits without this warning.'
)


def _names(steps: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(type(step).__name__ for step in steps))


def _on_steps(steps: list[Any]) -> str:
    remedies = dict.fromkeys(remedy for remedy in map(_imputer_remedy, steps) if remedy)
    return " ".join(
        [
            f"the pipeline fits {', '.join(_names(steps))} to the private data before this model, without noise. Every "
            f"prediction uses the learnt means, ranges, categories or columns, and no guarantee covers them.",
            *remedies,
            "Use a transformer that learns nothing, such as PublicTableEncoder with declared bounds and categories, or "
            "one that was fitted to public data (sklearn.frozen.FrozenEstimator).",
        ]
    )


def _on_targets(transformers: list[Any]) -> str:
    return (
        f"TransformedTargetRegressor fits the target transformer {', '.join(_names(transformers))} to the private "
        f"labels before this model, without noise. Every prediction uses the learnt values, and no guarantee covers "
        f"them. Leave out the target transformer and declare the public range of the labels, label_range=(low, high). "
        f"Or give func= and inverse_func=, which learn nothing."
    )


def _imputer_remedy(step: Any) -> str:
    """What makes an imputer with a constant independent of the data; empty for other transformers."""
    if type(step).__name__ != "SimpleImputer" or step.strategy != "constant":
        return ""
    if step.add_indicator:
        return "SimpleImputer with add_indicator=True adds columns that depend on the data: leave add_indicator out."
    return (
        "SimpleImputer leaves out columns without any value in the private data, unless keep_empty_features=True: "
        "give that."
    )


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _learning(steps: Iterable[Any]) -> Iterator[Any]:
    """The steps that learn from data; those inside of others are looked at one by one."""
    for step in steps:
        if isinstance(step, str | None) and step in _UNUSED:
            continue
        parts = _parts(step)
        if parts is not None:
            yield from _learning(parts)
        elif not is_data_independent(step):
            yield step


def _parts(step: Any) -> list[Any] | None:
    """The transformers that a step consists of; None for a single one."""
    if _is_of(step, "sklearn.pipeline", "Pipeline"):
        return [part for _, part in step.steps]
    if _is_of(step, "sklearn.pipeline", "FeatureUnion"):
        return [part for _, part in step.transformer_list]
    if _is_of(step, "sklearn.compose", "ColumnTransformer"):
        return [*(part for _, part, _ in step.transformers), step.remainder]
    return None


def _is_of(step: object, module: str, name: str) -> bool:
    return isinstance(step, getattr(sys.modules.get(module), name, ()))


def is_data_independent(step: Any) -> bool:
    """Whether a transformer learns nothing from data beyond the number and names of the columns.

    Those that say so by scikit-learn's tag ``requires_fit=False``, those of dperm, and those of `DATA_INDEPENDENT`.
    """
    kind, utils = type(step), sys.modules.get("sklearn.utils")
    module = kind.__module__.partition(".")[0]
    if module == "dperm":
        return True
    if module == "sklearn" and kind.__name__ in DATA_INDEPENDENT:
        return DATA_INDEPENDENT[kind.__name__](step)
    try:
        return utils is not None and not utils.get_tags(step).requires_fit
    except Exception:  # a transformer without tags says nothing
        return False
