# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Clipped gradients of canaries, computed by PyTorch's vmap, independently of the audited gradient engine."""

import copy
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from dperm.torch.audit.canaries import Pairs
from dperm.torch.gradients.clipping import STABLE, Clipping
from dperm.torch.loss_functions import PerExample

Values = Mapping[str, Tensor]
MOST_ENTRIES = 2**23
"""Largest number of gradient entries in memory."""


@dataclass(frozen=True)
class ShadowModel:
    """Copy of a model in evaluation mode, without the hooks of a training run, evaluated at any parameters."""

    model: nn.Module
    loss: PerExample

    @classmethod
    def of(cls, model: nn.Module, loss: PerExample) -> "ShadowModel":
        """Return a copy of ``model``; call this before the model is attached."""
        return cls(copy.deepcopy(model).eval(), loss)

    def losses(self, values: Values, records: Pairs) -> Tensor:
        """Return one loss for each record, in double precision."""
        self._take(values)
        with torch.no_grad():
            return self.loss(self.model(records[0]), records[1]).double().cpu()

    def gradients(self, values: Values, records: Pairs) -> Iterator[dict[str, Tensor]]:
        """Yield the per-example gradients by parameter name, for some records at a time."""
        self._take(values)
        rows = max(1, MOST_ENTRIES // max(1, sum(value.numel() for value in values.values())))
        for inputs, targets in zip(records[0].split(rows), records[1].split(rows), strict=True):
            yield self._by_vmap(dict(values), inputs, targets)

    def _by_vmap(self, values: dict[str, Tensor], inputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        def single(values: dict[str, Tensor], one: Tensor, target: Tensor) -> Tensor:
            return self.loss(functional_call(self.model, values, (one[None],)), target[None])[0]

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about slow fallbacks of layers
                found: dict[str, Tensor] = vmap(grad(single), in_dims=(None, 0, 0))(values, inputs, targets)
                return found
        except RuntimeError:  # vmap does not support some layer
            return self._one_by_one(list(values), inputs, targets)

    def _one_by_one(self, names: list[str], inputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        trained = [self.model.get_parameter(name) for name in names]
        rows = []
        for place in range(len(inputs)):
            loss = self.loss(self.model(inputs[place : place + 1]), targets[place : place + 1])[0]
            rows.append(torch.autograd.grad(loss, trained, allow_unused=True, materialize_grads=True))
        return {name: torch.stack(own) for name, own in zip(names, zip(*rows, strict=True), strict=True)}

    def _take(self, values: Values) -> None:
        with torch.no_grad():
            for name, value in values.items():
                self.model.get_parameter(name).copy_(value)


def flat_clipped(gradients: Values, clip_norm: float, clipping: Clipping) -> Tensor:
    """Return a row for each record: its flattened, clipped gradient, in units of the clipping norm."""
    if clipping is not Clipping.PER_LAYER:
        return _clipped(_flat(list(gradients.values())), clip_norm, clipping)
    layers: dict[str, list[Tensor]] = {}
    for name, value in gradients.items():
        layers.setdefault(name.rpartition(".")[0], []).append(value)
    share = len(layers) ** -0.5
    return torch.cat([_clipped(_flat(own), clip_norm * share, clipping) * share for own in layers.values()], dim=1)


def _flat(values: list[Tensor]) -> Tensor:
    return torch.cat([value.flatten(1) for value in values], dim=1)


def _clipped(rows: Tensor, clip_norm: float, clipping: Clipping) -> Tensor:
    norms: Tensor = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    shortened = norms + STABLE * clip_norm if clipping is Clipping.NORMALIZED else norms.clamp(min=clip_norm)
    return rows / shortened
