# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Detection of pipeline steps fitted to the private data before a model.

scikit-learn passes no information about a pipeline to the estimator. The only trace is the call stack, where
``Pipeline.fit`` calls the estimator's own ``fit``, with the pipeline as its ``self``. This also works inside
cross-validation and searches, and for the final model of a stacking estimator.

Not detected:

- data transformed before the call of ``fit``;
- a pipeline of another library that does not derive from scikit-learn's;
- the function of a ``FunctionTransformer``, assumed to treat each row on its own;
- a function that chooses the columns of a ``ColumnTransformer`` from the data;
- a pipeline in another thread or process than the fit. If joblib started it (``n_jobs``), its worker is on the call
  stack. The pipeline then counts as unknown, with a warning, and the statement does not rate the protection. Threads
  and processes started in other ways are not recognized.

scikit-learn is not imported here: without it in memory, there is no pipeline.
"""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

from dperm.checks import shown
from dperm.data.encoded import EncodingFacts
from dperm.errors import DpermWarning, LeakError, ParameterError
from dperm.presentation.spelling import arg

REFUSE, NOT_COVERED = "refuse", "not_covered"
UNKNOWN = "unknown"
"""Name of transformers that cannot be detected."""
PRIVATE_STEPS = ("PrivateTableEncoder", "PrivateScaler", "PrivateBounds", "PrivatePCA")
"""Names of private transformers. They are listed only if a seed determined the noise: otherwise a guarantee of their
own covers them."""
_FITS = ("fit", "fit_predict", "fit_transform")
_UNUSED = (None, "passthrough", "drop")

Condition = Callable[[Any], bool]


def _has_categories(encoder: Any) -> bool:
    """Whether an encoder has its categories from its arguments alone."""
    limits = (getattr(encoder, name, None) for name in ("min_frequency", "max_categories"))
    return not isinstance(encoder.categories, str) and all(limit is None for limit in limits)


def _imputes_constants(imputer: Any) -> bool:
    """Whether an imputer, including its choice of columns, does not depend on the data."""
    return imputer.strategy == "constant" and bool(imputer.keep_empty_features) and not imputer.add_indicator


DATA_INDEPENDENT: dict[str, Condition] = {
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
"""scikit-learn transformers whose state may follow from arguments and columns alone, with the condition for it."""


def checked_steps(
    fitted_transformers: object, *, budget: object = None, facts: EncodingFacts | None = None
) -> list[str]:
    """Return the class names of transformers fitted to the data before the running fit.

    In a joblib worker the last name is `UNKNOWN`. A private transformer has a guarantee of its own, and is listed only
    if a seed determined its noise (`PRIVATE_STEPS`).

    Parameters
    ----------
    fitted_transformers
        "refuse" or "not_covered", the argument of an estimator.
    budget
        Budget to which the fit is charged; None without one.
    facts
        Facts of the transformer that X comes from, if X carries them.

    Raises
    ------
    LeakError
        If there is such a transformer, and ``fitted_transformers`` is "refuse". With a budget, also if it is
        "not_covered", if a seed determined the noise of a private preparation, or if the preparation in a pipeline was
        charged to another account: the limit of the budget does not cover such a release.

    Warns
    -----
    DpermWarning
        If there is such a transformer, and ``fitted_transformers`` is "not_covered"; in a joblib worker, if it is
        "refuse"; if a seed determined the noise of a private preparation.
    """
    if fitted_transformers not in (REFUSE, NOT_COVERED):
        rule = f'must be "{REFUSE}" or "{NOT_COVERED}"'
        raise ParameterError(argument="fitted_transformers", rule=rule, got=shown(fitted_transformers))
    steps, targets = list(fitted_steps()), list(fitted_target_transformers())
    if (steps or targets) and fitted_transformers == REFUSE:
        allowed = arg("fitted_transformers", f'"{NOT_COVERED}"')
        raise LeakError(
            _steps_problem(steps) if steps else _targets_problem(targets),
            remedy=f"{allowed} fits all the same, and the statement then says that the preparation is not covered.",
        )
    encoders = list(private_encoders())
    seeded = _seeded(facts, encoders)
    names = _names(steps + targets) + seeded
    if budget is not None and names:
        raise LeakError(
            f"the guarantee does not cover the preparation of the data ({', '.join(names)} learnt from the private "
            f"data{', with a seed' if seeded else ''}), so the limit of a budget does not cover this fit.",
            remedy=f"Leave out {arg('random_state') if seeded else arg('ledger')}.",
        )
    _require_same_account(encoders, budget, "model")
    if steps or targets:
        listed = ", ".join(_names(steps + targets))
        warnings.warn(_NOT_COVERED.format(listed), DpermWarning, stacklevel=3)  # the line that called fit
    if seeded:
        warnings.warn(_SEEDED.format(seeded[0]), DpermWarning, stacklevel=3)
    if not is_in_joblib_worker():
        return names
    if fitted_transformers == REFUSE:
        warnings.warn(_IN_WORKER, DpermWarning, stacklevel=3)
    return [*names, UNKNOWN]


def checked_transformers(
    *, budget: object, seeded: bool, facts: EncodingFacts | None = None, labels: bool = False
) -> tuple[EncodingFacts, ...]:
    """Return the facts of all transformers before the running fit of a private transformer, the nearest one first.

    Parameters
    ----------
    budget
        Budget to which the fit is charged; None without one.
    seeded
        Whether a seed determines the noise of the fit, so that it has no guarantee.
    facts
        Facts of the transformer that X comes from, if X carries them.
    labels
        Whether the fit uses y.

    Raises
    ------
    LeakError
        If a transformer learnt from the data without noise, or with a seed; or if a private transformer in the pipeline
        was not charged to the account of this fit. Nothing is charged.
    """
    before = [step for frame in frames() for step in _steps_before(frame)]
    steps, targets = [*_learning(before), *fitted_steps()], list(fitted_target_transformers()) if labels else []
    if steps or targets:
        raise LeakError(_steps_problem(steps) if steps else _targets_problem(targets))
    private = list(_private_before())
    found = _seeded(facts, private)
    if found and (budget is not None or not seeded):
        raise LeakError(
            f"X was transformed by a {found[0]} with a seed, which is NOT PRIVATE, so no guarantee covers this fit.",
            remedy=f"Leave out {arg('random_state')} of the earlier transformer.",
        )
    _require_same_account(private, budget, "transformer")
    known = () if facts is None else facts.every
    others = (step.encoding_facts for step in reversed(private))
    return (*known, *(one for one in others if all(one.release != other.release for other in known)))


def _private_before() -> Iterator[Any]:
    """Yield the fitted private transformers before the one that pipelines on the call stack are fitting."""
    pipeline = getattr(sys.modules.get("sklearn.pipeline"), "Pipeline", ())
    within: set[int] = set()
    for frame in frames():
        owner: Any = frame.f_locals.get("self")
        if not isinstance(owner, pipeline):
            continue
        if frame.f_code.co_name == "_fit":
            within.add(id(owner))
            yield from _private_parts(_steps_before(frame))
        elif frame.f_code.co_name in _FITS and id(owner) not in within:
            yield from _private_parts(step for _, step in owner.steps[:-1])


def _seeded(facts: EncodingFacts | None, private: Iterable[Any]) -> list[str]:
    """Return the names of private transformers with a seed, by the facts of X and those of steps of pipelines."""
    every = [*(() if facts is None else facts.every), *(step.encoding_facts for step in private)]
    return list(dict.fromkeys(found.name for found in every if found.is_seeded))


def _require_same_account(private: Iterable[Any], budget: object, fitted: str) -> None:
    """Raise LeakError if a private transformer was not charged to the budget of the running fit."""
    for step in private:
        if budget is not None and not _same_account(step.ledger, budget):
            raise LeakError(
                f"the {type(step).__name__} in the pipeline was not charged to the account of this {fitted}, so the "
                f"limit of the budget does not cover its release.",
                remedy=f"Give both the same {arg('ledger')}.",
            )


def _steps_before(frame: FrameType) -> list[Any]:
    """Return the steps before the one that a pipeline is fitting, if the frame is the loop over its steps."""
    pipeline = getattr(sys.modules.get("sklearn.pipeline"), "Pipeline", ())
    owner, place = frame.f_locals.get("self"), frame.f_locals.get("step_idx")
    if not isinstance(owner, pipeline) or frame.f_code.co_name != "_fit" or not isinstance(place, int):
        return []
    return [step for _, step in owner.steps[:place]]


def private_encoders() -> Iterator[Any]:
    """Yield the transformers with a guarantee of their own that pipelines on the call stack fitted before the model."""
    pipeline = getattr(sys.modules.get("sklearn.pipeline"), "Pipeline", ())
    for frame in frames():
        owner: Any = frame.f_locals.get("self")
        if isinstance(owner, pipeline) and frame.f_code.co_name in _FITS:
            yield from _private_parts(step for _, step in owner.steps[:-1])


def _private_parts(steps: Iterable[Any]) -> Iterator[Any]:
    for step in steps:
        parts = _parts(step)
        if _is_of(step, "sklearn.frozen", "FrozenEstimator"):
            continue  # fitted before the pipeline, as if to public data
        if parts is not None:
            fitted = getattr(step, "transformers_", None)  # a ColumnTransformer fits copies of its parts
            yield from _private_parts(parts if fitted is None else [part for _, part, _ in fitted])
        elif isinstance(getattr(step, "encoding_facts", None), EncodingFacts) and hasattr(step, "ledger"):
            yield step


def _same_account(one: object, other: object) -> bool:
    """Whether two budgets are one, or two handles of one account; a handle without a name has the only account."""
    if one is None or one is other:
        return one is not None
    places = [(getattr(budget, "location", None), getattr(budget, "account", None)) for budget in (one, other)]
    (first, account), (second, name) = places
    return first is not None and first == second and (account == name or None in (account, name))


def is_in_joblib_worker() -> bool:
    """Whether a joblib worker runs the fit, with the caller of ``joblib.Parallel`` on another call stack."""
    module = sys.modules.get("joblib.parallel")
    batch, parallel = (getattr(module, name, ()) for name in ("BatchedCalls", "Parallel"))
    within = False
    for frame in frames():
        owner, name = frame.f_locals.get("self"), frame.f_code.co_name
        if name == "__call__" and isinstance(owner, batch):
            within = True
        elif name == "__call__" and isinstance(owner, parallel):
            within = False  # the same thread, or a fork of it
    return within


def fitted_steps() -> Iterator[Any]:
    """Yield the transformers fitted to the data by a pipeline on the call stack.

    If a stacking estimator fits its final model, its first models count too, since they supply its features.
    """
    pipeline = getattr(sys.modules.get("sklearn.pipeline"), "Pipeline", ())
    stacking = _stacking()
    within: set[int] = set()  # pipelines that are fitting a transformer which contains the model
    for frame in frames():
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
    """Yield the label transformers fitted by a `TransformedTargetRegressor` on the call stack."""
    targets = getattr(sys.modules.get("sklearn.compose"), "TransformedTargetRegressor", ())
    for frame in frames():
        owner = frame.f_locals.get("self")
        if isinstance(owner, targets) and frame.f_code.co_name == "fit":
            yield from _learning([owner.transformer])


_NOT_COVERED = (
    "{} learnt from the private data before this fit. The guarantee does not cover that: one record can change all "
    "transformed rows. The statement says NOT COVERED and has no rating."
)
_SEEDED = (
    "X was transformed by a {} with a seed, which is NOT PRIVATE. No guarantee covers this fit. Leave out "
    "random_state of the transformer for real releases."
)
_IN_WORKER = (
    "fitted in a joblib worker: transformers before it cannot be seen. If a pipeline fitted one to the private data, "
    "no guarantee covers it, so the statement does not rate the protection. Fit with n_jobs=None to have the pipeline "
    f'checked. fitted_transformers="{NOT_COVERED}" fits without this warning.'
)


def _names(steps: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(type(step).__name__ for step in steps))


def _steps_problem(steps: list[Any]) -> str:
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


def _targets_problem(transformers: list[Any]) -> str:
    return (
        f"TransformedTargetRegressor fits the target transformer {', '.join(_names(transformers))} to the private "
        f"labels before this model, without noise. Every prediction uses the learnt values, and no guarantee covers "
        f"them. Leave out the target transformer and declare the public range of the labels, label_range=(low, high). "
        f"Or give func= and inverse_func=, which learn nothing."
    )


def _imputer_remedy(step: Any) -> str:
    """Return the remedy for an imputer with a constant; "" for other transformers."""
    if type(step).__name__ != "SimpleImputer" or step.strategy != "constant":
        return ""
    if step.add_indicator:
        return "SimpleImputer with add_indicator=True adds columns that depend on the data: leave add_indicator out."
    return (
        "SimpleImputer leaves out columns without any value in the private data, unless keep_empty_features=True: "
        "give that."
    )


def frames() -> Iterator[FrameType]:
    """Yield the frames of the call stack, from the innermost function to the outermost."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _learning(steps: Iterable[Any]) -> Iterator[Any]:
    """Yield the steps that learn from data, with composite steps checked part by part."""
    for step in steps:
        if isinstance(step, str | None) and step in _UNUSED:
            continue
        parts = _parts(step)
        if parts is not None:
            yield from _learning(parts)
        elif not is_data_independent(step):
            yield step


def _parts(step: Any) -> list[Any] | None:
    """Return the parts of a composite step; None for a single transformer."""
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

    True for scikit-learn's tag ``requires_fit=False``, for transformers of dperm, and for those of `DATA_INDEPENDENT`
    whose condition holds.
    """
    kind, utils = type(step), sys.modules.get("sklearn.utils")
    module = kind.__module__.partition(".")[0]
    if module == "dperm":
        return True
    if module == "sklearn" and kind.__name__ in DATA_INDEPENDENT:
        return DATA_INDEPENDENT[kind.__name__](step)
    try:
        return utils is not None and not utils.get_tags(step).requires_fit
    except Exception:  # a transformer without tags
        return False
