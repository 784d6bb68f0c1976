# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private metrics in the utility field of a statement: rows of a table, and curves for the plots."""

from collections.abc import Iterator, Mapping
from typing import Any

OVERALL = ("accuracy", "balanced_accuracy", "auc", "brier", "log_loss", "r_squared", "mae", "rmse")
"""Metrics that are single numbers, in the order of the table."""
NAMES = {
    "balanced_accuracy": "balanced accuracy",
    "auc": "area under the ROC curve",
    "brier": "Brier score",
    "log_loss": "log loss (clipped probabilities)",
    "r_squared": "R^2 (clipped errors)",
    "mae": "mean absolute error (clipped errors)",
    "rmse": "root mean squared error (clipped errors)",
}
"""Names of metrics for readers; all others have their own name."""
EVALUATED, ROWS, CURVES = "evaluated on", "metrics", ("roc", "calibration")
"""Keys of a utility field with metrics: the records, the rows of a table, and the curves, which plots show."""
HELD_OUT = (
    "records that no other stage read; a secret coin flip chose each of them with probability {:g}. The intervals "
    "cover the sampling of the records and the noise."
)
GIVEN_RECORDS = (
    "the records of the release, on which the model must not have been trained; this cannot be checked. The intervals "
    "cover the sampling of the records and the noise."
)


def utility_facts(metrics: Mapping[str, Any], holdout: object = None) -> dict[str, object]:
    """Return the utility field of a release with private metrics.

    Parameters
    ----------
    metrics
        Metrics as plain data, from `dperm.evaluation.Metrics.to_dict`.
    holdout
        Probability with which a secret coin flip held a record out; None if the release is an evaluation alone.
    """
    on = HELD_OUT.format(holdout) if isinstance(holdout, int | float) else GIVEN_RECORDS
    kept = ("level", "task", "records", "classes", "confusion", "log_loss_clip", *CURVES)
    return {
        EVALUATED: on,
        ROWS: [_row(name, one) for name, one in _listed(metrics)],
        **{name: metrics[name] for name in kept if name in metrics},
    }


def _listed(metrics: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name in OVERALL:
        if name in metrics:
            yield NAMES.get(name, name), metrics[name]
    for name in ("precision", "recall"):
        found = metrics.get(name) or {}
        yield from ((f"{name}, class {label}", one) for label, one in found.items())
    for group, found in metrics.get("groups", {}).items():
        yield from ((f"{NAMES.get(name, name.replace('_', ' '))}, group {group}", one) for name, one in found.items())


def _row(name: str, one: Mapping[str, Any]) -> dict[str, object]:
    return {"metric": name, "estimate": one["value"], "low": one["low"], "high": one["high"]}


def without_curves(utility: object) -> object:
    """Return a utility field without the numbers of its curves, which plots show; other values unchanged."""
    if not isinstance(utility, Mapping) or EVALUATED not in utility:
        return utility
    return {name: item for name, item in utility.items() if name not in CURVES}
