# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How notebooks show a private estimator."""

from typing import Any

from sklearn.utils import estimator_html_repr

from dperm.presentation.nested_data import notebook_table


def html(estimator: Any) -> str:
    """scikit-learn's diagram, and a table of what is promised (or asked for, before a fit)."""
    return f"<div>{estimator_html_repr(estimator)}{notebook_table(_rows(estimator))}</div>"


def _rows(estimator: Any) -> list[tuple[str, object]]:
    adjacency = ("adjacency", getattr(estimator.adjacency, "value", estimator.adjacency))
    if not hasattr(estimator, "coef_"):
        asked = f"epsilon={estimator.epsilon!r}, delta={estimator.delta!r}"
        return [("asked for", asked), adjacency, ("status", "not fitted: nothing was released")]
    guarantee = "NOT PRIVATE" if estimator.guarantee_ is None else repr(estimator.guarantee_)
    promised = [("guarantee", guarantee), ("status", estimator.statement_["status"])]
    return promised + [(name, estimator.statement_[name]) for name in ("adjacency", "covered")]
