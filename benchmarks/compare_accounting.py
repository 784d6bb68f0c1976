# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Epsilon of DP-SGD by dperm, dp-accounting and Opacus: value, tightness and CPU time, side by side in one run.

    pip install -r benchmarks/peers.txt
    python benchmarks/compare_accounting.py

All accountants get the same training: steps of the Gaussian mechanism on Poisson samples, add or remove one record.
dp-accounting runs its `PLDAccountant` with the default grid, Opacus its `PRVAccountant` and `RDPAccountant` with their
defaults. One thread each; the CPU time is the median of several runs, from the parameters to epsilon. dperm caches
results, so every timed run has another noise multiplier or target: a relative change of 1e-6 for each run. The second
table calibrates the noise multiplier for a target epsilon.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: CPU time of one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import warnings

from compare_setup import print_header, print_table
from dp_accounting import dp_event, mechanism_calibration
from dp_accounting.pld import pld_privacy_accountant
from opacus.accountants import PRVAccountant, RDPAccountant
from opacus.accountants.utils import get_noise_multiplier

from dperm.accounting import Gaussian, Poisson, account, calibrate

CASES = (
    # noise multiplier, sampling rate, steps, delta
    (1.1, 256 / 60_000, 2_344, 1e-5),
    (1.0, 0.01, 1_000, 1e-5),
    (0.6, 0.01, 1_000, 1e-5),
    (2.0, 0.1, 1_000, 1e-6),
    (0.8, 1e-3, 100_000, 1e-6),
    (1.0, 1e-4, 100_000, 1e-8),
)
TARGETS = (
    # sampling rate, steps, epsilon, delta
    (0.01, 1_000, 1.0, 1e-5),
    (256 / 60_000, 2_344, 3.0, 1e-5),
    (1e-3, 100_000, 2.0, 1e-6),
)


def timed(run: Callable[[float], float], repeats: int) -> tuple[float, float]:
    """Value at factor 1, and median CPU time in milliseconds of runs at other factors, which no cache holds."""
    times = []
    for index in range(repeats):
        start = time.process_time()
        run(1 + 1e-6 * (index + 1))
        times.append(1e3 * (time.process_time() - start))
    return float(run(1.0)), statistics.median(times)


def pld_epsilon(sigma: float, rate: float, steps: int, delta: float) -> float:
    """dp-accounting."""
    accountant = pld_privacy_accountant.PLDAccountant()
    accountant.compose(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(sigma)), steps)
    return accountant.get_epsilon(delta)


def opacus_epsilon(kind: type, sigma: float, rate: float, steps: int, delta: float) -> float:
    """Opacus; the history is what `steps` calls of `step` would have left."""
    accountant = kind()
    accountant.history = [(sigma, rate, steps)]
    return float(accountant.get_epsilon(delta=delta))


def epsilon_row(case: tuple[float, float, int, float], repeats: int) -> list[str]:
    """All accountants on one training."""
    sigma, rate, steps, delta = case

    def own(factor: float) -> float:
        return account(Poisson(Gaussian(factor * sigma), rate=rate) * steps, "add_remove").epsilon(delta)

    lower, upper = account(Poisson(Gaussian(sigma), rate=rate) * steps, "add_remove").epsilon_bracket(delta)
    _, milliseconds = timed(own, 5 * repeats)
    cells = [f"σ = {sigma:g}, q = {rate:.3g}, {steps:,} steps, δ = {delta:g}"]
    cells.append(f"{upper:.6f} ({(upper - lower) / upper:.0e}), {milliseconds:.1f} ms")
    for run in (
        lambda factor: pld_epsilon(factor * sigma, *case[1:]),
        lambda factor: opacus_epsilon(PRVAccountant, factor * sigma, *case[1:]),
        lambda factor: opacus_epsilon(RDPAccountant, factor * sigma, *case[1:]),
    ):
        peer, its = timed(run, repeats)
        below = ", BELOW the true value" if peer < lower else ""
        cells.append(f"{peer:.6f} (+{100 * (peer / upper - 1):.3g} %{below}), {its / milliseconds:,.0f} ×")
    return cells


def noise_row(target: tuple[float, int, float, float], repeats: int) -> list[str]:
    """Noise multipliers for one target."""
    rate, steps, epsilon, delta = target

    def own(factor: float) -> float:
        goal = factor * epsilon
        return calibrate(lambda sigma: Poisson(Gaussian(sigma), rate=rate) * steps, goal, delta, "add_remove")

    def pld(factor: float) -> float:
        return mechanism_calibration.calibrate_dp_mechanism(
            pld_privacy_accountant.PLDAccountant,
            lambda sigma: dp_event.SelfComposedDpEvent(
                dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(sigma)), steps
            ),
            factor * epsilon,
            delta,
        )

    def opacus(accountant: str, factor: float) -> float:
        return get_noise_multiplier(
            target_epsilon=factor * epsilon, target_delta=delta, sample_rate=rate, steps=steps, accountant=accountant
        )

    value, milliseconds = timed(own, repeats)
    cells = [f"ε = {epsilon:g}, q = {rate:.3g}, {steps:,} steps, δ = {delta:g}", f"{value:.5f}, {milliseconds:.0f} ms"]
    for run in (pld, lambda factor: opacus("prv", factor), lambda factor: opacus("rdp", factor)):
        peer, its = timed(run, 1)
        cells.append(f"{peer:.5f} ({100 * (peer / value - 1):+.2f} %), {its / milliseconds:,.0f} ×")
    return cells


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="runs of every peer")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the RDP accountant warns about its orders
    print_header(("dp-accounting", "opacus", "torch"))
    peers = ("dp-accounting PLD", "Opacus PRV", "Opacus RDP")
    title = (
        "Epsilon: dperm with the relative width of its bracket and CPU time; peers with excess and ratio of CPU time"
    )
    print_table(title, ("training", "dperm", *peers), (epsilon_row(case, options.repeats) for case in CASES))
    title = "Noise multiplier for a target: smaller is better; ratio of CPU time to dperm"
    print_table(title, ("target", "dperm", *peers), (noise_row(target, options.repeats) for target in TARGETS))


if __name__ == "__main__":
    main()
