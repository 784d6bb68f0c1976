# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Train a small convolutional network in PyTorch with differential privacy: accuracy against epsilon, and a plot.

The data are scikit-learn's digits: 1,797 images of 8 x 8 pixels, of which every fifth is used for testing. With so few
records, privacy costs much accuracy, because the influence of one record is large. Each run has its own guarantee, and
together they cost far more. This is an illustration, not a method for choosing epsilon on private data. The constants
were tuned on these public images.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a file, no window
import torch
from matplotlib import pyplot
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from dperm.torch import DPSGD

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
DELTA = 1e-5
N = 1400  # declared: the number of records is private when records may be added or removed
BATCH, EPOCHS, LEARNING_RATE = 280, 20, 0.2
PICTURE = Path("build/train_a_torch_model.png")

Part = tuple[Tensor, Tensor]


def digits() -> tuple[Part, Part]:
    """Pixels from -1 to 1 and classes, for training and testing."""
    pixels, classes = load_digits(return_X_y=True)
    images = torch.tensor(pixels, dtype=torch.float32).view(-1, 1, 8, 8) / 8 - 1
    kept = torch.arange(len(images)) % 5 == 4
    classes = torch.tensor(classes)
    return (images[~kept], classes[~kept]), (images[kept], classes[kept])


def network() -> nn.Module:
    """Two small layers; with so few records, more parameters add more noise than accuracy."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(16 * 4 * 4, 10)
    )


def trained(train: Part, epsilon: float) -> nn.Module:
    """Network trained with DP-SGD; the plan is made before any data are read."""
    plan = DPSGD(clip_norm=1.0, batch_size=BATCH, epochs=EPOCHS).plan(
        n=N, epsilon=epsilon, delta=DELTA, adjacency="add_remove"
    )
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=0.9)
    with plan.attach(model, optimizer, train) as private:
        for x, y in private:
            private.step(cross_entropy(model(x), y, reduction="none"))
    print(f"{plan}\nReleased with {private.release.guarantee}.\n")
    return model


def without_privacy(train: Part) -> nn.Module:
    """The same network and settings, trained without privacy."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=0.9)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(train[0])).split(BATCH):
            optimizer.zero_grad()
            cross_entropy(model(train[0][rows]), train[1][rows]).backward()
            optimizer.step()
    return model


def accuracy(model: nn.Module, test: Part) -> float:
    """Accuracy on the test images."""
    with torch.no_grad():
        return float((model(test[0]).argmax(1) == test[1]).double().mean())


def draw(found: dict[float, float], best: float) -> None:
    """Write a plot of accuracy against epsilon."""
    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    axes.plot(found.keys(), found.values(), "o-", label="private")
    axes.axhline(best, color="black", linewidth=1, label="without privacy")
    axes.set(xscale="log", xlabel="epsilon (smaller is more private)", ylabel="test accuracy")
    axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    axes.minorticks_off()
    axes.set_title(f"A small network on digits, delta = {DELTA:g}, one run each")
    axes.legend(loc="lower right")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=120)


def main() -> None:
    """Train all models, print the accuracies and write the plot."""
    torch.set_num_threads(1)
    train, test = digits()
    found = {epsilon: accuracy(trained(train, epsilon), test) for epsilon in EPSILONS}
    best = accuracy(without_privacy(train), test)
    for epsilon, score in found.items():
        print(f"epsilon {epsilon:4g}       {'#' * round(40 * score):40} {score:.3f}")
    print(f"without privacy    {'#' * round(40 * best):40} {best:.3f}")
    draw(found, best)
    print(f"Plot: {PICTURE}")


if __name__ == "__main__":
    main()
