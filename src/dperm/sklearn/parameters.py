# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the arguments of an estimator mean; every check that needs no data."""

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from dperm import checks
from dperm.accounting.budget import Budget
from dperm.checks import shown
from dperm.data.bounded import INVALID
from dperm.data.space import FeatureSpace
from dperm.errors import ParameterError
from dperm.privacy import Adjacency, ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee

DEFAULT_NORM = 1.0
"""The norm that rows are scaled down to where no bound is given."""
_EPSILON = "A small number such as 1.0; epsilon=inf learns without privacy."
_DELTA = "It is far below one over the number of records, such as 1e-6; 0.0 asks for a pure guarantee."
_C = "It is 1/Lambda in sum scale, as in scikit-learn; None leaves the choice to the plan."


def goal_of(epsilon: object, delta: object, adjacency: Any) -> AnyGuarantee | None:
    """The guarantee that is asked for; None for epsilon = inf."""
    relation, small = Adjacency.of(adjacency), checks.small_delta("delta", delta, _DELTA)
    if isinstance(epsilon, Real) and not isinstance(epsilon, bool) and float(epsilon) == math.inf:
        return None
    asked = checks.positive("epsilon", epsilon, _EPSILON)
    return ApproxDP(asked, small, relation) if small > 0 else PureDP(asked, relation)


def regularization_of(C: object) -> float | None:
    """Lambda = 1/C; None where the plan chooses."""
    return None if C is None else 1 / checks.between("C", C, 1e-30, 1e30, _C)


def truth(name: str, value: object) -> bool:
    """``value``, if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} must be True or False, got {shown(value)}.")
    return bool(value)


def invalid_rows(invalid: object) -> str:
    """``invalid``, if it is "raise" or "drop"."""
    if invalid not in INVALID:
        raise ParameterError(f'invalid must be "raise" or "drop", got {shown(invalid)}.')
    return str(invalid)


def seed_of(random_state: Any) -> int | None:
    """The seed, which makes a fit NOT PRIVATE; None for real randomness."""
    if random_state is None:
        return None
    if isinstance(random_state, Real):
        return checks.count("random_state", random_state, "Leave it out for anything real.", least=0)
    from sklearn.utils import check_random_state

    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise ParameterError(
            f"random_state must be None, a whole number or a numpy RandomState, got {shown(random_state)}. Leave it "
            f"out for anything real: a seed makes the fit NOT PRIVATE."
        ) from None


def budget_of(ledger: object) -> Budget | None:
    """``ledger``, if it is a budget."""
    if ledger is not None and (isinstance(ledger, type) or not isinstance(ledger, Budget)):
        raise ParameterError(
            f"ledger must be a budget or None, got {shown(ledger)}. Open one: "
            f'dperm.accounting.memory_budget.MemoryBudget(PureDP(1.0, "replace_one")).'
        )
    return ledger


def public_rows(adjacency: Adjacency, declared: object, rows: object) -> int | None:
    """The public n: the number of rows under replace_one; under add_remove what was declared, or None.

    Under add_remove a declared n is not compared with the data: that would release something about them.
    """
    n = None if declared is None else checks.count("n", declared, "It is the public number of records.")
    if adjacency is Adjacency.ADD_REMOVE:
        return n
    if rows is None:
        raise ParameterError('n must be given: under adjacency="replace_one" it is public, and the plan uses it.')
    found = checks.count("n", rows, "It is the public number of records.")
    if n is not None and n != found:
        raise ParameterError(
            f"n={n} was declared, and X has another number of rows. Under replace_one n is the number of rows of X: "
            f"leave n out."
        )
    return found


def space_of(
    feature_norm: object, bounds: object, dim: int, *, names: Sequence[str] | None, intercept: bool
) -> FeatureSpace:
    """The public geometry of the features.

    Without any bound it is ``feature_norm=1.0``: enforced by scaling longer rows down, not assumed.
    """
    pairs = None if bounds is None else _pairs(bounds, dim, names)
    norm = DEFAULT_NORM if feature_norm is None and pairs is None else feature_norm
    constant = truth("fit_intercept", intercept)
    return FeatureSpace(dim, norm=norm, bounds=pairs, intercept=constant)  # type: ignore[arg-type]  # it checks


def _pairs(bounds: Any, dim: int, names: Sequence[str] | None) -> tuple[tuple[float, float], ...]:
    """(low, high) for each column: from one pair for all, a list of pairs, or a mapping by name."""
    if isinstance(bounds, Mapping):
        return _by_name(bounds, dim, names)
    given = bounds.tolist() if isinstance(bounds, np.ndarray) else bounds
    if isinstance(given, tuple | list) and len(given) == 2 and all(isinstance(end, Real) for end in given):
        return (_pair("bounds", given),) * dim
    if not isinstance(given, tuple | list) or len(given) != dim:
        raise ParameterError(
            f"bounds must be one (low, high) for all columns, a list with a pair for each of the {dim} columns, or a "
            f"mapping of column names to pairs, got {shown(bounds)}."
        )
    return tuple(_pair(f"bounds[{place}]", pair) for place, pair in enumerate(given))


def _by_name(bounds: Mapping[Any, Any], dim: int, names: Sequence[str] | None) -> tuple[tuple[float, float], ...]:
    given = {str(name): pair for name, pair in bounds.items()}
    pairs = {name: _pair(f"bounds[{name!r}]", pair) for name, pair in given.items()}
    if names is None and len(pairs) == dim:
        return tuple(pairs.values())  # a plan needs no names; a fit has asked for them
    columns = [] if names is None else list(names)
    missing = [name for name in columns if name not in pairs]
    extra = [name for name in pairs if name not in columns]
    if missing or extra or not columns:
        detail = f"bounds for column {missing[0]!r} are missing" if missing else "a name fits no column"
        raise ParameterError(f"bounds by name must name each of the {dim} columns of X once: {detail}.")
    return tuple(pairs[name] for name in columns)


def _pair(where: str, pair: Any) -> tuple[float, float]:
    ends = tuple(pair) if isinstance(pair, tuple | list | np.ndarray) else ()
    if len(ends) != 2:
        raise ParameterError(f"{where} must be a pair (low, high) of public numbers, got {shown(pair)}.")
    low, high = (checks.between(where, end, -1e100, 1e100, "Bounds must not be taken from the data.") for end in ends)
    if not low < high:
        raise ParameterError(f"{where} must have low < high, got {shown(pair)}.")
    return low, high
