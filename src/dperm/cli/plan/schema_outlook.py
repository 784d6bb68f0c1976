# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan --schema --expect``: what to expect of a fit, from what its schema declares."""

from typing import TYPE_CHECKING

from dperm.cli.plan.asked import guarantee, shape_of
from dperm.cli.plan.given import Given
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.cli.plan.outlook import Wanted
    from dperm.cli.problem import Problem


def wanted_of(given: Given, asked: "Problem") -> "Wanted":
    """What is to be found out, checked."""
    from dperm.cli.plan.outlook import Wanted

    _require_two_classes(asked)
    if asked.n is None:
        raise ParameterError("--n is missing: --expect makes up so many records. A public guess is enough.")
    shape = shape_of(given, n=asked.n, dim=asked.features, feature_norm=asked.schema.encoder.norm)
    return Wanted.of(given, shape, guarantee(asked.epsilon, asked.delta, asked.adjacency))


def _require_two_classes(asked: "Problem") -> None:
    """Data are made up for logistic regression of two classes alone."""
    classes = asked.target.classes
    if classes is None or len(classes) != 2:
        found = "a range" if classes is None else f"{len(classes)} classes"
        raise ParameterError(
            f"--expect makes up data of two classes, and the schema declares {found} for {asked.target.name!r}. "
            "Leave --expect out."
        )
    if asked.estimator not in (None, "logistic"):
        raise ParameterError(
            f"--expect tries logistic regression, and --estimator is {asked.estimator}. Leave one out."
        )
