# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private metrics in the utility field of a statement: rows of a table, and curves for the plots."""

from collections.abc import Iterator, Mapping
from typing import Any

from dperm.presentation.glossary import HIDDEN, OTHER_GROUP
from dperm.presentation.numbers import format_number

OVERALL = ("accuracy", "baseline", "balanced_accuracy", "auc", "brier", "log_loss", "r_squared", "mae", "rmse")
"""Metrics that are single numbers, in the order of the table."""
BASELINE = "baseline accuracy (most frequent class)"
NAMES = {
    "baseline": BASELINE,
    "balanced_accuracy": "balanced accuracy",
    "auc": "area under the ROC curve",
    "brier": "Brier score",
    "log_loss": "log loss (clipped probabilities)",
    "r_squared": "R^2 (clipped errors)",
    "mae": "mean absolute error (clipped errors)",
    "rmse": "root mean squared error (clipped errors)",
}
"""Names of metrics for readers; all others have their own name."""
EVALUATED, ROWS, CURVES = "evaluated on", "metrics", ("auc", "roc", "calibration", "classes", "confusion")
"""Keys of a utility field with metrics: the records, the rows of a table, and the numbers of the plots."""
EVALUATED_MODEL = "evaluated_model"
"""Key in records of evaluations for class and digests of the model."""
HIDDEN_KEY = "hidden_by_noise"
"""Key of a metric whose interval is its whole range."""
DIGITS = 3
"""Significant digits of metrics."""
_TERMS = {
    "records": "evaluated records (a noisy count, unless their number is public)",
    "level": "nominal coverage of the intervals",
    "log_loss_clip": "smallest probability in the log loss",
}
HELD_OUT = (
    "records that no other stage read; a secret coin flip chose each of them with probability {:g}. The intervals "
    "account for both sampling error and privacy noise."
)
GIVEN_RECORDS = (
    "the records of the release, on which the model must not have been trained; this cannot be checked. The intervals "
    "account for both sampling error and privacy noise."
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
    kept = ("level", "task", "records", "log_loss_clip", *CURVES)
    return {
        EVALUATED: on,
        ROWS: [_row(name, one) for name, one in _listed(metrics)],
        **{name: metrics[name] for name in kept if metrics.get(name) is not None},
    }


def _listed(metrics: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield all metrics in a fixed order: a file sorts the names of classes and groups."""
    for name in OVERALL:
        if name in metrics:
            yield NAMES.get(name, name), metrics[name]
    for name, title in (("class_shares", "share"), ("precision", "precision"), ("recall", "recall")):
        found = metrics.get(name) or {}
        yield from ((f"{title}, class {label}", found[label]) for label in sorted(found))
    groups = metrics.get("groups", {})
    for group in sorted(groups, key=lambda group: (group == OTHER_GROUP, group)):
        found = groups[group]
        for name in sorted(found, key=lambda name: (name not in OVERALL, name)):
            yield f"{NAMES.get(name, name.replace('_', ' '))}, group {group}", found[name]


def _row(name: str, one: Mapping[str, Any]) -> dict[str, object]:
    hidden = {HIDDEN_KEY: True} if one.get(HIDDEN_KEY) else {}
    return {"metric": name, "estimate": one["value"], "low": one["low"], "high": one["high"], **hidden}


def shown_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row for readers: a metric that the noise hides has no number."""
    kept = {key: item for key, item in row.items() if key != HIDDEN_KEY}
    return {**kept, "estimate": HIDDEN} if row.get(HIDDEN_KEY) else kept


def shown_metrics(utility: object) -> object:
    """Return a utility field with short numbers, without the numbers of its plots; other values unchanged."""
    if not isinstance(utility, Mapping) or EVALUATED not in utility:
        return utility
    listed = utility.get(ROWS)
    rows = (
        [{key: _short(item) for key, item in shown_row(row).items()} for row in listed]
        if isinstance(listed, list)
        else listed
    )
    return {
        _TERMS.get(name, name): rows if name == ROWS else item for name, item in utility.items() if name not in CURVES
    }


def _short(value: object) -> object:
    return format_number(value, digits=DIGITS) if isinstance(value, float) else value
