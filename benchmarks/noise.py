# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Noise of dperm compared with numpy's normals and OpenDP's vector Gaussian in one run.

Samplers are timed from a new key to integers; releases from the value to the `Release`, including rounding, record and
digest. One thread each, wall-clock time, the minimum of several runs. Run: ``make bench`` or
``python benchmarks/noise.py``; ``--quick`` omits OpenDP with a million numbers, which takes most of a minute.
"""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import opendp.prelude as dp
from rich.console import Console
from rich.progress import track
from rich.table import Table

from dperm import GDP, PureDP
from dperm.mechanisms import GammaNormMechanism, GaussianMechanism, LaplaceMechanism
from dperm.noise import SystemBits
from dperm.noise.integer_noise import discrete_laplace, rounded_gaussian, rounded_laplace
from dperm.noise.single_precision import floating_gaussian

SIZES = (1, 100, 10_000, 1_000_000)
SCALE = 1.37 * 2.0**40
BARS = {100: 50.0, 10_000: 200.0, 1_000_000: 1_000.0}


@dataclass(frozen=True)
class Timed:
    """Minimum time of several runs, in seconds."""

    name: str
    size: int
    seconds: float


def least(run: Callable[[], object], budget: float = 0.4, most: int = 2000) -> float:
    """Minimum wall-clock time of several runs that take about ``budget`` seconds together."""
    times, spent = [], 0.0
    while not times or ((spent < budget or len(times) < 3) and len(times) < most and spent < 3 * budget):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
        spent += times[-1]
    return min(times)


def opendp_gaussian(size: int) -> Callable[[], object]:
    """OpenDP's vector Gaussian of scale 1.37 on ``size`` doubles."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size), dp.l2_distance(T=float)
    mechanism = dp.m.make_gaussian(*space, scale=1.37)
    values = [0.0] * size
    return lambda: mechanism(values)


def contenders(size: int) -> dict[str, Callable[[], object]]:
    """Timed functions at each size."""
    bits, generator, values = SystemBits(), np.random.default_rng(), np.zeros(size)
    gaussian = GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove"), dim=size)
    fast = GaussianMechanism.calibrate(1.0, GDP(1.0, "add_remove"), dim=size, grade="fast")
    laplace = LaplaceMechanism.calibrate(1.0, PureDP(1.0, "add_remove"), dim=size)
    return {
        "numpy normal, float32": lambda: generator.standard_normal(size, dtype=np.float32),
        "numpy normal, float64": lambda: generator.standard_normal(size),
        "rounded Gaussian": lambda: rounded_gaussian(SCALE, size, bits.stream()),
        "rounded Laplace": lambda: rounded_laplace(SCALE, size, bits.stream()),
        "discrete Laplace": lambda: discrete_laplace(SCALE, size, bits.stream()),
        "grade fast, float32": lambda: floating_gaussian(size, bits.stream()),
        "Gaussian release, exact": lambda: gaussian.release(values),
        "Gaussian release, fast": lambda: fast.release(values),
        "Laplace release, exact": lambda: laplace.release(values),
    }


def first_release() -> float:
    """Median time from calibration at a new scale to its release, in seconds."""
    times = []
    for index in range(41):
        start = time.perf_counter()
        GaussianMechanism.calibrate(1.0, GDP(0.5 + index / 97, "add_remove"), dim=100).release(np.zeros(100))
        times.append(time.perf_counter() - start)
    return sorted(times)[20]


def gamma_norm_release(dim: int) -> float:
    """One exact gamma-norm release."""
    mechanism = GammaNormMechanism.calibrate(1.0, PureDP(1.0, "add_remove"), dim=dim)
    return least(lambda: mechanism.release(np.zeros(dim)))


def print_samples(console: Console, rows: list[Timed]) -> None:
    """Print samples per second, and the ratio to OpenDP."""
    peers = {row.size: row.size / row.seconds for row in rows if row.name.startswith("OpenDP")}
    table = Table("what", *(f"{size:,}" for size in SIZES))
    for name in dict.fromkeys(row.name for row in rows):
        cells = []
        for row in (row for row in rows if row.name == name):
            rate = row.size / row.seconds
            ratio = f"  {rate / peers[row.size]:,.0f} x" if row.size in peers else ""
            cells.append(f"{rate:,.0f}/s{ratio}")
        table.add_row(name, *cells)
    console.print(table)


def print_bars(console: Console, rows: list[Timed]) -> None:
    """Print the targets of the project and the measured values."""
    found = {(row.name, row.size): row.seconds for row in rows}
    table = Table("what", "bar", "measured")
    for size, bar in BARS.items():
        peer = found.get(("OpenDP vector Gaussian", size))
        if peer:
            sampler, release = found[("rounded Gaussian", size)], found[("Gaussian release, exact", size)]
            table.add_row(f"OpenDP / our sampler, {size:,}", f">= {bar:,.0f}", f"{peer / sampler:,.0f}")
            table.add_row(f"OpenDP / our whole release, {size:,}", "", f"{peer / release:,.0f}")
    million = found[("Gaussian release, exact", 1_000_000)] / found[("numpy normal, float32", 1_000_000)]
    table.add_row("release of a million / numpy's float32 normal", "<= 8 (compiled: 3)", f"{million:.2f}")
    table.add_row("first release at a new scale, d = 100", "<= 5 ms", f"{1e3 * first_release():.2f} ms")
    for dim, bar in ((100, "<= 50 ms"), (10_000, ""), (1_000_000, "")):
        table.add_row(f"exact gamma-norm release, d = {dim:,}", bar, f"{1e3 * gamma_norm_release(dim):,.2f} ms")
    console.print(table)


def main() -> None:
    """Time all samplers and releases, and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--quick", action="store_true", help="leave out OpenDP's million")
    options = parser.parse_args()
    sizes = SIZES[:-1] if options.quick else SIZES
    runs = [(name, size, run) for size in SIZES for name, run in contenders(size).items()]
    runs += [("OpenDP vector Gaussian", size, opendp_gaussian(size)) for size in sizes]
    progress = track(runs, description="measuring", console=Console(stderr=True))
    rows = [Timed(name, size, least(run)) for name, size, run in progress]
    console = Console(width=140)
    print_samples(console, rows)
    print_bars(console, rows)


if __name__ == "__main__":
    main()
