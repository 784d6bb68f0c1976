# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Per-example gradients whose dimensions are in another order than the parameter has: only their sum is rearranged."""

from dataclasses import dataclass

from torch import Tensor

from dperm.torch.engine.factors import Factor
from dperm.torch.engine.sums import Onto


@dataclass(frozen=True, slots=True)
class Arranged:
    """The gradients of ``factor``: dimension i of the parameter is dimension ``order[i]`` of what it holds."""

    factor: Factor
    order: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameter."""
        return tuple(self.factor.shape[dim] for dim in self.order)

    def squared_norms(self) -> Tensor:
        """The same in any order."""
        return self.factor.squared_norms()

    def spread(self) -> Tensor | None:
        """The same in any order."""
        return self.factor.spread()

    def weighted(self, weights: Tensor) -> Tensor:
        """The sum, rearranged."""
        return self.factor.weighted(weights).permute(self.order).contiguous()

    def add_weighted(self, weights: Tensor, onto: Onto) -> None:
        """The same, added to what is there."""
        onto.total(self.weighted(weights))

    def dense(self) -> Tensor:
        """All of them rearranged, as a view."""
        return self.factor.dense().permute(0, *[1 + dim for dim in self.order])

    def masked(self, keep: Tensor) -> "Arranged":
        """Zeros where not kept."""
        return Arranged(self.factor.masked(keep), self.order)
