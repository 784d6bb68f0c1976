# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled step of a training: what `step` does, with padding, micro-batches and empty samples (T46).

The traced graph is run without compiling it; `test_compiled.py` compiles one.
"""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch_training import attached, model_of, plan_of

from dperm.errors import ParameterError
from dperm.noise import NotPrivateBits
from dperm.torch import DPSGD, QuantileClipping
from dperm.torch.compiled import training
from dperm.torch.compiled.training import CompiledTraining, _usual_size

pytestmark = pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")


def loss(output: Tensor, target: Tensor) -> Tensor:
    return cross_entropy(output, target, reduction="none")


def interpreted(graph, inputs):
    return lambda values: graph(*values)


def data() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(60, 5, generator=generator)
    inputs[7] = float("nan")
    return inputs, (inputs[:, 0] > 0).long()


def trained(*, compiled: bool, scale: float = 1.0, **options) -> tuple[list[Tensor], int, float]:
    """Parameters after a run whose samples are those of one seed; the noise is made so small that it does not show."""
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    plan = DPSGD(0.7, steps=12, grade="fast", **options).plan(n=60, epsilon=1e5, delta=1e-2)
    stepped = 0
    with plan.attach(model, optimizer, data(), bits=NotPrivateBits(3)) as private:
        object.__setattr__(plan.noise, "scale", 1e-9)
        step = CompiledTraining(private, loss, code=interpreted)
        for x, y in private:
            stepped += step(x, y) if compiled else private.step(loss(model(x), y))
        clip_norm = private.clip_norm
    return [value.detach().clone() for value in model.parameters()], stepped, clip_norm


@pytest.mark.parametrize("clipping", ["flat", "per_layer", "normalized", QuantileClipping()], ids=str)
@pytest.mark.parametrize("size", [64, 7], ids=["one micro-batch", "several"])
def test_it_trains_as_the_step_without_compilation(clipping, size):
    options = {"rate": 1.0, "clipping": clipping, "physical_batch_size": size}
    ours, stepped, clip_norm = trained(compiled=True, **options)
    plain, taken, expected = trained(compiled=False, **options)
    assert stepped == taken == 12
    assert clip_norm == pytest.approx(expected)
    for one, other in zip(ours, plain, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.filterwarnings("ignore:the noise for .* outweighs the gradients")
def test_empty_samples_take_their_step():
    _, stepped, _ = trained(compiled=True, rate=1e-6, physical_batch_size=8)
    assert stepped == 12


@pytest.mark.filterwarnings("ignore:the noise for .* outweighs the gradients")
def test_the_noise_of_a_compiled_step_has_the_scale_of_the_plan():
    model = nn.Linear(40, 50)
    plan = DPSGD(2.0, rate=1e-6, steps=3, grade="fast", physical_batch_size=4).plan(n=60, epsilon=1.0, delta=1e-5)
    found = []
    with plan.attach(
        model,
        torch.optim.SGD(model.parameters(), lr=0.0),
        (torch.ones(60, 40), torch.ones(60).long()),
        rehearsal=False,
    ) as private:
        step = CompiledTraining(private, loss, code=interpreted)
        for x, y in private:
            assert step(x, y)
            found.append(torch.cat([value.grad.flatten() for value in model.parameters()]))
    expected = plan.noise.scale * 2.0 / plan.expected_batch_size
    for grad in found:
        assert 0.9 < float(grad.std()) / expected < 1.1
    assert abs(float(torch.corrcoef(torch.stack(found[:2]))[0, 1])) < 0.15


def test_the_exact_grade_and_other_batches_are_refused():
    model = nn.Linear(5, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plan = DPSGD(steps=2, rate=1.0).plan(n=60, epsilon=1.0, delta=1e-5)
    with plan.attach(model, optimizer, data()) as private:
        with pytest.raises(ParameterError, match='grade must be "fast"'):
            private.compiled(loss)
    fast = DPSGD(steps=2, rate=1.0, grade="fast").plan(n=60, epsilon=1.0, delta=1e-5)
    with fast.attach(model, optimizer, data(), rehearsal=False) as private:
        step = CompiledTraining(private, loss, code=interpreted)
        with pytest.raises(ParameterError, match="once for every batch"):
            step(torch.zeros(60, 5), torch.zeros(60).long())
        for x, y in private:
            with pytest.raises(ParameterError, match="the last batch from the loop"):
                step(x[:3], y[:3])
            step(x, y)


def test_samples_are_padded_to_a_little_above_their_usual_size():
    """From public numbers: 4 deviations above the mean, whatever physical batches could hold."""
    plan = plan_of(n=1000, rate=0.1, physical_batch_size=512)
    assert _usual_size(plan) == 100 + math.ceil(4 * math.sqrt(100 * 0.9))
    assert _usual_size(plan_of(n=1000, rate=0.1, physical_batch_size=64)) == 64
    assert _usual_size(plan_of(n=1000, rate=1.0, physical_batch_size=2048)) == 1000


def test_a_sample_that_is_larger_is_stepped_without_compilation(monkeypatch):
    monkeypatch.setattr(training, "DEVIATIONS", 0.0)
    model, plan = model_of(), plan_of(rate=0.5, steps=30)
    sizes = []
    with attached(plan, model) as private:
        step = CompiledTraining(private, loss, code=interpreted)
        for x, y in private:
            sizes.append(len(x))
            assert step(x, y)
    assert min(sizes) <= 20 < max(sizes)
    assert private.steps_taken == 30
