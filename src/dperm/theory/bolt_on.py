# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sensitivity of gradient descent that is stopped and then perturbed once: bolt-on SGD (T33) and full descent (T34).

The L of these theorems is that of the data loss alone (the regulariser cancels in the difference of two runs); the
smoothness beta is that of the whole objective; the strong convexity gamma is that of a regulariser which every update
adds in full (the losses' own would be thinned in a last batch that is divided by b). Nothing has to be projected.
Results are rounded up.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from dperm import checks
from dperm.checks import shown
from dperm.errors import AdjacencyError, AssumptionError, ParameterError
from dperm.privacy import Adjacency
from dperm.privacy.rounding import raised, round_up
from dperm.theory.results import constant

_STEP_SLACK = Fraction(1, 2**50)  # 1/beta and 2/beta in floating point are let through


@dataclass(frozen=True)
class Passes:
    """Permutation SGD: ``passes`` passes over ``records`` records in batches of ``batch`` (T33).

    Each pass visits every record once, in an order that does not depend on the data (it may be a new one in every
    pass). An update adds up the gradients of its batch, divides by ``batch`` and adds the regulariser's gradient in
    full. The last iterate is released.

    Attributes
    ----------
    records
        m, public.
    passes
        k.
    batch
        b.
    same_divisor
        Whether the last, smaller batch of a pass is divided by b too. Without that b has to divide m: a batch of r
        records that is divided by r counts each of them b/r times as much.
    """

    records: int
    passes: int
    batch: int = 1
    same_divisor: bool = False

    def __post_init__(self) -> None:
        """Check that every record has the weight 1/b."""
        object.__setattr__(self, "records", checks.count("records", self.records))
        object.__setattr__(self, "passes", checks.count("passes", self.passes))
        object.__setattr__(
            self, "batch", checks.count("batch", self.batch, "It is at most records.", most=self.records)
        )
        if self.records % self.batch and not self.same_divisor:
            raise AssumptionError(
                f"bolt-on SGD (T33) needs a batch that divides records, got batch={self.batch} and "
                f"records={self.records}. Choose one that does, or divide the last batch by batch too and say "
                f"same_divisor=True."
            )

    @property
    def updates(self) -> int:
        """Updates in one pass."""
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
    """How far the last iterate of SGD with a constant step moves when one record is replaced.

    Theorem T33 [Wu et al. 2017, constants re-derived].
        Convex, beta-smooth, eta <= 2/beta: 2 k L eta / b.
        gamma-strongly convex, eta <= 1/beta: (2 eta L / b) (1 - q^k)/(1 - q), q = (1 - eta gamma)^(m/b).

    T33 prints the second without 1 - q^k, its limit for many passes; with it the bound is attained by linear losses.
    Where b does not divide m (see ``Passes``) m/b is rounded up, the number of updates in a pass.
    """
    _replace_one(adjacency, "bolt-on SGD (T33)")
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
    """How far the last iterate of SGD with steps min(1/beta, 1/(gamma t)) moves when one record is replaced.

    Theorem T33 [Wu et al. 2017, constants re-derived].
        gamma-strongly convex, beta-smooth, eta_t = min(1/beta, 1/(gamma t)) at update t = 1, 2, ...: 2 L/(gamma m), for
        every number of passes and every batch size.

    Erratum E34: TensorFlow Privacy divides by the batch size as well, 2 L/(gamma m b). That is too small by the
    factor b: linear losses attain 2 L/(gamma m).
    """
    _replace_one(adjacency, "bolt-on SGD (T33)")
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
    """How far T steps of full gradient descent on a mean of n losses move apart when one record is replaced.

    Theorem T34 [idea of Zhang et al. 2017, constants re-derived].
        Convex, beta-smooth, eta <= 2/beta: 2 L eta T/n.
        mu-strongly convex, eta <= 1/beta: (2 L/(n mu)) (1 - (1 - eta mu)^T).
    """
    _replace_one(adjacency, "descent with one perturbation (T34)")
    n, steps = checks.count("n", n), checks.count("steps", steps)
    slope, step = constant("lipschitz", lipschitz), constant("step_size", step_size)
    mu = _checked_step(step, smoothness, strong_convexity)
    if mu == 0:
        return round_up(2 * Fraction(slope) * Fraction(step) * steps / n)
    return raised(2 * slope / (n * mu) * _lost(step * mu, steps), 64)


def _replace_one(adjacency: Adjacency | str, what: str) -> None:
    if Adjacency.of(adjacency) is not Adjacency.REPLACE_ONE:
        raise AdjacencyError(
            f'{what} is proved for adjacency="replace_one", got "add_remove": the number of records sets the batches '
            "and the divisor, and has to be public."
        )


def _checked_step(step: float, smoothness: float, strong_convexity: float) -> float:
    """Gamma, if the step is at most 2/beta (convex) or 1/beta (strongly convex)."""
    beta = constant("smoothness", smoothness)
    gamma = checks.nonnegative("strong_convexity", strong_convexity)
    if gamma > beta:
        raise ParameterError(f"strong_convexity must be at most smoothness = {beta!r}, got {shown(strong_convexity)}.")
    gamma = gamma if gamma == 0 else constant("strong_convexity", gamma)
    most = 1 if gamma > 0 else 2
    if Fraction(step) * Fraction(beta) > most * (1 + _STEP_SLACK):
        remedy = " With strong_convexity=0.0 steps up to 2/smoothness are covered." if gamma > 0 else ""
        raise AssumptionError(
            f"the step must not expand distances: step_size must be at most {most}/smoothness = {most / beta!r}, "
            f"got {step!r}.{remedy}"
        )
    return gamma


def _lost(rate: float, count: int) -> float:
    """1 - (1 - rate)^count for a rate in (0, 1], without cancellation."""
    return 1.0 if rate >= 1 else -math.expm1(count * math.log1p(-rate))
