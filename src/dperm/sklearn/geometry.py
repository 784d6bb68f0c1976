# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The bounds of the features as the user gives them, as a public geometry."""

import warnings
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from dperm import checks
from dperm.checks import shown
from dperm.data.space import FeatureSpace, checked_pair
from dperm.errors import DpermWarning, ParameterError

Bounds = tuple[float, float] | Sequence[tuple[float, float]] | Mapping[str, tuple[float, float]]
DEFAULT_NORM = 1.0
"""The norm that rows are scaled down to where no bound is given."""


def space_of(
    feature_norm: object, bounds: object, dim: int, *, names: Sequence[str] | None, intercept: bool
) -> FeatureSpace:
    """The public geometry of the features.

    Without any bound it is ``feature_norm=1.0``: enforced by scaling longer rows down, not assumed.
    """
    pairs = None if bounds is None else _pairs(bounds, dim, names)
    norm = DEFAULT_NORM if feature_norm is None and pairs is None else feature_norm
    constant = checks.truth("fit_intercept", intercept)
    return FeatureSpace(dim, norm=norm, bounds=pairs, intercept=constant)  # type: ignore[arg-type]  # it checks


def warn_unbounded() -> None:
    """Say that rows are scaled down to norm 1, whatever their units are; at every fit."""
    warnings.warn(
        "neither bounds nor feature_norm was given: every row of X is scaled down to feature_norm=1.0, and data in "
        "other units (ages, incomes) will be learnt badly. Give the public bounds of the columns, or feature_norm. "
        "Do not scale X by its own mean, range or components first (StandardScaler, PCA, ...): they are computed from "
        "the private data, and the guarantee does not cover them.",
        DpermWarning,
        stacklevel=3,  # the line that called fit
    )


def dim_of(bounds: object) -> int:
    """The number of features, where ``bounds`` has a pair for each."""
    given = bounds.tolist() if isinstance(bounds, np.ndarray) else bounds
    if isinstance(given, Mapping) or (isinstance(given, list | tuple) and not _is_pair(given)):
        return checks.count("dim", len(given), "It is the number of features.")
    raise ParameterError("dim must be given, such as plan(n=500, dim=3): it is the number of features.")


def _is_pair(given: Any) -> bool:
    """Whether ``given`` is one (low, high) for all columns."""
    return len(given) == 2 and all(isinstance(end, Real) for end in given)


def _pairs(bounds: Any, dim: int, names: Sequence[str] | None) -> tuple[tuple[float, float], ...]:
    """(low, high) for each column: from one pair for all, a list of pairs, or a mapping by name."""
    if isinstance(bounds, Mapping):
        return _by_name(bounds, dim, names)
    given = bounds.tolist() if isinstance(bounds, np.ndarray) else bounds
    if isinstance(given, tuple | list) and _is_pair(given):
        return (checked_pair("bounds", given),) * dim
    if not isinstance(given, tuple | list) or len(given) != dim:
        found = f"{len(given)} of them" if isinstance(given, tuple | list) else shown(bounds)
        raise ParameterError(
            f"bounds must be one (low, high) for all columns, a list with a pair for each of the {dim} columns, or a "
            f"mapping of column names to pairs, got {found}."
        )
    return tuple(checked_pair(f"bounds[{place}]", pair) for place, pair in enumerate(given))


def _by_name(bounds: Mapping[Any, Any], dim: int, names: Sequence[str] | None) -> tuple[tuple[float, float], ...]:
    given = {str(name): pair for name, pair in bounds.items()}
    if len(given) < len(bounds):
        raise ParameterError("bounds by name must use different names: as text, two of them are equal (1 and '1').")
    pairs = {name: checked_pair(f"bounds[{name!r}]", pair) for name, pair in given.items()}
    if names is None and len(pairs) == dim:
        return tuple(pairs.values())  # a plan needs no names; a fit has asked for them
    if names is None:
        raise ParameterError(f"bounds by name must name each of the {dim} columns of X once, got {len(pairs)} names.")
    gaps = [f"bounds for column {name!r} are missing" for name in names if name not in pairs]
    odd = [f"{name!r} is not a column of X" for name in pairs if name not in names]
    if gaps or odd:
        raise ParameterError(
            f"bounds by name must name each of the {dim} columns of X once: {', and '.join(gaps[:1] + odd[:1])}."
        )
    return tuple(pairs[name] for name in names)
