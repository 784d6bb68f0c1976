# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of the estimators' arguments, none of which reads data."""

import math
import warnings
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from dperm import checks
from dperm.accounting.budget import Budget
from dperm.accounting.events import LARGEST_EPSILON
from dperm.checks import shown
from dperm.data.space import FeatureSpace, checked_pair
from dperm.erm.loss import Loss
from dperm.errors import DpermWarning, ParameterError
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency, ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee

Bounds = tuple[float, float] | Sequence[tuple[float, float]] | Mapping[str, tuple[float, float]]
"""Public (low, high) of the columns: one pair for all, a pair for each, or pairs by column name."""
DEFAULT_NORM = 1.0
"""L2 norm to which rows are scaled down where neither ``bounds`` nor ``feature_norm`` is given."""
SHORTEST_CLIP = 1e-200
"""Smallest allowed bound on the gradient of a record."""
_DELTA = "It is far below one over the number of records, such as 1e-6; 0.0 asks for a pure guarantee."
_C = "It is 1/Lambda in sum scale, as in scikit-learn; None leaves the choice to the plan."
_CLIP = (
    "It is a share of the largest possible gradient of a record; 1.0 clips nothing, None leaves the choice to the plan."
)
_CLIP_SQUARED = (
    "It is a share of half the range of the labels: residuals beyond count linearly; None leaves the choice to the "
    "plan."
)


def goal_of(epsilon: object, delta: object, adjacency: Any) -> AnyGuarantee | None:
    """Return the requested guarantee; None for ``epsilon=inf``.

    Raises
    ------
    ParameterError
        If ``epsilon`` is not in (0, 500], or ``delta`` not in [0, 1).
    AdjacencyError
        If ``adjacency`` names no neighbouring relation.
    """
    relation, small = Adjacency.of(adjacency), checks.small_delta("delta", delta, _DELTA)
    bound = _epsilon_of(epsilon)
    if bound is None:
        return None
    return ApproxDP(bound, small, relation) if small > 0 else PureDP(bound, relation)


def _epsilon_of(epsilon: object) -> float | None:
    """Return ``epsilon`` in (0, 500]; None for inf."""
    number: Any = epsilon if isinstance(epsilon, Real) and not isinstance(epsilon, bool) else math.nan
    if number == math.inf:
        return None
    if not 0 < number <= LARGEST_EPSILON:
        rule = f"must be a number in (0, {LARGEST_EPSILON:g}], or inf to learn without privacy"
        raise ParameterError(argument="epsilon", rule=rule, got=shown(epsilon), remedy="Choose 1.0, for example.")
    return float(number)


def regularization_of(C: object) -> float | None:
    """Return Lambda = 1/C; None where the plan chooses it."""
    return None if C is None else min(max(1 / checks.between("C", C, 1e-30, 1e30, _C), 1e-30), 1e30)


def clip_of(clip: object, loss: Loss, radius: float) -> float | None:
    """Return the bound on a record's gradient, ``clip * radius * clip_unit(loss)`` (T44); None if the plan chooses.

    Raises
    ------
    ParameterError
        If ``clip`` is not in (0, 1], or the bound underflows.
    """
    if clip is None:
        return None
    longest = (
        checks.rate("clip", clip, _CLIP if math.isfinite(loss.slope) else _CLIP_SQUARED) * radius * clip_unit(loss)
    )
    if not longest >= SHORTEST_CLIP:
        raise ParameterError(
            f"{arg('clip', shown(clip))} allows gradients of at most {longest:.3g} for rows of norm {radius:.3g}: they "
            f"must be {SHORTEST_CLIP:g} long at least.",
            remedy=f"Give a larger {arg('clip')}, or rescale the features.",
        )
    return longest


def clip_unit(loss: Loss) -> float:
    """Return the unit of ``clip``: the steepest slope, or half the range of the labels if it is infinite (T44)."""
    return loss.slope if math.isfinite(loss.slope) else 1.0


def seed_of(random_state: Any) -> int | None:
    """Return the seed, which makes a fit NOT PRIVATE; None for secure randomness."""
    if random_state is None:
        return None
    if isinstance(random_state, Real):
        return checks.count("random_state", random_state, "Leave it out for anything real.", least=0)
    if hasattr(random_state, "integers"):  # a numpy Generator
        return int(random_state.integers(2**31 - 1))
    from sklearn.utils import check_random_state

    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise ParameterError(
            argument="random_state",
            rule="must be None, a whole number, a numpy Generator or RandomState",
            got=shown(random_state),
            remedy="Leave it out for anything real: a seed makes the fit NOT PRIVATE.",
        ) from None


def budget_of(ledger: object) -> Budget | None:
    """Return ``ledger``; raise ParameterError unless it is a budget or None."""
    if ledger is not None and (isinstance(ledger, type) or not isinstance(ledger, Budget)):
        raise ParameterError(
            argument="ledger",
            rule="must be a budget or None",
            got=shown(ledger),
            remedy='Give a ledger that was opened for the data, dperm.ledger.Ledger("census.ledger"), or a budget in '
            "memory, dperm.accounting.MemoryBudget(...).",
        )
    return ledger


def require_no_budget(budget: Budget | None) -> None:
    """Raise ParameterError for a budget: a fit without privacy has no privacy loss to charge."""
    if budget is not None:
        raise ParameterError(
            f"a fit without privacy ({arg('epsilon', 'inf')}) cannot be charged: no budget covers it.",
            remedy=f"Leave out {arg('ledger')}.",
        )


def space_of(
    feature_norm: object, bounds: object, dim: int, *, names: Sequence[str] | None, intercept: bool
) -> FeatureSpace:
    """Return the public geometry of the features.

    Without any bound, rows are scaled down to ``feature_norm=1.0``, so the bound holds for all data.

    Parameters
    ----------
    feature_norm, bounds, intercept
        Arguments of the estimator.
    dim
        Number of columns of X.
    names
        Column names, for bounds by name; None if unknown.
    """
    pairs = None if bounds is None else _pairs(bounds, dim, names)
    norm = DEFAULT_NORM if feature_norm is None and pairs is None else feature_norm
    constant = checks.truth("fit_intercept", intercept)
    return FeatureSpace(dim, norm=norm, bounds=pairs, intercept=constant)  # type: ignore[arg-type]  # it checks


def warn_unbounded() -> None:
    """Warn at every fit that rows are scaled down to norm 1, whatever their units are."""
    warnings.warn(
        "neither bounds nor feature_norm was given: every row of X is scaled down to feature_norm=1.0, and data in "
        "other units (ages, incomes) will be learnt badly. Give the public bounds of the columns, or feature_norm. "
        "Do not scale X by its own mean, range or components first (StandardScaler, PCA, ...): they are computed from "
        "the private data, and the guarantee does not cover them.",
        DpermWarning,
        stacklevel=3,  # the line that called fit
    )


def dim_of(bounds: object) -> int:
    """Return the number of features from ``bounds`` with a pair for each.

    Raises
    ------
    ParameterError
        If ``bounds`` does not tell the number.
    """
    pairs = bounds.tolist() if isinstance(bounds, np.ndarray) else bounds
    if isinstance(pairs, Mapping) or (isinstance(pairs, list | tuple) and not _is_pair(pairs)):
        return checks.count("dim", len(pairs), "It is the number of features.")
    raise ParameterError(
        argument="dim",
        rule="must be given, because it is the number of features",
        remedy="Call plan(n=500, dim=3), for example.",
    )


def _is_pair(bounds: Any) -> bool:
    """Whether ``bounds`` is one (low, high) for all columns."""
    return len(bounds) == 2 and all(isinstance(end, Real) for end in bounds)


def _pairs(bounds: Any, dim: int, names: Sequence[str] | None) -> tuple[tuple[float, float], ...]:
    """Return (low, high) for each column, from one pair for all, a list of pairs, or a mapping by name."""
    if isinstance(bounds, Mapping):
        return _pairs_by_name(bounds, dim, names)
    pairs = bounds.tolist() if isinstance(bounds, np.ndarray) else bounds
    if isinstance(pairs, tuple | list) and _is_pair(pairs):
        return (checked_pair("bounds", pairs),) * dim
    if not isinstance(pairs, tuple | list) or len(pairs) != dim:
        raise ParameterError(
            argument="bounds",
            rule=f"must be one (low, high) for all columns, a list with a pair for each of the {dim} columns, or a "
            "mapping of column names to pairs",
            got=shown(bounds),  # never a count: if X was passed by mistake, it is the number of records
        )
    return tuple(checked_pair(f"bounds[{place}]", pair) for place, pair in enumerate(pairs))


def _pairs_by_name(bounds: Mapping[Any, Any], dim: int, names: Sequence[str] | None) -> tuple[tuple[float, float], ...]:
    by_name = {str(name): pair for name, pair in bounds.items()}
    if len(by_name) < len(bounds):
        raise ParameterError(
            "bounds by name must use different names: as text, two of them are equal (1 and '1').",
            remedy="Rename one of the columns.",
        )
    pairs = {name: checked_pair(f"bounds[{name!r}]", pair) for name, pair in by_name.items()}
    if names is None and len(pairs) == dim:
        return tuple(pairs.values())  # a plan needs no names; a fit requires them
    rule = f"bounds by name must name each of the {dim} columns of X once"
    if names is None:
        raise ParameterError(f"{rule}, got {len(pairs)} names.")
    missing = [f"bounds for column {name!r} are missing" for name in names if name not in pairs]
    unknown = [f"{name!r} is not a column of X" for name in pairs if name not in names]
    if missing or unknown:
        leave = "Give them, or leave the column out; for a table in row groups by table(..., columns=[...]) or select."
        problem = f"{rule}: {', and '.join(missing[:1] + unknown[:1])}."
        raise ParameterError(problem, remedy=leave if missing else "")
    return tuple(pairs[name] for name in names)
