# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The table of layers and methods."""

import torch
from torch import Tensor, nn

from dperm.torch.engine.describe import describe


class Model(nn.Module):
    """A layer of every kind."""

    def __init__(self) -> None:
        super().__init__()
        self.position = nn.Parameter(torch.randn(3, 4))
        self.linear = nn.Linear(4, 4)
        self.frozen = nn.Linear(4, 4).requires_grad_(False)
        self.tied = nn.Linear(4, 4, bias=False)
        self.tied.weight = self.linear.weight
        self.norm = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))
        self.attention = nn.MultiheadAttention(4, 1, batch_first=True)
        self.branches = Branches()
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        x = self.tied(self.frozen(self.linear(x) + self.position))
        return self.branches(self.attention(x, x, x)[0] + self.norm(self.relu(x)))


class Branches(nn.Module):
    """What vmap cannot run, around a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
        self.inner = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([row * self.scale if float(row.detach().sum()) > 0 else self.inner(row) for row in x])


METHODS = {
    "(model)": "lifted",
    "linear": "rule",
    "frozen": "frozen",
    "tied": "rule",
    "norm": "vmap",
    "attention": "substitute",
    "branches": "loop",
    "branches.inner": "loop",
}


def test_every_layer_with_parameters_has_a_row() -> None:
    found = describe(Model(), torch.zeros(3, 3, 4))
    assert found.methods == METHODS
    total = sum(parameter.numel() for parameter in Model().parameters())
    assert sum(row.parameters for row in found.rows) == total
    assert sum(row.trained for row in found.rows) == total - 20


def test_the_table_is_aligned_and_says_why() -> None:
    lines = str(describe(Model(), torch.zeros(3, 3, 4))).splitlines()
    assert len(lines) == len(METHODS) + 3
    assert lines[0].split() == ["layer", "type", "parameters", "trained", "method", "why"]
    column = lines[0].index("method")
    assert all(line[column - 1] == " " and line[column] != " " for line in lines[:-1])
    text = "\n".join(lines)
    assert "vmap cannot run it" in text and "inside 'branches'" in text and "shares parameters" in text


def test_without_inputs_bare_parameters_count_as_not_understood() -> None:
    assert set(describe(Model()).methods.values()) == {"whole model vmap", "frozen"}


def test_html_is_escaped() -> None:
    kind = type("A<b>", (nn.Linear,), {})
    assert "A&lt;b&gt;" in describe(nn.Sequential(kind(2, 2)))._repr_html_()
