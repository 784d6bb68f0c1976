# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Modules without a rule are recomputed for all kinds of arguments and outputs."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_naive import assert_engine_is_naive, assert_same_sums, naive_clipped_sum

from dperm.errors import AssumptionError
from dperm.torch.gradients.per_example import PerExampleGradients
from dperm.torch.gradients.sites import whole_model


class Scaled(nn.Module):
    """x times a parameter, with a frozen one and a buffer."""

    def __init__(self, size: int = 4) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 2, size))
        self.frozen = nn.Parameter(torch.linspace(1, 2, size), requires_grad=False)
        self.register_buffer("shift", torch.linspace(-1, 1, size))

    def forward(self, x: Tensor) -> Tensor:
        return (x * self.scale * self.frozen + self.shift).tanh()


class Several(nn.Module):
    """Returns two tensors, the second computed from the first, and a constant."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 2, 4))
        self.inner = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> dict[str, Any]:
        first = self.inner(x) * self.scale
        return {"first": first, "rest": [first.sin() * self.scale, None, 3]}


class Heads(nn.Module):
    """Uses all outputs of `Several`."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.last = Several(), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        found = self.layer(x)
        return self.last(found["first"].square() + found["rest"][0])


class Masked(nn.Module):
    """Takes arguments of all kinds; the mask is the same for all examples."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 2, 4))

    def forward(self, x: Tensor, power: int, *, mask: Tensor, gate: Tensor, name: str = "") -> Tensor:
        return torch.where(mask, (x * self.scale) ** power, x) * gate


class Calls(nn.Module):
    """Calls `Masked`."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = Masked()

    def forward(self, x: Tensor) -> Tensor:
        mask = torch.tensor([True, False, True, True])
        return self.layer(x, 3, mask=mask[None], gate=torch.tensor(2.0), name="a")


class Twice(nn.Module):
    """Uses one module twice, and a child of it once more."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = Several()

    def forward(self, x: Tensor) -> Tensor:
        once = self.layer(x)["first"].tanh()
        return self.layer(once)["first"] + self.layer.inner(once)


class View(nn.Module):
    """Returns a view, which the next layer overwrites."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 2, 4))

    def forward(self, x: Tensor) -> Tensor:
        return (x * self.scale).view(len(x), 2, 2).transpose(1, 2)


class InPlace(nn.Module):
    """Overwrites its input."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 2, 4))

    def forward(self, x: Tensor) -> Tensor:
        x *= self.scale
        return x.relu_()


class Branching(nn.Module):
    """Decides by a number of the example, which vmap cannot."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 2, 4))

    def forward(self, x: Tensor) -> Tensor:
        rows = [row * self.scale if float(row.sum().detach()) > 0 else row + self.scale for row in x]
        return torch.stack(rows)


def chain(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(4, 4), *layers)


MODELS = {
    "scaled": lambda: chain(Scaled(), nn.Linear(4, 2)),
    "several outputs": Heads,
    "all kinds of arguments": Calls,
    "twice": Twice,
    "view": lambda: chain(View(), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(4, 2)),
    "in place": lambda: chain(InPlace(), nn.Linear(4, 2)),
    "loop": lambda: chain(Branching(), nn.Linear(4, 2)),
    "parametrized": lambda: chain(nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))),
    "parametrized without bias": lambda: chain(nn.utils.parametrizations.orthogonal(nn.Linear(4, 4, bias=False))),
}


def losses(model: nn.Module, x: Tensor) -> Tensor:
    return model(x.clone()).flatten(1).square().sum(1)


def inputs() -> Tensor:
    return torch.linspace(-1, 2, 20, dtype=torch.float64).reshape(5, 4)


@pytest.mark.parametrize("double", [False, True], ids=["own precision", "double"])
@pytest.mark.parametrize("case", MODELS)
def test_modules_without_a_rule_have_the_gradients_of_the_loop(case: str, double: bool) -> None:
    torch.manual_seed(0)
    assert_engine_is_naive(MODELS[case]().double(), inputs(), losses, double=double)


@pytest.mark.parametrize("case", MODELS)
def test_the_whole_model_can_be_run_again(case: str) -> None:
    torch.manual_seed(0)
    model = MODELS[case]().double()
    expected = naive_clipped_sum(model, inputs(), losses)
    with PerExampleGradients(model, sites=whole_model(model, "")) as gradients:
        assert_same_sums(gradients.clipped_sum(losses(model, inputs())), expected, 1e-7)


def test_a_model_in_single_precision_keeps_it_when_sums_are_double() -> None:
    torch.manual_seed(0)
    model = chain(Scaled(), nn.Linear(4, 2))
    assert_engine_is_naive(model, inputs().float(), losses, double=True)


def test_old_weight_norm_leaves_no_trace() -> None:
    torch.manual_seed(0)
    with pytest.warns(FutureWarning):
        model = chain(nn.utils.weight_norm(nn.Linear(4, 3))).double()
    assert_engine_is_naive(model, inputs(), losses)
    assert not torch._C._functorch.is_functorch_wrapped_tensor(model[1].weight)


@pytest.mark.parametrize("dropout", [lambda x: functional.dropout(x, 0.5), nn.Dropout(0.5)], ids=["function", "module"])
@pytest.mark.parametrize("branching", [False, True], ids=["vmap", "loop"])
def test_a_random_module_without_a_rule_is_refused(dropout: Any, branching: bool) -> None:
    class Random(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(4))

        def forward(self, x: Tensor) -> Tensor:
            if branching and float(x.sum().detach()) > 1e9:
                return x
            return dropout(x * self.scale)

    model = chain(Random())
    state = torch.get_rng_state()
    with PerExampleGradients(model) as gradients:
        found = losses(model, inputs().float())
        state = torch.get_rng_state()
        with pytest.raises(AssumptionError, match=r"layer '1'.*eval mode"):
            gradients.clipped_sum(found)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_module_that_changes_a_buffer_is_refused() -> None:
    class Counting(Scaled):
        def forward(self, x: Tensor) -> Tensor:
            self.shift += 1
            return super().forward(x)

    model = chain(Counting())
    with PerExampleGradients(model), pytest.raises(AssumptionError, match=r"1\.shift.*eval mode"):
        model(inputs().float())


def test_a_module_without_rows_in_its_output_is_refused() -> None:
    class Total(Scaled):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x).sum()

    model = Total()
    with PerExampleGradients(model), pytest.raises(AssumptionError, match="first dimension"):
        model(inputs().float())


def test_a_module_that_needs_a_batch_is_refused() -> None:
    class Pairs(Scaled):
        def forward(self, x: Tensor) -> Tensor:
            assert len(x) > 1
            return super().forward(x)

    model = chain(Pairs())
    with PerExampleGradients(model) as gradients, pytest.raises(AssumptionError, match="one example alone"):
        gradients.clipped_sum(losses(model, inputs().float()))


def test_passes_without_gradient_are_ignored_and_errors_leave_nothing_behind() -> None:
    model = chain(Scaled(), nn.Linear(4, 2)).double()
    expected = naive_clipped_sum(model, inputs(), losses)
    with PerExampleGradients(model) as gradients:
        with torch.no_grad():
            model(inputs())
        with pytest.raises(RuntimeError):
            model(inputs()[:, :2])
        assert_same_sums(gradients.clipped_sum(losses(model, inputs())), expected, 1e-7)
    assert all(not module._forward_hooks and not module._forward_pre_hooks for module in model.modules())
    copy.deepcopy(model)


def test_a_parameter_that_is_used_where_nobody_looks_is_refused() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x) @ self.layer.weight

    model = Tied()
    with PerExampleGradients(model), pytest.raises(AssumptionError, match=r"'layer\.weight'.*check_model"):
        model(inputs().float())


def test_hooks_of_the_user_that_change_outputs_and_inputs_are_seen() -> None:
    torch.manual_seed(0)
    model = chain(Scaled(), nn.Linear(4, 2)).double()
    for layer in model:
        layer.register_forward_hook(lambda _, args, output: 2 * output)
        layer.register_forward_pre_hook(lambda _, args: (args[0].sin(),))
    assert_engine_is_naive(model, inputs(), losses)


def test_an_object_without_visible_tensors_is_refused() -> None:
    class Wrapped(Scaled):
        def forward(self, x: Tensor) -> Any:
            return iter([super().forward(x)])

    model = Wrapped()
    with PerExampleGradients(model), pytest.raises(AssumptionError, match="returns an object"):
        model(inputs().float())
