# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan --schema --expect``: what to expect of a fit, from what its schema declares."""

from typing import TYPE_CHECKING

from dperm.cli.plan.asked import guarantee, shape_of
from dperm.cli.plan.columns import Columns, require_two_classes
from dperm.cli.plan.given import Given
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.cli.plan.outlook import Wanted
    from dperm.cli.problem import Problem


def wanted_of(given: Given, asked: "Problem") -> "Wanted":
    """What is to be found out, checked."""
    from dperm.cli.plan.outlook import Wanted

    require_two_classes(asked.schema, "--expect")
    if asked.estimator not in (None, "logistic"):
        raise ParameterError(
            f"--expect tries logistic regression, and --estimator is {asked.estimator}. Leave one out."
        )
    if asked.n is None:
        raise ParameterError("--n is missing: --expect makes up so many records. A public guess is enough.")
    columns = Columns(asked.features, asked.schema.encoder.norm, encoded=True)
    shape = shape_of(given, asked.n, columns)
    return Wanted.of(given, shape, guarantee(asked.epsilon, asked.delta, asked.adjacency), columns)
