# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of layers and methods."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from dperm.torch.model_checks.description import describe


class Model(nn.Module):
    """A model with a layer of every kind."""

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
    """A module that vmap cannot run, around a layer."""

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


def test_without_inputs_only_a_run_can_tell_of_bare_parameters() -> None:
    unknown = {"(model)": "known with inputs", "branches": "known with inputs", "branches.inner": "rule"}
    assert describe(Model()).methods == {**METHODS, **unknown}


def test_layers_that_are_refused_are_said_to_be() -> None:
    model = nn.Sequential(
        nn.Linear(4, 4), nn.BatchNorm1d(4), nn.BatchNorm1d(4, affine=False), nn.Embedding(3, 4, 0, 1.0)
    )
    found = describe(model)
    assert found.methods == {"0": "rule", "1": "refused", "2": "refused", "3": "refused"}
    assert "statistics of the whole batch" in found.rows[1].why and "." not in found.rows[1].why
    assert describe(model.eval()).methods["1"] == "known with inputs"


class Positions(nn.Module):
    """Looks up positions once for all examples, or for each."""

    def __init__(self, *, each: bool) -> None:
        super().__init__()
        self.each, self.position, self.layer = each, nn.Embedding(5, 4), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        at = torch.arange(5).expand(len(x), 5) if self.each else torch.arange(5)
        return self.layer(x + self.position(at))


def test_a_lookup_that_all_examples_share_is_slow_and_says_what_is_quick() -> None:
    inputs = torch.zeros(3, 5, 4)
    shared = describe(Positions(each=False), inputs).rows
    assert {row.method for row in shared} == {"whole model vmap"}
    assert "'position' is looked up once" in shared[0].why and "expand(len(x), T)" in shared[0].why
    assert {row.method for row in describe(Positions(each=True), inputs).rows} == {"substitute", "rule"}


def test_html_is_escaped() -> None:
    kind = type("A<b>", (nn.Linear,), {})
    assert "A&lt;b&gt;" in describe(nn.Sequential(kind(2, 2)))._repr_html_()


def test_a_training_also_says_whether_there_are_kernels() -> None:
    table = describe(nn.Linear(2, 2))
    shown = replace(table, kernels="no native kernels: <none>")
    assert str(shown) == f"{table}\nno native kernels: <none>"
    assert shown._repr_html_() == f"{table._repr_html_()}<p>no native kernels: &lt;none&gt;</p>"
