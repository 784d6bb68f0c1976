# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Keys and names as a reader would say them, and their order: epsilon first."""

from collections.abc import Mapping
from typing import Any

_WORDS = {
    "n": "number of records",
    "n_groups": "number of groups",
    "n_features": "number of features",
    "most_groups": "groups at most, for which the noise was made",
    "most_rows": "records at most, for which the noise was made",
    "physical_batch_size": "records at a time",
    "feature_norm": "bound on the norm of the features",
    "gdp_mu": "closest Gaussian mu (a reading, not a promise)",
    "true_positive_rates": "attacks",
    "false_positive_rate": "false alarms",
    "true_positive_rate": "true alarms, at most",
    "seq": "entry",
    "hash": "hash of the entry",
    "releases": "releases so far",
    "opening_limit": "limit when the account was opened",
    "limit_changes": "changes of the limit",
    "after": "releases before it",
}
METHODS = {
    "objective": "objective perturbation: noise in what the fit minimises",
    "output": "output perturbation: noise on the fitted coefficients",
    "gradient": "noisy gradient descent",
    "sgd": "noisy gradient descent on random samples (DP-SGD)",
    "bolt_on": "output perturbation after a fixed descent",
    "posterior": "a sample from a posterior",
    "sufficient": "noise on sums of squares and products",
    "finite": "a noisy choice among finitely many models",
    "none": "no noise",
}
"""Methods of learning, for a reader who does not know their names in the program."""
_FIRST = ("kind", "epsilon", "delta")


def words(name: object) -> str:
    """A key as words."""
    return _WORDS.get(str(name), str(name).replace("_", " "))


def method_in_words(name: object) -> str:
    """A method or a mechanism, such as "objective perturbation: ..."."""
    return METHODS.get(str(name), words(name))


def epsilon_first(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The same entries: kind, epsilon and delta before the others, whose order is kept (files sort their keys)."""
    first = [name for name in _FIRST if name in numbers]
    return {name: numbers[name] for name in (*first, *(name for name in numbers if name not in _FIRST))}
