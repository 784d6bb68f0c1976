# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Attention layers and transformers: outputs equal torch's, and clipped sums equal those of a loop over examples."""

import copy
import pickle
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations
from torch_naive import assert_engine_is_naive

from dperm.errors import AssumptionError
from dperm.torch.gradients.per_example import PerExampleGradients

WIDTH, HEADS, LONG, SHORT = 8, 2, 5, 3
LAYERS: dict[str, dict[str, Any]] = {
    "packed": {},
    "plain": {"bias": False},
    "separate": {"kdim": 6, "vdim": 7},
    "learned-keys": {"add_bias_kv": True},
    "zero-keys": {"add_zero_attn": True},
    "all": {"kdim": 6, "vdim": 7, "add_bias_kv": True, "add_zero_attn": True},
}
MASKS = ["none", "bool", "float", "three", "padding", "both"]
every_layer = pytest.mark.parametrize("layer", LAYERS)


class Attending(nn.Module):
    """An attention layer with masks, on batch-first inputs."""

    def __init__(self, layer: str, mask: str = "none", *, first: bool = True, weights: bool = False) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.inner = nn.MultiheadAttention(WIDTH, HEADS, batch_first=first, dtype=torch.float64, **LAYERS[layer])
        for parameter in self.inner.parameters():
            nn.init.normal_(parameter, std=0.5)
        self.mask, self.weights = mask, weights

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor | None]:
        masks = masks_of(self.mask, len(query), query.shape[1], key.shape[1])
        given = (query, key, value)
        if not self.inner.batch_first:
            turned = query.transpose(0, 1)
            same = query is key and key is value
            given = (turned, turned, turned) if same else (turned, key.transpose(0, 1), value.transpose(0, 1))
        output, weights = self.inner(*given, need_weights=self.weights, **masks)
        return output if self.inner.batch_first else output.transpose(0, 1), weights


def masks_of(kind: str, examples: int, steps: int, keys: int) -> dict[str, Tensor]:
    """Masks that depend on the example alone and never hide the first key."""
    hide = torch.ones(steps, keys, dtype=torch.bool).triu(1)
    numbers = torch.arange(steps * keys, dtype=torch.float64).view(steps, keys).cos()
    padding = torch.zeros(examples, keys, dtype=torch.bool)
    padding[:, -1] = True
    return {
        "none": {},
        "bool": {"attn_mask": hide},
        "float": {"attn_mask": numbers},
        "three": {"attn_mask": hide.expand(examples * HEADS, -1, -1)},
        "padding": {"key_padding_mask": padding},
        "both": {"attn_mask": hide, "key_padding_mask": padding},
    }[kind]


def given(layer: str, *, own: bool, examples: int = 4) -> tuple[Tensor, ...]:
    """Inputs of self-attention (one tensor) or cross-attention (three)."""
    draw = torch.Generator().manual_seed(2)
    sizes = [WIDTH, LAYERS[layer].get("kdim", WIDTH), LAYERS[layer].get("vdim", WIDTH)]
    steps = [LONG, SHORT, SHORT]
    made = zip(steps[:1] if own else steps, sizes, strict=False)
    return tuple(torch.randn(examples, step, size, generator=draw, dtype=torch.float64) for step, size in made)


def losses(model: nn.Module, *values: Tensor) -> Tensor:
    output, weights = model(*(values * 3 if len(values) == 1 else values))
    found = output.square().flatten(1).sum(1)
    return found if weights is None else found + weights.square().flatten(1).sum(1)


CASES = [(layer, own) for layer, own in product(LAYERS, (True, False)) if not (own and "kdim" in LAYERS[layer])]
CASE_IDS = [f"{layer}-{'self' if own else 'cross'}" for layer, own in CASES]
every_case = pytest.mark.parametrize(("layer", "own"), CASES, ids=CASE_IDS)


def assert_as_outside(model: nn.Module, values: tuple[Tensor, ...]) -> None:
    """Check for equal outputs inside and outside the block, and for the clipped sums of the loop."""
    arguments = values * 3 if len(values) == 1 else values
    expected = model(*arguments)
    with PerExampleGradients(model):
        found = model(*arguments)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)
    assert_engine_is_naive(model, values, losses)


@every_case
@pytest.mark.parametrize("first", [True, False], ids=["batch", "time"])
@pytest.mark.parametrize("weights", [False, True], ids=["fused", "weights"])
def test_forward_pass_and_clipped_sums_are_the_original_ones(layer: str, own: bool, first: bool, weights: bool) -> None:
    assert_as_outside(Attending(layer, first=first, weights=weights), given(layer, own=own))


@every_case
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("weights", [False, True], ids=["fused", "weights"])
def test_masks(layer: str, own: bool, mask: str, weights: bool) -> None:
    assert_as_outside(Attending(layer, mask, weights=weights), given(layer, own=own))


@pytest.mark.parametrize("weights", [False, True], ids=["fused", "weights"])
def test_the_causal_hint(weights: bool) -> None:
    model = Attending("packed").inner
    (values,) = given("packed", own=True)
    mask = nn.Transformer.generate_square_subsequent_mask(LONG, dtype=torch.float64)
    options: dict[str, Any] = {"attn_mask": mask, "is_causal": True, "need_weights": weights}
    expected = model(values, values, values, **options)[0]
    with PerExampleGradients(model):
        torch.testing.assert_close(model(values, values, values, **options)[0], expected, rtol=1e-12, atol=1e-12)
        with pytest.raises(RuntimeError, match="is_causal"):
            model(values, values, values, is_causal=True)


def test_weights_of_single_heads() -> None:
    model = Attending("packed").inner
    (values,) = given("packed", own=True)
    expected = model(values, values, values, average_attn_weights=False)[1]
    with PerExampleGradients(model):
        found = model(values, values, values, average_attn_weights=False)[1]
    assert found.shape == (len(values), HEADS, LONG, LONG)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@every_case
@pytest.mark.parametrize("double", [False, True], ids=["fast", "exact"])
def test_clipped_sums_in_single_precision(layer: str, own: bool, double: bool) -> None:
    values = tuple(part.float() for part in given(layer, own=own))
    assert_engine_is_naive(Attending(layer).float(), values, losses, double=double)


@every_case
@pytest.mark.parametrize("clipping", ["per_layer", "normalized"])
def test_every_clipping(layer: str, own: bool, clipping: str) -> None:
    assert_engine_is_naive(Attending(layer), given(layer, own=own), losses, 0.5, clipping)


@every_case
@pytest.mark.parametrize("trained", ["weight", "bias", "out_proj", "bias_k"])
def test_frozen_parts(layer: str, own: bool, trained: str) -> None:
    model = Attending(layer)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(trained in name.removeprefix("inner."))
    if any(parameter.requires_grad for parameter in model.parameters()):
        assert_engine_is_naive(model, given(layer, own=own), losses)


class Twice(nn.Module):
    """The same attention layer used twice, after a linear layer: first for itself, then for others."""

    def __init__(self, layer: str = "packed") -> None:
        super().__init__()
        self.before = nn.Linear(WIDTH, WIDTH, dtype=torch.float64)
        self.inner = Attending(layer).inner

    def forward(self, values: Tensor) -> Tensor:
        values = self.before(values)
        found = self.inner(values, values, values)[0]
        return self.inner(found, values, found)[0]


def squares(model: nn.Module, *values: Tensor) -> Tensor:
    return model(*values).square().flatten(1).sum(1)


@pytest.mark.parametrize("examples", [1, 4])
@pytest.mark.parametrize("layer", ["packed", "learned-keys"])
def test_a_layer_used_twice(layer: str, examples: int) -> None:
    assert_engine_is_naive(Twice(layer), given(layer, own=True, examples=examples), squares)


def test_ordinary_backward_passes_inside_are_those_outside() -> None:
    model = Twice()
    squares(model, *given("packed", own=True)).sum().backward()
    expected = [parameter.grad for parameter in model.parameters()]
    model.zero_grad()
    with PerExampleGradients(model):
        squares(model, *given("packed", own=True)).sum().backward()
    for parameter, grad in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, grad, rtol=1e-10, atol=1e-10)


@every_case
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e200])
def test_a_row_that_is_not_finite_counts_for_nothing_and_spoils_no_other(layer: str, own: bool, bad: float) -> None:
    model, values = Attending(layer), given(layer, own=own)
    values[0][2, 1, 0] = bad
    others = tuple(part[[0, 1, 3]] for part in values)
    with PerExampleGradients(model) as gradients:
        found = gradients.clipped_sum(losses(model, *values))
        expected = gradients.clipped_sum(losses(model, *others))
    for parameter in model.parameters():
        torch.testing.assert_close(found[parameter], expected[parameter], rtol=0, atol=1e-10)


def test_dropout_is_that_of_torch_where_weights_are_asked_for() -> None:
    model = Attending("packed", weights=True)
    model.inner.dropout = 0.5
    (values,) = given("packed", own=True)
    torch.manual_seed(6)
    expected = model(values, values, values)[1]
    with PerExampleGradients(model):
        torch.manual_seed(6)
        torch.testing.assert_close(model(values, values, values)[1], expected, rtol=1e-12, atol=1e-12)
        assert model.eval()(values, values, values)[1].count_nonzero() == values.shape[0] * LONG * LONG


def test_sequences_without_a_batch_are_refused() -> None:
    model = Attending("packed").inner
    (values,) = given("packed", own=True)
    with PerExampleGradients(model), pytest.raises(AssumptionError, match="three dimensions"):
        model(values[0], values[0], values[0])


def test_a_computed_output_projection_is_refused() -> None:
    model = Attending("packed")
    parametrizations.weight_norm(model.inner.out_proj)
    with pytest.raises(AssumptionError, match="out_proj"), PerExampleGradients(model):
        pass


@every_layer
def test_evaluation_inside_is_torchs_own_and_the_model_is_as_before_afterwards(layer: str) -> None:
    model = Attending(layer).eval()
    values = given(layer, own=False)
    names = list(model.state_dict())
    with torch.no_grad():
        expected = model(*values)[0]
    with PerExampleGradients(model) as gradients:
        with torch.no_grad():
            assert torch.equal(model(*values)[0], expected)
        assert not gradients.tape.entries
        assert list(model.state_dict()) == names
    assert "forward" not in vars(model.inner)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(other(*values)[0], model(*values)[0])


def test_transformer_encoders() -> None:
    torch.manual_seed(7)
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 16, 0.0, batch_first=True, dtype=torch.float64)
    model = nn.TransformerEncoder(layer, 2)

    def encoded(model: nn.Module, values: Tensor, padding: Tensor) -> Tensor:
        return model(values, src_key_padding_mask=padding).pow(4).flatten(1).sum(1)

    padding = torch.zeros(4, LONG, dtype=torch.bool)
    padding[1, 3:] = True
    assert_engine_is_naive(model, (*given("packed", own=True), padding), encoded)


def test_transformer_encoders_keep_their_fast_path_in_evaluation() -> None:
    torch.manual_seed(7)
    model = nn.TransformerEncoderLayer(WIDTH, HEADS, 16, batch_first=True, dtype=torch.float64).eval()
    (values,) = given("packed", own=True)
    with torch.no_grad():
        expected = model(values)
    with PerExampleGradients(model) as gradients:
        with torch.no_grad():
            assert torch.equal(model(values), expected)
        assert not gradients.tape.entries
        torch.testing.assert_close(model(values), expected, rtol=1e-10, atol=1e-10)


def test_whole_transformers() -> None:
    torch.manual_seed(8)
    model = nn.Transformer(WIDTH, HEADS, 1, 1, 16, 0.0, batch_first=True, dtype=torch.float64)
    mask = nn.Transformer.generate_square_subsequent_mask(SHORT, dtype=torch.float64)

    def decoded(model: nn.Module, source: Tensor, target: Tensor) -> Tensor:
        return model(source, target, tgt_mask=mask, tgt_is_causal=True).pow(4).flatten(1).sum(1)

    assert_engine_is_naive(model, given("packed", own=False)[:2], decoded)
