# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled step gives what the engine gives. Most tests run the traced graph without compiling it."""

import importlib
import warnings

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from dperm.errors import AssumptionError, ParameterError
from dperm.noise import SystemBits
from dperm.noise.bits import Words
from dperm.noise.floating import floating_gaussian
from dperm.noise.pool import FloatingPool
from dperm.torch.compiled import CompiledNoise, CompiledStep, CompiledSum, steps
from dperm.torch.compiled.noise import pairs_of
from dperm.torch.gradients.per_example import PerExampleGradients

BATCH = 6


def loss(output: Tensor, target: Tensor) -> Tensor:
    return functional.cross_entropy(output, target, reduction="none")


def interpreted(graph, inputs):
    return lambda values: graph(*values)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(12, 5), nn.ReLU(), nn.Linear(5, 3))


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, 3, 4)), nn.Conv2d(1, 4, 2, padding=1), nn.GroupNorm(2, 4), nn.Tanh(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(16, 3),
    )  # fmt: skip


class Sentences(nn.Module):
    """Tokens with repetitions, attention, and a head that is the table itself."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(3, 4)
        self.layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
        self.register_buffer("shift", torch.ones(4))
        self.head = nn.Linear(4, 3, bias=False)
        self.head.weight = self.table.weight

    def forward(self, values: Tensor) -> Tensor:
        found = self.layer(self.table((values > 0).long() + (values > 1).long()) + self.shift)
        return self.head(found.mean(1))


MODELS = {"mlp": mlp, "cnn": cnn, "transformer": Sentences}


def example(seed: int = 0) -> tuple[Tensor, Tensor]:
    torch.manual_seed(seed)
    return torch.randn(BATCH, 12, dtype=torch.float64), torch.randint(3, (BATCH,))


@pytest.fixture(params=MODELS)
def gradients(request):
    torch.manual_seed(1)
    with PerExampleGradients(MODELS[request.param]().double()) as found:
        yield found


@pytest.fixture
def small():
    torch.manual_seed(1)
    with PerExampleGradients(mlp().double()) as found:
        yield found


def eager(gradients, batch, keep, **options):
    return gradients.clipped_sum(loss(gradients.model(batch[0]), *batch[1:]), keep=keep, **options)


def assert_same(found, truth) -> None:
    assert found.keys() == truth.keys()
    for parameter, total in truth.items():
        torch.testing.assert_close(found[parameter], total, atol=1e-6, rtol=0)


@pytest.mark.parametrize("clipping", ["flat", "per_layer", "normalized"])
def test_traced_sums_are_those_of_the_engine(gradients, clipping):
    compiled = CompiledSum(gradients, loss, example(), clip_norm=0.3, clipping=clipping, code=interpreted)
    batch, keep = example(5), torch.tensor([True, True, False, True, True, False])
    assert_same(compiled(batch, keep), eager(gradients, batch, keep, clip_norm=0.3, clipping=clipping))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e200], ids=["nan", "inf", "huge"])
def test_rows_that_are_not_finite_contribute_nothing(small, value):
    compiled = CompiledSum(small, loss, example(), clip_norm=0.3, code=interpreted)
    (inputs, targets), keep = example(5), torch.ones(BATCH, dtype=torch.bool)
    without = keep.clone()
    without[2] = False
    truth = compiled((inputs, targets), without)
    inputs = inputs.clone()
    inputs[2, 3] = value
    found = compiled((inputs, targets), keep)
    assert_same(found, eager(small, (inputs, targets), keep, clip_norm=0.3))
    assert_same(found, truth)


def test_padding_alone_gives_zeros(gradients):
    compiled = CompiledSum(gradients, loss, example(), code=interpreted)
    found = compiled(example(5), torch.zeros(BATCH, dtype=torch.bool))
    assert found
    assert all(not total.any() for total in found.values())


def test_padding_that_is_not_finite_gives_zeros(small):
    compiled = CompiledSum(small, loss, example(), code=interpreted)
    inputs, targets = example(5)
    found = compiled((inputs * float("nan"), targets), torch.zeros(BATCH, dtype=torch.bool))
    assert all(not total.any() for total in found.values())


def test_changes_of_parameters_and_of_the_clip_norm_are_seen(small):
    compiled = CompiledSum(small, loss, example(), clip_norm=0.1, code=interpreted)
    keep = torch.ones(BATCH, dtype=torch.bool)
    with torch.no_grad():
        for parameter in small.model.parameters():
            parameter.mul_(1.5)
    found = compiled(example(5), keep, clip_norm=0.7)
    assert_same(found, eager(small, example(5), keep, clip_norm=0.7))


def test_an_observer_sees_the_weights(small):
    compiled = CompiledSum(small, loss, example(), clip_norm=0.3, code=interpreted)
    seen: list[Tensor] = []
    keep = torch.tensor([True, False] * 3)
    compiled(example(5), keep, observe=seen.append)
    assert seen[0].shape == (BATCH,)
    assert bool(((seen[0] > 0) == keep).all())


def test_frozen_parameters_are_left_out(small):
    small.model[0].requires_grad_(False)
    compiled = CompiledSum(small, loss, example(), code=interpreted)
    assert set(compiled(example(5), torch.ones(BATCH, dtype=torch.bool))) == set(small.model[2].parameters())


@pytest.mark.parametrize(
    "change",
    [
        lambda inputs, targets: (inputs[:-1], targets[:-1]),
        lambda inputs, targets: (inputs.float(), targets),
        lambda inputs, targets: (inputs, targets.int()),
    ],
    ids=["short", "single", "int32"],
)
def test_other_shapes_and_types_are_refused(small, change):
    compiled = CompiledSum(small, loss, example(), code=interpreted)
    with pytest.raises(ParameterError, match="shapes and types of the compiled step, "):
        compiled(change(*example(5)), torch.ones(BATCH, dtype=torch.bool))


@pytest.mark.parametrize(
    "change", [lambda model: model.eval(), lambda model: model.float(), lambda model: model[0].requires_grad_(False)],
    ids=["mode", "precision", "frozen"],
)  # fmt: skip
def test_a_model_that_has_changed_is_refused(small, change):
    compiled = CompiledSum(small, loss, example(), code=interpreted)
    change(small.model)
    with pytest.raises(ParameterError, match="has changed since compilation"):
        compiled(example(5), torch.ones(BATCH, dtype=torch.bool))


class Looks(nn.Module):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.layer, self.how = nn.Linear(12, 3), how

    def forward(self, values: Tensor) -> Tensor:
        if self.how == "if":
            return self.layer(values) if values.sum() > 0 else -self.layer(values)
        if self.how == "item":
            return self.layer(values) * values.max().item()
        return self.layer(values) * float(np.abs(values.numpy()[0]).sum())


@pytest.mark.parametrize("how", ["if", "item"])
def test_a_model_that_decides_by_its_data_is_refused(how):
    with (
        PerExampleGradients(Looks(how).double()) as gradients,
        pytest.raises(AssumptionError, match="same operations for all data"),
    ):
        CompiledSum(gradients, loss, example(), code=interpreted)


def test_values_that_have_become_part_of_the_graph_are_found():
    with (
        PerExampleGradients(Looks("numpy").double()) as gradients,
        pytest.raises(AssumptionError, match="does not agree with the model"),
    ):
        CompiledSum(gradients, loss, example(), code=interpreted)


def test_the_engine_has_to_be_on():
    with pytest.raises(ParameterError, match="losses must depend on a trained parameter"):
        CompiledSum(PerExampleGradients(mlp().double()), loss, example(), code=interpreted)


class Replay:
    """The same words again."""

    def __init__(self) -> None:
        self.held = SystemBits().stream().words(100)

    def words(self, count: int) -> Words:
        return self.held[:count].copy()


def test_normals_are_those_of_the_noise_package():
    sums, stream = [torch.ones(3, 5), torch.zeros(2)], Replay()
    stream.held[:2] = [0, 2**64 - 1]
    noise = CompiledNoise(sums, 2.5, code=interpreted)
    found = torch.cat([part.reshape(-1) for part in noise(sums, stream, 0.5)])
    normals = torch.from_numpy(floating_gaussian(17, stream))
    truth = 0.5 * (torch.cat([part.reshape(-1) for part in sums]) + 2.5 * normals)
    torch.testing.assert_close(found, truth, atol=2e-5, rtol=1e-5)
    with pytest.raises(ParameterError, match="shapes and types"):
        noise([sums[1], sums[0]], stream)


@pytest.mark.parametrize("ahead", [0, 2**14], ids=["from_words", "drawn_ahead"])
@pytest.mark.parametrize("value", [0.0, float("nan")], ids=["finite", "nan"])
def test_a_step_is_the_sum_with_noise(small, value, ahead, monkeypatch):
    monkeypatch.setattr(steps, "MOST", ahead)
    sums = CompiledSum(small, loss, example(), clip_norm=0.3, code=interpreted)
    parameters, stream = list(small.model.parameters()), Replay()
    step = CompiledStep(sums, parameters, scale=0.7, code=interpreted)
    pool = FloatingPool(stream, lambda size, own: np.resize(floating_gaussian(2 * pairs_of(parameters), own), size))
    monkeypatch.setattr(steps, "floating_pool", lambda stream: pool)
    (inputs, targets), keep = example(5), torch.tensor([True, True, False, True, True, True])
    inputs[1, 1] = value
    found = step((inputs, targets), keep, stream, factor=0.25, clip_norm=0.4)
    totals = sums((inputs, targets), keep, clip_norm=0.4)
    noise = CompiledNoise(parameters, 0.7, code=interpreted)
    for one, other in zip(found, noise([totals[key] for key in parameters], stream, 0.25), strict=True):
        torch.testing.assert_close(one, other.detach(), atol=1e-6 if ahead else 1e-9, rtol=0)  # normals by numpy


@pytest.fixture
def inductor(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what torch says of its own parts as they are imported
        importlib.import_module("torch._inductor.compile_fx")
        config = importlib.import_module("torch._inductor.config")
    # small kernels without vector instructions: much less to compile
    quick = {"compile_threads": 1, "fx_graph_cache": False, "cpp_cache_precompile_headers": False, "cpp.simdlen": 1}
    with config.patch(quick):
        yield config


def test_compiled_code_gives_what_the_engine_gives(inductor):
    torch.manual_seed(1)
    with PerExampleGradients(nn.Linear(12, 3).double()) as linear:
        compiled = CompiledSum(linear, loss, example(), clip_norm=0.3)
        batch, keep = example(5), torch.tensor([True, True, False, True, True, False])
        assert_same(compiled(batch, keep), eager(linear, batch, keep, clip_norm=0.3))
        batch[0][0, 0] = float("nan")
        assert_same(compiled(batch, keep), eager(linear, batch, keep, clip_norm=0.3))
        assert not any(total.any() for total in compiled(batch, torch.zeros(BATCH, dtype=torch.bool)).values())


def test_without_a_compiler_it_says_what_to_install(small, inductor):
    with (
        inductor.patch({"cpp.cxx": ("no-such-compiler",)}),
        pytest.raises(AssumptionError, match=r"needs a working C\+\+ compiler"),
    ):
        CompiledSum(small, loss, example())


@pytest.mark.slow
@pytest.mark.parametrize("clipping", ["flat", "per_layer", "normalized"])
def test_compiled_code_of_all_models(gradients, clipping, inductor):
    compiled = CompiledSum(gradients, loss, example(), clip_norm=0.3, clipping=clipping)
    parameters, stream = list(compiled.trace.parameters), Replay()
    stream.held = SystemBits().stream().words(1000)
    step = CompiledStep(compiled, parameters, scale=0.7)
    batch, keep = example(5), torch.tensor([True, True, False, True, True, False])
    truth = eager(gradients, batch, keep, clip_norm=0.3, clipping=clipping)
    assert_same(compiled(batch, keep), truth)
    noise = CompiledNoise(parameters, 0.7, code=interpreted)
    for one, other in zip(step(batch, keep, stream), noise([truth[key] for key in parameters], stream), strict=True):
        torch.testing.assert_close(one, other.detach(), atol=1e-5, rtol=0)


@pytest.mark.slow
def test_shapes_that_depend_on_data_are_refused(small, inductor):
    def picked(output: Tensor, target: Tensor) -> Tensor:
        return functional.cross_entropy(output, target, reduction="none") + output[output > 0].sum()

    with pytest.raises(AssumptionError, match=r"same operations for all data|does not agree"):
        CompiledSum(small, picked, example())
