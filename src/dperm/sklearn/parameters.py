# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the arguments of an estimator mean; every check that needs no data."""

import math
from numbers import Real
from typing import Any

from dperm import checks
from dperm.accounting.budget import Budget
from dperm.accounting.events import LARGEST_EPSILON
from dperm.checks import shown
from dperm.erm.loss import Loss
from dperm.errors import ParameterError
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency, ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee

_DELTA = "It is far below one over the number of records, such as 1e-6; 0.0 asks for a pure guarantee."
_C = "It is 1/Lambda in sum scale, as in scikit-learn; None leaves the choice to the plan."
_CLIP = (
    "It is a share of the largest possible gradient of a record; 1.0 clips nothing, None leaves the choice to the plan."
)
SHORTEST_CLIP = 1e-200
_CLIP_SQUARED = (
    "It is a share of half the range of the labels: residuals beyond count linearly; None leaves the choice to the "
    "plan."
)


def goal_of(epsilon: object, delta: object, adjacency: Any) -> AnyGuarantee | None:
    """The guarantee that is asked for; None for epsilon = inf."""
    relation, small = Adjacency.of(adjacency), checks.small_delta("delta", delta, _DELTA)
    asked = _epsilon_of(epsilon)
    if asked is None:
        return None
    return ApproxDP(asked, small, relation) if small > 0 else PureDP(asked, relation)


def _epsilon_of(epsilon: object) -> float | None:
    """``epsilon`` in (0, 500]; None for inf."""
    number: Any = epsilon if isinstance(epsilon, Real) and not isinstance(epsilon, bool) else math.nan
    if number == math.inf:
        return None
    if not 0 < number <= LARGEST_EPSILON:
        raise ParameterError(
            f"epsilon must be a number in (0, {LARGEST_EPSILON:g}], such as 1.0, or inf to learn without privacy, got "
            f"{shown(epsilon)}."
        )
    return float(number)


def regularization_of(C: object) -> float | None:
    """Lambda = 1/C; None where the plan chooses."""
    return None if C is None else min(max(1 / checks.between("C", C, 1e-30, 1e30, _C), 1e-30), 1e30)


def clip_of(clip: object, loss: Loss, radius: float) -> float | None:
    """The longest gradient of a record: the share ``clip`` of R `clip_unit` (T44); None where the plan chooses."""
    if clip is None:
        return None
    longest = (
        checks.rate("clip", clip, _CLIP if math.isfinite(loss.slope) else _CLIP_SQUARED) * radius * clip_unit(loss)
    )
    if not longest >= SHORTEST_CLIP:
        raise ParameterError(
            f"clip={shown(clip)} allows gradients of at most {longest:.3g} for rows of norm {radius:.3g}: they must be "
            f"{SHORTEST_CLIP:g} long at least. Give a larger clip, or rescale the features."
        )
    return longest


def clip_unit(loss: Loss) -> float:
    """What ``clip`` is a share of: the steepest slope, or half the range of the labels where there is none (T44)."""
    return loss.slope if math.isfinite(loss.slope) else 1.0


def seed_of(random_state: Any) -> int | None:
    """The seed, which makes a fit NOT PRIVATE; None for real randomness."""
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
    """``ledger``, if it is a budget."""
    if ledger is not None and (isinstance(ledger, type) or not isinstance(ledger, Budget)):
        raise ParameterError(
            f"ledger must be a budget or None, got {shown(ledger)}. Give a ledger that was opened for the data, "
            f'dperm.ledger.Ledger("census.ledger"), or a budget in memory, dperm.accounting.MemoryBudget(...).'
        )
    return ledger


def uncharged(budget: Budget | None) -> None:
    """Refuse a budget for a fit that has no privacy to spend."""
    if budget is not None:
        raise ParameterError(
            f"a fit without privacy ({arg('epsilon', 'inf')}) cannot be charged: no budget covers it.",
            remedy=f"Leave out {arg('ledger')}.",
        )
