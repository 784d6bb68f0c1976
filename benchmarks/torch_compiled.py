# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled private step as a method of benchmarks/torch_engine.py, and alone against ordinary training.

A step is the compiled graph of forward pass, losses, clipped sum and noise, and ``optimizer.step()``; compiling is not
part of it. Run: ``python benchmarks/torch_compiled.py [--seconds 20] [--only "CNN;MLP"]``.
"""

import argparse
import contextlib
import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: CPU time of one thread
os.environ.setdefault("MKL_NUM_THREADS", "1")

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch_models import CASES, Case

from dperm.noise import SystemBits
from dperm.torch.compiled import CompiledStep, CompiledSum
from dperm.torch.engine.gradients import PerExampleGradients

Step = Callable[[], float]
BARS = {"logreg": 0.65, "MLP": 1.15, "CNN": 0.9, "transformer": 1.25}
RATE = 1e-3


def losses(output: Tensor, target: Tensor) -> Tensor:
    """One loss for each example."""
    return cross_entropy(output, target, reduction="none")


def compiled(case: Case, stack: contextlib.ExitStack) -> Step:
    """Training with dperm, compiled, with noise of grade fast; CPU seconds of a step."""
    model, data = case.make(), case.data()
    parameters, optimizer = list(model.parameters()), torch.optim.SGD(model.parameters(), lr=RATE)
    gradients = stack.enter_context(PerExampleGradients(model))
    step_of = CompiledStep(CompiledSum(gradients, losses, data), parameters, scale=1.0)
    stream, rows = SystemBits().stream(), len(data[0])
    keep = torch.ones(rows, dtype=torch.bool)

    def step() -> float:
        batch = [values[torch.arange(rows)] for values in data]
        start = time.process_time()
        for parameter, grad in zip(parameters, step_of(batch, keep, stream, factor=1 / rows), strict=True):
            parameter.grad = grad
        optimizer.step()
        return time.process_time() - start

    return step


def ordinary(case: Case) -> Step:
    """Training without privacy."""
    model, data = case.make(), case.data()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)

    def step() -> float:
        x, y = [values[torch.arange(len(values))] for values in data]
        start = time.process_time()
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()
        optimizer.step()
        return time.process_time() - start

    return step


def ratio(case: Case, seconds: float) -> tuple[float, float]:
    """Median milliseconds of ordinary training, and the median ratio of the compiled step to it, in turns."""
    with contextlib.ExitStack() as stack:
        plain, ours = ordinary(case), compiled(case, stack)
        for _ in range(5):
            plain(), ours()
        end, found = time.monotonic() + seconds, []
        while time.monotonic() < end:
            found.append((plain(), ours()))
    return 1e3 * statistics.median(one for one, _ in found), statistics.median(two / one for one, two in found)


def main() -> None:
    """All models that have a bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    torch.set_num_threads(1)
    wide = Case("logreg, 10 classes", lambda: nn.Linear(100, 10), _ten_classes, 1.25, 2.3)
    for case in (*CASES, wide):
        bar = BARS.get(case.name.split(",")[0])
        if bar is None or (options.only and case.name not in options.only.split(";")):
            continue
        torch.manual_seed(0)
        plain, share = ratio(case, options.seconds)
        print(f"{case.name:<20} ordinary {plain:8.3f} ms   compiled x {share:.3f}   bar {bar}")


def _ten_classes() -> tuple[Tensor, Tensor]:
    return torch.randn(256, 100), torch.randint(0, 10, (256,))


if __name__ == "__main__":
    main()
