# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plan of preparation and training as one release with one guarantee (T70, T90)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dperm.accounting import account
from dperm.accounting.event import Event
from dperm.data.columns import AnyColumn
from dperm.erm.loss import Loss
from dperm.errors import AssumptionError
from dperm.mechanisms.goal import gaussian_mu
from dperm.mechanisms.run import ReleaseFacts
from dperm.methods.declared_event import EventMethod
from dperm.preparation.plan import THRESHOLD_SHARE, PreparationPlan, require_delta
from dperm.preparation.prepared import Encoding, TargetKind
from dperm.presentation.facts import Fact
from dperm.privacy import ApproxDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import lowered

PREPARATION_SHARE = 0.25
"""Share of the preparation in mu^2 of the whole release (T90)."""
TRAINING_DELTA = 0.6
"""Share of delta in the guarantee of the training stage by itself (T90)."""
TRAINING_EPSILONS = (0.02, 1.5)
"""Smallest and largest epsilon of the training stage, as shares of the whole."""
STEPS = 18
"""Bisections in the search for the epsilon of the training stage."""


@dataclass(frozen=True, kw_only=True)
class TablePlan:
    """Plan of a release with two stages, made from public numbers: a private schema, then a model.

    The event of each stage is fixed before data are read (T70), so the composed event is the cost of the whole release,
    and ``goal`` its guarantee.

    Attributes
    ----------
    goal
        Guarantee of schema and model together.
    preparation
        Plan of the first stage.
    method
        Method of the training stage.
    loss
        Loss of the training stage, for the largest number of classes.
    training_goal
        Guarantee of the training stage by itself.
    training_event
        Event of the training stage.
    n
        Declared number of records; None if it is not public.
    """

    goal: ApproxDP
    preparation: PreparationPlan
    method: EventMethod
    loss: Loss
    training_goal: ApproxDP
    training_event: Event
    n: int | None = None

    @classmethod
    def for_goal(
        cls,
        columns: Sequence[str],
        goal: AnyGuarantee,
        *,
        target: str | None,
        task: TargetKind,
        method: EventMethod,
        loss: Loss,
        declared: Mapping[str, AnyColumn] | None = None,
        clip: float | None = None,
        most_classes: int = 2,
        encoding: Encoding = Encoding.BINS,
        n: int | None = None,
    ) -> "TablePlan":
        """Return the plan that meets ``goal``: a quarter of mu^2 for the preparation, all that remains for training.

        Parameters
        ----------
        columns
            Names of the feature columns to prepare.
        goal
            Guarantee of the whole release: ApproxDP with delta > 0.
        target, task
            Name and kind of the target. The name is None if the classes or the range of the target are declared.
        method, loss, clip
            Training: method, loss for the largest number of classes, and clipping norm divided by the norm of a row.
        declared
            Declarations of further columns, by name.
        most_classes
            Public upper limit on the number of classes.
        encoding
            Encoding of the prepared columns.
        n
            Declared number of records.

        Raises
        ------
        ConversionError
            If the goal has delta = 0 (T73b).
        AssumptionError
            If the preparation leaves no budget for training.
        """
        require_delta(goal)
        assert isinstance(goal, ApproxDP)
        preparation = PreparationPlan(
            columns=tuple(columns),
            target=target,
            task=None if target is None else task,
            declared=declared or {},
            adjacency=goal.adjacency,
            mu=lowered(math.sqrt(PREPARATION_SHARE) * gaussian_mu(goal)),
            threshold_delta=lowered(THRESHOLD_SHARE * goal.delta),
            most_classes=most_classes,
            encoding=encoding,
        )

        def event_of(epsilon: float) -> Event:
            share = ApproxDP(epsilon, TRAINING_DELTA * goal.delta, goal.adjacency)
            return method.declare_event(share, loss, clip=clip, n=n)

        epsilon = largest_epsilon(goal, preparation.event, event_of)
        share = ApproxDP(epsilon, TRAINING_DELTA * goal.delta, goal.adjacency)
        return cls(
            goal=goal,
            preparation=preparation,
            method=method,
            loss=loss,
            training_goal=share,
            training_event=event_of(epsilon),
            n=n,
        )

    @cached_property
    def event(self) -> Event:
        """Event of both stages."""
        return self.preparation.event + self.training_event

    @property
    def declares_values(self) -> bool:
        """Whether some columns or the labels are declared, so that values in the data may violate a declaration."""
        return bool(self.preparation.declared) or self.preparation.target is None

    @property
    def why(self) -> tuple[Fact, ...]:
        """Consequences of the plan, from public numbers."""
        share = Fact(
            "training.share",
            "After the preparation, training has the guarantee epsilon = {epsilon:.3g} by itself; schema and model "
            "together have epsilon = {total:g} (T70, T90).",
            {"epsilon": self.training_goal.epsilon, "total": self.goal.epsilon},
        )
        return (*self.preparation.why, share)

    @property
    def public(self) -> dict[str, object]:
        """Public numbers of both stages."""
        return {
            "preparation": self.preparation.public,
            "training_epsilon": self.training_goal.epsilon,
            "training_delta": self.training_goal.delta,
        }

    @property
    def facts(self) -> ReleaseFacts:
        """Public facts of the release, known before data are read."""
        return ReleaseFacts(
            goal=self.goal,
            event=self.event,
            noise=f"preparation: {self.preparation.noise}; training: Gaussian noise",
            theorems=("T70", "T90", *self.preparation.theorems),
            public=self.public,
        )

    def __str__(self) -> str:
        """Return the guarantee and the consequences, one per line."""
        return "\n".join([f"Plan for {self.goal}:", *(f"- {reason}" for reason in self.why)])


def largest_epsilon(goal: ApproxDP, before: Event, event_of: Callable[[float], Event]) -> float:
    """Return the largest epsilon of a training stage for which the composition with ``before`` meets ``goal`` (T70).

    Parameters
    ----------
    goal
        Guarantee of the composition.
    before
        Event of the earlier stages.
    event_of
        Event of the training stage for its own epsilon.

    Raises
    ------
    AssumptionError
        If not even the smallest epsilon fits.
    """

    def fits(epsilon: float) -> bool:
        return account(before + event_of(epsilon), goal.adjacency).delta(goal.epsilon) <= goal.delta

    low, high = (share * goal.epsilon for share in TRAINING_EPSILONS)
    if not fits(low):
        raise AssumptionError("the preparation leaves no budget for training.", remedy="Give a larger epsilon.")
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
