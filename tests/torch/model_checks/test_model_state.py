# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Models that keep data of examples are refused, and restored."""

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dperm.errors import AssumptionError
from dperm.torch.model_checks.check import check_model


class Keeper(nn.Module):
    """A model that stores a function of the batch."""

    def __init__(self, keep: Callable[[Any, Tensor], None]) -> None:
        super().__init__()
        self.keep, self.layer = keep, nn.Linear(4, 2)
        self.register_buffer("buffer", torch.zeros(2))
        self.last: Any = None
        self.plain, self.calls, self.mode = torch.zeros(2), 0, "on"
        self.seen: list[Any] = []
        self.by_name: dict[str, Any] = {"hidden": None, "inner": {}}
        self.some: set[int] = set()
        self.recent: deque[Any] = deque([None], maxlen=1)

    def forward(self, x: Tensor) -> Tensor:
        found = self.layer(x)
        self.keep(self, found)
        return found


def first_only(own: Any, found: Tensor) -> None:
    if own.last is None:
        own.last = found[0].detach()


KEPT = {
    "copied into a buffer": (lambda own, found: own.buffer.copy_(found.detach()[0]), "buffer"),
    "bound to a buffer": (lambda own, found: setattr(own, "buffer", found[0].detach().clone()), "buffer"),
    "new buffer": (lambda own, found: own.register_buffer("other", found[0].detach()), "other"),
    "parameter": (lambda own, found: own.layer.bias.data.copy_(found.detach()[0]), "layer.bias"),
    "attribute": (lambda own, found: setattr(own, "last", found), "last"),
    "first batch": (first_only, "last"),
    "copied into an attribute": (lambda own, found: own.plain.copy_(found.detach()[0]), "plain"),
    "counted in an attribute": (lambda own, found: own.plain.add_(1), "plain"),
    "on a layer": (lambda own, found: setattr(own.layer, "input", found), "layer.input"),
    "object": (lambda own, found: setattr(own, "last", torch.distributions.Normal(found, 1.0)), "last"),
    "list": (lambda own, found: own.seen.append(found), "seen"),
    "list of numbers": (lambda own, found: own.seen.append(float(found.detach().sum())), "seen"),
    "dict": (lambda own, found: own.by_name.update(hidden=found), "by_name"),
    "nested dict": (lambda own, found: own.by_name["inner"].update({len(own.by_name["inner"]): 1}), "by_name"),
    "set": (lambda own, found: own.some.add(len(own.some)), "some"),
    "deque": (lambda own, found: own.recent.append(found), "recent"),
}


@pytest.mark.parametrize("case", KEPT)
def test_models_that_keep_examples_are_refused_and_restored(case: str) -> None:
    keep, name = KEPT[case]
    model = Keeper(keep)
    bias, names = model.layer.bias.detach().clone(), (set(vars(model)), set(vars(model.layer)))
    with pytest.raises(AssumptionError, match=f"forward pass changes the .*'{name}'.*private data"):
        check_model(model, torch.zeros(3, 4))
    assert torch.equal(model.layer.bias, bias) and (set(vars(model)), set(vars(model.layer))) == names
    assert list(model._buffers) == ["buffer"] and not bool(model.buffer.any()) and not bool(model.plain.any())
    assert (model.last, model.seen, model.by_name) == (None, [], {"hidden": None, "inner": {}})
    assert (model.some, list(model.recent)) == (set(), [None])


def made_once(own: Any, found: Tensor) -> None:
    """A table that depends on no example."""
    own.last = torch.arange(found.shape[1]) if own.last is None else own.last
    own.by_name.setdefault("width", found.shape[1])


def counted(own: Any, found: Tensor) -> None:
    own.calls, own.some_number, own.mode, own.type = own.calls + 1, float(len(found)), "off", found.dtype


@pytest.mark.parametrize("keep", [made_once, counted], ids=["table", "counters"])
def test_counters_and_tables_may_be_kept(keep: Callable[[Any, Tensor], None]) -> None:
    model = Keeper(keep)
    assert check_model(model, torch.zeros(3, 4))
    assert (model.calls, model.last, model.mode) == (0, None, "on") and "width" not in model.by_name
    assert not hasattr(model, "some_number")


def test_what_cannot_be_told_from_examples_is_refused() -> None:
    class Flags(nn.Module):
        """Booleans alone: two batches may have rows in common."""

        def __init__(self) -> None:
            super().__init__()
            self.layer, self.table = nn.Linear(1, 2), None

        def forward(self, x: Tensor) -> Tensor:
            self.table = torch.arange(2)
            return self.layer(x.float())

    with pytest.raises(AssumptionError, match="'table'"):
        check_model(Flags(), torch.zeros(3, 1, dtype=torch.bool))


def test_sparse_tables_and_computed_weights_are_no_examples() -> None:
    class Graph(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))
            self.edges = torch.eye(4).to_sparse()

        def forward(self, x: Tensor) -> Tensor:
            return (self.edges @ self.layer(x).t()).t()

    assert check_model(Graph(), torch.zeros(3, 4))
