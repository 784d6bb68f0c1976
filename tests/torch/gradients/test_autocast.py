# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Models in half precision under autocast: gradients are clipped in single precision."""

import pytest
import torch
from torch import Tensor, nn

from dperm.torch.gradients.per_example import PerExampleGradients
from dperm.torch.gradients.precision import AutocastState, without_autocast
from dperm.torch.model_checks.check import check_model


class Recurrent(nn.Module):
    """A layer, whose result is in half precision, and a scan over it."""

    def __init__(self, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.first, self.scan = nn.Linear(4, 4), kind(4, 3, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.scan(self.first(x))[0]


class Attention(nn.Module):
    """A layer and attention."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.attention = nn.Linear(4, 4), nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(*[self.first(x)] * 3)[0]


class Bare(nn.Module):
    """Parameters without a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.position, self.first = nn.Parameter(torch.randn(5, 4)), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.first(x + self.position) @ self.position.t()


MODELS = {
    "linear": lambda: nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2)),
    "convolution": lambda: nn.Sequential(nn.Conv1d(5, 3, 2), nn.PReLU(), nn.Flatten(), nn.Linear(9, 2)),
    "norm": lambda: nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 4)),
    "again": lambda: nn.Sequential(nn.Linear(4, 4), nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))),
    "lstm": lambda: Recurrent(nn.LSTM),
    "gru": lambda: Recurrent(nn.GRU),
    "rnn": lambda: Recurrent(nn.RNN),
    "attention": Attention,
    "bare": Bare,
}


@pytest.mark.parametrize("inside", [False, True], ids=["step outside", "step inside"])
@pytest.mark.parametrize("case", MODELS)
def test_gradients_under_autocast_are_clipped_in_single_precision(case: str, inside: bool) -> None:
    torch.manual_seed(0)
    model, x = MODELS[case](), torch.randn(3, 5, 4)

    def losses() -> Tensor:
        found = model(x).flatten(1).float().square()
        return (found * torch.arange(1, 1 + found.shape[1])).sum(1)

    with PerExampleGradients(model, sites=check_model(model, x)) as gradients:
        expected = gradients.clipped_sum(losses())
        with torch.autocast("cpu", dtype=torch.float16):
            half = losses()
            found = gradients.clipped_sum(half) if inside else None
        found = found or gradients.clipped_sum(half)
    norm = torch.stack([value.norm() for value in expected.values()]).norm()
    for parameter, value in expected.items():
        assert found[parameter].dtype is torch.float32
        assert float((found[parameter] - value).norm()) < 0.01 * float(norm)


def test_precision_is_found_again() -> None:
    assert AutocastState.now("cpu").dtype is None
    with torch.autocast("cpu", dtype=torch.float16):
        precision = AutocastState.now("cpu")
        with without_autocast("cpu"):
            assert not torch.is_autocast_enabled("cpu")
            with precision.again():
                assert torch.get_autocast_dtype("cpu") is torch.float16 and torch.is_autocast_enabled("cpu")
