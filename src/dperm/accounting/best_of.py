# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private selection: the best of a random number of runs of one mechanism (T80 to T84, T150, T151)."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dperm.accounting import rdp
from dperm.accounting.composition import Composition
from dperm.accounting.curve import DirectionCurve
from dperm.accounting.event import Event, Json, Orders, SingleEvent, elementary
from dperm.accounting.laws.atomic import AtomicLoss
from dperm.accounting.laws.envelope import ProfileBounds
from dperm.accounting.laws.law import Array
from dperm.accounting.parallel import POINTS, REVERSED, SMALLEST_LOSS, TAIL, WIDTH, composition_of, profile_bounds
from dperm.accounting.runs import Runs
from dperm.accounting.selection_attack import SelectionAttack, attack_on
from dperm.accounting.selection_bound import SelectionBound
from dperm.accounting.theorems._rounding import up_array
from dperm.checks import shown
from dperm.errors import ConversionError, ParameterError
from dperm.privacy.adjacency import Adjacency, Direction

SELECTION_TAGS = ("T80", "T80a", "T81", "T82", "T83", "T150", "T151")
ORDERS = rdp.DEFAULT_ORDERS[::6]
"""Rényi orders of T83 for the profile; a budget uses the orders of its limit."""
COARSE = 129  # losses at which the end of a discretized law is searched
FLOOR = 1e3  # multiple of the infinite mass of a discretized run below which T80a uses the exact profile
ALLOWANCE = 1e-13


@dataclass(frozen=True)
class BestOf(SingleEvent):
    """Private selection: the best of a random number of runs of one mechanism, by a score in each run's output (T80).

    The number K of runs is drawn from a public distribution, independently of the data. The mechanism runs K times with
    fresh randomness. Only the output with the highest score is released; ties are broken by independent random numbers.

    Conditions:

    - The event describes one run completely: the draw of a hyperparameter setting from a public distribution, the
      training, and the computation of the score. If independent coin flips assign each record either to training or to
      scoring (T71), one `ParallelParts` event describes both.
    - The runs are independent and identically distributed. Bayesian optimization, successive halving and early stopping
      across runs are not covered.
    - K and the outputs of all other runs must stay secret. Elapsed time can reveal K.
    - A failed run counts as an output with the lowest score.

    The upper bound on delta is the smallest of several proved bounds, each rounded up (T80 to T83, T150, T151). The
    lower bound on delta comes from explicit scoring rules for the pair of distributions that dominates one run. In a
    composition with other events (T82), a discrete dominating pair represents the selection. The lower and upper bounds
    of `account` then enclose the privacy profile of this composition with the discrete pair.

    A budget with an (epsilon, delta) limit accepts a selection if the selection has a finite epsilon at the delta of
    one charge. A budget with an RDP limit accepts a selection if T83 gives its Rényi curve or if its runs are
    epsilon-DP. A budget with a pure, zCDP or GDP limit accepts a selection only if its runs are epsilon-DP. Such a
    budget derives the charge from the epsilon of T81.

    Parameters
    ----------
    event
        Event of one run.
    runs
        Distribution of the number of runs, such as ``Runs.geometric(mean=10)``.

    Examples
    --------
    >>> from dperm.accounting import BestOf, Gaussian, Runs, account, calibrate
    >>> choice = BestOf(Gaussian(2.0), Runs.geometric(mean=10))
    >>> low, high = account(choice, adjacency="add_remove").epsilon_bracket(delta=1e-5)
    >>> round(low, 3), round(high, 3)
    (2.997, 3.01)
    >>> noise = calibrate(lambda sigma: BestOf(Gaussian(sigma), Runs.geometric(mean=10)), 1.0, 1e-5, "add_remove")
    >>> round(noise, 3)
    5.594
    """

    event: Event
    runs: Runs
    kind: ClassVar[str] = "best_of"

    def __post_init__(self) -> None:
        """Check the event and the distribution of the number of runs."""
        if not isinstance(self.event, Event):
            raise ParameterError(f"event must be an event such as Gaussian(1.0) * 10, got {shown(self.event)}.")
        elementary(self.event)
        if not isinstance(self.runs, Runs):
            raise ParameterError(
                argument="runs",
                rule="must be a distribution of the number of runs",
                got=shown(self.runs),
                remedy="Choose Runs.geometric(mean=10). A fixed number of runs is a composition: event * 10.",
            )

    def reading(self, adjacency: Adjacency) -> Adjacency:
        """Return the adjacency under which the privacy loss is computed.

        The result is the argument ``adjacency``, with one exception. It is add/remove if theorem T4 converts the
        privacy loss of an event in a run from add/remove to replace-one.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        Adjacency
            Adjacency under which the privacy loss is computed.

        Raises
        ------
        AdjacencyError
            If no theorem covers one of the events in a run under ``adjacency``.
        """
        readings = {single.reading(adjacency) for single, _ in self.event.singles()}
        return adjacency if readings == {adjacency} else Adjacency.ADD_REMOVE

    def law(self, direction: Direction) -> AtomicLoss:
        """Return the privacy loss distribution of a discrete pair that dominates the selection (T82).

        Parameters
        ----------
        direction
            Member of `Direction`: ADD or REMOVE under add/remove, REPLACE under replace-one.

        Returns
        -------
        AtomicLoss
            Privacy loss distribution of the dominating pair.
        """
        return _dominating_law(self, direction)

    def bound(self, direction: Direction) -> SelectionBound:
        """Return the upper bounds of T80 and T151 on delta, in one direction and for many values of epsilon.

        Parameters
        ----------
        direction
            Member of `Direction`: ADD or REMOVE under add/remove, REPLACE under replace-one.

        Returns
        -------
        SelectionBound
            Upper bounds on delta as functions of epsilon.
        """
        return _bound(*_both(self, direction))

    def delta_bound(self, epsilon: float, direction: Direction) -> float:
        """Return the upper bound on delta at any real ``epsilon``, in one direction (T82).

        The formulas of T80 hold only for epsilon >= 0. For epsilon < 0, the bound is
        1 - e^epsilon + e^epsilon B(-epsilon), where B is the bound in the opposite direction. This bound also accounts
        for the probability that K = 0.

        Parameters
        ----------
        epsilon
            Any finite number.
        direction
            Member of `Direction`: ADD or REMOVE under add/remove, REPLACE under replace-one.

        Returns
        -------
        float
            Upper bound on delta.
        """
        if epsilon < 0:
            other = self.delta_bound(-epsilon, REVERSED[direction])
            return min((-math.expm1(epsilon) + math.exp(epsilon) * other) * (1 + ALLOWANCE), 1.0)
        bound = self.bound(direction)
        if epsilon >= bound.ceiling:
            return 0.0
        found = float(bound.deltas(np.array([epsilon]))[0])
        if found < FLOOR * self.runs.mean * bound.law.infinity:  # the discretization limits T80; use the exact profile
            found = min(found, self.runs.mean * self._one_run(epsilon - bound.shift, direction) * (1 + ALLOWANCE))
        curve = _profile_rdp(self, adjacency_of(direction))
        return found if curve is None else min(found, rdp.rdp_delta(curve, epsilon, ORDERS))

    def attack(self, direction: Direction) -> SelectionAttack:
        """Return the lower bounds on delta that follow from explicit scoring rules, in one direction.

        Parameters
        ----------
        direction
            Member of `Direction`: ADD or REMOVE under add/remove, REPLACE under replace-one.

        Returns
        -------
        SelectionAttack
            Lower bounds on delta and on epsilon.
        """
        return _attack(*_both(self, direction))

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """Return an upper bound on the Rényi curve of the selection (T83).

        Let tau be the Rényi curve of one run, and let f(x) = E x^K. Let u be the probability that one run has a higher
        score than the released output. Let phi(u) be the largest probability, on the neighbouring data set, of a set of
        outputs with probability at most u. The selection multiplies the likelihood ratio of the released output by at
        most e^{r(u)}, where r(u) = log f'(1 - u) - log f'(1 - phi(u)) (T80). The bound is
        tau(alpha) + sup_u {log f'(1 - u) + (alpha - 1) r(u)}/(alpha - 1), with an additional term for P(K = 0).

        Parameters
        ----------
        orders
            Rényi orders alpha > 1.
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        ndarray
            Values of the curve at ``orders``, rounded up.

        Raises
        ------
        ConversionError
            If an event in a run has no Rényi curve, or if T4 converts its privacy loss from add/remove to replace-one.
        """
        if self.reading(adjacency) is not adjacency:
            raise ConversionError(
                f"{self} has no RDP curve under {adjacency.value}: one of its events is converted from add_remove "
                f"(T4), and T83 needs a dominating pair. Use account(), or an add_remove guarantee."
            )
        alpha = np.asarray(orders, dtype=np.float64)
        one_run = np.zeros(alpha.shape)
        for single, count in self.event.singles():
            one_run = np.nextafter(one_run + count * single.rdp(alpha, adjacency) * (1 + 4e-16), np.inf)
        factors = [self.bound(direction).log_moment_factors(alpha) for direction in adjacency.directions]
        logs = (alpha - 1) * one_run * (1 + ALLOWANCE) + np.max(factors, axis=0)
        if self.runs.no_run_probability > 0:
            logs = np.logaddexp(logs, math.log(self.runs.no_run_probability))
        return up_array(np.maximum(logs + ALLOWANCE, 0.0) / (alpha - 1))

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """Return the theorem tags of the selection and of the events in a run.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        tuple[str, ...]
            Theorem tags such as "T6".
        """
        found = {tag for single, _ in self.event.singles() for tag in single.tags(adjacency)}
        return (*SELECTION_TAGS, *sorted(found - {*SELECTION_TAGS}))

    def fields(self) -> Json:
        """Return the distribution of the number of runs as JSON-serialisable data; the serializer adds the event."""
        return {"runs": self.runs.fields()}

    def _one_run(self, epsilon: float, direction: Direction) -> float:
        """Return an upper bound on the exact profile of one run at any real epsilon (T82)."""
        if epsilon < 0:
            other = self._one_run(-epsilon, REVERSED[direction])
            return (-math.expm1(epsilon) + math.exp(epsilon) * other) * (1 + ALLOWANCE)
        return DirectionCurve(composition_of(self.event, direction)).bracket(epsilon, WIDTH)[1]


def adjacency_of(direction: Direction) -> Adjacency:
    """Return the adjacency with this direction."""
    return Adjacency.REPLACE_ONE if direction is Direction.REPLACE else Adjacency.ADD_REMOVE


def _both(selection: BestOf, direction: Direction) -> tuple[Composition, Composition, Runs]:
    """Return the privacy losses of one run in this direction and in the opposite one, and the law of K."""
    run, mirrored = (composition_of(selection.event, one) for one in (direction, REVERSED[direction]))
    return run, mirrored, selection.runs


@lru_cache(maxsize=32)
def _bound(run: Composition, mirrored: Composition, runs: Runs) -> SelectionBound:
    lost = max(run.infinity_bracket[1], mirrored.infinity_bracket[1])
    pure = math.inf if lost > 0 else max(run.ceiling, mirrored.ceiling, 0.0)
    alone = run.steps[0][0] if run.count == 1 else None
    law = alone if isinstance(alone, AtomicLoss) else profile_bounds((run,), (mirrored,)).dominating_law()
    return SelectionBound(law, runs, pure)


_attack = lru_cache(maxsize=8)(attack_on)  # a few megabytes each


@lru_cache(maxsize=64)
def _profile_rdp(selection: BestOf, adjacency: Adjacency) -> Array | None:
    """Return T83's curve at ORDERS, or None if an event of a run has no curve."""
    try:
        return selection.rdp(ORDERS, adjacency)
    except ConversionError:
        return None


@lru_cache(maxsize=64)
def _dominating_law(selection: BestOf, direction: Direction) -> AtomicLoss:
    """Return the pair of the largest convex function below the bounds of both directions (T82).

    The total variation is the same in both orders, so the smaller bound at epsilon = 0 holds for both.
    """
    both = [selection.bound(one) for one in (direction, REVERSED[direction])]
    losses = _loss_grid(both)
    above, mirrored = (
        _composable(selection, bound, one, losses)
        for bound, one in zip(both, (direction, REVERSED[direction]), strict=True)
    )
    above[0] = mirrored[0] = min(above[0], mirrored[0])
    try:
        return ProfileBounds(losses, above, mirrored).dominating_law()
    except ArithmeticError:  # the bounds are 1 up to rounding: nothing is claimed
        return AtomicLoss((0.0,), (1.0,), 1.0)


def _composable(selection: BestOf, bound: SelectionBound, direction: Direction, losses: Array) -> Array:
    """Return the least of T80, T81 and T83 at many losses."""
    values = bound.convex(losses, bound.expected(losses))
    curve = _profile_rdp(selection, adjacency_of(direction))
    if curve is not None:
        values = np.minimum(values, [rdp.rdp_delta(curve, float(loss), ORDERS) for loss in losses])
    return np.asarray(np.minimum.accumulate(values))


def _loss_grid(bounds: list[SelectionBound]) -> Array:
    """Return losses from 0 to where only infinite losses are left, up to TAIL, or to the largest loss."""
    top = max(max(bound.law.ceiling, 0.0) + bound.shift for bound in bounds)
    if all(math.isfinite(bound.ceiling) for bound in bounds):
        top = max(bound.ceiling for bound in bounds)
    coarse = np.linspace(0.0, max(top, SMALLEST_LOSS), COARSE)
    left = np.max([bound.expected(coarse) - bound.runs.mean * bound.law.infinity for bound in bounds], axis=0)
    reach = coarse[min(int(np.count_nonzero(left > TAIL)), COARSE - 1)]
    grid = np.linspace(0.0, max(reach, SMALLEST_LOSS), POINTS + 1)
    return np.unique(np.append(grid, coarse[-1]))
