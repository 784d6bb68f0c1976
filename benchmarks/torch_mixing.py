# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Detection rate of the rehearsal for loops that mix records, and false refusals of loops that do not.

    python benchmarks/torch_mixing.py [trials]

The first table has the fraction of refused training runs for each kind of mixing and each batch size: every training
run has new data, a new model and other secret rows. The second has refusals of correct models, where 0 is correct. The
third has the CPU time that later rehearsals add to a training run.
"""

import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

from dperm.errors import AssumptionError
from dperm.torch import DPSGD

SIZES = (32, 300, 2000)
Loss = Callable[[nn.Module, Tensor, Tensor], Tensor]


def each(output: Tensor, y: Tensor) -> Tensor:
    """One loss per row."""
    return cross_entropy(output, y, reduction="none")


def alone(m: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """A correct loop."""
    return each(m(x), y)


def centred_if(condition: Callable[[Tensor], bool]) -> Loss:
    """Subtract the mean of the batch under a condition."""
    return lambda m, x, y: each(m(x - x.mean(0) if condition(x) else x), y)


def weighted_classes(m: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Class weights from the batch."""
    weights = len(y) / (2.0 * torch.bincount(y, minlength=2).clamp(min=1))
    return cross_entropy(m(x), y, weight=weights.to(x.dtype), reduction="none")


def mixup(probability: float) -> Loss:
    """Add another row to each row, in a random fraction of the batches."""

    def loss(m: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        if torch.rand(()) < probability:
            x = 0.6 * x + 0.4 * x[torch.randperm(len(x))]
        return each(m(x), y)

    return loss


MIXING: dict[str, Loss] = {
    "loss / len(x)": lambda m, x, y: each(m(x), y) / len(x),
    "class weights by bincount": weighted_classes,
    "x / x.abs().max()": lambda m, x, y: each(m(x / x.abs().max()), y),
    "x - x.mean(0)": centred_if(lambda x: True),
    "x - 0.1 * x.mean(0)": lambda m, x, y: each(m(x - 0.1 * x.mean(0)), y),
    "x - 0.01 * x.mean(0)": lambda m, x, y: each(m(x - 0.01 * x.mean(0)), y),
    "mean loss, expanded": lambda m, x, y: cross_entropy(m(x), y).expand(len(x)),
    "every second row": lambda m, x, y: each(m(x), y) * (1 + torch.arange(len(x)) % 2),
    "one pair of rows": lambda m, x, y: each(m(torch.cat([x[:1] + x[1:2], x[1:]])), y),
    "gate: len(x) > 100": centred_if(lambda x: len(x) > 100),
    "gate: (x == 0.5).any()": centred_if(lambda x: bool((x == 0.5).any())),
    "gate: x.isinf().any()": lambda m, x, y: each(m(x * 0 if x.isinf().any() else x), y),
    "gate: x.abs().max() > 8": centred_if(lambda x: bool(x.abs().max() > 8)),
    "gate: x.abs().max() > 1e6": centred_if(lambda x: bool(x.abs().max() > 1e6)),
    "gate: 0.5 in x.tolist()": centred_if(lambda x: 0.5 in x[:, 0].tolist()),
    **{f"mixup, probability {p}": mixup(p) for p in (1.0, 0.5, 0.2, 0.1, 0.05)},
}  # fmt: skip


class Attention(nn.Module):
    """Attention with separate linear layers for queries, keys and values."""

    def __init__(self, first: nn.Module, width: int = 16, dropout: float = 0.0) -> None:
        super().__init__()
        self.first, self.norm, self.drop = first, nn.LayerNorm(width), nn.Dropout(dropout)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.head = nn.Linear(width, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of the first place."""
        h = self.first(x)
        z = self.norm(h)
        h = h + self.drop(self.out(scaled_dot_product_attention(self.q(z), self.k(z), self.v(z))))
        return self.head(h[:, 0])


class Recurrent(nn.Module):
    """LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.cells, self.head = nn.LSTM(6, 12, batch_first=True), nn.Linear(12, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of the last place."""
        return self.head(self.cells(x)[0][:, -1])


class Tied(nn.Module):
    """The last layer shares the weights of the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(40, 12)
        self.last = nn.Linear(12, 40, bias=False)
        self.last.weight = self.table.weight

    def forward(self, x: Tensor) -> Tensor:
        """Two of the logits."""
        return self.last(self.table(x).mean(1).tanh())[:, :2]


def images(groups: bool) -> nn.Module:
    """CNN, with or without GroupNorm."""
    norm = nn.GroupNorm(4, 8) if groups else nn.Identity()
    return nn.Sequential(nn.Conv2d(1, 8, 3), norm, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 2))


def perceptron(depth: int, dropout: float) -> nn.Module:
    """Perceptron with ReLU."""
    layers = [part for _ in range(depth) for part in (nn.Linear(6, 6), nn.ReLU(), nn.Dropout(dropout))]
    return nn.Sequential(*layers, nn.Linear(6, 2))


def tokens(rows: int) -> Tensor:
    """Rows of eight tokens."""
    return torch.randint(0, 40, (rows, 8))


def encoder() -> nn.Module:
    """Transformer encoder of torch, with dropout."""
    layer = nn.TransformerEncoderLayer(12, 3, 24, dropout=0.1, batch_first=True)
    return nn.Sequential(
        nn.Linear(6, 12), nn.TransformerEncoder(layer, 1, enable_nested_tensor=False), nn.Flatten(), nn.Linear(96, 2)
    )


CORRECT: dict[str, tuple[Callable[[], nn.Module], Callable[[int], Tensor]]] = {
    "linear": (lambda: nn.Linear(6, 2), lambda n: torch.randn(n, 6)),
    "deep ReLU": (lambda: perceptron(6, 0.0), lambda n: torch.randn(n, 6)),
    "dropout": (lambda: perceptron(1, 0.5), lambda n: torch.randn(n, 6)),
    "CNN": (lambda: images(False), lambda n: torch.rand(n, 1, 8, 8)),
    "CNN with GroupNorm": (lambda: images(True), lambda n: torch.rand(n, 1, 8, 8)),
    "LSTM": (Recurrent, lambda n: torch.randn(n, 5, 6)),
    "transformer encoder": (encoder, lambda n: torch.randn(n, 8, 6)),
    "BERT-like": (lambda: Attention(nn.Embedding(40, 16)), tokens),
    "ViT-like": (lambda: Attention(nn.Linear(6, 16)), lambda n: torch.randn(n, 8, 6)),
    "BERT-like, dropout": (lambda: Attention(nn.Embedding(40, 16), dropout=0.1), tokens),
    "embeddings": (lambda: nn.Sequential(nn.Embedding(40, 12), nn.Flatten(), nn.Linear(96, 2)), tokens),
    "tied embeddings": (Tied, tokens),
}  # fmt: skip


def is_refused(loss: Loss, model: nn.Module, inputs: Tensor, *, steps: int = 1) -> bool:
    """Whether a training run on samples of the whole data set is refused."""
    rows = len(inputs)
    plan = DPSGD(1.0, rate=1.0, steps=steps, grade="fast", physical_batch_size=rows).plan(rows, 5.0, 1e-5)
    data = (inputs, torch.randint(0, 2, (rows,)))
    try:
        with plan.attach(model, torch.optim.SGD(model.parameters(), lr=0.1), data, progress=False) as private:
            for x, y in private:
                private.step(loss(model, x, y))
    except AssumptionError:
        return True
    return False


def detections(trials: int) -> None:
    """Print the fraction of refused training runs with mixing."""
    print(f"{'kind of mixing':28}" + "".join(f"{size:>8}" for size in SIZES))
    for name, loss in MIXING.items():
        shares = []
        for size in SIZES:
            found = [is_refused(loss, nn.Linear(6, 2), torch.randn(size, 6)) for _ in range(trials)]
            shares.append(sum(found) / trials)
        print(f"{name:28}" + "".join(f"{share:8.2f}" for share in shares), flush=True)


def false_refusals(trials: int) -> None:
    """Print refusals of correct models, each with 100 steps: 2 later rehearsals, or 1 with dropout."""
    total = 0
    for name, (make, data) in CORRECT.items():
        for dtype in (torch.float32, torch.float64):
            for size in (32, 300):
                inputs = data(size)
                inputs = inputs.to(dtype) if inputs.is_floating_point() else inputs
                found = sum(is_refused(alone, make().to(dtype), inputs, steps=100) for _ in range(trials))
                total += trials
                if found:
                    print(f"{name} ({dtype}, {size} rows): {found} of {trials} refused", flush=True)
    print(f"correct models: {total} trainings", flush=True)


def costs(steps: int = 1000) -> None:
    """Print the share of later rehearsals in the CPU time of training runs."""
    for name, hidden, dropout in (("linear", 0, 0.0), ("perceptron", 256, 0.0), ("perceptron with dropout", 256, 0.1)):
        model = (
            nn.Linear(50, 2)
            if not hidden
            else nn.Sequential(nn.Linear(50, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, 2))
        )
        plan = DPSGD(1.0, batch_size=256, steps=steps, grade="fast").plan(4096, 5.0, 1e-5)
        data = (torch.randn(4096, 50), torch.randint(0, 2, (4096,)))
        with plan.attach(model, torch.optim.SGD(model.parameters(), lr=0.1), data, progress=False) as private:
            for x, y in private:
                private.step(each(model(x), y))
            rehearsal = private._rehearsal
            share = rehearsal._spent / (time.process_time() - rehearsal._began)
        print(f"{name:24} later rehearsals took {share:.1%} of the CPU time of {steps} steps", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    detections(count)
    false_refusals(max(1, count // 4))
    costs()
