# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Models that mix examples in hidden ways: behind zeros, masks and constants, by position, or only in gradients."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence
from torch_naive import assert_same_sums, naive_clipped_sum

from dperm.errors import AssumptionError
from dperm.torch.gradients.per_example import PerExampleGradients
from dperm.torch.model_checks.check import check_model

LOWEST = torch.finfo(torch.float32).min


class Normalized(nn.Module):
    """Home-made batch normalization."""

    def forward(self, h: Tensor) -> Tensor:
        return (h - h.mean(0)) / (h.var(0, unbiased=False) + 1e-5).sqrt()


def branch() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 8), Normalized(), nn.ReLU(), nn.Linear(8, 4))


class Scaled(nn.Module):
    """A branch that mixes, times a parameter: zero (ReZero) or small (LayerScale)."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale, self.branch, self.last = nn.Parameter(torch.full((4,), scale)), branch(), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(x + self.scale * self.branch(x))


class ScaledInline(Scaled):
    """The branch of `Scaled` inside one forward pass."""

    def forward(self, x: Tensor) -> Tensor:
        return self.last(x) + self.scale.sum() * (x - x.mean(0)).sum(1, keepdim=True)


def zero_head() -> nn.Module:
    model = nn.Sequential(*branch()[:3], nn.Linear(8, 2))
    nn.init.zeros_(model[3].weight)
    nn.init.zeros_(model[3].bias)
    return model


class Made(nn.Module):
    """Two layers around a function of the first one's output, which is called with the module and all arguments."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.first, self.last, self.rows = nn.Linear(4, 8), nn.Linear(8, 2), nn.Parameter(torch.ones(2, 4))
        self.function = function

    def forward(self, x: Tensor, *rest: Any) -> Tensor:
        return self.function(self, x, *rest) + 0 * self.rows.sum()

    def alone(self, x: Tensor) -> Tensor:
        return self.last(self.first(x).tanh())


def mirrored(model: Made, x: Tensor) -> Tensor:
    x = x.clone()
    x[::2] = x[::2].flip(-1)
    return model.alone(x)


def capped(model: Made, x: Tensor) -> Tensor:
    few = (torch.arange(len(x)) < max(8, len(x) // 2)).float()[:, None]
    return model.last(model.first(x).tanh() * few)


def crowded(model: Made, x: Tensor) -> Tensor:
    """As in a mixture of two experts, each with room for some of the examples."""
    chosen = nn.functional.one_hot((x[:, 0] > 0).long(), 2)
    rank = (chosen.cumsum(0) * chosen).sum(1)
    return model.last(model.first(x).tanh() * (rank <= max(4, int(0.625 * len(x)))).float()[:, None])


def rolled_if_large(model: Made, x: Tensor) -> Tensor:
    hidden = model.first(x).tanh()
    return model.last(hidden + 0.1 * hidden.roll(1, 0) if len(x) > 8 else hidden)


def cleaned(model: Made, x: Tensor) -> Tensor:
    return model.alone(x if bool(x.isfinite().all()) else torch.zeros_like(x))


def rescaled(model: Made, x: Tensor) -> Tensor:
    return model.alone(x / 255 if float(x.max()) > 1 else x)


def counted(model: Made, x: Tensor, mask: Tensor) -> Tensor:
    return model.last((model.first(x).tanh() * mask[..., None]).sum(1) / mask.sum(1).max())


def trimmed(model: Made, x: Tensor, lengths: Tensor) -> Tensor:
    return model.last(model.first(x[:, : int(lengths.max())]).tanh().mean(1))


def standardized(model: Made, x: Tensor, allowed: Tensor) -> Tensor:
    return model.alone((x - x.mean(0)) / (x.std(0, unbiased=False) + 1e-5)).masked_fill(~allowed, -1e9)


def centered(model: Made, x: Tensor, allowed: Tensor) -> Tensor:
    hidden = model.first(x)
    return model.last((hidden - hidden.mean(0).detach()).relu()).masked_fill(~allowed, LOWEST)


def scaled_gradient(model: Made, x: Tensor) -> Tensor:
    hidden = model.first(x).tanh()
    return model.last(hidden.detach() + (hidden - hidden.detach()) * x.abs().max())


def shared_gradient(model: Made, x: Tensor) -> Tensor:
    hidden = model.first(x).tanh()
    return model.last(hidden.detach() + (hidden - hidden.detach()) / x.numel())


def cut_gradient(model: Made, x: Tensor) -> Tensor:
    hidden = model.first(x).tanh()
    if hidden.requires_grad:
        hidden.register_hook(lambda grad: grad * (10 / grad.norm()).clamp(max=1))
    return model.last(hidden)


def sequences(kind: torch.dtype, *shape: int) -> tuple[Tensor, Tensor]:
    return torch.zeros(3, 9, 4), torch.zeros(3, *shape, dtype=kind)


ROWS = (torch.zeros(3, 4),)
ALLOWED = (torch.zeros(3, 4), torch.zeros(3, 2, dtype=torch.bool))
MIXED: dict[str, tuple[Callable[[], nn.Module], tuple[Tensor, ...], str]] = {
    "zero head": (zero_head, ROWS, "layer '1'"),
    "branch times zero": (lambda: Scaled(0.0), ROWS, "layer 'branch.1'"),
    "branch times little": (lambda: Scaled(1e-6), ROWS, "layer 'branch.1'"),
    "inline times zero": (lambda: ScaledInline(0.0), ROWS, "other examples"),
    "every second row": (lambda: Made(mirrored), ROWS, "depends on"),
    "the first come": (lambda: Made(capped), ROWS, "position"),
    "no more room": (lambda: Made(crowded), ROWS, "position"),
    "large batches": (lambda: Made(rolled_if_large), ROWS, "number of examples"),
    "not finite": (lambda: Made(cleaned), ROWS, "other examples"),
    "largest value": (lambda: Made(rescaled), ROWS, "other examples"),
    "largest count": (lambda: Made(counted), sequences(torch.bool, 9), "other examples"),
    "largest length": (lambda: Made(trimmed), sequences(torch.long), "other examples"),
    "masked with -1e9": (lambda: Made(standardized), ALLOWED, "other examples"),
    "masked with the lowest number": (lambda: Made(centered), ALLOWED, "other examples"),
    "gradient times the largest value": (lambda: Made(scaled_gradient), ROWS, "depends on other examples"),
    "gradient over the size": (lambda: Made(shared_gradient), ROWS, "gradient of an example"),
    "gradient cut by its norm": (lambda: Made(cut_gradient), ROWS, "gradient of an example"),
}


@pytest.mark.parametrize("case", MIXED)
def test_models_that_mix_examples_are_refused(case: str) -> None:
    make, inputs, words = MIXED[case]
    torch.manual_seed(0)
    with pytest.raises(AssumptionError, match=words):
        check_model(make(), inputs)


def test_a_check_gives_parameters_back() -> None:
    model = zero_head()
    places = [parameter.data_ptr() for parameter in model.parameters()]
    with pytest.raises(AssumptionError):
        check_model(model, torch.zeros(3, 4))
    assert [parameter.data_ptr() for parameter in model.parameters()] == places
    assert not bool(model[3].weight.any())


class Sorted(nn.Module):
    """Sorts its examples by their lengths, as packed sequences once had to be, and undoes it."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.last = nn.LSTM(2, 3, batch_first=True), nn.Linear(3, 2)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        lengths, order = lengths.sort(descending=True)
        packed = pack_padded_sequence(x[order], lengths, batch_first=True)
        return self.last(self.lstm(packed)[1][0][-1][order.argsort()])


def squares(model: nn.Module, *inputs: Tensor) -> Tensor:
    return model(*inputs).square().sum(1)


def test_a_model_that_sorts_its_examples_is_run_again() -> None:
    torch.manual_seed(0)
    model = Sorted().double()
    x, lengths = torch.randn(6, 5, 2, dtype=torch.float64), torch.tensor([2, 5, 1, 4, 3, 2])
    sites = check_model(model, (x, lengths))
    assert [site.method for site in sites] == ["vmap"]
    with PerExampleGradients(model, sites=sites) as gradients:
        found = gradients.clipped_sum(squares(model, x, lengths), clip_norm=0.05, double=True)
    assert_same_sums(found, naive_clipped_sum(model, (x, lengths), squares, 0.05), 1e-7)


class Attending(nn.Module):
    """One mask (T, T) for all examples; positions are looked up once for all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.places, self.last = nn.Linear(4, 8), nn.Embedding(5, 8), nn.Linear(8, 2)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        hidden = self.first(x) + self.places(torch.arange(x.shape[1]))
        scores = hidden @ hidden.transpose(1, 2)
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e4)
        return self.last((scores.softmax(-1) @ hidden)[:, -1])


def test_a_mask_for_all_examples_is_no_row_of_a_batch_of_its_length() -> None:
    torch.manual_seed(0)
    model, mask = Attending().double(), torch.ones(5, 5).tril().bool()
    x = torch.randn(5, 5, 4, dtype=torch.float64)
    sites = check_model(model, (x[:3], mask))
    assert [site.method for site in sites] == ["vmap"]

    def losses(model: nn.Module, x: Tensor) -> Tensor:
        return model(x, mask).square().sum(1)

    with PerExampleGradients(model, sites=sites) as gradients:
        found = gradients.clipped_sum(losses(model, x), clip_norm=0.1, double=True)
    assert_same_sums(found, naive_clipped_sum(model, x, losses, 0.1), 1e-7)


@pytest.mark.parametrize("rows", [4, 5])
def test_arguments_that_no_probe_has_seen_are_refused(rows: int) -> None:
    model, x = Attending(), torch.zeros(5, 5, 4)
    with (
        PerExampleGradients(model, sites=check_model(model, x)),
        pytest.raises(AssumptionError, match="example_inputs"),
    ):
        model(x[:rows], torch.ones(5, 5).tril().bool())
