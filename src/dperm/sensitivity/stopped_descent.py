# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sensitivity of the last iterate of noiseless gradient descent: bolt-on SGD (T33) and full-batch descent (T34).

L is the Lipschitz constant of the data loss alone, because the regularizer cancels in the difference of two runs. beta
is the smoothness of the whole objective. gamma is the strong convexity of the regularizer, whose gradient every update
adds in full. Strong convexity of the losses is not used, because a smaller last batch would reduce it. The updates need
no projection. Results are rounded up.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from dperm import checks
from dperm.checks import shown
from dperm.errors import AdjacencyError, AssumptionError, ParameterError
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency
from dperm.privacy.rounding import raised, round_up
from dperm.sensitivity.arguments import constant, records_exchanged

_STEP_SLACK = Fraction(1, 2**50)  # 1/beta and 2/beta in floating point are accepted


@dataclass(frozen=True)
class Passes:
    """Schedule of permutation SGD: ``passes`` passes over ``records`` records in batches of size ``batch`` (T33).

    Each pass visits every record once, in an order that is independent of the data. The order may change from pass to
    pass. An update sums the gradients of its batch, divides the sum by ``batch`` and adds the full gradient of the
    regularizer. The last iterate is released.

    Attributes
    ----------
    records
        Public number m of records.
    passes
        Number k of passes.
    batch
        Number b of records in one batch.
    same_divisor
        Whether the gradient sum of the last, smaller batch of a pass is divided by b too. If False, b must divide m.
        Otherwise the sum over a last batch of r < b records would be divided by r, and each of these records would
        count b/r times as much.

    Raises
    ------
    ParameterError
        If a number is not a positive integer, or ``batch`` exceeds ``records``.
    AssumptionError
        If b does not divide m and ``same_divisor`` is False.
    """

    records: int
    passes: int
    batch: int = 1
    same_divisor: bool = False

    def __post_init__(self) -> None:
        """Check the numbers, and that every record has weight 1/b in its batch."""
        object.__setattr__(self, "records", checks.count("records", self.records))
        object.__setattr__(self, "passes", checks.count("passes", self.passes))
        object.__setattr__(
            self, "batch", checks.count("batch", self.batch, "It is at most records.", most=self.records)
        )
        if self.records % self.batch and not self.same_divisor:
            raise AssumptionError(
                f"bolt-on SGD (T33) needs a batch that divides records, got {arg('batch', self.batch)} and "
                f"{arg('records', self.records)}.",
                remedy=f"Choose a divisor, or divide the last batch by batch too and set {arg('same_divisor', True)}.",
            )

    @property
    def updates(self) -> int:
        """Number of updates in one pass, m/b rounded up."""
        return -(-self.records // self.batch)


def constant_step_sensitivity(
    run: Passes,
    *,
    step_size: float,
    smoothness: float,
    adjacency: Adjacency | str,
    lipschitz: float = 1.0,
    strong_convexity: float = 0.0,
) -> float:
    """Return the L2 sensitivity of the last iterate of SGD with a constant step size, for a replaced record.

    Theorem T33 [Wu et al. 2017, constants re-derived].
        If the objective is convex and beta-smooth and eta <= 2/beta, the sensitivity is at most 2 k L eta / b.
        If the objective is also gamma-strongly convex and eta <= 1/beta, the sensitivity is at most
        (2 eta L / b) (1 - q^k)/(1 - q) with q = (1 - eta gamma)^(m/b).

    Parameters
    ----------
    run
        Schedule, with the number m of records, the number k of passes and the batch size b.
    step_size
        Step size eta.
    smoothness
        Smoothness beta of the objective, including the regularizer.
    adjacency
        Must be "replace_one".
    lipschitz
        Lipschitz constant L of the loss of one record, without the regularizer.
    strong_convexity
        Strong convexity gamma of the regularizer, at most beta; 0 without a regularizer.

    Returns
    -------
    float
        The sensitivity, rounded up.

    Raises
    ------
    AdjacencyError
        If ``adjacency`` is add/remove.
    AssumptionError
        If the step size is too large for the theorem.
    ParameterError
        If a number is out of range, or ``strong_convexity`` exceeds ``smoothness``.

    Notes
    -----
    *Guarantees.* The bound holds for every fixed order of the records, so it also holds for a random order. Without the
    factor 1 - q^k, the second bound holds for any number of passes. Linear losses attain the bound with this factor.

    ===================  ====================================================
    edge case            result
    ===================  ====================================================
    b does not divide m  m/b is rounded up to the number of updates in a pass
    gamma = 0            the first bound applies
    eta = 1/gamma        q = 0: 2 eta L / b
    ===================  ====================================================
    """
    _require_replace_one(adjacency, "bolt-on SGD (T33)")
    slope, step = constant("lipschitz", lipschitz), constant("step_size", step_size)
    gamma = _checked_step(step, smoothness, strong_convexity)
    move = 2 * Fraction(slope) * Fraction(step) / run.batch
    if gamma == 0:
        return round_up(move * run.passes)
    visits = _lost(step * gamma, run.passes * run.updates) / _lost(step * gamma, run.updates)
    return raised(round_up(move) * visits, 64)


def decreasing_step_sensitivity(
    run: Passes, *, strong_convexity: float, adjacency: Adjacency | str, lipschitz: float = 1.0
) -> float:
    """Return the L2 sensitivity of the last iterate of SGD with decreasing step sizes, for a replaced record.

    Theorem T33 [Wu et al. 2017, constants re-derived].
        If the objective is gamma-strongly convex and beta-smooth, and update t = 1, 2, ... has the step size
        min(1/beta, 1/(gamma t)), the sensitivity is at most 2 L/(gamma m), for every number of passes and every batch
        size.

    Parameters
    ----------
    run
        Schedule, with the number m of records and the batch size b.
    strong_convexity
        Strong convexity gamma of the regularizer, positive.
    adjacency
        Must be "replace_one".
    lipschitz
        Lipschitz constant L of the loss of one record, without the regularizer.

    Returns
    -------
    float
        The sensitivity, rounded up.

    Raises
    ------
    AdjacencyError
        If ``adjacency`` is add/remove.
    ParameterError
        If a number is out of range.

    Notes
    -----
    *Guarantees.* The bound holds for every order of the records. Erratum E34: TensorFlow Privacy uses 2 L/(gamma m b),
    which is too small by a factor of b, because linear losses attain 2 L/(gamma m).
    """
    _require_replace_one(adjacency, "bolt-on SGD (T33)")
    slope, gamma = constant("lipschitz", lipschitz), constant("strong_convexity", strong_convexity)
    return round_up(2 * Fraction(slope) / (Fraction(gamma) * run.records))


def descent_sensitivity(
    n: int,
    steps: int,
    *,
    step_size: float,
    smoothness: float,
    adjacency: Adjacency | str,
    lipschitz: float = 1.0,
    strong_convexity: float = 0.0,
) -> float:
    """Return the L2 sensitivity of the last iterate of full-batch gradient descent, for a replaced record.

    Theorem T34 [idea of Zhang et al. 2017, constants re-derived].
        Consider T steps of gradient descent on the mean of n losses plus a regularizer. If the objective is convex and
        beta-smooth and eta <= 2/beta, the sensitivity is at most 2 L eta T/n. If the objective is also mu-strongly
        convex and eta <= 1/beta, the sensitivity is at most (2 L/(n mu)) (1 - (1 - eta mu)^T).

    Parameters
    ----------
    n
        Public number of records.
    steps
        Number T of steps.
    step_size
        Step size eta.
    smoothness
        Smoothness beta of the objective, including the regularizer.
    adjacency
        Must be "replace_one".
    lipschitz
        Lipschitz constant L of the loss of one record, without the regularizer.
    strong_convexity
        Strong convexity mu of the regularizer, at most beta; 0 without a regularizer.

    Returns
    -------
    float
        The sensitivity, rounded up.

    Raises
    ------
    AdjacencyError
        If ``adjacency`` is add/remove.
    AssumptionError
        If the step size is too large for the theorem.
    ParameterError
        If a number is out of range, or ``strong_convexity`` exceeds ``smoothness``.
    """
    _require_replace_one(adjacency, "descent with one perturbation (T34)")
    n, steps = checks.count("n", n), checks.count("steps", steps)
    slope, step = constant("lipschitz", lipschitz), constant("step_size", step_size)
    mu = _checked_step(step, smoothness, strong_convexity)
    if mu == 0:
        return round_up(2 * Fraction(slope) * Fraction(step) * steps / n)
    return raised(2 * slope / (n * mu) * _lost(step * mu, steps), 64)


def _require_replace_one(adjacency: Adjacency | str, statement: str) -> None:
    if records_exchanged(adjacency) == 1:
        raise AdjacencyError(
            f'{statement} is proved for adjacency="replace_one", got "add_remove": the number of records sets the '
            "batches and the divisor, so it must be public."
        )


def _checked_step(step: float, smoothness: float, strong_convexity: float) -> float:
    """Return gamma, if the step is at most 2/beta (convex) or 1/beta (strongly convex)."""
    beta = constant("smoothness", smoothness)
    gamma = checks.nonnegative("strong_convexity", strong_convexity)
    if gamma > beta:
        raise ParameterError(
            argument="strong_convexity", rule=f"must be at most smoothness = {beta!r}", got=shown(strong_convexity)
        )
    gamma = gamma if gamma == 0 else constant("strong_convexity", gamma)
    most = 1 if gamma > 0 else 2
    if Fraction(step) * Fraction(beta) > most * (1 + _STEP_SLACK):
        raise AssumptionError(
            argument="step_size",
            rule=f"must be at most {most}/smoothness = {most / beta!r}",
            got=repr(step),
            remedy="Larger steps may expand distances."
            + (f" With {arg('strong_convexity', 0.0)}, steps up to 2/smoothness are covered." if gamma > 0 else ""),
        )
    return gamma


def _lost(rate: float, count: int) -> float:
    """Return 1 - (1 - rate)^count for a rate in (0, 1], without cancellation."""
    return 1.0 if rate >= 1 else -math.expm1(count * math.log1p(-rate))
