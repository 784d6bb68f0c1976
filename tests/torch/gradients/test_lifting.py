# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bare parameters are lifted to one copy per example where supported; otherwise the module is recomputed."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_naive import assert_same_sums, naive_clipped_sum

from dperm.errors import AssumptionError
from dperm.torch.gradients.per_example import PerExampleGradients
from dperm.torch.model_checks.check import check_model

Forward = Callable[["Bare", Tensor], Tensor]


class Bare(nn.Module):
    """Parameters of several shapes, and a forward pass between two layers."""

    def __init__(self, forward: Forward) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)
        self.table = nn.Parameter(torch.randn(3, 4))
        self.one = nn.Parameter(torch.randn(1, 3, 4))
        self.token = nn.Parameter(torch.randn(1, 1, 4))
        self.vector = nn.Parameter(torch.randn(4))
        self.number = nn.Parameter(torch.tensor(0.3))
        self.matrix = nn.Parameter(torch.randn(4, 4))
        self.bias = nn.Parameter(torch.randn(4))
        self.frozen = nn.Parameter(torch.randn(4), requires_grad=False)
        self.register_buffer("mask", torch.tensor([True, False, True, True]))
        self._forward = [forward]

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self._forward[0](self, self.first(x)))


def overwritten(m: Bare, x: Tensor) -> Tensor:
    x += m.one
    x.mul_(m.vector)
    return x


def written(m: Bare, x: Tensor) -> Tensor:
    found = x.clone()
    found[:, 0] = m.vector
    return found


def transposed(m: Bare, x: Tensor) -> Tensor:
    return (x.transpose(0, 1) + m.table[:, None]).transpose(0, 1)


LIFTED: dict[str, Forward] = {
    "table": lambda m, x: x + m.table,
    "table with a dimension": lambda m, x: m.one + x,
    "part of a table": lambda m, x: x[:, :2] * m.one[:, :2],
    "token": lambda m, x: torch.cat([m.token.expand(len(x), -1, -1), x], 1),
    "repeated token": lambda m, x: torch.cat([m.token.repeat(x.shape[0], 1, 1), x], 1),
    "expanded like": lambda m, x: m.one.expand_as(x) * x,
    "scale": lambda m, x: x * m.vector,
    "difference": lambda m, x: m.vector - x,
    "temperature": lambda m, x: torch.exp(m.number) * x,
    "temperature as a divisor": lambda m, x: x / functional.softplus(m.number),
    "product": lambda m, x: x @ m.matrix,
    "product with transpose": lambda m, x: x @ m.matrix.t(),
    "product with T": lambda m, x: torch.matmul(x, m.matrix.T),
    "product with a function": lambda m, x: x @ m.matrix.tanh(),
    "linear": lambda m, x: functional.linear(x, m.matrix, m.bias),
    "linear without bias": lambda m, x: functional.linear(x, m.matrix),
    "linear with frozen bias": lambda m, x: functional.linear(x, m.matrix, m.frozen),
    "linear by keywords": lambda m, x: functional.linear(x, weight=m.matrix, bias=m.bias),
    "linear of a vector": lambda m, x: functional.linear(x[:, 0], m.matrix, m.bias)[:, None],
    "normalization": lambda m, x: functional.layer_norm(x, (4,), m.vector, m.bias),
    "einsum": lambda m, x: torch.einsum("btd,de->bte", x, m.matrix),
    "of parameters alone": lambda m, x: x + (m.matrix @ m.vector) * m.frozen * 2 + m.table.mean(0),
    "parts": lambda m, x: x * m.table.unbind(0)[1] + torch.stack([m.bias, m.vector]).sum(0),
    "where": lambda m, x: torch.where(m.mask, x, m.vector),
    "mask of values": lambda m, x: torch.where(x > m.number, x, m.vector),
    "used twice": lambda m, x: x * m.vector + m.vector,
    "tied to a layer": lambda m, x: m.first(x) @ m.first.weight.t() + m.first.bias,
    "indexed": lambda m, x: m.table[(x[:, :, 0] > 0).long()] + x,
    "embedding": lambda m, x: functional.embedding((x[:, :, 0] > 0).long(), m.table) + x,
    "overwritten": overwritten,
    "attention": lambda m, x: functional.scaled_dot_product_attention(x, x * m.vector, x @ m.matrix),
    "sizes": lambda m, x: x * m.vector.detach() + torch.zeros(m.vector.shape, dtype=x.dtype) + m.bias.reshape(-1),
}

RUN_AGAIN: dict[str, Forward] = {
    "written": written,
    "transposed": transposed,
    "handed to a layer": lambda m, x: x + m.first(m.table),
    "flattened": lambda m, x: (x.reshape(-1, 4) * m.vector).reshape(x.shape),
}


def made(forward: Forward) -> nn.Module:
    torch.manual_seed(1)
    return Bare(forward).double()


def losses(model: nn.Module, x: Tensor) -> Tensor:
    return model(x).flatten(1).square().sum(1)


@pytest.mark.parametrize("examples", [1, 3, 4], ids=lambda n: f"{n} examples")  # 3 tokens, 4 features: both collide
@pytest.mark.parametrize("case", [*LIFTED, *RUN_AGAIN])
def test_bare_parameters_have_the_gradients_of_the_loop(case: str, examples: int) -> None:
    model = made((LIFTED | RUN_AGAIN)[case])
    x = torch.randn(examples, 3, 4, dtype=torch.float64)
    sites = check_model(model, x)
    assert [site.method for site in sites if site.name == ""] == ["lifted" if case in LIFTED else "vmap"]
    expected = naive_clipped_sum(model, x, losses)
    with PerExampleGradients(model, sites=sites) as gradients:
        found = gradients.clipped_sum(losses(model, x))
    complete = {parameter: found.get(parameter, torch.zeros_like(value)) for parameter, value in expected.items()}
    assert_same_sums(complete, expected, 1e-7)


def test_a_forward_pass_that_differs_from_the_checked_one_is_refused() -> None:
    model = made(lambda m, x: x * m.vector if m.training else x + m.vector)
    x = torch.randn(3, 3, 4, dtype=torch.float64)
    sites = check_model(model, x)
    model.eval()
    with PerExampleGradients(model, sites=sites), pytest.raises(AssumptionError, match="another way"):
        model(x)
    model.train()
    with PerExampleGradients(model, sites=sites) as gradients:
        assert gradients.clipped_sum(losses(model, x))


def test_evaluation_inside_training_is_not_lifted() -> None:
    model = made(LIFTED["token"])
    x = torch.randn(3, 3, 4, dtype=torch.float64)
    with PerExampleGradients(model, sites=check_model(model, x)) as gradients, torch.no_grad():
        model(x)
        assert not gradients.tape.entries


def test_a_parameter_of_a_module_around_the_layers_that_use_it() -> None:
    class Inner(nn.Module):
        def __init__(self, owner: list[nn.Parameter]) -> None:
            super().__init__()
            self.owner, self.layer = owner, nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x * self.owner[0])

    class Owner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.linspace(0.5, 2, 4))
            self.inner = Inner([self.scale])

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x) + self.scale

    model = Owner().double()
    x = torch.randn(5, 4, dtype=torch.float64)
    sites = check_model(model, x)
    assert {site.name: site.method for site in sites} == {"": "lifted", "inner": "lifted", "inner.layer": "rule"}
    expected = naive_clipped_sum(model, x, losses)
    with PerExampleGradients(model, sites=sites) as gradients:
        assert_same_sums(gradients.clipped_sum(losses(model, x)), expected, 1e-7)


@pytest.mark.parametrize("examples", [3, 4, 5], ids=lambda n: f"{n} examples")
@pytest.mark.parametrize("size", [3, 4, 5], ids=lambda n: f"mask of {n}")
def test_a_mask_of_the_size_of_the_batch_is_no_batch(examples: int, size: int) -> None:
    class Attending(nn.Module):
        def __init__(self, *, plain: bool) -> None:
            super().__init__()
            self.scale, self.plain = nn.Parameter(torch.linspace(0.5, 2, 4)), plain

        def forward(self, x: Tensor, mask: Tensor) -> Tensor:
            if self.plain:
                return mask @ (x * self.scale)
            found = mask @ x
            found[:, 0] = self.scale
            return found + mask @ found

    class Masking(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([Attending(plain=True), Attending(plain=False)])
            self.register_buffer("mask", torch.randn(size, size))

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                x = layer(x, self.mask)
            return x

    torch.manual_seed(2)
    model, x = Masking().double(), torch.randn(examples, size, 4, dtype=torch.float64)
    sites = check_model(model, torch.zeros(7, size, 4, dtype=torch.float64))
    assert {site.name: site.method for site in sites} == {"layers.0": "lifted", "layers.1": "vmap"}
    expected = naive_clipped_sum(model, x, losses)
    with PerExampleGradients(model, sites=sites) as gradients:
        assert_same_sums(gradients.clipped_sum(losses(model, x)), expected, 1e-7)


def test_a_model_that_depends_on_the_size_of_the_batch_is_refused() -> None:
    model = made(lambda m, x: x * m.vector if len(x) == 3 else x + m.vector)
    with pytest.raises(AssumptionError, match="number of examples"):
        check_model(model, torch.zeros(3, 3, 4, dtype=torch.float64))
