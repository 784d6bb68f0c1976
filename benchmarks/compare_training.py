# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The same DP-SGD training by dperm and Opacus: noise multiplier, accuracy and CPU time.

    pip install -r benchmarks/peers.txt
    python benchmarks/compare_training.py --data DIR

The network is that of Opacus' MNIST example. Data: MNIST from ``--data`` or DPERM_DATA, otherwise scikit-learn's
digits, enlarged to 28 x 28. Both libraries get the same sampling rate, steps, clipping norm, learning rate, target
(epsilon, delta) and adjacency (add or remove one record). Opacus calibrates with its default accountant (PRV), dperm
with its own. The algorithm is the same, so that accuracies should agree up to noise. The CPU time is that of the whole
training on one thread, calibration and checks included.
"""

import argparse
import os
import statistics
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: CPU time of one thread
os.environ.setdefault("MKL_NUM_THREADS", "1")

import torch
from compare_setup import mean_and_error, print_header, print_table
from convex_multiclass_data import digits, mnist
from opacus import PrivacyEngine
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, interpolate
from torch.utils.data import DataLoader, TensorDataset
from torch_models import small_cnn

from dperm.torch import DPSGD

DELTA, CLIP_NORM = 1e-5, 1.0
Part = tuple[Tensor, Tensor]


def images(directory: Path | None) -> tuple[str, Part, Part]:
    """Name, training part and test part; pixels in [0, 1]."""
    data = mnist(directory) if directory else digits()

    def part(pixels: object, classes: object) -> Part:
        rows = torch.as_tensor(pixels, dtype=torch.float32)
        side = round(rows.shape[1] ** 0.5)
        squares = rows.view(-1, 1, side, side)
        return interpolate(squares, (28, 28), mode="bilinear") if side != 28 else squares, torch.as_tensor(classes)

    train, test = part(data.X, data.y), part(data.X_test, data.y_test)
    largest = train[0].max()
    return data.name, (train[0] / largest, train[1]), (test[0] / largest, test[1])


def by_opacus(train: Part, options: argparse.Namespace) -> tuple[nn.Module, float]:
    """Model and noise multiplier."""
    model, loss = small_cnn(), nn.CrossEntropyLoss()
    loader = DataLoader(TensorDataset(*train), batch_size=options.batch_size)
    model, optimizer, loader = PrivacyEngine().make_private_with_epsilon(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=options.rate),
        data_loader=loader,
        target_epsilon=options.epsilon,
        target_delta=DELTA,
        epochs=options.epochs,
        max_grad_norm=CLIP_NORM,
    )
    for _ in range(options.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()
    return model, float(optimizer.noise_multiplier)


def by_dperm(train: Part, options: argparse.Namespace, grade: str) -> tuple[nn.Module, float]:
    """Model and noise multiplier; the sampling rate is that of Opacus, 1 / number of batches."""
    model, batches = small_cnn(), -(-len(train[1]) // options.batch_size)
    method = DPSGD(CLIP_NORM, rate=1 / batches, steps=options.epochs * batches, grade=grade)
    plan = method.plan(n=len(train[1]), epsilon=options.epsilon, delta=DELTA, adjacency="add_remove")
    optimizer = torch.optim.SGD(model.parameters(), lr=options.rate)
    with plan.attach(model, optimizer, train) as private:
        for x, y in private:
            private.step(cross_entropy(model(x), y, reduction="none"))
    return model, plan.noise.scale


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("DPERM_DATA"), help="directory of mnist.npz")
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--rate", type=float, default=0.5, help="learning rate")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    print_header(("torch", "opacus"))
    name, train, test = images(Path(options.data) if options.data else None)
    methods = {
        "Opacus, hooks": lambda: by_opacus(train, options),
        "dperm, exact": lambda: by_dperm(train, options, "exact"),
        "dperm, fast": lambda: by_dperm(train, options, "fast"),
    }
    found: dict[str, list[tuple[float, float, float]]] = {each: [] for each in methods}
    for _ in range(options.runs):
        for each, train_once in methods.items():
            start = time.process_time()
            model, sigma = train_once()
            seconds = time.process_time() - start
            with torch.no_grad():
                accuracy = float((model(test[0]).argmax(1) == test[1]).double().mean())
            found[each].append((accuracy, sigma, seconds))
    peer = [seconds for _, _, seconds in found["Opacus, hooks"]]
    rows = []
    for each, runs in found.items():
        ratio = statistics.median(own / other for (_, _, own), other in zip(runs, peer, strict=True))
        cells = [mean_and_error([accuracy for accuracy, _, _ in runs]), f"{runs[0][1]:.4f}"]
        rows.append([each, *cells, f"{statistics.median(s for _, _, s in runs):.1f} s", f"{ratio:.2f}"])
    size = f"{len(train[1]):,} images, {options.epochs} epochs, batch size {options.batch_size}"
    goal = f"(ε, δ) = ({options.epsilon:g}, {DELTA:g})"
    title = f"{name}: {size}, learning rate {options.rate:g}, {goal}, {options.runs} runs"
    print_table(title, ("library", "test accuracy", "noise multiplier", "CPU time", "ratio to Opacus"), rows)


if __name__ == "__main__":
    main()
