# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What `attach` says about models that it cannot check, and what it does when public examples are given."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dperm.errors import AssumptionError, ParameterError
from dperm.torch import DPSGD


class Picky(nn.Linear):
    """Runs on large numbers only, and notes what it saw."""

    seen: list[Tensor]

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append(x.detach().clone())
        if bool((x < 7).any()):
            raise ValueError("a number below seven")
        return super().forward(x)


PICKY_DATA = (torch.arange(100.0, 180.0).reshape(20, 4), torch.zeros(20))
PUBLIC = torch.arange(7.0, 19.0).reshape(3, 4)


def attached(model: nn.Module, data: Any = PICKY_DATA, **options: Any) -> Any:
    plan = DPSGD(1.0, rate=0.5, steps=2, grade="fast").plan(20, 2.0, 1e-3)
    return plan.attach(model, torch.optim.SGD(model.parameters(), lr=0.1), data, **options)


def picky() -> Picky:
    model = Picky(4, 1)
    object.__setattr__(model, "seen", Notes())
    return model


class Notes:
    """What the model saw; no container of the model's."""

    def __init__(self) -> None:
        self.values: list[Tensor] = []

    def append(self, value: Tensor) -> None:
        self.values.append(value)


def test_the_options_that_a_refusal_names_are_there() -> None:
    with pytest.raises(
        ParameterError, match=r"ValueError: a number below seven.*example_inputs.*public_inputs"
    ) as caught:
        attached(picky(), example_inputs=(PUBLIC,)).__enter__()
    assert isinstance(caught.value.__cause__, ValueError)


def test_public_inputs_are_used_as_they_are() -> None:
    model = picky()
    with attached(model, example_inputs=(PUBLIC,), public_inputs=True, rehearsal=False) as private:
        rows = {tuple(row.tolist()) for value in model.seen.values for row in value}
        assert rows == {tuple(row.tolist()) for row in PUBLIC}
        assert private.describe().methods


def test_public_inputs_must_be_given() -> None:
    with pytest.raises(ParameterError, match="declares example_inputs public, but none are given"):
        attached(nn.Linear(4, 1), public_inputs=True)


@pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")  # of torch, when it imports its compiler
def test_a_compiled_model_is_refused() -> None:
    with pytest.raises(AssumptionError, match=r"Pass the uncompiled model; private\.compiled\(loss\)"):
        attached(torch.compile(nn.Linear(4, 1))).__enter__()


def test_training_under_autocast_goes_on() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
    with attached(model, rehearsal=False) as private:
        for x, _ in private:
            with torch.autocast("cpu", dtype=torch.float16):
                losses = model(x / 100)[:, 0].float().square()
            private.step(losses)
    assert private.release and all(bool(value.isfinite().all()) for value in model.parameters())


def test_backward_is_not_for_the_loop() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
    with (
        pytest.raises(ParameterError, match=r"Do not call backward\(\) yourself"),
        attached(model, rehearsal=False) as private,
    ):
        for x, _ in private:
            losses = model(x / 100)[:, 0].square()
            losses.mean().backward()
            private.step(losses)
