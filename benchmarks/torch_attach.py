# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Cost of attaching a training run, in units of one ordinary (non-private) step.

    python benchmarks/torch_attach.py [model ...]

Ordinary step: forward pass, backward pass and a step of plain SGD on a batch of the expected sample size. Attach and
steps are timed in one process, on one thread, in CPU seconds, after a training run of another model has imported and
compiled all code. The column "plan" is the accounting of the plan, which is done once per plan and does not depend on
the model. The first attach of a model has cold memory and kernels; the second one does not. The column "rehearsal" is
the rehearsal before the charge, and the last column a private step of grade "fast".
"""

import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from dperm.torch import DPSGD
from dperm.torch.plan import DPSGDPlan

ROWS = 4096


class Transformer(nn.Module):
    """An encoder with 27 million parameters: 8 layers of width 512."""

    def __init__(self, width: int = 512, layers: int = 8, tokens: int = 4000, places: int = 64) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens, width), nn.Embedding(places, width)
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.1, batch_first=True)
        self.layers, self.head = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False), nn.Linear(width, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of the first position."""
        places = torch.arange(x.shape[1], device=x.device).expand(len(x), x.shape[1])
        return self.head(self.layers(self.tokens(x) + self.places(places))[:, 0])


def logistic() -> tuple[nn.Module, Tensor, int]:
    """Logistic regression of 100 features."""
    return nn.Linear(100, 2), torch.randn(ROWS, 100), 256


def perceptron() -> tuple[nn.Module, Tensor, int]:
    """1.9 million parameters."""
    layers = [nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 2)]
    return nn.Sequential(*layers), torch.randn(ROWS, 784), 256


def convolutional() -> tuple[nn.Module, Tensor, int]:
    """1.2 million parameters."""
    layers: list[nn.Module] = [nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 49, 384)]
    return nn.Sequential(*layers, nn.ReLU(), nn.Linear(384, 2)), torch.randn(ROWS, 1, 28, 28), 256


def transformer() -> tuple[nn.Module, Tensor, int]:
    """27 million parameters, sequences of 64."""
    return Transformer(), torch.randint(0, 4000, (ROWS, 64)), 32


MODELS: dict[str, Callable[[], tuple[nn.Module, Tensor, int]]] = {
    "logistic regression": logistic,
    "perceptron, 1.9 M": perceptron,
    "CNN, 1.2 M": convolutional,
    "transformer, 27 M": transformer,
}


def ordinary_step(model: nn.Module, inputs: Tensor, labels: Tensor) -> float:
    """CPU seconds of an ordinary step, the minimum of three."""
    optimizer, found = torch.optim.SGD(model.parameters(), lr=1e-3), []
    for _ in range(3):
        begin = time.process_time()
        optimizer.zero_grad()
        cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        found.append(time.process_time() - begin)
    return min(found)


def warm_up() -> None:
    """Import and compile all code."""
    model, plan = nn.Linear(3, 2), DPSGD(clip_norm=1.0, batch_size=8, steps=1, grade="fast").plan(16, 2.0, 1e-5)
    data = (torch.randn(16, 3), torch.zeros(16, dtype=torch.long))
    with plan.attach(model, torch.optim.SGD(model.parameters(), lr=1e-3), data, progress=False) as private:
        for x, y in private:
            private.step(cross_entropy(model(x), y, reduction="none"))


def _timed(action: Callable[[], object]) -> float:
    """CPU seconds of an action."""
    begin = time.process_time()
    action()
    return time.process_time() - begin


def measured(name: str) -> str:
    """One line of the table."""
    model, inputs, size = MODELS[name]()
    labels = torch.randint(0, 2, (len(inputs),))
    step = ordinary_step(model, inputs[:size], labels[:size])
    plan = DPSGD(clip_norm=1.0, batch_size=size, steps=3, grade="fast", physical_batch_size=2 * size).plan(
        n=ROWS, epsilon=2.0, delta=1e-5
    )
    accounted = _timed(lambda: plan.facts)
    first = _timed(lambda: _attached(plan, model, inputs, labels))
    begin = time.process_time()
    with plan.attach(model, torch.optim.SGD(model.parameters(), lr=1e-3), (inputs, labels), progress=False) as private:
        attached, rehearsed, stepped = time.process_time() - begin, 0.0, []
        begin = time.process_time()
        for x, y in private:
            taken = private.step(cross_entropy(model(x), y, reduction="none"))
            now = time.process_time()
            if taken:
                stepped.append(now - begin)
            else:
                rehearsed += now - begin
            begin = now
    ratios = (first / step, attached / step, rehearsed / step, min(stepped) / step)
    return f"{name:22} {step:10.4f} {accounted:10.3f}" + "".join(f" {ratio:12.2f}" for ratio in ratios)


def _attached(plan: DPSGDPlan, model: nn.Module, inputs: Tensor, labels: Tensor) -> None:
    with plan.attach(model, torch.optim.SGD(model.parameters(), lr=1e-3), (inputs, labels), progress=False):
        pass


if __name__ == "__main__":
    torch.set_num_threads(1)
    warm_up()
    print(f"{'':22} {'in CPU seconds':>21} {'in ordinary steps':>48}")
    heads = ("first attach", "attach again", "rehearsal", "private step")
    print(f"{'model':22} {'step':>10} {'plan':>10}" + "".join(f" {head:>12}" for head in heads))
    for wanted in sys.argv[1:] or MODELS:
        print(measured(wanted), flush=True)
