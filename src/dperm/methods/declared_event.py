# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Events declared before the number of features and classes is known, and noise for them (T70).

A pipeline may discover columns, categories, classes and norms privately, and train on the result. Its joint guarantee
is one composition if every stage has a fixed event, chosen before data (T70). Training therefore has two steps:

1. ``declare_event`` chooses the event from the goal and public facts, without the number of coefficients.
2. ``plan_from_event`` returns a plan for a problem whose constants became known later. It states exactly the
   declared event.

The discovered numbers determine only scales: Lambda, the noise in absolute units, the solver's tolerance. Default rules
that need a number of coefficients in the first step use `ASSUMED_WIDTH`, a constant.
"""

import math
import operator
from functools import reduce
from typing import Protocol, runtime_checkable

from dperm.accounting.event import Event
from dperm.accounting.events import Gaussian
from dperm.accounting.replace_only import ReplaceOneOnly
from dperm.checks import shown
from dperm.erm.loss import Loss
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, ParameterError
from dperm.mechanisms.calibration import PUSHES, covers
from dperm.mechanisms.goal import checked_goal, gaussian_mu, quotient_down
from dperm.methods.plan import Method, Plan
from dperm.presentation.spelling import arg, quoted_arg
from dperm.privacy import GDP, Adjacency
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import lowered

ASSUMED_WIDTH = 100
"""Coefficients per score assumed by default rules before the number of features is known; it affects utility only."""


@runtime_checkable
class EventMethod(Method, Protocol):
    """Protocol of methods that plan from a fixed event (T70)."""

    def declare_event(
        self, goal: AnyGuarantee, loss: Loss, *, clip: float | None = None, n: int | None = None
    ) -> Event:
        """Return the event of a training run that meets ``goal``, chosen before data.

        Parameters
        ----------
        goal
            Guarantee of the training run by itself.
        loss
            Loss of the problem. For several classes, `Softmax` with the largest number of classes.
        clip
            Clipping norm divided by the bound on the norm of a row; None for the default.
        n
            Public number of records; None if it is not declared.

        Returns
        -------
        Event
            The event.
        """

    def plan_from_event(self, spec: ProblemSpec, event: Event, goal: AnyGuarantee) -> Plan:
        """Return a plan, with exactly ``event`` as its event, for a problem whose constants became known later.

        Parameters
        ----------
        spec
            Constants of the problem; they may depend on earlier releases.
        event
            Result of `declare_event`.
        goal
            Guarantee of the training run by itself, as in `declare_event`.

        Returns
        -------
        Plan
            The plan.

        Raises
        ------
        AssumptionError
            If the event does not cover the problem.
        """


def assumed_problem(loss: Loss, *, clip: float | None, n: int | None) -> ProblemSpec:
    """Return a problem in units of the norm bound, with `ASSUMED_WIDTH` coefficients for each score."""
    return ProblemSpec(loss, radius=1.0, dim=ASSUMED_WIDTH * loss.outputs, n=n, clip=clip)


def noise_event_of(mu: float, adjacency: Adjacency) -> Event:
    """Return the event of Gaussian noise of ``mu``, its noise multiplier rounded down.

    The event of every `GaussianMechanism` calibrated to GDP(mu) has at least this noise multiplier. Its scale is at
    least Delta'/mu, and the quotient by Delta' is rounded down.
    """
    if adjacency is Adjacency.ADD_REMOVE:
        return Gaussian(quotient_down(1.0, mu))
    return ReplaceOneOnly(Gaussian(quotient_down(2.0, mu)))


def noise_share(event: Event, goal: AnyGuarantee) -> GDP:
    """Return the mu for which calibrated Gaussian noise has at least the noise multiplier of ``event``."""
    match event, goal.adjacency:
        case Gaussian(), Adjacency.ADD_REMOVE:
            return GDP(quotient_down(1.0, event.noise_multiplier), goal.adjacency)
        case ReplaceOneOnly(event=Gaussian(noise_multiplier=multiplier)), Adjacency.REPLACE_ONE:
            return GDP(quotient_down(2.0, multiplier), goal.adjacency)
    raise event_of_another_kind(event, f"Gaussian noise under {goal.adjacency}")


def declared_noise(goal: AnyGuarantee, shares: tuple[float, ...] = (1.0,), *, times: int = 1) -> Event:
    """Return the event of Gaussian releases that meet ``goal`` together, certified by the accountant (T6, T19).

    Each release gets its share of mu; the squares of the shares sum to at most 1. All releases are made ``times``
    times.
    """
    goal = checked_goal(goal)
    mu = gaussian_mu(goal) / math.sqrt(times)
    for ulps in PUSHES:
        found = [noise_event_of(lowered(mu * share, 8 + 4 * ulps), goal.adjacency) for share in shares]
        total = reduce(operator.add, found) * times
        if covers(goal, total):
            return total
    raise AssumptionError(
        "no noise multiplier near the exact one could be certified.", remedy="Choose a slightly larger goal."
    )


def require_goal_covers(goal: AnyGuarantee, event: Event) -> AnyGuarantee:
    """Return the checked goal, if ``event`` by itself meets it."""
    goal = checked_goal(goal)
    if not covers(goal, event):
        raise ParameterError(
            argument="event",
            rule=f"must meet {arg('goal', repr(goal))} by itself",
            got=shown(event),
            remedy="Give the goal that was passed to declare_event.",
        )
    return goal


def event_of_another_kind(event: object, expected: str) -> ParameterError:
    """Return the error for an event that does not belong to the method."""
    return ParameterError(
        argument="event",
        rule=f"must be that of {expected}",
        got=shown(event),
        remedy="Use the result of declare_event of the same method, under the same adjacency.",
    )


def refuse_noise(noise: str, method: str) -> None:
    """Refuse a noise distribution other than Gaussian: which noise is smaller depends on the number of features."""
    if noise not in ("auto", "gaussian"):
        raise AssumptionError(
            f"a fixed event of {quoted_arg('method', method)} has Gaussian noise, got {quoted_arg('noise', noise)}.",
            remedy=f"Use {quoted_arg('noise', 'gaussian')} and a goal with delta > 0.",
        )
