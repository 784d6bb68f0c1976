# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plan of preparation, training and evaluation as one release with one guarantee (T70, T71, T90)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dperm.accounting import account
from dperm.accounting.event import Event
from dperm.accounting.parallel import ParallelParts
from dperm.data.columns import AnyColumn
from dperm.erm.loss import Loss
from dperm.errors import AssumptionError
from dperm.evaluation.plan import DeclaredGroups, EvaluationPlan
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
PREPARING, TRAINING, EVALUATING = "preparation", "training", "evaluation"
"""Names of the stages."""
STEPS = 18
"""Bisections in the search for the epsilon of the training stage."""


@dataclass(frozen=True, kw_only=True)
class TablePlan:
    """Plan of a release with several stages, made from public numbers: a private schema, a model, and its evaluation.

    The event of each stage is fixed before data are read (T70), so the composed event is the cost of the whole release,
    and ``goal`` its guarantee. Secret coin flips choose the evaluation records. The evaluation reads them alone, and
    the other stages read the other records, so each part may spend all of ``goal`` (T71).

    Attributes
    ----------
    goal
        Guarantee of schema, model and metrics together.
    preparation
        Plan of the first stage; None if all columns and the labels are declared, so that nothing is prepared.
    declared
        Declarations of columns, by name.
    method
        Method of the training stage.
    loss
        Loss of the training stage, for the largest number of classes.
    training_goal
        Guarantee of the training stage by itself.
    training_event
        Event of the training stage.
    holdout
        Probability with which a record is an evaluation record.
    evaluation
        Plan of the evaluation; None if ``holdout`` is 0.
    n
        Declared number of records; None if it is not public.
    """

    goal: ApproxDP
    preparation: PreparationPlan | None
    declared: Mapping[str, AnyColumn]
    method: EventMethod
    loss: Loss
    training_goal: ApproxDP
    training_event: Event
    holdout: float = 0.0
    evaluation: EvaluationPlan | None = None
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
        holdout: float = 0.0,
        groups: DeclaredGroups | None = None,
        n: int | None = None,
    ) -> "TablePlan":
        """Return the plan that meets ``goal``.

        The preparation gets a quarter of mu^2, where mu is the parameter of Gaussian DP that corresponds to ``goal``.
        Training gets all that remains.

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
        holdout
            Probability with which a record is an evaluation record; 0 plans no evaluation.
        groups
            Declared groups of the records, for metrics of each group.
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
        preparation = None
        if columns or target is not None or not declared:
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
                read_share=1 - holdout,
            )

        records = _training_records(n, holdout)

        def event_of(share: ApproxDP) -> Event:
            return method.declare_event(share, loss, clip=clip, n=records)

        training = goal
        if preparation is not None:
            delta = TRAINING_DELTA * goal.delta
            epsilon = largest_epsilon(
                goal,
                preparation.event,
                lambda epsilon: event_of(ApproxDP(epsilon, delta, goal.adjacency)),
            )
            training = ApproxDP(epsilon, delta, goal.adjacency)
        return cls(
            goal=goal,
            preparation=preparation,
            declared=declared or {},
            method=method,
            loss=loss,
            training_goal=training,
            training_event=event_of(training),
            holdout=holdout,
            evaluation=EvaluationPlan(goal=goal, task=task, groups=groups) if holdout else None,
            n=n,
        )

    @property
    def training_records(self) -> int | None:
        """Expected number of training records; None if the number of records is not public."""
        return _training_records(self.n, self.holdout)

    @cached_property
    def learning_event(self) -> Event:
        """Event of the stages that read the training records: preparation and training (T70)."""
        return self.training_event if self.preparation is None else self.preparation.event + self.training_event

    @cached_property
    def event(self) -> Event:
        """Event of all stages; those on evaluation records run in parallel with the others (T71)."""
        if self.evaluation is None:
            return self.learning_event
        return ParallelParts((self.learning_event, self.evaluation.event))

    @property
    def declares_values(self) -> bool:
        """Whether some columns or the labels are declared, so that their values may break a declaration."""
        return bool(self.declared) or self.declares_labels

    @property
    def declares_labels(self) -> bool:
        """Whether the classes or the range of the labels are declared."""
        return self.preparation is None or self.preparation.target is None

    def warnings(self, n: int | None) -> tuple[Fact, ...]:
        """Return the warnings that follow from a public number of records, before any data are read.

        Parameters
        ----------
        n
            Public number of records of the table; None if it is private, which gives no warning.
        """
        return () if self.preparation is None else self.preparation.warnings(n)

    @property
    def why(self) -> tuple[Fact, ...]:
        """Consequences of the plan, from public numbers."""
        evaluation = () if self.evaluation is None else self._evaluation_facts
        if self.preparation is None:
            return evaluation
        share = Fact(
            "training.share",
            "After the preparation, training has the guarantee epsilon = {epsilon:.3g} at delta = {delta!u:3} by "
            "itself; schema and model together have epsilon = {total:g} at delta = {total_delta!u:3} (T70, T90).",
            {
                "epsilon": self.training_goal.epsilon,
                "delta": self.training_goal.delta,
                "total": self.goal.epsilon,
                "total_delta": self.goal.delta,
            },
        )
        return (*self.preparation.why, share, *evaluation)

    @property
    def _evaluation_facts(self) -> tuple[Fact, ...]:
        assert self.evaluation is not None
        coins = Fact(
            "evaluation.coins",
            "A secret coin flip makes each record an evaluation record with probability {share:g}. The other stages do "
            "not read evaluation records, so the metrics can use all of epsilon and delta, at no additional privacy "
            "cost (T71).",
            {"share": self.holdout},
        )
        return (coins, *self.evaluation.why)

    @cached_property
    def stages(self) -> tuple[dict[str, object], ...]:
        """Stages of the release, with the records that each one reads and its epsilon at the delta of the goal."""
        rows: list[tuple[str, str, str, Event]] = [
            (TRAINING, "model", "Gaussian noise", self.training_event),
        ]
        if self.preparation is not None:
            rows.insert(0, (PREPARING, "private schema", self.preparation.noise, self.preparation.event))
        if self.evaluation is not None:
            rows.append((EVALUATING, "metrics", self.evaluation.noise, self.evaluation.event))
        return tuple(
            {
                "stage": name,
                "release": product,
                "records": self._records_of(name),
                "noise": noise,
                "epsilon_alone": account(event, self.goal.adjacency).epsilon(self.goal.delta),
                "delta_alone": self.goal.delta,
            }
            for name, product, noise, event in rows
        )

    def _records_of(self, stage: str) -> str:
        if not self.holdout:
            return "all records"
        share = self.holdout if stage == EVALUATING else 1 - self.holdout
        return f"{'evaluation' if stage == EVALUATING else 'training'} records, each with probability {share:g}"

    @property
    def public(self) -> dict[str, object]:
        """Public numbers of all stages."""
        return {
            **({} if self.preparation is None else {"preparation": self.preparation.public}),
            "training_epsilon": self.training_goal.epsilon,
            "training_delta": self.training_goal.delta,
            "stages": [dict(stage) for stage in self.stages],
            "holdout": self.holdout,
            **({} if self.evaluation is None else {"evaluation": self.evaluation.public}),
        }

    @property
    def facts(self) -> ReleaseFacts:
        """Facts of the release known before data are read."""
        return ReleaseFacts(
            goal=self.goal,
            event=self.event,
            noise="; ".join(f"{stage['stage']}: {stage['noise']}" for stage in self.stages),
            theorems=("T70", *self._preparation_theorems, *self._evaluation_theorems),
            public=self.public,
        )

    @property
    def _preparation_theorems(self) -> tuple[str, ...]:
        return () if self.preparation is None else ("T90", *self.preparation.theorems)

    @property
    def _evaluation_theorems(self) -> tuple[str, ...]:
        return () if self.evaluation is None else ("T71", *self.evaluation.theorems)

    def __str__(self) -> str:
        """Return the guarantee and the consequences, one per line."""
        return "\n".join([f"Plan for {self.goal}:", *(f"- {reason}" for reason in self.why)])


def _training_records(n: int | None, holdout: float) -> int | None:
    return None if n is None else max(math.floor(n * (1 - holdout)), 1)


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
