# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Whole models: clipped sums equal those of a loop over examples to 1e-6, by layers and by the whole model."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_naive import assert_same_sums, naive_clipped_sum

from dperm.torch.gradients.per_example import PerExampleGradients
from dperm.torch.gradients.sites import whole_model
from dperm.torch.model_checks.check import check_model


class Encoder(nn.Module):
    """A transformer with positions and a decoder tied to the embedding."""

    def __init__(self, *, functional_decoder: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.position = nn.Parameter(0.1 * torch.randn(1, 6, 8))
        layer = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.functional_decoder = functional_decoder
        self.decoder = nn.Linear(8, 11, bias=False)
        self.decoder.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.encoder(self.embedding(tokens) + self.position[:, : tokens.shape[1]])
        return functional.linear(hidden, self.embedding.weight) if self.functional_decoder else self.decoder(hidden)


class Reader(nn.Module):
    """An LSTM over tokens with a frozen embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 5).requires_grad_(False)
        self.lstm = nn.LSTM(5, 6, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(12, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.lstm(self.embedding(tokens))[0][:, -1])


class Vision(nn.Module):
    """Patches, a class token, positions that are added in place, a learned temperature."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(2, 8, 3, stride=3)
        self.token = nn.Parameter(torch.randn(1, 1, 8))
        self.position = nn.Parameter(torch.randn(1, 5, 8))
        self.layer = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True, norm_first=True)
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, 3)
        self.temperature = nn.Parameter(torch.tensor(0.2))

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)
        x += self.position
        return self.head(self.norm(self.layer(x)[:, 0])) * self.temperature.exp()


class Gate(nn.Module):
    """A layer that dperm does not know."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.strength = nn.Parameter(torch.randn(size))
        self.inner = nn.Linear(size, size)

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(self.inner(x) * self.strength)


class Shared(nn.Module):
    """One layer used three times, a frozen one in between."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.frozen = nn.Linear(6, 6), nn.Linear(6, 6).requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(self.frozen(self.layer(x).relu_()).relu_() + self.layer(x))


def convolutional() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3, stride=2, groups=2), nn.ELU(inplace=True), nn.Flatten(), nn.Linear(4, 3),
    )  # fmt: skip


def gated() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 6), nn.LeakyReLU(inplace=True), Gate(6), nn.Linear(6, 3))


def twice() -> nn.Module:
    gate = Gate(6)
    return nn.Sequential(gate, nn.Linear(6, 6), gate)


def sequence() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 6), nn.ReLU(inplace=True), nn.Linear(6, 3))


def tokens() -> Tensor:
    return torch.randint(0, 11, (4, 6))


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Tensor], str]] = {
    "cnn": (convolutional, lambda: torch.randn(4, 2, 6, 6), "rule"),
    "transformer": (lambda: Encoder(functional_decoder=False), tokens, "lifted rule substitute"),
    "transformer with functional decoder": (
        lambda: Encoder(functional_decoder=True),
        tokens,
        "lifted rule substitute",
    ),
    "lstm": (Reader, tokens, "rule substitute"),
    "vision transformer": (Vision, lambda: torch.randn(5, 2, 6, 6), "lifted rule substitute"),
    "unknown layer": (gated, lambda: torch.randn(4, 6), "lifted rule"),
    "unknown layer twice": (twice, lambda: torch.randn(4, 6), "lifted rule"),
    "sequence in place": (sequence, lambda: torch.randn(4, 5, 6), "rule"),
    "shared": (Shared, lambda: torch.randn(4, 6), "rule"),
}


def losses(model: nn.Module, x: Tensor) -> Tensor:
    out = model(x)
    target = torch.arange(out[0].numel() // out.shape[-1]).remainder(out.shape[-1]).expand(len(x), -1)
    return functional.cross_entropy(out.reshape(len(x), -1, out.shape[-1]).mT, target, reduction="none").mean(1)


def made(case: str, *, double: bool) -> tuple[nn.Module, Tensor]:
    torch.manual_seed(3)
    make, inputs, _ = MODELS[case]
    model, x = make(), inputs()
    return (model.double(), x.double() if x.is_floating_point() else x) if double else (model, x)


@pytest.mark.parametrize("clipping", ["flat", "per_layer", "normalized"])
@pytest.mark.parametrize("case", MODELS)
def test_clipped_sums_are_those_of_the_loop(case: str, clipping: str) -> None:
    model, x = made(case, double=False)
    sites = check_model(model, x)
    assert " ".join(sorted({site.method for site in sites})) == MODELS[case][2]
    expected = naive_clipped_sum(model, x, losses, 0.1, clipping)
    with PerExampleGradients(model, sites=sites) as gradients:
        for double in (False, True):
            found = gradients.clipped_sum(losses(model, x), clip_norm=0.1, clipping=clipping, double=double)
            complete = {p: found.get(p, torch.zeros_like(value)).double() for p, value in expected.items()}
            assert_same_sums(complete, expected, 1e-6)


@pytest.mark.parametrize("case", MODELS)
def test_the_whole_model_as_one_site_gives_the_same(case: str) -> None:
    model, x = made(case, double=True)
    expected = naive_clipped_sum(model, x, losses, 0.1)
    with PerExampleGradients(model, sites=whole_model(model, "")) as gradients:
        found = gradients.clipped_sum(losses(model, x), clip_norm=0.1)
        complete = {p: found.get(p, torch.zeros_like(value)) for p, value in expected.items()}
        assert_same_sums(complete, expected, 1e-6)
