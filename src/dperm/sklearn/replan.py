# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plan of a fitted model, made again from the contents of its file without data."""

import json
import warnings
from typing import TYPE_CHECKING, Any

from dperm.errors import AssumptionError
from dperm.report.run_facts import PREPARATION, SEARCHED, has_late_header
from dperm.sklearn.consistency import labels_of

if TYPE_CHECKING:
    from dperm.methods.plan import Plan
    from dperm.sklearn.fit_result import FitResult

_PREPARED = (
    "In Python, audit the preparation alone, with of_plan(PrivateTableEncoder(...).plan(columns)), or the whole fit, "
    "with repeated(train, with_record, without_record, claimed=...); both functions are in dperm.audit.black_box."
)
_SEARCHED = (
    "In Python, audit the whole search with repeated(train, with_record, without_record, claimed=...) of "
    "dperm.audit.black_box."
)
_IN_PYTHON = "In Python, audit the plan of the fit itself: dperm.audit.black_box.of_plan(model.plan_)."


def replan(estimator: Any) -> "Plan":
    """Return the plan of a fitted estimator, for example of one loaded from a file.

    The plan is made again from the parameters and the public facts. Its event and all numbers must equal those in the
    record of the release.

    Raises
    ------
    AssumptionError
        If there is no guarantee (no noise, a seed, or uncovered preparation), if the guarantee covers a private
        preparation too, or if the new plan differs.
    """
    fitted: FitResult = estimator._fitted
    if fitted.guarantee is None:
        seeded = fitted.record is not None and fitted.record.seeded
        prepared = "on prepared data that the guarantee does not cover"
        kind = "without noise" if fitted.record is None else "with a seed" if seeded else prepared
        raise AssumptionError(f"the model was fitted {kind}: nothing is promised, so there is no claim to audit.")
    public: Any = fitted.public
    if SEARCHED in public:
        raise AssumptionError(
            "the guarantee of this model covers a private search, and dperm audit model attacks one training run "
            "alone.",
            remedy=_SEARCHED,
        )
    if has_late_header(public):
        part = "a private preparation" if PREPARATION in public else "private metrics"
        raise AssumptionError(
            f"{part} and the training of this model have one guarantee together, and dperm audit model attacks "
            "training alone.",
            remedy=_PREPARED,
        )
    names = public["columns"] if getattr(estimator, "feature_names_in_", None) is None else estimator.feature_names_in_
    estimator = type(estimator)(**estimator._parameters)  # with the values that an encoder supplied for "auto"
    space = estimator._space(fitted.coef.shape[1], None if names is None else list(names))
    spec = estimator._spec(space, labels_of(estimator, fitted).target, public["n"])
    with warnings.catch_warnings(action="ignore"):  # given by the fit already
        plan: Plan = estimator._plan_for(spec)
    _require_same(plan, fitted)
    return plan


def _require_same(plan: "Plan", fitted: "FitResult") -> None:
    """Compare plan and record. The row limit of earlier versions was larger under replace-one, with the same noise."""
    record = fitted.record
    assert record is not None  # there is a guarantee
    expected: dict[str, Any] = json.loads(json.dumps(plan.describe()))
    stored = record.public
    different = [name for name, value in expected.items() if name != "most_rows" and stored.get(name) != value]
    if different or _event(plan) != record.event:
        part = different[0] if different else "event"
        raise AssumptionError(
            f"the plan of this model cannot be made again: its {part} comes out otherwise. It was fitted by a method "
            "object with options of its own, which files do not hold, or by another version of dperm.",
            remedy=_IN_PYTHON,
        )


def _event(plan: "Plan") -> Any:
    from dperm.accounting.serialize import event_to_json

    return json.loads(event_to_json(plan.event))
