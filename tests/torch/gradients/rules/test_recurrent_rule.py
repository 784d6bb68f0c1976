# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers and cells: outputs equal torch's, and clipped sums equal those of a loop over examples."""

import copy
import pickle
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence
from torch_naive import assert_engine_is_naive

from dperm.errors import AssumptionError
from dperm.torch.gradients.per_example import PerExampleGradients

KINDS: dict[str, Callable[..., nn.RNNBase]] = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "tanh": nn.RNN,
    "relu": lambda *sizes, **options: nn.RNN(*sizes, nonlinearity="relu", **options),
    "projected": lambda *sizes, **options: nn.LSTM(*sizes, proj_size=2, **options),
}
CELLS: dict[str, Callable[..., nn.RNNCellBase]] = {
    "lstm": nn.LSTMCell,
    "gru": nn.GRUCell,
    "tanh": nn.RNNCell,
    "relu": lambda *sizes, **options: nn.RNNCell(*sizes, nonlinearity="relu", **options),
}
SHAPES = list(product((1, 2), (False, True), (False, True), (False, True)))
SHAPE_IDS = [
    f"layers{layers}-{'both' if both else 'one'}-{'batch' if first else 'time'}-{'bias' if bias else 'plain'}"
    for layers, both, first, bias in SHAPES
]
pytestmark = pytest.mark.filterwarnings("ignore:LSTM with projections")  # torch's own, in the naive loop
every_kind = pytest.mark.parametrize("kind", KINDS)


def parts(found: Any) -> list[Tensor]:
    """Return all tensors in a nested result."""
    if isinstance(found, PackedSequence):
        return [found.data]
    return [found] if isinstance(found, Tensor) else [part for item in found for part in parts(item)]


def made(kind: str, **options: Any) -> nn.RNNBase:
    torch.manual_seed(len(kind) + 10 * options.get("num_layers", 1))
    return KINDS[kind](3, 4, dtype=options.pop("dtype", torch.float64), **options)


def inputs(examples: int = 5, steps: int = 6, width: int = 3) -> Tensor:
    return torch.randn(examples, steps, width, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def everything(model: nn.RNNBase, values: Tensor, *states: Tensor) -> Tensor:
    """Losses that depend on the output and on all last states, examples first."""
    first = model.batch_first
    given = tuple(state.transpose(0, 1) for state in states)
    output, ends = model(
        values if first else values.transpose(0, 1), (given if len(given) > 1 else given[0]) if given else None
    )
    rows = [output if first else output.transpose(0, 1)] + [end.transpose(0, 1) for end in parts(ends)]
    return sum((scale + 1) * row.square().flatten(1).sum(1) for scale, row in enumerate(rows))  # type: ignore[return-value]


def initial(model: nn.RNNBase, examples: int) -> list[Tensor]:
    count = model.num_layers * (2 if model.bidirectional else 1)
    widths = [model.proj_size or model.hidden_size, *([model.hidden_size] if model.mode == "LSTM" else [])]
    return [inputs(examples, count, width) for width in widths]


@every_kind
@pytest.mark.parametrize(("layers", "both", "first", "bias"), SHAPES, ids=SHAPE_IDS)
def test_forward_pass_and_clipped_sums_are_the_original_ones(
    kind: str, layers: int, both: bool, first: bool, bias: bool
) -> None:
    model = made(kind, num_layers=layers, bidirectional=both, batch_first=first, bias=bias)
    values = inputs()
    states = initial(model, len(values)) if bias else []
    expected = everything(model, values, *states)
    with PerExampleGradients(model):
        torch.testing.assert_close(everything(model, values, *states), expected, rtol=1e-12, atol=1e-12)
    assert_engine_is_naive(model, (values, *states), everything)


@every_kind
@pytest.mark.parametrize("double", [False, True], ids=["fast", "exact"])
def test_clipped_sums_in_single_precision(kind: str, double: bool) -> None:
    model = made(kind, bidirectional=True, batch_first=True, dtype=torch.float32)
    assert_engine_is_naive(model, inputs().float(), everything, double=double)


@every_kind
@pytest.mark.parametrize("clipping", ["flat", "per_layer", "normalized"])
def test_every_clipping(kind: str, clipping: str) -> None:
    model = made(kind, num_layers=2, batch_first=True)
    assert_engine_is_naive(model, inputs(), everything, 0.5, clipping)


@every_kind
@pytest.mark.parametrize("trained", ["weight_ih_l0", "weight_hh_l0", "bias_hh_l0", "weight_hh_l1_reverse"])
def test_frozen_parts(kind: str, trained: str) -> None:
    model = made(kind, num_layers=2, bidirectional=True, batch_first=True)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name == trained)
    assert_engine_is_naive(model, inputs(), everything)


class Framed(nn.Module):
    """A linear layer, a recurrent layer used twice, and another linear layer on its last output."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.before = nn.Linear(3, 3, dtype=torch.float64)
        self.inner = made(kind, batch_first=True)
        self.after = nn.Linear(self.inner.proj_size or 4, 2, dtype=torch.float64)

    def forward(self, values: Tensor) -> Tensor:
        output, states = self.inner(self.before(values))
        return self.after(self.inner(self.before(output[..., :1] + values), states)[0][:, -1])


def squares(model: nn.Module, *values: Tensor) -> Tensor:
    return model(*values).square().flatten(1).sum(1)


@every_kind
def test_gradients_go_on_to_layers_before_and_from_call_to_call(kind: str) -> None:
    assert_engine_is_naive(Framed(kind), inputs(), squares)


@every_kind
@pytest.mark.parametrize("part", [1, -1], ids=["hidden", "last"])
def test_losses_of_last_states_alone(kind: str, part: int) -> None:
    def ends(model: nn.Module, values: Tensor) -> Tensor:
        return parts(model(values))[part].transpose(0, 1).square().flatten(1).sum(1)

    assert_engine_is_naive(made(kind, bidirectional=True, num_layers=2, batch_first=True), inputs(), ends)


@every_kind
@pytest.mark.parametrize(("examples", "steps"), [(1, 1), (1, 7), (6, 1), (3, 40)])
def test_shapes_of_batches(kind: str, examples: int, steps: int) -> None:
    assert_engine_is_naive(made(kind, batch_first=True), inputs(examples, steps), everything)


@every_kind
@pytest.mark.parametrize("both", [False, True], ids=["one", "both"])
def test_activations_in_place_after_the_layer(kind: str, both: bool) -> None:
    model = made(kind, bidirectional=both, batch_first=True)

    def changed(model: nn.Module, values: Tensor) -> Tensor:
        return torch.sigmoid_(model(values)[0]).flatten(1).sum(1)

    with PerExampleGradients(model) as gradients:
        found = gradients.clipped_sum(changed(model, inputs()))
        expected = gradients.clipped_sum(torch.sigmoid(model(inputs())[0]).flatten(1).sum(1))
    for parameter in model.parameters():
        torch.testing.assert_close(found[parameter], expected[parameter], rtol=0, atol=1e-12)


@every_kind
def test_a_graph_can_be_used_twice(kind: str) -> None:
    model = made(kind, batch_first=True)
    values = inputs().requires_grad_()
    with PerExampleGradients(model):
        total = everything(model, values).sum()
        first, second = (torch.autograd.grad(total, values, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)
    torch.testing.assert_close(first, torch.autograd.grad(everything(model, values).sum(), values)[0])


@every_kind
def test_ordinary_backward_passes_inside_are_those_outside(kind: str) -> None:
    model = Framed(kind)
    squares(model, inputs()).sum().backward()
    expected = [parameter.grad for parameter in model.parameters()]
    model.zero_grad()
    with PerExampleGradients(model):
        squares(model, inputs()).sum().backward()
    for parameter, grad in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, grad, rtol=1e-10, atol=1e-10)


@every_kind
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e30])
def test_a_row_that_is_not_finite_counts_for_nothing_and_spoils_no_other(kind: str, bad: float) -> None:
    model = made(kind, bidirectional=True, batch_first=True)
    values = inputs()
    values[2, 1, 0] = bad
    keep = [0, 1, 3, 4]
    with PerExampleGradients(model) as gradients:
        found = gradients.clipped_sum(everything(model, values))
        expected = gradients.clipped_sum(everything(model, values[keep]))
        row = gradients.clipped_sum(everything(model, values[2:3]))
    for parameter in model.parameters():
        assert row[parameter].isfinite().all()
        torch.testing.assert_close(found[parameter] - row[parameter], expected[parameter], rtol=0, atol=1e-10)


@every_kind
def test_dropout_between_layers_draws_as_torch_does(kind: str) -> None:
    model = made(kind, num_layers=3, dropout=0.5, batch_first=True)
    drawn = []
    for _ in range(2):
        with PerExampleGradients(model):
            torch.manual_seed(5)
            drawn.append(model(inputs())[0])
    assert torch.equal(drawn[0], drawn[1])
    torch.manual_seed(5)
    torch.testing.assert_close(drawn[0], model(inputs())[0], rtol=1e-12, atol=1e-12)
    model.eval()
    assert_engine_is_naive(model, inputs(), everything)


def packed_losses(model: nn.RNNBase, values: Tensor, lengths: Tensor) -> Tensor:
    packed = pack_padded_sequence(values, lengths, batch_first=True, enforce_sorted=False)
    output, ends = model(packed)
    rows = [pad_packed_sequence(output, batch_first=True)[0], *(end.transpose(0, 1) for end in parts(ends))]
    return sum((scale + 1) * row.square().flatten(1).sum(1) for scale, row in enumerate(rows))  # type: ignore[return-value]


@every_kind
@pytest.mark.parametrize("both", [False, True], ids=["one", "both"])
def test_packed_sequences(kind: str, both: bool) -> None:
    model = made(kind, num_layers=2, bidirectional=both)
    lengths = torch.tensor([2, 6, 1, 4, 6])
    expected = packed_losses(model, inputs(), lengths)
    with PerExampleGradients(model):
        torch.testing.assert_close(packed_losses(model, inputs(), lengths), expected, rtol=1e-12, atol=1e-12)
    assert_engine_is_naive(model, (inputs(), lengths), packed_losses)


@every_kind
@pytest.mark.parametrize("both", [False, True], ids=["one", "both"])
def test_what_would_grow_past_the_end_of_a_sequence_is_not_there(kind: str, both: bool) -> None:
    """One long sequence beside short ones whose states would leave all numbers in that time."""
    model = made(kind, num_layers=2, bidirectional=both).float()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.abs_().mul_(30)
    values, lengths = inputs(steps=200).float().abs(), torch.tensor([2, 200, 1, 2, 3])
    values[1] = 0
    keep = [0, 2, 3, 4]
    with PerExampleGradients(model) as gradients:
        found = gradients.factors(packed_losses(model, values, lengths))
        alone = dict(gradients.factors(packed_losses(model, values[keep], lengths[keep])))
    assert found
    for parameter, factor in found:
        expected = alone[parameter].dense()
        assert bool(expected.isfinite().all())
        torch.testing.assert_close(factor.dense()[keep], expected, rtol=1e-4, atol=1e-4)


def test_sorted_packed_sequences_keep_their_order() -> None:
    model = made("gru")
    packed = pack_padded_sequence(inputs(), torch.tensor([6, 4, 4, 2, 1]), batch_first=True)
    expected = model(packed)
    with PerExampleGradients(model):
        found = model(packed)
    assert found[0].sorted_indices is None
    for one, other in zip(parts(found), parts(expected), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@every_kind
def test_one_sequence_without_a_batch_is_refused(kind: str) -> None:
    model = made(kind)
    with PerExampleGradients(model), pytest.raises(AssumptionError, match="three dimensions"):
        model(inputs()[0])


@every_kind
def test_wrong_states_and_widths_are_refused_as_by_torch(kind: str) -> None:
    model = made(kind)
    with PerExampleGradients(model):
        with pytest.raises(RuntimeError, match=r"input.size\(-1\)"):
            model(inputs(width=2))
        with pytest.raises(RuntimeError, match="hidden"):
            model(inputs(), tuple(initial(model, 5)) if model.mode == "LSTM" else initial(model, 5)[0])


@every_kind
def test_evaluation_inside_is_torchs_own_and_leaves_no_trace(kind: str) -> None:
    model = made(kind)
    expected = model(inputs())
    with PerExampleGradients(model) as gradients, torch.no_grad():
        found = model(inputs())
        assert not gradients.tape.entries
    assert all(torch.equal(one, other) for one, other in zip(parts(found), parts(expected), strict=True))


@every_kind
def test_the_model_is_as_before_afterwards(kind: str) -> None:
    model = made(kind)
    names = list(model.state_dict())
    with PerExampleGradients(model):
        model(inputs())
        assert list(model.state_dict()) == names
    assert "forward" not in vars(model)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(other(inputs())[0], model(inputs())[0])


class Steps(nn.Module):
    """A cell that is called for each of a few steps."""

    def __init__(self, kind: str, *, bias: bool, started: bool) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.cell = CELLS[kind](3, 4, bias=bias, dtype=torch.float64)
        self.started = started

    def forward(self, values: Tensor) -> Tensor:
        state: Any = None
        if self.started:
            start = values[:, 0, :1].expand(-1, 4)
            state = (start, start) if isinstance(self.cell, nn.LSTMCell) else start
        for step in values.unbind(1):
            state = self.cell(step, state)
        return torch.cat(parts(state), 1)


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("bias", [False, True], ids=["plain", "bias"])
@pytest.mark.parametrize("started", [False, True], ids=["zeros", "started"])
def test_cells(kind: str, bias: bool, started: bool) -> None:
    model = Steps(kind, bias=bias, started=started)
    expected = model(inputs())
    with PerExampleGradients(model):
        torch.testing.assert_close(model(inputs()), expected, rtol=1e-12, atol=1e-12)
        with torch.no_grad():
            assert torch.equal(model(inputs()), expected)
    assert_engine_is_naive(model, inputs(), squares)
    assert "forward" not in vars(model.cell)


@pytest.mark.parametrize("kind", CELLS)
def test_a_cell_without_a_batch_is_refused(kind: str) -> None:
    model = CELLS[kind](3, 4)
    with PerExampleGradients(model), pytest.raises(AssumptionError, match="two dimensions"):
        model(torch.zeros(3))
