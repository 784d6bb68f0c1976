# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The elementary events that are not sampled."""

import math
from dataclasses import dataclass
from typing import ClassVar

from dperm import checks
from dperm.accounting import rdp
from dperm.accounting.event import Json, Orders, SingleEvent
from dperm.accounting.laws.atomic import AtomicLoss, randomized_response_loss, response_loss
from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.accounting.laws.laplace import LaplaceLoss
from dperm.errors import AdjacencyError, ConversionError
from dperm.privacy.adjacency import Adjacency, Direction

MULTIPLIER = "Give the noise's standard deviation (Laplace: scale) over the sensitivity of one record added or removed."

MULTIPLIERS = (1e-2, 1e10)  # below, epsilon is in the thousands; beyond, a statistic is all noise
LARGEST_EPSILON = 500.0


def sensitivity(direction: Direction) -> float:
    """Sensitivity in units of one record added or removed: replacing a record is one removal and one addition."""
    return 2.0 if direction is Direction.REPLACE else 1.0


def _relative_sensitivity(adjacency: Adjacency) -> float:
    return sensitivity(adjacency.directions[0])


@dataclass(frozen=True)
class Gaussian(SingleEvent):
    """The Gaussian mechanism: N(0, (noise_multiplier * s)^2 I) on a statistic that one record moves by s in L2 (T6)."""

    noise_multiplier: float
    kind: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        """Check and accept numpy scalars."""
        object.__setattr__(
            self,
            "noise_multiplier",
            checks.between("noise_multiplier", self.noise_multiplier, *MULTIPLIERS, MULTIPLIER),
        )

    def law(self, direction: Direction) -> GaussianLoss:
        """T6 with mu = sensitivity / sigma."""
        return GaussianLoss(sensitivity(direction) / self.noise_multiplier)

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """T16."""
        return rdp.gaussian_rdp(orders, self.noise_multiplier, _relative_sensitivity(adjacency))

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """T6, T19."""
        return ("T6", "T19")

    def fields(self) -> Json:
        """The multiplier."""
        return {"noise_multiplier": self.noise_multiplier}


@dataclass(frozen=True)
class Laplace(SingleEvent):
    """The Laplace mechanism: scale noise_multiplier * s on a statistic that one record moves by s in L1 (T5)."""

    noise_multiplier: float
    kind: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        """Check and accept numpy scalars."""
        object.__setattr__(
            self,
            "noise_multiplier",
            checks.between("noise_multiplier", self.noise_multiplier, *MULTIPLIERS, MULTIPLIER),
        )

    def law(self, direction: Direction) -> LaplaceLoss:
        """T5 with epsilon = sensitivity / b: the one-dimensional shift dominates (the L1 ball's extreme points)."""
        return LaplaceLoss(sensitivity(direction) / self.noise_multiplier)

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """T16."""
        return rdp.laplace_rdp(orders, self.noise_multiplier, _relative_sensitivity(adjacency))

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """T5."""
        return ("T5",)

    def fields(self) -> Json:
        """The multiplier."""
        return {"noise_multiplier": self.noise_multiplier}


@dataclass(frozen=True)
class Approximate(SingleEvent):
    """Any (epsilon, delta)-DP mechanism, known only by its guarantee, under the adjacency for which that was proved.

    It is accounted by the law that dominates all of them (T14). An add/remove guarantee is read under replace-one by
    T4; a replace-one guarantee says nothing under add/remove.
    """

    epsilon: float
    delta: float
    adjacency: Adjacency
    kind: ClassVar[str] = "approximate"

    def __post_init__(self) -> None:
        """Check and accept numpy scalars and the adjacency's string."""
        object.__setattr__(self, "epsilon", checks.between("epsilon", self.epsilon, 0.0, LARGEST_EPSILON))
        object.__setattr__(self, "delta", checks.small_delta("delta", self.delta))
        object.__setattr__(self, "adjacency", Adjacency.of(self.adjacency))

    def reading(self, adjacency: Adjacency) -> Adjacency:
        """Refuse the conversion that does not exist (T4)."""
        return _declared_reading(self, adjacency)

    def law(self, direction: Direction) -> AtomicLoss:
        """T14; under replace-one from an add/remove guarantee (2 epsilon, delta (1 + e^epsilon)) by T4."""
        if direction is Direction.REPLACE and self.adjacency is Adjacency.ADD_REMOVE:
            delta = min(self.delta * (1 + math.exp(self.epsilon)) * (1 + 1e-15), 1.0)  # 1: nothing is promised
            return response_loss(2 * self.epsilon, delta)
        return response_loss(self.epsilon, self.delta)

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """Pure only (T16, T20)."""
        if self.delta:
            raise ConversionError(
                f"{self} has delta > 0: no RDP curve follows from it (T20). Use account(), which needs none, or a "
                f"mechanism with a pure guarantee."
            )
        doubled = adjacency is not self.adjacency
        return rdp.pure_rdp(orders, self.epsilon * (2 if doubled else 1))

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """T14, and T4 where it is converted."""
        return ("T14",) if adjacency is self.adjacency else ("T14", "T4")

    def fields(self) -> Json:
        """Both parameters and the adjacency."""
        return {"epsilon": self.epsilon, "delta": self.delta, "adjacency": self.adjacency.value}


@dataclass(frozen=True)
class Pure(SingleEvent):
    """Any epsilon-DP mechanism, known only by its guarantee (T13): `Approximate` with delta = 0."""

    epsilon: float
    adjacency: Adjacency
    kind: ClassVar[str] = "pure"

    def __post_init__(self) -> None:
        """Check and accept numpy scalars and the adjacency's string."""
        object.__setattr__(self, "epsilon", checks.between("epsilon", self.epsilon, 0.0, LARGEST_EPSILON))
        object.__setattr__(self, "adjacency", Adjacency.of(self.adjacency))

    @property
    def _general(self) -> Approximate:
        return Approximate(self.epsilon, 0.0, self.adjacency)

    def reading(self, adjacency: Adjacency) -> Adjacency:
        """As for `Approximate`."""
        return _declared_reading(self, adjacency)

    def law(self, direction: Direction) -> AtomicLoss:
        """Randomised response dominates (T13)."""
        return self._general.law(direction)

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """T16."""
        return self._general.rdp(orders, adjacency)

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """T13, and T4 where it is converted."""
        return ("T13",) if adjacency is self.adjacency else ("T13", "T4")

    def fields(self) -> Json:
        """Epsilon and the adjacency."""
        return {"epsilon": self.epsilon, "adjacency": self.adjacency.value}


def _declared_reading(event: Pure | Approximate, adjacency: Adjacency) -> Adjacency:
    if adjacency is Adjacency.ADD_REMOVE and event.adjacency is Adjacency.REPLACE_ONE:
        raise AdjacencyError(
            f'{event} was declared under adjacency="replace_one" and asked for under "add_remove": a replace-one '
            f"guarantee says nothing about data sets of different size (T4). Account the composition under "
            f'"replace_one", or declare an add_remove guarantee.'
        )
    return adjacency


@dataclass(frozen=True)
class RandomizedResponse(SingleEvent):
    """Each record is answered locally: kept with probability e^eps/(e^eps + k - 1), else another of k values (T9)."""

    epsilon: float
    values: int = 2
    kind: ClassVar[str] = "randomized_response"

    def __post_init__(self) -> None:
        """Check and accept numpy scalars."""
        object.__setattr__(self, "epsilon", checks.between("epsilon", self.epsilon, 0.0, LARGEST_EPSILON))
        object.__setattr__(
            self, "values", checks.count("values", self.values, "It is the number of answers, at least 2.", least=2)
        )

    def reading(self, adjacency: Adjacency) -> Adjacency:
        """Local: the number of answers is the number of records, so it is public."""
        if adjacency is Adjacency.ADD_REMOVE:
            raise AdjacencyError(
                "randomized response is local: every record sends an answer, so their number is public and only "
                'adjacency="replace_one" is proved (T9), got "add_remove". Account it under "replace_one".'
            )
        return adjacency

    def law(self, direction: Direction) -> AtomicLoss:
        """T9."""
        return randomized_response_loss(self.epsilon, self.values)

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """T9."""
        return rdp.randomized_response_rdp(orders, self.epsilon, self.values)

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """T9."""
        return ("T9",)

    def fields(self) -> Json:
        """Epsilon and the number of values."""
        return {"epsilon": self.epsilon, "values": self.values}
