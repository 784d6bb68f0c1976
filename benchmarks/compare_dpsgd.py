# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""CPU time of a DP-SGD step by dperm and Opacus, relative to ordinary training, side by side in one process.

    pip install -r benchmarks/peers.txt
    python benchmarks/compare_dpsgd.py

The methods of benchmarks/torch_engine.py take turns of one step each, in an order drawn anew for every round; see there
for details. Opacus runs in four modes (hooks, expanded weights, functorch, ghost clipping), and the fastest is shown
with its name. Plain SGD, one thread, one batch size for all. Opacus' noise comes from torch's generator (its secure
mode needs torchcsprng, which has no build for this torch); dperm's from AES. A GPU is not measured.
"""

import argparse
import contextlib
import os
import statistics
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: CPU time of one thread
os.environ.setdefault("MKL_NUM_THREADS", "1")

import torch
from compare_setup import print_header, print_table
from torch_engine import COMPILED, EXACT, FAST, PLAIN, methods, times
from torch_models import CASES, Case


def compared(case: Case, seconds: float) -> list[str]:
    """Medians over rounds of the ratio to ordinary training in the same round, with quartiles."""
    with contextlib.ExitStack() as stack:
        steps = {name: step for name, step in methods(case, stack) if callable(step)}
        found = times(steps, seconds, 1)
    ratios = {name: [a / b for a, b in zip(found[name], found[PLAIN], strict=True)] for name in found}
    best = min((name for name in found if name.startswith("Opacus")), key=lambda name: statistics.median(ratios[name]))

    def shown(name: str) -> str:
        if name not in ratios:
            return "not available"
        low, middle, high = statistics.quantiles(ratios[name], n=4)
        return f"{middle:.2f} ({low:.2f} to {high:.2f})"

    ordinary = f"{1e3 * statistics.median(found[PLAIN]):.2f} ms"
    return [case.name, ordinary, *map(shown, (EXACT, FAST, COMPILED)), f"{shown(best)}, {best.split()[1]}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="for each model, for all methods together")
    parser.add_argument("--only", default="", help="names of models, with commas between them")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # hooks warn about torch's own
    print_header(("torch", "opacus"))
    chosen = [case for case in CASES if not options.only or case.name in options.only.split(",")]
    names = ("model", "ordinary step", "dperm exact", "dperm fast", "dperm fast, compiled", "Opacus, fastest mode")
    title = "CPU time of a private step / ordinary step: median over rounds (quartiles)"
    print_table(title, names, (compared(case, options.seconds) for case in chosen))


if __name__ == "__main__":
    main()
