# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Clipped sums in one pass: equal to a loop over examples, or refused."""

import copy
import math
import pickle
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch_naive import assert_engine_is_naive, engine_clipped_sum

from dperm.errors import AssumptionError, ParameterError
from dperm.torch.gradients.per_example import PerExampleGradients

pytestmark = pytest.mark.usefixtures("both_ways")

KINDS = ["flat", "per_layer", "normalized"]


class Twice(nn.Module):
    """A layer applied twice, the second time to its own output."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.out = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        return self.out(self.inner(torch.tanh(self.inner(x))))


class Pooled(nn.Module):
    """A linear layer over a sequence, then the mean."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps, self.inner, self.out = steps, nn.Linear(4, 5), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        steps = torch.stack([x * (1 + step) for step in range(self.steps)], 1)
        return self.out(torch.tanh(self.inner(steps)).mean(1))


def frozen() -> nn.Module:
    """The first weight and the last bias are not trained."""
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
    model[0].weight.requires_grad_(False)
    model[2].bias.requires_grad_(False)
    return model


MODELS: dict[str, Callable[[], nn.Module]] = {
    "linear": lambda: nn.Linear(4, 3),
    "no_bias": lambda: nn.Sequential(nn.Linear(4, 5, bias=False), nn.ReLU(), nn.Linear(5, 3)),
    "in_place": lambda: nn.Sequential(nn.Linear(4, 5), nn.ReLU(inplace=True), nn.Linear(5, 3)),
    "short_sequence": lambda: Pooled(2),
    "long_sequence": lambda: Pooled(20),
    "used_twice": Twice,
    "frozen": frozen,
}


def losses(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """One for each example."""
    return cross_entropy(model(x), y, reduction="none")


def batch(rows: int = 6) -> tuple[Tensor, Tensor]:
    """Some short and some long gradients."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(rows, 4, dtype=torch.float64, generator=generator) * torch.logspace(-2, 1, rows)[:, None]
    return x.double(), torch.arange(rows) % 3


def model_of(name: str, dtype: torch.dtype = torch.float64) -> nn.Module:
    """One of the models, the same in every run."""
    torch.manual_seed(0)
    return MODELS[name]().to(dtype)


@pytest.mark.parametrize("double", [False, True], ids=["own", "double"])
@pytest.mark.parametrize("clipping", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_clipped_sums_are_those_of_a_loop(name: str, clipping: str, double: bool) -> None:
    assert_engine_is_naive(model_of(name), batch(), losses, 0.3, clipping, double=double)


@pytest.mark.parametrize("double", [False, True], ids=["own", "double"])
@pytest.mark.parametrize("name", MODELS)
def test_clipped_sums_in_single_precision(name: str, double: bool) -> None:
    x, y = batch()
    assert_engine_is_naive(model_of(name, torch.float32), (x.float(), y), losses, 0.3, double=double)


@pytest.mark.parametrize("clipping", KINDS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e300], ids=["nan", "inf", "huge"])
def test_a_row_that_is_not_finite_counts_for_nothing(clipping: str, bad: float) -> None:
    model, (x, y) = model_of("no_bias"), batch()
    without = engine_clipped_sum(model, (torch.cat([x[:2], x[3:]]), torch.cat([y[:2], y[3:]])), losses, 0.3, clipping)
    x[2, 1] = bad
    found = engine_clipped_sum(model, (x, y), losses, 0.3, clipping)
    for parameter, value in without.items():
        torch.testing.assert_close(found[parameter], value, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("clipping", KINDS)
def test_rows_that_are_not_kept_count_for_nothing(clipping: str) -> None:
    model, (x, y) = model_of("no_bias"), batch()
    keep = torch.tensor([True, False, True, True, False, True])
    expected = engine_clipped_sum(model, (x[keep], y[keep]), losses, 0.3, clipping)
    with PerExampleGradients(model) as gradients:
        found = gradients.clipped_sum(losses(model, x, y), clip_norm=0.3, clipping=clipping, keep=keep)
    for parameter, value in found.items():
        torch.testing.assert_close(value, expected[parameter], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("clipping", KINDS)
def test_an_empty_batch_has_sums_of_zero(clipping: str) -> None:
    found = engine_clipped_sum(model_of("linear"), batch(0), losses, 0.3, clipping)
    assert all(not value.any() for value in found.values())


def test_contributions_in_double_precision_are_at_most_one() -> None:
    model, (x, y) = model_of("long_sequence", torch.float32), batch()
    for row in range(len(x)):
        found = engine_clipped_sum(model, (x[row : row + 1].float(), y[row : row + 1]), losses, 1e-3, double=True)
        assert math.fsum(float(v) ** 2 for value in found.values() for v in value.reshape(-1)) <= 1


def test_a_mean_over_the_batch_is_refused() -> None:
    model, (x, y) = model_of("linear"), batch()
    with PerExampleGradients(model) as gradients:
        with pytest.raises(ParameterError, match="one number for the whole batch"):
            gradients.clipped_sum(cross_entropy(model(x), y))
        with pytest.raises(ParameterError, match="got 2 dimensions"):
            gradients.clipped_sum(model(x))
        with pytest.raises(ParameterError, match="losses without gradient"):
            gradients.clipped_sum(torch.ones(6))
        with pytest.raises(ParameterError, match="losses must be a tensor"):
            gradients.clipped_sum([1.0])  # type: ignore[arg-type]


@pytest.mark.parametrize("clip_norm", [0.0, -1.0, math.nan, math.inf], ids=str)
def test_clip_norms_that_are_none_are_refused(clip_norm: float) -> None:
    model, (x, y) = model_of("linear"), batch()
    with PerExampleGradients(model) as gradients, pytest.raises(ParameterError, match="clip_norm must be"):
        gradients.clipped_sum(losses(model, x, y), clip_norm=clip_norm)


def test_passes_without_gradient_are_ignored() -> None:
    model, (x, y) = model_of("used_twice"), batch()
    expected = engine_clipped_sum(model, (x, y), losses)
    with PerExampleGradients(model) as gradients:
        with torch.no_grad():
            model(x * 2)
        found = losses(model, x, y)
        with torch.no_grad():
            model(x * 3)
        sums = gradients.clipped_sum(found)
    assert all(torch.equal(value, expected[parameter]) for parameter, value in sums.items())


def test_a_pass_that_the_losses_do_not_use_is_ignored() -> None:
    model, (x, y) = model_of("used_twice"), batch()
    expected = engine_clipped_sum(model, (x, y), losses)
    with PerExampleGradients(model) as gradients:
        model(x * 2)
        sums = gradients.clipped_sum(losses(model, x, y))
    assert all(torch.equal(value, expected[parameter]) for parameter, value in sums.items())


def test_passes_before_the_last_call_are_forgotten() -> None:
    model, (x, y) = model_of("linear"), batch()
    with PerExampleGradients(model) as gradients:
        first = gradients.clipped_sum(losses(model, x, y))
        second = gradients.clipped_sum(losses(model, x, y))
    assert all(torch.equal(value, second[parameter]) for parameter, value in first.items())


def test_two_passes_of_one_loss_are_added_before_clipping() -> None:
    model, (x, y) = model_of("no_bias"), batch()
    assert_engine_is_naive(model, (x, y), lambda m, a, b: losses(m, a, b) + losses(m, 2 * a, b), 0.3)


def test_an_input_that_was_overwritten_is_noticed() -> None:
    model, (x, y) = model_of("linear"), batch()
    with PerExampleGradients(model) as gradients:
        found = losses(model, x, y)
        x.mul_(2)
        with pytest.raises(AssumptionError, match="input of a Linear was overwritten in place"):
            gradients.clipped_sum(found)


def test_nothing_that_depends_on_parameters_gives_no_sums() -> None:
    with PerExampleGradients(model_of("linear")) as gradients:
        assert gradients.clipped_sum(torch.ones(3, requires_grad=True) * 2) == {}


def test_gradients_of_parameters_are_left_alone() -> None:
    model, (x, y) = model_of("used_twice"), batch()
    with PerExampleGradients(model) as gradients:
        gradients.clipped_sum(losses(model, x, y))
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_model_is_as_before_when_the_hooks_are_gone() -> None:
    model, x = model_of("no_bias"), batch()[0]
    names, before = list(model.state_dict()), model(x)
    with PerExampleGradients(model) as gradients:
        assert torch.equal(model(x), before)
        assert list(model.state_dict()) == names
    assert not gradients.tape.entries
    assert all(not module._forward_hooks and "forward" not in vars(module) for module in model.modules())
    copied = pickle.loads(pickle.dumps(copy.deepcopy(model)))
    assert torch.equal(copied(x), before)


def test_a_hook_that_writes_to_the_gradient_of_the_losses_changes_no_later_sum():
    """What is the gradient of the losses in every step is kept from one to the next."""
    torch.manual_seed(0)
    model, x = nn.Linear(3, 2), torch.randn(4, 3)
    with PerExampleGradients(model) as gradients:
        truth, again = (gradients.clipped_sum(model(x).sum(1), clip_norm=100.0) for _ in range(2))
        losses = model(x).sum(1)
        losses.register_hook(lambda grad: grad.mul_(3))
        written = gradients.clipped_sum(losses, clip_norm=100.0)
        found = gradients.clipped_sum(model(x).sum(1), clip_norm=100.0)
    torch.testing.assert_close(written[model.weight], 3 * truth[model.weight])
    for parameter, total in truth.items():
        assert torch.equal(again[parameter], total)
        assert torch.equal(found[parameter], total)
