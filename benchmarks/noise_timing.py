# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Correlation between the time of a draw and the drawn values: Spearman's rho for whole vectors.

A draw is timed many times from its new key to its integers. Its time is ranked against quantities of interest to an
observer: the norm of the noise, its largest entry and its sum. The target is |rho| < .02 at 100,000 draws, where chance
alone gives .003. For comparison, an exact sampler that draws digit by digit in plain Python, one number at a time
(Canonne, Kamath and Steinke 2020, algorithm 2), shows a clear correlation. Run: ``make bench`` or
``python benchmarks/noise_timing.py``.
"""

import argparse
import gc
import os
import random
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.stats import spearmanr

from dperm.noise import SystemBits
from dperm.noise.gamma_norm import gamma_norm
from dperm.noise.integer_noise import rounded_gaussian, rounded_laplace

SCALE = 1.37 * 2.0**40
BAR = 0.02


def one_by_one_laplace(scale: int) -> np.ndarray:
    """Discrete Laplace by coin flips, for comparison; the loop runs longer for larger values."""
    generator = random.SystemRandom()
    while True:
        digit = generator.randrange(scale)
        if generator.random() >= np.exp(-digit / scale):
            continue
        level = 0
        while generator.random() < np.exp(-1):
            level += 1
        value = digit + scale * level
        negative = generator.random() < 0.5
        if value or not negative:
            return np.array([-value if negative else value])


def samplers(dim: int) -> dict[str, tuple[Callable[[], np.ndarray], float]]:
    """Timed samplers and the scales of their entries."""
    bits = SystemBits()
    return {
        f"rounded Gaussian, d = {dim}": (lambda: rounded_gaussian(SCALE, dim, bits.stream()), SCALE),
        f"rounded Laplace, d = {dim}": (lambda: rounded_laplace(SCALE, dim, bits.stream()), SCALE),
        "rounded Gaussian, d = 1": (lambda: rounded_gaussian(SCALE, 1, bits.stream()), SCALE),
        "rounded Laplace, d = 1": (lambda: rounded_laplace(SCALE, 1, bits.stream()), SCALE),
        "gamma norm, d = 5": (lambda: gamma_norm(SCALE, 5, bits.stream()), SCALE),
        "one by one, for comparison": (lambda: one_by_one_laplace(1000), 1000.0),
    }


def correlations(draw: Callable[[], np.ndarray], scale: float, repeats: int) -> dict[str, float]:
    """Spearman's rho between the time of a draw and three functions of its values."""
    times, norms, tops, sums = (np.empty(repeats) for _ in range(4))
    for index in range(repeats):
        start = time.perf_counter_ns()
        values = draw()
        times[index] = time.perf_counter_ns() - start
        scaled = values / scale
        norms[index], tops[index], sums[index] = scaled @ scaled, np.abs(scaled).max(), scaled.sum()
    found = {"norm": norms, "largest": tops, "sum": sums}
    return {name: float(spearmanr(times, values).statistic) for name, values in found.items()}


def main() -> None:
    """Measure every sampler and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--draws", type=int, default=100_000, help="draws of each sampler")
    parser.add_argument("--dim", type=int, default=100, help="entries of a vector")
    options = parser.parse_args()
    table = Table("sampler", "rho(time, norm)", "rho(time, largest)", "rho(time, sum)", f"all below {BAR}")
    runs = samplers(options.dim).items()
    gc.disable()
    for name, (draw, scale) in track(list(runs), description="measuring", console=Console(stderr=True)):
        correlations(draw, scale, 1000)  # warm
        found = correlations(draw, scale, options.draws)
        within = all(abs(rho) < BAR for rho in found.values())
        table.add_row(name, *(f"{rho:+.4f}" for rho in found.values()), "yes" if within else "no")
    Console(width=120).print(f"{options.draws:,} draws each; by chance |rho| is about {options.draws**-0.5:.4f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
