# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A sample that is one micro-batch: noise first, sums added to it; the result is that of sums that get noise after."""

import pytest
import torch
from torch import nn
from torch_training import KINDS, attached, loss_of, model_of, plan_of

from dperm.errors import AssumptionError
from dperm.noise.bits import SystemBits
from dperm.torch.fused_gradient import FusedNoisyGradient
from dperm.torch.gradients.clipping import Clipping
from dperm.torch.gradients.embedding_factors import TableRows, TiedTable
from dperm.torch.gradients.factors import Dense, Outer, OuterSequence
from dperm.torch.gradients.per_example import UnclippedGradients
from dperm.torch.gradients.rules.attention import StackedBlocks
from dperm.torch.gradients.weighted_sums import Accumulator
from dperm.torch.noise import FastNoise

pytestmark = pytest.mark.usefixtures("both_ways")
NOTHING = UnclippedGradients([], 3, {}, Clipping.FLAT, 1.0)
"""Losses that depend on no parameter."""


def sequence() -> OuterSequence:
    return OuterSequence(torch.randn(5, 3, 4), torch.randn(5, 3, 6), (6, 4))


def rows() -> TableRows:
    return TableRows(torch.tensor([[0, 2], [1, 1], [5, 0], [3, 4], [2, 2]]), torch.randn(5, 2, 4), (6, 4))


FACTORS = {
    "vector": lambda: Dense(torch.randn(5, 4)),
    "numbers": lambda: Dense(torch.randn(5)),
    "block": lambda: Dense(torch.randn(5, 2, 3, 4)),
    "outer": lambda: Outer(torch.randn(5, 4), torch.randn(5, 6), (6, 4)),
    "outer_narrow_inputs": lambda: Outer(torch.randn(5, 2), torch.randn(5, 6), (6, 2)),
    "outer_of_a_convolution": lambda: Outer(torch.randn(5, 4), torch.randn(5, 6), (6, 2, 2)),
    "sequence": sequence,
    "rows": rows,
    "tied": lambda: TiedTable(rows(), sequence()),
    "stacked": lambda: StackedBlocks((sequence(), sequence())),
}


@pytest.mark.parametrize("make", FACTORS.values(), ids=FACTORS)
def test_sums_are_added_to_what_is_there(make):
    torch.manual_seed(2)
    factor, weights = make(), torch.rand(5)
    base = torch.randn(factor.shape)
    truth = 0.7 * base + 0.2 * factor.weighted(weights)
    factor.add_weighted(weights, Accumulator(base, 0.7, 0.2))
    torch.testing.assert_close(base, truth)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "quantile"])
def test_gradients_are_those_of_noise_that_comes_after(kind, monkeypatch):
    """The same draws, both ways; physical batches that a sample does not fill, or fills several times."""
    monkeypatch.setattr(FastNoise, "standard", lambda noise, size, stream, scratch: torch.linspace(-1, 1, size))
    found = []
    for size in (64, 4):
        torch.manual_seed(0)
        model = model_of()
        plan = plan_of(rate=1.0, steps=3, clipping=KINDS[kind], physical_batch_size=size)
        with attached(plan, model, rehearsal=False) as private:
            for x, y in private:
                private.step(loss_of(model, x, y))
        found.append([value.detach().clone() for value in model.parameters()])
    torch.testing.assert_close(*found, atol=1e-6, rtol=1e-5)


def test_where_it_cannot_be_done_noise_comes_after():
    fast, exact = (plan_of(grade=grade).noise for grade in ("fast", "exact"))
    single, double = (list(nn.Linear(2, 2, dtype=dtype).parameters()) for dtype in (torch.float32, torch.float64))
    assert isinstance(FusedNoisyGradient.of(fast, single), FusedNoisyGradient)
    assert FusedNoisyGradient.of(exact, single) is None
    assert FusedNoisyGradient.of(fast, double) is None


def test_draws_are_not_handed_out_twice():
    """Gradients lie where the noise was: the next ones are elsewhere."""
    noise, parameters, stream = plan_of().noise, list(nn.Linear(2, 2).parameters()), SystemBits().stream()
    one, other = (FusedNoisyGradient(noise, parameters)(NOTHING, stream, 1.0) for _ in range(2))
    assert one[0].data_ptr() != other[0].data_ptr()
    assert not torch.isclose(one[0], other[0]).any()


def test_gradients_of_different_steps_share_no_memory():
    """Not with later noise either, whatever somebody holds of them."""
    noise, parameters, stream = plan_of().noise, list(nn.Linear(300, 200).parameters()), SystemBits().stream()
    made = FusedNoisyGradient(noise, parameters)
    held = [made(NOTHING, stream, 1.0)[0].untyped_storage() for _ in range(5)]
    assert len({storage.data_ptr() for storage in held}) == 5


def test_a_parameter_that_came_later_is_refused_before_noise_is_drawn():
    model, plan = model_of(), plan_of(rate=1.0)
    with pytest.raises(AssumptionError, match="frozen or missing"), attached(plan, model) as private:
        for x, y in private:
            layer = next(module for module in model.modules() if isinstance(module, nn.Linear))
            layer.weight = nn.Parameter(layer.weight.detach().clone())
            private.step(loss_of(model, x, y))
