# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A floating-point attack on the noise of dperm, diffprivlib, OpenDP and numpy, and the CPU time of their noise.

    pip install -r benchmarks/peers.txt
    python benchmarks/compare_noise.py --diffprivlib-python .venv-diffprivlib/bin/python

A count is 0 or 1 in two neighbouring data sets and is released with noise at epsilon 1. The precision attack [Haney et
al. 2022, "Precision-based attacks and interval refining", arXiv:2207.13793] looks at the last bits of a release x with
|x| < 1/2. Where the count is 1, a floating-point sum 1 + noise in this range is a multiple of 2^-53. Where it is 0, the
release is the noise itself, with finer bits. So a release that is no multiple of 2^-53 proves that the count was 0.
The table has the share of such releases for both counts. With exact noise the two shares must agree within e^epsilon.
Every mechanism runs with its own defaults. The second table times a Gaussian release of 10,000 numbers.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: CPU time of one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import opendp.prelude as dp
from compare_setup import Diffprivlib, add_diffprivlib, print_header, print_table

from dperm import ApproxDP, PureDP
from dperm.mechanisms import GaussianMechanism, LaplaceMechanism

GRID = 2.0**53
SIZE = 10_000
Draw = Callable[[float, int], np.ndarray]
"""Releases of a value: value, number of releases."""


def dperm_laplace(value: float, count: int) -> np.ndarray:
    """One release for each draw, as a user makes it."""
    mechanism = LaplaceMechanism.calibrate(1.0, PureDP(1.0, "add_remove"))
    return np.array([float(mechanism.release(value).value) for _ in range(count)])


def dperm_gaussian(value: float, count: int) -> np.ndarray:
    """One release for each draw."""
    mechanism = GaussianMechanism.calibrate(1.0, ApproxDP(1.0, 1e-6, "add_remove"))
    return np.array([float(mechanism.release(value).value) for _ in range(count)])


def opendp_noise(make: Callable[..., dp.Measurement]) -> Draw:
    """A mechanism of OpenDP on one double."""

    def draw(value: float, count: int) -> np.ndarray:
        space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
        scale = 1.0 if make is dp.m.make_laplace else 4.2247  # epsilon 1, delta 1e-6
        mechanism = make(*space, scale=scale)
        return np.array([mechanism(value) for _ in range(count)])

    return draw


def numpy_laplace(value: float, count: int) -> np.ndarray:
    """The textbook mechanism with a generator of numpy."""
    return value + np.random.default_rng().laplace(0.0, 1.0, count)


def diffprivlib_noise(peer: Diffprivlib, mechanism: str) -> Draw:
    """A mechanism of diffprivlib."""

    def draw(value: float, count: int) -> np.ndarray:
        answer = peer.ask("draws", mechanism=mechanism, value=value, count=count)
        return np.array([float.fromhex(text) for text in answer["values"]])

    return draw


def share_of_fine_releases(releases: np.ndarray) -> float:
    """Share of releases below 1/2 in absolute value that are no multiple of 2^-53."""
    scaled = releases * GRID  # exact: a power of two
    return float(np.mean((np.abs(releases) < 0.5) & (scaled != np.round(scaled))))


def mechanisms(peer: Diffprivlib | None) -> Iterator[tuple[str, Draw]]:
    """All mechanisms under attack."""
    yield "numpy, Laplace", numpy_laplace
    if peer is not None:
        for name in ("Laplace", "GaussianAnalytic", "Snapping"):
            yield f"diffprivlib `{name}`", diffprivlib_noise(peer, name)
    yield "OpenDP `make_laplace`", opendp_noise(dp.m.make_laplace)
    yield "OpenDP `make_gaussian`", opendp_noise(dp.m.make_gaussian)
    yield "dperm `LaplaceMechanism`", dperm_laplace
    yield "dperm `GaussianMechanism`", dperm_gaussian


def attack_row(name: str, draw: Draw, count: int) -> list[str]:
    """Shares for both counts, and the verdict."""
    zero, one = share_of_fine_releases(draw(0.0, count)), share_of_fine_releases(draw(1.0, count))
    slack = 3 * np.sqrt(max(zero, one) / count)  # three standard errors
    broken = zero > np.e * one + slack
    verdict = f"identified with certainty in {100 * zero:.0f} % of releases" if broken else "no difference found"
    return [name, *(f"{share:.3f}" if share else "none" for share in (zero, one)), verdict]


def vectors(peer: Diffprivlib | None) -> dict[str, Callable[[], float]]:
    """CPU seconds of one Gaussian release of SIZE numbers, at the same scale."""
    dp.enable_features("contrib")
    values, plain = np.zeros(SIZE), [0.0] * SIZE
    own = GaussianMechanism.calibrate(1.0, ApproxDP(1.0, 1e-6, "add_remove"), dim=SIZE)
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=SIZE), dp.l2_distance(T=float)
    other = dp.m.make_gaussian(*space, scale=own.scale)
    generator = np.random.default_rng()

    def clocked(run: Callable[[], object]) -> Callable[[], float]:
        def seconds() -> float:
            start = time.process_time()
            run()
            return time.process_time() - start

        return seconds

    found = {
        "numpy (fails the attack)": clocked(lambda: values + own.scale * generator.standard_normal(SIZE)),
        "dperm": clocked(lambda: own.release(values)),
        "OpenDP": clocked(lambda: other(plain)),
    }
    if peer is not None:
        found["diffprivlib `GaussianAnalytic`, one number at a time"] = lambda: peer.ask(
            "draws", mechanism="GaussianAnalytic", value=0.0, count=SIZE
        )["seconds"]
    return found


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_diffprivlib(parser)
    parser.add_argument("--count", type=int, default=20_000, help="releases for each count")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of the timing")
    options = parser.parse_args()
    dp.enable_features("contrib")
    peer = Diffprivlib(options.diffprivlib_python) if options.diffprivlib_python else None
    print_header(("opendp",), peer)
    title = f"Precision attack, {options.count:,} releases: share that proves the count 0, by the true count"
    rows = (attack_row(name, draw, options.count) for name, draw in mechanisms(peer))
    print_table(title, ("mechanism", "count 0", "count 1", "result"), rows)
    timed = vectors(peer)
    rounds = [{name: run() for name, run in timed.items()} for _ in range(options.rounds)]
    milliseconds = {name: 1e3 * statistics.median(each[name] for each in rounds) for name in timed}
    ratios = {name: statistics.median(each[name] / each["dperm"] for each in rounds) for name in timed}
    title = f"Gaussian noise on {SIZE:,} numbers: CPU time, medians of {options.rounds} rounds"
    rows = ([name, f"{milliseconds[name]:.2f} ms", f"{ratios[name]:.3g}"] for name in timed)
    print_table(title, ("library", "CPU time", "ratio to dperm"), rows)
    if peer is not None:
        peer.close()


if __name__ == "__main__":
    main()
