# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The plan of a fitted model once more, from what its file holds; no data."""

import json
import warnings
from typing import TYPE_CHECKING, Any

from dperm.errors import AssumptionError
from dperm.sklearn.consistency import labels_of

if TYPE_CHECKING:
    from dperm.methods.plan import Plan
    from dperm.sklearn.fit_result import FitResult

IN_PYTHON = "In Python, audit the plan of the fit itself: dperm.audit.black_box.of_plan(model.plan_)."


def replanned(estimator: Any) -> "Plan":
    """The plan by which a fitted estimator, perhaps one from a file, was learnt.

    It is made again from the parameters and the public facts, and compared with the record of the release: event and
    every number have to be the same.

    Raises
    ------
    AssumptionError
        If nothing is promised (no noise, or a seed), or if the plan comes out otherwise.
    """
    fitted: FitResult = estimator._fitted
    if fitted.guarantee is None:
        kind = "without noise" if fitted.record is None else "with a seed"
        raise AssumptionError(f"the model was fitted {kind}: nothing is promised, so there is no claim to audit.")
    public: Any = fitted.public
    names = public["columns"] if getattr(estimator, "feature_names_in_", None) is None else estimator.feature_names_in_
    space = estimator._space(fitted.coef.shape[1], None if names is None else list(names))
    spec = estimator._spec(space, labels_of(estimator, fitted).target, public["n"])
    with warnings.catch_warnings(action="ignore"):  # the fit has said it
        plan: Plan = estimator._plan_for(spec)
    _require_same(plan, fitted)
    return plan


def _require_same(plan: "Plan", fitted: "FitResult") -> None:
    record = fitted.record
    assert record is not None  # there is a guarantee
    expected: dict[str, Any] = json.loads(json.dumps(plan.describe()))
    other = [name for name, value in expected.items() if record.public.get(name) != value]
    if other or _event(plan) != record.event:
        what = other[0] if other else "event"
        raise AssumptionError(
            f"the plan of this model cannot be made again: its {what} comes out otherwise. It was fitted by a method "
            f"object with options of its own, which files do not hold, or by another version of dperm. {IN_PYTHON}"
        )


def _event(plan: "Plan") -> Any:
    from dperm.accounting.serialize import event_to_json

    return json.loads(event_to_json(plan.event))
