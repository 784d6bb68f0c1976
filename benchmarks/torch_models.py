# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Models that benchmarks/torch_engine.py times, each with a batch of random data."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

WIDE, TOKENS, VOCABULARY = 128, 64, 5000


@dataclass(frozen=True)
class Case:
    """A model, its batch, the targets of the project, and Opacus' variant of the model if it needs one."""

    name: str
    make: Callable[[], nn.Module]
    data: Callable[[], tuple[Tensor, Tensor]]
    bar: float
    peer_bar: float
    peer: Callable[[], nn.Module] | None = None
    compiled_bar: float | None = None


class Encoder(nn.Module):
    """Embedded tokens and positions, two transformer encoder layers, mean over tokens, two classes."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDE)
        self.places = nn.Embedding(TOKENS, WIDE)
        layer = nn.TransformerEncoderLayer(WIDE, 4, dim_feedforward=512, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(WIDE, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits."""
        places = torch.arange(tokens.shape[1]).repeat(len(tokens), 1)  # Opacus' ghost mode needs them contiguous
        embedded = self.tokens(tokens) + self.places(places)
        return self.out(self.layers(embedded).mean(1))


class Recurrent(nn.Module):
    """An LSTM over a sequence of vectors, with a classifier on its last output."""

    def __init__(self, make: Callable[..., nn.Module] = nn.LSTM) -> None:
        super().__init__()
        self.lstm = make(64, 64, batch_first=True)
        self.out = nn.Linear(64, 2)

    def forward(self, steps: Tensor) -> Tensor:
        """Logits."""
        return self.out(self.lstm(steps)[0][:, -1])


def small_cnn() -> nn.Module:
    """The network of Opacus' MNIST example."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, padding=3),
        nn.ReLU(),
        nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, 2),
        nn.ReLU(),
        nn.MaxPool2d(2, 1),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 32),
        nn.ReLU(),
        nn.Linear(32, 10),
    )


def peer_recurrent() -> nn.Module:
    """The same model with Opacus' own LSTM, which its gradient rules require."""
    from opacus.layers import DPLSTM

    return Recurrent(DPLSTM)


def peer_encoder() -> nn.Module:
    """The same model with Opacus' own attention, which its gradient rules require."""
    from opacus.validators import ModuleValidator

    return ModuleValidator.fix(Encoder())


def vectors(batch: int, *shape: int, classes: int) -> Callable[[], tuple[Tensor, Tensor]]:
    """Normal features and random classes."""
    return lambda: (torch.randn(batch, *shape), torch.randint(0, classes, (batch,)))


CASES = (
    Case("logreg", lambda: nn.Linear(100, 2), vectors(256, 100, classes=2), 1.25, 2.3, compiled_bar=0.65),
    Case(
        "MLP",
        lambda: nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)),
        vectors(512, 784, classes=10),
        1.25,
        1.8,
        compiled_bar=1.15,
    ),
    Case("CNN", small_cnn, vectors(256, 1, 28, 28, classes=10), 1.15, 1.15, compiled_bar=0.9),
    Case(
        "transformer",
        Encoder,
        lambda: (torch.randint(0, VOCABULARY, (64, TOKENS)), torch.randint(0, 2, (64,))),
        1.3,
        1.7,
        peer_encoder,
        1.25,
    ),
    Case("LSTM", Recurrent, vectors(64, 64, 64, classes=2), 1.9, 5.0, peer_recurrent),
)
