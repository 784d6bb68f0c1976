# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Models that mix examples are refused with the name of the layer; all models are left unchanged."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from dperm.errors import AssumptionError, DpermError, ParameterError
from dperm.torch.gradients.per_example import PerExampleGradients
from dperm.torch.model_checks.check import check_losses, check_model


class Centered(nn.Module):
    """Subtracts the mean of the batch."""

    def forward(self, x: Tensor) -> Tensor:
        return x - x.mean(0)


class Inline(nn.Module):
    """Batch centering between two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        return self.second(hidden / hidden.std(0))


class Counting(nn.Module):
    """Counts its calls in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))
        self.layer = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.layer(x)


class Recurrent(nn.Module):
    """An LSTM over the first dimension."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 3, **options)

    def forward(self, x: Tensor) -> Tensor:
        return self.lstm(x)[0]


def chain(*layers: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), *layers, nn.Linear(4, 2))


REFUSED = {
    "batch norm": (lambda: chain(nn.BatchNorm1d(4)), (3, 4), ["'1'", "BatchNorm1d", "GroupNorm", "eval mode"]),
    "synchronized": (lambda: chain(nn.SyncBatchNorm(4)), (3, 4), ["'1'", "SyncBatchNorm", "GroupNorm"]),
    "batch norm without statistics": (
        lambda: chain(nn.BatchNorm1d(4, track_running_stats=False)).eval(),
        (3, 4),
        ["'1'", "BatchNorm1d"],
    ),
    "frozen batch norm": (lambda: chain(nn.BatchNorm1d(4).requires_grad_(False)), (3, 4), ["'1'"]),
    "instance norm": (
        lambda: nn.Sequential(nn.Conv1d(2, 2, 1), nn.InstanceNorm1d(2, track_running_stats=True)),
        (3, 2, 5),
        ["'1'", "InstanceNorm1d", "track_running_stats=False"],
    ),
    "mean of the batch": (lambda: chain(Centered()), (3, 4), ["layer '1'", "Centered"]),
    "inline": (Inline, (3, 4), ["forward pass of the model, before layer 'second'", "Inline"]),
    "softmax of the batch": (lambda: chain(nn.Softmax(dim=0)), (3, 4), ["layer '1'", "Softmax"]),
    "attention": (
        lambda: nn.TransformerEncoderLayer(4, 1, 4, dropout=0.0),
        (3, 5, 4),
        ["self_attn", "batch_first=True"],
    ),
    "lstm": (Recurrent, (3, 5, 4), ["layer 'lstm'", "batch_first=True"]),
    "buffer": (Counting, (3, 4), ["'calls'", "buffer"]),
    "spectral norm": (
        lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 2)),
        (3, 4),
        ["parametrizations.weight.0._u"],
    ),
    "examples last": (lambda: nn.Sequential(nn.Linear(4, 2), _Transposed()), (3, 4), ["first dimension"]),
    "divided by the size": (lambda: chain(_Divided()), (3, 4), ["number of examples"]),
    "fixed size": (lambda: chain(_Fixed()), (3, 4), ["any size"]),
    "squeezed": (lambda: nn.Sequential(nn.Linear(4, 1), _Squeezed()), (3, 4), ["batch of one", "squeeze"]),
    "one number": (lambda: nn.Sequential(nn.Linear(4, 2), _Mean()), (3, 4), ["first dimension"]),
    "frozen": (lambda: nn.Linear(4, 2).requires_grad_(False), (3, 4), ["frozen"]),
    "half": (lambda: nn.Linear(4, 2).bfloat16(), (3, 4), ["'weight'", "bfloat16", "float()"]),
    "complex": (lambda: nn.Linear(4, 2, dtype=torch.complex64), (3, 4), ["'weight'", "complex"]),
    "lazy": (lambda: nn.LazyLinear(2), (3, 4), ["lazy"]),
    "penalty": (lambda: _Penalized(), (3, 4), ["'outside'"]),
    "dropout without rule": (lambda: chain(_Noisy()), (3, 4), ["layer '1'", "random", "eval mode"]),
}


class _Transposed(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.t()


class _Divided(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x / len(x)


class _Fixed(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.zeros(3, 4)


class _Squeezed(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.squeeze()


class _Mean(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.mean()


class _Noisy(nn.Module):
    """A layer that dperm neither knows nor can lift, with dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        return x * functional.dropout(self.weight, 0.5)


class _Penalized(nn.Module):
    """Holds a function of a parameter of its own from before the forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.outside = nn.Parameter(torch.ones(4))
        self.layer = nn.Linear(4, 2)
        self.kept = [self.outside.square()]

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x * self.kept[0])


@pytest.mark.parametrize("case", REFUSED)
def test_models_without_gradients_of_single_examples_are_refused_by_name(case: str) -> None:
    make, shape, words = REFUSED[case]
    with pytest.raises(AssumptionError) as caught:
        check_model(make(), torch.zeros(shape))
    for word in words:
        assert word in str(caught.value)


ACCEPTED = {
    "batch norm in evaluation": (lambda: chain(nn.BatchNorm1d(4).eval()), (3, 4)),
    "instance norm": (lambda: nn.Sequential(nn.Conv1d(2, 2, 1), nn.InstanceNorm1d(2, affine=True)), (3, 2, 5)),
    "dropout": (lambda: chain(nn.Dropout(0.5)), (3, 4)),
    "lstm": (lambda: Recurrent(batch_first=True), (2, 5, 4)),
    "transformer with dropout": (lambda: nn.TransformerEncoderLayer(4, 1, 4, batch_first=True), (1, 3, 4)),
    "softmax": (lambda: chain(nn.Softmax(dim=1)), (7, 4)),
    "group norm": (lambda: chain(nn.GroupNorm(2, 4)), (3, 4)),
    "in place": (lambda: chain(nn.ReLU(inplace=True)), (3, 4)),
    "flattened": (lambda: _Flattened(), (3, 5, 4)),
    "experts": (lambda: _Experts(), (3, 4)),
    "double": (lambda: chain().double(), (3, 4)),
}


class _Experts(nn.Module):
    """Sends examples to different layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x: Tensor) -> Tensor:
        first, found = x.sum(1) > 0, torch.zeros_like(x)
        found[first] = self.layers[0](x[first])
        found[~first] = self.layers[1](x[~first])
        return found


class _Flattened(nn.Module):
    """Treats every step of a sequence as a row."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x.reshape(-1, 4)).reshape(len(x), -1, 2)


def test_steps_of_a_sequence_are_no_examples() -> None:
    model, x = _Flattened(), torch.ones(3, 5, 4)
    assert [(site.name, site.method) for site in check_model(model, x)] == [("", "vmap")]
    with PerExampleGradients(model) as gradients, pytest.raises(AssumptionError, match="number of rows"):
        gradients.clipped_sum(model(x).flatten(1).sum(1))


@pytest.mark.parametrize("case", ACCEPTED)
def test_models_of_single_examples_are_accepted(case: str) -> None:
    make, shape = ACCEPTED[case]
    model = make()
    assert check_model(model, torch.zeros(shape, dtype=next(model.parameters()).dtype))


def test_a_check_leaves_no_trace() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4).eval(), Counting())
    model[0].weight.grad = torch.ones_like(model[0].weight)
    before, modes = copy.deepcopy(model.state_dict()), [module.training for module in model.modules()]
    state, hooks = torch.get_rng_state(), [len(module._forward_hooks) for module in model.modules()]
    with pytest.raises(AssumptionError):
        check_model(model, torch.zeros(3, 4))
    check_model(model[:3], torch.zeros(3, 4))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [module.training for module in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), state)
    assert [len(module._forward_hooks) for module in model.modules()] == hooks
    assert [module._forward_pre_hooks for module in model.modules()] == [{}] * len(modes)
    assert torch.equal(model[0].weight.grad, torch.ones_like(model[0].weight)) and model[3].layer.weight.grad is None


def test_a_layer_that_is_put_into_training_mode_later_is_refused_then() -> None:
    model = chain(nn.BatchNorm1d(4)).eval()
    with PerExampleGradients(model, sites=check_model(model, torch.zeros(3, 4))) as gradients:
        assert gradients.clipped_sum(model(torch.ones(3, 4)).sum(1))
        model.train()
        with pytest.raises(AssumptionError, match="'1'"):
            model(torch.ones(3, 4))
    model(torch.ones(3, 4))


def test_values_of_the_inputs_are_never_used() -> None:
    seen: list[Tensor] = []
    model = nn.Sequential(nn.Linear(4, 2))
    model.register_forward_pre_hook(lambda _, args: seen.append(args[0].detach().clone()))
    check_model(model, torch.full((3, 4), 12345.0))
    assert seen and not any(bool((value == 12345.0).any()) for value in seen)


class _Lengths(nn.Module):
    """Divides by lengths, which must be positive."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x: Tensor, *, lengths: Tensor, mask: Tensor | None = None) -> Tensor:
        if bool((lengths < 1).any()):
            raise ValueError("lengths")
        return self.layer(x if mask is None else x * mask) / lengths[:, None]


def test_keyword_arguments_lengths_and_shared_tensors_can_be_checked() -> None:
    inputs = {"x": torch.zeros(5, 4), "lengths": torch.ones(5, dtype=torch.long), "mask": torch.ones(4)}
    assert check_model(_Lengths(), inputs)


def test_a_model_that_needs_real_inputs_is_checked_on_public_ones() -> None:
    class Picky(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            if not bool((x >= 7).all()):
                raise ValueError("not\nseven")
            return super().forward(x)

    inputs = torch.arange(7.0, 19.0).reshape(3, 4)
    with pytest.raises(
        ParameterError, match=r"\(ValueError: not seven\).*example_inputs.*public_inputs=True"
    ) as caught:
        check_model(Picky(4, 2), inputs)
    assert isinstance(caught.value.__cause__, ValueError)
    assert check_model(Picky(4, 2), inputs, public=True)
    with pytest.raises(ParameterError, match="run on the public inputs"):
        check_model(Picky(4, 2), -inputs, public=True)


@pytest.mark.parametrize("rows", [1, 3])
def test_public_inputs_that_are_all_the_same_show_nothing(rows: int) -> None:
    with pytest.raises(ParameterError, match="two or more different rows"):
        check_model(chain(Centered()), torch.ones(rows, 4), public=True)


def test_an_error_of_a_check_is_one_of_dperm() -> None:
    with pytest.raises(DpermError, match="first dimension"):
        check_model(nn.Linear(4, 2), 3.0)


LOSSES = {
    "batch normalized": lambda out, y: functional.cross_entropy(out, y, reduction="none") / out.square().sum(),
    "contrastive": lambda out, y: functional.cross_entropy(out @ out.t(), torch.arange(len(out)), reduction="none"),
}


@pytest.mark.parametrize("case", LOSSES)
def test_losses_that_mix_examples_are_refused(case: str) -> None:
    model = nn.Linear(4, 3)
    with PerExampleGradients(model) as gradients:
        losses = LOSSES[case](model(torch.ones(5, 4) * torch.arange(5)[:, None]), torch.zeros(5, dtype=torch.long))
        with pytest.raises(AssumptionError, match="other examples"):
            check_losses(losses, gradients)


def test_losses_of_single_examples_pass_also_beside_rows_that_are_not_finite() -> None:
    model = nn.Linear(4, 3)
    x = torch.ones(5, 4)
    x[2] = float("inf")
    with PerExampleGradients(model) as gradients:
        losses = functional.cross_entropy(model(x), torch.zeros(5, dtype=torch.long), reduction="none")
        assert check_losses(losses, gradients)
        gradients.clipped_sum(losses)
        assert not check_losses(losses, gradients)  # nothing is known any more


def test_losses_of_one_example_tell_nothing() -> None:
    model = nn.Linear(4, 3)
    with PerExampleGradients(model) as gradients:
        assert not check_losses(model(torch.ones(1, 4)).sum(1), gradients)


@pytest.mark.parametrize("looked_at", [False, True], ids=["sums", "losses"])
def test_a_graph_that_backward_has_used_up_is_refused_in_words(looked_at: bool) -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
    with PerExampleGradients(model) as gradients:
        losses = model(torch.ones(3, 4)).square().sum(1)
        losses.mean().backward()
        with pytest.raises(ParameterError, match=r"Do not call backward\(\) yourself") as caught:
            check_losses(losses, gradients) if looked_at else gradients.clipped_sum(losses)
    assert caught.value.__suppress_context__


def test_other_errors_of_a_backward_pass_are_those_of_torch() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
    with PerExampleGradients(model) as gradients, pytest.raises(RuntimeError, match="modified by an inplace"):
        output = model(torch.ones(3, 4))
        losses = output.square().sum(1)
        output.detach().add_(1)
        gradients.clipped_sum(losses)


COMPILED = {
    "model": (lambda: torch.compile(nn.Linear(4, 2)), "the model"),
    "layer": (lambda: nn.Sequential(torch.compile(nn.Linear(4, 2))), "layer '0'"),
    "in place": (lambda: _compiled_in_place(), "the model"),
}


def _compiled_in_place() -> nn.Module:
    model = nn.Linear(4, 2)
    model.compile()
    return model


@pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")  # of torch, when it imports its compiler
@pytest.mark.parametrize("case", COMPILED)
def test_compiled_models_are_refused_at_once(case: str) -> None:
    make, words = COMPILED[case]
    for attempt in (lambda model: check_model(model, torch.zeros(3, 4)), PerExampleGradients):
        with pytest.raises(AssumptionError, match=rf"{words} is compiled by torch.*private\.compiled\(loss\)"):
            attempt(make())


class Keyed(nn.Module):
    """Takes two keyword arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x: Tensor, scale: Tensor) -> Tensor:
        return self.layer(x) * scale[:, None]


PRECISIONS = {
    "data in double": (nn.Linear(4, 2), torch.zeros(3, 4).double(), "float64, .*float32. .*: inputs.float()"),
    "model in double": (nn.Linear(4, 2).double(), torch.zeros(3, 4), "float32, .*float64. .*: inputs.double()"),
    "data in half": (nn.Linear(4, 2), torch.zeros(3, 4).half(), "float16, .*float32. .*: inputs.float()"),
    "convolution": (nn.Conv1d(2, 3, 2), torch.zeros(3, 2, 4).double(), "float64, .*float32. .*: inputs.float()"),
    "names": (
        Keyed(),
        {"x": torch.zeros(3, 4).double(), "scale": torch.ones(3).double()},
        "float64, .*float32. .*: inputs.float()",
    ),
}


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize(("model", "inputs", "words"), PRECISIONS.values(), ids=PRECISIONS)
def test_data_of_another_floating_type_is_refused_with_the_conversion(model, inputs, words, public):
    if public:
        inputs = (
            {k: v + torch.arange(3)[:, None] if v.dim() > 1 else v for k, v in inputs.items()}
            if (isinstance(inputs, dict))
            else inputs + torch.arange(3).reshape(-1, *[1] * (inputs.dim() - 1))
        )
    with pytest.raises(ParameterError, match=words.replace("()", r"\(\)")) as caught:
        check_model(model, inputs, public=public)
    assert "public_inputs" not in str(caught.value)


def test_data_of_another_type_on_which_no_conversion_helps_keep_the_error_of_the_model():
    with pytest.raises(ParameterError, match="does not run on synthetic inputs"):
        check_model(nn.Linear(5, 2), torch.zeros(3, 4).double())
